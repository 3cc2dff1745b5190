"""How long it takes to explain a row, and how exact that is, beside shap's permutations.

    python -m benchmarks.explaining [n_rows]

Models of 200 atoms on 30 made-up columns, of families in turn and of single families, and the
default as it is; a background of 100 training rows, one thread, CPU time. The error is the largest
one of a row, as a share of the row's largest value, against a run of ours that is a hundred times
as exact; shap (if it is installed) draws ten permutations per row, its default.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier, shapley

STEPS = {"dictionary": "fast", "cv": None, "max_iter": 200, "l2": 1e-3}
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "families in turn, 200 steps": STEPS,
    **{name: {"dictionary": name, "max_iter": 200} for name in ("relu", "sigmoid", "gauss")},
    "tree": {"dictionary": "tree", "max_iter": 200},
}
N_COLUMNS = 30


def timed(explain: Callable[[Any], Any], rows: Any) -> tuple[list[float], Any]:
    """Return milliseconds, row by row, and the values."""
    times, values = [], []
    for row in rows:
        start = time.process_time()
        values.append(np.asarray(explain(row[None, :]).values)[0])
        times.append(1e3 * (time.process_time() - start))
    return times, np.array(values)


def precise(model: FCGBoostClassifier, rows: Any) -> Any:
    """Return values with a tenth of the error."""
    before = shapley._TOLERANCE, shapley._MOST_ORDERS
    shapley._TOLERANCE, shapley._MOST_ORDERS = before[0] / 10.0, 100 * before[1]
    try:
        return model.explain(rows).values
    finally:
        shapley._TOLERANCE, shapley._MOST_ORDERS = before


def show(title: str, times: list[float], values: Any, exact: Any) -> None:
    """Print a row of the table."""
    errors = np.abs(values - exact).max(axis=1) / np.abs(exact).max(axis=1)
    figures = np.median(times), np.max(times), 100.0 * np.median(errors), 100.0 * errors.max()
    print(f"| {title} | " + " | ".join(f"{figure:.3g}" for figure in figures) + " |", flush=True)


def main(n_rows: int = 20) -> None:
    """Print the table."""
    try:
        import shap
    except ImportError:
        shap = None
    X, y = make_classification(3_000, N_COLUMNS, n_informative=15, random_state=0)
    print("| model | ms, median | ms, largest | error in %, median | error in %, largest |")
    print("|---|---|---|---|---|")
    for name, settings in MODELS.items():
        model = FCGBoostClassifier(n_jobs=1, random_state=0, **settings).fit(X, y)
        rows, exact = X[:n_rows], precise(model, X[:n_rows])
        title = f"{name} ({model.n_atoms_} atoms)"
        show(title, *timed(model.explain, rows), exact)
        if shap is not None:
            theirs = shap.Explainer(model.decision_function, model._background(), seed=0)
            theirs(rows[:1], silent=True)  # it is compiled at the first call
            show(f"{title}, shap", *timed(partial(theirs, silent=True), rows), exact)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
