"""What a fitted model computes, as plain numbers and words: what every export starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.calibration import PowerLink
from fcgboost.clipping import Limits
from fcgboost.dictionaries import (
    Array,
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.export.forests import Forest, forest_of
from fcgboost.io import split_model
from fcgboost.losses import CubedHinge, Loss, ProbabilityLoss, Square, SquaredHinge
from fcgboost.model import Model

KINDS: dict[str, type[Dictionary]] = {
    "gauss": GaussDictionary,
    "polynomial": PolynomialDictionary,
    "sigmoid": SigmoidDictionary,
    "relu": ReluDictionary,
    "linear": LinearDictionary,
    "step": StepDictionary,
    "tree": TreeDictionary,
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
class Block:
    """The atoms of one kind.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    degree : int
        The power of a polynomial; 1 for the others.
    rows : ndarray or CSR matrix of shape (n_atoms, n_features)
        Centres or weights, in the units of the inputs; empty for trees.
    last : ndarray of shape (n_atoms,)
        Widths or offsets.
    coef : ndarray of shape (n_outputs, n_atoms)
    forest : Forest or None
        The nodes of trees.
    """

    kind: str
    degree: int
    rows: Any
    last: Array
    coef: Array
    forest: Forest | None = None

    @property
    def n_atoms(self) -> int:
        """The number of atoms."""
        return int(self.coef.shape[1])

    @property
    def name(self) -> str:
        """The kind, and what tells it from others of its kind."""
        return f"{self.kind}_{self.degree}" if self.kind == "polynomial" else self.kind

    def dense_rows(self) -> Array:
        """Return centres or weights as a dense array."""
        return np.asarray(self.rows.toarray() if sparse.issparse(self.rows) else self.rows)


@dataclass(frozen=True, eq=False)
class Formula:
    """A sum of atoms with all that surrounds it, standardisation and labels included.

    Attributes
    ----------
    blocks : list of Block
        One for each kind of atoms.
    n_atoms : int
    kind : str
        The kind of all atoms, or "union".
    scale : ndarray of shape (n_features,)
        One unit of each input, for distances.
    limits : Limits or None
        What inputs are clipped to.
    takes_missing : bool
        Whether inputs may be NaN.
    intercept : ndarray of shape (n_outputs,)
    probability : {"linear", "squares"}, PowerLink or None
        How a decision value becomes a probability: (1 + f) / 2, the ratio of the squares of
        1 + f and 1 - f, or a link; None where neither determines one.
    labels : list of bool, int, float or str
    names : list of str or None
        The names of the inputs, where the training data had them.
    encoder : TableEncoder or None
        What turns a table into the inputs.
    """

    blocks: list[Block]
    n_atoms: int
    kind: str
    scale: Array
    limits: Limits | None
    takes_missing: bool
    intercept: Array
    probability: str | PowerLink | None
    labels: list[Any]
    names: list[str] | None
    encoder: Any

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
        kinds = f"{self.kind} {atoms}"
        if self.kind == "union":
            kinds = f"{atoms} ({', '.join(block.kind for block in self.blocks)})"
        return f"{self.n_atoms} {kinds}, {self.n_features} {inputs}, {len(self.labels)} classes"


def formula_of(model: Any) -> Formula:
    """Take a fitted model apart; a ValueError says what cannot be exported."""
    encoder, classifier = split_model(model)
    fitted = classifier.model_
    blocks = list(_blocks(fitted))
    names = getattr(classifier, "feature_names_in_", None)
    is_union = isinstance(fitted.dictionary, UnionDictionary)
    return Formula(
        blocks=blocks,
        n_atoms=sum(block.n_atoms for block in blocks),
        kind="union" if is_union else _kind(fitted.dictionary),
        scale=fitted.scale,
        limits=fitted.limits,
        takes_missing=bool(fitted.dictionary.takes_missing),
        intercept=fitted.intercept,
        probability=classifier.link_ or _probability(classifier._loss_),
        labels=_labels(classifier.classes_),
        names=None if names is None or encoder is not None else [str(name) for name in names],
        encoder=encoder,
    )


def _blocks(model: Model) -> Iterator[Block]:
    """Return the atoms of every kind; an atom that no class uses adds nothing."""
    is_used = (model.coef != 0.0).any(axis=0)
    atoms = model.atoms.tocsr() if sparse.issparse(model.atoms) else model.atoms
    atoms, coef = atoms[is_used], model.coef[:, is_used]
    parts: Iterable[tuple[Dictionary, Any, Array]] = [(model.dictionary, atoms, coef)]
    if isinstance(model.dictionary, UnionDictionary):
        parts = [
            (model.dictionary.families[number], rows, coef[:, places])
            for number, places, rows in model.dictionary.members(atoms, len(model.scale))
        ]
    found: dict[str, list[Block]] = {}
    for dictionary, rows, own in parts:
        if own.shape[1] or not isinstance(model.dictionary, UnionDictionary):
            block = _block(dictionary, rows, own)
            found.setdefault(block.name, []).append(block)
    for several in found.values():
        if several[0].n_atoms:
            yield several[0] if len(several) == 1 else _concatenated(several)


def _block(dictionary: Dictionary, atoms: Any, coef: Array) -> Block:
    kind = _kind(dictionary)
    if kind == "tree":
        forest = forest_of(atoms)
        return Block(kind, 1, np.zeros((coef.shape[1], 0)), np.zeros(coef.shape[1]), coef, forest)
    last = atoms[:, -1]
    last = last.toarray().ravel() if sparse.issparse(last) else last
    degree = int(dictionary.degree) if isinstance(dictionary, PolynomialDictionary) else 1
    return Block(kind, degree, atoms[:, :-1], last, coef)


def _concatenated(blocks: list[Block]) -> Block:
    """Put blocks of one kind together; atoms of a union are dense."""
    forests = [block.forest for block in blocks if block.forest is not None]
    return Block(
        kind=blocks[0].kind,
        degree=blocks[0].degree,
        rows=np.vstack([block.rows for block in blocks]),
        last=np.concatenate([block.last for block in blocks]),
        coef=np.hstack([block.coef for block in blocks]),
        forest=Forest.joined(forests) if forests else None,
    )


def merge_linear(block: Block) -> Block:
    """Return linear atoms as one for every output, where that is fewer."""
    n_outputs = len(block.coef)
    if block.kind != "linear" or block.n_atoms <= n_outputs:
        return block
    rows = np.asarray(block.coef @ block.rows)
    return Block("linear", 1, rows, block.coef @ block.last, np.eye(n_outputs))


def _kind(dictionary: Dictionary) -> str:
    found = type(dictionary)
    for kind, known in KINDS.items():
        if all(getattr(found, name, None) is getattr(known, name, None) for name in _VALUES):
            return kind
    raise ValueError(
        f"{found.__name__} cannot be exported: the atoms that C and ONNX can express are those "
        f"of {', '.join(known.__name__ for known in KINDS.values())}, and unions of these."
    )


def _probability(loss: Loss) -> str | None:
    if not isinstance(loss, ProbabilityLoss):
        return None
    form = _PROBABILITIES.get(type(loss).probability)
    if form is None:
        raise ValueError(
            f"{type(loss).__name__} cannot be exported: the probabilities that C and ONNX can "
            "express are those of SquaredHinge, Square and CubedHinge."
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


def utf8(text: str, language: str) -> bytes:
    """Return the bytes of a text, if it has any."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        problem = f"{text!r} cannot be written in {language}: it is not valid Unicode text."
        raise ValueError(problem) from None
