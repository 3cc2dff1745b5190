"""The figures of a GPU that fit the default: beside the processor, beside others, and twice."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.gpu_device import Device, Sizes
from benchmarks.made_up import N_COLUMNS, make_up
from benchmarks.measure import Record, at_most
from benchmarks.rivals import SETTINGS, make_lightgbm
from fcgboost import AllCandidates, FCGBoostClassifier, SampledCandidates

# Rows from which on the processor is timed once.
_ONCE = 100_000
_READY_ROWS = 12_000
# With so many rows only the device is timed.
_MOST_BESIDE = 10_000_000


@dataclass(frozen=True)
class Rows:
    """Rows for training, and rows for tests."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any

    def first(self, n_rows: int) -> Rows:
        """Return fewer rows for training."""
        name = f"made-up, {n_rows:,} x {self.X.shape[1]}"
        return Rows(name, self.X[:n_rows], self.y[:n_rows], self.X_test, self.y_test)


@dataclass(frozen=True)
class Fit:
    """The median of the seconds of some fits, and the percentage of tests that the last has."""

    seconds: float
    accuracy: float
    details: dict[str, Any] = field(default_factory=dict)


class Fits:
    """Whole fits to made-up rows and to covtype, each of them measured once.

    Parameters
    ----------
    device : Device
    sizes : Sizes
    covtype : path or None
        An .npz with X and y, the classes 1 to 7, of which the second is told from the rest; or
        with rows that are dealt already, X, y and, for tests, Xt, yt.
    has_cpu : bool
        Whether the default is also fitted on the processor.
    """

    def __init__(self, device: Device, sizes: Sizes, covtype: Path | None, has_cpu: bool) -> None:
        self.device, self.sizes, self.has_cpu = device, sizes, has_cpu
        self._covtype, self._rows, self._fits = covtype, dict[str, Rows](), dict[Any, Fit]()

    def made_up(self) -> Rows:
        """Return the rows of `benchmarks.large_sets`; the tests have a seed of their own."""
        n = self.sizes.large_rows
        if "made-up" not in self._rows:
            name = f"made-up, {n:,} x {N_COLUMNS}"
            rows = Rows(name, *make_up(n, 0), *make_up(self.sizes.test_rows, 1))
            self._rows["made-up"] = rows
        return self._rows["made-up"]

    def covtype(self) -> Rows | None:
        """Return rows of covtype, shuffled as `benchmarks.large_sets` does; None without them."""
        if self._covtype is None:
            return None
        if "covtype" not in self._rows:
            with np.load(self._covtype) as arrays:
                given = dict(arrays)
            parts = _dealt(given["X"], given["y"], self.sizes.covtype_rows)
            if "Xt" in given:
                parts = tuple(given[name] for name in ("X", "y", "Xt", "yt"))
            name = f"covtype, {parts[0].shape[0]:,} x {parts[0].shape[1]}"
            self._rows["covtype"] = Rows(name, *parts)
        return self._rows["covtype"]

    def ours(self, rows: Rows, where: str) -> Fit:
        """Fit the default on the device, or on the processor with all its threads."""
        make = partial(FCGBoostClassifier, device=where, n_jobs=-1, random_state=0)
        is_once = where == "cpu" and len(rows.y) >= _ONCE
        return self._timed(rows, where, make, 1 if is_once else self.sizes.runs)

    def rival(self, rows: Rows, name: str) -> Fit:
        """Fit another library's classifier by its defaults, with all threads."""
        return self._timed(rows, name, RIVALS[name], 1)

    def _timed(self, rows: Rows, name: str, make: Callable[[], Any], runs: int) -> Fit:
        if (rows.name, name) in self._fits:
            return self._fits[rows.name, name]
        # What is loaded and compiled at the first use, of the trees of many rows, too.
        make().fit(rows.X[:_READY_ROWS], rows.y[:_READY_ROWS])
        clf = make()
        times = [self.device.seconds(lambda: clf.fit(rows.X, rows.y)) for _ in range(runs)]
        start = time.perf_counter()
        accuracy = 100.0 * clf.score(rows.X_test, rows.y_test)
        details = {"runs": runs, "first run (s)": times[0], "atoms": getattr(clf, "n_atoms_", None)}
        details["predictions (s)"] = time.perf_counter() - start
        fit = self._fits[rows.name, name] = Fit(statistics.median(times), accuracy, details)
        return fit


def _dealt(X: Any, y: Any, n_rows: int) -> tuple[Any, ...]:
    """Shuffle rows once and for all; the last ones are for tests."""
    order, labels = np.random.default_rng(0).permutation(len(y)), (y == 2).astype(np.int64)
    own, tests = order[:n_rows], order[-min(100_000, len(y) - n_rows) :]
    return X[own], labels[own], X[tests], labels[tests]


