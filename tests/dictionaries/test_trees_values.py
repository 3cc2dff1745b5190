"""The values of trees are those of a walk by hand, wherever the rows lie."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from fcgboost._kernels import walks
from fcgboost.dictionaries import Sample
from fcgboost.dictionaries import trees as trees_module
from fcgboost.dictionaries.nodes import nodes_of
from fcgboost.dictionaries.trees import TreeDictionary
from tests.suites.naive_trees import naive_value

ONES = np.ones(4)
LEAF = [-1.0, 0.25, 0.0, 0.0]
# Codes that are larger than those that column 2 has, and a set of the first word holds.
LARGE = [52.0, 60.0, 254.0]


def make_rows(seed: int, n: int = 200) -> np.ndarray:
    """Give numbers and codes, some of them missing or out of range."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal((n, 2)), rng.integers(0, [52, 255], (n, 2))])
    rows[rng.random(rows.shape) < 0.2] = 0.0
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:6, 3] = [-1.0, 2.5, 255.0, np.inf, -np.inf, 1e30]
    return rows


def make_trees(seed: int, n_trees: int = 6) -> np.ndarray:
    """Grow trees of several depths on random residuals, and put them above each other."""
    rng = np.random.default_rng(seed)
    rows = make_rows(seed, 400)
    trees = [[LEAF]]
    for depth in range(1, n_trees):
        dictionary = TreeDictionary(depth=depth, min_leaf=1, categorical_features=[2, 3])
        grower = dictionary.grower(make_sample(rows))
        trees.append(grower.grow(rng.standard_normal(400), np.ones(400), 0))
    width = max(np.shape(tree)[1] for tree in trees)
    return np.vstack([np.pad(tree, ((0, 0), (0, width - np.shape(tree)[1]))) for tree in trees])


def make_sample(rows: np.ndarray) -> Sample:
    zeros = np.zeros(4)
    return Sample(rows, zeros, ONES, zeros, ONES, 1.0, 1.0)


def naive_values(rows: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    return np.array([[naive_value(x, row) for row in atoms] for x in rows])


def test_values_are_those_of_a_walk_by_hand() -> None:
    for seed in range(3):
        rows, atoms = make_rows(seed + 10), make_trees(seed)
        rows[:3, 2] = LARGE
        expected = naive_values(rows, atoms)
        assert len(np.unique(expected)) > 30
        kinds = np.unique(nodes_of(atoms)[:, :, 3])
        assert (kinds == 2.0).any() or (kinds == 3.0).any()
        assert (kinds > 3.0).any()
        values = TreeDictionary().evaluate(rows, atoms, ONES)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, expected)
        for n in (0, 1, 15, 16, 17, 129):
            np.testing.assert_array_equal(
                TreeDictionary().evaluate(rows[:n], atoms, ONES), expected[:n]
            )


def test_rows_of_any_memory_order_and_precision_have_values() -> None:
    atoms = make_trees(1)
    rows = make_rows(3).astype(np.float32).astype(np.float64)
    expected = naive_values(rows, atoms)
    wide = np.repeat(rows, 2, axis=1)
    for inputs in (np.asfortranarray(rows), wide[:, ::2], rows.astype(np.float32)):
        np.testing.assert_array_equal(TreeDictionary().evaluate(inputs, atoms, ONES), expected)


def test_sparse_rows_and_sparse_atoms_have_the_same_values() -> None:
    rows, atoms = make_rows(4), make_trees(2)
    expected = naive_values(rows, atoms)
    for make in (sparse.csr_array, sparse.csr_matrix):
        for inputs, trees in ((make(rows), atoms), (rows, make(atoms)), (make(rows), make(atoms))):
            values = TreeDictionary().evaluate(inputs, trees, ONES)
            assert type(values) is np.ndarray
            np.testing.assert_array_equal(values, expected)
    few = atoms[:1]
    np.testing.assert_array_equal(
        TreeDictionary().evaluate(sparse.csr_array(rows), few, ONES), np.full((200, 1), 0.25)
    )


