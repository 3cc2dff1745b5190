"""The decision of a model of two numbers over the plane, after the steps of its path."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.plotting.atoms import AtomPositions, atom_positions
from fcgboost.plotting.boundaries import grid_side, like
from fcgboost.report.subject import Array, Judged, Subject
from fcgboost.report.wording import label
from fcgboost.tables import NumberColumn, SkippedColumn

# Bytes of decision values, which grow by a third as text; points drawn.
_MOST_BYTES = 900_000
_MOST_POINTS = 500
# Grids are finer where there are few steps, and never coarser than the second.
_LARGEST_SIDE, _USUAL_SIDE, _LEAST_SIDE = 96, 32, 16
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
    def most_frames(self) -> int:
        """How many steps a page has room for."""
        return max(12, _MOST_BYTES // (4 * self.n_outputs * _USUAL_SIDE**2))

    @property
    def points(self) -> Array:
        """The rows of data in the plane."""
        inputs = self.judged.inputs
        values = inputs.toarray() if sparse.issparse(inputs) else np.asarray(inputs)
        return np.asarray(values[:, list(self.places)], dtype=np.float64)

    @property
    def n_outside(self) -> int:
        """How many rows lie so far from all others that the picture leaves them out."""
        points, sides = self.points, self.sides(2)
        low, high = np.array(sides).T
        return int(((points < low) | (points > high)).any(axis=1).sum())

    def sides(self, n: int) -> tuple[Array, Array]:
        """Give the sides of a grid over the data."""
        first, second = self.points.T
        return grid_side(first, n), grid_side(second, n)

    def inputs(self, first: Array, second: Array) -> Any:
        """Give the points of a grid as rows for the classifier, the first side running fastest."""
        return self.rows(np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2))

    def rows(self, points: Array) -> Any:
        """Return points of the plane as rows for the classifier."""
        rows = np.zeros((len(points), len(self.subject.feature_names)))
        rows[:, list(self.places)] = points
        return like(self.judged.inputs, rows)

    def marks(self, model: Any) -> AtomPositions | None:
        """Give where the atoms of a model lie, if the plane shows that."""
        return atom_positions(model, self.points) if len(self.subject.feature_names) == 2 else None


def find_plane(subject: Subject, judged: Judged | None) -> Plane | None:
    """Say whether a model looks at two numbers only."""
    if judged is None or len(subject.classes) > _MOST_CLASSES:
        return None
    columns = [column for column in subject.columns if not isinstance(column, SkippedColumn)]
    if len(columns) != 2 or not all(isinstance(column, NumberColumn) for column in columns):
        return None
    places = (0, columns[0].n_outputs)
    return Plane(subject, judged, places, (columns[0].name, columns[1].name))


def boundary_data(plane: Plane, frames: Sequence[int]) -> dict[str, Any]:
    """Give the decision values on a grid after some steps, and what lies there, for JSON.

    Values are whole numbers, four bytes each, of a unit per step: the error is below a billionth
    of the step's largest value in the picture.
    """
    room = math.isqrt(_MOST_BYTES // (4 * plane.n_outputs * len(frames)))
    first, second = plane.sides(min(_LARGEST_SIDE, max(_LEAST_SIDE, room)))
    values = _decisions(plane, plane.inputs(first, second), frames)
    largest = np.abs(values).max(axis=(1, 2))
    units = np.where(largest > 0.0, largest, 1.0) / _LARGEST_WHOLE
    return {
        "xs": first.tolist(),
        "ys": second.tolist(),
        "names": list(plane.names),
        "classes": [label(value) for value in plane.subject.classes],
        "outputs": plane.n_outputs,
        "units": units.tolist(),
        "values": packed(np.round(values / units[:, None, None]).astype(np.int32)),
        "points": _points(plane),
        "atoms": _atoms(plane),
    }


def packed(values: NDArray[Any]) -> str:
    """Give the bytes of an array as text."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def _decisions(plane: Plane, rows: Any, frames: Sequence[int]) -> Array:
    """Give the values after steps, of shape (n_steps, n_outputs, n_rows)."""
    wanted, found = set(frames), []
    whole = plane.subject.classifier.truncate(frames[-1])
    for k, decision in enumerate(whole.staged_decision_function(rows), 1):
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
    classifier = plane.subject.classifier
    marks = plane.marks(classifier.truncate(len(classifier.trace_)).model_)
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
