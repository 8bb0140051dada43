"""The report: one self-contained page about a model, for a browser without network."""

from vectrick.reports.build import fit_report
from vectrick.reports.fitted import report
from vectrick.reports.page import Report, check_report

__all__ = ["Report", "check_report", "fit_report", "report"]
