"""The pictures of a page, drawn by the package's displays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fcgboost.dictionaries import GaussDictionary, InnerProductDictionary
from fcgboost.losses import Square
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
    caption = f"{ylabel.capitalize()} after each step."
    return _picture(path.subject, display, "still-path", ("The path", caption))


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
    if len(known) == 0:
        return
    rows = known[np.isin(known, judged.some(_MOST_ROWS))]
    part = "" if len(rows) == len(judged) else f" Drawn from {count(len(rows), 'row')}."
    y, classes = judged.y[rows], subject.classes
    with drawing(subject.has_dollars) as ax:
        margins = MarginDisplay.from_predictions(y, judged.decision[rows], classes=classes, ax=ax)
    if isinstance(subject.classifier._loss_, Square):
        # Every row has a loss then: there is no active set.
        margins.active_name = "unsure or wrong"
    wrong, active = percent(margins.error_share), percent(margins.active_share)
    caption = (
        f"How far the model is on the right side: {wrong} of the rows have a margin below 0 and "
        f"are mistakes, {active} have one below 1.{part}"
    )
    yield _picture(subject, margins, "margins", ("Margins", caption))
    if judged.proba is not None:
        with drawing(subject.has_dollars) as ax:
            reliability = ReliabilityDisplay.from_predictions(
                y, judged.proba[rows], classes=classes, ax=ax
            )
        caption = (
            "Whether probabilities mean what they say: points on the dotted line do. Below, how "
            f"many rows each point stands for.{part}"
        )
        yield _picture(subject, reliability, "reliability", ("Reliability", caption))


def _of_model(subject: Subject) -> Iterator[Picture]:
    classifier = subject.classifier
    if subject.has_path:
        caption = "How the coefficients moved while atoms came in; the largest ones have names."
        with drawing(subject.has_dollars) as ax:
            path = CoefficientPathDisplay.from_estimator(classifier, ax=ax)
        yield _picture(subject, path, "coefficients", ("Coefficient path", caption))
    if subject.influence is not None:
        names = [shortened(column.name) for column in subject.columns]
        caption = (
            "How strongly the model reacts to each column: the mean size of its slope, in standard "
            "deviations of the column, as a share of all."
        )
        influence = FeatureInfluenceDisplay(subject.influence, names, xlabel="influence")
        height = min(3.6, 1.0 + 0.28 * len(names))
        texts = ("Influence of the columns", caption)
        yield _picture(subject, influence, "influence", texts, height)
    dictionary = classifier.model_.dictionary
    if classifier.n_atoms_ and isinstance(dictionary, GaussDictionary | InnerProductDictionary):
        caption = "What the atoms look at: each row is an atom, each column a feature."
        with drawing(subject.has_dollars) as ax:
            atoms = AtomDisplay.from_estimator(classifier, ax=ax)
        # The classifier knows the names of its features only where it was fitted to a data frame.
        atoms.names = subject.feature_names
        height = 2.4 + 0.13 * min(_MOST_ATOMS, classifier.n_atoms_)
        yield _picture(subject, atoms, "atoms", ("Atoms", caption), height)


def _picture(
    subject: Subject, display: Any, name: str, texts: tuple[str, str], height: float = 3.6
) -> Picture:
    title, caption = texts
    with drawing(subject.has_dollars, height) as ax:
        display.plot(ax)
    return Picture(name, markup(ax.figure, name, f"{title}. {caption}"), title, caption)
