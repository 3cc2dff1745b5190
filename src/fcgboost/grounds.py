"""What a path is fitted to: data in this process, clipped and laid out somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import threads
from fcgboost.designs.base import Design
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.designs.devices import find_device
from fcgboost.data import DataSet
from fcgboost.dictionaries import Dictionary
from fcgboost.inputs import Limits, zeros_in
from fcgboost.parameters import n_deviations
from fcgboost.trace import StepScore
from fcgboost.validation import Array, class_weights, make_part


@dataclass(frozen=True)
class Ground:
    """What a path is fitted to: data laid out somewhere.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    design : Design
    targets : sequence of m-vectors
        One per output.
    validator : callable or None
        Scores a step on validation data.
    limits : Limits or None
        What the rows were clipped to.
    validation : DataSet or None
        The validation data; None where there is none, or where it is not here.
    class_weights : ndarray of shape (n_classes,) or None
        Those of the training loss; None where they are not known here.
    """

    classes: NDArray[Any]
    design: Design
    targets: Sequence[Any]
    validator: StepScore | None
    limits: Limits | None
    validation: DataSet | None = None
    class_weights: Array | None = None

    @property
    def n_validation(self) -> float:
        """The weight of the validation data, 0 where it is not here."""
        return 0.0 if self.validation is None else float(self.validation.weights.sum())


def find_limits(p: Any, classes: NDArray[Any], train: DataSet) -> Limits | None:
    """Return what an estimator's parameters clip inputs to, if at all."""
    clipped = n_deviations(p)
    if clipped is None:
        return None
    moments = moments_of(train.imputed(), _training_weights(p, classes, train))
    dictionary: Dictionary = make_part("dictionary", p.dictionary)
    limits = moments.limits(clipped, zeros_in(train.X))
    return limits.without(dictionary.categories(train.X.shape[1]))


def lay_out(p: Any, dictionary: Dictionary, classes: NDArray[Any], train: DataSet) -> MemoryDesign:
    """Lay a dictionary over training data as an estimator's parameters say."""
    if sparse.issparse(train.X) and p.device != "cpu":
        raise ValueError(
            f"X is sparse, and device={p.device!r} takes dense arrays only: use device='cpu', or "
            "X.toarray() if there is room for it."
        )
    dictionary.check_rows(train.X)
    weights = _training_weights(p, classes, train)
    return MemoryDesign(
        dictionary,
        train.X,
        weights,
        standardize=bool(p.standardize),
        memory_budget=int(sklearn.get_config()["working_memory"] * 2**20),
        n_threads=threads.allowed(joblib.effective_n_jobs(p.n_jobs)),
        device=find_device(p.device),
        words=train.words,
        moments=moments_of(train.imputed(), weights) if train.has_missing else None,
    )


def _training_weights(p: Any, classes: NDArray[Any], train: DataSet) -> Array:
    """Return the weights of the training loss; scores on validation data count rows as they are."""
    return np.asarray(train.weights * weights_of_classes(p, classes, train)[train.codes])


def weights_of_classes(p: Any, classes: NDArray[Any], train: DataSet) -> Array:
    """Return the weight of every class in the training loss."""
    totals = np.bincount(train.codes, train.weights, len(classes))
    return class_weights(p.class_weight, classes, totals)


def make_targets(codes: NDArray[np.intp], n_classes: int) -> list[Array]:
    """Return -1 and +1 for every output: each class against the rest, one of two alone."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == positive, 1.0, -1.0) for positive in positives]
