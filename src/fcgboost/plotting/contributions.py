"""Waterfalls of the contributions of the columns to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

from fcgboost.arrays import Rows, to_numpy
from fcgboost.colors import CLASS_COLORS, GREY
from fcgboost.explanation import Explanation
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.tables.cells import is_missing, text_of
from fcgboost.tables.opening import as_array, is_frame, open_table
from fcgboost.wording import count, number, shortened

# How many letters of a name and of a value are shown.
_NAME = 24
_CELL = 12


@dataclass(eq=False, repr=False)
class ContributionDisplay(base.Display):
    """A waterfall of Shapley values, from the base value to the decision value of one row.

    Of a regressor that is the prediction before the inverse link of its loss.

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
        estimator: BaseEstimator,
        X: ArrayLike,
        *,
        row: int = 0,
        background: ArrayLike | None = None,
        class_of_interest: object = None,
        **kwargs: Any,
    ) -> Self:
        """Explain a row of X, and draw it.

        Parameters
        ----------
        estimator : fitted classifier or regressor of this package
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        row : int, default=0
        background : like X, or None, default=None
            As in `FCGBoostClassifier.explain`.
        class_of_interest : label or None, default=None
            None is the second of two classes, of more the predicted one.
        **kwargs :
            For `plot`.
        """
        model = cls._check_boosted(estimator)
        names = base.feature_names(model, X)
        explanation = model.explain(_one_row(X, row), background=background)
        if not is_classifier(model):
            display = cls(
                explanation.values[0],
                names,
                cells_of(explanation, 0),
                float(explanation.base_values[0]),
                xlabel="prediction",
            )
            return display.plot(**kwargs)
        return cls.from_explanation(
            replace(explanation, feature_names=names),
            classes=model.classes_,
            class_of_interest=class_of_interest,
            **kwargs,
        )

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        row: int = 0,
        classes: ArrayLike | None = None,
        class_of_interest: object = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a row that was explained; `classes` are `classes_`, or None for 0, 1, ..."""
        cells = cells_of(explanation, row)
        is_pair = explanation.values.ndim == 2
        n_classes = 2 if is_pair else explanation.values.shape[2]
        names = np.arange(n_classes) if classes is None else np.asarray(classes)
        totals = explanation.base_values[row] + explanation.values[row].sum(axis=0)
        code = 1 if is_pair else int(totals.argmax())
        if class_of_interest is not None:
            code = base.class_code(names, class_of_interest)
        values, base_values = explanation.towards(code)
        display = cls(
            values[row],
            explanation.feature_names,
            cells,
            float(base_values[row]),
            xlabel=f"decision value for {base.label_name(names[code])}",
        )
        other = CLASS_COLORS[1 - code] if is_pair else GREY
        display.colors = (base.class_colors(n_classes)[code], other)
        return display.plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, *, n_shown: int = 10, **kwargs: Any) -> Self:
        """Draw at most `n_shown` columns and one bar for the others; `kwargs` for `Axes.barh`."""
        ax = self._start(ax)
        # Columns that the model leaves out add nothing.
        order = np.argsort(-np.abs(self.values), kind="stable")
        order = order[: np.count_nonzero(self.values) or None]
        shown = order[:n_shown]
        rest = order[n_shown:]
        steps = self.values[shown]
        labels = [
            f"{shortened(self.names[i], _NAME)} = {shortened(self.cells[i], _CELL)}" for i in shown
        ]
        if len(rest):
            steps = np.append(steps, self.values[rest].sum())
            labels.append(count(len(rest), "other column"))
        size = base.name_bars(ax, labels)
        text = base.text_color(ax)
        bars = np.arange(len(steps))
        ends = self.base_value + np.cumsum(steps)
        colors = [self.colors[int(step < 0.0)] for step in steps]
        self.bars_ = ax.barh(bars, steps, **{"left": ends - steps, "color": colors, **kwargs})
        ax.vlines(
            ends[:-1],
            bars[:-1] - 0.4,
            bars[1:] + 0.4,
            color=text,
            linewidth=0.8,
        )
        ax.bar_label(
            self.bars_,
            list(map(signed, steps)),
            padding=2,
            fontsize=size,
            color=text,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5},
        )
        self._draw_ends(ax)
        base.legend_below(ax, ncols=1)
        return self

    def _draw_ends(self, ax: base.Axes) -> None:
        """Draw where the bars begin and end."""
        for name, value, line in (
            ("base value", self.base_value, ":"),
            (self.xlabel.partition(" for ")[0], self.decision_value, "--"),
        ):
            ax.axvline(
                value,
                color=base.text_color(ax),
                label=f"{name}: {number(float(f'{value:.3g}'))}",
                zorder=0.5,
                linestyle=line,
                linewidth=1.0,
            )
        # Numbers stand next to the bars, and names take half of the width.
        ax.use_sticky_edges = False
        ax.margins(x=0.3)
        width = 0.5 * base.size_in_points(ax)[0]
        ax.set_xlabel(base.wrapped(self.xlabel, width, base.label_size(ax)))


def signed(value: float) -> str:
    """Return two digits of a contribution, with its sign."""
    text = number(float(f"{value:.2g}"))
    return f"+{text}" if value >= 0.0 else text


def cells_of(explanation: Explanation, row: int) -> list[str]:
    """Return the values of a row as texts, in the order of the feature names."""
    cells = _one_row(explanation.data, row)
    columns = columns_of(cells, explanation.feature_names)
    return [_text(column[0]) for column in columns]


def columns_of(rows: Rows, names: Sequence[str]) -> list[base.Labels]:
    """Return the columns of rows that were explained, in the order of the feature names."""
    # A frame stays one: its columns are found by name, in whichever order it has them.
    if not is_frame(rows):
        rows = to_numpy(rows)
    columns = open_table(rows, 1).columns
    by_name = dict(zip(names, columns.values(), strict=False)) | columns
    return [np.asarray(by_name[name]) for name in names]


def _one_row(X: Rows, row: int) -> Rows:
    rows: Rows = X.tocsr() if sparse.issparse(X) else as_array(X)
    if not 0 <= row < rows.shape[0]:
        raise ValueError(f"row={row}: there are {rows.shape[0]} rows, which count from 0.")
    if hasattr(rows, "iloc"):  # pandas' data frames take labels, not positions
        rows = rows.iloc
    return rows[row : row + 1]


def _text(cell: object) -> str:
    if is_missing(cell):
        return "missing"
    if isinstance(cell, Real):
        return number(float(cell))
    return text_of(cell).removesuffix(" 00:00:00")
