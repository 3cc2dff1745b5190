"""Coefficients along a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    PALETTE,
    Array,
    Display,
    check_matplotlib,
    ink,
    label_name,
    legend_below,
    room,
    set_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Grey is for the atoms that have no name.
*_COLORS, _GREY = PALETTE
# In points, with a gap.
_NAME_HEIGHT = 12.0


class CoefficientPathDisplay(Display):
    """The coefficient of every atom against the number of steps; the largest have names.

    The largest are those of the chosen model.

    Under full correction all coefficients move in every step, under the classical schemes only
    one does.

    Parameters
    ----------
    coefs : ndarray of shape (n_steps, n_atoms)
        The coefficients after 1, 2, ... steps; NaN before an atom entered.
    atoms : ndarray of shape (n_atoms,)
        The number of each atom in order of entry, from 1.
    k0 : int or None, default=None
        The number of steps of the theory.
    chosen : int or None, default=None
        The number of steps of the model.
    class_name : str or None, default=None
        The class the coefficients speak for.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict from int to matplotlib Line2D
        By the atoms' numbers.
    texts_ : list of matplotlib Text
        The names of the largest ones.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.plotting import CoefficientPathDisplay
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(X, y)
    >>> CoefficientPathDisplay.from_estimator(clf).coefs.shape
    (8, 8)
    """

    lines_: dict[int, Line2D]
    texts_: list[Any]

    def __init__(
        self,
        coefs: Array,
        atoms: NDArray[np.intp],
        *,
        k0: int | None = None,
        chosen: int | None = None,
        class_name: str | None = None,
    ) -> None:
        self.coefs = coefs
        self.atoms = atoms
        self.k0 = k0
        self.chosen = chosen
        self.class_name = class_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        class_of_interest: Any = None,
        n_named: int = 6,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coefficients of a classifier along its whole path.

        Parameters
        ----------
        estimator : fitted classifier of fcgboost, or a Pipeline that ends in one
        class_of_interest : label or None, default=None
            Of several classes, the one whose coefficients are drawn; None is the first.
        n_named : int, default=6
            How many atoms to name.
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.plot`.

        Returns
        -------
        CoefficientPathDisplay
        """
        check_matplotlib(cls.__name__)
        _, classifier = fitted.split_boosted(estimator, cls)
        fitted.check_path(classifier)
        output, value = fitted.output_of(classifier, class_of_interest)
        coefs, own = _coefficients(classifier.trace_, output)
        display = cls(
            coefs,
            own + 1,
            k0=fitted.theory_k0(classifier, None),
            chosen=classifier.n_iter_,
            class_name=label_name(value),
        )
        return display.plot(ax, n_named=n_named, **kwargs)

    def plot(self, ax: Axes | None = None, *, n_named: int = 6, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        n_named : int, default=6
            How many atoms to name.
        **kwargs :
            For `Axes.plot`.

        Returns
        -------
        CoefficientPathDisplay
        """
        ax = self._take(ax)
        steps = np.arange(1, len(self.coefs) + 1)
        named = self._largest(n_named)
        marker = "o" if len(self.coefs) == 1 else None
        self.lines_ = {}
        for j, (atom, values) in enumerate(zip(self.atoms, self.coefs.T, strict=True)):
            rank = np.flatnonzero(named == j)
            color = _COLORS[rank[0] % len(_COLORS)] if len(rank) else _GREY
            width = 1.6 if len(rank) else 0.8
            style = {"color": color, "linewidth": width, "marker": marker, **kwargs}
            (self.lines_[int(atom)],) = ax.plot(steps, values, **style)
        ax.axhline(0.0, color=ink(ax), linewidth=0.8)
        self._mark_steps(ax)
        label = (
            "coefficient" if self.class_name is None else f"coefficient for label {self.class_name}"
        )
        set_labels(ax, "steps $k$", label)
        ax.set_xlim(1, max(2, len(self.coefs)))
        ax.set_ylim(*ax.get_ylim())
        self._name(ax, named)
        legend_below(ax)
        return self

    def _largest(self, n: int) -> NDArray[np.intp]:
        """Give the places of the atoms that are largest after the chosen number of steps."""
        k = min(self.chosen or len(self.coefs), len(self.coefs))
        sizes = np.abs(np.nan_to_num(self.coefs[k - 1])) if k else np.zeros(0)
        return np.argsort(-sizes, kind="stable")[: min(n, int(np.count_nonzero(sizes)))]

    def _mark_steps(self, ax: Axes) -> None:
        if self.k0 is not None and self.k0 <= len(self.coefs):
            ax.axvline(self.k0, color=ink(ax), linestyle=":", label=f"$k_0$ = {self.k0}")
        if self.chosen is not None and self.chosen < len(self.coefs):
            label = f"chosen $k$ = {self.chosen}"
            ax.axvline(self.chosen, color=ink(ax), linestyle="--", linewidth=1.0, label=label)

    def _name(self, ax: Axes, named: NDArray[np.intp]) -> None:
        """Write names right of the curves' ends, apart from one another, a line leading to each.

        The lines have the curves' colours, some of which are too light for letters.
        """
        ends = self.coefs[-1, named] if len(self.coefs) else np.zeros(0)
        low, high = ax.get_ylim()
        starts = (ends - low) / (high - low)
        heights = _spread(starts, _NAME_HEIGHT / room(ax)[1])
        self.texts_ = []
        for j, start, height in zip(named, starts, heights, strict=True):
            atom = int(self.atoms[j])
            place: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}
            color = self.lines_[atom].get_color()
            ax.plot([1.0, 1.03], [start, height], color=color, linewidth=1.2, **place)
            style: dict[str, Any] = {"color": ink(ax), "fontsize": "small", "va": "center"}
            self.texts_.append(ax.text(1.035, height, f"atom {atom}", **place, **style))


def _coefficients(trace: Any, output: int) -> tuple[Array, NDArray[np.intp]]:
    """Give the coefficients of the atoms that one output chose, and the places of these atoms."""
    coefs = np.full((len(trace), len(trace.entered)), np.nan)
    entered: dict[int, int] = {}
    for step in trace:
        coefs[step.k - 1, : step.n_entered] = step.coef[output]
        # Of an average every path has chosen one.
        for atom in step.chosen[output :: len(step.coef)].tolist():
            if atom >= 0:
                entered.setdefault(atom, step.k)
    # An atom of several outputs enters each of them at a step of its own.
    for atom, k in entered.items():
        coefs[: k - 1, atom] = np.nan
    own = np.array(sorted(entered), dtype=np.intp)
    return coefs[:, own], own


def _spread(heights: Array, gap: float) -> Array:
    """Move heights apart so that neighbours have a gap, and all of them lie in [0, 1]."""
    if len(heights) == 0:
        return heights
    order = np.argsort(heights, kind="stable")
    ranks = np.arange(len(heights)) * gap
    # Least squares under the gaps: the best increasing heights less their ranks.
    apart = _increasing(heights[order] - ranks) + ranks
    apart = np.maximum(np.minimum(apart, 1.0 - ranks[::-1]), ranks)
    spread = np.empty(len(heights))
    spread[order] = apart
    return spread


def _increasing(values: Array) -> Array:
    """Give the nearest non-decreasing values: pool neighbours that are out of order."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, n = float(value), 1
        while pools and pools[-1][0] > mean:
            other, size = pools.pop()
            mean, n = (mean * n + other * size) / (n + size), n + size
        pools.append((mean, n))
    return np.concatenate([np.full(n, mean) for mean, n in pools])
