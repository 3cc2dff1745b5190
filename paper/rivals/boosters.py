"""Gradient boosting by four libraries: trees are added until the validation loss stops falling.

All have at most `ROUNDS` trees and stop after `PATIENCE` ones without a lower log-loss on the
validation part; the model is that of the lowest one, which on other splits of the sets gave
LightGBM accuracies at least as high as the number of trees with the best validation accuracy.
What is left to the grid is the size of a tree. Every other parameter but the learning rate is the
library's default.
"""

from __future__ import annotations

import json
import pickle
import re
from inspect import signature
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from paper.protocol import Data
from paper.rivals.base import Array, Judgement, Learned, Params, by_log_odds, tree_numbers

ROUNDS = 1_000
PATIENCE = 50


def learning_rate(n_rows: int) -> float:
    """Give smaller steps where a tree costs little."""
    return 0.05 if n_rows <= 2_000 else 0.1


def make_lightgbm(**params: Any) -> Any:
    """Make LightGBM's classifier, silent."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, **params)


def fit_lightgbm(params: Params, data: Data, seed: int) -> Learned:
    """Fit LightGBM; `params` has num_leaves."""
    import lightgbm

    settings = {"objective": "binary", "num_threads": 1, "verbosity": -1, "seed": seed}
    train = lightgbm.Dataset(data.X, data.y > 0.0)
    booster = lightgbm.train(
        {**settings, "learning_rate": learning_rate(len(data.y)), **params},
        train,
        ROUNDS,
        valid_sets=[lightgbm.Dataset(data.X_val, data.y_val > 0.0, reference=train)],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    n_trees = booster.best_iteration

    def judge(X: Array) -> Judgement:
        return by_log_odds(booster.predict(X, num_iteration=n_trees, raw_score=True))

    def text() -> str:
        return str(booster.model_to_string(num_iteration=n_trees))

    def count() -> int:
        leaves = re.findall(r"^num_leaves=(\d+)$", text(), re.MULTILINE)
        return sum(tree_numbers(int(n)) for n in leaves)

    return Learned(judge, n_trees, count, lambda: text().encode(), {"trees": n_trees})


def fit_xgboost(params: Params, data: Data, seed: int) -> Learned:
    """Fit XGBoost with histograms; `params` has max_depth."""
    import xgboost

    settings = {"objective": "binary:logistic", "tree_method": "hist", "nthread": 1, "seed": seed}

    def matrix(X: Array, y: Array | None = None) -> Any:
        return xgboost.DMatrix(X, None if y is None else y > 0.0, nthread=1)

    booster = xgboost.train(
        {**settings, "learning_rate": learning_rate(len(data.y)), **params},
        matrix(data.X, data.y),
        ROUNDS,
        evals=[(matrix(data.X_val, data.y_val), "validation")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    booster = booster[: booster.best_iteration + 1]
    n_trees = booster.num_boosted_rounds()

    def judge(X: Array) -> Judgement:
        return by_log_odds(booster.predict(matrix(X), output_margin=True))

    def count() -> int:
        model = json.loads(bytes(booster.save_raw("json")))
        trees = model["learner"]["gradient_booster"]["model"]["trees"]
        # A node without a left child is a leaf.
        return sum(tree_numbers(tree["left_children"].count(-1)) for tree in trees)

    return Learned(
        judge, n_trees, count, lambda: bytes(booster.save_raw("ubj")), {"trees": n_trees}
    )


def fit_catboost(params: Params, data: Data, seed: int) -> Learned:
    """Fit CatBoost; `params` has depth."""
    import catboost

    quiet = {"allow_writing_files": False, "verbose": False, "thread_count": 1}
    classifier = catboost.CatBoostClassifier(
        iterations=ROUNDS,
        learning_rate=learning_rate(len(data.y)),
        od_type="Iter",
        od_wait=PATIENCE,
        use_best_model=True,
        random_seed=seed,
        **quiet,
        **params,
    )
    pools = [
        catboost.Pool(X, (y > 0.0).astype(int), thread_count=1)
        for X, y in ((data.X, data.y), (data.X_val, data.y_val))
    ]
    classifier.fit(pools[0], eval_set=pools[1])
    n_trees = int(classifier.tree_count_)

    def judge(X: Array) -> Judgement:
        odds = classifier.predict(X, prediction_type="RawFormulaVal", thread_count=1)
        return by_log_odds(odds)

    def count() -> int:
        # All splits of a level are the same one, stored once: a tree of 2^p leaves has p.
        leaves = np.asarray(classifier.get_tree_leaf_counts(), dtype=np.int64)
        return int(np.sum(leaves + 2 * np.log2(leaves).round().astype(np.int64)))

    def file() -> bytes:
        return bytes(classifier._serialize_model())

    return Learned(judge, n_trees, count, file, {"trees": n_trees})


def fit_histogram(params: Params, data: Data, seed: int) -> Learned:
    """Fit scikit-learn's HistGradientBoostingClassifier; `params` has max_leaf_nodes."""
    if "X_val" not in signature(HistGradientBoostingClassifier.fit).parameters:
        raise ImportError("HistGradientBoosting with a validation part needs scikit-learn 1.7.")
    classifier = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        learning_rate=learning_rate(len(data.y)),
        early_stopping=True,
        n_iter_no_change=PATIENCE,
        scoring="loss",
        tol=0.0,
        random_state=seed,
        **params,
    )
    classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    # The first score is that of no tree. scikit-learn keeps the trees after the best one; cut
    # off, they cost neither accuracy nor room.
    n_trees = max(1, int(np.argmax(classifier.validation_score_)))
    del classifier._predictors[n_trees:]

    def judge(X: Array) -> Judgement:
        return by_log_odds(classifier.decision_function(X))

    def count() -> int:
        trees = [tree for trees in classifier._predictors for tree in trees]
        return sum(tree_numbers(tree.get_n_leaf_nodes()) for tree in trees)

    return Learned(judge, n_trees, count, lambda: pickle.dumps(classifier), {"trees": n_trees})
