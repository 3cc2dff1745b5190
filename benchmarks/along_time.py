"""Accuracy along time: our time limits beside every stage of the rivals' fits.

    python -m benchmarks.along_time [quick] [--only NAME ...] [--methods NAME ...]

CPU time of one thread, on four public sets; one timed fit per rival (see `benchmarks.curves`). The
envelope is the best test accuracy that any rival has reached by then: who could choose library and
number of trees by the test rows would have it. Rows go to build/bench/along_time.csv, where those
of the same data set and method are replaced, the picture to along_time.png beside it; a quick run
has few rows and files of its own.

Printed is how far ours, the best of its fits so far, is below the envelope at most, from one second
on: where a fit of ours ends, and after the last of these wherever the envelope rises.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.curves import CURVES, OURS, SETS, Point
from benchmarks.picture import STYLES
from benchmarks.processes import ROOT, ProcessError, call
from benchmarks.stored_rows import read_rows, write_rows

FOLDER = ROOT / "build" / "bench"
#: Seconds after which a method is given up, and from which on gaps count.
LIMIT, FROM = 2 * 3600.0, 1.0
COLORS = {name: color for name, (color, _) in STYLES.items()} | {
    "LightGBM tuned": "#56B4E9",
    "CatBoost": "#E69F00",
    "ChimeraBoost": "#CC79A7",
}
#: The least difference of accuracies, in points, that a panel makes room for.
LEAST_RANGE = 1.0

Curve = list[Point]


class Gap(NamedTuple):
    """How far ours is below the envelope, in points, and when."""

    points: float
    seconds: float


def measure(data: str, method: str, quick: bool) -> list[dict[str, Any]]:
    """Return the rows of one curve; one that cannot be drawn says why and has none."""
    arguments = {"data": data, "method": method, "quick": quick}
    try:
        points = call("benchmarks.curves:draw_curve", arguments, 1, LIMIT)
    except ProcessError as error:
        print(f"{data}, {method}: {error}", file=sys.stderr)
        return []
    print(f"{data}, {method}: {points[-1]['seconds']:.2f} s", file=sys.stderr)
    return [{"data": data, "method": method, **point} for point in points]


def curves_of(rows: Sequence[Mapping[str, str]]) -> dict[str, dict[str, Curve]]:
    """Return the points of every data set and method, in the order of time."""
    found: dict[str, dict[str, Curve]] = {}
    for row in rows:
        numbers = float(row["seconds"]), float(row["accuracy"])
        point = Point(*numbers, row["what"], int(row["stage"]))
        found.setdefault(row["data"], {}).setdefault(row["method"], []).append(point)
    return {
        data: {method: sorted(curve) for method, curve in curves.items()}
        for data, curves in found.items()
    }


def best_so_far(points: Curve) -> Curve:
    """Return the points that are better than all before them."""
    best: Curve = []
    for point in sorted(points):
        if not best or point.accuracy > best[-1].accuracy:
            best.append(point)
    return best


def envelope(curves: Mapping[str, Curve]) -> Curve:
    """Return the best that any rival has reached, along time."""
    return best_so_far([p for name, curve in curves.items() if name != OURS for p in curve])


def reached(points: Curve, seconds: float) -> float:
    """Return the best accuracy up to a time; minus infinity if there is none yet."""
    return max((p.accuracy for p in points if p.seconds <= seconds), default=float("-inf"))


def largest_gap(own: Curve, others: Curve) -> Gap:
    """Compare where ours is measured and, after the last of its points, where rivals improve."""
    end = max(point.seconds for point in own)
    times = [point.seconds for point in own if point.seconds >= FROM]
    times += [point.seconds for point in others if point.seconds > max(end, FROM)]
    if end < FROM:
        times.append(FROM)
    return max(Gap(reached(others, s) - reached(own, s), s) for s in times)


def report(found: Mapping[str, Mapping[str, Curve]]) -> str:
    """Return a table with the largest gap of every data set."""
    lines = [("data set", "largest gap, points", "at, s", "ours at its end", "rivals' best")]
    lines.append(("---", "---:", "---:", "---:", "---:"))
    for data, curves in found.items():
        others = envelope(curves)
        if OURS in curves and others:
            gap = largest_gap(curves[OURS], others)
            ends = (f"{curves[OURS][-1].accuracy:.2f} %", f"{others[-1].accuracy:.2f} %")
            lines.append((data, f"{gap.points:+.2f}", f"{gap.seconds:.2f}", *ends))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw(found: Mapping[str, Mapping[str, Curve]], path: Path) -> None:
    """Draw a panel per data set."""
    from matplotlib.figure import Figure

    n_lines = max(1, math.ceil(len(found) / 2))
    figure = Figure(figsize=(11.0, 0.6 + 3.7 * n_lines), layout="constrained")
    panels = figure.subplots(n_lines, 2).ravel()
    for ax, (data, curves) in zip(panels, found.items(), strict=False):
        _draw_panel(ax, data, curves)
    for ax in panels[len(found) :]:
        ax.set_axis_off()
    handles: dict[str, Any] = {}
    for ax in panels:
        own, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, own, strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=6, frameon=False
    )
    figure.suptitle("Test accuracy along the time of a fit, one thread", fontsize="medium")
    figure.savefig(path, dpi=150)


def _draw_panel(ax: Any, data: str, curves: Mapping[str, Curve]) -> None:
    end = max(point.seconds for curve in curves.values() for point in curve)
    others = envelope(curves)
    if others:
        x, y = _numbers([*others, others[-1]._replace(seconds=end)])
        style = {"color": "#bbbbbb", "lw": 6.0, "alpha": 0.6, "zorder": 1}
        ax.plot(x, y, drawstyle="steps-post", label="best of the rivals so far", **style)
    for name in CURVES:
        marker, width, order = ("o", 2.4, 3) if name == OURS else (None, 1.2, 2)
        style = {"color": COLORS[name], "marker": marker, "lw": width, "zorder": order}
        for _, stage in groupby(curves.get(name, []), key=lambda point: point.stage):
            ax.plot(*_numbers(list(stage)), label=name, **style)
    low, high = _range(curves)
    seen = [p.seconds for curve in curves.values() for p in curve if p.accuracy >= low]
    ax.axvline(FROM, color="#888888", ls=":", lw=1.0)
    ax.set(xscale="log", xlim=(0.8 * min(seen), 1.1 * end), ylim=(low, high), title=data)
    ax.set(xlabel="CPU time (s)", ylabel="test accuracy (%)")
    ax.grid(which="major", color="#dddddd", lw=0.7)
    ax.spines[["top", "right"]].set_visible(False)


def _numbers(points: Curve) -> tuple[list[float], list[float]]:
    return [point.seconds for point in points], [point.accuracy for point in points]


def _range(curves: Mapping[str, Curve]) -> tuple[float, float]:
    """Return the accuracies to show: from the lowest end, or ours from a second on, to the best."""
    best = max(point.accuracy for curve in curves.values() for point in curve)
    ends = [curve[-1].accuracy for curve in curves.values()]
    late = [point.accuracy for point in curves.get(OURS, []) if point.seconds >= FROM]
    span = max(LEAST_RANGE, best - min(ends + late))
    return best - 1.5 * span, best + 0.1 * span


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for; draw and print all that was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.along_time", description=__doc__)
    parser.add_argument("quick", nargs="?", choices=["quick"], help="few rows, short limits")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=CURVES, default=list(CURVES))
    options = parser.parse_args(argv)
    path = FOLDER / ("along_time_quick.csv" if options.quick else "along_time.csv")
    for data in options.only:
        for method in options.methods:
            if find_spec(CURVES[method].package) is None:
                print(f"{method} is not installed and left out", file=sys.stderr)
                continue
            new = measure(data, method, bool(options.quick))
            if new:
                old = [r for r in read_rows(path) if (r["data"], r["method"]) != (data, method)]
                write_rows(path, [*old, *new])
    curves = curves_of(read_rows(path))
    found = {name: curves[name] for name in SETS if name in curves}
    draw(found, path.with_suffix(".png"))
    print(report(found))


if __name__ == "__main__":
    main()
