"""Atoms: where they lie in a plane, and what they look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcgboost import dictionaries
from fcgboost.arrays import host
from fcgboost.colors import CLASS_COLORS
from fcgboost.importances import weights_of
from fcgboost.model import by_family
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.tables.inputs import PlainInputs

# Where the two panels and the scale of colours lie in the Axes: left, bottom, width, height.
_HEAT, _BARS, _SCALE = (0.0, 0.0, 0.68, 1.0), (0.71, 0.0, 0.18, 1.0), (0.93, 0.0, 0.025, 1.0)
# Bars narrower than this, in points, have a tick at one end only, and a short label.
_NARROW = 40.0
Kind = Literal["centre", "hinge", "half-way line", "step"]
# The first family that an atom's dictionary belongs to says how it is drawn in a plane.
_KINDS: dict[type, Kind | None] = {
    dictionaries.GaussDictionary: "centre",
    dictionaries.PolynomialDictionary: "centre",
    dictionaries.SigmoidDictionary: "half-way line",
    dictionaries.StepDictionary: "step",
    dictionaries.LinearProfile: None,
    dictionaries.InnerProductDictionary: "hinge",
}
_VALUE_NAMES = {
    dictionaries.GaussDictionary: "centre − mean, standardised",
    dictionaries.TreeDictionary: "share of the splits",
}


@dataclass(frozen=True)
class AtomPositions:
    """Where the atoms of a model over two features lie."""

    kind: Kind
    #: Centres of shape (n_atoms, 2), or rows (w, b) of the lines <w, x> + b = 0.
    places: Array
    #: Of shape (1 or n_classes, n_atoms).
    coef: Array


def atom_positions(model: Any, points: Array) -> AtomPositions | None:
    """Return where atoms lie; None for atoms without a place in a plane, or of several kinds."""
    found = by_family(model.dictionary, model.atoms, len(model.scale))
    if len(found) > 1:
        # Centres and lines in one picture would be taken for the same thing.
        return None
    dictionary, _, rows, _ = found[0] if found else (model.dictionary, None, model.atoms, None)
    atoms = host(rows)
    kind = next((kind for family, kind in _KINDS.items() if isinstance(dictionary, family)), None)
    if kind is None:
        return None
    places = atoms[:, :2] if kind == "centre" else atoms
    if isinstance(dictionary, dictionaries.PolynomialDictionary):
        places = _polynomial_centers(model, atoms, points)
    return AtomPositions(kind, places, model.coef)


def _polynomial_centers(model: Any, atoms: Array, points: Array) -> Array:
    """Solve w = (c - shift) / (q scale^2) and b = -<w, shift> for c.

    Two atoms that are not parallel determine the shift; what fewer leave open is the points' mean.
    """
    weights, offsets, unit = atoms[:, :2], atoms[:, 2], model.scale
    mean = points.mean(axis=0) if (unit != 1.0).any() else np.zeros(2)
    missing = -offsets - weights @ mean
    shift = mean + np.linalg.lstsq(weights * unit, missing, rcond=1e-9)[0] * unit
    q = model.dictionary.q
    if q == "scale":
        q = np.mean(np.sum(((points - shift) / unit) ** 2, axis=1)) or 1.0
    return np.asarray(shift + weights * unit**2 * float(q))


@dataclass(eq=False, repr=False)
class AtomDisplay(base.Display):
    """A heat map of atoms, in order of entry, with their coefficients as bars beside.

    Neurons and polynomial kernels are shown by their directions w, Gauss atoms by their centres,
    both in standardised units; trees by how often they split a feature. Where a model has atoms
    of several kinds, each row is divided by the sum of its sizes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Holds the two panels and carries the title.
    heat_ax_, bar_ax_ : matplotlib Axes
        The heat map, the coefficients.
    image_ : matplotlib AxesImage
    bars_ : matplotlib BarContainer
    """

    #: Of shape (n_atoms, n_features).
    values: Array
    coef: Array
    #: The atoms' numbers in order of entry, from 1.
    numbers: NDArray[np.intp]
    #: Those of the features.
    names: Sequence[str]
    _: KW_ONLY
    value_name: str = "weight"
    #: The class the coefficients speak for.
    class_name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        class_of_interest: Any = None,
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
        **kwargs :
            For `plot`.
        """
        before, classifier = base.split_boosted(estimator, cls)
        output, value = base.output_of(classifier, class_of_interest)
        coef, own = classifier.atom_coef_[output], np.flatnonzero(classifier.atom_coef_[output])
        if len(own) == 0:
            raise ValueError(f"The model has no atoms for label {base.label_name(value)} to draw.")
        rows = X if X is None or before is None else before.transform(X)
        found = _values(classifier.model_, None if X is None else classifier._encoded(rows))
        if found is None:
            raise ValueError(
                "AtomDisplay draws atoms that have a direction, a centre or splits: those of the "
                "package's dictionaries and of every PlaneDictionary, not "
                f"{type(classifier.model_.dictionary).__name__}."
            )
        inputs: Any = vars(classifier).get("_inputs_") if before is None else None
        is_plain = isinstance(inputs, PlainInputs | None)
        names = base.feature_names(before, classifier, X) if is_plain else inputs.names()
        texts = {"value_name": found[1], "class_name": base.label_name(value)}
        return cls(found[0][own], coef[own], own + 1, names, **texts).plot(**kwargs)

    def plot(
        self, ax: base.Axes | None = None, *, n_atoms: int = 30, n_shown: int = 20, **kwargs: Any
    ) -> Self:
        """Divide Axes, or those of a new figure, among the two panels.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        n_atoms, n_shown : int, default=30 and 20
            At most so many atoms, those with the largest coefficients, and so many features,
            those with the largest values.
        **kwargs :
            For `Axes.imshow`.
        """
        ax = self._start(ax)
        ax.set_axis_off()
        rows = np.sort(np.argsort(-np.abs(self.coef), kind="stable")[:n_atoms])
        weight = np.abs(self.values[rows]).sum(axis=0)
        columns = np.sort(np.argsort(-weight, kind="stable")[:n_shown])
        self._draw_heat(ax, rows, columns, kwargs)
        self._draw_bars(ax, rows)
        return self

    def _draw_heat(
        self,
        ax: base.Axes,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        options: dict[str, Any],
    ) -> None:
        heat = self.heat_ax_ = ax.inset_axes(_HEAT)
        shown = self.values[np.ix_(rows, columns)]
        limit = float(np.abs(shown).max(initial=0.0)) or 1.0
        style = {"cmap": base.diverging_colormap(), "vmin": -limit, "vmax": limit, **options}
        self.image_ = heat.imshow(shown, interpolation="nearest", **{"aspect": "auto", **style})
        self._name_features(heat, columns)
        height, letters = base.size_in_points(heat)[1], float(heat.yaxis.label.get_fontsize())
        every = -(-len(rows) // max(1, min(15, int(0.5 * height / (1.3 * letters)))))
        heat.set_yticks(np.arange(0, len(rows), every), self.numbers[rows][::every].astype(str))
        n_out = len(self.coef) - len(rows)
        ylabel = "atom, in order of entry" + (f"\nsmaller ones left out: {n_out}" if n_out else "")
        heat.set_ylabel(base.wrapped(ylabel, 0.9 * height, letters))
        name = base.wrapped(self.value_name, 0.9 * height, letters)
        self.figure_.colorbar(self.image_, cax=ax.inset_axes(_SCALE), label=name)

    def _name_features(self, heat: base.Axes, columns: NDArray[np.intp]) -> None:
        """Write the features' names, turned where they are wide, and skip some in tiny Axes."""
        width, height = base.size_in_points(heat)
        letters, n = float(heat.xaxis.label.get_fontsize()), len(columns)
        # Turned names may take some of the height, but not all.
        longest = min(20, max(6, int(0.8 * height / letters)))
        names = [base.shortened(self.names[j], longest) for j in columns]
        is_turned = 0.5 * letters * max(map(len, names)) > 0.75 * width / n
        size = min(letters, max(4.0, 0.75 * (width - 30.0) / n)) if is_turned else letters
        skip = -(-n * 7 // int(0.6 * width + 1.0))
        angle = 90 if is_turned else 0
        heat.set_xticks(np.arange(0, n, skip), names[::skip], rotation=angle, fontsize=size)
        rest = f"smaller features left out: {len(self.names) - n}" if n < len(self.names) else ""
        heat.set_xlabel(base.wrapped(rest, width, letters))

    def _draw_bars(self, ax: base.Axes, rows: NDArray[np.intp]) -> None:
        bars = self.bar_ax_ = ax.inset_axes(_BARS)
        coef = self.coef[rows]
        colors = [CLASS_COLORS[int(value > 0.0)] for value in coef]
        self.bars_ = bars.barh(np.arange(len(rows)), coef, color=colors, height=0.7)
        bars.axvline(0.0, color=base.text_color(bars), linewidth=0.8)
        bars.set(ylim=(len(rows) - 0.5, -0.5), yticks=[])
        is_narrow = base.size_in_points(bars)[0] < _NARROW
        ends = sorted({coef.min(), coef.max()}, key=abs)[-1 if is_narrow else -2 :]
        ends = [end for end in ends if abs(end) > 0.3 * np.ptp([0.0, *coef])]
        bars.set_xticks(ends, [f"{end:.3g}" for end in ends])
        bars.tick_params(axis="x", labelsize="small")
        # In short lines: the names of the features are near.
        of_class = f"\nfor label\n{base.shortened(self.class_name, 12)}" if self.class_name else ""
        bars.set_xlabel("coef." if is_narrow else "coefficient" + of_class, fontsize="small")


def has_values(model: Any) -> bool:
    """Return whether there is something to show of a model's atoms."""
    return model.n_atoms > 0 and _values(model) is not None


def _values(model: Any, X: Any = None) -> tuple[Array, str] | None:
    """Return what the rows of the heat map hold, in standardised units, and its name."""
    # Of sparse rows, too, the mean is a dense row.
    middle = None if X is None else np.asarray(X.mean(axis=0)).reshape(-1)
    found = by_family(model.dictionary, model.atoms, len(model.scale))
    values = np.zeros((model.n_atoms, len(model.scale)))
    for family, places, rows, inputs in found:
        amid = None if middle is None else middle[inputs]
        own = weights_of(family, rows, model.scale[inputs], amid)
        if own is None:
            return None
        # Numbers of several kinds have one measure only: their shares in the atom.
        total = np.abs(own).sum(axis=1, keepdims=True) if len(found) > 1 else 1.0
        values[places, inputs] = own / np.where(total == 0.0, 1.0, total)
    if len(found) > 1:
        return values, "share in the atom's direction, centre or splits"
    known = (name for kind, name in _VALUE_NAMES.items() if isinstance(found[0][0], kind))
    return values, next(known, "weight per standardised unit")
