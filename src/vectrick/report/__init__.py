"""The report: one self-contained page about a model, for a browser without network."""

from vectrick.report.build import fit_report
from vectrick.report.page import Report, check_plotly

__all__ = ["Report", "check_plotly", "fit_report"]
