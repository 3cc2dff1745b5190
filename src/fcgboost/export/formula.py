"""What a fitted model computes, as plain numbers and words: what every export starts from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import host
from fcgboost.calibration import PowerLink
from fcgboost.clipping import Limits
from fcgboost.dictionaries import Array, Dictionary, PolynomialDictionary, UnionDictionary, growth
from fcgboost.dictionaries.bins import N_CODES
from fcgboost.export.sources import Sources, sources_of
from fcgboost.io import split_model
from fcgboost.losses import CubedHinge, Loss, ProbabilityLoss, Square, SquaredHinge
from fcgboost.model import Member, Model, by_family
from fcgboost.training.checks import FAMILIES

_KINDS = {
    kind: FAMILIES["dictionary"][1][kind]
    for kind in ("gauss", "polynomial", "sigmoid", "relu", "linear", "step", "tree")
}
# What the values of an atom depend on: a user's class that leaves these as they are, and only
# proposes other atoms, is exported like its parent.
_VALUES = ("evaluate", "prepared", "profile")
# So many deviations from zero, floats are an eighth of a deviation apart.
_FARTHEST, _BEYOND = 2.0**20, np.finfo(np.float64).max
_PROBABILITIES = {
    SquaredHinge.probability: "linear",
    Square.probability: "linear",
    CubedHinge.probability: "squares",
}


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes of trees one after the other, only those that can be reached."""

    #: 0 for a leaf.
    feature: NDArray[np.int64]
    #: A threshold, or the value of a leaf; of categories the number of their set.
    value: Array
    #: How many nodes farther the left child is, with the right one behind it; 0 for a leaf.
    left: NDArray[np.int64]
    is_missing_left: NDArray[np.bool_]
    is_category: NDArray[np.bool_]
    #: Sets of categories: whole numbers whose bits are codes that go left.
    sets: list[int]
    #: Codes below this are in sets or not; others go where missing values go.
    n_codes: int
    roots: list[int]
    #: The levels below the root of the deepest tree.
    depth: int


@dataclass(frozen=True, eq=False)
class Block:
    """The atoms of one kind."""

    #: One of `_KINDS`.
    kind: str
    #: The power of a polynomial; 1 for the others.
    degree: int
    #: Of shape (n_outputs, n_atoms).
    coef: Array
    #: The inputs that the atoms see.
    inputs: slice
    #: Centres or weights in the units of the inputs, an array or a CSR matrix; not of trees.
    rows: Any = None
    #: Widths or offsets; not of trees.
    last: Any = None
    #: Of trees only.
    forest: Any = None

    @property
    def n_atoms(self) -> int:
        return int(self.coef.shape[1])

    @property
    def name(self) -> str:
        """The kind, and what tells it from others of its kind."""
        return f"{self.kind}_{self.degree}" if self.kind == "polynomial" else self.kind


@dataclass(frozen=True, eq=False)
class Formula:
    """A sum of atoms with all that surrounds it, standardisation and labels included."""

    #: One for each kind of atoms.
    blocks: list[Block]
    #: The kind of all atoms, or "union".
    kind: str
    #: One unit of each input, for distances.
    scale: Array
    #: What inputs are clipped to.
    limits: Limits | None
    #: The same, and what keeps atoms finite.
    bounds: Limits | None
    #: Whether inputs that only trees see may be NaN.
    takes_missing: bool
    intercept: Array
    #: How a decision value becomes a probability: (1 + f) / 2 ("linear"), the ratio of the squares
    #: of 1 + f and 1 - f ("squares"), or a link; None where neither determines one.
    probability: str | PowerLink | None
    #: All bool, int, float or str.
    labels: list[Any]
    #: The names of the numbers of a row, where the training data had them.
    names: list[str] | None
    #: What the inputs are made of.
    sources: Sources

    @property
    def n_atoms(self) -> int:
        return sum(block.n_atoms for block in self.blocks)

    @property
    def n_features(self) -> int:
        """The number of inputs of the sum."""
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


def formula_of(model: Any, real: str = "double") -> Formula:
    """Take a fitted model apart; a ValueError says what cannot be exported with such inputs."""
    encoder, classifier = split_model(model)
    fitted = classifier.model_
    is_union = isinstance(fitted.dictionary, UnionDictionary)
    sources = sources_of(encoder, classifier)
    names = None if sources.is_table else getattr(classifier, "feature_names_in_", None)
    takes_missing = fitted.dictionary.takes_missing if sources.is_raw else sources.has_gaps
    formula = Formula(
        blocks=list(_blocks(fitted)),
        kind="union" if is_union else _kind(fitted.dictionary),
        scale=fitted.scale,
        limits=fitted.limits,
        bounds=fitted.bounds,
        takes_missing=bool(takes_missing),
        intercept=fitted.intercept,
        probability=classifier.link_ or _probability(classifier._loss_),
        labels=_labels(classifier.classes_),
        names=None if names is None else [str(name) for name in names],
        sources=sources,
    )
    if real == "float":
        _check_floats(formula)
    return formula


