"""Pictures: time and memory against the number of rows; cost and error beside LightGBM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Okabe and Ito's colours, which colour-blind people can tell apart; ours is black and wide.
STYLES = {
    "fcgboost": ("#000000", "o"),
    "LightGBM": ("#009E73", "s"),
    "HistGradientBoosting": ("#0072B2", "^"),
    "random forest": ("#E69F00", "D"),
    "AdaBoost": ("#CC79A7", "v"),
    "SVC": ("#D55E00", "P"),
}
PANELS = (
    ("seconds", "time exponent", "time of a fit (s)"),
    ("mebibytes", "memory exponent", "peak memory above the data (MiB)"),
)

#: Of methods beside LightGBM's defaults.
BESIDE = {
    "fcgboost": ("#0072B2", "o"),
    "fcgboost fast": ("#56B4E9", "o"),
    "LightGBM tuned": ("#009E73", "s"),
    "CatBoost": ("#E69F00", "D"),
    "ChimeraBoost": ("#CC79A7", "v"),
}

OURS = ("fcgboost", "fcgboost fast")

#: What the data sets of `benchmarks.large` are called.
TITLES = {
    "magic-300": "MAGIC, 300 rows",
    "magic-1000": "MAGIC, 1,000 rows",
    "magic-9510": "MAGIC, 9,510 rows",
    "covtype-10000": "covtype, 10,000 rows",
    "covtype-100000": "covtype, 100,000 rows",
    "covtype-400000": "covtype, 400,000 rows",
    "made-up-1e4": "synthetic, 10,000 rows",
    "made-up-1e5": "synthetic, 100,000 rows",
    "made-up-1e6": "synthetic, 1,000,000 rows",
    "made-up-1e7": "synthetic, 10,000,000 rows",
    "covtype-7-classes": "covtype, 7 classes, 100,000 rows",
    "digits": "digits, 10 classes",
}


def title_of(data: str) -> str:
    """Return what a line's data set is called, without its number of splits."""
    name = data.partition(" (")[0]
    return TITLES.get(name, name)


def find_curves(records: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Give the curves of a run, if it measured them."""
    return next((r["details"]["curves"] for r in records if "curves" in r["details"]), None)


def draw_growth(curves: Mapping[str, Any], path: Path) -> None:
    """Draw both panels on logarithmic axes, with fitted slopes in the legends."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.8), layout="constrained")
    for ax, (values, slope, label) in zip(figure.subplots(1, 2), PANELS, strict=True):
        for name, curve in curves.items():
            if not curve["sizes"]:
                continue
            color, marker = STYLES[name]
            text = f"{name}, slope {curve[slope]:.2f}" if slope in curve else name
            width = 2.4 if name == "fcgboost" else 1.3
            ax.plot(curve["sizes"], curve[values], color=color, marker=marker, lw=width, label=text)
        ax.set(xscale="log", yscale="log", xlabel="number of rows m", ylabel=label)
        ax.grid(which="major", color="#dddddd", lw=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        # Below the axes, where it covers no data.
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False, fontsize=9
        )
    figure.suptitle("Time and memory of a fit on 10 columns, two cores", fontsize="medium")
    figure.savefig(path, dpi=150)


def draw_every_size(lines: Sequence[Mapping[str, str]], path: Path) -> None:
    """Draw fit time and test error as ratios to LightGBM's defaults, a row per data set."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    base = {line["data"]: line for line in lines if line["method"] == "LightGBM"}
    figure = Figure(figsize=(10.0, 0.36 * len(base) + 1.6), layout="constrained")
    titles = {"seconds": "fit time, × LightGBM's", "accuracy": "test error, × LightGBM's"}
    for ax, (column, title) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
        for name, (color, marker) in BESIDE.items():
            own = [line for line in lines if line["method"] == name and line["data"] in base]
            places = [list(base).index(line["data"]) for line in own]
            ratios = [_cost(line, column) / _cost(base[line["data"]], column) for line in own]
            size, order = (9.0, 3) if name in OURS else (6.5, 2)
            ax.plot(ratios, places, marker, color=color, markersize=size, zorder=order, label=name)
        ax.axvline(1.0, color="#555555", lw=1.0)
        ax.set(xscale="log", xlabel=f"{title} (log scale; left is better)")
        ax.xaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0) if column == "accuracy" else (1.0, 2.0, 5.0))
        )
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(color="#e5e5e5", lw=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    ax.set_yticks(range(len(base)), [title_of(data) for data in base])
    ax.set_ylim(len(base) - 0.5, -0.5)
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False
    )
    figure.savefig(path, dpi=150)


def _cost(line: Mapping[str, str], column: str) -> float:
    """Return seconds, or the error in percent, of a printed line."""
    value = float(line[column].replace(",", ""))
    return 100.0 - value if column == "accuracy" else value
