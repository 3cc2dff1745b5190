"""The atoms themselves: a row per atom, a column per feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcgboost.dictionaries import EllipticDictionary, GaussDictionary, TreeDictionary
from fcgboost.importances import weights_of
from fcgboost.model import by_family
from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    CLASS_COLORS,
    Array,
    Display,
    check_matplotlib,
    ink,
    label_name,
    letters_width,
    more_features,
    room,
    tick_size,
    two_sided,
    wrapped,
)
from fcgboost.plotting.influence import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where the two panels and the scale of colours lie in the Axes: left, bottom, width, height.
_HEAT, _BARS, _SCALE = (0.0, 0.0, 0.68, 1.0), (0.71, 0.0, 0.18, 1.0), (0.93, 0.0, 0.025, 1.0)

# Bars narrower than this, in points, have a tick at one end only, and a short label.
_NARROW = 40.0


class AtomDisplay(Display):
    """A heat map of atoms, in order of entry, with their coefficients as bars beside.

    Neurons and polynomial kernels are shown by their directions w, Gauss atoms by their centres,
    both in standardised units; trees by how often they split a feature. Where a model has atoms
    of several kinds, each row is divided by the sum of its sizes.

    Parameters
    ----------
    values : ndarray of shape (n_atoms, n_features)
    coef : ndarray of shape (n_atoms,)
    numbers : ndarray of shape (n_atoms,)
        The atoms' numbers in order of entry, from 1.
    names : sequence of str
        Of the features.
    value_name : str, default="weight"
    class_name : str or None, default=None
        The class the coefficients speak for.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Holds the two panels and carries the title.
    figure_ : matplotlib Figure
    heat_ax_, bar_ax_, scale_ax_ : matplotlib Axes
        The heat map, the coefficients, the scale of colours.
    image_ : matplotlib AxesImage
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.plotting import AtomDisplay
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier("relu", max_iter=5, random_state=0).fit(X, y)
    >>> AtomDisplay.from_estimator(clf).values.shape
    (5, 2)
    """

    heat_ax_: Axes
    bar_ax_: Axes
    scale_ax_: Axes
    image_: Any
    bars_: Any

    def __init__(
        self,
        values: Array,
        coef: Array,
        numbers: NDArray[np.intp],
        names: Sequence[str],
        *,
        value_name: str = "weight",
        class_name: str | None = None,
    ) -> None:
        self.values = values
        self.coef = coef
        self.numbers = numbers
        self.names = names
        self.value_name = value_name
        self.class_name = class_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        class_of_interest: Any = None,
        n_atoms: int = 30,
        n_shown: int = 20,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the atoms of a classifier.

        Parameters
        ----------
        estimator : fitted classifier of fcgboost, or a Pipeline that ends in one
        X : data of the fit or None, default=None
            Gauss centres are drawn from its mean; without it, from the mean of the centres.
        class_of_interest : label or None, default=None
            Of several classes, the one whose atoms are drawn; None is the first.
        n_atoms, n_shown : int, default=30 and 20
            At most so many atoms, those with the largest coefficients, and so many features,
            those with the largest values.
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.imshow`.

        Returns
        -------
        AtomDisplay
        """
        check_matplotlib(cls.__name__)
        before, classifier = fitted.split_boosted(estimator, cls)
        output, value = fitted.output_of(classifier, class_of_interest)
        coef = classifier.coef_[output]
        if not coef.any():
            raise ValueError(f"The model has no atoms for label {label_name(value)} to draw.")
        rows = None if X is None else fitted.prepared(before, X)
        values, value_name = _values(classifier.model_, rows)
        own = np.flatnonzero(coef)
        display = cls(
            values[own],
            coef[own],
            own + 1,
            fitted.feature_names(before, classifier, X),
            value_name=value_name,
            class_name=label_name(value),
        )
        return display.plot(ax, n_atoms=n_atoms, n_shown=n_shown, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, n_atoms: int = 30, n_shown: int = 20, **kwargs: Any
    ) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Its place is divided among the two panels.
        n_atoms, n_shown : int, default=30 and 20
            At most so many atoms and features.
        **kwargs :
            For `Axes.imshow`.

        Returns
        -------
        AtomDisplay
        """
        ax = self._take(ax)
        ax.set_axis_off()
        rows = np.sort(np.argsort(-np.abs(self.coef), kind="stable")[:n_atoms])
        weight = np.abs(self.values[rows]).sum(axis=0)
        columns = np.sort(np.argsort(-weight, kind="stable")[:n_shown])
        self._draw_heat(ax, rows, columns, kwargs)
        self._draw_bars(ax, rows)
        return self

    def _draw_heat(
        self, ax: Axes, rows: NDArray[np.intp], columns: NDArray[np.intp], options: dict[str, Any]
    ) -> None:
        heat = self.heat_ax_ = ax.inset_axes(_HEAT)
        shown = self.values[np.ix_(rows, columns)]
        limit = float(np.abs(shown).max(initial=0.0)) or 1.0
        style = {"cmap": two_sided(), "vmin": -limit, "vmax": limit, "aspect": "auto", **options}
        self.image_ = heat.imshow(shown, interpolation="nearest", **style)
        width, height = room(heat)
        letters = float(heat.yaxis.label.get_fontsize())
        # A layout takes some of the width; turned names may take some of the height, but not all.
        longest = min(20, max(6, int(0.4 * height / letters_width("x", letters))))
        names = [shortened(self.names[j], longest) for j in columns]
        every = max(1, -(-len(rows) // max(1, min(15, int(0.5 * height / (1.3 * letters))))))
        heat.set_yticks(np.arange(0, len(rows), every), self.numbers[rows][::every].astype(str))
        turned = max(letters_width(name, letters) for name in names) > 0.75 * width / len(names)
        size = tick_size(len(names), width - 30.0) if turned else None
        # Tiny Axes have room for the names of some features only.
        skip = max(1, -(-len(names) * 7 // int(0.6 * width + 1.0)))
        places, angle = np.arange(0, len(names), skip), 90 if turned else 0
        heat.set_xticks(places, names[::skip], rotation=angle, fontsize=size)
        n_left = len(self.names) - len(columns)
        heat.set_xlabel(wrapped(more_features(n_left), width, letters) if n_left else "")
        n_out = len(self.coef) - len(rows)
        left_out = f"({n_out} smaller {'ones' if n_out > 1 else 'one'} left out)"
        lines = ["atom, in order of entry"] + [left_out] * (n_out > 0)
        heat.set_ylabel("\n".join(wrapped(line, 0.9 * height, letters) for line in lines))
        self.scale_ax_ = ax.inset_axes(_SCALE)
        name = wrapped(self.value_name, 0.9 * height, letters)
        self.figure_.colorbar(self.image_, cax=self.scale_ax_, label=name)

    def _draw_bars(self, ax: Axes, rows: NDArray[np.intp]) -> None:
        bars = self.bar_ax_ = ax.inset_axes(_BARS)
        coef = self.coef[rows]
        colors = [CLASS_COLORS[int(value > 0.0)] for value in coef]
        self.bars_ = bars.barh(np.arange(len(rows)), coef, color=colors, height=0.7)
        bars.axvline(0.0, color=ink(bars), linewidth=0.8)
        bars.set_ylim(len(rows) - 0.5, -0.5)
        bars.set_yticks([])
        is_narrow = room(bars)[0] < _NARROW
        bars.set_xticks(_ticks(coef, 1 if is_narrow else 2))
        bars.tick_params(axis="x", labelsize="small")
        # In short lines: the names of the features are near.
        of_class = [] if self.class_name is None else ["for label", shortened(self.class_name, 12)]
        lines = ["coef."] if is_narrow else ["coefficient", *of_class]
        bars.set_xlabel("\n".join(lines), fontsize="small")


def _ticks(values: Array, most: int) -> list[float]:
    """Give a round number near one or both ends, where there is room for it; 0 has a line."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    ends = sorted((low, high), key=abs, reverse=True)[:most]
    return [_round(end) for end in ends if abs(end) > 0.3 * (high - low)]


