"""The methods of all fitted estimators: predict, stage, truncate, explain, save."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fcgboost import checks
from fcgboost.arrays import (
    Array,
    Labels,
    Matrix,
    Rows,
    Tensor,
    Weights,
    is_tensor,
    to_device_of,
)
from fcgboost.conformal import HeldOutErrors
from fcgboost.files import write_whole
from fcgboost.findings import Finding
from fcgboost.greedy.path import Trace
from fcgboost.losses import Loss
from fcgboost.members import Member, Members, decision_of, of_fold, staged_decision_of
from fcgboost.model import Model
from fcgboost.names import NAMES, PRESET_NAMES, make_part
from fcgboost.stopping import Status
from fcgboost.tables.columns import Column

if TYPE_CHECKING:
    from fcgboost.documents import Loaded
    from fcgboost.explanation import Explanation
    from fcgboost.inspection import Description
    from fcgboost.training.tasks import Task


T = TypeVar("T", bound="BaseFCGBoost")
#: What the folds say of a model; not every fit sets it.
OUT_OF_FOLD = (
    "oof_decision_function_",
    "oof_prediction_",
    "oof_score_",
    "label_quality_",
    "_judged_",
    "_errors_",
)
# Where a member has what an attribute of the estimator is for a single path.
_OF_MEMBERS = {
    "atoms_": "model.atoms",
    "atom_coef_": "model.coef",
    "intercept_": "model.intercept",
    "l2_": "l2",
    "model_": "model",
    "status_": "status",
    "trace_": "trace",
}


class BaseFCGBoost(BaseEstimator, ABC):
    """Base class of the package's estimators."""

    loss: str | Loss
    # Whose losses can be named.
    _losses = "loss"
    members_: tuple[Member, ...]
    findings_: tuple[Finding, ...]
    # The theory's number of steps for the training data.
    _k0_: int
    # The loss used in the fit, even if the parameter has changed since.
    _loss_: Loss
    # A few training rows, for feature_importances_ and explanations.
    _sample_: Matrix | None = None
    #: How wrong predictions for held-out rows are.
    _errors_: HeldOutErrors | None = None
    #: How the columns of a table are read; None if all are plain numbers.
    _table_columns_: tuple[Column, ...] | None = None
    #: What the model file said.
    _loaded_: Loaded | None = None

    _unfitted = "This %(name)s is not fitted yet. Call 'fit' first."

    @abstractmethod
    def fit(self, X: Rows, y: Labels, sample_weight: Weights = None) -> Self:
        """Fit the estimator."""

    @abstractmethod
    def _make_task(self) -> Task:
        """Return what y is."""

    @abstractmethod
    def _flat(self, decision: Array | Tensor) -> Array | Tensor:
        """Return sums over members in the shape of decision values, and moved as these are."""

    def set_params(self, **params: object) -> Self:
        """Set parameters; `dictionary__width` also works if the dictionary was given by name."""
        for name in {key.split("__")[0] for key in params if "__" in key} & NAMES.keys():
            value = params.get(name, getattr(self, name, None))
            if not isinstance(value, str):
                continue
            if value in {"auto", *PRESET_NAMES}:
                raise ValueError(
                    f"{name}={value!r} has no parameters to set: first set {name} to one of "
                    f"{sorted(NAMES[name].keys() - PRESET_NAMES)}."
                )
            params[name] = make_part(self._losses if name == "loss" else name, value)
        super().set_params(**params)
        return self

    @property
    def member_weights_(self) -> Array:
        """The factors of the members' decision values."""
        return np.array([member.weight for member in self._fitted()])

    @property
    def n_atoms_(self) -> int:
        """The number of distinct atoms in the model, summed over members."""
        return sum(member.model.n_atoms for member in self._fitted())

    @property
    def n_iter_(self) -> int:
        """The number of steps in the model, or in its longest member."""
        return max(member.n_iter for member in self._fitted())

    @property
    def l2_(self) -> float:
        """The ridge penalty used."""
        return self._only_member("l2_").l2

    @property
    def model_(self) -> Model:
        """The bare model: dictionary, atoms, coefficients."""
        return self._only_member("model_").model

    @property
    def trace_(self) -> Trace:
        """A record of every step, including those that validation discarded, and the `metrics`."""
        return self._only_member("trace_").trace

    @property
    def status_(self) -> Status:
        """Why the path ended."""
        return self._only_member("status_").status

    @property
    def atoms_(self) -> Matrix:
        """The parameters of the atoms, one row each, in order of entry."""
        return self._only_member("atoms_").model.atoms

    @property
    def atom_coef_(self) -> Array:
        """The coefficients, of shape (1 or n_classes, n_atoms_)."""
        return self._only_member("atom_coef_").model.coef

    @property
    def intercept_(self) -> Array:
        """The intercepts, of shape (1 or n_classes,)."""
        return self._only_member("intercept_").model.intercept

    def _only_member(self, name: str) -> Member:
        """Return the only member; raise an AttributeError if there are several."""
        members = self._fitted()
        if len(members) > 1:
            raise AttributeError(
                f"{name} belongs to a single path, but this model averages {len(members)}: "
                f"use members_[i].{_OF_MEMBERS[name]}."
            )
        return members[0]

    @property
    def feature_importances_(self) -> Array:
        """How much the model depends on each column of X; the values sum to 1.

        For smooth atoms, the mean absolute slope in the standardised column. Otherwise, for example
        for trees, the mean absolute change of the decision value when a row takes the column's
        value from another row. Means are over at most 256 distinct training rows, and over the
        members by their weights.
        """
        members = self._fitted()
        if self._sample_ is not None:
            n_columns = self.n_features_in_
            shares = [m.weight * m.importances(self._sample_, n_columns) for m in members]
            total = np.add.reduce(shares)
            return np.asarray(total / (total.sum() or 1.0))
        loaded = self._loaded()
        if loaded is None or loaded.importances is None:
            raise AttributeError(
                "feature_importances_ is not available: the model file holds it for the model as "
                "saved only. Use sklearn.inspection.permutation_importance."
            )
        return loaded.importances.copy()

    @property
    def notes_(self) -> tuple[str, ...]:
        """What users should know, in sentences."""
        self._fitted()
        return tuple(map(str, self.findings_))

    @property
    def about_(self) -> dict[str, Any]:
        """Metadata from the model file; empty for a model that was not loaded."""
        loaded = self._loaded()
        return {} if loaded is None else loaded.about

    def _loaded(self) -> Loaded | None:
        """Return what the model file said, unless the model has changed since."""
        members = self._fitted()
        loaded = self._loaded_
        return loaded if loaded is not None and loaded.members is members else None

    @property
    def columns_(self) -> tuple[Column, ...]:
        """How each column of X was read, and encoded for the first member that uses it.

        It is empty for sparse X.
        """
        members = self._fitted()
        encodings = [member.inputs.columns for member in members if member.inputs is not None]
        same_columns = zip(*encodings, strict=True)
        return tuple(max(same, key=lambda column: column.n_outputs > 0) for same in same_columns)

    def save_model(
        self,
        path: str | os.PathLike[str],
        *,
        trace: bool | None = None,
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
        trace : bool or None, default=None
            Whether to save the whole path, which `staged_predict` and `truncate` need. Without it
            the file is much smaller. None saves it if there is a single member.
        background : bool, default=True
            Whether to save up to 100 training rows (10,000 numbers at most) for `explain`.
        about : dict or None, default=None
            JSON metadata, at most 1 MiB, available as `about_` after loading. None keeps that of a
            loaded model.
        """
        from fcgboost import documents  # not needed for fits

        self._fitted()
        document = documents.encode(
            twin_of(self),
            trace=len(self.members_) == 1 if trace is None else trace,
            background=background,
            about=about,
        )
        write_whole(path, document)

    def explain(self, X: Rows, *, background: Rows | None = None) -> Explanation:
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

    def describe(self) -> Description:
        """Describe the model: its columns, their influence, and its atoms.

        `print(clf.describe())` shows a summary, `clf.describe().to_dict()` is for programs.

        Returns
        -------
        Description
        """
        from fcgboost.inspection import describe  # not needed for predictions

        return describe(twin_of(self))

    def _background(self) -> Matrix | None:
        if self._sample_ is not None:
            from fcgboost.explanation import most_rows

            return self._sample_[: most_rows(self._sample_.shape[1])]
        return None if self._loaded_ is None else self._loaded_.background

    def truncate(self, k: int) -> Self:
        """Return a fitted copy of the estimator after k steps of its path.

        k is between 0 and len(trace_), and may exceed the n_iter_ steps that validation kept. Of
        several members, each keeps the first k of its steps, and k is at most n_iter_. The link is
        not fitted again. A model saved without its path has its n_iter_ steps only.
        """
        members = self._fitted()
        checks.check_number(
            "k",
            k,
            0,
            whole=True,
        )
        short = copy.copy(self)
        if k != self.n_iter_:
            self._check_path()
            is_path = len(members) == 1
            longest = members[0].trace.n_steps if is_path else self.n_iter_
            if k > longest:
                raise ValueError(f"k={k} is more than the {longest} steps of the path.")
            short.members_ = Members(
                member.truncated(k if is_path else min(k, member.n_iter)) for member in members
            )
            for name in OUT_OF_FOLD:
                short.__dict__.pop(name, None)
        return short

    def _fitted(self) -> tuple[Member, ...]:
        if "members_" not in vars(self):  # faster than scikit-learn's check
            check_is_fitted(self, "members_", msg=self._unfitted)
        if not isinstance(self.members_, Members):
            # skops rebuilds a plain tuple, whose members would be added up in another order.
            self.members_ = Members(self.members_)
        return self.members_

    def _decision(self, X: Rows) -> Array | Tensor:
        members = self._fitted()
        return self._flat(decision_of(members, checks.check_rows(self, X), self.n_jobs))

    def _by_fold(self, X: Rows, alpha: float) -> tuple[HeldOutErrors, list[Array]]:
        """Return the errors of held-out rows, and what the members of each fold decide."""
        members: Sequence[Member] = self._fitted()
        checks.check_number(
            "alpha",
            alpha,
            0,
            strict=True,
        )
        if alpha >= 1.0:
            raise ValueError(f"alpha must be less than 1, got {alpha!r}.")
        errors = self._errors_
        if errors is None:
            raise ValueError(
                "There are no errors of held-out rows to tell how far off predictions are: fit "
                "with cv, for example cv=5, or with X_val and y_val."
            )
        rows = checks.to_host(checks.check_rows(self, X))
        parts = [members]
        if errors.are_folds:
            n_folds = len(errors.errors)
            parts = [of_fold(members, fold, n_folds) for fold in range(n_folds)]
        return errors, [decision_of(part, rows, self.n_jobs) for part in parts]

    def _has_path(self) -> bool:
        return all(member.has_path for member in self._fitted())

    def _check_path(self) -> None:
        if not self._has_path():
            raise ValueError(
                "This model was loaded without its path: it was saved with trace=False. Only the "
                f"model after all {self.n_iter_} steps is available."
            )

    def _staged_decision(self, X: Rows) -> Iterator[Array | Tensor]:
        members = self._fitted()
        X = checks.check_rows(self, X)
        self._check_path()
        most_entries = get_config()["working_memory"] * 2**17
        for decision in staged_decision_of(
            members,
            X,
            most_entries,
            self.n_jobs,
        ):
            yield self._flat(decision)

    def __sklearn_is_fitted__(self) -> bool:
        return "members_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Not "categorical", which in scikit-learn means integers.
        tags.input_tags.sparse = tags.input_tags.string = True
        tags.input_tags.allow_nan = checks.takes_missing(self)
        return tags


def in_kind(values: Array | Tensor, X: Rows) -> Array | Tensor:
    """Return values like X: for a tensor, a tensor of its precision on its device."""
    values = to_device_of(values, X)
    return values.to(X.dtype) if is_tensor(X) and X.is_floating_point() else values


@contextmanager
def all_or_nothing(estimator: T) -> Iterator[T]:
    """Yield a twin to be fitted, whose attributes the estimator takes over if the fit succeeds.

    Other threads may predict meanwhile: they see the last fit or the new one, never parts of both.
    """
    twin = twin_of(estimator)
    yield twin
    unfitted = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    estimator.__dict__ = unfitted | fitted_attributes(twin)


def twin_of(estimator: T) -> T:
    """Return an estimator with the attributes that this one has now."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = vars(estimator).copy()
    return twin


def fitted_attributes(estimator: BaseEstimator) -> dict[str, Any]:
    """Return what a fit has set."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}
