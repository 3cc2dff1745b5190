"""Feature importances, by slopes or by permutation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.inspection import permutation_importance

from fcgboost.colors import CLASS_COLORS
from fcgboost.dictionaries import SmoothDictionary
from fcgboost.plotting import base
from fcgboost.plotting.base import Array

_SLOPES_LABEL = "share of the mean absolute slope (standardised features)"
_CHANGES_LABEL = "share of the mean absolute change when permuted"


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
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        method: Literal["slopes", "permutation"] = "slopes",
        options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the importance of the features for a classifier.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Slopes are known for classifiers of this package.
        X, y : data for permutations, or None, default=None
            Preferably held-out rows.
        method : {"slopes", "permutation"}, default="slopes"
            "slopes" draws `feature_importances_`: the mean absolute slope of the decision value
            in every standardised feature; for trees and unions, its mean absolute change when the
            feature is permuted. In a Pipeline, features are those the classifier sees.
            "permutation" is permutation importance: the drop in accuracy when a column of X is
            permuted, with the standard deviation over the permutations.
        options : dict or None, default=None
            For `sklearn.inspection.permutation_importance`: scoring, n_repeats, random_state, ...
        **kwargs :
            For `plot`.
        """
        if method not in ("slopes", "permutation"):
            raise ValueError(f"method must be 'slopes' or 'permutation', got {method!r}.")
        if method == "slopes":
            before, classifier = base.split_boosted(estimator, cls)
            names = base.feature_names(before, classifier, X)
            is_smooth = isinstance(classifier.model_.dictionary, SmoothDictionary)
            label = _SLOPES_LABEL if is_smooth else _CHANGES_LABEL
            display = cls(classifier.feature_importances_, names, xlabel=label)
        else:
            display = cls._permuted(estimator, X, y, options or {})
        return display.plot(**kwargs)

    @classmethod
    def _permuted(cls, estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Self:
        base.split(estimator, cls)
        if X is None or y is None:
            raise ValueError("method='permutation' permutes the columns of X: pass X and y.")
        found = permutation_importance(
            estimator, X, y, **{"n_repeats": 10, "random_state": 0, **options}
        )
        score = options.get("scoring") or "accuracy"
        label = f"drop in {score} when permuted (± standard deviation)"
        names, errors = base.feature_names(None, estimator, X), found.importances_std
        return cls(found.importances_mean, names, errors=errors, xlabel=label)

    def plot(self, ax: base.Axes | None = None, *, n_shown: int = 15, **kwargs: Any) -> Self:
        """Draw at most `n_shown` features into Axes or a new figure; `kwargs` for `Axes.barh`."""
        ax = self._start(ax)
        shown = np.argsort(-self.values, kind="stable")[:n_shown]
        n, places = len(shown), np.arange(len(shown))
        errors = None if self.errors is None else self.errors[shown]
        style = {"color": CLASS_COLORS[1], "ecolor": base.text_color(ax), "capsize": 2, **kwargs}
        self.bars_ = ax.barh(places, self.values[shown], xerr=errors, **style)
        letters, height = float(ax.yaxis.label.get_fontsize()), base.size_in_points(ax)[1]
        size = min(letters, max(4.0, 0.75 * height / max(1, n)))
        ax.set_yticks(places, [base.shortened(self.names[i]) for i in shown], fontsize=size)
        ax.set_ylim(n - 0.5, -0.5)
        if (self.values[shown] < 0.0).any() or errors is not None:
            ax.axvline(0.0, color=base.text_color(ax), linewidth=0.8)
        rest = (
            f"\nsmaller features left out: {len(self.values) - n}" if n < len(self.values) else ""
        )
        base.set_labels(ax, self.xlabel + rest, "")
        return self
