"""What a fitted model computes, as plain numbers and words: what every export starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import (
    Array,
    Codes,
    Flags,
    Matrix,
    stack_rows,
    to_numpy,
)
from fcgboost.calibration import Correction, PowerLink
from fcgboost.checks import takes_missing
from fcgboost.clipping import Limits
from fcgboost.dictionaries import Dictionary, PolynomialDictionary, UnionDictionary
from fcgboost.dictionaries.bins import N_CODES
from fcgboost.dictionaries.nodes import (
    CATEGORIES,
    MISSING_LEFT,
    MORE_WORDS,
    WORD,
    as_rows,
    nodes_of,
    sets_of,
)
from fcgboost.export.sources import Input, InputRecord, Way, record_of
from fcgboost.io import check_model
from fcgboost.losses import (
    CubedHinge,
    Loss,
    ModifiedHuber,
    ProbabilityLoss,
    Square,
    SquaredHinge,
)
from fcgboost.members import Member
from fcgboost.names import part_named
from fcgboost.prediction import BaseFCGBoost
from fcgboost.wording import count

Label = bool | int | float | str

_KINDS = {
    kind: part_named("dictionary", kind)
    for kind in ("gauss", "polynomial", "sigmoid", "relu", "linear", "step", "tree")
}
# What the values of an atom depend on: a user's class that leaves these as they are, and only
# proposes other atoms, is exported like its parent.
_VALUES = ("evaluate", "prepared", "profile")
# Farther from zero than this many deviations, a float keeps fewer than 12 bits of a deviation.
_FARTHEST = 2.0**12
_BEYOND = np.finfo(np.float64).max
_PROBABILITIES = {
    SquaredHinge.probability: "linear",
    Square.probability: "linear",
    CubedHinge.probability: "squares",
}


@dataclass(frozen=True, eq=False)
class ForestNodes:
    """Nodes of trees one after the other, only those that can be reached."""

    #: 0 for a leaf.
    feature: NDArray[np.int64]
    #: A threshold, or the value of a leaf; of categories the number of their set.
    value: Array
    #: How many nodes farther the left child is, with the right one behind it; 0 for a leaf.
    left: NDArray[np.int64]
    is_missing_left: Flags
    is_category: Flags
    #: Sets of categories: whole numbers whose bits are codes that go left.
    sets: list[int]
    #: Codes below this are in sets or not; others go where missing values go.
    n_codes: int
    roots: list[int]
    #: The levels below the root of the deepest tree.
    depth: int


@dataclass(frozen=True, eq=False)
class Block:
    """The atoms of one family."""

    #: One of `_KINDS`.
    kind: str
    #: The power of a polynomial; 1 for the others.
    degree: int
    #: Of shape (n_outputs, n_atoms).
    coef: Array
    #: The inputs that the atoms see.
    inputs: slice
    #: One row for each, an array or a CSR matrix.
    atoms: Matrix

    @property
    def n_atoms(self) -> int:
        return int(self.coef.shape[1])

    @property
    def vectors(self) -> Matrix:
        """The centres or weights in the units of the inputs; not of trees."""
        return self.atoms[:, :-1]

    @property
    def last(self) -> Array:
        """The widths or offsets; not of trees."""
        return to_numpy(self.atoms[:, -1:])[:, 0]


@dataclass(frozen=True, eq=False)
class Summand:
    """The atoms of a member, or of all members that are forests."""

    inputs: tuple[Input, ...]
    #: What inputs are clipped to: the limits, and what keeps atoms finite.
    bounds: Limits | None
    #: One unit of each input, for distances.
    scale: Array
    #: One for each family.
    blocks: list[Block]

    @property
    def n_inputs(self) -> int:
        return len(self.inputs)

    @property
    def is_raw(self) -> bool:
        """Whether inputs are the first cells of a row as they come."""
        cells = tuple(map(Input, range(self.n_inputs)))
        return self.bounds is None and self.inputs == cells

    @property
    def takes_missing(self) -> bool:
        """Whether some input is NaN where a value is missing."""
        return any(entry.way == Way.KEEP for entry in self.inputs)


@dataclass(frozen=True, eq=False)
class Formula:
    """A sum of atoms with all that surrounds it, standardisation and labels included.

    The weights of members are in the coefficients and in the intercept.
    """

    summands: list[Summand]
    n_members: int
    #: The kind of all atoms, or "union".
    kind: str
    intercept: Array
    #: Whether a row of numbers may have gaps.
    takes_missing: bool
    #: Whether inputs are clipped to limits that the training data gave.
    is_clipped: bool
    #: How a decision value becomes a probability: (1 + f) / 2 ("linear"), the ratio of the squares
    #: of 1 + f and 1 - f ("squares"), or a link; None where neither determines one.
    probability: str | PowerLink | None
    #: From labels to true classes, if predictions are of these.
    correction: Correction | None
    #: All bool, int, float or str.
    labels: list[Label]
    #: The names of the numbers of a row, where the training data had them.
    names: list[str] | None
    #: What a row consists of.
    record: InputRecord

    @property
    def n_atoms(self) -> int:
        return sum(block.n_atoms for summand in self.summands for block in summand.blocks)

    @property
    def n_cells(self) -> int:
        """The number of numbers that a row is read as."""
        return len(self.record.cells)

    @property
    def n_outputs(self) -> int:
        """1 for two classes, else the number of classes."""
        return len(self.intercept)

    @property
    def sizes(self) -> str:
        """The sizes in words."""
        atoms = count(self.n_atoms, f"{self.kind} atom")
        if self.n_members > 1:
            atoms += f" of {self.n_members} members"
        return f"{atoms}, {count(self.n_cells, 'input')}, {len(self.labels)} classes"


def formula_of(model: BaseFCGBoost, real: str = "double") -> Formula:
    """Take a fitted model apart; a ValueError says what cannot be exported with such inputs."""
    classifier = check_model(model)
    members = classifier.members_
    record = record_of(classifier)
    names = None if record.is_table else getattr(classifier, "feature_names_in_", None)
    kinds = {_member_kind(member) for member in members}
    intercepts = [member.weight * member.model.intercept for member in members]
    has_limits = any(member.model.limits is not None for member in members)
    summands = _summands(members, record)
    formula = Formula(
        summands=summands,
        n_members=len(members),
        kind=kinds.pop() if len(kinds) == 1 else "union",
        intercept=np.add.reduce(intercepts) - classifier._shift,
        takes_missing=takes_missing(classifier),
        is_clipped=has_limits and len(summands) > 0,
        probability=classifier.link_ or _probability(classifier._loss_),
        correction=classifier._correction_,
        labels=classifier.classes_.tolist(),
        names=None if names is None else [str(name) for name in names],
        record=record,
    )
    if real == "float":
        for summand in formula.summands:
            _check_floats(formula, summand)
    return formula


def _check_floats(formula: Formula, summand: Summand) -> None:
    """Refuse a column so far from zero that floats lose half of its digits, by its name."""
    scale = summand.scale
    fills = [entry.constant if entry.way == Way.FILL else 0.0 for entry in summand.inputs]
    far = np.array([abs(fill) or np.inf for fill in fills])
    for block in summand.blocks:
        if block.kind == "tree":
            forest = forest_of(block.atoms)
            is_number = (forest.left > 0) & ~forest.is_category
            numbers = np.abs(forest.value[is_number])
            np.minimum.at(far[block.inputs], forest.feature[is_number], numbers)
        elif block.kind == "gauss":
            nearest = np.abs(to_numpy(block.vectors)).min(axis=0)
            far[block.inputs] = np.minimum(far[block.inputs], nearest)
    # A threshold may be beyond all numbers. A constant, or what is not standardised, has unit 1.
    is_lost = (far > _FARTHEST * scale) & (far < _BEYOND) & (scale != 1.0)
    for i in np.flatnonzero(is_lost)[:1]:
        j = formula.record.cells[summand.inputs[i].cell].column
        name = formula.record.columns[j].name or (formula.names or {j: f"x{j}"})[j]
        raise ValueError(
            f"The column {name!r} lies too far from zero for floats: "
            "export with precision='double' (in ONNX input_type='double'), or subtract its mean."
        )


def _summands(members: Sequence[Member], record: InputRecord) -> list[Summand]:
    """Return the atoms of each member that has some; those of forests together."""
    summands: list[Summand] = []
    forests: list[Summand] = []
    for member in members:
        summand = Summand(
            inputs=record.inputs_of(member),
            bounds=member.model.bounds,
            scale=member.model.scale,
            blocks=list(_blocks(member)),
        )
        if summand.blocks:
            # Only forests do without bounds.
            (forests if summand.bounds is None else summands).append(summand)
    return [*summands, _joined(forests)] if forests else summands


def _joined(forests: Sequence[Summand]) -> Summand:
    """Return one forest that sees all that some forest sees."""
    inputs = tuple(dict.fromkeys(entry for forest in forests for entry in forest.inputs))
    positions = {entry: position for position, entry in enumerate(inputs)}
    scale = np.ones(len(inputs))
    blocks = []
    for forest in forests:
        seen = np.array([positions[entry] for entry in forest.inputs])
        scale[seen] = forest.scale
        blocks += [replace(block, atoms=_moved(block.atoms, seen)) for block in forest.blocks]
    block = Block(
        kind="tree",
        degree=1,
        coef=np.hstack([block.coef for block in blocks]),
        inputs=slice(0, len(inputs)),
        atoms=stack_rows([block.atoms for block in blocks]),
    )
    return Summand(
        inputs=inputs,
        bounds=None,
        scale=scale,
        blocks=[block],
    )


def _moved(atoms: Matrix, positions: Codes) -> Matrix:
    """Return trees whose inputs have other positions."""
    nodes = nodes_of(atoms).copy()
    is_split = nodes[:, :, 0] >= 0.0
    nodes[is_split, 0] = positions[nodes[is_split, 0].astype(np.intp)]
    return as_rows(nodes)


def _blocks(member: Member) -> Iterator[Block]:
    """Yield the weighted atoms of every family; an atom that no class uses adds nothing."""
    model = member.model
    coef = member.weight * model.coef
    used = np.flatnonzero((coef != 0.0).any(axis=0))
    for part in model.by_family(used):
        is_polynomial = isinstance(part.family, PolynomialDictionary)
        yield Block(
            kind=_kind(part.family),
            degree=int(part.family.degree) if is_polynomial else 1,
            coef=coef[:, used[part.places]],
            inputs=part.inputs,
            atoms=part.rows,
        )


def forest_of(atoms: Matrix) -> ForestNodes:
    """Lay out trees level by level: so a child is close to its parent."""
    nodes: list[Array] = []
    left: list[int] = []
    levels: list[int] = []
    roots = []
    trees = nodes_of(atoms)
    for tree in np.dstack([trees, sets_of(trees)]):
        roots.append(len(left))
        nodes.append(tree[0])
        levels.append(0)
        while len(left) < len(nodes):
            position = len(left)
            node = nodes[position]
            is_leaf = node[0] == -1.0
            left.append(0 if is_leaf else len(nodes) - position)
            if not is_leaf:
                nodes += list(tree[int(node[2]) : int(node[2]) + 2])
                levels += [levels[position] + 1] * 2
    feature, value, _, kind, *words = np.array(nodes).T.copy()
    kinds = np.where(feature < 0.0, 0.0, kind).astype(np.int64)
    is_category = (kinds & CATEGORIES) > 0
    n_codes = N_CODES if (kinds >= MORE_WORDS).any() else WORD
    sets = [
        sum(int(word) << WORD * k for k, word in enumerate(node_words)) % 2**n_codes
        for node_words in np.transpose(words)[is_category]
    ]
    value[is_category] = np.arange(len(sets))
    return ForestNodes(
        feature=np.maximum(feature, 0.0).astype(np.int64),
        value=value,
        left=np.array(left, dtype=np.int64),
        is_missing_left=(kinds & MISSING_LEFT) > 0,
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
    return replace(block, coef=np.eye(n_outputs), atoms=np.asarray(block.coef @ block.atoms))


def _member_kind(member: Member) -> str:
    dictionary = member.model.dictionary
    return "union" if isinstance(dictionary, UnionDictionary) else _kind(dictionary)


def _kind(dictionary: Dictionary) -> str:
    family = type(dictionary)
    for kind, built_in in _KINDS.items():
        if all(getattr(family, name, None) is getattr(built_in, name, None) for name in _VALUES):
            return kind
    raise ValueError(
        f"{family.__name__} cannot be exported to C or ONNX: use one of "
        f"{', '.join(part.__name__ for part in _KINDS.values())}, or a union of these."
    )


def _probability(loss: Loss) -> str | None:
    if not isinstance(loss, ProbabilityLoss):
        return None
    form = _PROBABILITIES.get(type(loss).probability)
    if type(loss) is ModifiedHuber and loss.threshold >= 2.0:
        form = "linear"  # as that of the squared hinge
    if form is None:
        raise ValueError(
            f"The probabilities of {type(loss).__name__} cannot be exported to C or ONNX: use "
            "link='power', or SquaredHinge, Square, CubedHinge or ModifiedHuber(threshold=2)."
        )
    return form


def utf8(text: str, language: str) -> bytes:
    """Return the bytes of a text, if it has any."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        problem = f"{text!r} cannot be written in {language}: it is not valid Unicode text."
        raise ValueError(problem) from None
