"""The pictures of the demo."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import calibration_curve

from fcgboost.colors import BLUE, GREEN, GREY, PINK, VERMILION
from fcgboost.datasets import bayes_boundary
from fcgboost.plotting import DecisionBoundaryDisplay, PathDisplay
from paper.demo.methods import BOOSTING, COMPACT, DEFAULT, FAMILIES, Result
from paper.demo.tasks import SIMULATION_NOISE, Array, Draw, Task
from paper.files import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Whose probabilities are drawn.
COLORS = {DEFAULT: BLUE, COMPACT: GREEN, BOOSTING: VERMILION, "AdaBoost": PINK}


def draw_overview(found: Mapping[Task, Sequence[Result]], data: Draw) -> Figure:
    """Draw boundaries and probabilities of the simulation, and the test errors of all tasks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 7.2), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.15, 1.0)).flat
    (left, middle, right), lower = above.subplots(1, 3), below.subplots(1, 3)
    simulation = next(iter(found.values()))
    for name, ax in ((DEFAULT, left), (BOOSTING, middle)):
        draw_boundary(ax, next(r for r in simulation if r.name == name), data)
    draw_probabilities(right, simulation, data)
    for (task, results), ax in zip(found.items(), lower, strict=True):
        draw_errors(ax, results)
        ax.set_title(task.name, fontsize=10)
        if ax is not lower[0]:
            ax.set_yticklabels([])
    return figure


def draw_boundary(ax: Axes, result: Result, data: Draw) -> None:
    """Draw a decision boundary over the noisy points, and the true one."""
    DecisionBoundaryDisplay.from_estimator(
        result.model, data.X, data.y, atoms=False, true_boundary=bayes_boundary, ax=ax
    )
    if legend := ax.get_legend():
        legend.remove()
    ax.set_title(f"{result.name}: test error {100.0 * result.errors[0]:.1f} %", fontsize=10)
    ax.set(xticks=[], yticks=[], xlabel="dashed: the true boundary", ylabel="")


def draw_errors(ax: Axes, results: Sequence[Result]) -> None:
    """Draw mean test errors with their standard errors, one line per method."""
    for i, r in enumerate(results):
        color = BLUE if r.name.startswith("FCGBoost") else GREY
        ax.errorbar(
            *(100.0 * r.errors.mean(), i),
            xerr=100.0 * r.standard_error,
            fmt="o",
            color=color,
            capsize=3,
        )
    ax.set_yticks(range(len(results)), [r.name for r in results])
    ax.set_ylim(len(results) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("test error (%), mean ± standard error")
    ax.grid(axis="x", alpha=0.3)


def draw_probabilities(ax: Axes, results: Sequence[Result], data: Draw) -> None:
    """Draw how often a label is 1 where a probability is predicted, on noisy test labels."""
    truth = data.y_same > 0.0
    for r in results:
        if r.name in COLORS:
            p = r.model.predict_proba(data.X_test)[:, 1]
            share, mean = calibration_curve(truth, p, n_bins=8, strategy="quantile")
            label = f"{r.name}: log-loss {r.log_loss:.3f}"
            ax.plot(mean, share, "o-", ms=4, color=COLORS[r.name], label=label)
    ax.axline((0.0, 0.0), slope=1.0, color="black", lw=0.8, ls=":")
    for level in (SIMULATION_NOISE, 1.0 - SIMULATION_NOISE):
        ax.axhline(level, color="black", lw=0.8, ls="--", alpha=0.4)
    ax.set(
        xlim=(0.1, 0.9),
        ylim=(0.1, 1.1),
        xlabel="predicted probability",
        ylabel="observed share",
    )
    lowest = lowest_log_loss(SIMULATION_NOISE)
    ax.set_title(f"calibration; lowest possible log-loss {lowest:.3f}", fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="upper left")


def lowest_log_loss(noise: float) -> float:
    """Return the log-loss of the true probabilities, where labels are flipped."""
    return float(-noise * np.log(noise) - (1.0 - noise) * np.log(1.0 - noise))


def draw_paths(curves: Mapping[str, Array], models: Mapping[str, Any], k0: int) -> Figure:
    """Draw the test error of the paper's families against the number of steps."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator, PercentFormatter

    figure = Figure(figsize=(8.0, 5.2), layout="constrained")
    chosen = {name: models[f"FCGBoost {name}"].n_iter_ for name in FAMILIES}
    ax = figure.subplots()
    PathDisplay.from_predictions(curves, k0=k0, chosen=chosen, ylabel="test error", ax=ax)
    ax.set(yscale="log", yticks=[0.02, 0.03, 0.05, 0.1, 0.2, 0.4])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.grid(axis="y", alpha=0.3)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture, in full or not at all, and say so."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    replace_file(path, picture.getvalue())
    print(f"Wrote {path}")
