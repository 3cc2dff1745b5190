"""The methods of all fitted classifiers: predict, stage, truncate, explain, save."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fcgboost.arrays import beside, is_tensor
from fcgboost.calibration import PowerLink
from fcgboost.designs.base import Array
from fcgboost.files import write_whole
from fcgboost.greedy.path import Trace
from fcgboost.importances import importances_of
from fcgboost.losses import ProbabilityLoss
from fcgboost.model import Model
from fcgboost.stopping import Status
from fcgboost.tables.columns import Column
from fcgboost.threads import twin_of
from fcgboost.training import checks
from fcgboost.training.presets import PRESETS
from fcgboost.training.scoring import has_probability, probabilities_of, winners

if TYPE_CHECKING:
    from fcgboost.documents import Loaded
    from fcgboost.explanation import Explanation


class BaseFCGBoost(ClassifierMixin, BaseEstimator, ABC):
    """Base class of the package's classifiers."""

    loss: Any
    classes_: NDArray[Any]
    model_: Model
    trace_: Trace
    n_iter_: int
    status_: Status
    notes_: tuple[str, ...]
    # The theory's number of steps for the training data.
    _k0_: int
    link: Any
    link_: PowerLink | None
    # The loss used in the fit, even if the parameter has changed since.
    _loss_: ProbabilityLoss
    # A few training rows and the columns' standard deviations, for feature_importances_.
    _sample_: Any
    _deviation_: Array
    #: Whether stray text in a numeric column counts as missing instead of being an error.
    _accepts_strays = False

    _unfitted = "This %(name)s is not fitted yet. Call 'fit' first."

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `dictionary__width` also works if the dictionary was given by name."""
        for name in {key.split("__")[0] for key in params if "__" in key} & checks.FAMILIES.keys():
            value = params.get(name, getattr(self, name, None))
            if isinstance(value, str) and value in {"auto", *PRESETS}:
                raise ValueError(
                    f"{name}={value!r} has no parameters to set: first set {name} to one of "
                    f"{sorted(checks.FAMILIES[name][1].keys() - PRESETS.keys())}."
                )
            if isinstance(value, str):
                params[name] = checks.make_part(name, value)
        super().set_params(**params)
        return self

    @property
    def n_atoms_(self) -> int:
        """The number of distinct atoms in the model."""
        return self._fitted().n_atoms

    @property
    def atoms_(self) -> Any:
        """The parameters of the atoms, one row each, in order of entry."""
        return self._fitted().atoms

    @property
    def atom_coef_(self) -> Array:
        """The coefficients, of shape (1 or n_classes, n_atoms_)."""
        return self._fitted().coef

    @property
    def intercept_(self) -> Array:
        """The intercepts, of shape (1 or n_classes,)."""
        return self._fitted().intercept

    @property
    def feature_importances_(self) -> Array:
        """How much the model depends on each column of X; the values sum to 1.

        For smooth atoms, the mean absolute slope in the standardised column. Otherwise, for example
        for trees, the mean absolute change of the decision value when a row takes the column's
        value from another row. Means are over at most 256 distinct training rows.
        """
        model = self._fitted()
        if "_sample_" in vars(self):
            inputs = vars(self).get("_inputs_")
            sources = np.arange(len(model.scale)) if inputs is None else inputs.sources
            known = self._sample_, self._deviation_, sources, self.n_features_in_
            return importances_of(model, *known)
        loaded = self._loaded()
        if loaded is None or loaded.importances is None:
            raise AttributeError(
                "feature_importances_ is not available: the model file holds it for the model as "
                "saved only. Use sklearn.inspection.permutation_importance."
            )
        return loaded.importances.copy()

    @property
    def about_(self) -> dict[str, Any]:
        """Metadata from the model file; empty for a model that was not loaded."""
        loaded = self._loaded()
        return {} if loaded is None else loaded.about

    def _loaded(self) -> Loaded | None:
        """Return what the model file said, unless the model has changed since."""
        model, loaded = self._fitted(), vars(self).get("_loaded_")
        return loaded if loaded is not None and loaded.model is model else None

    @property
    def columns_(self) -> tuple[Column, ...]:
        """How each column of X was read; empty for sparse X."""
        self._fitted()
        inputs = vars(self).get("_inputs_")
        return () if inputs is None else inputs.columns

    def save_model(
        self,
        path: str | os.PathLike[str],
        *,
        trace: bool = True,
        background: bool = True,
        about: dict[str, Any] | None = None,
    ) -> None:
        """Save the model as one JSON document, exact to the last bit.

        `fcgboost.load_model` reads it. The file is written in full or not at all. Training rows
        are in it only as kernel centres and as the background.

        Parameters
        ----------
        path : path
            The file to write.
        trace : bool, default=True
            Whether to save the whole path, which `staged_predict` and `truncate` need. Without it
            the file is much smaller.
        background : bool, default=True
            Whether to save up to 100 training rows (10,000 numbers at most) for `explain`.
        about : dict or None, default=None
            JSON metadata, at most 1 MiB, available as `about_` after loading. None keeps that of a
            loaded model.
        """
        from fcgboost.documents import encode  # not needed for fits

        self._fitted()
        write_whole(path, encode(twin_of(self), trace=trace, background=background, about=about))

    def decision_function(self, X: Any) -> Any:
        """Return decision values of shape (n_samples,) for two classes, or (n_samples, n_classes).

        For two classes, f > 0 predicts classes_[1]; for more, the largest value wins. Arithmetic
        is in float64 even if X is float32. For a torch tensor the result is a tensor of the same
        precision on the same device.
        """
        return in_kind(twin_of(self)._decision(X), X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row.

        For a torch tensor and numeric classes the result is a tensor on the same device.
        """
        now = twin_of(self)
        return winners(now._decision(X), now.classes_, X)

    @available_if(has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities by the fitted link, or by the formula of the loss.

        For a torch tensor the result is a tensor of the same precision on the same device.
        """
        now = twin_of(self)
        decision = now._decision(X)
        return in_kind(probabilities_of(now._loss_, now.link_, decision), X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        labels, weights = checks.to_host(self.predict(X)), checks.to_host(sample_weight)
        return float(accuracy_score(checks.to_host(y), labels, sample_weight=weights))

    def explain(self, X: Any, *, background: Any = None) -> Explanation:
        """Return the Shapley values of each row: what each column adds to its decision value.

        They are interventional: absent columns take the values of background rows, and decision
        values are averaged over these. A column of a table is one player, however it is encoded.
        Values are exact, except for atoms such as ramps with more than 12 differing columns: these
        are averaged over random orders until the error is one per cent of the row's largest value.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The rows to explain.
        background : like X, or None, default=None
            Rows to compare with, of which at most 100 are used. None takes training rows, which a
            model file holds if they are at most 10,000 numbers.

        Returns
        -------
        Explanation
        """
        from fcgboost.explanation import explain  # not needed for predictions

        self._fitted()
        return explain(twin_of(self), X, background)

    def _background(self) -> Any:
        if "_sample_" in vars(self):
            from fcgboost.explanation import most_rows

            return self._sample_[: most_rows(self._sample_.shape[1])]
        loaded = vars(self).get("_loaded_")
        return None if loaded is None else loaded.background

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Yield the decision values after 1, 2, ..., n_iter_ steps.

        The values of all atoms are cached if they fit into scikit-learn's `working_memory`.
        """
        for decision in twin_of(self)._staged_decision(X):
            yield in_kind(decision, X)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Yield the predicted classes after 1, 2, ..., n_iter_ steps."""
        now = twin_of(self)
        for decision in now._staged_decision(X):
            yield winners(decision, now.classes_, X)

    @available_if(has_probability)  # type: ignore[untyped-decorator]
    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Yield the class probabilities after 1, 2, ..., n_iter_ steps, by the fitted link."""
        now = twin_of(self)
        for decision in now._staged_decision(X):
            yield in_kind(probabilities_of(now._loss_, now.link_, decision), X)

    def truncate(self, k: int) -> Self:
        """Return a fitted copy of the classifier after k steps of its path.

        k is between 0 and len(trace_), and may exceed the n_iter_ steps that validation kept. The
        link is not fitted again, and a search's `best_estimator_` is not truncated. A model saved
        without its path has its n_iter_ steps only.
        """
        model = self._fitted()
        checks.check_number("k", k, 0, whole=True)
        short = copy.copy(self)
        if k != self.n_iter_:
            self._check_path()
            if k > len(self.trace_):
                raise ValueError(f"k={k} is more than the {len(self.trace_)} steps of the path.")
            short.model_ = self.trace_.model(k, model.dictionary, model.scale, model.limits)
            short.n_iter_ = k
        return short

    def _fitted(self) -> Model:
        if "model_" not in vars(self):  # faster than scikit-learn's check
            check_is_fitted(self, "model_", msg=self._unfitted)
        return self.model_

    def _decision(self, X: Any) -> Any:
        return self._flat(self._fitted().decision(self._encoded(X)))

    def _encoded(self, X: Any) -> Any:
        """Check rows and encode them as the atoms see them."""
        X, inputs = checks.check_rows(self, X), vars(self).get("_inputs_")
        return X if inputs is None else inputs.encode(X)

    def _has_path(self) -> bool:
        # A path that was not saved has no start either.
        return len(self.trace_) >= self.n_iter_ and bool(np.isfinite(self.trace_.start).all())

    def _check_path(self) -> None:
        if not self._has_path():
            raise ValueError(
                "This model was loaded without its path: it was saved with trace=False, or its "
                f"classes share atoms. Only the model after all {self.n_iter_} steps is available."
            )

    def _staged_decision(self, X: Any) -> Iterator[Any]:
        model, X = self._fitted(), self._encoded(X)
        self._check_path()
        n_entered = max((step.n_entered for step in self.trace_[: self.n_iter_]), default=0)
        has_room = X.shape[0] * n_entered * 8 <= get_config()["working_memory"] * 2**20
        # Corrected leaves have other values in every step.
        has_room &= not model.dictionary.corrects_leaves
        # Including atoms that were removed later.
        atoms, coef = self.trace_.atoms[:n_entered], np.zeros((1, n_entered))
        values = replace(model, atoms=atoms, coef=coef).columns(X) if has_room else None
        for k, step in enumerate(self.trace_[: self.n_iter_], 1):
            if values is None:
                decision = self.truncate(k).model_.decision(X)
            else:
                coef, intercept = beside(step.coef.T, X), beside(step.intercept, X)
                decision = values[:, : step.n_entered] @ coef + intercept
            yield self._flat(decision)

    def _flat(self, decision: Any) -> Any:
        return decision[:, 0] if len(self.classes_) == 2 else decision

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Not "categorical", which in scikit-learn means integers.
        tags.input_tags.sparse = tags.input_tags.string = True
        tags.input_tags.allow_nan = checks.takes_missing(self)
        return tags


def in_kind(values: Any, X: Any) -> Any:
    """Return values like X: for a tensor, a tensor of its precision on its device."""
    values = beside(values, X)
    return values.to(X.dtype) if is_tensor(X) and X.is_floating_point() else values
