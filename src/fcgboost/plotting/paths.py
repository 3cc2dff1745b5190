"""Errors along a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    DICTIONARY_COLORS,
    Array,
    Display,
    check_matplotlib,
    ink,
    legend_below,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# The same thing has the same colour in every picture.
_CURVE_COLORS = {
    **DICTIONARY_COLORS,
    "train": "#E69F00",
    "validation": "#0072B2",
    "cross-validation": "#0072B2",
    "test": "#D55E00",
}
# For curves of other names; the Axes' own ink comes before these.
_OTHER_COLORS = ("#E69F00", "#56B4E9", "#999999")


class PathDisplay(Display):
    """Errors against the number of atoms or steps, with k0 and the chosen number marked.

    Parameters
    ----------
    curves : mapping from str to ndarray
        The values of each curve. Dictionaries have their colours.
    steps : mapping from str to ndarray or None, default=None
        The numbers of steps they belong to; 1, 2, ... for names that are not there.
    atoms : ndarray of shape (n_steps + 1,) or None, default=None
        The number of atoms after 0, 1, ... steps, if the curves are to be drawn against it.
    k0 : int or None, default=None
        The number of steps of the theory, `theory_steps(n_samples)`: a dotted line.
    chosen : mapping from str to int or None, default=None
        Numbers of steps to mark on the curves.
    ylabel : str, default="error"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict from str to matplotlib Line2D
        The curves.
    marks_ : dict from str to matplotlib Line2D
        The chosen points on them.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.plotting import PathDisplay
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier(validation_fraction=0.2, random_state=0).fit(X, y)
    >>> display = PathDisplay.from_estimator(clf, X, y)
    >>> sorted(display.curves)
    ['train', 'validation']
    """

    lines_: dict[str, Line2D]
    marks_: dict[str, Line2D]

    def __init__(
        self,
        curves: Mapping[str, Array],
        *,
        steps: Mapping[str, Array] | None = None,
        atoms: Array | None = None,
        k0: int | None = None,
        chosen: Mapping[str, int] | None = None,
        ylabel: str = "error",
    ) -> None:
        self.curves = curves
        self.steps = steps
        self.atoms = atoms
        self.k0 = k0
        self.chosen = chosen
        self.ylabel = ylabel

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        *,
        x: Literal["atoms", "steps"] = "atoms",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the errors of a classifier along its whole path.

        Parameters
        ----------
        estimator : fitted classifier of fcgboost, or a Pipeline that ends in one
        X, y : data of the fit, or None, default=None
            Give the curve "train".
        X_val, y_val : other data, or None, default=None
            Give the curve "validation". Without them it is what the fit wrote down, if it had
            validation data; for a search, the mean over the folds, "cross-validation".
        x : {"atoms", "steps"}, default="atoms"
            Several classes choose several atoms in one step.
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.plot`.

        Returns
        -------
        PathDisplay
        """
        check_matplotlib(cls.__name__)
        if x not in ("atoms", "steps"):
            raise ValueError(f"x must be 'atoms' or 'steps', got {x!r}.")
        before, classifier = fitted.split_boosted(estimator, cls)
        fitted.check_path(classifier)
        given: dict[str, tuple[Any, Any]] = {"train": (X, y), "validation": (X_val, y_val)}
        curves = {
            name: path_error(classifier, fitted.prepared(before, rows), labels)
            for name, (rows, labels) in given.items()
            if _is_given(name, rows, labels)
        }
        recorded, steps, ylabel = fitted.recorded(classifier)
        if X_val is None and (ylabel == "error" or not curves):
            curves |= recorded
        else:
            ylabel = "error"
        if not curves:
            raise ValueError(
                "There is no error to draw: pass X and y, or fit with validation data "
                "(validation_fraction, or X_val and y_val)."
            )
        counts = np.array([0, *classifier.trace_.column("n_atoms")], dtype=np.float64)
        display = cls(
            curves,
            steps=steps,
            atoms=counts if x == "atoms" else None,
            k0=fitted.theory_k0(classifier, None if X is None else np.shape(X)[0]),
            chosen=dict.fromkeys(curves, classifier.n_iter_) if classifier.n_iter_ else None,
            ylabel=ylabel,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        curves: Mapping[str, ArrayLike] | ArrayLike,
        *,
        k0: int | None = None,
        chosen: Mapping[str, int] | None = None,
        ylabel: str = "error",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw known curves over the number of steps.

        Parameters
        ----------
        curves : mapping from names to array-like of shape (n_steps,), or one such array
            The values after 1, 2, ... steps: of `path_error`, or of
            ``clf.trace_.column("validation_score")``. Names of dictionaries have their colours.
        k0 : int or None, default=None
        chosen : mapping from names to int or None, default=None
        ylabel : str, default="error"
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.plot`.

        Returns
        -------
        PathDisplay

        Examples
        --------
        >>> curves = {"gauss": [0.3, 0.2, 0.1], "relu": [0.3, 0.1, 0.2]}
        >>> display = PathDisplay.from_predictions(curves, k0=2)
        >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
        ['gauss', 'relu', '$k_0$ = 2']
        """
        check_matplotlib(cls.__name__)
        named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
        if not named:
            raise ValueError("curves must name at least one curve.")
        checked = {name: _check_curve(name, values) for name, values in named.items()}
        for name, k in (chosen or {}).items():
            if name not in checked or not 1 <= k <= len(checked[name]):
                raise ValueError(f"chosen has {name!r} at step {k}, where there is no curve.")
        return cls(checked, k0=k0, chosen=chosen, ylabel=ylabel).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.plot`.

        Returns
        -------
        PathDisplay
        """
        ax = self._take(ax)
        others = iter((ink(ax), *_OTHER_COLORS) * len(self.curves))
        self.lines_, self.marks_ = {}, {}
        for name, values in self.curves.items():
            color = _CURVE_COLORS.get(name.lower()) or next(others)
            marker = "o" if len(values) == 1 else None
            style = {"color": color, "label": name or "_nolegend_", "marker": marker, **kwargs}
            (self.lines_[name],) = ax.plot(self._places(self._ks(name)), values, **style)
        self._mark_chosen(ax)
        self._mark_k0(ax)
        ax.set(xlabel="steps $k$" if self.atoms is None else "atoms", ylabel=self.ylabel)
        ax.set_xlim(0, None)
        legend_below(ax)
        return self

    def _ks(self, name: str) -> Array:
        default = np.arange(1.0, len(self.curves[name]) + 1)
        return (self.steps or {}).get(name, default)

    def _places(self, ks: Array) -> Array:
        """Give the places of steps on the axis; NaN for steps that no one has made."""
        if self.atoms is None:
            return ks
        last = len(self.atoms) - 1
        known = self.atoms[np.minimum(ks, last).astype(int)]
        # Where every step brings one atom, the number of atoms is known for all steps.
        beyond = ks if (np.diff(self.atoms) == 1.0).all() else np.full(len(ks), np.nan)
        return np.where(ks <= last, known, beyond)

    def _mark_chosen(self, ax: Axes) -> None:
        for name, k in (self.chosen or {}).items():
            here = self._ks(name) == k
            if here.any():
                places, color = self._places(self._ks(name))[here], self.lines_[name].get_color()
                (self.marks_[name],) = ax.plot(
                    places, self.curves[name][here], "o", color=color, markersize=8
                )
        if self.marks_ and self.chosen:
            ks = set(self.chosen.values())
            label = f"chosen $k$ = {ks.pop()}" if len(ks) == 1 else "chosen number of steps"
            ax.plot([], [], "o", color="grey", markersize=6, label=label)

    def _mark_k0(self, ax: Axes) -> None:
        if self.k0 is not None:
            (place,) = self._places(np.array([float(self.k0)]))
            if np.isfinite(place):
                style: dict[str, Any] = {"color": ink(ax), "linestyle": ":"}
                ax.axvline(place, label=f"$k_0$ = {self.k0}", **style)


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


def _is_given(name: str, X: Any, y: Any) -> bool:
    if (X is None) != (y is None):
        raise ValueError(f"The curve {name!r} needs rows and their labels, got only one of them.")
    return X is not None


def _check_curve(name: str, values: ArrayLike) -> Array:
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or len(curve) == 0:
        raise ValueError(f"The curve {name!r} must hold one number per step, got {curve.shape}.")
    return curve
