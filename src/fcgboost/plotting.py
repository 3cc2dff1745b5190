"""Pictures: a classifier or its path in, matplotlib Axes out.

Needs matplotlib (``fcgboost[plot]``). Every function draws into `ax`, or into a new figure, and
returns the Axes; nothing is shown and no global setting changes. Legends stand below the Axes,
where they cover no data. Colours are those of Okabe and Ito, which colour-blind people can tell
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLASS_COLORS", "DICTIONARY_COLORS", "path_error", "plot_decision_boundary", "plot_path"]

#: The colour of each dictionary, the same in every picture.
DICTIONARY_COLORS: Mapping[str, str] = {
    "gauss": "#0072B2",
    "polynomial": "#D55E00",
    "sigmoid": "#009E73",
    "relu": "#CC79A7",
}
#: The colours of the two classes, in the order of `classes_`.
CLASS_COLORS: tuple[str, str] = ("#D55E00", "#0072B2")

# What is left of the palette for curves that are not called after a dictionary; grey instead of
# its yellow, which is too light on white.
_OTHER_COLORS = ("#000000", "#E69F00", "#56B4E9", "#999999")
_MARKERS = ("^", "o")
# Decision values beyond this are filled alike: it is where the losses take a class for sure.
_SURE = 1.0
_N_GRID = 300
# In font sizes: clears the tick labels and the axis label.
_LEGEND_PAD = 3.6

Array = NDArray[np.float64]


def plot_decision_boundary(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    true_boundary: Callable[[Array], Array] | None = None,
    centers: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a classifier of two features and two classes over its data.

    The plane is filled by the decision value, from -1 (surely the first class) to 1; for
    classifiers without one, such as forests, by 2 p - 1, p the probability of the second class.
    For the squared hinge both are the same.

    Parameters
    ----------
    estimator : fitted classifier
        Of this package or of scikit-learn.
    X : array-like or data frame of shape (n_samples, 2)
    y : array-like of shape (n_samples,)
    true_boundary : callable or None, default=None
        Gives the second feature of the true boundary from the first, dashed.
    centers : array-like of shape (n_centers, 2) or None, default=None
        Points to mark, such as the centres of Gauss atoms, ``clf.atoms_[:, :2]``.
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    matplotlib Axes
        Its first collection is the filled contours, for `Figure.colorbar`.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import bayes_boundary, make_simulation
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier("relu", random_state=0).fit(X, y)
    >>> ax = plot_decision_boundary(clf, X, y, true_boundary=bayes_boundary)
    >>> ax.get_xlabel()
    'feature 1'
    """
    points, labels = _check_plane(estimator, X, y)
    marked = None if centers is None else _check_points("centers", centers)
    ax = _axes(ax)
    sides = [_side(column) for column in points.T]
    _fill(ax, sides, _response(estimator, _like(X, _grid(*sides))).reshape(_N_GRID, _N_GRID))
    _scatter_classes(ax, points, labels, estimator.classes_)
    # A contour has no entry in the legend: an empty line stands for it.
    ax.plot([], [], color="black", linewidth=2.0, label="decision boundary")
    if true_boundary is not None:
        ax.plot(sides[0], true_boundary(sides[0]), "--", color="black", label="true boundary")
    if marked is not None:
        first, second = marked.T
        style: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 1.2}
        ax.scatter(first, second, s=70, label="centre of an atom", zorder=4, **style)
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    ax.set(**dict(zip(("xlabel", "ylabel"), _feature_names(X), strict=True)))
    _legend_below(ax)
    return ax


