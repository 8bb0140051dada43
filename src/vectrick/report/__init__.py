"""The report: one self-contained page about a model, for a browser without network."""

from vectrick.report.build import fit_report
from vectrick.report.page import Report, check_report

__all__ = ["Report", "check_report", "fit_report"]
