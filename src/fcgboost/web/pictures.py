"""The pictures of a report, drawn by the package's displays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fcgboost import plotting
from fcgboost.colors import CLASS_COLORS, PALETTE
from fcgboost.plotting.base import legend_below, set_labels
from fcgboost.tables import Column, NumberColumn
from fcgboost.web.blocks import Picture
from fcgboost.web.effects import Dependence, find_dependences, find_importances
from fcgboost.web.models import Evaluation, FittedModel
from fcgboost.web.path import PathRecord
from fcgboost.web.plane import Plane
from fcgboost.web.reasons import Reasons
from fcgboost.web.svg import drawing, markup, raster
from fcgboost.web.tables import influence_words
from fcgboost.web.text import count, label, percent, quoted, shortened

_MOST_ROWS = 5000
_MOST_POINTS = 600
_N_GRID = 200
# Columns whose partial dependence is drawn, and classes with a line there.
_MOST_DEPENDENCES, _MOST_LINES = 3, 4
# Letters of levels that fit side by side.
_LONGEST_LEVELS = 32


def draw_columns(model: FittedModel, evaluation: Evaluation | None) -> list[Picture]:
    """Draw permutation importance and partial dependence, or else the model's own influences."""
    return list(_of_columns(model, evaluation) if evaluation else ()) or list(_of_model(model))


def draw_path(path: PathRecord) -> Picture:
    """Draw the path, for readers without scripts."""
    model, (ylabel, curves) = path.model, next(iter(path.panels.items()))
    chosen = dict.fromkeys(curves, model.classifier.n_iter_)
    with drawing(model.has_dollars) as ax:
        plotting.PathDisplay(curves, k0=model.k0, chosen=chosen, ylabel=ylabel).plot(ax)
    return _picture(ax, "still-path", "The path", f"{ylabel.capitalize()} after each step.")


def draw_boundary(plane: Plane) -> Picture:
    """Draw the boundary, for readers without scripts."""
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


def draw_row(model: FittedModel, reasons: Reasons, label_: Any) -> Picture:
    """Draw the contribution of every column to a row's decision value for the predicted class."""
    options = {"classes": model.classes, "class_of_interest": label_}
    last, show = len(reasons.why), plotting.ContributionDisplay.from_explanation
    with drawing(True, 1.6 + 0.24 * min(11, len(model.columns))) as ax:
        show(reasons.explanation, row=last, ax=ax, **options)
    rows = "training rows" if reasons.is_from_training else "rows given to this report"
    caption = f"Shapley values: from the mean decision value of the {rows} to that of this row."
    title = f"Why row {reasons.row} is predicted as {quoted(label_)}"
    return _picture(ax, "contributions", title, caption)


def draw_predictions(model: FittedModel, evaluation: Evaluation) -> list[Picture]:
    """Draw calibration and margins."""
    rows = evaluation.some(_MOST_ROWS, known=True)
    part = "" if len(rows) == len(evaluation) else f" Drawn from {count(len(rows), 'row')}."
    data = (model.classifier, evaluation.some_inputs(rows), evaluation.y[rows])
    pictures = []
    if evaluation.proba is not None:
        with drawing(model.has_dollars) as ax:
            plotting.ReliabilityDisplay.from_estimator(*data, ax=ax)
        caption = (
            "Observed frequency against predicted probability: on the dotted line, 70 % means 70 "
            f"of 100. The strip below counts the rows of each bin.{part}"
        )
        pictures.append(_picture(ax, "reliability", "Calibration (reliability diagram)", caption))
    with drawing(model.has_dollars) as ax:
        margins = plotting.MarginDisplay.from_estimator(*data, ax=ax)
    wrong, active = percent(margins.error_share), percent(margins.active_share)
    caption = (
        f"How clear the decisions are: {wrong} of the rows have a negative margin, so they are "
        f"mistakes; {active} have a margin below 1.{part}"
    )
    return [*pictures, _picture(ax, "margins", "Margins", caption)]


