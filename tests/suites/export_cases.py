"""Fitted models for the tests of exports: every dictionary, loss, kind of label and of input."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import (
    FCGBoostClassifier,
    FCGBoostRegressor,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.dictionaries import (
    LinearDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.dictionaries.union import TableUnion
from tests.suites.export_tables import GAPS, TABLES, Case, labels_of, wide_rows


class TwoWidths(GaussDictionary):
    """A user's dictionary that only proposes other atoms: every second one is half as wide."""

    def candidates(self, sample, n, key):
        atoms = super().candidates(sample, n, key)
        atoms[::2, -1] /= 2.0
        return atoms


def make(**parameters: Any) -> FCGBoostClassifier:
    """Give a classifier with a seed: exports in single precision have an error, which varies."""
    return FCGBoostClassifier(**{"random_state": 0, **parameters})


def blobs(n_classes: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give classes that overlap."""
    rng = np.random.default_rng([seed, n_classes, n_features])
    y = rng.integers(0, n_classes, 150)
    centers = rng.normal(size=(n_classes, n_features))
    X = (centers[y] + rng.normal(size=(len(y), n_features))) * np.linspace(0.5, 3.0, n_features)
    return X, y


def inputs(X: np.ndarray, seed: int = 1) -> np.ndarray:
    """Give inputs among, between and beside the training rows."""
    rng = np.random.default_rng(seed)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    return np.vstack([X, mean + deviation * rng.normal(size=(200, X.shape[1])) * 1.5])


def plain(dictionary: Any, n_classes: int = 2, n_features: int = 3, **parameters: Any) -> Case:
    """Fit a classifier on blobs."""
    X, y = blobs(n_classes, n_features)
    parameters = {"max_iter": 9, **parameters}
    return Case(make(dictionary=dictionary, **parameters).fit(X, y), inputs(X))


def far(dictionary: Any, distance: float = 100.0, n_features: int = 3, **parameters: Any) -> Case:
    """Fit on columns whose mean is many times as large as their deviation."""
    X, y = blobs(2, n_features)
    X += distance * X.std(axis=0)
    settings = {"dictionary": dictionary, "max_iter": 9, **parameters}
    model = make(**settings).fit(X, y)
    return Case(model, inputs(X))


def labelled(classes: list[Any], dtype: Any = None) -> Case:
    """Fit with labels of some kind."""
    X, y = blobs(len(classes), 2)
    model = make(dictionary="gauss", max_iter=4).fit(X, np.array(classes, dtype)[y])
    return Case(model, inputs(X))


def gaps(dictionary: Any, n_classes: int, top: int = 31, **parameters: Any) -> Case:
    """Fit on rows with gaps and with codes, some of which no training row has."""
    X, y = blobs(n_classes, 4)
    rng = np.random.default_rng(3)
    X[:, 1:3] = rng.integers(0, 12, (len(X), 2)) + 20 * (y % 2)[:, None]
    X[:, 1] = np.floor(X[:, 1] * top / 31)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = make(dictionary=dictionary, max_iter=9, **parameters).fit(X, y)
    others = X[rng.permutation(len(X))] + rng.choice([0.0, 1.0, 0.5], X.shape)
    others[:12, 1] = [-1.0, 0.0, 51.0, 52.0, 53.0, 1e9, -0.5, 0.5, 1e-9, 63.0, 64.0, -1e9]
    others[12:18, 1] = [59.0, 104.0, 254.0, 255.0, 256.0, 260.0]
    return Case(model, np.vstack([X, others]))


def union() -> UnionDictionary:
    """Give all families in one dictionary, two of them twice."""
    families = [
        *(ReluDictionary(), TreeDictionary(depth=2), GaussDictionary(), LinearDictionary()),
        *(StepDictionary(), SigmoidDictionary()),
        *(PolynomialDictionary(2), PolynomialDictionary(3), GaussDictionary(width=2.0)),
        TreeDictionary(depth=3, categorical_features=[0]),
    ]
    return UnionDictionary(families)


def parts_of_rows() -> UnionDictionary:
    """Give families of which each sees some of five inputs."""
    smooth = [ReluDictionary(), ReluDictionary(), GaussDictionary(width=2.0), LinearDictionary()]
    families = [*smooth, TreeDictionary(depth=2), TreeDictionary(depth=3)]
    return TableUnion(families, [(0, 2), (1, 4), (2, 5), (3, 5), (2, 5), (0, 3)])


def sparse_rows(dictionary: Any, n_classes: int, **parameters: Any) -> Case:
    """Fit on a sparse matrix."""
    X, y = blobs(n_classes, 30)
    X[np.random.default_rng(2).random(X.shape) < 0.85] = 0.0
    settings = {"dictionary": dictionary, "max_iter": 9, **parameters}
    model = make(**settings).fit(sparse.csr_matrix(X), y)
    return Case(model, X)


#: Families of which columns may lie far away: dictionaries, and kinds of data.
AWAY: dict[str, Any] = {
    **{name: name for name in ("gauss", "polynomial", "sigmoid", "relu", "linear", "step")},
    **{"tree": "tree", "auto": "auto", "leaves": TreeDictionary(depth=3, corrects_leaves=True)},
    **{"marks": "gauss", "marks_auto": "auto", "table": "gauss", "table_auto": "auto"},
    **{"sparse": "gauss", "stored": "gauss"},
}


def far_away(name: str, offset: float) -> Case:
    """Fit on columns of deviation 1 around an offset; also marks of 0 and 1, texts, or zeros."""
    rng = np.random.default_rng(5)
    X, marks = rng.normal(size=(1400, 3)), (rng.random((1400, 9)) < 0.15) * 1.0
    y = (X[:, 0] * X[:, 1] + marks[:, 0] + 0.5 * X[:, 2] > 0.2).astype(int)
    X += offset
    if name.startswith(("marks", "stored")):
        X = np.hstack([X, marks])
    elif name.startswith("table"):
        levels = np.array([f"level {i}" for i in range(8)])[(marks @ np.arange(9)).astype(int) % 8]
        X = np.column_stack([X.astype(object), levels])
    elif name == "sparse":
        X = np.hstack([np.where(rng.random(X.shape) < 0.7, 0.0, X), marks])
    model = make(dictionary=AWAY[name], max_iter=12)
    train = sparse.csr_array(X[:400]) if name in ("sparse", "stored") else X[:400]
    return Case(model.fit(train, y[:400]), X[400:])


def truncated(n_classes: int, k: int) -> Case:
    """Cut a path short."""
    case = plain("gauss", n_classes)
    return Case(case.model.truncate(k), case.X)


def blend(models: Sequence[FCGBoostClassifier]) -> FCGBoostClassifier:
    """Give a classifier with the members of several, of different weights."""
    members = [member for model in models for member in model.members_]
    shares = np.arange(1.0, len(members) + 1.0)
    shares /= shares.sum()
    blended = copy.copy(models[0])
    blended.members_ = tuple(
        replace(member, weight=float(share)) for member, share in zip(members, shares, strict=True)
    )
    return blended


def forest() -> TreeDictionary:
    """Give trees with corrected leaves."""
    return TreeDictionary(depth=6, max_leaf_nodes=9, corrects_leaves=True)


def zeros(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with many zeros."""
    X, y = blobs(n_classes, 12)
    X[np.random.default_rng(2).random(X.shape) < 0.7] = 0.0
    return X, y


def holes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with gaps: in one column in every third row, in another in later rows only."""
    X, y = blobs(n_classes, 5)
    X[::7, 1] = np.nan
    X[::3, 4] = np.nan
    return X, y


def five(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Give rows of five numbers."""
    return blobs(n_classes, 5)


def of_parts(
    dictionaries: Sequence[Any],
    n_classes: int,
    make_rows: Callable[[int], tuple[np.ndarray, np.ndarray]] = five,
    to: Callable[[np.ndarray], Any] = np.asarray,
    **parameters: Any,
) -> Case:
    """Fit each dictionary without other rows: scales, limits and what stands for gaps differ."""
    X, y = make_rows(n_classes)
    models = []
    for i, dictionary in enumerate(dictionaries):
        is_seen = np.arange(len(y)) % (len(dictionaries) + 1) != i
        model = make(dictionary=dictionary, max_iter=6, **parameters)
        models.append(model.fit(to(X[is_seen]), y[is_seen]))
    later = inputs(np.where(np.isnan(X), 0.0, X))
    if make_rows is holes:
        later[np.random.default_rng(4).random(later.shape) < 0.2] = np.nan
    return Case(blend(models), later)


def of_weights(dictionaries: Sequence[Any], n_classes: int) -> Case:
    """Fit each dictionary to a table with its own weights: shares of classes differ."""
    rows = wide_rows(250, 0)
    rng = np.random.default_rng(7)
    models = []
    for dictionary in dictionaries:
        weights = rng.integers(1, 9, len(rows))
        models.append(make(dictionary=dictionary, max_iter=8))
        models[-1].fit(rows, labels_of(rows, n_classes), sample_weight=weights)
    return Case(blend(models), wide_rows(200, n_classes, is_new=True))


def alike() -> Case:
    """Give members that see the same inputs."""
    X, y = blobs(3, 4)
    models = [make(dictionary="gauss", max_iter=4, random_state=seed).fit(X, y) for seed in (0, 1)]
    return Case(blend(models), inputs(X))


def short() -> Case:
    """Give members one of which has no atoms."""
    X, y = blobs(2, 4)
    models = [make(dictionary=name, max_iter=4).fit(X, y) for name in ("gauss", "relu")]
    return Case(blend([models[0].truncate(0), models[1]]), inputs(X))


DICTIONARIES = {
    "gauss": GaussDictionary,
    "polynomial": PolynomialDictionary,
    "sigmoid": SigmoidDictionary,
    "relu": ReluDictionary,
}
LOSSES = ("squared_hinge", "cubed_hinge", "hinge", "square")


def _plain_cases() -> dict[str, Callable[[], Case]]:
    cases = {}
    for place, (name, n, loss) in enumerate(product(DICTIONARIES, (2, 4), LOSSES)):
        options = {"loss": loss, "standardize": place % 2 == 0, "n_classes": n}
        part = DICTIONARIES[name]()
        cases[f"{name}_{n}_{loss}"] = lambda part=part, options=options: plain(part, **options)
    return cases


PLAIN = _plain_cases()
OTHERS: dict[str, Callable[[], Case]] = {
    "linear": lambda: plain(PolynomialDictionary(degree=1)),
    "quintic": lambda: plain(PolynomialDictionary(degree=5, q=2.0), 3),
    "box_gauss": lambda: plain(GaussDictionary(width=0.5, centers="box")),
    "box_relu": lambda: plain(ReluDictionary(weights="box"), fit_intercept=False),
    "two_widths": lambda: plain(TwoWidths(), 3),
    "one_input": lambda: plain("gauss", n_features=1),
    "wide_relu": lambda: plain("relu", 3, 40),
    "sparse_gauss": lambda: sparse_rows("gauss", 2),
    "sparse_gauss_3": lambda: sparse_rows("gauss", 3),
    "sparse_sigmoid": lambda: sparse_rows("sigmoid", 2),
    "no_atom": lambda: truncated(2, 0),
    "no_atom_4": lambda: truncated(4, 0),
    "one_atom": lambda: truncated(2, 1),
    # Tables of one number are where runtimes take shortcuts.
    **{
        f"smallest_{name}": (lambda name=name: plain(name, n_features=1, max_iter=1))
        for name in DICTIONARIES
    },
}
FAMILIES: dict[str, Callable[[], Case]] = {
    "one_linear": lambda: plain("linear"),
    "linear_4": lambda: plain(LinearDictionary(max_features=1), 4, max_iter=12),
    "far_linear": lambda: far("linear"),
    "step": lambda: plain("step"),
    "stumps": lambda: plain(StepDictionary(max_features=1), 4),
    "clipped_relu": lambda: plain("relu", clip=1.0),
    "clipped_gauss": lambda: plain("gauss", 4, clip=0.7),
    "clipped_sparse": lambda: sparse_rows("relu", 3, clip=1.0),
    "trees": lambda: plain("tree", n_features=5),
    "trees_4": lambda: plain(TreeDictionary(depth=2), 4, loss="cubed_hinge"),
    "one_leaf": lambda: plain(TreeDictionary(depth=1, min_leaf=70), max_iter=2),
    "far_trees": lambda: far("tree"),
    "clipped_trees": lambda: plain("tree", clip=1.0),
    "gaps": lambda: gaps(TreeDictionary(min_leaf=2), 2),
    "gaps_3": lambda: gaps(TreeDictionary(min_leaf=2), 3, clip=1.0),
    "clipped_categories": lambda: gaps(
        TreeDictionary(min_leaf=2, categorical_features=[1, 2]), 3, clip=1.0
    ),
    "categories": lambda: gaps(TreeDictionary(min_leaf=2, categorical_features=[1, 2]), 2),
    **{
        f"categories_{n}": lambda n=n: gaps(
            TreeDictionary(min_leaf=2, categorical_features=[1, 2]), 2, n - 1
        )
        for n in (60, 150, 255)
    },
    "union_categories": lambda: gaps(
        UnionDictionary([TreeDictionary(3, min_leaf=2, categorical_features=[1])]), 3, 254
    ),
    # Without an intercept, so that the constant has something to do, and others have their turn.
    "union": lambda: plain(union(), max_iter=20, clip=2.0, fit_intercept=False),
    "union_4": lambda: plain(union(), 4, 6, max_iter=20, fit_intercept=False),
    "far_union": lambda: far(union(), fit_intercept=False, max_iter=12),
    "union_sparse": lambda: sparse_rows(union(), 2, fit_intercept=False, max_iter=12),
    "ranges": lambda: plain(parts_of_rows(), 3, 5, max_iter=15, clip=2.0),
    "far_ranges": lambda: far(parts_of_rows(), n_features=5, max_iter=12, fit_intercept=False),
    "huber": lambda: plain("gauss", loss="modified_huber"),
    "auto": lambda: plain("auto", 3, 5, max_iter=12),
    "compact": lambda: plain("compact", 2, 5, max_iter=12),
}
NOISE = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
#: Labels are wrong: what a model says is about the true classes.
NOISES: dict[str, Callable[[], Case]] = {
    "noise": lambda: plain("gauss", label_noise=[[1.0, 0.0], [0.4, 0.6]]),
    "noise_3": lambda: plain("relu", 3, label_noise=NOISE),
    "noise_squares": lambda: plain(
        "gauss", loss="cubed_hinge", label_noise=[[0.9, 0.1], [0.3, 0.7]]
    ),
    "noise_link": lambda: plain("auto", 2, 5, label_noise=[[0.7, 0.3], [0.1, 0.9]]),
    "noise_link_3": lambda: plain("fast", 3, 5, label_noise=NOISE),
}
LABELS: dict[str, Callable[[], Case]] = {
    "label_text": lambda: labelled(["no", "yes"]),
    "label_object": lambda: labelled(["a", "b", "c"], object),
    "label_odd": lambda: labelled(['"', "\\", "??/", "*/", "gr\u00fcn\n", "%s", ""]),
    "label_bool": lambda: labelled([False, True]),
    "label_sign": lambda: labelled([-1, 1]),
    "label_large": lambda: labelled([-(2**63), -5, 2**62]),
    "label_unsigned": lambda: labelled([0, 2**64 - 1], np.uint64),
    "label_float": lambda: labelled([-1.0, 0.0, 7.0]),
}
FARS: dict[str, Callable[[], Case]] = {
    **{f"far_{name}": (lambda name=name: far(name)) for name in DICTIONARIES},
    **{f"off_{name}": (lambda name=name: far(name, n_features=20)) for name in DICTIONARIES},
}
HELD_OUT = {"validation_fraction": 0.3, "link": "power"}
LINKS: dict[str, Callable[[], Case]] = {
    "link": lambda: plain("gauss", **HELD_OUT),
    "link_4": lambda: plain("relu", 4, **HELD_OUT),
    "link_hinge": lambda: plain("gauss", loss="hinge", **HELD_OUT),
    "link_hinge_4": lambda: plain("gauss", 4, loss="hinge", **HELD_OUT),
    "link_chosen": lambda: plain("compact", 3, max_iter="auto"),
}
#: Members of plain numbers: each fitted to its own rows.
PLAIN_ENSEMBLES: dict[str, Callable[[], Case]] = {
    "members": lambda: of_parts(["auto", "auto"], 2),
    "members_mixed": lambda: of_parts(["auto", forest(), forest()], 2),
    "members_mixed_3": lambda: of_parts(["auto", forest(), "relu", forest()], 3),
    "members_forests": lambda: of_parts([forest(), forest(), forest()], 2),
    "members_clipped": lambda: of_parts([forest(), forest(), "linear"], 3, clip=1.0),
    "members_cubed": lambda: of_parts(["gauss", "tree"], 3, loss="cubed_hinge"),
    "members_hinge": lambda: of_parts(["gauss", "gauss"], 2, loss="hinge"),
    "members_alike": alike,
    "members_short": short,
    "members_sparse": lambda: of_parts(["auto", "gauss"], 2, make_rows=zeros, to=sparse.csr_array),
    "members_sparse_3": lambda: of_parts(["tree", "relu"], 3, make_rows=zeros, to=sparse.csr_array),
}
#: Members of rows with gaps, and of tables.
TABLE_ENSEMBLES: dict[str, Callable[[], Case]] = {
    "members_gaps": lambda: of_parts(["auto", "relu", forest(), forest()], 2, make_rows=holes),
    "members_gaps_3": lambda: of_parts(["gauss", forest()], 3, make_rows=holes),
    "members_table": lambda: of_weights(["auto", forest(), "relu", forest()], 2),
    "members_table_3": lambda: of_weights(["gauss", "auto", forest()], 3),
}
ENSEMBLES = {**PLAIN_ENSEMBLES, **TABLE_ENSEMBLES}
CASES = {
    **{**PLAIN, **OTHERS, **FAMILIES, **LABELS, **FARS, **TABLES, **GAPS, **LINKS},
    **ENSEMBLES,
}


def numbers(dictionary: Any, make_rows: Any = five, **parameters: Any) -> Case:
    """Fit a regressor on large numbers, or counts for the loss "poisson"."""
    X, y = make_rows(3)
    target = 1e6 + 1e3 * y + np.nan_to_num(X) @ np.arange(X.shape[1])
    if parameters.get("loss") == "poisson":
        target = np.random.default_rng(0).poisson(np.exp(y))
    model = FCGBoostRegressor(dictionary, random_state=0, **parameters).fit(X, target)
    return Case(model, inputs(X) if make_rows is five else X)


NUMBERS: dict[str, Callable[[], Case]] = {
    "numbers_relu": lambda: numbers("relu", max_iter=9),
    "numbers_members": lambda: numbers("auto", holes, max_iter=4, cv=2),
    "numbers_poisson": lambda: numbers("tree", max_iter=9, loss="poisson"),
    "numbers_constant": lambda: Case(numbers("relu", max_iter=2).model.truncate(0), five(3)[0]),
}

#: One of every family and kind, for tests that are run after every change.
FEW = (
    *("gauss_2_square", "polynomial_4_cubed_hinge", "sigmoid_2_squared_hinge", "relu_4_square"),
    *("one_linear", "step", "trees", "categories", "gaps", "union_sparse"),
    *("clipped_relu", "no_atom", "sparse_gauss", "label_text", "far_relu", "table_relu_3", "link"),
    *("categories_60", "categories_255"),
    *("whole_auto_3", "whole_tree_3", "listed_auto", "early_auto", "later_auto", "early_relu"),
    *("ranges", "far_ranges"),
    *("members_mixed", "members_forests", "members_sparse", "members_gaps"),
    *("members_table", "members_table_3"),
)


#: Cases of columns far from zero.
OFFSETS = {
    f"at_{offset:.0e}_{name}".replace("+", ""): lambda name=name, offset=offset: far_away(
        name, offset
    )
    for offset in (0.0, 2e3, 1e8, 1e12)
    for name in AWAY
}


@cache
def case(name: str) -> Case:
    """Give a case, fitted once."""
    return {**CASES, **NOISES, **OFFSETS, **NUMBERS}[name]()


def n_outputs_of(model: Any) -> int:
    """Give the number of decision values of a row."""
    return len(model.members_[0].model.intercept)


def decision_of(classifier: Any, rows: Sequence[np.ndarray]) -> np.ndarray:
    """Give decision values of what atoms see, with one column per output."""
    pairs = zip(classifier.members_, rows, strict=True)
    return sum(member.weight * member.model.decision(X) for member, X in pairs)


def winners_of(decision: np.ndarray) -> np.ndarray:
    """Give the numbers of the classes that win."""
    return decision.argmax(axis=1) if decision.shape[1] > 1 else (decision[:, 0] > 0).astype(int)


def sizes(classifier: Any, rows: Sequence[np.ndarray], unit: float = 1e-14) -> np.ndarray:
    """Give what rounding errors of decision values are relative to: sums of sizes.

    Every product and sum loses a unit of its size, and an atom changes with its argument as its
    slope says. A centre loses a unit of its distance from zero where floats hold it. A step may
    go either way where its argument is smaller than what rounding loses.
    """
    pairs = zip(classifier.members_, rows, strict=True)
    return sum(abs(member.weight) * sizes_of(member.model, X, unit) for member, X in pairs)


def sizes_of(fitted: Any, X: np.ndarray, unit: float) -> np.ndarray:
    """Give the sums of sizes of one member."""
    X = X if fitted.limits is None else fitted.limits.apply(X)
    total = np.abs(fitted.intercept) + np.zeros((len(X), 1))
    if fitted.n_atoms == 0:
        return total
    atoms = fitted.atoms.toarray() if sparse.issparse(fitted.atoms) else fitted.atoms
    coef = np.abs(fitted.coef.T)
    if isinstance(fitted.dictionary, UnionDictionary):
        for family, places, rows, seen in fitted.dictionary.members(atoms, X.shape[1]):
            spans = spans_of(family, rows, X[:, seen], fitted.scale[seen], unit)
            total = total + spans @ coef[places]
        return total
    return total + spans_of(fitted.dictionary, atoms, X, fitted.scale, unit) @ coef


def spans_of(
    dictionary: Any, atoms: np.ndarray, X: np.ndarray, scale: np.ndarray, unit: float
) -> np.ndarray:
    """Give what rounding errors of atoms of one family are relative to."""
    if isinstance(dictionary, TreeDictionary):
        return np.abs(dictionary.evaluate(X, atoms, scale))
    rows, last = atoms[:, :-1], atoms[:, -1]
    if isinstance(dictionary, GaussDictionary):
        gaps = (X[:, None] - rows) / scale / last[:, None]
        exponents = (gaps**2).sum(axis=2) / 2.0
        sizes = 1.0 + exponents
        if unit > 1e-10:
            sizes += (np.abs(gaps) * np.abs(rows) / scale / last[:, None]).sum(axis=2)
        return np.exp(-exponents) * sizes
    spans = np.abs(X) @ np.abs(rows).T + np.abs(last)
    if isinstance(dictionary, PolynomialDictionary):
        power = dictionary.degree - 1
        return (power + 1) * np.abs(1.0 + X @ rows.T + last) ** power * (1.0 + spans)
    if isinstance(dictionary, SigmoidDictionary):
        return 1.0 + spans / 4.0
    if isinstance(dictionary, StepDictionary):
        return np.where(np.abs(X @ rows.T + last) <= unit * spans, 1.0 / unit, 1.0)
    return spans


def gap(decision: np.ndarray) -> np.ndarray:
    """Give how far decision values are from those of another class."""
    if decision.shape[1] == 1:
        return np.abs(decision[:, 0])
    ordered = np.sort(decision, axis=1)
    return ordered[:, -1] - ordered[:, -2]


#: Names of columns that are no names in C.
ODD_NAMES = [
    *("*/ evil", "/* evil", "*/*/", '"', "\\", "a\\", "??/", "???", "two\nlines", "\r", "\t", "%s"),
    *("int", "class", "NAN", "M_PI", "linux", "NULL", "I", "restrict", "co_await", "EOF"),
    *("gr\u00f6\u00dfe", "\u5e74\u9f84", "\u202eevil", "\ud800", "", " ", "_", "__x", "2nd"),
    "x_2nd",
    *("a b", "a-b", "a_b", "a_b_2", "A" * 100, "A" * 101, "row", "x", "out", "#error", "//"),
]


def is_encodable(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
