"""Rows of trees as nodes, and the sets of categories that they hold."""

import numpy as np
from scipy import sparse

from fcgboost.dictionaries.nodes import FIELDS, WORD, as_rows, nodes_of, sets_of

LEAF = [-1.0, 0.25, 0.0, 0.0]


def test_nodes_are_the_numbers_of_a_row_in_fours() -> None:
    atoms = np.arange(24.0).reshape(2, 12)
    nodes = nodes_of(atoms)
    assert nodes.shape == (2, 3, FIELDS)
    np.testing.assert_array_equal(nodes[1, 2], [20.0, 21.0, 22.0, 23.0])
    np.testing.assert_array_equal(as_rows(nodes), atoms)


def test_numbers_that_fill_no_node_are_left_out() -> None:
    atoms = np.arange(14.0).reshape(1, 14)
    np.testing.assert_array_equal(as_rows(nodes_of(atoms)), atoms[:, :12])
    assert nodes_of(np.ones((2, 3))).shape == (2, 0, FIELDS)


def test_sparse_rows_and_rows_in_single_precision_have_the_same_nodes() -> None:
    atoms = np.array([[0.0, 0.5, 1.0, 0.0, *LEAF, *LEAF]])
    for other in (sparse.csr_array(atoms), atoms.astype(np.float32), np.asfortranarray(atoms)):
        nodes = nodes_of(other)
        assert nodes.dtype == np.float64
        assert nodes.flags.c_contiguous
        np.testing.assert_array_equal(nodes, nodes_of(atoms))


def test_a_set_of_few_categories_is_one_word_and_others_go_with_the_missing() -> None:
    codes = 0b1101
    for kind, others in ((2.0, 0), (3.0, 2**WORD - 1)):
        tree = np.array([[0.0, float(codes), 1.0, kind, *LEAF, *LEAF]])
        sets = sets_of(nodes_of(tree))
        assert sets.shape == (1, 3, 5)
        assert sets[0, 0].tolist() == [codes, *[others] * 4]
        # Leaves have none.
        assert not sets[0, 1:].any()


def test_a_set_of_many_categories_has_its_other_words_at_the_end_of_the_row() -> None:
    words = [5, 1, 0, 2**WORD - 1, 7]
    others = [-2.0 - word for word in words[1:]]
    # Node 3 holds the words.
    tree = np.array([[0.0, float(words[0]), 1.0, 2.0 + 4.0 * 3, *LEAF, *LEAF, *others]])
    sets = sets_of(nodes_of(tree))
    assert sets[0, 0].tolist() == words
    assert not sets[0, 1:].any()


def test_a_threshold_is_no_set() -> None:
    for kind in (0.0, 1.0):
        tree = np.array([[0.0, 3.0, 1.0, kind, *LEAF, *LEAF]])
        assert not sets_of(nodes_of(tree)).any()
