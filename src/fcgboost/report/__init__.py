"""HTML pages about a fitted model, and about its labels.

A report is a single HTML file that Python fills with numbers, in a style (`report.css`) of the
colours of `fcgboost.colors`. `model_page` and `audit_page` assemble it from `blocks`, and `page`
writes it.
"""

from fcgboost.report.audit_page import write_audit_report
from fcgboost.report.model_page import write_model_report

__all__ = ["write_audit_report", "write_model_report"]
