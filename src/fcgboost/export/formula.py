"""What a fitted model computes, as plain numbers and words: what every export starts from."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.dictionaries import (
    Array,
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.io import split_model
from fcgboost.losses import CubedHinge, Loss, ProbabilityLoss, Square, SquaredHinge

KINDS: dict[str, type[Dictionary]] = {
    "gauss": GaussDictionary,
    "polynomial": PolynomialDictionary,
    "sigmoid": SigmoidDictionary,
    "relu": ReluDictionary,
}
# What the values of an atom depend on: a user's class that leaves these as they are, and only
# proposes other atoms, is exported like its parent.
_VALUES = ("evaluate", "prepared", "profile")
_PROBABILITIES = {
    SquaredHinge.probability: "linear",
    Square.probability: "linear",
    CubedHinge.probability: "squares",
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A sum of atoms with all that surrounds it, standardisation and labels included.

    Attributes
    ----------
    kind : {"gauss", "polynomial", "sigmoid", "relu"}
    degree : int
        The power of a polynomial; 1 for the others.
    rows : ndarray or CSR matrix of shape (n_atoms, n_features)
        Centres or weights, in the units of the inputs.
    last : ndarray of shape (n_atoms,)
        Widths or offsets.
    scale : ndarray of shape (n_features,)
        One unit of each input, for distances.
    coef : ndarray of shape (n_outputs, n_atoms)
    intercept : ndarray of shape (n_outputs,)
    probability : {"linear", "squares"} or None
        How a decision value becomes a probability: (1 + f) / 2, or the ratio of the squares of
        1 + f and 1 - f; None where the loss determines none.
    labels : list of bool, int, float or str
    names : list of str or None
        The names of the inputs, where the training data had them.
    encoder : TableEncoder or None
        What turns a table into the inputs.
    """

    kind: str
    degree: int
    rows: Any
    last: Array
    scale: Array
    coef: Array
    intercept: Array
    probability: str | None
    labels: list[Any]
    names: list[str] | None
    encoder: Any

    @property
    def n_atoms(self) -> int:
        """The number of atoms."""
        return len(self.last)

    @property
    def n_features(self) -> int:
        """The number of inputs of the sum: what an encoder gives, if there is one."""
        return len(self.scale)

    @property
    def n_outputs(self) -> int:
        """1 for two classes, else the number of classes."""
        return len(self.intercept)

    @property
    def sizes(self) -> str:
        """The sizes in words."""
        atoms = "atom" if self.n_atoms == 1 else "atoms"
        inputs = "input" if self.n_features == 1 else "inputs"
        return (
            f"{self.n_atoms} {self.kind} {atoms}, {self.n_features} {inputs}, "
            f"{len(self.labels)} classes"
        )

    def dense_rows(self) -> Array:
        """Give centres or weights as a dense array."""
        return np.asarray(self.rows.toarray() if sparse.issparse(self.rows) else self.rows)


def formula_of(model: Any) -> Formula:
    """Take a fitted model apart.

    Parameters
    ----------
    model : classifier of the package, or Pipeline of TableEncoder and such a classifier

    Raises
    ------
    ValueError
        For a dictionary, a loss or labels that no export knows how to write.
    """
    encoder, classifier = split_model(model)
    fitted = classifier.model_
    atoms = fitted.atoms.tocsr() if sparse.issparse(fitted.atoms) else fitted.atoms
    # An atom that no class uses adds nothing.
    is_used = (fitted.coef != 0.0).any(axis=0)
    atoms, coef = atoms[is_used], fitted.coef[:, is_used]
    rows, last = atoms[:, :-1], atoms[:, -1]
    names = getattr(classifier, "feature_names_in_", None)
    return Formula(
        kind=_kind(fitted.dictionary),
        degree=int(getattr(fitted.dictionary, "degree", 1)),
        rows=rows,
        last=last.toarray().ravel() if sparse.issparse(last) else last,
        scale=fitted.scale,
        coef=coef,
        intercept=fitted.intercept,
        probability=_probability(classifier._loss_),
        labels=_labels(classifier.classes_),
        names=None if names is None or encoder is not None else [str(name) for name in names],
        encoder=encoder,
    )


def package_version() -> str:
    """Give the version of the package, for the files it writes."""
    try:
        return version("fcgboost")
    except PackageNotFoundError:
        return "unknown"


def _kind(dictionary: Dictionary) -> str:
    found = type(dictionary)
    for kind, known in KINDS.items():
        if all(getattr(found, name, None) is getattr(known, name, None) for name in _VALUES):
            return kind
    raise ValueError(
        f"{found.__name__} cannot be exported: the atoms that have a form in C and ONNX are those "
        f"of {', '.join(known.__name__ for known in KINDS.values())}."
    )


def _probability(loss: Loss) -> str | None:
    if not isinstance(loss, ProbabilityLoss):
        return None
    form = _PROBABILITIES.get(type(loss).probability)
    if form is None:
        raise ValueError(
            f"{type(loss).__name__} cannot be exported: the probabilities that have a form in C "
            "and ONNX are those of SquaredHinge, Square and CubedHinge."
        )
    return form


def _labels(classes: Any) -> list[Any]:
    labels: list[Any] = classes.tolist()
    for kind in (bool, int, float, str):
        if all(isinstance(label, kind) for label in labels):
            return labels
    raise ValueError(
        "Labels of mixed or unknown types cannot be exported: they must all be text, whole "
        f"numbers, numbers or booleans, got {labels}."
    )
