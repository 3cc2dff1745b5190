"""Descriptions of atoms: the features they depend on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.importances import weights_of
from fcgboost.model import by_family
from fcgboost.web.blocks import Cell, Head, Table
from fcgboost.web.models import Array, FittedModel
from fcgboost.web.text import count, label, listed, number, shortened

# Names that are not those of the classes in small letters.
_NAMES: dict[type[Dictionary], str] = {GaussDictionary: "Gauss", ReluDictionary: "ReLU"}
_MOST_FEATURES = 3
_LONGEST_NAME = 24
_MOST_ATOMS = 200
_MOST_CLASSES = 5


def dictionary_name(dictionary: Dictionary) -> str:
    """Return the name of a dictionary as an adjective: "ReLU", "Gauss", "ReLU and tree"."""
    if isinstance(dictionary, UnionDictionary):
        return listed(list(dict.fromkeys(map(dictionary_name, dictionary.families))))
    kind, own = type(dictionary), type(dictionary).__name__.removesuffix("Dictionary")
    is_ours = kind.__module__.startswith("fcgboost.")
    return _NAMES.get(kind, own.lower() if is_ours else own)


def describe_atoms(model: FittedModel, atoms: Any) -> list[str]:
    """Describe each atom in one line, by the features it depends on most.

    Neurons and polynomials: the largest weights, in standardised units. Kernels: the centre, in the
    most influential features of the model, or its largest entries if it is sparse. Trees: the
    features that they split first and most often.
    """
    fitted = model.classifier.model_
    is_union = isinstance(fitted.dictionary, UnionDictionary)
    texts = [""] * atoms.shape[0]
    for family, places, rows, inputs in by_family(fitted.dictionary, atoms, len(fitted.scale)):
        kind = f"{dictionary_name(family)}: " if is_union else ""
        for place, text in zip(places, _describe(model, family, rows, inputs), strict=True):
            texts[place] = f"{kind}{text}" if text else ""
    return texts


def _describe(model: FittedModel, family: Dictionary, rows: Any, inputs: slice) -> list[str]:
    names = [shortened(name, _LONGEST_NAME) for name in model.feature_names[inputs]]
    scale = model.classifier.model_.scale[inputs]
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
    weights = weights_of(family, rows, scale)
    if weights is None or weights.shape[1] != len(names):
        return [""] * len(dense)
    if isinstance(family, TreeDictionary):
        return [_splits(row, names) for row in weights]
    if not isinstance(family, GaussDictionary):
        return [_direction(row, names) for row in weights]
    if sparse.issparse(rows):
        return [_sparse_center(row, names, scale) for row in dense[:, :-1]]
    influence = model.feature_influence
    shares = np.zeros(len(names)) if influence is None else influence[inputs]
    order = np.argsort(-shares, kind="stable")
    rest = ", …" if len(names) > _MOST_FEATURES else ""
    # Levels that a centre does not have are not said.
    is_said = (~model.are_marks[inputs] | (dense[:, : len(names)] != 0.0))[:, order]
    first = [sorted(order[own][:_MOST_FEATURES].tolist()) for own in is_said]
    return [_near(row, own, names) + rest for row, own in zip(dense, first, strict=True)]


def _strongest(values: Array) -> list[int]:
    """Return the features with the largest values that are not 0."""
    order = np.argsort(-np.abs(values), kind="stable")[:_MOST_FEATURES]
    return [j for j in order.tolist() if values[j] != 0.0]


def _more(values: Array, shown: list[int]) -> str:
    n = int(np.count_nonzero(values)) - len(shown)
    return f" and {n} more" if n else ""


def _near(row: Array, shown: Iterable[int], names: list[str]) -> str:
    return f"near {', '.join(f'{names[j]} = {number(row[j])}' for j in shown)}"


def _splits(shares: Array, names: list[str]) -> str:
    shown = _strongest(shares)
    used = ", ".join(names[j] for j in shown)
    return f"splits by {used}{_more(shares, shown)}" if shown else "constant"


def _direction(weights: Array, names: list[str]) -> str:
    shown = _strongest(weights)
    parts = [f"{'−' if weights[j] < 0 else '+'} {abs(weights[j]):.2g} {names[j]}" for j in shown]
    return f"{' '.join(parts)}{_more(weights, shown)}" if shown else "constant"


def _sparse_center(row: Array, names: list[str], scale: Array) -> str:
    """Name the largest entries; in text data nearly all are 0."""
    shown = _strongest(row / scale)
    more = _more(row, shown)
    rest = f"{more} that are not 0" if more else ", all others 0"
    return f"{_near(row, shown, names)}{rest}" if shown else "near 0 in every feature"


def atom_table(model: FittedModel) -> Table:
    """List the atoms of a model with their coefficients."""
    fitted, classes = model.classifier.model_, model.classes
    sizes = np.abs(fitted.coef).max(axis=0, initial=0.0)
    order = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_ATOMS])
    names, coef = ["largest coefficient"], sizes[None, :]
    if len(classes) <= _MOST_CLASSES:
        coef = fitted.coef
        names = [f"for {label(value)}" for value in classes]
        names = ["coefficient"] if len(classes) == 2 else names
    heads = [Head(name, "number") for name in ("atom", "step", *names)]
    heads.append(Head("description", "text"))
    texts = describe_atoms(model, fitted.atoms[order])
    rows = []
    for j, text in zip(order, texts, strict=True):
        counts = [Cell(str(n), key=float(n)) for n in (j + 1, fitted.entered[j])]
        numbers = [Cell(number(c), key=float(c)) for c in coef[:, j]]
        rows.append([*counts, *numbers, Cell(text)])
    left_out = fitted.n_atoms - len(order)
    notes = [f"Left out: the {count(left_out, 'atom')} of the smallest coefficients."]
    notes *= left_out > 0
    caption = f"All {count(fitted.n_atoms, 'atom')} and their coefficients"
    return Table(caption, heads, rows, notes, is_folded=True)
