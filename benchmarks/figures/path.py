"""A whole path with default settings on the paper's simulation (30 % wrong labels).

Two sizes: m = 1,000, where all m candidates are scored in every step, and m = 10,000, where a
fresh sample is. Beside it: the same path corrected by ADMM, SVC(C=1) and AdaBoost of 100 stumps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measure import Record, interleaved, medians
from benchmarks.stopwatches import phases
from fcgboost import AdmmSolver, FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.selection.fixed import default_selection
from paper.rivals import RIVALS

THREADS = 2
SVM, STUMPS = RIVALS["svm_rbf"], RIVALS["adaboost"]


def measure(quick: bool) -> list[Record]:
    sizes = (100,) if quick else (1000, 10_000)
    return [record for m in sizes for record in _records(m)]


def _records(m: int) -> Iterator[Record]:
    X, y = make_simulation(m, random_state=0)
    # The first use of a library is slower.
    _default().set_params(max_iter=1).fit(X, y)
    # Slow baselines on large data need no median.
    runs = 5 if m <= 2000 else 1
    ours = medians(interleaved(5, ours=lambda: _default().fit(X, y)))["ours"]
    rivals = {
        "the same path with ADMM, 100 iterations": _default(solver=AdmmSolver()),
        f"SVC(C=1) of scikit-learn {SVM.version}, float64, 1 thread": SVM.classifier(C=1.0),
        f"AdaBoost(100) of scikit-learn {STUMPS.version}, float64, 1 thread": STUMPS.classifier(),
    }
    parts = phases(_default(), default_selection(m, m), X, y)
    details = {"runs": runs, **{f"{name} (s)": value for name, value in parts.items()}}
    for name, rival in rivals.items():
        baseline = medians(interleaved(runs, rival=lambda rival=rival: rival.fit(X, y)))["rival"]
        yield Record(
            f"default path at m = {m:,}", "s", ours, baseline, baseline_name=name, details=details
        )


def _default(**parameters: Any) -> FCGBoostClassifier:
    return FCGBoostClassifier("gauss", n_jobs=THREADS, random_state=0, **parameters)
