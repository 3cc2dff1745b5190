"""What the columns of one row add to its decision value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from fcgboost.arrays import host
from fcgboost.colors import CLASS_COLORS, GREY
from fcgboost.explanation import Explanation
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.tables.cells import is_missing, text_of
from fcgboost.tables.encoder import as_array, open_table

# The share of the width that names may have, the room of a number beside a bar in sizes of its
# letters, and the largest share of the bars' width that it may have.
_NAMES, _ROOM, _MOST_ROOM = 0.5, 3.5, 0.3
# In narrow Axes letters are this share of the width.
_SMALLER = 0.037


@dataclass(eq=False, repr=False)
class ContributionDisplay(base.Display):
    """A waterfall from the base value to the decision value of a row, the largest steps on top.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        From the top down; the last one is that of all columns without a bar of their own.
    """

    values: Array
    names: Sequence[str]
    #: The values of the row, as texts.
    cells: Sequence[str]
    base_value: float
    _: KW_ONLY
    xlabel: str = "decision value"
    #: What bars to the right and to the left speak for, and their colours.
    sides: tuple[str, str] = ("for", "against")
    colors: tuple[str, str] = (CLASS_COLORS[1], CLASS_COLORS[0])

    @property
    def decision_value(self) -> float:
        """The base value and all contributions."""
        return float(self.base_value + self.values.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        background: Any = None,
        class_of_interest: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Explain one row, and draw it.

        Parameters
        ----------
        estimator : fitted classifier of this package, or Pipeline that ends in one
            In a Pipeline, what the classifier sees is drawn.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        row : int, default=0
            Its place in X.
        background : like X, or None, default=None
            As in `FCGBoostClassifier.explain`.
        class_of_interest : label or None, default=None
            None is the second of two classes, of more the predicted one.
        **kwargs :
            For `plot`.
        """
        before, classifier = base.split_boosted(estimator, cls)
        X = as_array(X)
        _check_row(row, X.shape[0])
        names, some = base.feature_names(before, classifier, X), _one_row(X, row)
        if before is not None:
            some = before.transform(some)
            background = None if background is None else before.transform(background)
        found = classifier.explain(some, background=background)
        options = {"classes": classifier.classes_, "class_of_interest": class_of_interest, **kwargs}
        return cls.from_explanation(replace(found, feature_names=names), **options)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        row: int = 0,
        classes: ArrayLike | None = None,
        class_of_interest: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a row that was explained.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=0
            Its place among the rows of the explanation.
        classes : array-like of shape (n_classes,) or None, default=None
            The classifier's `classes_`; None is 0, 1, ...
        class_of_interest : label or None, default=None
            None is the second of two classes, of more the predicted one.
        **kwargs :
            For `plot`.
        """
        _check_row(row, len(explanation.values))
        values, base_value = explanation.values[row], explanation.base_values[row]
        is_pair = values.ndim == 1
        known = np.arange(2 if is_pair else values.shape[1]) if classes is None else classes
        known, code = (
            np.asarray(known),
            1 if is_pair else int((base_value + values.sum(0)).argmax()),
        )
        if class_of_interest is not None:
            code = base.class_code(known, class_of_interest)
        name, rival = base.label_name(known[code]), f"against {base.label_name(known[code])}"
        colors = base.class_colors(len(known))[code], GREY
        if is_pair:
            sign, other = 2 * code - 1, 1 - code
            values, base_value = sign * values, sign * base_value
            rival, colors = f"for {base.label_name(known[other])}", (colors[0], CLASS_COLORS[other])
        else:
            values, base_value = values[:, code], base_value[code]
        names, cells = explanation.feature_names, _cells(explanation, row)
        style: dict[str, Any] = {"sides": (f"for {name}", rival), "colors": colors}
        label = f"decision value for {name}"
        return cls(values, names, cells, float(base_value), xlabel=label, **style).plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, *, n_shown: int = 10, **kwargs: Any) -> Self:
        """Draw at most `n_shown` columns, and one bar for the others, into Axes or a new figure.

        `kwargs` are for `Axes.barh`.
        """
        ax = self._start(ax)
        letters, (width, height) = float(ax.yaxis.label.get_fontsize()), base.size_in_points(ax)
        order = np.argsort(-np.abs(self.values), kind="stable")
        shown, rest = order[:n_shown], order[n_shown:]
        steps = self.values[shown]
        if len(rest):
            steps = np.append(steps, self.values[rest].sum())
        size = min(letters, max(4.0, 0.75 * height / len(steps)), max(7.0, _SMALLER * width))
        labels = [self._label(i, base.n_letters(_NAMES * width, size)) for i in shown]
        if len(rest):
            labels.append(f"{len(rest):,} other column{'s' if len(rest) > 1 else ''}")
        ax.set_yticks(np.arange(len(steps)), labels, fontsize=size)
        self._draw_bars(ax, steps, size, kwargs)
        ax.set_ylim(len(steps) - 0.5, -0.5)
        ax.set_xlabel(base.wrapped(self.xlabel, (1.0 - _NAMES) * width, letters))
        base.legend_below(ax, ncols=2)
        return self

    def _label(self, i: int, n_letters: int) -> str:
        """Name a column and its value, the name shortened where both are long."""
        cell = base.shortened(self.cells[i], max(6, n_letters // 2))
        return f"{base.shortened(self.names[i], max(6, n_letters - len(cell) - 3))} = {cell}"

    def _draw_bars(self, ax: base.Axes, steps: Array, size: float, options: dict[str, Any]) -> None:
        """Draw the bars with their numbers, and the values where they begin and end."""
        text, places = base.text_color(ax), np.arange(len(steps))
        ends = self.base_value + np.cumsum(steps)
        colors = [self.colors[int(step < 0.0)] for step in steps]
        self.bars_ = ax.barh(places, steps, **{"left": ends - steps, "color": colors, **options})
        ax.vlines(ends[:-1], places[:-1] - 0.4, places[1:] + 0.4, color=text, linewidth=0.8)
        digits = _digits(np.append(steps, [self.base_value, self.decision_value]))
        style: dict[str, Any] = {"padding": 2, "fontsize": size, "color": text}
        style["bbox"] = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
        ax.bar_label(self.bars_, [_written(step, digits, "+") for step in steps], **style)
        for value, name, line in (
            (self.base_value, "base value", ":"),
            (self.decision_value, "decision value", "--"),
        ):
            label = f"{name}: {_written(value, digits)}"
            ax.axvline(value, color=text, linestyle=line, linewidth=1.0, zorder=0.5, label=label)
        for side, color in zip(self.sides, self.colors, strict=True):
            ax.plot([], [], "s", color=color, label=base.shortened(side))
        points = np.append(ends, self.base_value)
        share = min(_MOST_ROOM, _ROOM * size / ((1.0 - _NAMES) * base.size_in_points(ax)[0]))
        room = share / (1.0 - 2.0 * share) * (np.ptp(points) or 1.0)
        ax.set_xlim(points.min() - room, points.max() + room)


def _check_row(row: int, n_rows: int) -> None:
    if not 0 <= row < n_rows:
        raise ValueError(f"row={row}: there are {n_rows} rows, which count from 0.")


def _one_row(X: Any, row: int) -> Any:
    X = X.tocsr() if sparse.issparse(X) else X
    return getattr(X, "iloc", X)[row : row + 1]  # pandas' data frames take labels, not places


def _cells(explanation: Explanation, row: int) -> list[str]:
    """Return the values of a row as texts."""
    names = explanation.feature_names
    columns = open_table(host(_one_row(as_array(explanation.data), row)), 1).columns
    # By their names where these are known, else by their places.
    found = dict(zip(names, columns.values(), strict=False)) | columns
    return [_text(np.asarray(found[name])[0]) for name in names]


def _text(cell: Any) -> str:
    if is_missing(cell):
        return "missing"
    is_number = isinstance(cell, Real) and not isinstance(cell, bool)
    return f"{float(cell):.5g}" if is_number else text_of(cell).removesuffix(" 00:00:00")


def _digits(values: Array) -> int:
    """Return how many decimals the largest of some values has with three digits."""
    largest = float(np.abs(values).max())
    return 2 if largest == 0.0 else min(9, max(0, 2 - int(np.floor(np.log10(largest)))))


def _written(value: float, digits: int, sign: str = "") -> str:
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}".replace("-", "\N{MINUS SIGN}")
