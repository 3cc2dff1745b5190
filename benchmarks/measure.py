"""What every figure is made of: clocks, peak memory, fitted slopes and the record of a claim."""

from __future__ import annotations

import math
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

PACKAGES = ("fcgboost", "numpy", "scipy", "scikit-learn", "lightgbm", "torch")
MEBIBYTE = 2**20

_STATUS, _CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# What the kernel takes as "forget the peak so far".
_RESET_PEAK = "5"


class MissingError(Exception):
    """What a figure needs, such as a data set, is not on this machine."""


@dataclass(frozen=True)
class Bound:
    """What a figure promises, about one of four values.

    "ratio" is ours / baseline, "speedup" baseline / ours, "difference" ours - baseline and "ours"
    the bare number.
    """

    sense: Literal["<=", ">="]
    value: float
    of: Literal["ratio", "speedup", "difference", "ours"] = "ratio"

    def holds(self, ours: float, baseline: float | None) -> bool:
        found = self.measured(ours, baseline)
        return found <= self.value if self.sense == "<=" else found >= self.value

    def measured(self, ours: float, baseline: float | None) -> float:
        """Give the value that is compared with the bound."""
        if self.of == "ours":
            return ours
        if baseline is None:
            raise ValueError(f"a bound of the {self.of} needs a baseline")
        if self.of == "difference":
            # Beyond this digit a difference of two percentages is rounding.
            return round(ours - baseline, 9)
        return ours / baseline if self.of == "ratio" else baseline / ours


@dataclass(frozen=True)
class Record:
    """One line of the result: what was measured, beside what, and whether the bound holds.

    Without a bound a record is for information; with a reason it was not measured at all.
    """

    name: str
    unit: str = ""
    ours: float | None = None
    baseline: float | None = None
    baseline_name: str = ""
    bound: Bound | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        """How our number compares with the baseline's: a factor."""
        if self.ours is None or self.baseline is None:
            return None
        of = self.bound.of if self.bound is not None else "ratio"
        top, bottom = (self.baseline, self.ours) if of == "speedup" else (self.ours, self.baseline)
        return top / bottom if bottom else math.inf

    @property
    def met(self) -> bool | None:
        """Whether the bound holds; None where there is none or nothing was measured."""
        if self.bound is None or self.ours is None:
            return None
        return self.bound.holds(self.ours, self.baseline)

    def as_dict(self) -> dict[str, Any]:
        """Give what is written to JSON; the process that measured adds versions and threads."""
        bound = self.bound
        return {
            "name": self.name,
            "ours": self.ours,
            "baseline": self.baseline,
            "baseline_name": self.baseline_name,
            "ratio": self.ratio,
            "bound": bound and bound.value,
            "bound_sense": bound and bound.sense,
            "bound_of": bound and bound.of,
            "met": self.met,
            "unit": self.unit,
            "reason": self.reason,
            "details": dict(self.details),
        }


def at_most(value: float, of: Literal["ratio", "difference", "ours"] = "ratio") -> Bound:
    return Bound("<=", value, of)


def at_least(
    value: float, of: Literal["ratio", "speedup", "difference", "ours"] = "ratio"
) -> Bound:
    return Bound(">=", value, of)


def seconds(work: Callable[[], Any]) -> float:
    """Give the time a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(runs: int, **works: Callable[[], Any]) -> dict[str, list[float]]:
    """Time pieces of work in turn, so that a disturbance of the machine meets them all."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            times[name].append(seconds(work))
    return times


def medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in times.items()}


def fastest(runs: int, works: Mapping[str, Callable[[], Any]]) -> str:
    """Name the piece of work with the smallest median time: a baseline at its best."""
    times = medians(interleaved(runs, **works))
    return min(times, key=times.__getitem__)


@dataclass
class Memory:
    """Bytes of resident memory: when a piece of work began, and at its peak."""

    start: int = 0
    peak: int = 0

    @property
    def above(self) -> int:
        """What the work took beyond what was there."""
        return max(0, self.peak - self.start)


@contextmanager
def peak_memory() -> Iterator[Memory]:
    """Watch the resident memory of this process; the numbers are there after the block."""
    memory = Memory(start=_reset_peak())
    try:
        yield memory
    finally:
        memory.peak = peak_bytes()


def peak_bytes() -> int:
    """Give the largest resident memory so far, or since the last reset of it."""
    if _STATUS.exists():
        return _kibibytes("VmHWM") * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else peak * 1024


def _reset_peak() -> int:
    """Forget the peak where the system can, and give the present size, else the peak so far."""
    if not _STATUS.exists():
        return peak_bytes()
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK)
    except OSError:
        return peak_bytes()
    return _kibibytes("VmRSS") * 1024


def _kibibytes(name: str) -> int:
    lines = _STATUS.read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def fitted_slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Give the exponent b of the power law a m^b nearest to the values on logarithmic axes."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    return statistics.linear_regression(x, y).slope


def versions() -> dict[str, str]:
    """Give the versions of the packages that are there, and of Python and the BLAS."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["blas"] = blas()
    return found


def blas() -> str:
    """Name NumPy's BLAS and its version."""
    import numpy as np

    info = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{info['name']} {info['version']}"


def machine() -> dict[str, Any]:
    """Say what the run was measured on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }
