"""Decision boundaries over two features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from sklearn import inspection
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length

from fcgboost.arrays import Rows, to_numpy
from fcgboost.colors import CLASS_COLORS
from fcgboost.plotting import base
from fcgboost.plotting.atoms import AtomPositions, atom_positions
from fcgboost.plotting.base import Array, Labels
from fcgboost.prediction import BaseFCGBoost

if TYPE_CHECKING:
    from matplotlib.collections import Collection

# One more than there are colours, so that both do not repeat together.
_MARKERS = ("^", "o", "s", "D", "v", "P", "X", "<")
# How strongly the plane is filled: of two classes where they are sure, of several everywhere.
_STRONGEST = 0.5
_FLAT = 0.3


@dataclass(eq=False, repr=False)
class DecisionBoundaryDisplay(base.Display):
    """The decision boundary of a classifier of two features, with data and atoms.

    The plane is filled by what scikit-learn's display of the same name computes: with two classes
    the decision value, from -1 (certainly the first class) to 1, or the probability if there are no
    decision values (forests); with several classes the predicted class.

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
        The atoms, all in one collection; none if the model has none to draw.
    """

    #: Its response is that of two classes, or the places of the predicted ones of several.
    surface: inspection.DecisionBoundaryDisplay
    classes: Labels
    _: KW_ONLY
    #: The response between two classes.
    threshold: float = 0.0
    #: Of shape (n_samples, 2).
    points: Array | None = None
    labels: Labels | None = None
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
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        k: int | None = None,
        atoms: bool = True,
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
            The data set the limits. A few outliers are left out of the picture, and counted in the
            legend.
        y : array-like of shape (n_samples,) or None, default=None
            Without labels no points are drawn.
        k : int or None, default=None
            Draw the model of a classifier of this package after k steps of its path.
        atoms : bool, default=True
            Whether to draw the atoms of a classifier of this package, if they have a position.
        true_boundary : callable or None, default=None
            Maps the first feature to the second on the true boundary, which is drawn dashed.
        grid_resolution : int, default=300
            The number of points along each side.
        xlabel, ylabel : str or None, default=None
            None is the name of a data frame's column.
        **kwargs :
            For `plot`.
        """
        from matplotlib.figure import Figure

        if k is not None:
            estimator = cls._check_boosted(estimator).truncate(k)
        cls._check(estimator)
        points = to_numpy(check_array(X, accept_sparse="csr", dtype=np.float64))
        names = getattr(X, "columns", ("feature 1", "feature 2"))
        surface = inspection.DecisionBoundaryDisplay.from_estimator(
            estimator,
            like(X, _corners(points)),
            grid_resolution=grid_resolution,
            eps=0.0,
            response_method="auto" if len(estimator.classes_) == 2 else "predict",
            xlabel=xlabel or str(names[0]),
            ylabel=ylabel or str(names[-1]),
            # It draws at once.
            ax=Figure().subplots(),
        )
        has_decision = hasattr(estimator, "decision_function")  # forests have probabilities only
        display = cls(
            surface,
            estimator.classes_,
            threshold=0.0 if has_decision else 0.5,
            true_boundary=true_boundary,
        )
        if atoms and isinstance(estimator, BaseFCGBoost):
            display.atoms = atom_positions(estimator.members_)
        if y is not None:
            check_consistent_length(points, y)
            display.points = points
            display.labels = np.asarray(y)
        return display.plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.pcolormesh`, which fills it."""
        ax = self._start(ax)
        color = base.text_color(ax)
        surface = self.surface
        self.surface_ = ax.pcolormesh(
            surface.xx0,
            surface.xx1,
            surface.response,
            **{"rasterized": True, "zorder": 0.5, **self._colors(), **kwargs},
        )
        self.boundary_ = [
            ax.contour(
                surface.xx0,
                surface.xx1,
                side,
                levels=[0.0],
                colors=[color],
                linewidths=2.0,
                zorder=3,
            )
            for side in self._sides()
            if side.min() < 0.0 < side.max()
        ]
        self._scatter(ax)
        # A contour has no entry in the legend: an empty line stands for it.
        ax.plot(
            [],
            [],
            color=color,
            linewidth=2.0,
            label="decision boundary",
        )
        if self.true_boundary is not None:
            first = surface.xx0[0]
            ax.plot(
                first,
                self.true_boundary(first),
                "--",
                color=color,
                label="true boundary",
            )
        self.atoms_ = [] if self.atoms is None else self._draw_atoms(ax, self.atoms)
        (left, bottom), (right, top) = self.limits
        ax.set(xlim=(left, right), ylim=(bottom, top))
        base.set_labels(ax, surface.xlabel, surface.ylabel)
        base.legend_below(ax)
        return self

    def _colors(self) -> dict[str, Any]:
        """Return how the plane is filled."""
        from matplotlib.colors import ListedColormap, to_rgba_array

        n_classes = len(self.classes)
        if n_classes > 2:
            colors = to_rgba_array(base.class_colors(n_classes), _FLAT)
            return {"cmap": ListedColormap(colors), "vmin": -0.5, "vmax": n_classes - 0.5}
        first, second = CLASS_COLORS
        certainty = np.linspace(-1.0, 1.0, 256)
        names = np.where(certainty < 0.0, first, second)
        colors = to_rgba_array(names, _STRONGEST * np.abs(certainty))
        low = 2.0 * self.threshold - 1.0
        return {"cmap": ListedColormap(colors), "vmin": low, "vmax": 1.0}

    def _sides(self) -> list[Array]:
        """Return surfaces that are 0 on the lines between classes."""
        response = self.surface.response
        if len(self.classes) == 2:
            return [response - self.threshold]
        # Smooth as far as a line is wide: predictions change from one point to the next.
        regions = [response == code for code in range(len(self.classes))]
        return [gaussian_filter(region.astype(np.float64), 1.0) - 0.5 for region in regions]

    def _scatter(self, ax: base.Axes) -> None:
        if self.points is None or self.labels is None:
            return
        colors = base.class_colors(len(self.classes))
        for i, (value, color) in enumerate(zip(self.classes, colors, strict=True)):
            x, y = self.points[self.labels == value].T
            ax.scatter(
                x,
                y,
                s=14,
                c=color,
                marker=_MARKERS[i % len(_MARKERS)],
                linewidths=0.0,
                label=f"label {base.label_name(value)}",
            )
        if self.n_outside:
            ax.plot([], [], " ", label=f"rows farther out: {self.n_outside}")

    def _draw_atoms(self, ax: base.Axes, atoms: AtomPositions) -> list[Collection]:
        """Draw every atom in the colour of its class, sized by its coefficient."""
        from matplotlib.collections import LineCollection
        from matplotlib.colors import to_rgba, to_rgba_array

        coef = atoms.coef
        largest = np.abs(coef).max(axis=0)
        sizes = largest / (largest.max() or 1.0)
        is_pair = len(self.classes) == 2
        codes = (coef[0] > 0.0).astype(np.intp) if is_pair else np.abs(coef).argmax(axis=0)
        is_for = is_pair | (coef.max(axis=0) == largest)
        colors = np.array(base.class_colors(len(self.classes)))[codes]
        text = base.text_color(ax)
        is_centre = atoms.kind == "centre"
        drawn: Collection
        if is_centre:
            # Points below remain visible.
            drawn = ax.scatter(
                atoms.places[:, 0],
                atoms.places[:, 1],
                s=15.0 + 115.0 * sizes,
                facecolors=to_rgba_array(colors, 0.7 * is_for),
                edgecolors=np.where(is_for[:, None], to_rgba(text), to_rgba_array(colors)).tolist(),
                linewidths=1.2,
                zorder=4,
            )
        else:
            drawn = LineCollection(
                self._lines(atoms.places),
                linewidths=0.6 + 2.6 * sizes,
                colors=colors,
                linestyles=np.where(is_for, "solid", "dashed"),
                alpha=0.8,
            )
            ax.add_collection(drawn, autolim=False)
        name = f"{atoms.kind} of an atom"
        if not is_pair:
            name += f" ({'hollow' if is_centre else 'dashed'}: against the class)"
        ax.plot(
            [],
            [],
            "o" if is_centre else "-",
            color=text,
            linewidth=2.0,
            label=name,
        )
        return [drawn]

    def _lines(self, rows: Array) -> list[Array]:
        """Return the ends of lines <w, x> + b = 0 across the plane; the Axes clip them."""
        low, high = self.limits
        normals = rows[:, :2]
        middle = (low + high) / 2.0
        squares = np.maximum(np.sum(normals**2, axis=1), np.finfo(np.float64).tiny)
        feet = middle - ((normals @ middle + rows[:, 2]) / squares)[:, None] * normals
        reach = np.linalg.norm(high - low) / np.sqrt(squares)
        along = normals[:, ::-1] * [-1.0, 1.0] * reach[:, None]
        return list(np.stack([feet - along, feet + along], axis=1))


def _corners(points: Array) -> Array:
    """Return the lower left and the upper right corner of the usual points, with a small margin."""
    low, high = np.transpose([base.usual_range(column) for column in points.T])
    margin = 0.02 * np.where(high > low, high - low, 1.0)
    return np.stack([low - margin, high + margin])


def like(X: Rows, points: Array) -> Rows:
    """Return points as a data frame if X is one, with its column names."""
    if not hasattr(X, "columns"):  # a user's table, of any library of data frames
        return points
    return type(X)(dict(zip(X.columns, points.T, strict=True)))
