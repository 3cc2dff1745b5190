"""The pictures of a page, drawn by the package's displays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fcgboost.colors import CLASS_COLORS
from fcgboost.plotting import (
    AtomDisplay,
    CoefficientPathDisplay,
    DecisionBoundaryDisplay,
    FeatureInfluenceDisplay,
    MarginDisplay,
    PathDisplay,
    ReliabilityDisplay,
)
from fcgboost.plotting.atoms import has_values
from fcgboost.plotting.base import class_colors, legend_below, set_labels, text_color
from fcgboost.report.boundary import Plane
from fcgboost.report.columns import influence_words
from fcgboost.report.document import Picture
from fcgboost.report.effects import Dependence, dependences, shuffled_losses
from fcgboost.report.path import Path
from fcgboost.report.subject import Judged, Subject
from fcgboost.report.svg import drawing, markup, raster
from fcgboost.report.wording import count, label, percent, quoted, shortened
from fcgboost.tables import Column, NumberColumn

_MOST_ROWS = 5000
_MOST_POINTS = 600
_N_GRID = 120
# What the display shows at most.
_MOST_ATOMS = 30
# Columns whose partial dependence is drawn, and classes with a line there.
_MOST_DEPENDENCES, _MOST_LINES = 3, 6


def draw_pictures(subject: Subject, judged: Judged | None) -> list[Picture]:
    """Draw all that there is to draw."""
    found = [] if judged is None else list(_of_predictions(subject, judged))
    found += _of_model(subject)
    return found if judged is None else [*found, *_of_columns(subject, judged)]


def draw_path(path: Path) -> Picture:
    """Draw the path as it is without a script."""
    curves = path.curves or {"objective": path.objective}
    chosen = dict.fromkeys(curves, path.subject.classifier.n_iter_)
    ylabel = "error" if path.curves else "training objective"
    k0 = path.subject.k0
    display = PathDisplay(
        curves,
        k0=k0 if k0 is not None and k0 <= path.n_steps else None,
        chosen=chosen,
        ylabel=ylabel,
    )
    with drawing(path.subject.has_dollars) as ax:
        display.plot(ax)
    return _picture(ax, "still-path", "The path", f"{ylabel.capitalize()} after each step.")


def draw_boundary(plane: Plane) -> Picture:
    """Draw the boundary as it is without a script."""
    subject, known = plane.subject, plane.judged.some(_MOST_POINTS, known=True)
    model = make_pipeline(FunctionTransformer(plane.rows), subject.classifier)
    names: dict[str, Any] = {"xlabel": plane.names[0], "ylabel": plane.names[1]}
    points, labels = plane.points[known], plane.judged.y[known]
    with drawing(subject.has_dollars) as ax:
        DecisionBoundaryDisplay.from_estimator(
            model, points, labels, grid_resolution=_N_GRID, ax=ax, **names
        )
    caption = f"Decision boundary over {plane.names[0]} and {plane.names[1]}."
    # Many small shapes: pixels are smaller.
    return Picture("still-boundary", raster(ax.figure, caption), "The boundary", caption)


def _of_predictions(subject: Subject, judged: Judged) -> Iterator[Picture]:
    rows = judged.some(_MOST_ROWS, known=True)
    part = "" if len(rows) == len(judged) else f" Drawn from {count(len(rows), 'row')}."
    classifier, inputs, y = subject.classifier, judged.some_inputs(rows), judged.y[rows]
    with drawing(subject.has_dollars) as ax:
        margins = MarginDisplay.from_estimator(classifier, inputs, y, ax=ax)
    wrong, active = percent(margins.error_share), percent(margins.active_share)
    caption = (
        f"How far the model is on the right side: {wrong} of the rows have a margin below 0 and "
        f"are mistakes, {active} have one below 1.{part}"
    )
    yield _picture(ax, "margins", "Margins", caption)
    if judged.proba is not None:
        with drawing(subject.has_dollars) as ax:
            ReliabilityDisplay.from_estimator(classifier, inputs, y, ax=ax)
        caption = (
            "Whether probabilities mean what they say: points on the dotted line do. Below, how "
            f"many rows each point stands for.{part}"
        )
        yield _picture(ax, "reliability", "Reliability", caption)


def _of_model(subject: Subject) -> Iterator[Picture]:
    if subject.has_path:
        with drawing(subject.has_dollars) as ax:
            CoefficientPathDisplay.from_estimator(subject.classifier, ax=ax)
        caption = "How the coefficients moved while atoms came in; the largest ones have names."
        yield _picture(ax, "coefficients", "Coefficient path", caption)
    if subject.influence is not None:
        names = [shortened(column.name) for column in subject.columns]
        with drawing(subject.has_dollars, min(3.6, 1.0 + 0.28 * len(names))) as ax:
            FeatureInfluenceDisplay(subject.influence, names, xlabel="influence").plot(ax)
        words = influence_words(subject)
        caption = f"How strongly the model reacts to each column: {words}, as a share of all."
        yield _picture(ax, "influence", "Influence of the columns", caption)
    if has_values(subject.classifier.model_):
        yield _atoms(subject)


def _of_columns(subject: Subject, judged: Judged) -> Iterator[Picture]:
    """Draw what the predictions for the data owe to the columns."""
    losses = shuffled_losses(subject, judged)
    if losses is None:
        return
    names = [shortened(subject.columns[place].name) for place in losses.places]
    with drawing(subject.has_dollars, min(3.6, 1.0 + 0.28 * len(names))) as ax:
        title = "loss of accuracy when shuffled"
        FeatureInfluenceDisplay(losses.mean, names, errors=losses.std, xlabel=title).plot(ax)
    caption = (
        "What the accuracy loses when the values of a column are shuffled among "
        f"{count(losses.n_rows, 'row')}, with the standard deviation over the shuffles."
    )
    yield _picture(ax, "shuffled", "Shuffled columns", caption)
    for i, one in enumerate(dependences(subject, judged, losses, _MOST_DEPENDENCES), 1):
        yield _dependence(subject, one, f"dependence-{i}")


def _dependence(subject: Subject, one: Dependence, name: str) -> Picture:
    column = shortened(subject.columns[one.place].name, 40)
    classes = subject.classes[1:] if one.means.shape[1] == 1 else subject.classes
    colors = CLASS_COLORS[1:] if len(classes) == 1 else class_colors(len(classes))
    with drawing(subject.has_dollars, 2.8) as ax:
        for code, value in list(enumerate(classes))[:_MOST_LINES]:
            style = "o" if isinstance(one.values, list) or len(one.values) == 1 else "-"
            places = np.arange(len(one.values)) if isinstance(one.values, list) else one.values
            ax.plot(places, one.means[:, code], style, color=colors[code], label=label(value))
        _name_values(ax, subject.columns[one.place], one.values)
        ax.axhline(0.0, color=text_color(ax), linewidth=0.8, linestyle=":")
        set_labels(ax, column, "mean decision value")
        if len(classes) > 1:
            legend_below(ax)
    towards = f" Above 0 it speaks for {quoted(classes[0])}." if len(classes) == 1 else ""
    caption = (
        f"The mean of the model's decision values if every row had the same {column} (partial "
        f"dependence).{towards}"
    )
    return _picture(ax, name, f"Dependence on {column}", caption)


def _name_values(ax: Any, column: Column, values: Any) -> None:
    """Write levels and dates at the axis of values."""
    if isinstance(values, list):
        turned = 90 if len(values) > 4 else 0
        names = [shortened(value, 14) for value in values]
        ax.set_xticks(np.arange(len(values)), names, rotation=turned)
    elif isinstance(column, NumberColumn) and column.unit == "days":
        ax.locator_params(axis="x", nbins=4, integer=True)
        ax.xaxis.set_major_formatter(lambda day, _: str(np.datetime64(int(day), "D")))


def _atoms(subject: Subject) -> Picture:
    height = 2.4 + 0.13 * min(_MOST_ATOMS, subject.classifier.n_atoms_)
    with drawing(subject.has_dollars, height) as ax:
        display = AtomDisplay.from_estimator(subject.classifier, ax=ax)
    if list(display.names) != subject.feature_names:
        # A classifier behind an encoder does not know the names of its features.
        display.names = subject.feature_names
        with drawing(subject.has_dollars, height) as ax:
            display.plot(ax)
    caption = "What the atoms look at: each row is an atom, each column a feature."
    return _picture(ax, "atoms", "Atoms", caption)


def _picture(ax: Any, name: str, title: str, caption: str) -> Picture:
    return Picture(name, markup(ax.figure, name, f"{title}. {caption}"), title, caption)
