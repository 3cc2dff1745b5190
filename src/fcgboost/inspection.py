"""What a fitted model is made of: its columns, their influence, and its atoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from fcgboost.arrays import Array, Codes, is_sparse, to_numpy
from fcgboost.calibration import PowerLink
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PlaneDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.dictionaries.nodes import nodes_of
from fcgboost.dictionaries.union import FamilyAtoms
from fcgboost.documents.columns import column_document
from fcgboost.evaluation import TITLES
from fcgboost.members import Member
from fcgboost.prediction import BaseFCGBoost
from fcgboost.residuals import TITLES as NUMBER_TITLES
from fcgboost.stopping import Status
from fcgboost.tables import Column
from fcgboost.tables.columns import why_left_out
from fcgboost.tables.inputs import Inputs, PlainInputs
from fcgboost.threads import cached
from fcgboost.training.presets import preset_of
from fcgboost.wording import count, listed, number, shortened, text_table

__all__ = ["Description", "describe"]

# Names other than those of their classes in lower case.
_NAMES: dict[type[Dictionary], str] = {GaussDictionary: "Gauss", ReluDictionary: "ReLU"}
#: The heads of a table of kinds of members.
KIND_HEADS = ("members", "ridge", "steps", "atoms each")
_FOREST = "forest"
_OWN_ENCODINGS = (
    "Every member learns its own encodings; these are of the first member that uses the column."
)
_MOST_FEATURES = 3
_LONGEST_NAME = 24


@dataclass(frozen=True, eq=False)
class MemberKind:
    """The members of a classifier with the same families of atoms."""

    #: As an adjective, "ReLU and tree", or "forest" where trees have corrected leaves.
    name: str
    members: Sequence[Member]

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(sum(member.weight for member in self.members))

    def __str__(self) -> str:
        n = len(self.members)
        return count(n, _FOREST) if self.name == _FOREST else f"{n} of {self.name} atoms"


@dataclass(frozen=True, eq=False)
class Description:
    """A fitted model and what its atoms see; printing it shows a summary.

    Atoms are numbered through all members of the model.

    Parameters
    ----------
    classifier : FCGBoostClassifier or FCGBoostRegressor
    """

    classifier: BaseFCGBoost

    @property
    def members(self) -> tuple[Member, ...]:
        """The paths whose decision values the classifier adds up."""
        return self.classifier.members_

    @property
    def is_average(self) -> bool:
        """Whether there are several members."""
        return len(self.members) > 1

    @cached
    def kinds(self) -> list[MemberKind]:
        """The members by the families of their atoms."""
        kinds: dict[str, list[Member]] = {}
        for member in self.members:
            dictionary = member.model.dictionary
            name = _FOREST if dictionary.corrects_leaves else dictionary_name(dictionary)
            kinds.setdefault(name, []).append(member)
        return [MemberKind(name, members) for name, members in kinds.items()]

    @property
    def averaging(self) -> str:
        """A sentence about several members."""
        kinds = [f"{kind} (weight {kind.weight:.3g})" for kind in self.kinds]
        sentence = f"The model is the average of {len(self.members)} members"
        if len(kinds) > 1:
            sentence += f": {listed(kinds)}"
        return f"{sentence}."

    @cached
    def has_encodings(self) -> bool:
        """Whether atoms see anything but the columns as they are."""
        return any(type(member.inputs) is Inputs for member in self.members)

    @cached
    def inputs(self) -> Sequence[Inputs]:
        """How the columns of a table become the features that the atoms of each member see."""
        if self.has_encodings:
            return [member.inputs for member in self.members if member.inputs is not None]
        numbered = [f"feature {j}" for j in range(1, self.classifier.n_features_in_ + 1)]
        names = getattr(self.classifier, "feature_names_in_", numbered)
        fills = getattr(self.members[0].inputs, "fills", None)
        return [PlainInputs(list(names), fills)] * len(self.members)

    @property
    def columns(self) -> tuple[Column, ...]:
        """How each column of the table is read, and encoded for the first member that uses it."""
        return self.classifier.columns_ if self.has_encodings else self.inputs[0].columns

    @cached
    def influence(self) -> Array | None:
        """The share of every column in `feature_importances_`; None if that is not available."""
        return getattr(self.classifier, "feature_importances_", None)

    @property
    def class_names(self) -> list[str]:
        """The names of the classes; none of a regressor."""
        return [str(name) for name in getattr(self.classifier, "classes_", ())]

    @property
    def link(self) -> PowerLink | None:
        """The fitted link to probabilities, if there is one."""
        return getattr(self.classifier, "link_", None)

    @cached
    def coef(self) -> Array:
        """The coefficients of all atoms times the weights of the members, a row per output."""
        return np.hstack([member.weight * member.model.coef for member in self.members])

    @cached
    def entered(self) -> Codes:
        """The step at which each atom entered."""
        return np.concatenate([member.model.entered for member in self.members])

    @cached
    def owners(self) -> Codes:
        """The position of the member that each atom belongs to."""
        counts = [member.model.n_atoms for member in self.members]
        return np.repeat(np.arange(len(counts)), counts)

    @property
    def family_names(self) -> list[str]:
        """The families of the dictionaries as adjectives: "ReLU", "tree", "Gauss"."""
        names: list[str] = []
        for member in self.members:
            names += map(dictionary_name, member.model.dictionary.families)
        return list(dict.fromkeys(names))

    @property
    def is_preset(self) -> bool:
        """Whether the dictionary is a preset."""
        return preset_of(self.classifier.dictionary) is not None

    @property
    def is_chosen(self) -> bool:
        """Whether the fit chose ridge and number of steps on held-out rows."""
        classifier = self.classifier
        is_free = bool(classifier.l2 == classifier.max_iter == "auto")
        return self.is_preset and is_free and classifier.cv is not None

    @property
    def k0(self) -> int:
        """The number of steps that theory suggests for the training data."""
        return int(self.classifier._k0_)

    @property
    def has_background(self) -> bool:
        """Whether the classifier holds training rows to explain predictions against."""
        return self.classifier._background() is not None

    @property
    def endings(self) -> list[Status]:
        """Why the paths ended."""
        return list(dict.fromkeys(member.status for member in self.members))

    def recorded(self, *keys: str) -> Mapping[str, Any]:
        """Return a mapping within `about_`, in which users may have stored anything."""
        part: Mapping[str, Any] = self.classifier.about_
        for key in keys:
            value = part.get(key)
            part = value if isinstance(value, Mapping) else {}
        return part

    def families(self) -> dict[str, int]:
        """Return the number of atoms of every family of the dictionaries."""
        counts: Counter[str] = Counter()
        for member in self.members:
            for group in member.model.by_family():
                counts[dictionary_name(group.family)] += len(group.places)
        return dict(counts)

    def atom_texts(self, positions: Sequence[int] | Codes) -> list[str]:
        """Describe atoms in one line each, by the features they depend on most.

        Neurons and polynomials: the largest weights, in standardised units. Kernels: the centre, in
        the most influential features of the model, or its largest entries if it is sparse. Trees:
        the features that they split first.
        """
        texts = [""] * len(positions)
        is_mixed = len(self.family_names) > 1
        wanted = np.asarray(positions, dtype=np.intp)
        owners = self.owners[wanted]
        first = 0
        for owner, inputs in enumerate(self.inputs):
            model = self.members[owner].model
            numbers = np.flatnonzero(owners == owner)
            for group in model.by_family(wanted[numbers] - first):
                phrases = self._describe(group, inputs, model.scale[group.inputs])
                family = f"{dictionary_name(group.family)}: " if is_mixed else ""
                for i, phrase in zip(numbers[group.places], phrases, strict=False):
                    texts[i] = family + phrase
            first += model.n_atoms
        return texts

    def _describe(self, atoms: FamilyAtoms, inputs: Inputs, scale: Array) -> list[str]:
        """Describe the atoms of one family; of an unknown family there is nothing to say."""
        names = [shortened(name, _LONGEST_NAME) for name in inputs.names()[atoms.inputs]]
        if isinstance(atoms.family, TreeDictionary):
            return [_splits(nodes, names) for nodes in nodes_of(atoms.rows)]
        # The last parameter is an offset or a width.
        rows = to_numpy(atoms.rows)[:, :-1]
        if isinstance(atoms.family, PlaneDictionary):
            return [_direction(row, names) for row in rows * scale]
        if not isinstance(atoms.family, GaussDictionary):
            return []
        if is_sparse(atoms.rows):
            return [_near(row, _strongest(row / scale), names) for row in rows]
        shares = np.zeros(len(names))
        if self.influence is not None:
            of_pairs = [self.influence[list(pair.columns)].mean() for pair in inputs.pairs]
            shares = np.append(self.influence, of_pairs)[inputs.sources[atoms.inputs]]
        order = np.argsort(-shares, kind="stable")
        texts = []
        for row in rows:
            # Zeros, such as levels that a centre does not have, are left out.
            features = order[row[order] != 0.0].tolist()
            texts.append(_near(row, features, names))
        return texts

    def to_dict(self) -> dict[str, Any]:
        """Return the description for JSON."""
        classifier = self.classifier
        facts = {
            "families": self.families(),
            "loss": str(classifier.loss),
            "link": None if self.link is None else asdict(self.link),
            "classes": self.class_names,
            "n_atoms": classifier.n_atoms_,
            "n_steps": classifier.n_iter_,
            "members": list(map(_member_facts, self.members, self.inputs)),
            "about": classifier.about_,
            "columns": [
                column_document(column) | {"treatment": encoding_of(column)}
                for column in self.columns
            ],
        }
        if self.influence is not None:
            names = [column.name for column in self.columns]
            facts["influence"] = dict(zip(names, self.influence.tolist(), strict=True))
        return facts

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int = 10) -> str:
        """Return the description in words, with the largest `top` columns and atoms."""
        blocks = ["\n".join(self._making())]
        if self.recorded("test", "scores"):
            blocks.append(self._recorded_scores())
        if self.is_average:
            blocks.append(f"Members\n\n{text_table(KIND_HEADS, self.kind_rows())}")
        if self.has_encodings:
            rows = [(column.name, kind_of(column), encoding_of(column)) for column in self.columns]
            pairs = {pair.name: pair for inputs in self.inputs for pair in inputs.pairs}
            rows += [(name, "pair", listed(pair.output_names())) for name, pair in pairs.items()]
            table = text_table(("column", "kind", "encoding"), rows, n_labels=3)
            blocks += ["Columns", *self.encoding_notes, table]
        if self.influence is not None:
            blocks.append(self.influence_text(top))
        blocks.append(self._largest_atoms(top))
        return "\n\n".join(blocks)

    @property
    def encoding_notes(self) -> list[str]:
        """A note for members that learn their own encodings."""
        return [_OWN_ENCODINGS] if self.is_average and self.has_encodings else []

    def kind_rows(self) -> list[tuple[str, ...]]:
        """Return the cells below `KIND_HEADS`, as texts."""
        rows: list[tuple[str, ...]] = []
        for kind in self.kinds:
            steps = _range([member.n_iter for member in kind.members], count)
            sizes = _range([member.model.n_atoms for member in kind.members], count)
            rows.append((str(kind), ridge_of(kind.members), steps, sizes))
        return rows

    def _making(self) -> list[str]:
        """Say what the model consists of and how it was fitted."""
        classifier = self.classifier
        names = self.class_names
        purpose = f"distinguishes {listed(names)}" if names else "predicts a number"
        lines = [f"A model with {self._atoms_in_words()} that {purpose}."]
        if self.is_average:
            lines.append(self.averaging)
        lines.append(f"Loss {classifier.loss}; {self._path_in_words()}")
        link = self.link
        if link is not None:
            curve = f"slope {link.slope:g}, power {link.power:g}"
            lines.append(f"Probabilities come from a curve fitted to validation rows: {curve}.")
        if any(member.model.limits is not None for member in self.members):
            lines.append("Inputs are clipped to limits learned from the training rows.")
        data = self.recorded("data")
        if data:
            seconds = _recorded_number(self.recorded("ended").get("seconds"), "{:.2f}".format)
            rows = f"{data.get('n_samples', '?')} rows of {data.get('file', '?')}"
            lines.append(f"Fitted to {rows} in {seconds} s.")
        return lines

    def _atoms_in_words(self) -> str:
        n_atoms = self.classifier.n_atoms_
        families = self.families()
        if len(families) < 2:
            return count(n_atoms, f"{listed(self.family_names)} atom")
        parts = ", ".join(f"{n} of {name}" for name, n in families.items())
        return f"{count(n_atoms, 'atom')} ({parts})"

    def _path_in_words(self) -> str:
        ridge = ridge_of(self.members)
        steps = count(self.classifier.n_iter_, "step")
        ending = "both chosen on held-out rows."
        if not self.is_chosen:
            ending = f"ended {' '.join(map(str, self.endings))}"
        return f"ridge {ridge}; {steps}; {ending}"

    def _recorded_scores(self) -> str:
        lines = [f"On the {self.recorded('test').get('n_samples', '?')} held-out rows"]
        write = "{:.4f}".format if self.class_names else number
        baseline = self.recorded("test", "baseline")
        if "mean" in baseline:
            mean = _recorded_number(baseline["mean"], write)
            error = _recorded_number(baseline.get("rmse"), write)
            lines.append(f"Baseline (always {mean}, the mean): root mean squared error {error}")
        elif baseline:
            accuracy = _recorded_number(baseline.get("accuracy"), write)
            lines.append(f"Baseline (always {baseline.get('class', '?')}): accuracy {accuracy}")
        ends = ("value", "low", "high")
        titles = {**TITLES, **NUMBER_TITLES}
        rows = []
        for name in self.recorded("test", "scores"):
            record = self.recorded("test", "scores", name)
            numbers = [_recorded_number(record.get(end), write) for end in ends]
            rows.append([titles.get(name, name), *numbers])
        return "\n".join([*lines, "", text_table(["score", *ends], rows)])

    def influence_text(self, top: int) -> str:
        """List the columns that move the model most, each with its share."""
        shares = np.zeros(0) if self.influence is None else self.influence
        order = np.argsort(-shares, kind="stable")[:top]
        rows = [(self.columns[j].name, f"{100 * shares[j]:.1f} %") for j in order if shares[j]]
        return f"The columns that matter most\n\n{text_table(('column', 'influence'), rows)}"

    def _largest_atoms(self, top: int) -> str:
        if self.classifier.n_atoms_ == 0:
            return "The model is constant: it has no atoms."
        sizes = np.abs(self.coef).max(axis=0)
        order = np.argsort(-sizes, kind="stable")[:top]
        first = 0 if self.is_average else 1
        rows = []
        for j, text in zip(order, self.atom_texts(order), strict=True):
            coefs = " ".join(f"{value:+.4g}" for value in self.coef[:, j])
            # Not every terminal has the minus sign of pages.
            text = text.replace("\N{MINUS SIGN}", "-")
            cells = [str(self.owners[j] + 1), str(self.entered[j]), coefs, text]
            rows.append(cells[first:])
        heads = ["member", "step", "coefficient", "description"][first:]
        table = text_table(heads, rows, n_labels=len(heads))
        return f"The {count(len(order), 'largest atom')}\n\n{table}"


def describe(classifier: BaseFCGBoost) -> Description:
    """Describe a fitted model: its columns, their influence, and its atoms.

    Parameters
    ----------
    classifier : fitted classifier or regressor of this package

    Returns
    -------
    Description

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> X, y = make_simulation(200, random_state=0)
    >>> clf = FCGBoostClassifier("linear", max_iter=2, random_state=0).fit(X, y)
    >>> print(clf.describe().text(top=1))  # doctest: +ELLIPSIS
    A model with 2 linear atoms that distinguishes -1.0 and 1.0.
    ...
    """
    classifier._fitted()
    return Description(classifier)


def dictionary_name(dictionary: Dictionary) -> str:
    """Return the name of a dictionary as an adjective: "ReLU", "Gauss", "ReLU and tree"."""
    if isinstance(dictionary, UnionDictionary):
        return listed(list(dict.fromkeys(map(dictionary_name, dictionary.families))))
    kind = type(dictionary)
    return _NAMES.get(kind, kind.__name__.removesuffix("Dictionary").lower())


def kind_of(column: Column) -> str:
    """Return the kind of a column: "number", "date", "category" or "left out"."""
    if why_left_out(column):
        return "left out"
    return "date" if getattr(column, "unit", "") == "days" else column.kind


def encoding_of(column: Column) -> str:
    """Return the names of the inputs that a column becomes, and what stands for missing values."""
    if not column.outputs:
        return f"left out: {why_left_out(column)}"
    phrases = []
    for name, output in zip(column.output_names(), column.outputs, strict=True):
        fill = getattr(output, "fill", None)
        if fill is not None:
            is_date = output.part == "value" and kind_of(column) == "date"
            text = str(np.datetime64(int(fill), "D")) if is_date else number(fill)
            name = f"{name} ({text} if missing)"
        phrases.append(shortened(name))
    return listed(phrases)


def _member_facts(member: Member, inputs: Inputs) -> dict[str, Any]:
    """Return what a member is, for JSON."""
    model = member.model
    atoms = [
        {"step": int(step), "coef": coef.tolist()}
        for step, coef in zip(model.entered, model.coef.T, strict=True)
    ]
    facts = {
        "dictionary": " ".join(str(model.dictionary).split()),
        "weight": member.weight,
        "l2": member.l2,
        "n_steps": member.n_iter,
        "status": str(member.status),
        "intercept": model.intercept.tolist(),
        "features": inputs.names(),
        "atoms": atoms,
    }
    if model.limits is not None:
        limits = vars(model.limits).items()
        facts["limits"] = {name: ends.tolist() for name, ends in limits}
    return facts


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    """Return the least and the largest of numbers, or the number that all are."""
    ends = [write(min(values)), write(max(values))]
    return " to ".join(dict.fromkeys(ends))


def _recorded_number(value: object, write: Callable[[float], str]) -> str:
    return write(float(value)) if isinstance(value, Real) else "?"


def ridge_of(members: Sequence[Member]) -> str:
    """Return the ridge penalty of members, or the least and the largest."""
    return _range([member.l2 for member in members], "{:.3g}".format)


def _strongest(values: Array) -> list[int]:
    """Return the features with values other than 0, the largest first."""
    order = np.argsort(-np.abs(values), kind="stable")
    return order[: np.count_nonzero(values)].tolist()  # type: ignore[no-any-return]


def _first(features: list[int], word_of: Callable[[int], str]) -> str:
    """Return words for the first features, and how many more there are."""
    words = [word_of(j) for j in features[:_MOST_FEATURES]]
    n_more = len(features) - len(words)
    return listed([*words, f"{n_more} more"] if n_more else words)


def _near(row: Array, features: list[int], names: list[str]) -> str:
    if not features:
        return "near 0 in every feature"
    return f"near {_first(features, lambda j: f'{names[j]} = {number(row[j])}')}"


def _splits(nodes: Array, names: list[str]) -> str:
    # Neither leaves, nor sets of categories, nor padding.
    is_split = (nodes[:, 0] >= 0.0) & (nodes[:, 2] > 0.0)
    features = list(dict.fromkeys(nodes[is_split, 0].astype(int).tolist()))
    return f"splits by {_first(features, names.__getitem__)}" if features else "constant"


def _direction(weights: Array, names: list[str]) -> str:
    def word_of(j: int) -> str:
        sign = "\N{MINUS SIGN}" if weights[j] < 0 else "+"
        return f"{sign} {abs(weights[j]):.2g} {names[j]}"

    return _first(_strongest(weights), word_of) or "constant"