def plot_path(
    curves: Mapping[str, ArrayLike] | ArrayLike,
    *,
    k0: int | None = None,
    chosen: Mapping[str, int] | None = None,
    ylabel: str = "test error",
    ax: Axes | None = None,
) -> Axes:
    """Draw one or several curves over the number of steps.

    Parameters
    ----------
    curves : mapping from names to array-like of shape (n_steps,), or one such array
        The values after 1, 2, ... steps: of `path_error`, or of
        ``clf.trace_.column("validation_score")``. Names of dictionaries have their colours.
    k0 : int or None, default=None
        The number of steps of the theory, `theory_steps(n_samples)`, marked by a dotted line.
    chosen : mapping from names to int or None, default=None
        Numbers of steps to mark on the curves.
    ylabel : str, default="test error"
    ax : matplotlib Axes or None, default=None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = plot_path({"gauss": [0.3, 0.2, 0.1], "relu": [0.3, 0.1, 0.2]}, k0=2)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['gauss', 'relu', '$k_0$ = 2']
    """
    named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    if not named:
        raise ValueError("curves must name at least one curve.")
    checked = {name: _check_curve(name, values) for name, values in named.items()}
    marks = _check_chosen(chosen or {}, checked)
    ax = _axes(ax)
    others = iter(_OTHER_COLORS * (1 + len(checked) // len(_OTHER_COLORS)))
    for name, values in checked.items():
        color = DICTIONARY_COLORS.get(name.lower()) or next(others)
        steps = np.arange(1, len(values) + 1)
        ax.plot(steps, values, color=color, label=name or "_nolegend_")
        if name in marks:
            ax.plot(marks[name], values[marks[name] - 1], "o", color=color, markersize=8)
    if marks:
        ax.plot([], [], "o", color="grey", markersize=8, label="chosen number of steps")
    if k0 is not None:
        ax.axvline(k0, color="black", linestyle=":", label=f"$k_0$ = {k0}")
    ax.set(xlabel="steps $k$", ylabel=ylabel)
    ax.set_xlim(0, max(map(len, checked.values())) + 1)
    _legend_below(ax)
    return ax


def path_error(estimator: Any, X: Any, y: ArrayLike) -> Array:
    """Give the share of wrong predictions after every step of a classifier's whole path.

    Parameters
    ----------
    estimator : fitted FCGBoostClassifier or FCGBoostClassifierCV
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    ndarray of shape (len(estimator.trace_),)
    """
    check_is_fitted(estimator)
    whole = estimator.truncate(len(estimator.trace_))
    return np.array([np.mean(predicted != np.asarray(y)) for predicted in whole.staged_predict(X)])


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plotting needs matplotlib: python -m pip install 'fcgboost[plot]'."
        ) from error
    return plt.subplots(layout="constrained")[1]


def _check_plane(estimator: Any, X: Any, y: ArrayLike) -> tuple[Array, NDArray[Any]]:
    """Give the points and their labels as arrays, if the plane can show them."""
    check_is_fitted(estimator)
    points, labels = _check_points("X", X), np.asarray(y)
    if labels.shape != (len(points),):
        raise ValueError(f"X has {len(points)} rows, but y has shape {labels.shape}.")
    if len(estimator.classes_) != 2:
        raise ValueError(
            f"A decision boundary is drawn for 2 classes, got {len(estimator.classes_)}."
        )
    return points, labels


def _check_points(name: str, values: Any) -> Array:
    points = np.asarray(values, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"A decision boundary is drawn over exactly 2 features, but {name} has shape "
            f"{points.shape}."
        )
    return points


def _check_curve(name: str, values: ArrayLike) -> Array:
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or len(curve) == 0:
        raise ValueError(f"The curve {name!r} must hold one number per step, got {curve.shape}.")
    return curve


def _check_chosen(chosen: Mapping[str, int], curves: Mapping[str, Array]) -> Mapping[str, int]:
    for name, k in chosen.items():
        if name not in curves or not 1 <= k <= len(curves[name]):
            raise ValueError(f"chosen has {name!r} at step {k}, where there is no curve.")
    return chosen


def _side(column: Array) -> Array:
    """Give grid points from a little before the column's minimum to a little after its maximum."""
    margin = 0.02 * (np.ptp(column) or 1.0)
    return np.linspace(column.min() - margin, column.max() + margin, _N_GRID)


def _grid(first: Array, second: Array) -> Array:
    return np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)


def _feature_names(X: Any) -> list[str]:
    names = getattr(X, "columns", ("feature 1", "feature 2"))
    return [str(name) for name in names]


def _like(X: Any, points: Array) -> Any:
    """Give points as a data frame if X is one: the classifier knows the names of its features."""
    if not hasattr(X, "columns"):  # a user's table, of any library of data frames
        return points
    return type(X)(dict(zip(X.columns, points.T, strict=True)))


def _response(estimator: Any, X: Any) -> Array:
    """Give a value between -1 and 1 whose sign is the class."""
    if hasattr(estimator, "decision_function"):  # a user's classifier; forests have none
        return np.asarray(np.clip(estimator.decision_function(X), -_SURE, _SURE))
    return np.asarray(2.0 * estimator.predict_proba(X)[:, 1] - 1.0)


def _fill(ax: Axes, sides: list[Array], values: Array) -> None:
    """Fill the plane by value, and draw the line where it is 0."""
    from matplotlib.colors import LinearSegmentedColormap

    first, second = CLASS_COLORS
    cmap = LinearSegmentedColormap.from_list("classes", [first, "white", second])
    levels = np.linspace(-_SURE, _SURE, 11)
    ax.contourf(*sides, values, levels=levels, cmap=cmap, alpha=0.5)
    if values.min() < 0.0 < values.max():
        ax.contour(*sides, values, levels=[0.0], colors="black", linewidths=2.0, zorder=3)


def _scatter_classes(ax: Axes, points: Array, labels: NDArray[Any], classes: NDArray[Any]) -> None:
    for value, color, marker in zip(classes, CLASS_COLORS, _MARKERS, strict=True):
        name = str(value).removesuffix(".0")
        x, y = points[labels == value].T
        ax.scatter(x, y, s=14, c=color, marker=marker, linewidths=0.0, label=f"label {name}")


def _legend_below(ax: Axes) -> None:
    """Put the legend below the axis label, where it covers nothing."""
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": 3}
        ax.legend(**place, borderaxespad=_LEGEND_PAD, markerscale=1.5, frameon=False)