def _check_floats(formula: Formula) -> None:
    """Refuse a column so far from zero that floats hardly tell its values apart, by its name."""
    sources, scale = formula.sources, formula.scale
    far = np.array([abs(getattr(one, "fill", None) or np.inf) for _, one in sources.in_order])
    for block in formula.blocks:
        if block.kind == "tree":
            forest = block.forest
            is_number = (forest.left > 0) & ~forest.is_category
            np.minimum.at(far, forest.feature[is_number], np.abs(forest.value[is_number]))
        elif block.kind == "gauss":
            nearest = np.abs(host(block.rows)).min(axis=0)
            far[block.inputs] = np.minimum(far[block.inputs], nearest)
    # A threshold may be beyond all numbers. A constant, or what is not standardised, has unit 1.
    is_lost = (far > _FARTHEST * scale) & (far < _BEYOND) & (scale != 1.0)
    for j in (sources.in_order[place][0] for place in np.flatnonzero(is_lost)):
        name = sources.all[j].column.name or (formula.names or {j: f"x{j}"})[j]
        raise ValueError(
            f"The column {name!r} lies so far from zero that floats cannot separate its values: "
            "export with precision='double' (C), input_type='double' (ONNX), or subtract its mean."
        )


def _blocks(model: Model) -> Iterator[Block]:
    """Yield the atoms of every kind; an atom that no class uses adds nothing."""
    used = np.flatnonzero((model.coef != 0.0).any(axis=0))
    coef, whole = model.coef[:, used], slice(0, len(model.scale))
    found: dict[tuple[str, int, int, int], list[Member]] = {}
    for member in by_family(model.dictionary, model.atoms[used], whole.stop):
        family, kind = member.family, _kind(member.family)
        degree = int(family.degree) if isinstance(family, PolynomialDictionary) else 1
        # Trees look at few inputs, wherever these are: all are one forest.
        seen = whole if kind == "tree" else member.inputs
        found.setdefault((kind, degree, seen.start, seen.stop), []).append(member)
    for (kind, degree, *ends), members in found.items():
        own, seen = np.hstack([coef[:, member.places] for member in members]), slice(*ends)
        if kind == "tree":
            yield Block(kind, degree, own, seen, forest=_forest_of(members))
            continue
        atoms = members[0].rows
        if len(members) > 1:  # only unions have several, and their atoms are dense
            atoms = np.vstack([member.rows for member in members])
        yield Block(kind, degree, own, seen, atoms[:, :-1], host(atoms[:, -1]).reshape(-1))


def _forest_of(members: list[Member]) -> Forest:
    """Lay out trees level by level: so a child is close to its parent."""
    nodes: list[Array] = []
    left: list[int] = []
    levels: list[int] = []
    roots = []
    for first, row in ((member.inputs.start, row) for member in members for row in member.rows):
        trees = growth.nodes_of(row[None])
        tree = np.dstack([trees, growth.sets_of(trees)])[0]
        tree[tree[:, 0] >= 0.0, 0] += first
        roots.append(len(left))
        nodes.append(tree[0])
        levels.append(0)
        while len(left) < len(nodes):
            place, node = len(left), nodes[len(left)]
            is_leaf = node[0] == -1.0
            left.append(0 if is_leaf else len(nodes) - place)
            if not is_leaf:
                nodes += list(tree[int(node[2]) : int(node[2]) + 2])
                levels += [levels[place] + 1] * 2
    feature, value, _, kind, *words = np.array(nodes).T.copy()
    kinds = np.where(feature < 0.0, 0.0, kind).astype(np.int64)
    is_category = (kinds & growth.CATEGORIES) > 0
    n_codes = N_CODES if (kinds >= growth.MORE_WORDS).any() else growth.WORD
    sets = [
        sum(int(word) << growth.WORD * k for k, word in enumerate(own)) % 2**n_codes
        for own in np.transpose(words)[is_category]
    ]
    value[is_category] = np.arange(len(sets))
    return Forest(
        feature=np.maximum(feature, 0.0).astype(np.int64),
        value=value,
        left=np.array(left, dtype=np.int64),
        is_missing_left=(kinds & growth.MISSING_LEFT) > 0,
        is_category=is_category,
        sets=sets,
        n_codes=n_codes,
        roots=roots,
        depth=max(levels),
    )


def merge_linear(block: Block) -> Block:
    """Return linear atoms as one for every output, where that is fewer."""
    n_outputs = len(block.coef)
    if block.kind != "linear" or block.n_atoms <= n_outputs:
        return block
    rows = np.asarray(block.coef @ block.rows)
    return replace(block, coef=np.eye(n_outputs), rows=rows, last=block.coef @ block.last)


def _kind(dictionary: Dictionary) -> str:
    found = type(dictionary)
    for kind, known in _KINDS.items():
        if all(getattr(found, name, None) is getattr(known, name, None) for name in _VALUES):
            return kind
    raise ValueError(
        f"{found.__name__} cannot be exported to C or ONNX: use one of "
        f"{', '.join(known.__name__ for known in _KINDS.values())}, or a union of these."
    )


def _probability(loss: Loss) -> str | None:
    if not isinstance(loss, ProbabilityLoss):
        return None
    form = _PROBABILITIES.get(type(loss).probability)
    if form is None:
        raise ValueError(
            f"The probabilities of {type(loss).__name__} cannot be exported to C or ONNX: use "
            "SquaredHinge, Square or CubedHinge."
        )
    return form


def _labels(classes: Any) -> list[Any]:
    labels: list[Any] = classes.tolist()
    for kind in (bool, int, float, str):
        if all(isinstance(label, kind) for label in labels):
            return labels
    raise ValueError(
        "Labels of mixed or unknown types cannot be exported: they must all be strings, integers, "
        f"floats or booleans, got {labels}."
    )


def utf8(text: str, language: str) -> bytes:
    """Return the bytes of a text, if it has any."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        problem = f"{text!r} cannot be written in {language}: it is not valid Unicode text."
        raise ValueError(problem) from None
