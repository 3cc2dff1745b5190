"""What a classifier says where its decision values are known already: they are computed once."""

from __future__ import annotations

import inspect
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin

from fcgboost.prediction import BaseFCGBoost, has_probability, probabilities_of, winners
from fcgboost.validation import Array


class KnownDecision(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are known already, for scikit-learn's scorers.

    Parameters
    ----------
    loss : Loss
    classes : ndarray of shape (n_classes,) or None
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes), or None
    link : PowerLink or None
    """

    def __init__(
        self, loss: Any, classes: Any = None, decision: Any = None, link: Any = None
    ) -> None:
        self.loss = loss
        self.classes = classes
        self.decision = decision
        self.link = link

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self.classes

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing."""
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the known values."""
        return self.decision

    def predict(self, X: Any) -> Any:
        """Return the classes of the known values."""
        return winners(self.decision, self.classes)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the known values."""
        if self.link is None:
            has_probability(self)
        return probabilities_of(self.loss, self.link, self.decision)


def judged(classifier: BaseFCGBoost, decision: Any) -> KnownDecision:
    """Return what a classifier says where its decision values are known: they are computed once."""
    return KnownDecision(classifier._loss_, classifier.classes_, decision, classifier.link_)


def scorer_options(scorer: Any, weights: Array) -> dict[str, Array]:
    """Return what a scorer is called with: a plain function need not know of weights."""
    parameters = inspect.signature(scorer).parameters.values()
    takes_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    return {"sample_weight": weights} if takes_weights else {}
