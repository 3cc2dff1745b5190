"""Decision boundaries over two features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    MARKERS,
    Array,
    Display,
    check_matplotlib,
    colors_of,
    farther_out,
    ink,
    label_name,
    legend_below,
    set_labels,
    two_sided,
    usual_range,
)
from fcgboost.plotting.marks import AtomMarks, clipped_line, find_marks
from fcgboost.prediction import BaseFCGBoost

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Decision values beyond this are filled alike: it is where the losses take a class for sure.
_SURE = 1.0
_STRONGEST = 0.5
_N_GRID = 300


class DecisionBoundaryDisplay(Display):
    """A classifier of two features over its data, with its atoms.

    The plane is filled by the decision value, from -1 (surely the first of two classes) to 1; for
    classifiers without one, such as forests, by 2 p - 1, p the probability of the second class.
    For the squared hinge both are the same. With several classes every region is filled by how
    far its class is ahead of the next one.

    An atom has the colour of the class it speaks for: with two classes the first for a negative
    coefficient, the second for a positive one; with several, that of its largest coefficient, and
    it is hollow (a line: dashed) where it speaks against that class. Kernels are shown by their
    centres, neurons by the lines on which they bend (rectified linear) or are one half (sigmoid),
    sized by the coefficient.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_grid,)
        The grid.
    response : ndarray of shape (n_grid, n_grid) or (n_grid, n_grid, n_classes)
        Decision values: rows go with `xx1`, columns with `xx0`.
    classes : ndarray of shape (n_classes,)
    points : ndarray of shape (n_samples, 2) or None, default=None
    labels : ndarray of shape (n_samples,) or None, default=None
    marks : AtomMarks or None, default=None
        Atoms with their coefficients.
    true_boundary : ndarray of shape (n_grid,) or None, default=None
        The second feature of the true boundary at `xx0`.
    names : pair of str, default=("feature 1", "feature 2")

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    surface_ : matplotlib AxesImage
        The filled plane; of two classes for `Figure.colorbar`.
    boundary_ : list of matplotlib ContourSet
        The lines between the classes.
    atoms_ : list of matplotlib Collection
        The atoms, those for the first class first.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import bayes_boundary, make_simulation
    >>> from fcgboost.plotting import DecisionBoundaryDisplay
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier("relu", random_state=0).fit(X, y)
    >>> display = DecisionBoundaryDisplay.from_estimator(clf, X, y, true_boundary=bayes_boundary)
    >>> display.ax_.get_xlabel()
    'feature 1'
    """

    surface_: Any
    boundary_: list[Any]
    atoms_: list[Any]

    def __init__(
        self,
        xx0: Array,
        xx1: Array,
        response: Array,
        classes: NDArray[Any],
        *,
        points: Array | None = None,
        labels: NDArray[Any] | None = None,
        marks: AtomMarks | None = None,
        true_boundary: Array | None = None,
        names: tuple[str, str] = ("feature 1", "feature 2"),
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.response = response
        self.classes = classes
        self.points = points
        self.labels = labels
        self.marks = marks
        self.true_boundary = true_boundary
        self.names = names

    @property
    def n_outside(self) -> int:
        """How many points lie outside the picture, far from all others."""
        if self.points is None:
            return 0
        low, high = (np.array([self.xx0[i], self.xx1[i]]) for i in (0, -1))
        return int(((self.points < low) | (self.points > high)).any(axis=1).sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        k: int | None = None,
        atoms: bool | Literal["auto"] = "auto",
        true_boundary: Callable[[Array], Array] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted classifier over data.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Of this package or of scikit-learn.
        X : array-like or data frame of shape (n_samples, 2)
            The training data: it sets the limits, and the place of polynomial atoms. A few rows
            far from all others are left out of the picture, and counted in the legend.
        y : array-like of shape (n_samples,) or None, default=None
            Without labels no points are drawn.
        k : int or None, default=None
            Draw the model after k steps of its path.
        atoms : bool or "auto", default="auto"
            Whether to show the atoms; "auto" does where there are any to show.
        true_boundary : callable or None, default=None
            Gives the second feature of the true boundary from the first, dashed.
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.imshow`, which fills the plane.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        check_matplotlib(cls.__name__)
        if k is not None:
            fitted.split_boosted(estimator, cls)
            estimator = fitted.shortened(estimator, k)
        points, labels = _check_plane(estimator, X, y)
        xx0, xx1 = (grid_side(column, _N_GRID) for column in points.T)
        grid = like(X, np.stack(np.meshgrid(xx0, xx1), axis=-1).reshape(-1, 2))
        values = fitted.decision_values(estimator, grid)
        display = cls(
            xx0,
            xx1,
            values.reshape(_N_GRID, _N_GRID, *values.shape[1:]),
            estimator.classes_,
            points=None if labels is None else points,
            labels=labels,
            marks=_marks(estimator, X, points, atoms),
            true_boundary=None if true_boundary is None else np.asarray(true_boundary(xx0)),
            names=_names(X),
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.imshow`.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        ax = self._take(ax)
        fill = self._fill_two if len(self.classes) == 2 else self._fill_several
        fill(ax, kwargs)
        self._scatter(ax)
        # A contour has no entry in the legend: an empty line stands for it.
        ax.plot([], [], color=ink(ax), linewidth=2.0, label="decision boundary")
        if self.true_boundary is not None:
            ax.plot(self.xx0, self.true_boundary, "--", color=ink(ax), label="true boundary")
        self.atoms_ = []
        if self.marks is not None:
            self._draw_atoms(ax, self.marks)
        ax.set(xlim=self.xx0[[0, -1]], ylim=self.xx1[[0, -1]])
        set_labels(ax, *self.names)
        legend_below(ax)
        return self

    def _fill_two(self, ax: Axes, options: dict[str, Any]) -> None:
        """Fill the plane by value, and draw the line where it is 0."""
        style = {"cmap": two_sided(_STRONGEST), "vmin": -_SURE, "vmax": _SURE, **options}
        self._fill(ax, np.clip(self.response, -_SURE, _SURE), style)
        self.boundary_ = self._lines(ax, [self.response])

    def _fill_several(self, ax: Axes, options: dict[str, Any]) -> None:
        """Fill the region of every class by its lead, and draw the lines between them."""
        from matplotlib.colors import to_rgba_array

        leads = lead_of_classes(self.response)
        winners = np.argmax(self.response, axis=-1)
        image = to_rgba_array(colors_of(len(leads)))[winners]
        image[..., 3] = _STRONGEST * np.clip(np.max(leads, axis=0) / _SURE, 0.1, 1.0)
        self._fill(ax, image, options)
        self.boundary_ = self._lines(ax, leads)

    def _fill(self, ax: Axes, image: Array, options: dict[str, Any]) -> None:
        extent = (*self.xx0[[0, -1]], *self.xx1[[0, -1]])
        style = {"extent": extent, "origin": "lower", "aspect": "auto", **options}
        self.surface_ = ax.imshow(image, **style)

    def _lines(self, ax: Axes, values: list[Array]) -> list[Any]:
        style: dict[str, Any] = {"colors": [ink(ax)], "linewidths": 2.0, "zorder": 3}
        return [
            ax.contour(self.xx0, self.xx1, value, levels=[0.0], **style)
            for value in values
            if value.min() < 0.0 < value.max()
        ]

    def _scatter(self, ax: Axes) -> None:
        if self.points is None or self.labels is None:
            return
        for i, (value, color) in enumerate(
            zip(self.classes, colors_of(len(self.classes)), strict=True)
        ):
            x, y = self.points[self.labels == value].T
            style: dict[str, Any] = {"c": color, "marker": MARKERS[i % len(MARKERS)]}
            ax.scatter(x, y, s=14, linewidths=0.0, label=f"label {label_name(value)}", **style)
        if self.n_outside:
            ax.plot([], [], " ", label=farther_out(self.n_outside))

    def _draw_atoms(self, ax: Axes, marks: AtomMarks) -> None:
        """Draw the atoms of one class after those of another."""
        colors = colors_of(len(self.classes))
        draw = _draw_centers if marks.kind == "centre" else self._draw_lines
        for code, color in enumerate(colors):
            for is_for in (True, False):
                chosen = (marks.class_codes == code) & (marks.is_for == is_for)
                if chosen.any():
                    self.atoms_.append(draw(ax, marks, chosen, color, is_for))
                    if len(colors) == 2:
                        name = f"{marks.kind} for label {label_name(self.classes[code])}"
                        _name_atoms(ax, marks.kind, name, color)
        if len(colors) > 2 and len(self.atoms_):
            hollow = "hollow" if marks.kind == "centre" else "dashed"
            name = f"{marks.kind} of an atom ({hollow}: against the class)"
            _name_atoms(ax, marks.kind, name, ink(ax))

    def _draw_lines(
        self, ax: Axes, marks: AtomMarks, chosen: NDArray[np.bool_], color: str, is_for: bool
    ) -> Any:
        from matplotlib.collections import LineCollection

        low, high = (np.array([self.xx0[i], self.xx1[i]]) for i in (0, -1))
        ends = [clipped_line(row, low, high) for row in marks.places[chosen]]
        seen = [i for i, segment in enumerate(ends) if segment is not None]
        widths = 0.6 + 2.6 * marks.sizes[chosen][seen]
        style: dict[str, Any] = {"linestyles": "solid" if is_for else "dashed", "alpha": 0.8}
        lines = LineCollection(
            [segment for segment in ends if segment is not None],
            linewidths=widths.tolist(),
            colors=color,
            **style,
        )
        ax.add_collection(lines)
        return lines


def lead_of_classes(values: Array) -> list[Array]:
    """Give for every class how far its value is above the largest of the others."""
    ordered = np.sort(values, axis=-1)
    best, second = ordered[..., -1], ordered[..., -2]
    leads = []
    for i in range(values.shape[-1]):
        own = values[..., i]
        leads.append(own - np.where(own == best, second, best))
    return leads


def _draw_centers(
    ax: Axes, marks: AtomMarks, chosen: NDArray[np.bool_], color: str, is_for: bool
) -> Any:
    from matplotlib.colors import to_rgba

    x, y = marks.places[chosen].T
    sizes = 15.0 + 115.0 * marks.sizes[chosen]
    # Points below remain visible.
    face, edge = (to_rgba(color, 0.7), ink(ax)) if is_for else ("none", color)
    style: dict[str, Any] = {"facecolors": face, "edgecolors": edge, "linewidths": 1.2}
    return ax.scatter(x, y, s=sizes, zorder=4, **style)


def _name_atoms(ax: Axes, kind: str, name: str, color: Any) -> None:
    if kind == "centre":
        ax.scatter([], [], s=40, facecolors=color, edgecolors=ink(ax), linewidths=1.2, label=name)
    else:
        ax.plot([], [], color=color, linewidth=2.0, label=name)


def _check_plane(estimator: Any, X: Any, y: ArrayLike | None) -> tuple[Array, NDArray[Any] | None]:
    """Give the points and their labels as arrays, if the plane can show them."""
    fitted.split(estimator)
    points = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"A decision boundary is drawn over exactly 2 features, but X has shape {points.shape}."
        )
    if y is None:
        return points, None
    labels = np.asarray(y)
    if labels.shape != (len(points),):
        raise ValueError(f"X has {len(points)} rows, but y has shape {labels.shape}.")
    return points, labels


def _marks(
    estimator: Any, X: Any, points: Array, atoms: bool | Literal["auto"]
) -> AtomMarks | None:
    """Give the atoms, if they are asked for and can be shown in the units of X."""
    if atoms is False:
        return None
    before, classifier = fitted.split(estimator)
    marks = None
    # What changes the rows moves the atoms to where this plane does not show them.
    if isinstance(classifier, BaseFCGBoost) and (
        before is None or np.array_equal(before.transform(X), points)
    ):
        marks = find_marks(classifier.model_, points)
    if marks is None and atoms is True:
        raise ValueError(
            f"{type(classifier).__name__} has no atoms that can be shown over the columns of X: "
            "pass atoms='auto'."
        )
    return marks


def grid_side(column: Array, n: int) -> Array:
    """Give n points from a little before the column's usual values to a little after them."""
    low, high = usual_range(column)
    margin = 0.02 * ((high - low) or 1.0)
    return np.linspace(low - margin, high + margin, n)


def _names(X: Any) -> tuple[str, str]:
    first, second = getattr(X, "columns", ("feature 1", "feature 2"))
    return str(first), str(second)


def like(X: Any, points: Array) -> Any:
    """Give points as a data frame if X is one: the classifier knows the names of its features."""
    if not hasattr(X, "columns"):  # a user's table, of any library of data frames
        return points
    return type(X)(dict(zip(X.columns, points.T, strict=True)))