#: Makes a classifier, by name.
RIVALS: dict[str, Callable[[], Any]] = {
    "LightGBM": partial(make_lightgbm, os.cpu_count() or 1, **SETTINGS["lightgbm"]),
    "HistGradientBoosting": partial(HistGradientBoostingClassifier, random_state=0),
}


def default(fits: Fits) -> Iterator[Record]:
    """Fit a million made-up rows, as a user does who sets nothing but the device."""
    yield _whole(fits, fits.made_up(), 8.0)


def covtype(fits: Fits) -> Iterator[Record]:
    """Fit covtype the same way."""
    rows = fits.covtype()
    if rows is None:
        yield Record("the default, covtype", reason="no --covtype FILE.npz")
    else:
        yield _whole(fits, rows, 3.0)


def _whole(fits: Fits, rows: Rows, bound: float) -> Record:
    fit = fits.ours(rows, fits.device.name)
    details = {**fit.details, "accuracy (%)": fit.accuracy}
    if fits.has_cpu:
        cpu = fits.ours(rows, "cpu")
        details |= {"processor's accuracy (%)": cpu.accuracy, "processor's (s)": cpu.seconds}
    name = f"the default, {rows.name}: a whole fit"
    return Record(name, "s", fit.seconds, bound=at_most(bound, of="ours"), details=details)


def beside(fits: Fits) -> Iterator[Record]:
    """Fit more and more rows on the device and on the processor."""
    for n in fits.sizes.beside:
        rows = fits.made_up().first(n)
        ours, cpu = fits.ours(rows, fits.device.name), fits.ours(rows, "cpu")
        yield Record(
            f"the default, {rows.name}: the device beside the processor",
            "s",
            ours.seconds,
            cpu.seconds,
            f"the processor, {os.cpu_count()} threads",
            details={"accuracy (%)": ours.accuracy, "processor's accuracy (%)": cpu.accuracy},
        )


def fast(fits: Fits) -> Iterator[Record]:
    """Fit "fast", twice on the device and, to fewer rows, once on the processor."""
    X_test, y_test = make_up(fits.sizes.test_rows, 1)
    for n in fits.sizes.fast:
        X, y = make_up(n)
        clf = _fast(fits.device.name)
        first, second = (fits.device.seconds(lambda: clf.fit(X, y)) for _ in range(2))  # noqa: B023
        there = None
        if n < _MOST_BESIDE:
            there = fits.device.seconds(lambda: _fast("cpu").fit(X, y))  # noqa: B023
        yield Record(
            f'"fast", made-up, {n:,} x {N_COLUMNS}: the second fit',
            "s",
            second,
            there,
            f"the processor, {os.cpu_count()} threads" if there else "",
            details={
                "first fit (s)": first,
                "accuracy (%)": 100.0 * clf.score(X_test, y_test),
                "atoms": clf.n_atoms_,
            },
        )


def _fast(where: str) -> FCGBoostClassifier:
    return FCGBoostClassifier("fast", device=where, random_state=0)


def rivals(fits: Fits) -> Iterator[Record]:
    """Fit the same rows by other libraries on the processor of the same machine."""
    for rows in filter(None, (fits.made_up(), fits.covtype())):
        ours = fits.ours(rows, fits.device.name)
        for name in RIVALS:
            if name == "LightGBM" and find_spec("lightgbm") is None:
                yield Record(f"{rows.name}: beside {name}", reason="it is not installed")
                continue
            theirs = fits.rival(rows, name)
            yield Record(
                f"the default, {rows.name}: beside {name}",
                "s",
                ours.seconds,
                theirs.seconds,
                f"{name}, {os.cpu_count()} threads",
                details={"accuracy (%)": ours.accuracy, "its accuracy (%)": theirs.accuracy},
            )


def twice(fits: Fits) -> Iterator[Record]:
    """Fit twice on the device: all decision values are to have the same bits."""
    rows = fits.made_up().first(min(_ONCE, fits.sizes.large_rows))
    n_steps = fits.sizes.skin_steps
    for name, parameters in {
        "the default": {},
        "sampled ramps": {"dictionary": "relu", "selection": SampledCandidates(1024)},
        "all bells": {"dictionary": "gauss", "selection": AllCandidates(), "n_candidates": 2048},
    }.items():
        steps = {"max_iter": n_steps} if parameters else {}
        clf = FCGBoostClassifier(device=fits.device.name, random_state=0, **steps, **parameters)
        one, other = (clf.fit(rows.X, rows.y).decision_function(rows.X_test) for _ in range(2))
        yield Record(
            f"{name}, {rows.name}: decision values that differ between two fits",
            ours=float(np.sum(one != other)),
            bound=at_most(0.0, of="ours"),
            details={"tests": len(one), "atoms": clf.n_atoms_},
        )


#: By name, in the order of tables.
FIGURES: dict[str, Callable[[Fits], Iterator[Record]]] = {
    "default": default,
    "covtype": covtype,
    "beside": beside,
    "fast": fast,
    "rivals": rivals,
    "twice": twice,
}
