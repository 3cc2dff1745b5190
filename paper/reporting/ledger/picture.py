"""Ours beside printed figures: test errors of simulation 3 and accuracies on UCI sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paper.experiments.sim3 import LEVELS
from paper.reporting import published
from paper.reporting.document import Picture
from paper.reporting.figures import DICTIONARY_STYLES, finish, panels
from paper.reporting.ledger.base import Frames, select
from paper.reporting.ledger.real_data import BOOSTED
from paper.reporting.summaries import Summary, summaries
from paper.reporting.tables import present

if TYPE_CHECKING:
    from pandas import DataFrame

_PRINTED, _RANDOM = "#D55E00", "#0072B2"
_CAPTION = (
    "What reproduces and what does not. Left: test errors of the squared hinge in simulation 3, "
    "ours (exact, λ = 1/m) against the printed ones; filled markers are uniform noise, open ones "
    "outliers; the line is equality. Right: the highest accuracy of the four dictionaries on each "
    "UCI data set, as printed, and ours as the mean over random splits. Whiskers are standard "
    "errors."
)


def draw(frames: Frames) -> tuple[Picture, ...]:
    """Draw both panels, if both experiments have rows."""
    if any(name not in frames or frames[name].empty for name in ("sim3", "uci")):
        return ()
    figure, axes = panels(1, 2, 4.2)
    _errors(axes[0, 0], frames["sim3"])
    _accuracies(axes[0, 1], frames["uci"])
    return (finish(figure, "claims-printed", _CAPTION, n_columns=3),)


def _errors(ax: Any, frame: DataFrame) -> None:
    rows = select(frame, loss="squared_hinge", correction="ridge")
    found = summaries(rows, ["noise", "level", "dictionary"], "test_error")
    for name, style in DICTIONARY_STYLES.items():
        for noise, level, share in LEVELS:
            printed = published.sim3(noise, name, share, "squared_hinge")
            ours = found.get((noise, level, name))
            if printed is None or ours is None:
                continue
            is_first = (noise, level, share) == LEVELS[0]
            ax.errorbar(
                *(printed, ours.mean, ours.error),
                fmt=style.marker,
                markersize=5.5,
                color=style.color,
                mfc=style.color if noise == "uniform" else "white",
                elinewidth=0.8,
                label=style.label if is_first else None,
            )
    ax.axline((0.0, 0.0), slope=1.0, color="#777777", linewidth=0.8, zorder=0)
    ax.set(xlim=(0.0, None), ylim=(0.0, None), xlabel="printed test error", ylabel="our test error")
    ax.set_title("simulation 3: 24 settings", fontsize=10)


def _accuracies(ax: Any, frame: DataFrame) -> None:
    rows = select(frame, split="random")
    names = present(published.datasets(), rows, "dataset")
    for place, name in enumerate(names):
        ours = _best(rows[rows["dataset"] == name])
        printed = max((published.uci(name, method) or 0.0 for method in BOOSTED), default=0.0)
        is_first = place == 0
        label = "printed accuracy" if is_first else None
        ax.plot(printed, place, "x", color=_PRINTED, markersize=6.0, label=label)
        if ours is not None:
            label = "random splits" if is_first else None
            ax.errorbar(ours.mean, place, xerr=ours.error, fmt="o", color=_RANDOM, label=label)
    ax.set_yticks(range(len(names)), [name.replace("_", " ") for name in names], fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", color="#e5e5e5", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.set(xlabel="test accuracy, %")
    ax.set_title("UCI: highest of the four dictionaries", fontsize=10)


def _best(rows: DataFrame) -> Summary | None:
    """Give the highest mean of the four, in percent."""
    part = rows[rows["method"].isin(BOOSTED) & rows["accuracy"].notna()]
    found = summaries(part.assign(accuracy=100.0 * part["accuracy"]), ["method"], "accuracy")
    return max(found.values(), key=lambda one: one.mean, default=None)
