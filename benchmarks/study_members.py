"""What folds, two kinds of members, their average and the choices behind them are each worth.

    python -m benchmarks.study_members [--only NAME ...] [--rows N ...] [--variants NAME ...]
    python -m benchmarks.study_members --sets small [--only NAME ...] [--variants NAME ...]

Tables, sizes and splits are those of `benchmarks.mid`; `--splits` names splits, 10 and 11 by
default, which that benchmark does not judge. Small sets are five of the paper's, half of the rows
for training and all others for tests, splits 100 to 105 by default, which the contest does not
judge. Every variant differs from the default in one thing.
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

from benchmarks.data import load
from benchmarks.large_sets import Part
from benchmarks.measure import MissingError
from benchmarks.mid_sets import SIZES, TABLES, deal
from fcgboost import FCGBoostClassifier
from fcgboost.calibration import fit_link
from fcgboost.training import crossfit, presets
from fcgboost.training.crossfit import CrossFit
from fcgboost.training.trials import Best, Trial, choose
from paper.protocol import arrange, deal_random, seed_of

SPLITS = (10, 11)
SMALL = ("heart", "breast_cancer", "biodeg", "banknote_authentication", "seismic_bumps")
SMALL_SPLITS = range(100, 106)

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


def without_tail() -> Any:
    """Let families keep the coefficients of the squared hinge."""
    return preset(kinds=(replace(presets.FAMILIES, tail=None), presets.FOREST))


@contextmanager
def choosing(function: Callable[[Sequence[Trial]], Best]) -> Iterator[None]:
    """Let another function choose the ridge and the number of steps."""
    with mock.patch.object(crossfit, "choose", function):
        yield


@contextmanager
def fitted_again() -> Iterator[None]:
    """Fit every member again to its training part, led by the ridge that was chosen; no tails."""
    fit_path, average = crossfit._Paths.fit, crossfit._average
    places: dict[int, tuple[crossfit._Paths, tuple[int, int]]] = {}

    def recorded(paths: crossfit._Paths, place: tuple[int, int]) -> Trial:
        trial = fit_path(paths, place)
        places[id(trial)] = paths, place
        return trial

    def again(trial: Trial, ridge: int, k: int) -> Trial:
        paths, place = places[id(trial)]
        fit = paths.path(place)
        recipe = replace(fit.recipe, l2=trial.ridges[ridge], max_iter=k)
        return replace(fit, recipe=recipe).run(paths.schedule)

    def averaged(rounds: Any, task: Any, results: Any) -> CrossFit:
        changed = []
        for part in rounds:
            steps = zip(part.trials, part.best.steps, strict=True)
            trials = [again(trial, part.best.ridge, k) for trial, k in steps]
            members = [trial.member(0, trial.traces[0].n_steps) for trial in trials]
            held_out = [
                of_member
                for trial, member in zip(trials, members, strict=True)
                for of_member in trial.held_out(member)
            ]
            changed.append(replace(part, trials=trials, members=members, held_out=held_out))
        return average(changed, task, results)

    with (
        without_tail(),
        mock.patch.object(crossfit._Paths, "fit", recorded),
        mock.patch.object(crossfit, "_average", averaged),
    ):
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
    "no tail": Variant(change=without_tail),
    "one model": Variant({"ensemble": False}),
    "fast": Variant({"dictionary": "fast"}),
    "a link per member": Variant(probabilities=by_member),
    "weaker ridge": Variant(change=lambda: choosing(weaker)),
    "longer paths": Variant(change=lambda: choosing(longer)),
    "fitted again": Variant(change=fitted_again),
}


@dataclass(frozen=True)
class Source:
    """Tables of one size, and how a split of one is dealt."""

    title: str
    names: Sequence[str]
    splits: Sequence[int]
    deal: Callable[[str, int], Part]


def deal_small(name: str, split: int) -> Part:
    """Return half of the rows of a set, and all others for tests."""
    X, y = load(name)
    data = arrange(X, y, deal_random(len(y), seed_of(name, split)))
    return Part(
        X=data.X,
        y=data.y,
        X_test=np.concatenate([data.X_val, data.X_test]),
        y_test=np.concatenate([data.y_val, data.y_test]),
    )


def sources(sets: str, sizes: Sequence[int]) -> list[Source]:
    """Return the tables of every size, or the small sets."""
    if sets == "small":
        return [Source("Small sets", SMALL, SMALL_SPLITS, deal_small)]
    return [
        Source(
            title=f"{size:,} training rows",
            names=[name for name, table in TABLES.items() if table.n_train(size)],
            splits=SPLITS,
            deal=lambda name, split, size=size: deal(name, size, split),  # type: ignore[misc]
        )
        for size in sizes
    ]


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


def measure_all(source: Source, names: Sequence[str]) -> dict[str, list[Array]]:
    """Return the figures of every variant, split by split, for the tables that are there."""
    figures: dict[str, list[Array]] = {name: [] for name in names}
    for table in source.names:
        for split in source.splits:
            try:
                part = source.deal(table, split)
            except MissingError as error:
                print(error, file=sys.stderr)
                break
            with threadpool_limits(1):
                rows = [measure(part, VARIANTS[name]) for name in names]
            for name, row in zip(names, rows, strict=True):
                figures[name].append(row)
                shown = " ".join(f"{value:.4f}" for value in row)
                print(f"{table}, {source.title}, split {split}, {name}: {shown}", file=sys.stderr)
    return figures


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all variants and print the table of each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_members", description=__doc__)
    parser.add_argument("--sets", default="mid", choices=("mid", "small"))
    parser.add_argument("--only", nargs="+", choices=(*TABLES, *SMALL), metavar="NAME")
    parser.add_argument("--rows", nargs="+", type=int, default=SIZES[:2], metavar="N")
    parser.add_argument("--splits", nargs="+", type=int, metavar="N")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    options = parser.parse_args(argv)
    names = ["default", *(name for name in options.variants if name != "default")]
    for source in sources(options.sets, options.rows):
        tables = [name for name in source.names if not options.only or name in options.only]
        source = replace(source, names=tables, splits=options.splits or source.splits)
        figures = measure_all(source, names)
        print(f"\n{source.title}\n")
        print("\n".join(lines(figures)), flush=True)


if __name__ == "__main__":
    main()
