"""Which atom enters: the argmax written as a loop, and the pools of every step."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from fcgboost import FCGBoostClassifier
from fcgboost.designs.base import Residuals, Sums
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.losses import SquaredHinge
from fcgboost.selection.base import Choice, Request
from fcgboost.selection.fixed import (
    AllCandidates,
    Pool,
    PooledSelection,
    SampledCandidates,
    default_selection,
)
from fcgboost.selection.gain import Gain
from fcgboost.selection.learned import LearnedCandidates, _choose_best
from tests.suites.reference import given_residuals
from tests.suites.solvers import MatrixDictionary
from tests.suites.strategies import seeds, simulation

SELECTIONS = [AllCandidates(), SampledCandidates(size=20)]
DICTIONARIES = [
    GaussDictionary(width=0.5),
    PolynomialDictionary(),
    SigmoidDictionary(),
    ReluDictionary(),
    GaussDictionary(width=0.5, centers="box"),
]
each_selection = pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
each_dictionary = pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
NOTHING: list[set[int]] = [set()]


def make_design(dictionary: Dictionary, m: int = 60) -> MemoryDesign:
    data = simulation(m, 0.1, seed=0)
    return MemoryDesign(dictionary, data.X, data.weights, standardize=True)


def choose(pool: Pool, R: np.ndarray, normalize: bool) -> list[Choice | None]:
    with given_residuals(pool.candidates._design, R) as points:
        return pool.best(Request(1, points, [], normalize, []))


def matrix_pool(A: np.ndarray, excluded: list[set[int]]) -> Pool:
    """Give the columns of a matrix as candidates; column j is named j."""
    design = MemoryDesign(MatrixDictionary(), A, np.ones(len(A)), standardize=False)
    candidates = design.candidates(np.eye(A.shape[1]), reuse=True)
    ids = np.arange(A.shape[1], dtype=np.uint64)
    allowed = np.array([[j not in some for some in excluded] for j in range(A.shape[1])])
    return Pool(candidates, ids, allowed)


def naive_choice(A: np.ndarray, r: np.ndarray, excluded: set[int]) -> int | None:
    """Give the first column whose score is the largest up to 1e-10."""
    scores = {j: abs(sum(A[:, j] * r)) for j in range(A.shape[1]) if j not in excluded}
    ties = [j for j, score in scores.items() if score >= max(scores.values()) * (1 - 1e-10)]
    return min(ties, default=None)


@given(
    seed=seeds,
    n=st.integers(1, 12),
    outputs=st.lists(st.sets(st.integers(0, 11)), min_size=1, max_size=3),
)
def test_the_choice_is_the_largest_score_among_the_allowed(
    seed: int, n: int, outputs: list[set[int]]
) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((9, n))
    A[:, rng.integers(n)] = -A[:, 0]  # a tie, or the same column
    R = rng.standard_normal((9, len(outputs)))
    choices = choose(matrix_pool(A, outputs), R, False)
    for c, excluded in enumerate(outputs):
        expected = naive_choice(A, R[:, c], excluded)
        choice = choices[c]
        if expected is None:
            assert choice is None
        else:
            assert choice is not None
            assert choice.id == expected
            assert choice.score == pytest.approx(abs(A[:, expected] @ R[:, c]))
            np.testing.assert_array_equal(choice.atom, np.eye(n)[[expected]])


def test_scores_are_those_of_divided_atoms() -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 8)) * np.logspace(-3, 3, 8)
    sizes = np.sqrt((A**2).mean(axis=0))
    r = rng.standard_normal(30)
    (choice,) = choose(matrix_pool(A, NOTHING), r[:, None], True)
    scores = np.abs(A.T @ r) / sizes
    assert choice.id == scores.argmax()
    assert choice.score == pytest.approx(scores.max())


@pytest.mark.parametrize(("gap", "winner"), [(1e-12, 0), (5e-11, 0), (2e-10, 2), (1e-8, 2)])
def test_ties_within_1e_10_go_to_the_lowest_index(gap: float, winner: int) -> None:
    a = np.random.default_rng(2).standard_normal(20)
    A = np.column_stack([a, 0.5 * a, -(1.0 + gap) * a, (1.0 + gap) * a])
    (choice,) = choose(matrix_pool(A, NOTHING), a[:, None], False)
    assert choice.id == winner


def test_an_output_that_may_choose_nothing_has_no_choice() -> None:
    assert choose(matrix_pool(np.ones((5, 2)), [{0, 1}]), np.ones((5, 1)), False) == [None]


def test_an_atom_that_is_zero_everywhere_has_score_zero() -> None:
    (choice,) = choose(matrix_pool(np.zeros((5, 2)), NOTHING), np.ones((5, 1)), True)
    assert (choice.id, choice.score) == (0, 0.0)


@each_selection
@each_dictionary
def test_excluded_atoms_are_never_allowed(
    selection: PooledSelection, dictionary: Dictionary
) -> None:
    source = selection.pools(make_design(dictionary), 60, key=3)
    active: set[int] = set()
    for k in range(1, 50):
        pool = source(k, [active])
        (allowed,) = pool.allowed.T
        assert not active & set(pool.ids[allowed].tolist())
        assert set(pool.ids[~allowed].tolist()) <= active
        active = {*active, int(pool.ids[allowed][0])}


@each_selection
@each_dictionary
def test_equal_keys_and_steps_give_equal_pools(
    selection: PooledSelection, dictionary: Dictionary
) -> None:
    design = make_design(dictionary)
    twin = make_design(clone(dictionary))
    for k in (1, 2, 9):
        first = selection.pools(design, 60, key=3)(k, NOTHING)
        second = clone(selection).pools(twin, 60, key=3)(k, NOTHING)
        np.testing.assert_array_equal(first.ids, second.ids)
        np.testing.assert_array_equal(first.candidates.atoms, second.candidates.atoms)
    other = selection.pools(design, 60, key=4)(1, NOTHING)
    assert not np.array_equal(other.ids, selection.pools(design, 60, key=3)(1, NOTHING).ids)


def test_a_fixed_dictionary_is_the_same_in_every_step() -> None:
    source = AllCandidates().pools(make_design(GaussDictionary()), 40, key=3)
    first, second = source(1, NOTHING), source(2, NOTHING)
    assert first.candidates is second.candidates
    assert len(first.ids) == 40


@pytest.mark.parametrize(("n_kept", "is_stored"), [(49, True), (50, True), (51, False)])
def test_values_are_stored_if_they_fit_into_the_budget(n_kept: int, is_stored: bool) -> None:
    data = simulation(50, 0.1, seed=0)
    budget = 8 * 50 * 50
    design = MemoryDesign(GaussDictionary(), data.X, data.weights, True, memory_budget=budget)
    atoms = GaussDictionary().candidates(design.sample(50, 0), 50, 0)
    atoms = np.vstack([atoms, atoms])[:n_kept]
    assert bool(design.candidates(atoms, reuse=True)._stored) == is_stored
    assert not design.candidates(atoms, reuse=False)._stored


@each_dictionary
def test_sampled_pools_are_fresh_and_full(dictionary: Dictionary) -> None:
    source = SampledCandidates(size=20).pools(make_design(dictionary), 60, key=3)
    seen: set[tuple[int, ...]] = set()
    active: set[int] = set()
    for k in range(1, 41):
        pool = source(k, [active])
        assert len(pool.ids) == 20
        assert pool.allowed.all()
        seen.add(tuple(pool.ids.tolist()))
        active.add(int(pool.ids[0]))
    assert len(seen) == 40


def test_sampled_pools_shrink_as_rows_run_out_and_end_empty() -> None:
    source = SampledCandidates(size=20).pools(make_design(GaussDictionary(), m=30), 30, key=3)
    active: set[int] = set()
    for k in range(1, 31):
        pool = source(k, [active])
        assert len(pool.ids) == min(20, 31 - k)
        active.add(int(pool.ids[-1]))
    assert len(active) == 30
    pool = source(31, [active])
    assert len(pool.ids) == 0
    assert choose(pool, np.ones((30, 1)), False) == [None]


@each_selection
@each_dictionary
def test_every_output_has_the_pool_it_would_have_alone(
    selection: PooledSelection, dictionary: Dictionary
) -> None:
    source = selection.pools(make_design(dictionary), 60, key=3)
    everything = AllCandidates().pools(make_design(dictionary), 60, key=3)(1, NOTHING).ids
    rng = np.random.default_rng(4)
    for k in range(1, 6):
        outputs = [set(rng.choice(everything, size, replace=False).tolist()) for size in (0, 7, 45)]
        together = source(k, outputs)
        for c, excluded in enumerate(outputs):
            alone = source(k, [excluded])
            np.testing.assert_allclose(
                together.candidates.atoms[together.allowed[:, c]],
                alone.candidates.atoms[alone.allowed[:, 0]],
                rtol=1e-13,
            )


@pytest.mark.parametrize(
    ("m", "n", "kind"),
    [
        (1000, 10_000, AllCandidates),
        (1000, 10_001, SampledCandidates),
        (3162, 3162, AllCandidates),
        (3163, 3163, SampledCandidates),
        (2.5, 4, AllCandidates),
        (10_000_000, 1, AllCandidates),
    ],
)
def test_the_default_depends_on_m_and_n_alone(
    m: float, n: int, kind: type[PooledSelection]
) -> None:
    assert type(default_selection(m, n)) is kind


@each_selection
def test_selections_are_parameter_objects(selection: PooledSelection) -> None:
    before = dict(vars(selection))
    selection.pools(make_design(GaussDictionary()), 60, key=3)(1, NOTHING)
    assert vars(selection) == before
    for twin in (clone(selection), pickle.loads(pickle.dumps(selection))):
        assert twin.get_params() == selection.get_params()


@each_dictionary
@pytest.mark.parametrize("normalize", [False, True])
def test_an_atom_is_evaluated_once_for_its_score_and_its_entry(dictionary, normalize, monkeypatch):
    design = make_design(dictionary)
    evaluated = []
    evaluate = MemoryDesign.evaluate

    def counted(self, atoms):
        evaluated.extend(atom.tobytes() for atom in atoms)
        return evaluate(self, atoms)

    monkeypatch.setattr(MemoryDesign, "evaluate", counted)
    pool = SampledCandidates(size=20).pools(design, 20, key=3)(1, NOTHING)
    (chosen,) = choose(pool, np.random.default_rng(0).standard_normal((60, 1)), normalize)
    columns = design.columns(np.ones(60), SquaredHinge(), 5, has_constant=False)
    columns.append(chosen.atom, chosen.entry)
    assert evaluated.count(chosen.atom.tobytes()) == 1
    np.testing.assert_array_equal(columns.A[:, 0], evaluate(design, chosen.atom)[:, 0])


def test_atoms_are_learned_on_at_least_as_many_rows_as_are_drawn(monkeypatch):
    sizes, subsample = [], MemoryDesign.subsample
    monkeypatch.setattr(
        MemoryDesign, "subsample", lambda self, n, key: sizes.append(n) or subsample(self, n, key)
    )
    data = simulation(200, 0.2, seed=0)
    for max_rows in (10, 100):
        selection = LearnedCandidates(size=64, max_rows=max_rows)
        FCGBoostClassifier("relu", selection=selection, max_iter=2).fit(data.X, data.y)
    assert sizes == [64, 100]


def test_an_output_takes_nothing_that_was_proposed_for_another():
    ones, gains = np.ones((2, 2)), [Gain(0.1, False, 10.0)] * 2
    sums = Sums(np.array([[1.0, 9.0], [9.0, 1.0]]), ones, ones, np.ones(2))
    request, chosen = Request(1, Residuals([]), [(), ()], "none", gains), [None, None]
    atoms = np.array([[0.0, 1.0], [2.0, 3.0]])
    _choose_best(atoms, [0, 1], sums, request, chosen)
    np.testing.assert_array_equal([choice.atom[0] for choice in chosen], atoms)