def test_of_wide_sparse_rows_only_the_columns_in_use_are_made_dense() -> None:
    rng = np.random.default_rng(0)
    places = np.repeat(np.arange(50), 20), rng.integers(0, 10**6, 1000)
    rows = sparse.csr_array((rng.random(1000), places), shape=(50, 10**6))
    column = int(rows.indices[0])
    tree = np.array([[column, 0.0, 1.0, 0.0, *LEAF, -1.0, -0.5, 0.0, 0.0]])
    values = TreeDictionary().evaluate(rows, tree, np.ones(10**6))[:, 0]
    dense = rows[:, [column]].toarray()[:, 0]
    np.testing.assert_array_equal(values, np.where(dense <= 0.0, 0.25, -0.5))
    assert (values == -0.5).any()


@pytest.mark.extras
def test_tensors_have_the_same_values(monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    rows, atoms = make_rows(5), make_trees(3)
    rows[:3, 2] = LARGE
    expected = naive_values(rows, atoms)
    for entries in (1 << 22, 64):
        monkeypatch.setattr(trees_module, "_ENTRIES", entries)
        arrays = map(torch.tensor, (rows, atoms, ONES))
        values = TreeDictionary().evaluate(*arrays)
        assert values.dtype == torch.float64
        np.testing.assert_array_equal(values.numpy(), expected)
    numbers = [*range(3), 4]  # float32 holds no thresholds exactly, but these
    single = np.array([[0.0, 0.5, 1.0, 1.0, *LEAF, -1.0, -0.5, 0.0, 0.0]])
    arrays = (torch.tensor(a, dtype=torch.float32) for a in (rows[numbers], single, ONES))
    values = TreeDictionary().evaluate(*arrays)
    assert values.dtype == torch.float32
    np.testing.assert_array_equal(values.numpy(), naive_values(rows[numbers], single))


@given(st.data())
def test_any_tree_has_the_values_of_a_walk_by_hand(data) -> None:
    n_splits = data.draw(st.integers(0, 12))
    nodes, leaves = [list(LEAF)], [0]
    entries = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 51.0, 52.0, 60.0, 254.0, 255.0, np.nan])
    for _ in range(n_splits):
        node = leaves.pop(data.draw(st.integers(0, len(leaves) - 1)))
        kind = data.draw(st.integers(0, 3))
        masks = st.integers(0, 2**52 - 1).map(float)
        value = data.draw(masks if kind >= 2 else st.sampled_from([-1.0, 0.0, 0.7, 1e308]))
        nodes[node] = [data.draw(st.integers(0, 3)), value, len(nodes), kind]
        for _ in range(2):
            leaves.append(len(nodes))
            nodes.append([-1.0, len(nodes) / 8.0, 0.0, 0.0])
        if kind >= 2 and data.draw(st.booleans()):  # anywhere between the nodes
            nodes[node][3] += 4 * len(nodes)
            nodes.append([-2.0 - data.draw(masks) for _ in range(4)])
    row = np.array([*np.ravel(nodes), *data.draw(st.sampled_from([[], [0.0], [0.0] * 8]))])
    rows = np.array(data.draw(st.lists(st.tuples(*[entries] * 4), min_size=1, max_size=20)))
    values = TreeDictionary().evaluate(rows, row[None], ONES)
    np.testing.assert_array_equal(values, naive_values(rows, nodes_only(row)))


