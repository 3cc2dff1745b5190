"""Classes and probabilities of decision values, and scores of steps on validation data."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer

from fcgboost.arrays import beside, is_tensor
from fcgboost.calibration import PowerLink
from fcgboost.losses import Loss, ProbabilityLoss, class_probabilities
from fcgboost.training.checks import Array, make_part, named_metrics, to_host
from fcgboost.training.dataset import DataSet, counts_of

# The weight of the squared hinge relative to the accuracy, in a preset.
_LOSS_SHARE = 0.5


def winners(decision: Any, classes: NDArray[Any], X: Any = None) -> Any:
    """Return the predicted classes; for a tensor X and numeric classes, a tensor on its device."""
    codes = (decision > 0.0) * 1 if decision.ndim == 1 else decision.argmax(1)
    if is_tensor(X) and classes.dtype.kind in "biuf":
        return beside(classes, X)[beside(codes, X)]
    return classes[to_host(codes)]


def probabilities_of(loss: Any, link: PowerLink | None, decision: Any) -> Any:
    """Return class probabilities by the link if there is one, else by the formula of the loss."""
    return class_probabilities(loss, decision) if link is None else link.probabilities(decision)


def has_probability(estimator: Any) -> bool:
    """Return True if the loss or the link has probabilities; else raise an AttributeError."""
    loss = vars(estimator).get("_loss_", estimator.loss)
    link = vars(estimator).get("link_", vars(estimator).get("link") == "power")
    if link or isinstance(make_part("loss", loss), ProbabilityLoss):
        return True
    raise AttributeError(
        f"loss={loss!r} has no probabilities, so there is no predict_proba. Use "
        "loss='squared_hinge', or link='power', which fits them to held-out rows."
    )


class PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with precomputed decision values, for scikit-learn's scorers."""

    def __init__(
        self, loss: Any, classes: Any = None, decision: Any = None, link: Any = None
    ) -> None:
        self.loss, self.classes_, self.decision, self.link = loss, classes, decision, link

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def decision_function(self, X: Any) -> Any:
        return self.decision

    def predict(self, X: Any) -> Any:
        return winners(self.decision, self.classes_)

    def predict_proba(self, X: Any) -> Any:
        if self.link is None:
            has_probability(self)
        return probabilities_of(self.loss, self.link, self.decision)


def precomputed(classifier: Any, decision: Any) -> PrecomputedClassifier:
    """Return a stand-in for a fitted classifier, given its decision values."""
    loss, link = classifier._loss_, classifier.link_
    return PrecomputedClassifier(loss, classifier.classes_, decision, link)


class Metric:
    """A score by scikit-learn's name or a function; NaN if a class it needs is missing."""

    def __init__(self, scoring: Any) -> None:
        self._scoring, self._scorer, self._is_own = scoring, get_scorer(scoring), callable(scoring)
        # A function need not accept weights, even wrapped in a scorer.
        function = getattr(scoring, "_score_func", self._scorer)
        given = inspect.signature(function).parameters.values()
        self._has_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in given)

    def __call__(self, found: Any, X: Any, y: Any, weights: Array | None = None) -> float:
        options = {} if weights is None or not self._has_weights else {"sample_weight": weights}
        with warnings.catch_warnings():
            # Early steps may predict a single class.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            try:
                return float(self._scorer(found, X, y, **options))
            except (TypeError, ValueError) as error:
                if not self._is_own and len(np.unique(y)) < len(found.classes_):
                    return float("nan")
                raise ValueError(f"{self._scoring!r} cannot score these rows: {error}") from error

    def at(
        self, data: DataSet, loss: Loss, classes: NDArray[Any], link: PowerLink | None = None
    ) -> Callable[[Array], float]:
        """Return the score as a function of decision values; users' functions get the raw rows."""
        rows = (data.written if self._is_own else None) or data
        places = slice(None) if rows is data else data.positions
        y, output = classes[rows.codes], 0 if len(classes) == 2 else slice(None)

        def score(decision: Array) -> float:
            found = PrecomputedClassifier(loss, classes, decision[places][:, output], link)
            return self(found, rows.X, y, rows.weights)

        return score


def check_metrics(metrics: Any, loss: Loss, link: Any) -> dict[str, Any]:
    """Return scores by name; raise a ValueError for an invalid one."""
    for scoring in (named := named_metrics(metrics)).values():
        Metric(scoring)
        check_score(scoring, loss, has_link=link == "power")
    return named


def check_score(scoring: Any, loss: Loss, has_link: bool = False) -> None:
    """Raise a ValueError for an invalid score, or one that needs missing probabilities."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring must be one score, got {scoring!r}.")
    scorer = check_scoring(PrecomputedClassifier(loss), scoring=scoring)
    if isinstance(scoring, str) and not (has_link or isinstance(loss, ProbabilityLoss)):
        # A score that needs probabilities fails here, not at the first step.
        two = PrecomputedClassifier(loss, np.array([0, 1]), np.array([-0.5, 0.5]))
        scorer(two, [[0.0], [1.0]], [0, 1])


def make_targets(codes: NDArray[np.intp], n_classes: int) -> list[Array]:
    """Return targets -1 and +1 for each output: one for two classes, else one per class."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == positive, 1.0, -1.0) for positive in positives]


def make_score(
    scoring: Any, is_steadied: bool, loss: Loss, classes: NDArray[Any], data: DataSet
) -> Callable[[Array], float]:
    """Return a function from decision values on validation data to a score.

    Without `scoring` it is the accuracy, if `is_steadied` minus half the squared hinge: the
    accuracy of a few hundred rows alone is too coarse to choose by.
    """
    if scoring is not None:
        score = Metric(scoring).at(data, loss, classes)

        def score_by(decision: Array) -> float:
            if np.isnan(value := score(decision)):
                raise ValueError(
                    f"scoring={scoring!r} is NaN on the validation data: check that every class "
                    "occurs there."
                )
            return value

        return score_by
    units = counts_of(data.weights)
    shares, total = data.weights / data.weights.sum(), float(units.sum())
    sums = make_sums(data.codes, len(classes), units, shares if is_steadied else None)
    return lambda decision: steadied(sums(decision), total, 1.0)


def make_sums(
    codes: NDArray[np.intp], n_classes: int, units: Array, shares: Array | None
) -> Callable[[Array], Array]:
    """Return a function from decision values to the weighted hits and squared hinge.

    Units weigh the hits, shares the losses (0 if None). Sums over parts of the rows add up.
    """
    targets = np.column_stack(make_targets(codes, n_classes))

    def sums(decision: Array) -> Array:
        found = decision[:, 0] > 0.0 if n_classes == 2 else decision.argmax(1)
        hits = units @ (found == codes)
        if shares is None:
            return np.array([hits, 0.0])
        gaps = 1.0 - targets * decision
        gaps *= gaps > 0.0
        return np.array([hits, np.add.reduce(shares @ (gaps * gaps)) / targets.shape[1]])

    return sums


def steadied(sums: Array, units: float, shares: float) -> float:
    """Return the accuracy minus a share of the loss, given the sums of units and shares."""
    return float(sums[0]) / units - _LOSS_SHARE * (float(sums[1]) / shares)
