"""The pictures of a report, drawn by the package's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fcgboost import plotting
from fcgboost.colors import CLASS_COLORS, PALETTE
from fcgboost.inspection import kind_of
from fcgboost.plotting.base import legend_below, set_labels
from fcgboost.plotting.boundaries import like
from fcgboost.plotting.influence import meaning_of_influence
from fcgboost.report.blocks import Picture
from fcgboost.report.effects import Dependence, find_dependences
from fcgboost.report.images import drawing, image_of
from fcgboost.report.models import Array, EvaluatedRows, FittedModel, Rows
from fcgboost.report.path import Panels
from fcgboost.report.reasons import Reasons
from fcgboost.report.text import label, percent, quoted
from fcgboost.wording import count, shortened

if TYPE_CHECKING:
    from fcgboost.plotting.base import Axes

_MOST_ROWS = 5000
_MOST_POINTS = 600
_N_GRID = 200
# With more classes a picture of them all says little.
_MOST_REGIONS = 24
# Columns whose partial dependence is drawn, and classes with a line there.
_MOST_DEPENDENCES = 3
_MOST_LINES = 4
# Letters of levels that fit side by side.
_LONGEST_LEVELS = 32


def draw_columns(evaluation: EvaluatedRows) -> list[Picture]:
    """Draw the influence of the columns, and the partial dependence on the largest."""
    model = evaluation.model
    pictures = [] if model.influence is None else [_influence(model, model.influence)]
    dependences = find_dependences(evaluation, _MOST_DEPENDENCES)
    for i, dependence in enumerate(dependences, 1):
        pictures.append(_dependence(model, dependence, f"dependence-{i}"))
    return pictures


def draw_path(model: FittedModel, panels: Panels) -> Picture:
    """Draw the errors along the path, for readers without scripts."""
    curves = panels["error"]
    with drawing() as ax:
        plotting.PathDisplay(
            curves, k0=model.k0, chosen=dict.fromkeys(curves, model.classifier.n_iter_)
        ).plot(ax)
    return Picture("path-curves", image_of(ax), "The path", "Error after each step.")


def draw_boundary(evaluation: EvaluatedRows) -> list[Picture]:
    """Draw the decision boundary of a model that uses two numeric columns and no other."""
    model = evaluation.model
    used = [j for j, column in enumerate(model.columns) if column.n_outputs]
    columns = [model.columns[j] for j in used]
    are_numbers = all(column.kind == "number" for column in columns)
    if len(used) != 2 or not are_numbers or len(model.classes) > _MOST_REGIONS:
        return []
    rows = evaluation.sample(_MOST_POINTS, of_classes=True)
    points = evaluation.numbers(rows)[:, used]
    is_whole = np.isfinite(points).all(axis=1)
    if not is_whole.any():
        return []

    def widened(points: Array) -> Rows:
        """Return points of the plane as rows with all columns of the table."""
        cells = np.full((len(points), len(model.columns)), np.nan)
        cells[:, used] = points
        return like(evaluation.X, cells)

    first, second = (column.name for column in columns)
    shown = points[is_whole]
    estimator = make_pipeline(FunctionTransformer(widened), model.classifier)
    if len(model.columns) == 2:
        # The classifier itself, whose atoms are drawn.
        estimator = model.classifier
        shown = like(evaluation.X, shown)
    with drawing() as ax:
        plotting.DecisionBoundaryDisplay.from_estimator(
            estimator,
            shown,
            evaluation.y[rows][is_whole],
            grid_resolution=_N_GRID,
            xlabel=first,
            ylabel=second,
            ax=ax,
        )
    caption = f"Decision boundary over {first} and {second}."
    return [Picture("boundary", image_of(ax), "The boundary", caption)]


def draw_row(model: FittedModel, reasons: Reasons, predicted: object) -> Picture:
    """Draw the contribution of every column to a row's decision value for the predicted class."""
    with drawing(1.6 + 0.24 * min(11, len(model.columns))) as ax:
        plotting.ContributionDisplay.from_explanation(
            reasons.explanation,
            row=len(reasons.why),
            classes=model.classes,
            class_of_interest=predicted,
            ax=ax,
        )
    rows = "training rows" if reasons.is_from_training else "rows given to this report"
    return Picture(
        "contributions",
        image_of(ax),
        f"Why row {reasons.row + 1:,} is predicted as {quoted(predicted)}",
        f"Shapley values: from the mean decision value of the {rows} to that of this row.",
    )


