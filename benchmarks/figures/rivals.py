"""LightGBM's defaults and SVC(C=10) on three public sets, everything in one thread.

Five random halves for training. One setting of ours for all three sets: 64 sampled ReLU candidates,
normalised scores, the default number of steps; once with one Newton iteration per step, and beside
it with exact corrections, which is the default.
SVC, which is slow, is fitted once per set. A tuned fit chooses ridge and width on a quarter of the
training rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import Split, halves, load
from benchmarks.measure import (
    MissingError,
    Record,
    at_least,
    at_most,
    fastest,
    interleaved,
    medians,
    seconds,
)
from fcgboost import FCGBoostClassifier, GaussDictionary, NewtonSolver, SampledCandidates
from paper.rivals import RIVALS

SETS = ("magic_gamma_telescope", "HTRU2", "default_credit_card_clients")
TUNED_ON = "default_credit_card_clients"
WIDTHS, RIDGES = (1.0, 2.0, 4.0, 8.0), (1e-5, 1e-4, 1e-3)
N_CANDIDATES = 64
# Twice the theory's number of steps for these rows.
N_STEPS_TUNED = 80
N_SPLITS = 5
LIGHTGBM, SVM = RIVALS["lightgbm"], RIVALS["svm_rbf"]
SVC_NAME = f"SVC(C=10) of scikit-learn {SVM.version}, standardised float64, 1 thread"


def measure(quick: bool) -> list[Record]:
    records: list[Record] = []
    for name in SETS:
        try:
            X, y = load(name, quick)
        except MissingError as error:
            records.append(Record(name, reason=str(error)))
            continue
        records.extend(_set_records(name, X, y, quick))
    return records


def _ours(quick: bool, is_exact: bool = False) -> FCGBoostClassifier:
    return FCGBoostClassifier(
        "relu",
        selection=SampledCandidates(N_CANDIDATES),
        solver=NewtonSolver() if is_exact else NewtonSolver(max_iter=1),
        normalize=True,
        max_iter=10 if quick else "auto",
        n_jobs=1,
        random_state=0,
    )


def _lightgbm() -> Any:
    return LIGHTGBM.classifier(n_jobs=1)


def _set_records(name: str, X: Any, y: Any, quick: bool) -> Iterator[Record]:
    splits = [halves(X, y, seed) for seed in range(1 if quick else N_SPLITS)]
    ours = _ours(quick).fit(splits[0].X, splits[0].y)
    types = _best_types(splits[0])
    runs = [_compare(split, types, quick) for split in splits]
    means = {key: statistics.fmean(run[key] for run in runs) for key in runs[0]}
    about: dict[str, Any] = {"splits": len(splits), "training rows": len(splits[0].y)}
    rival = f"{LIGHTGBM.title} {LIGHTGBM.version} defaults"
    about |= {"steps": ours.n_iter_, "candidates": N_CANDIDATES, "atoms": ours.n_atoms_}
    for what, key in ((", one Newton iteration per step", ""), (", exact corrections", " exactly")):
        yield Record(
            f"{name}: fit{what}",
            unit="s",
            ours=means[f"our fit{key}"],
            baseline=means["fit"],
            baseline_name=f"{rival}, {types['fit']}, 1 thread",
            bound=at_most(1.5),
            details=about,
        )
        yield Record(
            f"{name}: test accuracy{what}",
            unit="%",
            ours=means[f"our accuracy{key}"],
            baseline=means["accuracy"],
            baseline_name=rival,
            bound=at_least(-0.3, of="difference"),
            details=about,
        )
    yield Record(
        f"{name}: prediction of {len(splits[0].y_test):,} rows",
        unit="ms",
        ours=1e3 * means["our prediction"],
        baseline=1e3 * means["prediction"],
        baseline_name=f"{rival}, {types['predict']}, 1 thread",
        bound=at_least(10.0, of="speedup"),
        details=about,
    )
    yield from _beside_svc(name, splits[0], 1e3 * runs[0]["our prediction"], quick)


def _best_types(split: Split) -> dict[str, str]:
    """Find out which input LightGBM takes faster, for fitting and for prediction."""
    inputs = {t: (split.X.astype(t), split.X_test.astype(t)) for t in ("float64", "float32")}
    fitted = _lightgbm().fit(split.X, split.y)
    return {
        "fit": fastest(
            2, {t: lambda X=X: _lightgbm().fit(X, split.y) for t, (X, _) in inputs.items()}
        ),
        "predict": fastest(3, {t: lambda X=X: fitted.predict(X) for t, (_, X) in inputs.items()}),
    }


def _compare(split: Split, types: dict[str, str], quick: bool) -> dict[str, float]:
    """Time fits and predictions of one split in turn, and score them."""
    ours, exact, rival = _ours(quick), _ours(quick, is_exact=True), _lightgbm()
    X, X_test = split.X.astype(types["fit"]), split.X_test.astype(types["predict"])
    fits = medians(
        interleaved(
            3,
            ours=lambda: ours.fit(split.X, split.y),
            exact=lambda: exact.fit(split.X, split.y),
            rival=lambda: rival.fit(X, split.y),
        )
    )
    predictions = medians(
        interleaved(7, ours=lambda: ours.predict(split.X_test), rival=lambda: rival.predict(X_test))
    )
    return {
        "our fit": fits["ours"],
        "our fit exactly": fits["exact"],
        "fit": fits["rival"],
        "our prediction": predictions["ours"],
        "prediction": predictions["rival"],
        "our accuracy": 100.0 * ours.score(split.X_test, split.y_test),
        "our accuracy exactly": 100.0 * exact.score(split.X_test, split.y_test),
        "accuracy": 100.0 * np.mean(rival.predict(X_test) == split.y_test),
    }


def _beside_svc(name: str, split: Split, prediction: float, quick: bool) -> Iterator[Record]:
    svc = make_pipeline(StandardScaler(), SVM.classifier(C=10))
    fit = seconds(lambda: svc.fit(split.X, split.y))
    hits: list[Any] = []
    predict = seconds(lambda: hits.append(svc.predict(split.X_test) == split.y_test))
    accuracy = 100.0 * np.mean(hits[0])
    yield Record(
        f"{name}: prediction of {len(split.y_test):,} rows, beside SVC",
        unit="ms",
        ours=prediction,
        baseline=1e3 * predict,
        baseline_name=SVC_NAME,
        bound=at_least(100.0, of="speedup"),
        details={"support vectors": int(svc[-1].n_support_.sum()), "SVC's accuracy (%)": accuracy},
    )
    if name == TUNED_ON:
        yield _tuned(split, fit, accuracy, quick)


def _tuned(split: Split, svc_fit: float, svc_accuracy: float, quick: bool) -> Record:
    """Choose ridge and width on held-out rows, and fit again on all."""
    n_steps = 5 if quick else N_STEPS_TUNED
    fits = [
        FCGBoostClassifier(
            GaussDictionary(width=width),
            l2=RIDGES,
            cv=ShuffleSplit(1, test_size=0.25, random_state=0),
            ensemble=False,
            selection=SampledCandidates(64),
            max_iter=n_steps,
            n_jobs=1,
            random_state=0,
        )
        for width in WIDTHS
    ]
    ours = seconds(lambda: [clf.fit(split.X, split.y) for clf in fits])
    best = max(fits, key=lambda clf: clf.oof_score_)
    return Record(
        f"{TUNED_ON}: a whole tuned fit beside one fit of SVC",
        unit="s",
        ours=ours,
        baseline=svc_fit,
        baseline_name=SVC_NAME,
        bound=at_most(1.0),
        details={
            "widths": WIDTHS,
            "ridges": RIDGES,
            "steps": n_steps,
            "chosen": f"{best.dictionary}, l2={best.l2_:g}",
            "accuracy (%)": 100.0 * best.score(split.X_test, split.y_test),
            "SVC's accuracy (%)": svc_accuracy,
        },
    )
