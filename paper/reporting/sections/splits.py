"""How accuracies spread over random splits, and whether a published figure lies within."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paper.reporting import figures, published
from paper.reporting.document import Picture
from paper.reporting.figures import METHOD_STYLES, label_of, style_of
from paper.reporting.summaries import summaries
from paper.reporting.tables import Table, number, present, row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

#: The sets whose published figures lie far from what others find.
SETS = ("seismic_bumps", "HTRU2", "biodeg", "heart", "musk2", "default_credit_card_clients")


def methods_shown(part: DataFrame) -> list[str]:
    """Give the methods based on full correction and, if it is another, the best one."""
    means = {
        name: value.mean
        for name, value in summaries(part, ["method"], "accuracy").items()
        if value.n
    }
    boosting = [name for name in METHOD_STYLES if name.startswith("fcg_") and name in means]
    best = max(means, key=means.__getitem__) if means else None
    return boosting if best is None or best in boosting else [*boosting, best]


def table(random: DataFrame) -> Table:
    """Give the spread of accuracies, in percent, for a frame of random splits."""
    rows = []
    for name in (name for name in SETS if (random["dataset"] == name).any()):
        part = random[random["dataset"] == name]
        best = published.uci_best(name)
        for method in methods_shown(part):
            values = part[part["method"] == method]["accuracy"].dropna().to_numpy()
            spread = (number(value, 2) for value in np.percentile(values, (0, 25, 50, 75, 100)))
            printed = (number(published.uci(name, method), 2), number(best, 2))
            reached = int(np.sum(np.round(values, 2) >= best)) if best is not None else 0
            count = f"{reached} of {len(values)}"
            rows.append(row(name, label_of(METHOD_STYLES, method), *spread, *printed, count))
    header = ("data set", "method", "smallest", "first quartile", "median", "third quartile")
    return Table(
        "Accuracies over random splits, in percent: the FCG methods and the best of all methods.",
        (*header, "largest", "paper", "paper's best", "splits that reach the paper's best"),
        tuple(rows),
        n_labels=2,
    )


def pictures(random: DataFrame) -> tuple[Picture, ...]:
    """Draw the same, if there is anything to draw."""
    names = [name for name in present(SETS, random, "dataset") if name in SETS]
    if not names:
        return ()
    n_rows = -(-len(names) // 3)
    figure, axes = figures.panels(n_rows, 3, 1.2 + 2.3 * n_rows)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        _boxes(ax, random[random["dataset"] == name], name)
    for line in axes:
        line[0].set_ylabel("test accuracy (%)")
    caption = (
        "Test accuracies over random splits: boxes from the first to the third quartile, whiskers "
        "from the smallest to the largest. Dashed: the best accuracy the paper prints for the set."
    )
    return (figures.finish(figure, "uci-splits", caption, n_columns=3),)


def _boxes(ax: Axes, part: DataFrame, name: str) -> None:
    shown = methods_shown(part)
    for i, method in enumerate(shown):
        style = style_of(METHOD_STYLES, method)
        values = part[part["method"] == method]["accuracy"].dropna()
        box: dict[str, Any] = {"facecolor": style.color, "alpha": 0.75}
        middle: dict[str, Any] = {"color": "black", "linewidth": 1.6}
        options: dict[str, Any] = {"boxprops": box, "medianprops": middle, "widths": 0.6}
        ax.boxplot(values, positions=[i], whis=(0, 100), patch_artist=True, **options)
        ax.scatter([], [], marker="s", c=style.color, edgecolors="black", label=style.label)
    best = published.uci_best(name)
    if best is not None:
        ax.axhline(best, color="black", linestyle="--", linewidth=1.0, label="paper's best")
    ax.margins(y=0.08)
    ax.set(title=name.replace("_", " "), xticks=[])
    ax.title.set_fontsize(9)