def draw_predictions(evaluation: EvaluatedRows) -> list[Picture]:
    """Draw calibration and margins."""
    rows = evaluation.sample(_MOST_ROWS, of_classes=True)
    y = evaluation.y[rows]
    classes = evaluation.classes
    part = "" if len(rows) == len(evaluation) else f" Drawn from {count(len(rows), 'row')}."
    pictures = []
    if evaluation.proba is not None:
        proba = evaluation.proba[rows]
        with drawing() as ax:
            plotting.ReliabilityDisplay.from_predictions(y, proba, classes=classes, ax=ax)
        caption = (
            "Observed frequency against predicted probability: on the dotted line, 70 % means 70 "
            f"of 100. The strip below counts the rows of each bin.{part}"
        )
        title = "Calibration (reliability diagram)"
        pictures.append(Picture("reliability", image_of(ax), title, caption))
    decision = evaluation.decision[rows]
    with drawing() as ax:
        margins = plotting.MarginDisplay.from_predictions(y, decision, classes=classes, ax=ax)
    caption = (
        f"How clear the decisions are: {percent(margins.error_share)} of the rows have a negative "
        f"margin, so they are mistakes; {percent(margins.active_share)} have a margin below 1."
        f"{part}"
    )
    pictures.append(Picture("margins", image_of(ax), "Margins", caption))
    return pictures


def _influence(model: FittedModel, influence: Array) -> Picture:
    used = model.largest(len(model.columns))
    names = [shortened(model.columns[j].name) for j in used]
    with drawing(min(3.6, 1.0 + 0.28 * len(names))) as ax:
        plotting.FeatureInfluenceDisplay(influence[used], names).plot(ax)
    return Picture(
        "influence",
        image_of(ax),
        "Influence of the columns",
        f"{meaning_of_influence(model.classifier).capitalize()}, as a share of the total.",
    )


def _dependence(model: FittedModel, dependence: Dependence, name: str) -> Picture:
    column = model.columns[dependence.position]
    title = shortened(column.name, 40)
    means = dependence.means
    is_pair = means.shape[1] == 1
    classes = model.classes[1:] if is_pair else model.classes
    colors = CLASS_COLORS[1:] if is_pair else PALETTE
    # Of many classes those that the column moves most.
    most = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:_MOST_LINES])
    unit = "probability" if model.has_proba else "decision value"
    event = f" of {shortened(label(classes[0]), 24)}" if is_pair else ""
    has_names = isinstance(dependence.values, list)
    x = np.arange(len(means)) if has_names else dependence.values
    style = "o" if has_names or len(means) == 1 else "-"
    with drawing(2.8 if is_pair else 3.6) as ax:
        for code, color in zip(most, colors, strict=False):
            ax.plot(
                x,
                means[:, code],
                style,
                color=color,
                label=shortened(label(classes[code]), 40),
            )
        _name_values(ax, dependence.values, is_date=kind_of(column) == "date")
        set_labels(ax, title, f"mean {unit}")
        if not is_pair:
            legend_below(ax)
    some = f" The {_MOST_LINES} classes that change most." if len(classes) > _MOST_LINES else ""
    return Picture(
        name,
        image_of(ax),
        f"Partial dependence on {title}",
        f"Mean predicted {unit}{event} if every row had this value of {title}.{some}",
    )


def _name_values(ax: Axes, values: list[str] | Array, is_date: bool) -> None:
    """Label the axis with levels or dates."""
    if isinstance(values, list):
        names = [shortened(value, 14) for value in values]
        turned = 90 if sum(map(len, names)) > _LONGEST_LEVELS else 0
        ax.set_xticks(np.arange(len(values)), names, rotation=turned)
    elif is_date:
        ax.locator_params(axis="x", nbins=4, integer=True)
        ax.xaxis.set_major_formatter(lambda day, _: str(np.datetime64(int(day), "D")))