def _round(value: float) -> float:
    """Give the nearest 1, 2 or 5 times a power of ten that is not larger."""
    power = 10.0 ** np.floor(np.log10(abs(value)))
    size = max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= abs(value))
    return float(np.copysign(size, value))


def has_values(model: Any) -> bool:
    """Whether there is something to show of a model's atoms."""
    found = by_family(model.dictionary, model.atoms, len(model.scale))
    weights = [weights_of(family, rows, model.scale) for family, _, rows in found]
    return bool(weights) and all(own is not None for own in weights)


def _values(model: Any, X: Any) -> tuple[Array, str]:
    """Give what the rows of the heat map hold, in standardised units, and its name."""
    # Of sparse rows, too, the mean is a dense row.
    middle = None if X is None else np.asarray(X.mean(axis=0)).reshape(-1)
    found = by_family(model.dictionary, model.atoms, len(model.scale))
    parts = [(f, places, weights_of(f, rows, model.scale, middle)) for f, places, rows in found]
    values = np.zeros((model.n_atoms, len(model.scale)))
    for family, places, own in parts:
        if own is None:
            raise ValueError(
                "AtomDisplay draws atoms that have a direction, a centre or splits: those of the "
                f"package's dictionaries and of every PlaneDictionary, not {type(family).__name__}."
            )
        # Numbers of several kinds have one measure only: their shares in the atom.
        total = np.abs(own).sum(axis=1, keepdims=True) if len(parts) > 1 else 1.0
        values[places] = own / np.where(total == 0.0, 1.0, total)
    return values, _value_name([type(family) for family, *_ in parts])


def _value_name(kinds: list[type]) -> str:
    if len(kinds) != 1:
        return "share in the atom's direction, centre or splits"
    names = {
        GaussDictionary: "centre − mean, standardised",
        EllipticDictionary: "1 / width, standardised",
        TreeDictionary: "share of the splits",
    }
    found = (name for kind, name in names.items() if issubclass(kinds[0], kind))
    return next(found, "weight per standardised unit")
