"""The pictures of a report, drawn by the package's displays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fcgboost import plotting
from fcgboost.colors import CLASS_COLORS, PALETTE
from fcgboost.plotting.atoms import has_values
from fcgboost.plotting.base import legend_below, set_labels, text_color
from fcgboost.tables import Column, NumberColumn
from fcgboost.web.blocks import Picture
from fcgboost.web.effects import Dependence, find_dependences, find_importances
from fcgboost.web.models import Evaluation, FittedModel
from fcgboost.web.path import PathRecord
from fcgboost.web.plane import Plane
from fcgboost.web.svg import drawing, markup, raster
from fcgboost.web.tables import influence_words
from fcgboost.web.text import count, label, percent, quoted, shortened, shown

_MOST_ROWS = 5000
_MOST_POINTS = 600
_N_GRID = 200
# What the display shows at most.
_MOST_ATOMS = 30
# Columns whose partial dependence is drawn, and classes with a line there.
_MOST_DEPENDENCES, _MOST_LINES = 3, 6


def draw_pictures(model: FittedModel, evaluation: Evaluation | None) -> list[Picture]:
    """Draw all that there is to draw."""
    found = [] if evaluation is None else list(_of_predictions(model, evaluation))
    found += _of_model(model)
    return found if evaluation is None else [*found, *_of_columns(model, evaluation)]


def draw_path(path: PathRecord) -> Picture:
    """Draw the path as it is without a script."""
    model, (ylabel, curves) = path.model, next(iter(path.panels.items()))
    k0 = model.k0 if model.k0 <= path.n_steps else None
    chosen = dict.fromkeys(curves, model.classifier.n_iter_)
    with drawing(model.has_dollars) as ax:
        plotting.PathDisplay(curves, k0=k0, chosen=chosen, ylabel=ylabel).plot(ax)
    return _picture(ax, "still-path", "The path", f"{ylabel.capitalize()} after each step.")


def draw_boundary(plane: Plane) -> Picture:
    """Draw the boundary as it is without a script."""
    model, known = plane.model, plane.evaluation.some(_MOST_POINTS, known=True)
    whole = make_pipeline(FunctionTransformer(plane.rows), model.classifier)
    names: dict[str, Any] = {"xlabel": plane.names[0], "ylabel": plane.names[1]}
    points, labels = plane.points[known], plane.evaluation.y[known]
    with drawing(model.has_dollars) as ax:
        plotting.DecisionBoundaryDisplay.from_estimator(
            whole, points, labels, grid_resolution=_N_GRID, ax=ax, **names
        )
    caption = f"Decision boundary over {plane.names[0]} and {plane.names[1]}."
    # Many small shapes: pixels are smaller.
    return Picture("still-boundary", raster(ax.figure, caption), "The boundary", caption)


def _of_predictions(model: FittedModel, evaluation: Evaluation) -> Iterator[Picture]:
    rows = evaluation.some(_MOST_ROWS, known=True)
    part = "" if len(rows) == len(evaluation) else f" Drawn from {count(len(rows), 'row')}."
    data = (model.classifier, evaluation.some_inputs(rows), evaluation.y[rows])
    with drawing(model.has_dollars) as ax:
        margins = plotting.MarginDisplay.from_estimator(*data, ax=ax)
    wrong, active = percent(margins.error_share), percent(margins.active_share)
    caption = (
        f"How far the model is on the right side: {wrong} of the rows have a margin below 0 and "
        f"are mistakes, {active} have one below 1.{part}"
    )
    yield _picture(ax, "margins", "Margins", caption)
    if evaluation.proba is not None:
        with drawing(model.has_dollars) as ax:
            plotting.ReliabilityDisplay.from_estimator(*data, ax=ax)
        caption = (
            "Whether probabilities mean what they say: points on the dotted line do. Below, how "
            f"many rows each point stands for.{part}"
        )
        yield _picture(ax, "reliability", "Calibration (reliability diagram)", caption)


def _of_model(model: FittedModel) -> Iterator[Picture]:
    if model.has_path:
        with drawing(model.has_dollars) as ax:
            plotting.CoefficientPathDisplay.from_estimator(model.classifier, ax=ax)
        caption = "How the coefficients moved while atoms came in; the largest ones have names."
        yield _picture(ax, "coefficients", "Coefficient path", caption)
    if model.influence is not None:
        names = [shortened(column.name) for column in model.columns]
        with drawing(model.has_dollars, min(3.6, 1.0 + 0.28 * len(names))) as ax:
            plotting.FeatureInfluenceDisplay(model.influence, names, xlabel="influence").plot(ax)
        words = influence_words(model)
        caption = f"How strongly the model reacts to each column: {words}, as a share of all."
        yield _picture(ax, "influence", "Influence of the columns", caption)
    if has_values(model.classifier.model_):
        height = 2.4 + 0.13 * min(_MOST_ATOMS, model.classifier.n_atoms_)
        with drawing(model.has_dollars, height) as ax:
            display = plotting.AtomDisplay.from_estimator(model.classifier, ax=ax)
        names = list(map(shown, model.feature_names))
        if list(display.names) != names:
            # A classifier behind an encoder does not know the names of its features.
            display.names = names
            with drawing(model.has_dollars, height) as ax:
                display.plot(ax)
        caption = "What the atoms look at: each row is an atom, each column a feature."
        yield _picture(ax, "atoms", "Atoms", caption)


def _of_columns(model: FittedModel, evaluation: Evaluation) -> Iterator[Picture]:
    found = find_importances(model, evaluation)
    if found is None:
        return
    names = [shortened(model.columns[place].name) for place in found.places]
    with drawing(model.has_dollars, min(3.6, 1.0 + 0.28 * len(names))) as ax:
        title = "loss of accuracy"
        plotting.FeatureInfluenceDisplay(found.mean, names, errors=found.std, xlabel=title).plot(ax)
    caption = (
        "What the accuracy loses when the values of a column are shuffled among "
        f"{count(found.n_rows, 'row')}, with the standard deviation over the shuffles."
    )
    yield _picture(ax, "shuffled", "Permutation importance", caption)
    chosen = find_dependences(model, evaluation, found, _MOST_DEPENDENCES)
    for i, one in enumerate(chosen, 1):
        yield _dependence(model, one, f"dependence-{i}")


def _dependence(model: FittedModel, one: Dependence, name: str) -> Picture:
    column = shortened(model.columns[one.place].name, 40)
    is_pair = one.means.shape[1] == 1
    classes = model.classes[1:] if is_pair else model.classes
    colors = CLASS_COLORS[1:] if is_pair else PALETTE
    has_names = isinstance(one.values, list)
    places = np.arange(len(one.values)) if has_names else one.values
    style = "o" if has_names or len(one.values) == 1 else "-"
    with drawing(model.has_dollars, 2.8) as ax:
        for code, value in list(enumerate(classes))[:_MOST_LINES]:
            ax.plot(places, one.means[:, code], style, color=colors[code], label=label(value))
        _name_values(ax, model.columns[one.place], one.values)
        ax.axhline(0.0, color=text_color(ax), linewidth=0.8, linestyle=":")
        set_labels(ax, column, "mean decision value")
        if not is_pair:
            legend_below(ax)
    towards = f" Above 0 it speaks for {quoted(classes[0])}." if is_pair else ""
    caption = (
        f"The mean of the model's decision values if every row had the same {column}.{towards}"
    )
    return _picture(ax, name, f"Partial dependence on {column}", caption)


def _name_values(ax: Any, column: Column, values: Any) -> None:
    """Write levels and dates at the axis of values."""
    if isinstance(values, list):
        turned = 90 if len(values) > 4 else 0
        names = [shortened(value, 14) for value in values]
        ax.set_xticks(np.arange(len(values)), names, rotation=turned)
    elif isinstance(column, NumberColumn) and column.unit == "days":
        ax.locator_params(axis="x", nbins=4, integer=True)
        ax.xaxis.set_major_formatter(lambda day, _: str(np.datetime64(int(day), "D")))


def _picture(ax: Any, name: str, title: str, caption: str) -> Picture:
    return Picture(name, markup(ax.figure, name, f"{title}. {caption}"), title, caption)
