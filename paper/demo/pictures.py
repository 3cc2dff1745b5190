"""What the demo draws."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcgboost.datasets import bayes_boundary
from fcgboost.plotting import DecisionBoundaryDisplay, PathDisplay
from paper.demo.methods import Array, Data, Result
from paper.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_boundaries(results: Sequence[Result], data: Data) -> Figure:
    """Draw the decision boundaries of six methods over the noisy points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 9.6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    displays = []
    for r, ax in zip(results, axes.flat, strict=True):
        # So many lines would hide the points.
        atoms: Any = "auto" if r.name.endswith("gauss") else False
        display = DecisionBoundaryDisplay.from_estimator(
            r.model, data.X, data.y, atoms=atoms, true_boundary=bayes_boundary, ax=ax
        )
        displays.append(display)
        ax.set_title(f"{r.name}: {r.size} {r.unit}, test error {r.error:.1%}", fontsize=10)
        ax.get_legend().remove()
        ax.label_outer()
    legend = axes.flat[0].get_legend_handles_labels()
    label = "decision value (forest: 2p − 1, p the probability of label 1)"
    figure.colorbar(displays[0].surface_, ax=axes, shrink=0.6, label=label)
    figure.legend(*legend, loc="outside lower center", ncols=6, markerscale=1.5, frameon=False)
    return figure


def draw_paths(curves: Mapping[str, Array], models: Mapping[str, Any], k0: int) -> Figure:
    """Draw the test error of the four dictionaries against the number of steps."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator, PercentFormatter

    figure = Figure(figsize=(8.0, 5.2), layout="constrained")
    chosen = {name: model.n_iter_ for name, model in models.items()}
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
    figure.savefig(picture, format="png", dpi=120)
    replace_file(path, picture.getvalue())
    print(f"Wrote {path}")
