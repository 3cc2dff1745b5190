"""A support vector machine and a random forest in the contest."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from paper.protocol import Data
from paper.rivals.base import Array, Judgement, Learned, Params, by_probability, tree_numbers


def fit_machine(params: Params, data: Data, seed: int) -> Learned:
    """Fit a support vector machine; `params` has C, gamma and max_iter.

    Its probabilities are those of a logistic curve through its decision values on the
    validation part.
    """
    machine = SVC(kernel="rbf", cache_size=1_000, **params)
    with warnings.catch_warnings():
        # Written beside the result.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(data.X, data.y)
    # Weak regularisation, for decision values of any size.
    curve = LogisticRegression(C=1e4)
    values = machine.decision_function(data.X_val)
    has_curve = len(np.unique(data.y_val)) > 1
    if has_curve:
        curve.fit(values[:, None], data.y_val)

    def judge(X: Array) -> Judgement:
        values = machine.decision_function(X)
        labels = np.where(values > 0.0, 1.0, -1.0)
        if not has_curve:
            return Judgement(labels, 0.5 + 0.5 * labels)
        return Judgement(labels, curve.predict_proba(values[:, None])[:, 1])

    n_vectors, n_features = machine.support_vectors_.shape
    is_cut = machine.fit_status_ != 0
    note = f"stopped at {machine.max_iter:,} iterations" if is_cut else ""
    return Learned(
        judge,
        n_vectors,
        lambda: n_vectors * (n_features + 1),
        lambda: pickle.dumps(machine),
        note=note,
    )


def fit_forest(params: Params, data: Data, seed: int) -> Learned:
    """Fit a random forest; `params` has n_estimators, max_features and min_samples_leaf."""
    forest = RandomForestClassifier(n_jobs=1, random_state=seed, **params).fit(data.X, data.y)

    def judge(X: Array) -> Judgement:
        return by_probability(forest.predict_proba(X)[:, 1])

    def count() -> int:
        return sum(tree_numbers(int(tree.tree_.n_leaves)) for tree in forest.estimators_)

    return Learned(judge, len(forest.estimators_), count, lambda: pickle.dumps(forest))
