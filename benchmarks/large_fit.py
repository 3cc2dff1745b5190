"""One fit of `benchmarks.large`, in the process that calls this: what it took and what it gave."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.large_sets import SETS, Part
from benchmarks.measure import MEBIBYTE, MissingError, peak_memory, seconds
from benchmarks.rivals import RIVALS, Cost, Fitted, Method, timed
from fcgboost import FCGBoostClassifier, save_model
from fcgboost.evaluation import log_losses
from paper.contest.counting import stored_numbers

#: Rows of the fit before the clock starts, and of the larger prediction.
N_READY, N_MANY = 200, 10_000
#: How often predictions are timed, and how many of one row together.
RUNS, CALLS = 7, 50


def fit_ours(dictionary: str, X: Any, y: Any, threads: int) -> Fitted:
    """Fit a preset of ours."""
    model = FCGBoostClassifier(dictionary, n_jobs=threads, random_state=0).fit(X, y)
    return Fitted(
        model.predict,
        model.predict_proba,
        lambda: stored_numbers(model),
        lambda: _saved(model),
        model.classes_,
        f"{model.n_atoms_} atoms",
    )


def _saved(model: Any) -> bytes:
    """Return the model file, without the path to the model, which is no part of it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(model, path, trace=False)
        return path.read_bytes()


def _ours(title: str, dictionary: str) -> Method:
    fit = partial(fit_ours, dictionary)
    return Method(title, "fcgboost", fit, fit)


#: By name, in the order of tables; the default first.
METHODS: Mapping[str, Method] = {
    "fcgboost": _ours("fcgboost", "auto"),
    "fast": _ours("fcgboost fast", "fast"),
    **RIVALS,
}


def point(data: str, method: str, split: int) -> list[dict[str, Any]]:
    """Measure one fit in this process; of several settings the chosen one is a second row.

    There is no row where the data are not on this machine.
    """
    own, threads = METHODS[method], SETS[data].threads
    try:
        part = SETS[data].load(split)
    except MissingError as error:
        print(error, file=sys.stderr)
        return []
    own.get_ready(part.X[:N_READY], part.y[:N_READY], threads)
    with peak_memory() as memory:
        fitted, cost = timed(partial(own.fit, part.X, part.y, threads))
    about = {"data": data, "method": own.title, "split": split, "rows": len(part.y)}
    facts = {
        **_quality(fitted, part),
        "n_numbers": fitted.n_numbers(),
        "n_bytes": len(fitted.content()),
        **_speed(fitted.labels, part.X_test),
        "mebibytes": memory.above / MEBIBYTE,
        "note": fitted.note,
        "version": own.version,
    }
    costs = {"": cost} if fitted.chosen is None else {"": cost, ", chosen": fitted.chosen}
    return [
        {**about, "method": own.title + end, **_seconds(one, threads), **facts}
        for end, one in costs.items()
    ]


def _seconds(cost: Cost, threads: int) -> dict[str, Any]:
    """Return both times, and which of them counts."""
    of = "cpu" if threads == 1 else "wall"
    return {"threads": threads, **cost._asdict(), "seconds": getattr(cost, of)}


def _quality(fitted: Fitted, part: Part) -> dict[str, float]:
    labels, p = fitted.labels(part.X_test), np.asarray(fitted.probabilities(part.X_test))
    of_truth = p[np.arange(len(p)), np.searchsorted(fitted.classes, part.y_test)]
    return {
        "accuracy": 100.0 * float(np.mean(labels == part.y_test)),
        "log_loss": float(log_losses(of_truth).mean()),
    }


def _speed(labels: Callable[[Any], Any], X: Any) -> dict[str, float]:
    """Time predictions of one row in microseconds, and of many rows in milliseconds."""
    one, many = X[:1], X[np.arange(N_MANY) % len(X)]

    def ask() -> None:
        for _ in range(CALLS):
            labels(one)

    singles = statistics.median(seconds(ask) for _ in range(RUNS)) / CALLS
    others = statistics.median(seconds(partial(labels, many)) for _ in range(RUNS))
    return {"one_row": 1e6 * singles, "many_rows": 1e3 * others}
