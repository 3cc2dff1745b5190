"""What the atoms of a model look at, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.dictionaries import (
    ConstantDictionary,
    Dictionary,
    EllipticDictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.importances import weights_of
from fcgboost.model import by_family
from fcgboost.report.document import Cell, Head, Table
from fcgboost.report.subject import Array, Subject
from fcgboost.report.wording import count, label, listed, number, shortened

_NAMES: dict[type[Dictionary], str] = {
    GaussDictionary: "Gauss",
    PolynomialDictionary: "polynomial",
    SigmoidDictionary: "sigmoid",
    ReluDictionary: "ReLU",
    EllipticDictionary: "elliptic",
    LinearDictionary: "linear",
    StepDictionary: "step",
    ConstantDictionary: "constant",
    TreeDictionary: "tree",
}
_MOST_FEATURES = 3
_LONGEST_NAME = 24
_MOST_ATOMS = 200
_MOST_CLASSES = 5


def dictionary_name(dictionary: Dictionary) -> str:
    """Give the name of a dictionary as an adjective: "ReLU", "Gauss", "ReLU and tree"."""
    if isinstance(dictionary, UnionDictionary):
        return listed(list(dict.fromkeys(map(dictionary_name, dictionary.families))))
    return _NAMES.get(type(dictionary), type(dictionary).__name__.removesuffix("Dictionary"))


def describe_atoms(subject: Subject, atoms: Any) -> list[str]:
    """Say in a line each what atoms look at: the features that move them most.

    For neurons and polynomials these have the largest weights in standardised units; of kernels
    the centre is given, in the features that move the whole model most; of sparse ones, in the
    centre's largest entries; of trees the features that they split first and most often.
    """
    model = subject.classifier.model_
    found = by_family(model.dictionary, atoms, len(model.scale))
    texts = [""] * atoms.shape[0]
    for family, places, rows in found:
        kind = (
            f"{dictionary_name(family)}: " if isinstance(model.dictionary, UnionDictionary) else ""
        )
        for place, text in zip(places, _describe(subject, family, rows), strict=True):
            texts[place] = f"{kind}{text}" if text else ""
    return texts


def _describe(subject: Subject, family: Dictionary, rows: Any) -> list[str]:
    names, scale = subject.feature_names, subject.classifier.model_.scale
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
    weights = weights_of(family, rows, scale)
    if weights is None or weights.shape[1] != len(names):
        return [""] * len(dense)
    if isinstance(family, ConstantDictionary):
        return ["constant"] * len(dense)
    if isinstance(family, TreeDictionary):
        return [_splits(row, names) for row in weights]
    if isinstance(family, EllipticDictionary):
        return [_bell(row, own, names) for row, own in zip(dense, weights, strict=True)]
    if not isinstance(family, GaussDictionary):
        return [_direction(row, names) for row in weights]
    if sparse.issparse(rows):
        return [_sparse_center(row, names, scale) for row in dense[:, :-1]]
    shown = _largest(subject)
    return [_center(row, names, shown) for row in dense]


def _splits(shares: Array, names: list[str]) -> str:
    order = np.argsort(-shares, kind="stable")[:_MOST_FEATURES]
    used = [_short(names[j]) for j in order if shares[j] > 0.0]
    more = int(np.count_nonzero(shares)) - len(used)
    rest = f" and {more} more" if more else ""
    return f"splits by {', '.join(used)}{rest}" if used else "constant"


def _bell(row: Array, sharpness: Array, names: list[str]) -> str:
    order = np.argsort(-np.abs(sharpness), kind="stable")[:_MOST_FEATURES]
    shown = sorted(j for j in order.tolist() if sharpness[j] != 0.0)
    is_all = np.count_nonzero(sharpness) == len(shown)
    parts = [f"{_short(names[j])} = {number(row[j])}" for j in shown]
    return f"near {', '.join(parts)}{'' if is_all else ', …'}" if parts else "constant"


def _direction(weights: Array, names: list[str]) -> str:
    order = np.argsort(-np.abs(weights), kind="stable")[:_MOST_FEATURES]
    used = [j for j in order if weights[j] != 0.0]
    parts = [f"{'−' if weights[j] < 0 else '+'} {_short(names[j])}" for j in used]
    more = int(np.count_nonzero(weights)) - len(used)
    rest = f" and {more} more" if more else ""
    return f"{' '.join(parts)}{rest}" if parts else "constant"


def _center(row: Array, names: list[str], shown: list[int]) -> str:
    parts = [f"{_short(names[j])} = {number(row[j])}" for j in shown]
    rest = ", …" if len(names) > len(shown) else ""
    return f"near {', '.join(parts)}{rest}"


def _sparse_center(row: Array, names: list[str], scale: Array) -> str:
    """Name the largest entries: of text and the like nearly all are 0."""
    order = np.argsort(-np.abs(row / scale), kind="stable")[:_MOST_FEATURES]
    parts = [f"{_short(names[j])} = {number(row[j])}" for j in order if row[j] != 0.0]
    more = int(np.count_nonzero(row)) - len(parts)
    rest = f" and {more} more that are not 0" if more else ", all others 0"
    return f"near {', '.join(parts)}{rest}" if parts else "near 0 in every feature"


def _largest(subject: Subject) -> list[int]:
    """Give the features that matter most, in their own order."""
    influence = subject.feature_influence
    if influence is None:
        return list(range(min(_MOST_FEATURES, len(subject.feature_names))))
    return sorted(np.argsort(-influence, kind="stable")[:_MOST_FEATURES].tolist())


def _short(name: str) -> str:
    return shortened(name, _LONGEST_NAME)


def atom_table(subject: Subject) -> Table:
    """List the atoms of a model with their coefficients."""
    model = subject.classifier.model_
    sizes = np.abs(model.coef).max(axis=0, initial=0.0)
    order = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_ATOMS])
    names = _outputs(subject)
    heads = [Head("atom", "number"), Head("step", "number")]
    heads += [Head(name, "number") for name in names] + [Head("what it looks at", "text")]
    texts = describe_atoms(subject, model.atoms[order])
    rows = []
    for j, text in zip(order, texts, strict=True):
        coef = model.coef[:, j] if len(names) == len(model.coef) else [sizes[j]]
        numbers = [Cell(number(c), key=float(c)) for c in coef]
        step = Cell(str(model.entered[j]), key=float(model.entered[j]))
        rows.append([Cell(str(j + 1), key=float(j + 1)), step, *numbers, Cell(text)])
    left_out = model.n_atoms - len(order)
    notes = [f"The {count(left_out, 'smallest atom')} are left out."] if left_out else []
    caption = f"The {count(model.n_atoms, 'atom')} and their coefficients."
    return Table(caption, heads, rows, notes, is_folded=True)


def _outputs(subject: Subject) -> list[str]:
    """Name the columns of coefficients."""
    classes = subject.classes
    if len(classes) == 2:
        return ["coefficient"]
    if len(classes) > _MOST_CLASSES:
        return ["largest coefficient"]
    return [f"for {label(value)}" for value in classes]
