"""Prediction of a single row, one thread: through the bare model and through the estimator."""

from __future__ import annotations

from typing import Any

from benchmarks.data import make_rows
from benchmarks.measure import Record, at_most, interleaved, medians
from fcgboost import FCGBoostClassifier, SampledCandidates
from paper.rivals import RIVALS

N_CALLS, RUNS = 200, 7
LIGHTGBM, SVM = RIVALS["lightgbm"], RIVALS["svm_rbf"]


def measure(quick: bool) -> list[Record]:
    m, n_steps = (300, 5) if quick else (5000, 125)
    X, y = make_rows(m)
    clf = FCGBoostClassifier(
        "relu", selection=SampledCandidates(64), max_iter=n_steps, n_jobs=1, random_state=0
    )
    models = {
        "ours": clf.fit(X, y),
        "lightgbm": LIGHTGBM.classifier(n_jobs=1).fit(X, y),
        "svc": SVM.classifier(C=10).fit(X, y),
    }
    x = X[:1]
    works = {name: _repeated(model.predict, x) for name, model in models.items()}
    works["decision"] = _repeated(clf.model_.decision, x)
    times = medians(interleaved(2 if quick else RUNS, **works))
    times = {name: 1e6 * value / N_CALLS for name, value in times.items()}
    details = {"atoms": clf.n_atoms_, "features": X.shape[1], "SVC (µs)": times["svc"]}
    rival = f"{LIGHTGBM.title} {LIGHTGBM.version} predict, float64, 1 thread"
    details["scikit-learn"] = SVM.version
    return [
        Record(name, "µs", times[key], times["lightgbm"], rival, at_most(limit, "ours"), details)
        for name, key, limit in (
            ("one row: model_.decision", "decision", 20.0),
            ("one row: predict", "ours", 300.0),
        )
    ]


def _repeated(function: Any, x: Any) -> Any:
    def work() -> None:
        for _ in range(N_CALLS):
            function(x)

    return work
