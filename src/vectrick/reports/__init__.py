"""Reports: self-contained HTML pages about models."""

from vectrick.reports.build import fit_report
from vectrick.reports.fitted import report
from vectrick.reports.page import Report, check_report

__all__ = ["Report", "check_report", "fit_report", "report"]