def _of_model(model: FittedModel) -> Iterator[Picture]:
    if model.influence is not None:
        places = model.largest(len(model.columns))
        names, values = [shortened(model.columns[j].name) for j in places], model.influence[places]
        with drawing(model.has_dollars, min(3.6, 1.0 + 0.28 * len(names))) as ax:
            plotting.FeatureInfluenceDisplay(values, names, xlabel="influence").plot(ax)
        caption = f"{influence_words(model).capitalize()}, as a share of the total."
        yield _picture(ax, "influence", "Influence of the columns", caption)


def _of_columns(model: FittedModel, evaluation: Evaluation) -> Iterator[Picture]:
    found = find_importances(model, evaluation)
    if found is None:
        return
    names = [shortened(model.columns[place].name) for place in found.places]
    with drawing(model.has_dollars, min(3.6, 1.0 + 0.28 * len(names))) as ax:
        title = "drop in accuracy"
        plotting.FeatureInfluenceDisplay(found.mean, names, errors=found.std, xlabel=title).plot(ax)
    caption = (
        f"Drop in accuracy when a column is permuted among {count(found.n_rows, 'row')}: mean and "
        "standard deviation over the permutations."
    )
    yield _picture(ax, "permutation", "Permutation importance", caption)
    chosen = find_dependences(model, evaluation, found, _MOST_DEPENDENCES)
    for i, one in enumerate((one for one in chosen if len(one.values)), 1):
        yield _dependence(model, one, f"dependence-{i}")


def _dependence(model: FittedModel, one: Dependence, name: str) -> Picture:
    column = shortened(model.columns[one.place].name, 40)
    is_pair = one.means.shape[1] == 1
    classes = model.classes[1:] if is_pair else model.classes
    colors = CLASS_COLORS[1:] if is_pair else PALETTE
    # Of many classes those that the column moves most.
    most = np.argsort(-np.ptp(one.means, axis=0), kind="stable")[:_MOST_LINES]
    unit = "probability" if model.has_proba else "decision value"
    event = f" of {shortened(label(classes[0]), 24)}" if is_pair else ""
    has_names = isinstance(one.values, list)
    places = np.arange(len(one.values)) if has_names else one.values
    style = "o" if has_names or len(one.values) == 1 else "-"
    with drawing(model.has_dollars, 2.8 if is_pair else 3.6) as ax:
        for code, color in zip(sorted(most.tolist()), colors, strict=False):
            named = shortened(label(classes[code]), 40)
            ax.plot(places, one.means[:, code], style, color=color, label=named)
        _name_values(ax, model.columns[one.place], one.values)
        is_event = is_pair and model.has_proba
        set_labels(ax, column, f"mean P({event[4:]})" if is_event else f"mean {unit}")
        if not is_pair:
            legend_below(ax)
    some = f" The {_MOST_LINES} classes that change most." if len(classes) > _MOST_LINES else ""
    caption = f"Mean predicted {unit}{event} if every row had this value of {column}.{some}"
    return _picture(ax, name, f"Partial dependence on {column}", caption)


def _name_values(ax: Any, column: Column, values: Any) -> None:
    """Label the axis with levels or dates."""
    if isinstance(values, list):
        names = [shortened(value, 14) for value in values]
        turned = 90 if sum(map(len, names)) > _LONGEST_LEVELS else 0
        ax.set_xticks(np.arange(len(values)), names, rotation=turned)
    elif isinstance(column, NumberColumn) and column.unit == "days":
        ax.locator_params(axis="x", nbins=4, integer=True)
        ax.xaxis.set_major_formatter(lambda day, _: str(np.datetime64(int(day), "D")))


def _picture(ax: Any, name: str, title: str, caption: str) -> Picture:
    return Picture(name, markup(ax.figure, name, f"{title}. {caption}"), title, caption)
