"""What pictures ask of a fitted classifier or of a Pipeline that ends in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fcgboost.plotting.canvas import Array, Display
from fcgboost.prediction import BaseFCGBoost
from fcgboost.stopping import theory_steps


def split(estimator: Any) -> tuple[Pipeline | None, Any]:
    """Give what stands before the classifier, if anything does, and the classifier."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return None, estimator
    before = estimator[:-1]
    return (before if len(before) else None), estimator[-1]


def split_boosted(estimator: Any, asker: type[Display]) -> tuple[Pipeline | None, BaseFCGBoost]:
    """Split an estimator whose classifier must be one of this package."""
    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(classifier, BaseFCGBoost):
        raise TypeError(
            f"{asker.__name__} draws fitted classifiers of fcgboost, or a Pipeline that ends in "
            f"one, got {type(classifier).__name__}."
        )
    return split(estimator)


def check_path(classifier: Any) -> None:
    """Raise a ValueError for a model that came without its path, or whose path has no step."""
    if len(classifier.trace_) < max(1, classifier.n_iter_):
        raise ValueError(
            "The model has no path to draw: it was saved with trace=False, or its fit made no step."
        )


def prepared(before: Pipeline | None, X: Any) -> Any:
    """Give rows as the classifier sees them."""
    return X if before is None else before.transform(X)


def shortened(estimator: Any, k: int) -> Any:
    """Give the estimator as it was after k steps."""
    if not isinstance(estimator, Pipeline):
        return estimator.truncate(k)
    name, classifier = estimator.steps[-1]
    return Pipeline([*estimator.steps[:-1], (name, classifier.truncate(k))])


def theory_k0(classifier: Any, n_samples: int | None) -> int | None:
    """Give the theory's number of steps of the fit, or of so many samples where it is unknown."""
    fitted = vars(classifier).get("best_estimator_", classifier)
    k0 = vars(fitted).get("_k0_")
    if k0 is not None:
        return int(k0)
    return None if n_samples is None else theory_steps(n_samples)


def recorded(classifier: Any) -> tuple[dict[str, Array], dict[str, Array], str]:
    """Give what the fit wrote down about other data: a curve, its steps, and its unit.

    The unit is "error", or "score (...)" where it was another score. Without validation there is
    no curve.
    """
    scoring = vars(classifier).get("scoring")
    is_accuracy = scoring in (None, "accuracy")
    unit = "error" if is_accuracy else f"score ({scoring})"
    name, scores = "validation", classifier.trace_.column("validation_score")
    steps = np.arange(1.0, len(scores) + 1)
    results = vars(classifier).get("cv_results_")
    if results is not None:
        name = "cross-validation"
        best = classifier.best_params_
        rows = [
            i
            for i, setting in enumerate(results["params"])
            if setting["dictionary"] is best["dictionary"] and setting["l2"] == best["l2"]
        ]
        scores = np.asarray(results["mean_test_score"])[rows]
        steps = np.array([float(results["params"][i]["max_iter"]) for i in rows])
    if len(scores) == 0 or scores.dtype == object:  # None in every step: no validation data
        return {}, {}, "error"
    values = np.asarray(scores, dtype=np.float64)
    return {name: 1.0 - values if is_accuracy else values}, {name: steps}, unit


def feature_names(before: Pipeline | None, classifier: Any, X: Any = None) -> list[str]:
    """Give the names of the columns that the classifier sees."""
    if before is not None:
        return [str(name) for name in before.get_feature_names_out()]
    names = vars(classifier).get("feature_names_in_", getattr(X, "columns", None))
    if names is None:
        names = [f"feature {i}" for i in range(1, classifier.n_features_in_ + 1)]
    return [str(name) for name in names]


def output_of(classifier: Any, class_of_interest: Any) -> tuple[int, Any]:
    """Give the row of `coef_` that speaks for a class, and that class.

    None is the second of two classes and the first of several.
    """
    classes = classifier.classes_
    if len(classes) == 2:
        if class_of_interest is not None and class_of_interest != classes[1]:
            raise ValueError(
                f"With two classes the coefficients speak for {classes.tolist()[1]!r}, "
                f"got class_of_interest={class_of_interest!r}."
            )
        return 0, classes[1]
    return (0, classes[0]) if class_of_interest is None else position(classes, class_of_interest)


def position(classes: NDArray[Any], value: Any) -> tuple[int, Any]:
    """Find a class."""
    found = np.flatnonzero(classes == value)
    if len(found) != 1:
        raise ValueError(f"{value!r} is no class: they are {classes.tolist()}.")
    return int(found[0]), classes[found[0]]


def codes_of(labels: ArrayLike, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Give the position of every label among the classes."""
    values = np.asarray(labels)
    unknown = np.setdiff1d(values, classes)
    if values.ndim != 1 or len(unknown):
        raise ValueError(f"y holds {unknown.tolist()}, but the classes are {classes.tolist()}.")
    order = np.argsort(classes)
    return np.asarray(order[np.searchsorted(classes, values, sorter=order)])


def decision_values(estimator: Any, X: Any) -> Array:
    """Give values whose sign, for several classes whose largest, is the predicted class.

    Of a classifier without decision values: 2 p - 1, for several classes p.
    """
    n_classes = len(estimator.classes_)
    if hasattr(estimator, "decision_function"):  # a user's classifier; forests have none
        decision = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if decision.ndim == 1 or decision.shape[1] == n_classes:
            return decision
    if hasattr(estimator, "predict_proba"):  # a user's classifier, too
        proba = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    else:
        proba = np.eye(n_classes)[codes_of(estimator.predict(X), estimator.classes_)]
    return 2.0 * proba[:, 1] - 1.0 if n_classes == 2 else proba
