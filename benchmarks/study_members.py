"""What folds, two kinds of members, their average and the choices behind them are each worth.

    python -m benchmarks.study_members [--only NAME ...] [--rows N ...] [--variants NAME ...]

Tables, sizes and splits are those of `benchmarks.mid`; `--splits` names splits, 10 and 11 by
default, which that benchmark does not judge. Every variant differs from the default in one thing.
Differences are those of the AUC in points, of the log-loss, and of the accuracy in points, each
with a standard error over tables and splits; times are CPU seconds over those of the default.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.large_sets import Part
from benchmarks.measure import MissingError
from benchmarks.mid_sets import SIZES, TABLES, deal
from fcgboost import FCGBoostClassifier
from fcgboost.calibration import fit_link
from fcgboost.training import crossfit, presets
from fcgboost.training.crossfit import CrossFit
from fcgboost.training.trials import Best, Trial, choose

SPLITS = (10, 11)

Array = NDArray[np.float64]
Probabilities = Callable[[FCGBoostClassifier, CrossFit, Any], Array]


def of_classifier(classifier: FCGBoostClassifier, result: CrossFit, X: Any) -> Array:
    """Return the probabilities of the second class."""
    return np.asarray(classifier.predict_proba(X))[:, 1]


def by_member(classifier: FCGBoostClassifier, result: CrossFit, X: Any) -> Array:
    """Average the probabilities of the folds' members, each with a link of its own."""
    parts = []
    for split, held_out in enumerate(result.held_out):
        part = FCGBoostClassifier()
        part.__dict__ = {**vars(classifier), "members_": tuple(result.judged_by(split))}
        part.link_ = fit_link([held_out])
        parts.append(part.predict_proba(X)[:, 1])
    return np.mean(parts, axis=0)  # type: ignore[no-any-return]


def weaker(trials: Sequence[Trial]) -> Best:
    """Choose the next weaker ridge, as if for an average, which overfits less than its members."""
    best = choose(trials)
    ridge = min(best.ridge + 1, len(trials[0].ridges) - 1)
    scores = best.stages.scores[ridge].mean(axis=1)
    return best._replace(ridge=ridge, steps=best.stages.steps[int(np.argmax(scores))].tolist())


def longer(trials: Sequence[Trial]) -> Best:
    """Choose a path that is longer by 40 %."""
    best = choose(trials)
    steps = best.stages.steps
    position = int(np.searchsorted(steps[:, 0], 1.4 * best.steps[0]))
    return best._replace(steps=steps[min(position, len(steps) - 1)].tolist())


@contextmanager
def preset(**changes: Any) -> Iterator[None]:
    """Change the default's preset."""
    with mock.patch.dict(presets.PRESETS, auto=replace(presets.AUTO, **changes)):
        yield


@contextmanager
def choosing(function: Callable[[Sequence[Trial]], Best]) -> Iterator[None]:
    """Let another function choose the ridge and the number of steps."""
    with mock.patch.object(crossfit, "choose", function):
        yield


@dataclass(frozen=True)
class Variant:
    """How a fit differs from the default, in parameters or otherwise."""

    params: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[], Any] | None = None
    probabilities: Probabilities = of_classifier


VARIANTS: Mapping[str, Variant] = {
    "default": Variant(),
    "3 folds": Variant({"cv": 3}),
    "5 folds": Variant({"cv": 5}),
    "8 folds": Variant({"cv": 8}),
    "12 folds": Variant({"cv": 12}),
    "families": Variant(change=lambda: preset(kinds=(presets.FAMILIES,))),
    # As if there were many rows. A preset without families would draw its forests' atoms from them.
    "forests": Variant(change=lambda: preset(n_many=0)),
    "100 trees": Variant(
        change=lambda: preset(kinds=(presets.FAMILIES, replace(presets.FOREST, max_steps=100)))
    ),
    "one model": Variant({"ensemble": False}),
    "fast": Variant({"dictionary": "fast"}),
    "a link per member": Variant(probabilities=by_member),
    "weaker ridge": Variant(change=lambda: choosing(weaker)),
    "longer paths": Variant(change=lambda: choosing(longer)),
}


def measure(part: Part, variant: Variant) -> Array:
    """Return the AUC, log-loss and accuracy of a fit, and its CPU seconds."""
    results: list[CrossFit] = []

    def recorded(*args: Any) -> CrossFit:
        results.append(cross_fit(*args))
        return results[-1]

    cross_fit = crossfit.cross_fit
    classifier = FCGBoostClassifier(random_state=0, n_jobs=1).set_params(**variant.params)
    with mock.patch("fcgboost.training.run.cross_fit", recorded):
        start = time.process_time()
        if variant.change is None:
            classifier.fit(part.X, part.y)
        else:
            with variant.change():
                classifier.fit(part.X, part.y)
        seconds = time.process_time() - start
    p = variant.probabilities(classifier, results[0], part.X_test)
    accuracy = np.mean((p > 0.5) == (part.y_test == classifier.classes_[1]))
    auc = roc_auc_score(part.y_test, p)
    return np.array([100.0 * auc, log_loss(part.y_test, p), 100.0 * accuracy, seconds])


def lines(figures: Mapping[str, Sequence[Array]]) -> Iterator[str]:
    """Yield the table in Markdown: means and standard errors of differences to the default."""
    yield "| variant | fits | AUC | log-loss | accuracy | time |"
    yield "|---|---:|---:|---:|---:|---:|"
    base = np.array(figures["default"])
    for name, rows in figures.items():
        values = np.array(rows)
        gaps = values[:, :3] - base[:, :3]
        errors = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.zeros(3)
        ratio = float(np.median(values[:, 3] / base[:, 3]))
        cells = [
            f"{mean:+.{digits}f} ± {error:.{digits}f}"
            for mean, error, digits in zip(gaps.mean(axis=0), errors, (2, 4, 2), strict=True)
        ]
        yield f"| {name} | {len(rows)} | {' | '.join(cells)} | {ratio:.2f} × |"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all variants and print the table of each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_members", description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(TABLES), choices=TABLES, metavar="NAME")
    parser.add_argument("--rows", nargs="+", type=int, default=SIZES[:2], metavar="N")
    parser.add_argument("--splits", nargs="+", type=int, default=SPLITS, metavar="N")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    options = parser.parse_args(argv)
    names = ["default", *(name for name in options.variants if name != "default")]
    for size in options.rows:
        figures: dict[str, list[Array]] = {name: [] for name in names}
        for table in options.only:
            for split in options.splits:
                try:
                    part = deal(table, size, split)
                except MissingError as error:
                    print(error, file=sys.stderr)
                    break
                if not TABLES[table].n_train(size):
                    break
                with threadpool_limits(1):
                    for name in names:
                        figures[name].append(measure(part, VARIANTS[name]))
                print(f"{table}, {size:,} rows, split {split}", file=sys.stderr)
        print(f"\n{size:,} training rows\n")
        print("\n".join(lines(figures)))


if __name__ == "__main__":
    main()
