"""What every fitted classifier of the package can do: predict, stage, truncate, explain."""

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
    """What all fitted classifiers of the package can do."""

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
    # The loss of the fit, whatever the parameter is now.
    _loss_: ProbabilityLoss
    # A few training rows and the columns' deviations, for feature_importances_.
    _sample_: Any
    _deviation_: Array
    #: Whether a few other texts among numbers count as missing, as for commands; else an error.
    _accepts_strays = False

    #: What a prediction without a model says.
    _unfitted = "This %(name)s is not fitted yet: call 'fit' first."

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `dictionary__width` also reaches a part that was given by name."""
        for name in {key.split("__")[0] for key in params if "__" in key} & checks.FAMILIES.keys():
            value = params.get(name, getattr(self, name, None))
            if isinstance(value, str) and value in {"auto", *PRESETS}:
                raise ValueError(
                    f"{name}={value!r} has no parameters to set: choose the {name} first, one of "
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
        """The atoms' parameters, one row each, in order of entry."""
        return self._fitted().atoms

    @property
    def atom_coef_(self) -> Array:
        """The coefficients, of shape (1 or n_classes, n_atoms_)."""
        return self._fitted().coef

    @property
    def intercept_(self) -> Array:
        """The constants, of shape (1 or n_classes,)."""
        return self._fitted().intercept

    @property
    def feature_importances_(self) -> Array:
        """How much the model depends on every feature, summing to one.

        Of smooth atoms: the mean size of the model's slope in the standardised feature. Of others,
        trees among them: the mean size of what changes where a row has the feature's value of
        another row. The means run over at most 256 distinct training rows.
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
                "feature_importances_ need rows of the training data, which a model file does not "
                "hold; it has them as numbers, for the model as it was saved. Use "
                "sklearn.inspection.permutation_importance."
            )
        return loaded.importances.copy()

    @property
    def about_(self) -> dict[str, Any]:
        """What a loaded model's file says about it; {} if nothing, and for any other model."""
        loaded = self._loaded()
        return {} if loaded is None else loaded.about

    def _loaded(self) -> Loaded | None:
        """Return what the file said that the model is from, unless it is another one by now."""
        model, loaded = self._fitted(), vars(self).get("_loaded_")
        return loaded if loaded is not None and loaded.model is model else None

    @property
    def columns_(self) -> tuple[Column, ...]:
        """What became of every column of X; empty where it was sparse."""
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
        """Write the model to a file: one JSON document, exact to the last bit.

        `fcgboost.load_model` reads it. The file is there in full or not at all. Of the training
        rows it holds atoms that are rows, and a background.

        Parameters
        ----------
        path : path
        trace : bool, default=True
            Whether to keep the whole path, for `staged_predict`, `truncate` and the like. Without
            it the file is much smaller.
        background : bool, default=True
            Whether to keep at most 100 training rows for `explain`, if these are at most 10,000
            numbers.
        about : dict or None, default=None
            JSON that travels along, at most 1 MiB; a loaded model has it as `about_`. None is what
            a loaded model has.
        """
        from fcgboost.documents import encode  # a fit needs none of it

        self._fitted()
        write_whole(path, encode(twin_of(self), trace=trace, background=background, about=about))

    def decision_function(self, X: Any) -> Any:
        """Return decision values of shape (n_samples,) for two classes, or (n_samples, n_classes).

        For two classes, f > 0 predicts classes_[1]; for more, the largest value wins. Arithmetic
        is in float64, as in the fit, also where X is float32. For a torch tensor the values are a
        tensor of its precision on its device.
        """
        return in_kind(twin_of(self)._decision(X), X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of every row.

        For a torch tensor the labels are a tensor on its device, if the classes are numbers.
        """
        now = twin_of(self)
        return winners(now._decision(X), now.classes_, X)

    @available_if(has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities: those of the link, or of the loss where there is none.

        For a torch tensor they are a tensor of its precision on its device.
        """
        now = twin_of(self)
        decision = now._decision(X)
        return in_kind(probabilities_of(now._loss_, now.link_, decision), X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the rows that are classified correctly, wherever they lie."""
        labels, weights = checks.to_host(self.predict(X)), checks.to_host(sample_weight)
        return float(accuracy_score(checks.to_host(y), labels, sample_weight=weights))

    def explain(self, X: Any, *, background: Any = None) -> Explanation:
        """Return what every column of X adds to the decision values of its rows: Shapley values.

        They are interventional: columns that are left out have the values of a background row, and
        decision values are means over the background. A column of a table is one player, whatever
        the model makes of it. Values are exact, but for atoms such as ReLU ones where more than
        12 columns differ: these are averaged over random orders until the error is one per cent of
        the row's largest value.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        background : like X, or None, default=None
            At most 100 rows are used, drawn where there are more. None is some of the training
            rows; a model file has them where these are at most 10,000 numbers.

        Returns
        -------
        Explanation
        """
        from fcgboost.explanation import explain  # predictions need none of it

        self._fitted()
        return explain(twin_of(self), X, background)

    def _background(self) -> Any:
        """Return training rows, as atoms see them, to explain against; None if there are none."""
        if "_sample_" in vars(self):
            from fcgboost.explanation import most_rows

            return self._sample_[: most_rows(self._sample_.shape[1])]
        loaded = vars(self).get("_loaded_")
        return None if loaded is None else loaded.background

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Yield the decision values after 1, 2, ..., n_iter_ steps.

        The values of all atoms are kept in between if scikit-learn's `working_memory` has room
        for them; if not, they are computed in every step.
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
        """Yield the class probabilities after 1, 2, ..., n_iter_ steps, all by the same link."""
        now = twin_of(self)
        for decision in now._staged_decision(X):
            yield in_kind(probabilities_of(now._loss_, now.link_, decision), X)

    def truncate(self, k: int) -> Self:
        """Return a fitted copy of the classifier as it was after k steps of its path.

        k may be anything from 0 to len(trace_), also more than the n_iter_ steps that
        validation kept. (A search's `best_estimator_` stays whole.) A model that was saved without
        its path has its n_iter_ steps only. A link stays as it was fitted to the whole model.
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
        if "model_" not in vars(self):  # scikit-learn's own look takes longer
            check_is_fitted(self, "model_", msg=self._unfitted)
        return self.model_

    def _decision(self, X: Any) -> Any:
        """Return decision values in full precision, where they were computed."""
        return self._flat(self._fitted().decision(self._encoded(X)))

    def _encoded(self, X: Any) -> Any:
        """Check rows, and return what the atoms see of them."""
        X, inputs = checks.check_rows(self, X), vars(self).get("_inputs_")
        return X if inputs is None else inputs.encode(X)

    def _has_path(self) -> bool:
        # Of a path that was not saved not even the start is known.
        return len(self.trace_) >= self.n_iter_ and bool(np.isfinite(self.trace_.start).all())

    def _check_path(self) -> None:
        if not self._has_path():
            raise ValueError(
                "This model was loaded without its path (it was saved with trace=False, or its "
                f"classes share atoms): only the model after all its {self.n_iter_} steps is there."
            )

    def _staged_decision(self, X: Any) -> Iterator[Any]:
        model, X = self._fitted(), self._encoded(X)
        self._check_path()
        n_entered = max((step.n_entered for step in self.trace_[: self.n_iter_]), default=0)
        has_room = X.shape[0] * n_entered * 8 <= get_config()["working_memory"] * 2**20
        # Trees whose leaves are corrected have other values in every step.
        has_room &= not model.dictionary.corrects_leaves
        # Also atoms that are in the model of an earlier step only.
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
        """Return the decision values of two classes as a vector."""
        return decision[:, 0] if len(self.classes_) == 2 else decision

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Not "categorical", which to scikit-learn means whole numbers.
        tags.input_tags.sparse = tags.input_tags.string = True
        tags.input_tags.allow_nan = checks.takes_missing(self)
        return tags


def in_kind(values: Any, X: Any) -> Any:
    """Return values for X as X is: for a tensor, a tensor of its precision on its device."""
    values = beside(values, X)
    return values.to(X.dtype) if is_tensor(X) and X.is_floating_point() else values
