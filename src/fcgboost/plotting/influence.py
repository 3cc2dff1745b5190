"""Feature importances as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from fcgboost.colors import CLASS_COLORS
from fcgboost.dictionaries import SmoothDictionary
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
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


def meaning_of_influence(classifier: BaseFCGBoost) -> str:
    """Say what `feature_importances_` are shares of."""
    dictionaries = [member.model.dictionary for member in classifier.members_]
    if all(isinstance(dictionary, SmoothDictionary) for dictionary in dictionaries):
        return "the mean absolute slope of the decision value, in standardised units"
    return "the mean absolute change of the decision value when the column is permuted"
