"""Which features a classifier listens to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.inspection import permutation_importance

from fcgboost.dictionaries import SmoothDictionary
from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    CLASS_COLORS,
    Array,
    Display,
    check_matplotlib,
    ink,
    more_features,
    room,
    set_labels,
    tick_size,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SLOPES_LABEL = "share of the model's slope (standardised features)"
_CHANGES_LABEL = "share of the model's changes with the feature"


class FeatureInfluenceDisplay(Display):
    """How much every feature matters, the largest on top.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
    names : sequence of str
    errors : ndarray of shape (n_features,) or None, default=None
        Half the length of an error bar.
    xlabel : str, default="influence"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        From the top down.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.plotting import FeatureInfluenceDisplay
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier("relu", random_state=0).fit(X, y)
    >>> display = FeatureInfluenceDisplay.from_estimator(clf)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['feature 2', 'feature 1']
    """

    bars_: Any

    def __init__(
        self,
        values: Array,
        names: Sequence[str],
        *,
        errors: Array | None = None,
        xlabel: str = "influence",
    ) -> None:
        self.values = values
        self.names = names
        self.errors = errors
        self.xlabel = xlabel

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        method: Literal["slopes", "permutation"] = "slopes",
        n_shown: int = 15,
        options: dict[str, Any] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the influence of the features on a classifier.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Slopes are known for classifiers of this package.
        X, y : data for permutations, or None, default=None
            Best data that the fit has not seen.
        method : {"slopes", "permutation"}, default="slopes"
            The mean size of the slope in every standardised feature, of trees and unions that of
            the change where it has another row's value (`feature_importances_`; in a Pipeline, of
            what the classifier sees), or what the accuracy loses when a column of X
            is shuffled, with the standard deviation over the shuffles.
        n_shown : int, default=15
            How many features to draw.
        options : dict or None, default=None
            For `sklearn.inspection.permutation_importance`: scoring, n_repeats, random_state, ...
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.barh`.

        Returns
        -------
        FeatureInfluenceDisplay
        """
        check_matplotlib(cls.__name__)
        if method == "slopes":
            before, classifier = fitted.split_boosted(estimator, cls)
            names = fitted.feature_names(before, classifier, X)
            is_smooth = isinstance(classifier.model_.dictionary, SmoothDictionary)
            label = _SLOPES_LABEL if is_smooth else _CHANGES_LABEL
            display = cls(classifier.feature_importances_, names, xlabel=label)
        elif method == "permutation":
            display = cls._permuted(estimator, X, y, options or {})
        else:
            raise ValueError(f"method must be 'slopes' or 'permutation', got {method!r}.")
        return display.plot(ax, n_shown=n_shown, **kwargs)

    @classmethod
    def _permuted(cls, estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Self:
        fitted.split(estimator)
        if X is None or y is None:
            raise ValueError("method='permutation' shuffles the columns of X: pass X and y.")
        options = {"n_repeats": 10, "random_state": 0, **options}
        found = permutation_importance(estimator, X, y, **options)
        names = getattr(X, "columns", [f"feature {i}" for i in range(1, np.shape(X)[1] + 1)])
        score = options.get("scoring") or "accuracy"
        label = f"loss of {score} when shuffled (± standard deviation)"
        errors = found.importances_std
        return cls(found.importances_mean, [str(n) for n in names], errors=errors, xlabel=label)

    def plot(self, ax: Axes | None = None, *, n_shown: int = 15, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        n_shown : int, default=15
            How many features to draw.
        **kwargs :
            For `Axes.barh`.

        Returns
        -------
        FeatureInfluenceDisplay
        """
        ax = self._take(ax)
        shown = np.argsort(-self.values, kind="stable")[:n_shown]
        names = [shortened(self.names[i]) for i in shown]
        errors = None if self.errors is None else self.errors[shown]
        style = {"color": CLASS_COLORS[1], "ecolor": ink(ax), "capsize": 2, **kwargs}
        places = np.arange(len(shown))
        self.bars_ = ax.barh(places, self.values[shown], xerr=errors, **style)
        ax.set_yticks(places, names, fontsize=tick_size(len(shown), room(ax)[1]))
        ax.set_ylim(len(shown) - 0.5, -0.5)
        if (self.values[shown] < 0.0).any() or errors is not None:
            ax.axvline(0.0, color=ink(ax), linewidth=0.8)
        n_left = len(self.values) - len(shown)
        rest = f"\n{more_features(n_left)}" if n_left else ""
        set_labels(ax, self.xlabel + rest, "")
        return self


def shortened(name: str, length: int = 28) -> str:
    """Give a name that fits in a line beside the Axes."""
    name = " ".join(name.split())
    return name if len(name) <= length else name[: length - 1] + "…"
