"""Waterfalls of the contributions of the columns to one prediction."""

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

# Letters of a name and of a value, and the size of all letters, in widths of narrow Axes.
_NAME, _CELL, _SIZE = 24, 12, 0.036


@dataclass(eq=False, repr=False)
class ContributionDisplay(base.Display):
    """A waterfall of Shapley values, from the base value to the decision value of one row.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        From the top down; the last one may be that of all columns that are not shown.
    """

    values: Array
    names: Sequence[str]
    #: The values of the row, as texts.
    cells: Sequence[str]
    base_value: float
    _: KW_ONLY
    xlabel: str = "decision value"
    #: Of positive and of negative contributions.
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
        """Explain a row of X, and draw it.

        Parameters
        ----------
        estimator : fitted classifier of this package, or Pipeline that ends in one
            In a Pipeline, what the classifier sees is drawn.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        row : int, default=0
        background : like X, or None, default=None
            As in `FCGBoostClassifier.explain`.
        class_of_interest : label or None, default=None
            None is the second of two classes, of more the predicted one.
        **kwargs :
            For `plot`.
        """
        before, classifier = base.split_boosted(estimator, cls)
        rows, names = _one_row(X, row), base.feature_names(before, classifier, X)
        if before is not None:
            rows = before.transform(rows)
            background = None if background is None else before.transform(background)
        found = replace(classifier.explain(rows, background=background), feature_names=names)
        options = {"classes": classifier.classes_, "class_of_interest": class_of_interest}
        return cls.from_explanation(found, **options, **kwargs)

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
        """Draw a row that was explained; `classes` are `classes_`, or None for 0, 1, ..."""
        cells, is_pair = cells_of(explanation, row), explanation.values.ndim == 2
        n_classes = 2 if is_pair else explanation.values.shape[2]
        known = np.arange(n_classes) if classes is None else np.asarray(classes)
        totals = explanation.base_values[row] + explanation.values[row].sum(axis=0)
        code = 1 if is_pair else int(totals.argmax())
        if class_of_interest is not None:
            code = base.class_code(known, class_of_interest)
        values, bases = explanation.towards(code)
        label = f"decision value for {base.label_name(known[code])}"
        colors = base.class_colors(n_classes)[code], CLASS_COLORS[1 - code] if is_pair else GREY
        display = cls(values[row], explanation.feature_names, cells, float(bases[row]))
        display.xlabel, display.colors = label, colors
        return display.plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, *, n_shown: int = 10, **kwargs: Any) -> Self:
        """Draw at most `n_shown` columns and one bar for the others; `kwargs` for `Axes.barh`."""
        ax = self._start(ax)
        # Columns that the model leaves out add nothing.
        order = np.argsort(-np.abs(self.values), kind="stable")
        order = order[: np.count_nonzero(self.values) or None]
        shown, rest = order[:n_shown], order[n_shown:]
        pairs = ((base.shortened(self.names[i], _NAME), self.cells[i]) for i in shown)
        labels = [f"{name} = {base.shortened(cell, _CELL)}" for name, cell in pairs]
        steps = self.values[shown]
        if len(rest):
            steps = np.append(steps, self.values[rest].sum())
            labels.append(f"{len(rest):,} other column{'s' * (len(rest) > 1)}")
        (width, height), letters = base.size_in_points(ax), float(ax.yaxis.label.get_fontsize())
        size = min(letters, max(4.0, 0.75 * height / len(steps)), max(7.0, _SIZE * width))
        ax.set_yticks(np.arange(len(steps)), labels, fontsize=size)
        ax.set_ylim(len(steps) - 0.5, -0.5)
        self._draw_bars(ax, steps, size, kwargs)
        ax.set_xlabel(base.wrapped(self.xlabel, 0.5 * width, letters))
        base.legend_below(ax, ncols=1)
        return self

    def _draw_bars(self, ax: base.Axes, steps: Array, size: float, options: dict[str, Any]) -> None:
        """Draw the bars with their numbers, and lines between them."""
        text, places, ends = base.text_color(ax), np.arange(len(steps)), np.cumsum(steps)
        ends += self.base_value
        colors = [self.colors[int(step < 0.0)] for step in steps]
        self.bars_ = ax.barh(places, steps, **{"left": ends - steps, "color": colors, **options})
        ax.vlines(ends[:-1], places[:-1] - 0.4, places[1:] + 0.4, color=text, linewidth=0.8)
        paper = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
        style: dict[str, Any] = {"padding": 2, "fontsize": size, "color": text, "bbox": paper}
        ax.bar_label(self.bars_, [_number(step, "+.2g") for step in steps], **style)
        marks = (("base value", self.base_value, ":"), ("decision value", ends[-1], "--"))
        for name, value, line in marks:
            label, style = f"{name}: {_number(value)}", {"linestyle": line, "linewidth": 1.0}
            ax.axvline(value, color=text, label=label, zorder=0.5, **style)
        # Names take half of the width, and numbers beside the bars some sizes of their letters.
        points, width = [*ends, self.base_value], 0.55 * base.size_in_points(ax)[0]
        room = 3.3 * size / max(width - 6.6 * size, 0.4 * width) * (np.ptp(points) or 1.0)
        ax.set_xlim(min(points) - room, max(points) + room)


def cells_of(explanation: Explanation, row: int) -> list[str]:
    """Return the values of a row as texts, in the order of the feature names."""
    names, X = explanation.feature_names, explanation.data
    columns = open_table(host(_one_row(X, row)), 1).columns
    found = dict(zip(names, columns.values(), strict=False)) | columns
    return [_text(np.asarray(found[name])[0]) for name in names]


def _one_row(X: Any, row: int) -> Any:
    X = X.tocsr() if sparse.issparse(X) else as_array(X)
    if not 0 <= row < X.shape[0]:
        raise ValueError(f"row={row}: there are {X.shape[0]} rows, which count from 0.")
    return getattr(X, "iloc", X)[row : row + 1]  # pandas' data frames take labels, not places


def _text(cell: Any) -> str:
    if isinstance(cell, Real) and not is_missing(cell):
        return _number(float(cell), ".4g")
    return "missing" if is_missing(cell) else text_of(cell).removesuffix(" 00:00:00")


def _number(value: float, style: str = ".3g") -> str:
    style = style if abs(value) < 1e3 or abs(value) >= 1e9 else ",.0f"
    return f"{value + 0.0:{style}}".replace("-", "\N{MINUS SIGN}")
