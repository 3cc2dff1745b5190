"""HTML pages about a fitted model.

A report is a single HTML file that Python fills with numbers, in a style (`report.css`) of the
colours of `fcgboost.colors`. `model_page` assembles it from `blocks`, and `page` writes it.
"""

from fcgboost.report.model_page import write_model_report

__all__ = ["write_model_report"]
