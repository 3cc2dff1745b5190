"""Decision boundaries over two features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter
from sklearn import inspection
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_consistent_length

from fcgboost.arrays import host
from fcgboost.plotting import base
from fcgboost.plotting.atoms import AtomPositions, atom_positions
from fcgboost.plotting.base import Array
from fcgboost.prediction import BaseFCGBoost

# As many as not to coincide with the colours.
_MARKERS = ("^", "o", "s", "D", "v", "P", "X", "<")
# How strongly the plane is filled: of two classes where they are sure, of several everywhere.
_STRONGEST, _FLAT = 0.5, 0.3


@dataclass(eq=False, repr=False)
class DecisionBoundaryDisplay(base.Display):
    """The decision boundary of a classifier of two features, with data and atoms.

    The plane is filled by scikit-learn's display of the same name: with two classes by the decision
    value, from -1 (certainly the first class) to 1, or by the probability if there are no decision
    values (forests); with several classes by the predicted class.

    An atom has the colour of the class it supports: with two classes the first for a negative
    coefficient, the second for a positive one; with several, the class of its largest coefficient,
    hollow (a line: dashed) if that is negative. Kernels are drawn at their centres, neurons as the
    lines on which they bend (ReLU) or are one half (sigmoid), sized by the coefficient.

    Attributes
    ----------
    surface_ : matplotlib QuadMesh
        The filled plane; of two classes for `Figure.colorbar`.
    boundary_ : list of matplotlib ContourSet
        The lines between the classes.
    atoms_ : list of matplotlib Collection
        The atoms, those for the first class first.
    """

    #: Its response is that of two classes, or the places of the predicted ones of several.
    surface: inspection.DecisionBoundaryDisplay
    classes: NDArray[Any]
    _: KW_ONLY
    #: The response between two classes.
    threshold: float = 0.0
    #: Of shape (n_samples, 2).
    points: Array | None = None
    labels: NDArray[Any] | None = None
    atoms: AtomPositions | None = None
    true_boundary: Callable[[Array], Array] | None = None

    @property
    def limits(self) -> Array:
        """The lower left and the upper right corner of the plane."""
        return np.stack([self.surface.xx0[0, [0, -1]], self.surface.xx1[[0, -1], 0]], axis=1)

    @property
    def n_outside(self) -> int:
        """How many points lie outside the picture, far from all others."""
        if self.points is None:
            return 0
        low, high = self.limits
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
        grid_resolution: int = 300,
        xlabel: str | None = None,
        ylabel: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted classifier over data.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Of this package or of scikit-learn.
        X : array-like or data frame of shape (n_samples, 2)
            The training data: it sets the limits, and the position of polynomial atoms. A few
            outliers are left out of the picture, and counted in the legend.
        y : array-like of shape (n_samples,) or None, default=None
            Without labels no points are drawn.
        k : int or None, default=None
            Draw the model after k steps of its path.
        atoms : bool or "auto", default="auto"
            Whether to draw the atoms; "auto" draws them if they have a position.
        true_boundary : callable or None, default=None
            Maps the first feature to the second on the true boundary, which is drawn dashed.
        grid_resolution : int, default=300
            The number of points along each side.
        xlabel, ylabel : str or None, default=None
            None is the name of a data frame's column.
        **kwargs :
            For `plot`.
        """
        base.split(estimator, cls)
        if k is not None:
            before, classifier = base.split_boosted(estimator, cls)
            short = classifier.truncate(k)
            steps = [] if before is None else before.steps
            estimator = Pipeline([*steps, ("classifier", short)]) if steps else short
        points = host(check_array(X, accept_sparse="csr", dtype=np.float64))
        surface = _surface(estimator, X, points, grid_resolution)
        surface.xlabel, surface.ylabel = xlabel or surface.xlabel, ylabel or surface.ylabel
        has_decision = hasattr(estimator, "decision_function")  # forests have probabilities only
        display = cls(surface, estimator.classes_, true_boundary=true_boundary)
        display.threshold = 0.0 if has_decision else 0.5
        display.atoms = _find_atoms(estimator, X, points, atoms)
        if y is not None:
            check_consistent_length(points, y)
            display.points, display.labels = points, np.asarray(y)
        return display.plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.pcolormesh`, which fills it."""
        ax = self._start(ax)
        color = base.text_color(ax)
        self._fill(ax, kwargs)
        self._scatter(ax)
        # A contour has no entry in the legend: an empty line stands for it.
        ax.plot([], [], color=color, linewidth=2.0, label="decision boundary")
        if self.true_boundary is not None:
            first = self.surface.xx0[0]
            ax.plot(first, self.true_boundary(first), "--", color=color, label="true boundary")
        self.atoms_ = [] if self.atoms is None else self._draw_atoms(ax, self.atoms)
        (left, bottom), (right, top) = self.limits
        ax.set(xlim=(left, right), ylim=(bottom, top))
        base.set_labels(ax, self.surface.xlabel, self.surface.ylabel)
        base.legend_below(ax)
        return self

    def _fill(self, ax: base.Axes, options: dict[str, Any]) -> None:
        """Fill the plane, and draw the lines between the classes."""
        from matplotlib.colors import ListedColormap, to_rgba

        surface, n_classes, reach = self.surface, len(self.classes), 1.0 - self.threshold
        style = {"rasterized": True, "zorder": 0.5, **options}
        if n_classes == 2:
            ends = {"vmin": self.threshold - reach, "vmax": self.threshold + reach}
            style = {"cmap": base.diverging_colormap(_STRONGEST), **ends, **style}
        self.surface_ = surface.plot("pcolormesh", ax=ax, **style).surface_
        sides = [surface.response - self.threshold]
        if n_classes > 2:
            colors = [to_rgba(color, _FLAT) for color in base.class_colors(n_classes)]
            self.surface_.set(cmap=ListedColormap(colors), clim=(-0.5, n_classes - 0.5))
            # Smooth as far as a line is wide: predictions change from one point to the next.
            regions = (surface.response == np.arange(n_classes)[:, None, None]).astype(np.float64)
            sides = [gaussian_filter(region, 1.0) - 0.5 for region in regions]
        line: dict[str, Any] = {"colors": [base.text_color(ax)], "linewidths": 2.0, "zorder": 3}
        self.boundary_ = [
            ax.contour(surface.xx0, surface.xx1, side, levels=[0.0], **line)
            for side in sides
            if side.min() < 0.0 < side.max()
        ]

    def _scatter(self, ax: base.Axes) -> None:
        if self.points is None or self.labels is None:
            return
        colors = base.class_colors(len(self.classes))
        for i, (value, color) in enumerate(zip(self.classes, colors, strict=True)):
            style: dict[str, Any] = {"c": color, "marker": _MARKERS[i % len(_MARKERS)]}
            style |= {"s": 14, "linewidths": 0.0, "label": f"label {base.label_name(value)}"}
            ax.scatter(*self.points[self.labels == value].T, **style)
        if self.n_outside:
            ax.plot([], [], " ", label=f"rows farther out: {self.n_outside}")

    def _draw_atoms(self, ax: base.Axes, atoms: AtomPositions) -> list[Any]:
        coef, kind, two = atoms.coef, atoms.kind, len(self.classes) == 2
        codes = np.where(coef[0] > 0.0, 1, 0) if two else np.abs(coef).argmax(axis=0)
        is_for = two | (coef[codes % len(coef), np.arange(len(codes))] > 0.0)
        sizes = np.abs(coef).max(axis=0, initial=0.0)
        sizes = sizes / (sizes.max(initial=0.0) or 1.0)
        draw = _draw_centers if kind == "centre" else self._draw_lines
        proxy: dict[str, Any] = {"linewidth": 2.0}
        if kind == "centre":
            proxy = {"marker": "o", "linestyle": "none", "markeredgecolor": base.text_color(ax)}
        drawn = []
        for code, color in enumerate(base.class_colors(len(self.classes))):
            for fills in (True, False):
                if (chosen := (codes == code) & (is_for == fills)).any():
                    drawn.append(draw(ax, atoms.places[chosen], sizes[chosen], color, fills))
                    if two:
                        name = f"{kind} for label {base.label_name(self.classes[code])}"
                        ax.plot([], [], color=color, label=name, **proxy)
        if drawn and not two:
            hollow = "hollow" if kind == "centre" else "dashed"
            name = f"{kind} of an atom ({hollow}: against the class)"
            ax.plot([], [], color=base.text_color(ax), label=name, **proxy)
        return drawn

    def _draw_lines(self, ax: base.Axes, rows: Array, sizes: Array, color: str, fills: bool) -> Any:
        """Draw lines <w, x> + b = 0 across the plane; the Axes clip them."""
        from matplotlib.collections import LineCollection

        low, high = self.limits
        normals, middle = rows[:, :2], (low + high) / 2.0
        squares = np.maximum(np.sum(normals**2, axis=1), np.finfo(np.float64).tiny)
        feet = middle - ((normals @ middle + rows[:, 2]) / squares)[:, None] * normals
        reach = np.linalg.norm(high - low) / np.sqrt(squares)
        along = normals[:, ::-1] * [-1.0, 1.0] * reach[:, None]
        style: dict[str, Any] = {"linestyles": "solid" if fills else "dashed", "alpha": 0.8}
        ends = list(np.stack([feet - along, feet + along], axis=1))
        lines = LineCollection(ends, linewidths=0.6 + 2.6 * sizes, colors=color, **style)
        return ax.add_collection(lines, autolim=False)


def _draw_centers(ax: base.Axes, places: Array, sizes: Array, color: str, fills: bool) -> Any:
    from matplotlib.colors import to_rgba

    # Points below remain visible.
    face, edge = (to_rgba(color, 0.7), base.text_color(ax)) if fills else ("none", color)
    style: dict[str, Any] = {"facecolors": face, "edgecolors": edge, "linewidths": 1.2}
    x, y = places.T
    return ax.scatter(x, y, s=15.0 + 115.0 * sizes, zorder=4, **style)


def _surface(estimator: Any, X: Any, points: Array, n: int) -> inspection.DecisionBoundaryDisplay:
    """Let scikit-learn evaluate a grid over the usual points."""
    from matplotlib.figure import Figure

    names = getattr(X, "columns", ("feature 1", "feature 2"))
    return inspection.DecisionBoundaryDisplay.from_estimator(
        estimator,
        like(X, np.stack([grid_side(column, 2) for column in points.T], axis=1)),
        grid_resolution=n,
        eps=0.0,
        response_method="auto" if len(estimator.classes_) == 2 else "predict",
        xlabel=str(names[0]),
        ylabel=str(names[-1]),
        # It draws at once.
        ax=Figure().subplots(),
    )


def _find_atoms(
    estimator: Any, X: Any, points: Array, atoms: bool | Literal["auto"]
) -> AtomPositions | None:
    """Return the atoms, if they are asked for and can be shown in the units of X."""
    if atoms is False:
        return None
    before, classifier = base.split(estimator, DecisionBoundaryDisplay)
    # What changes the rows moves the atoms to where this plane does not show them.
    is_same = before is None or np.array_equal(before.transform(X), points)
    is_ours = isinstance(classifier, BaseFCGBoost)
    found = atom_positions(classifier.model_, points) if is_ours and is_same else None
    if found is None and atoms is True:
        raise ValueError(
            f"{type(classifier).__name__} has no atoms that can be shown over the columns of X: "
            "pass atoms='auto'."
        )
    return found


def grid_side(column: Array, n: int) -> Array:
    """Return n points that span the column's usual values with a small margin."""
    low, high = base.usual_range(column)
    margin = 0.02 * ((high - low) or 1.0)
    return np.linspace(low - margin, high + margin, n)


def like(X: Any, points: Array) -> Any:
    """Return points as a data frame if X is one, with its column names."""
    if not hasattr(X, "columns"):  # a user's table, of any library of data frames
        return points
    return type(X)(dict(zip(X.columns, points.T, strict=True)))
