"""The decision of a model of two numbers over the plane, after every step."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.plotting.marks import find_marks
from fcgboost.report.subject import Array, Judged, Subject
from fcgboost.report.wording import label
from fcgboost.tables import NumberColumn, SkippedColumn

# Bytes of decision values, which grow by a third as text; points drawn.
_MOST_BYTES = 1_300_000
_MOST_POINTS = 500
_USUAL_SIDE, _LEAST_SIDE, _LARGEST_SIDE = 56, 16, 96
_LARGEST_WHOLE = 2**31 - 1
# With more classes a picture of them all says little, and takes too much room.
_MOST_CLASSES = 24


@dataclass(frozen=True, eq=False)
class Plane:
    """Two columns of numbers that are all a model looks at, and the rows of data there.

    Attributes
    ----------
    places : pair of int
        Where the two numbers are among the features.
    names : pair of str
    """

    subject: Subject
    judged: Judged
    places: tuple[int, int]
    names: tuple[str, str]

    @property
    def n_outputs(self) -> int:
        """How many decision values there are at a point."""
        return len(self.subject.classifier.intercept_)

    @property
    def most_steps(self) -> int:
        """How many steps a page has room for."""
        return max(12, _MOST_BYTES // (4 * self.n_outputs * _USUAL_SIDE**2))

    @property
    def points(self) -> Array:
        """The rows of data in the plane."""
        inputs = self.judged.inputs
        values = inputs.toarray() if sparse.issparse(inputs) else np.asarray(inputs)
        return np.asarray(values[:, list(self.places)], dtype=np.float64)

    def sides(self, n: int) -> tuple[Array, Array]:
        """Give the sides of a grid, from a little before the data to a little after it."""
        points = self.points
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.03 * np.where(high > low, high - low, 1.0)
        first, second = np.linspace(low - margin, high + margin, n).T
        return first, second

    def inputs(self, first: Array, second: Array) -> Array:
        """Give the points of a grid as rows for the classifier, the first side running fastest."""
        rows = np.zeros((len(first) * len(second), len(self.subject.feature_names)))
        grid = np.meshgrid(first, second)
        for place, values in zip(self.places, grid, strict=True):
            rows[:, place] = values.ravel()
        return rows

    def framed(self, rows: Array) -> Any:
        """Give rows as the kind of data frame that the classifier has seen, if any."""
        inputs = self.judged.inputs
        if not hasattr(inputs, "columns"):  # no data frame of any library
            return rows
        return type(inputs)(dict(zip(inputs.columns, rows.T, strict=True)))


def find_plane(subject: Subject, judged: Judged | None) -> Plane | None:
    """Say whether a model looks at two numbers only."""
    if judged is None or not subject.has_path or len(subject.classes) > _MOST_CLASSES:
        return None
    columns = [column for column in subject.columns if not isinstance(column, SkippedColumn)]
    if len(columns) != 2 or not all(isinstance(column, NumberColumn) for column in columns):
        return None
    places = (0, columns[0].n_outputs)
    return Plane(subject, judged, places, (columns[0].name, columns[1].name))


def boundary_data(plane: Plane, ks: Sequence[int]) -> dict[str, Any]:
    """Give the decision values on a grid after every step, and what lies there, for JSON.

    Values are whole numbers of a common unit, four bytes each: the error is below a billionth of
    the largest value, wherever they lie.
    """
    room = math.isqrt(_MOST_BYTES // (4 * plane.n_outputs * len(ks)))
    first, second = plane.sides(min(_LARGEST_SIDE, max(_LEAST_SIDE, room)))
    values = _decisions(plane, plane.inputs(first, second), ks)
    unit = (float(np.abs(values).max()) or 1.0) / _LARGEST_WHOLE
    whole = np.round(values / unit).astype("<i4")
    return {
        "xs": first.tolist(),
        "ys": second.tolist(),
        "names": list(plane.names),
        "classes": [label(value) for value in plane.subject.classes],
        "outputs": plane.n_outputs,
        "unit": unit,
        "values": base64.b64encode(whole.tobytes()).decode("ascii"),
        "points": _points(plane),
        "atoms": _atoms(plane),
    }


def _decisions(plane: Plane, rows: Array, ks: Sequence[int]) -> Array:
    """Give the values after steps, of shape (n_steps, n_outputs, n_rows)."""
    wanted, found = set(ks), []
    whole = plane.subject.classifier.truncate(ks[-1])
    for k, decision in enumerate(whole.staged_decision_function(plane.framed(rows)), 1):
        if k in wanted:
            found.append(np.asarray(decision).reshape(len(rows), -1).T)
    return np.stack(found)


def _points(plane: Plane) -> dict[str, Any]:
    rows = plane.judged.some(_MOST_POINTS)
    x, y = plane.points[rows].T
    return {
        "x": [float(f"{value:.6g}") for value in x],
        "y": [float(f"{value:.6g}") for value in y],
        "c": plane.judged.codes[rows].tolist(),
    }


def _atoms(plane: Plane) -> dict[str, Any] | None:
    """Give where the atoms of the whole path lie, if the plane shows that."""
    subject = plane.subject
    if len(subject.feature_names) != 2:
        return None
    whole = subject.classifier.truncate(len(subject.classifier.trace_))
    marks = find_marks(whole.model_, plane.points)
    if marks is None:
        return None
    is_point = marks.kind == "centre"
    rows = [[float(f"{value:.6g}") for value in place] for place in marks.places]
    names = {"centre": "centres of atoms", "hinge": "hinges of atoms"}
    name = names.get(marks.kind, "half-way lines of atoms")
    return {
        "kind": "points" if is_point else "lines",
        "name": name,
        "shown": is_point,
        "rows": rows,
    }