def nodes_only(row: np.ndarray) -> np.ndarray:
    return row[: len(row) // 4 * 4][None]


def test_prepared_atoms_have_the_same_values() -> None:
    rows, atoms = make_rows(6), make_trees(4)
    values = TreeDictionary().prepared(atoms, ONES)
    for inputs in (rows, rows[:1], sparse.csr_array(rows)):
        expected = TreeDictionary().evaluate(inputs, atoms, ONES)
        np.testing.assert_array_equal(values(inputs), expected)


def test_trimmed_rows_end_with_the_longest_tree() -> None:
    atoms = make_trees(6)
    wide = np.pad(atoms, ((0, 0), (0, 7)))
    np.testing.assert_array_equal(TreeDictionary().trimmed(wide), atoms)
    np.testing.assert_array_equal(TreeDictionary().trimmed(atoms[:1]), [LEAF])
    assert atoms.shape[1] <= TreeDictionary(5, categorical_features=[3]).n_parameters(4) == 4 * 94
    assert TreeDictionary(depth=5).n_parameters(4) == 4 * 63
    assert TreeDictionary().n_parameters(4) > 2**30


def test_candidates_are_one_leaf() -> None:
    for n in (1, 50):
        atoms = TreeDictionary(peak=0.25).candidates(make_sample(make_rows(0)), n, key=3)
        np.testing.assert_array_equal(atoms, [LEAF])
    assert TreeDictionary.takes_missing


@pytest.mark.parametrize(
    "row",
    [
        [0.0, 0.5, 1.0, 0.0],  # no such child
        [0.0, 0.5, 0.0, 0.0, *LEAF, *LEAF],  # its own child
        [0.0, 0.5, 1.0, 0.0, *LEAF],  # only one child
        [4.0, 0.5, 1.0, 0.0, *LEAF, *LEAF],  # no such feature
        [-2.0, 0.5, 1.0, 0.0, *LEAF, *LEAF],
        [0.5, 0.5, 1.0, 0.0, *LEAF, *LEAF],
        [0.0, 0.5, 1.5, 0.0, *LEAF, *LEAF],
        [0.0, 0.5, 1.0, 4.0, *LEAF, *LEAF],  # no such kind
        [0.0, np.nan, 1.0, 0.0, *LEAF, *LEAF],
        [0.0, np.inf, 1.0, 0.0, *LEAF, *LEAF],
        [0.0, 2.0**52, 1.0, 2.0, *LEAF, *LEAF],  # no such category
        [0.0, -1.0, 1.0, 2.0, *LEAF, *LEAF],
        [0.0, 0.5, 1.0, 2.0, *LEAF, *LEAF],
        [0.0, 5.0, 1.0, 14.0, *LEAF, *LEAF],  # no such words
        [0.0, 5.0, 1.0, 10.0, *LEAF, *LEAF],  # a leaf is no words
        [0.0, 5.0, 1.0, 12.0, *LEAF, *LEAF, *[-2.0] * 4],  # words, and no set
        [0.0, 5.0, 1.0, 14.0, *LEAF, *LEAF, -2.0, -2.0, -2.0, -1.0],
        [0.0, 5.0, 1.0, 14.0, *LEAF, *LEAF, -2.0, -2.0, -2.5, -2.0],
        [0.0, 5.0, 1.0, 14.0, *LEAF, *LEAF, -2.0, np.nan, -2.0, -2.0],
        [0.0, 5.0, 1.0, 14.0, *LEAF, *LEAF, -2.0 - 2.0**52, -2.0, -2.0, -2.0],
        [0.0, 5.0, 2.0, 14.0, *LEAF, *LEAF, *[-2.0] * 4],  # words as a child
        [0.0, 0.5, 1.0, 0.0, *LEAF, 0.0, 0.0, np.inf, 0.0],
        [np.nan, 0.5, 1.0, 0.0, *LEAF, *LEAF],
        [0.0, 0.0, 0.0],  # not even one node
    ],
)
def test_rows_that_are_no_trees_are_refused(row) -> None:
    with pytest.raises(ValueError, match="not a tree"):
        TreeDictionary().evaluate(np.zeros((3, 4)), np.array([row]), ONES)


def test_padding_and_depths_are_found() -> None:
    nodes = nodes_of(make_trees(8))
    trees = walks.check_trees(nodes, 4)
    np.testing.assert_array_equal(trees.depths, np.arange(len(nodes)))


def test_copies_and_pickles_are_equal() -> None:
    dictionary = TreeDictionary(depth=3, categorical_features=[3])
    rows, rng = make_rows(9), np.random.default_rng(0)
    residual = rng.standard_normal(200)
    expected = dictionary.grower(make_sample(rows)).grow(residual, np.ones(200), 0)
    for twin in (clone(dictionary), pickle.loads(pickle.dumps(dictionary))):
        assert twin.get_params() == dictionary.get_params()
        grower = twin.grower(make_sample(rows))
        np.testing.assert_array_equal(grower.grow(residual, np.ones(200), 0), expected)
