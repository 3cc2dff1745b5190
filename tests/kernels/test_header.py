"""What the compiled library takes: the declarations of its header, and nothing beside them."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fcgboost import _kernels
from fcgboost._kernels import forest, header, rounds, shapley, walks
from fcgboost.dictionaries.bins import bin_rows
from tests.suites.compilers import compile_c, needs_compiler

HEADER = Path(header.__file__).with_name("kernels.h")
STRUCTURES = {one.kind: one for one in header.Struct.__subclasses__()}
ARRAYS = [
    (name, argument)
    for name, (_, arguments) in header.FUNCTIONS.items()
    for argument in arguments
    if not (argument.is_scalar or argument.is_structure)
]
each_array = pytest.mark.parametrize(
    ("name", "argument"),
    ARRAYS,
    ids=[f"{name}-{argument.name}" for name, argument in ARRAYS],
)
# More numbers than any array needs if all sizes are 2.
MANY = 5000


def right_array(argument):
    dtype, _ = header._dtype_of(argument)
    return np.zeros(MANY, dtype or np.int64)


def right_arguments(name):
    """Return what a function takes, all numbers and sizes being 2."""
    values = {}
    for argument in header.FUNCTIONS[name][1]:
        if argument.is_scalar:
            values[argument.name] = 2
        elif argument.is_structure:
            structure = STRUCTURES[argument.type]()
            for field, kind in structure._fields_:
                if kind is ctypes.c_int64:
                    setattr(structure, field, 2)
            values[argument.name] = structure
        else:
            values[argument.name] = right_array(argument)
    return values


def call_with(name, argument, wrong):
    values = right_arguments(name)
    values[argument.name] = wrong
    getattr(_kernels.library(), name)(**values)


def test_every_function_of_the_header_is_known():
    declared = re.findall(r"\b(fcg_\w+)\(", header._TEXT)
    assert sorted(declared) == sorted(header.FUNCTIONS)
    assert len(declared) == header._TEXT.count("\nFCG_API ")


def test_only_these_sizes_are_left_to_the_caller():
    free = {f"{name} {argument.name}" for name, argument in ARRAYS if not argument.size}
    assert free == {
        "fcg_code_rows X",
        "fcg_fingerprint X",
        "fcg_grow_tree leaves",
        *(f"fcg_plan_tree {name}" for name in ("gains", "children", "room")),
        *(f"fcg_plan_tree {name}" for name in ("order", "lefts", "wanted")),
        "fcg_shapley_walks first",
        *(f"fcg_split_rows {name}" for name in ("slots", "splits", "histograms")),
        "fcg_take_rows X",
        "fcg_take_rows taken",
        "fcg_add_up X",
        "fcg_walk X",
        "fcg_walk_to_leaves X",
        "fcg_write_tree splits",
        "fcg_write_tree totals",
    }


@each_array
def test_what_is_no_array_of_its_type_is_refused(name, argument):
    match = f"{name}: {argument.name} must be an array"
    for wrong in (3, [0.0] * MANY, np.zeros(MANY, np.float32), np.zeros(MANY, ">i8")):
        if argument.type == "void" and isinstance(wrong, np.ndarray):
            continue
        with pytest.raises(TypeError, match=match):
            call_with(name, argument, wrong)
    if argument.size is not None:
        with pytest.raises(TypeError, match=match):
            call_with(name, argument, None)


@each_array
def test_what_is_not_in_c_order_is_refused(name, argument):
    right = right_array(argument)
    for wrong in (np.asfortranarray(right.reshape(2, -1)), np.repeat(right, 2)[::2]):
        with pytest.raises(ValueError, match=f"{name}: {argument.name} must be .* C-contiguous"):
            call_with(name, argument, wrong)


@each_array
def test_only_constant_arrays_may_be_read_only(name, argument):
    fixed = right_array(argument)
    fixed.setflags(write=False)
    if argument.is_const:
        check = header.check_array(name, argument)
        assert check(fixed, 2) == fixed.ctypes.data
    else:
        with pytest.raises(ValueError, match=f"{name}: {argument.name} must be writeable"):
            call_with(name, argument, fixed)


@each_array
def test_an_array_that_is_too_short_is_refused(name, argument):
    if not argument.size:
        return  # its size is the caller's
    with pytest.raises(ValueError, match=rf"{argument.name} needs [1-9]\d* numbers, and has 0"):
        call_with(name, argument, right_array(argument)[:0])


@pytest.mark.parametrize(
    ("name", "array", "size"),
    [
        ("fcg_fingerprint", "columns", 2),
        ("fcg_look", "coef", 2),
        ("fcg_propose", "Z", 128),
        ("fcg_propose", "atoms", 6),
        ("fcg_find_splits", "histograms", 1024),
        ("fcg_leaf_sums", "sums", 6),
        ("fcg_walk", "nodes", 16),
        ("fcg_shapley_products", "room", 8),
    ],
)
def test_sizes_are_those_of_the_header(name, array, size):
    (argument,) = (argument for argument in header.FUNCTIONS[name][1] if argument.name == array)
    with pytest.raises(ValueError, match=f"needs {size} numbers, and has {size - 1}"):
        call_with(name, argument, right_array(argument)[: size - 1])


@pytest.mark.parametrize(
    "wrong", [None, 3, _kernels.Rules(), b"text"], ids=lambda wrong: type(wrong).__name__
)
def test_another_structure_is_refused(wrong):
    with pytest.raises(TypeError, match="search must be fcg_search, not"):
        _kernels.library().fcg_draw(wrong, 1, np.zeros(1), 1, np.zeros(2))


def test_checks_need_no_assertions():
    program = (
        "import numpy as np\n"
        "from fcgboost import _kernels\n"
        "try:\n"
        "    _kernels.weigh(np.zeros(3, np.int32))\n"
        "except TypeError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-O", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "fcg_weights: weights must be an array of float64, not of int32.\n"


def test_an_unreadable_header_is_an_error():
    with pytest.raises(ImportError, match=r"cannot read 'double \*\*\*x'"):
        header._variables("double ***x")


def of_hinge():
    return _kernels.HingeSums(np.zeros((3, 5)), np.ones(5), np.ones(5))


def of_bins():
    return bin_rows(np.arange(5.0)[:, None], np.zeros(1, bool))


def short_codes():
    bins, codes = of_bins()
    _kernels.refer_to_bins(bins, codes[:, :0])


def short_leaves():
    bins, codes = of_bins()
    _kernels.grow_tree(
        _kernels.refer_to_bins(bins, codes),
        _kernels.Rules(),
        np.zeros(5),
        np.ones(5),
        np.zeros((1, 256), np.int64),
        np.zeros((9, 4)),
        np.zeros(4, np.uint16),
    )


def short_histograms():
    bins, codes = of_bins()
    rows = np.zeros(5, np.int64)
    splits = np.zeros(2, _kernels.SPLIT)
    rounds.split_rows(
        _kernels.refer_to_bins(bins, codes),
        rows,
        splits,
        rows,
        np.zeros(5, np.int32),
        np.zeros((1, 256), np.int64),
    )


def short_splits():
    rounds.write_tree(
        _kernels.refer_to_bins(of_bins()[0]),
        _kernels.Rules(),
        np.array([0, 2]),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(3, _kernels.SPLIT),
    )


def short_first(last=2):
    shapley.walk(
        np.array([[1, 3]]),
        np.arange(last + 1),
        np.zeros((1, 2)),
        np.zeros((2, 8)),
        np.zeros((1, 8)),
        0,
        np.zeros((1, 8)),
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _kernels.HingeSums(np.zeros((3, 4)), np.ones(5), np.ones(5)), "A needs 15"),
        (lambda: _kernels.HingeSums(np.zeros((3, 5)), np.ones(5), np.ones(4)), "shares needs 5"),
        (lambda: of_hinge().resize(np.zeros((4, 4))), "A needs 20"),
        (lambda: of_hinge().expand(np.zeros(4)), "4 coefficients, and 3 columns"),
        (lambda: of_hinge().step(np.zeros(3), 3, True, 0.1, None), "no column 3"),
        (lambda: forest.Forest(5).append(np.zeros(4), 2), "codes needs 5"),
        (lambda: forest.Forest(5).sums([np.zeros(4)]), "r needs 5"),
        (
            lambda: walks.walk_to_leaves(
                np.zeros((5, 1)),
                walks.check_trees(np.array([[[-1.0, 0.0, 0.0, 0.0]] * 2]), 1),
                np.zeros(1, np.uint16),
            ),
            "numbers needs 2",
        ),
        (
            lambda: walks.add_up(walks.Sum(n_features=2), np.zeros((5, 1))),
            "1 features, not 2",
        ),
        (lambda: rounds.plan_tree(0, np.zeros(0), np.zeros(0, np.int64)), "gains needs 1"),
        (lambda: rounds.plan_tree(0, np.zeros(3), np.zeros(2, np.int64)), "children needs 3"),
        (short_codes, "codes needs 5"),
        (short_leaves, "leaves needs 5"),
        (short_histograms, "histograms needs 512"),
        (short_splits, "totals needs 3"),
        (short_first, "first needs 4"),
        (lambda: short_first(3), "gaps needs 3"),
    ],
)
def test_wrappers_check_the_sizes_that_are_left_to_them(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@needs_compiler
@pytest.mark.extras
def test_structures_are_laid_out_as_by_the_compiler(tmp_path):
    places = [
        (name, field) for name, structure in STRUCTURES.items() for field, *_ in structure._fields_
    ]
    numbers = [f"offsetof({name}, {field})" for name, field in places]
    numbers += [f"sizeof({name})" for name in STRUCTURES]
    lines = "".join(f'    printf("%zu\\n", {number});\n' for number in numbers)
    text = f'#include "{HEADER}"\n#include <stddef.h>\n#include <stdio.h>\n'
    program = compile_c(tmp_path, f"{text}int main(void) {{\n{lines}    return 0;\n}}\n")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    expected = [getattr(STRUCTURES[name], field).offset for name, field in places]
    expected += [ctypes.sizeof(structure) for structure in STRUCTURES.values()]
    assert [int(line) for line in done.stdout.split()] == expected
