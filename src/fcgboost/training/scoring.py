"""What decision values say (classes, probabilities), and the score of a step on validation data."""

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

# What a unit of the squared hinge counts beside the accuracy of a preset.
_LOSS_SHARE = 0.5


def winners(decision: Any, classes: NDArray[Any], X: Any = None) -> Any:
    """Return the class every row of decision values stands for.

    For a tensor X the labels are a tensor on its device, but a NumPy array if they are no numbers.
    """
    codes = (decision > 0.0) * 1 if decision.ndim == 1 else decision.argmax(1)
    if is_tensor(X) and classes.dtype.kind in "biuf":
        return beside(classes, X)[beside(codes, X)]
    return classes[to_host(codes)]


def probabilities_of(loss: Any, link: PowerLink | None, decision: Any) -> Any:
    """Return class probabilities by a link, or by the formula of a loss where there is none."""
    return class_probabilities(loss, decision) if link is None else link.probabilities(decision)


def has_probability(estimator: Any) -> bool:
    """Whether the loss or the link determines probabilities; else raise an AttributeError."""
    loss = vars(estimator).get("_loss_", estimator.loss)
    link = vars(estimator).get("link_", vars(estimator).get("link") == "power")
    if link or isinstance(make_part("loss", loss), ProbabilityLoss):
        return True
    raise AttributeError(
        f"loss={loss!r} determines a class but no probability, so there is no "
        "predict_proba. Use loss='squared_hinge', or link='power', which fits one to validation "
        "data once the model is chosen."
    )


class PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are computed already, for scikit-learn's scorers."""

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
    """Return a fitted classifier that says what it does where its decision values are these."""
    loss, link = classifier._loss_, classifier.link_
    return PrecomputedClassifier(loss, classifier.classes_, decision, link)


class Metric:
    """A score by scikit-learn's name or a function; NaN where it needs a class that is missing."""

    def __init__(self, scoring: Any) -> None:
        self._scoring, self._scorer, self._is_own = scoring, get_scorer(scoring), callable(scoring)
        # A function need not know of weights, also if scikit-learn has made a scorer of it.
        function = getattr(scoring, "_score_func", self._scorer)
        given = inspect.signature(function).parameters.values()
        self._has_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in given)

    def __call__(self, found: Any, X: Any, y: Any, weights: Array | None = None) -> float:
        """Return the score of a classifier."""
        options = {} if weights is None or not self._has_weights else {"sample_weight": weights}
        with warnings.catch_warnings():
            # Early steps may know one class only, which is no news.
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
        """Return a function of decision values at rows, which one of the user's sees as written."""
        rows = (data.written if self._is_own else None) or data
        places = slice(None) if rows is data else data.positions
        y, output = classes[rows.codes], 0 if len(classes) == 2 else slice(None)

        def score(decision: Array) -> float:
            found = PrecomputedClassifier(loss, classes, decision[places][:, output], link)
            return self(found, rows.X, y, rows.weights)

        return score


def check_metrics(metrics: Any, loss: Loss, link: Any) -> dict[str, Any]:
    """Return scores by their names; a ValueError for one that cannot be."""
    for scoring in (named := named_metrics(metrics)).values():
        Metric(scoring)
        check_score(scoring, loss, has_link=link == "power")
    return named


def check_score(scoring: Any, loss: Loss, has_link: bool = False) -> None:
    """Raise a ValueError for what is no score, or needs probabilities that there are not."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring must be one score, got {scoring!r}.")
    scorer = check_scoring(PrecomputedClassifier(loss), scoring=scoring)
    if isinstance(scoring, str) and not (has_link or isinstance(loss, ProbabilityLoss)):
        # A score that needs probabilities is refused here, not at the first step.
        two = PrecomputedClassifier(loss, np.array([0, 1]), np.array([-0.5, 0.5]))
        scorer(two, [[0.0], [1.0]], [0, 1])


def make_targets(codes: NDArray[np.intp], n_classes: int) -> list[Array]:
    """Return -1 and +1 for every output: each class against the rest, one of two alone."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == positive, 1.0, -1.0) for positive in positives]


def make_score(
    scoring: Any, is_steadied: bool, loss: Loss, classes: NDArray[Any], data: DataSet
) -> Callable[[Array], float]:
    """Return a function from decision values on validation data to a score.

    Without `scoring` it is the accuracy; a steadied one is less half the squared hinge, which
    breaks ties: the accuracy of some hundred rows alone is too coarse to choose by.
    """
    if scoring is not None:
        score = Metric(scoring).at(data, loss, classes)

        def score_by(decision: Array) -> float:
            if np.isnan(value := score(decision)):
                raise ValueError(
                    f"scoring={scoring!r} is not defined on the validation data (it gave NaN): "
                    "does every class occur there?"
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
    """Return a function from decision values to the weight of the hits and the squared hinge.

    Units weigh the hits, shares the losses, which are 0 without them. Sums of parts of the rows
    add up.
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
    """Return the accuracy less a part of the loss, given the sums of all units and shares."""
    return float(sums[0]) / units - _LOSS_SHARE * (float(sums[1]) / shares)
