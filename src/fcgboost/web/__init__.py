"""HTML pages: reports about a model or a comparison, and a local playground.

Both are single HTML files that Python fills with numbers. They share a style (`style.css`, in the
colours of `fcgboost.colors`) and drawing functions (`drawing.js`, `plane.js`). `model_page` and
`comparison_page` assemble a report from `blocks`, and `page` writes it; the playground is a
`server` that answers `settings` with `fits` of `samples`.
"""

from fcgboost.web.comparison_page import write_comparison_report
from fcgboost.web.model_page import write_model_report
from fcgboost.web.server import Playground, serve

__all__ = ["Playground", "serve", "write_comparison_report", "write_model_report"]
