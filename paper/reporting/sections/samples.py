"""The noisy training samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fcgboost.colors import CLASS_COLORS
from fcgboost.datasets import bayes_boundary
from paper.reporting import figures
from paper.reporting.document import Body, Picture
from paper.reporting.figures import NOISE_NAMES
from paper.reporting.summaries import flags

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

#: The share of outliers that the paper prints for tol = 0.3 and ratio = 0.4.
PRINTED_SHARE = 0.174


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Draw both samples."""
    return Body(figures=(_figure(frame),))


def _figure(frame: DataFrame) -> Picture:
    figure, axes = figures.panels(1, 2, 4.6, sharey=True)
    shares = []
    for ax, noise in zip(axes[0], NOISE_NAMES, strict=True):
        part = frame[frame["noise"] == noise]
        _scatter(ax, part)
        ax.set(title=NOISE_NAMES[noise], xlabel="x₁", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if len(part):
            shares.append(f"{NOISE_NAMES[noise]}: {100 * flags(part['is_flipped']).mean():.1f} %")
    axes[0][0].set_ylabel("x₂")
    caption = (
        f"Training samples and the Bayes boundary. Flipped labels, {'; '.join(shares)}. The paper "
        f"prints 30 % uniform noise and {100 * PRINTED_SHARE:.1f} % outliers."
    )
    return figures.finish(
        figure,
        "samples",
        caption,
        n_columns=3,
        printed="Figure 3",
    )


def _scatter(ax: Axes, part: DataFrame) -> None:
    is_flipped = flags(part["is_flipped"])
    for label, color, marker in zip((-1, 1), CLASS_COLORS, ("^", "o"), strict=True):
        points = part[(part["label"] == label) & ~is_flipped]
        ax.scatter(points["x1"], points["x2"], s=7, c=color, marker=marker, lw=0, alpha=0.55)
        wrong = part[(part["label"] == label) & is_flipped]
        style: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.7}
        ax.scatter(wrong["x1"], wrong["x2"], s=16, c=color, marker=marker, **style)
        # Larger in the legend than in the plot, where they are many.
        name = f"label {label:+d}".replace("-", "−")
        options: dict[str, Any] = {"linestyle": "", "marker": marker, "markersize": 6}
        ax.plot([], [], **options, color=color, label=name)
        ax.plot([], [], **options, color=color, markeredgecolor="black", label=f"{name}, flipped")
    t = np.linspace(0.0, 1.0, 200)
    ax.plot(t, bayes_boundary(t), color="black", linewidth=1.8, label="Bayes boundary")
