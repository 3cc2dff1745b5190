"""Which columns matter: feature importances as bars, Shapley values of many rows as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from fcgboost.colors import CLASS_COLORS
from fcgboost.dictionaries import SmoothDictionary
from fcgboost.explanation import Explanation
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.plotting.contributions import columns_of
from fcgboost.prediction import BaseFCGBoost
from fcgboost.wording import shortened

_LONGEST_NAME = 28


@dataclass(eq=False, repr=False)
class FeatureInfluenceDisplay(base.Display):
    """Feature importances as bars, the largest on top.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        From the top down.
    """

    values: Array
    names: Sequence[str]
    _: KW_ONLY
    #: Half the lengths of error bars.
    errors: Array | None = None
    xlabel: str = "influence"

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: ArrayLike | None = None, **kwargs: Any
    ) -> Self:
        """Draw the importance of the features for a classifier.

        `feature_importances_` is drawn: the mean absolute slope of the decision value in every
        standardised feature; for trees and unions, its mean absolute change when the feature is
        permuted. scikit-learn's `permutation_importance` can be drawn by the class itself.

        Parameters
        ----------
        estimator : fitted classifier of this package
        X : data frame or None, default=None
            Its columns name the features of a classifier that has seen no names.
        **kwargs :
            For `plot`.
        """
        classifier = cls._check_boosted(estimator)
        names = base.feature_names(classifier, X)
        xlabel = f"share of {meaning_of_influence(classifier)}"
        return cls(classifier.feature_importances_, names, xlabel=xlabel).plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, *, n_shown: int = 15, **kwargs: Any) -> Self:
        """Draw at most `n_shown` features into Axes or a new figure; `kwargs` for `Axes.barh`."""
        ax = self._start(ax)
        shown = np.argsort(-self.values, kind="stable")[:n_shown]
        values = self.values[shown]
        errors = None if self.errors is None else self.errors[shown]
        style = {"color": CLASS_COLORS[1], "ecolor": base.text_color(ax), "capsize": 2, **kwargs}
        self.bars_ = ax.barh(
            np.arange(len(shown)),
            values,
            xerr=errors,
            **style,
        )
        base.name_bars(ax, [shortened(self.names[i], _LONGEST_NAME) for i in shown])
        if (values < 0.0).any() or errors is not None:
            ax.axvline(0.0, color=base.text_color(ax), linewidth=0.8)
        n_left = len(self.values) - len(shown)
        rest = f"\nsmaller features left out: {n_left}" if n_left else ""
        base.set_labels(ax, self.xlabel + rest, "")
        return self


@dataclass(eq=False, repr=False)
class SummaryDisplay(base.Display):
    """Shapley values of many rows: one point per row and column, the largest columns on top.

    Low values of a column are blue, high ones red; gaps, text and dates are grey.

    Attributes
    ----------
    points_ : matplotlib PathCollection
        Row by row, and within a row from the top down.
    """

    values: Array
    names: list[str]
    #: Where each value lies among those of its column, from 0 to 1; 0.5 without an order.
    levels: Array

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        code: int = 1,
        ax: base.Axes | None = None,
    ) -> Self:
        """Draw rows that `FCGBoostClassifier.explain` explained.

        `code` is the position in `classes_` of the class that positive values speak for.
        """
        names = explanation.feature_names
        values, _ = explanation.towards(code)
        columns = columns_of(explanation.data, names)
        levels = np.column_stack([levels_of(column) for column in columns])
        return cls(values, names, levels).plot(ax)

    def plot(self, ax: base.Axes | None = None, *, n_shown: int = 12) -> Self:
        """Draw at most `n_shown` columns into Axes or a new figure."""
        ax = self._start(ax)
        sizes = np.abs(self.values).mean(axis=0)
        order = np.argsort(-sizes)[:n_shown]
        shown = self.values[:, order]
        # The points of a column are spread in the order of the rows.
        heights = np.linspace(-0.3, 0.3, len(shown))
        lines = np.arange(len(order)) + heights[:, None]
        levels = self.levels[:, order]
        self.points_ = ax.scatter(
            shown,
            lines,
            c=levels,
            cmap="coolwarm",
        )
        color = base.text_color(ax)
        ax.axvline(0.0, color=color)
        names = [shortened(self.names[j], _LONGEST_NAME) for j in order]
        base.name_bars(ax, names)
        xlabel = "Shapley value\n(where the column is low: blue, high: red)"
        base.set_labels(ax, xlabel, "")
        return self


def meaning_of_influence(classifier: BaseFCGBoost) -> str:
    """Say what `feature_importances_` are shares of."""
    dictionaries = [member.model.dictionary for member in classifier.members_]
    if all(isinstance(dictionary, SmoothDictionary) for dictionary in dictionaries):
        return "the mean absolute slope of the decision value, in standardised units"
    return "the mean absolute change of the decision value when the column is permuted"


def levels_of(column: base.Labels) -> Array:
    """Return where each value lies among those of its column; 0.5 for gaps, text and dates."""
    n_rows = len(column)
    if column.dtype.kind not in "biuf":
        return np.full(n_rows, 0.5)
    ranks: Array = rankdata(column, nan_policy="omit")
    return np.nan_to_num(ranks / n_rows, nan=0.5)
