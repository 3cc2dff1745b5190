"""`fcgboost report`: a page about a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcgboost.cli import arguments, console

HELP = "write a page about a model"
TEXT = f"""\
Write an HTML page about a model, or about a comparison that `fcgboost compare --out`
saved. It can be read offline.

{arguments.FORMATS}
With data, the page has scores and pictures on these rows; use rows that the model
was not fitted to. Without data, it shows what the model file holds; such a page
never replaces one with data unless --out names it.

examples:
  fcgboost report model.json
  fcgboost report model.json test.csv --target churned --out churn.html
  fcgboost report comparison.json
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument("model", **arguments.MODEL)
    arguments.add_data(parser, arguments.OF_FIT, is_optional=True)
    help_ = "(default: the model file's name with .html)"
    parser.add_argument("--out", **arguments.FILE, help=help_)
    parser.add_argument("--title", help="the heading of the page")
    help_ = "the row of DATA to explain, the first is 0 (default: the worst mistake)"
    parser.add_argument("--row", type=arguments.whole, metavar="N", help=help_)


def run(options: argparse.Namespace) -> None:
    """Load, write, print where."""
    from fcgboost.cli.writing import check_outputs
    from fcgboost.comparison import is_comparison, load_comparison
    from fcgboost.io import load_model
    from fcgboost.web import write_comparison_report, write_model_report

    out = options.out or options.model.with_suffix(".html")
    check_outputs([out], [options.model, options.data])
    if is_comparison(options.model):
        page = write_comparison_report(out, load_comparison(options.model), title=options.title)
    else:
        _spare(out, options)
        model = load_model(options.model)
        X, y = _read(model, options)
        page = write_model_report(out, model, X, y, title=options.title, row=options.row)
    facts = {"out": str(page), "bytes": page.stat().st_size}
    console.print_result(options, facts, f"Report: {page}")


def _spare(out: Path, options: argparse.Namespace) -> None:
    """Refuse to put a page without data where one with data is, unless the user named it."""
    is_asked = options.data is not None or options.out is not None
    # Only a page that was made with data lists mistakes.
    if not is_asked and out.exists() and b'id="mistakes"' in out.read_bytes():
        raise ValueError(
            f"{out} was made with data and this page would have none: --out {out} replaces it, "
            "another --out leaves it alone."
        )


def _read(model: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """Read all rows as the model takes them, and their labels."""
    if options.data is None:
        return None, None
    import numpy as np
    from scipy import sparse

    from fcgboost.cli.rows import labelled_batches

    lost: dict[str, Any] = {}
    rows, labels = [], []
    for _, batch, y in labelled_batches(model, options, lost):
        rows.append(batch)
        labels.append(y)
    y = np.concatenate(labels)
    if sparse.issparse(rows[0]):
        return sparse.vstack(rows, format="csr"), y
    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows), y
    import pandas as pd

    return pd.concat(rows, ignore_index=True), y
