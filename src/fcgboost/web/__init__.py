"""Pages: a report about a model or a comparison, and a playground on this machine.

Both are one HTML text that Python fills with numbers, with one style (`style.css`, in the colours
of `fcgboost.colors`) and one set of drawing functions (`drawing.js`, `plane.js`). A report is
`blocks` that `model_page` and `comparison_page` put together and `page` writes down; the
playground is a `server` that answers `settings` with `fits` of `samples`.
"""

from fcgboost.web.comparison_page import write_comparison_report
from fcgboost.web.model_page import write_model_report
from fcgboost.web.server import Playground, serve

__all__ = ["Playground", "serve", "write_comparison_report", "write_model_report"]
