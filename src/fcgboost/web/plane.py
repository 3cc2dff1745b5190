"""The decision boundary of a model of two numbers, after the steps of its path."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.plotting.atoms import atom_positions
from fcgboost.plotting.boundaries import grid_side, like
from fcgboost.tables import NumberColumn
from fcgboost.web.models import Array, Evaluation, FittedModel
from fcgboost.web.text import label

# Bytes of decision values, which grow by a third as text; points drawn.
_MOST_BYTES = 900_000
_MOST_POINTS = 500
# Grids are finer where there are few steps, and never coarser than the last.
_LARGEST_SIDE, _USUAL_SIDE, _LEAST_SIDE = 96, 32, 16
# With more classes a picture of them all says little, and takes too much room.
_MOST_CLASSES = 24


@dataclass(frozen=True, eq=False)
class Plane:
    """The two numeric columns that are all a model uses, and the data in their plane."""

    model: FittedModel
    evaluation: Evaluation
    #: Where they are in the table.
    places: tuple[int, int]
    names: tuple[str, str]

    @property
    def n_outputs(self) -> int:
        return len(self.model.classifier.intercept_)

    @property
    def most_frames(self) -> int:
        return max(12, _MOST_BYTES // (4 * self.n_outputs * _USUAL_SIDE**2))

    @property
    def points(self) -> Array:
        """The two numbers of every row; missing ones are imputed."""
        found = self.evaluation.some_numbers(np.arange(len(self.evaluation)))[:, list(self.places)]
        for numbers, place in zip(found.T, self.places, strict=True):
            outputs: Any = self.model.columns[place].outputs
            fills = [one.fill for one in outputs if one.part == "value" and one.fill is not None]
            is_gap = np.isnan(numbers)
            middle = 0.0 if is_gap.all() else float(np.nanmedian(numbers))
            numbers[is_gap] = fills[0] if fills else middle
        return found

    @property
    def n_outside(self) -> int:
        """How many rows lie so far from all others that the picture leaves them out."""
        low, high = np.array(self.sides(2)).T
        return int(((self.points < low) | (self.points > high)).any(axis=1).sum())

    def sides(self, n: int) -> tuple[Array, Array]:
        first, second = self.points.T
        return grid_side(first, n), grid_side(second, n)

    def rows(self, points: Array) -> Any:
        """Return points of the plane as rows for the classifier."""
        rows = np.full((len(points), len(self.model.columns)), np.nan)
        rows[:, self.places] = points
        is_encoded = self.model.encoder is not None
        return self.model.inputs.encode(rows) if is_encoded else like(self.evaluation.X, rows)


def find_plane(model: FittedModel, evaluation: Evaluation | None) -> Plane | None:
    """Return the plane of a model that uses two numeric columns only."""
    if evaluation is None or len(model.classes) > _MOST_CLASSES:
        return None
    places = [j for j, column in enumerate(model.columns) if column.n_outputs]
    columns = [model.columns[j] for j in places]
    if len(columns) != 2 or not all(isinstance(column, NumberColumn) for column in columns):
        return None
    names = (columns[0].name, columns[1].name)
    return Plane(model, evaluation, (places[0], places[1]), names)


def boundary_data(plane: Plane, frames: Sequence[int]) -> dict[str, Any]:
    """Return the decision values on a grid after some steps, and what lies there, for JSON."""
    room = math.isqrt(_MOST_BYTES // (4 * plane.n_outputs * len(frames)))
    first, second = plane.sides(min(_LARGEST_SIDE, max(_LEAST_SIDE, room)))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    values = _decisions(plane, plane.rows(grid), frames)
    rows = plane.evaluation.some(_MOST_POINTS)
    x, y = plane.points[rows].T
    return {
        "xs": first.tolist(),
        "ys": second.tolist(),
        "names": list(plane.names),
        "classes": [label(value) for value in plane.model.classes],
        "outputs": plane.n_outputs,
        "values": packed(values.astype(np.float32)),
        "points": {"x": plain(x), "y": plain(y), "c": plane.evaluation.codes[rows].tolist()},
        "atoms": _atoms(plane),
    }


def packed(values: NDArray[Any]) -> str:
    """Return the bytes of an array as text."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def plain(values: Array) -> list[float | None]:
    """Return six digits of numbers for JSON, None for what is not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def _decisions(plane: Plane, rows: Any, frames: Sequence[int]) -> Array:
    """Return the values after steps, of shape (n_steps, n_outputs, n_rows)."""
    wanted = set(frames)
    staged = plane.model.classifier.truncate(frames[-1]).staged_decision_function(rows)
    found = [decision for k, decision in enumerate(staged, 1) if k in wanted]
    return np.stack([np.asarray(decision).reshape(len(rows), -1).T for decision in found])


def _atoms(plane: Plane) -> dict[str, Any] | None:
    """Return where the atoms of the whole path lie, if the plane shows that."""
    if len(plane.model.feature_names) != 2:
        return None
    classifier = plane.model.classifier
    positions = atom_positions(classifier.truncate(len(classifier.trace_)).model_, plane.points)
    if positions is None:
        return None
    is_point = positions.kind == "centre"
    names = {"centre": "centres of atoms", "hinge": "hinges of atoms"}
    return {
        "kind": "points" if is_point else "lines",
        "name": names.get(positions.kind, "half-way lines of atoms"),
        "shown": is_point,
        "rows": [plain(place) for place in positions.places],
    }
