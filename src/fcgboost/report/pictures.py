"""The pictures of a page, drawn by the package's displays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fcgboost.dictionaries import GaussDictionary, InnerProductDictionary
from fcgboost.plotting import (
    AtomDisplay,
    CoefficientPathDisplay,
    DecisionBoundaryDisplay,
    FeatureInfluenceDisplay,
    MarginDisplay,
    PathDisplay,
    ReliabilityDisplay,
)
from fcgboost.report.boundary import Plane
from fcgboost.report.document import Picture
from fcgboost.report.path import Path
from fcgboost.report.subject import Judged, Subject
from fcgboost.report.svg import drawing, markup, raster
from fcgboost.report.wording import count, percent, shortened

_MOST_ROWS = 5000
_MOST_POINTS = 600
_N_GRID = 120
# What the display shows at most.
_MOST_ATOMS = 30


def draw_pictures(subject: Subject, judged: Judged | None) -> list[Picture]:
    """Draw all that there is to draw."""
    found = [] if judged is None else list(_of_predictions(subject, judged))
    return [*found, *_of_model(subject)]


def draw_path(path: Path) -> Picture:
    """Draw the path as it is without a script."""
    curves = path.curves or {"objective": path.objective}
    steps = {name: np.array(path.ks, dtype=np.float64) for name in curves}
    chosen = dict.fromkeys(curves, path.subject.classifier.n_iter_)
    ylabel = "error" if path.curves else "training objective"
    display = PathDisplay(curves, steps=steps, k0=path.subject.k0, chosen=chosen, ylabel=ylabel)
    with drawing(path.subject.has_dollars) as ax:
        display.plot(ax)
    return _picture(ax, "still-path", "The path", f"{ylabel.capitalize()} after each step.")


def draw_boundary(plane: Plane) -> Picture:
    """Draw the boundary as it is without a script."""
    subject, rows = plane.subject, plane.judged.some(_MOST_POINTS)
    known = rows[plane.judged.codes[rows] >= 0]
    first, second = plane.sides(_N_GRID)
    values = np.asarray(subject.classifier.model_.decision(plane.inputs(first, second)))
    shape = (_N_GRID, _N_GRID) if values.shape[1] == 1 else (_N_GRID, _N_GRID, -1)
    display = DecisionBoundaryDisplay(
        first,
        second,
        values.reshape(shape),
        subject.classes,
        points=plane.points[known],
        labels=plane.judged.y[known],
        names=plane.names,
    )
    caption = f"Decision boundary over {plane.names[0]} and {plane.names[1]}."
    with drawing(subject.has_dollars) as ax:
        display.plot(ax)
    # Many small shapes: pixels are smaller.
    return Picture("still-boundary", raster(ax.figure, caption), "The boundary", caption)


def _of_predictions(subject: Subject, judged: Judged) -> Iterator[Picture]:
    known = np.flatnonzero(judged.codes >= 0)
    rows = known[np.isin(known, judged.some(_MOST_ROWS))]
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
        caption = (
            "How strongly the model reacts to each column: the mean size of its slope, in standard "
            "deviations of the column, as a share of all."
        )
        yield _picture(ax, "influence", "Influence of the columns", caption)
    dictionary = subject.classifier.model_.dictionary
    has_atoms = subject.classifier.n_atoms_ > 0
    if has_atoms and isinstance(dictionary, GaussDictionary | InnerProductDictionary):
        yield _atoms(subject)


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
