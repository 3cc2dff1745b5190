"""The picture of growth: time and memory against the number of rows."""

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
