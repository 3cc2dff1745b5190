"""One HTML page about a fitted model or a comparison: self-contained, readable everywhere."""

from fcgboost.report.comparison_page import write_comparison
from fcgboost.report.model_page import write_report

__all__ = ["write_comparison", "write_report"]
