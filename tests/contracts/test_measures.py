"""The measures of the code itself: its size and density, and the calls of a step."""

import pytest
from sklearn.datasets import make_classification

from benchmarks import faults, sizes, steps
from fcgboost import _kernels


def test_docstrings_comments_and_layout_do_not_count() -> None:
    bare = sizes.size_of("def f(x):\n    return x\n")
    told = sizes.size_of(
        '"""A text."""\n\n\ndef f(x):\n    """Say it."""\n    # Why.\n    return x\n'
    )
    assert (told.tokens, told.lines, told.statements) == (bare.tokens, 2, bare.statements + 2)
    assert bare.tokens == 8


def test_joining_lines_makes_code_denser_and_saves_no_token() -> None:
    apart = sizes.size_of("a = 1\nb = 2\n")
    joined = sizes.size_of("a, b = 1, 2\n")
    assert joined.tokens > apart.tokens
    assert joined.densities["tokens_per_line"] > apart.densities["tokens_per_line"]
    assert (apart.tuple_assignments, joined.tuple_assignments) == (0, 1)


def test_a_call_that_is_unpacked_is_no_tuple_assignment() -> None:
    assert sizes.size_of("a, b = f()\n").tuple_assignments == 0


def test_a_long_string_counts_by_its_words() -> None:
    assert sizes.size_of(f"a = '{'word ' * 50}'\n").tokens == 2 + 50
    assert sizes.size_of("a = 'word word'\n").tokens == 3


NESTED_F_STRING = """a = f"{x + 1:>{width}} é {f'{y!r}'} {{" + f'b'
"""
LONG_F_STRING = f"""a = f'''{{x}}
{"word " * 50}{{f"{{Any}}"}}'''
"""


@pytest.mark.parametrize(
    ("text", "n_tokens", "n_lines"),
    [
        pytest.param(NESTED_F_STRING, 5, 1, id="nested"),
        pytest.param(LONG_F_STRING, 2 + 54, 2, id="long"),
        pytest.param("def f():\n    return f''\n", 7, 2, id="empty"),
    ],
)
def test_an_f_string_is_one_token_on_every_version_of_python(
    text: str, n_tokens: int, n_lines: int
) -> None:
    size = sizes.size_of(text)
    assert (size.tokens, size.lines, size.anys) == (n_tokens, n_lines, 0)


def test_every_folder_is_no_denser_and_hardly_larger_than_the_ratchet_allows() -> None:
    parts = sizes.ratcheted_parts(sizes.sizes_by_file(sizes.PACKAGE))
    assert {"greedy", "core", "all"} < parts.keys()
    assert sizes.breaches(parts, sizes.read_limits()) == []


def test_a_folder_may_grow_by_a_few_per_cent() -> None:
    size = sizes.size_of("a = 1\n" * 100)
    room = {"greedy": {**size.densities, "tokens": 295}}
    full = {"greedy": {**size.densities, "tokens": 290}}
    assert sizes.breaches({"greedy": size}, {**room, "all": {}}) == []
    (breach,) = sizes.breaches({"greedy": size}, {**full, "all": {}})
    assert breach == "greedy: tokens is 300.0, at most 298.7 is allowed"


def test_a_denser_folder_is_named_with_its_figure() -> None:
    dense = {"greedy": sizes.size_of("a, b, c = f(1, 2, 3), g(4, 5, 6), h(7, 8, 9)\n")}
    (breach, *_) = sizes.breaches(dense, sizes.read_limits())
    assert breach.startswith("greedy: tokens_per_line is 32.0")


def test_limits_fall_and_never_rise() -> None:
    sparse = {"greedy": sizes.size_of("a = 1\n")}
    limits = {"greedy": dict.fromkeys(sparse["greedy"].figures, 2.0)}
    assert sizes.ratcheted(sparse, limits)["greedy"]["tokens_per_line"] == 2.0
    limits = {"greedy": dict.fromkeys(sparse["greedy"].figures, 9.0)}
    assert sizes.ratcheted(sparse, limits)["greedy"]["tokens_per_line"] == 3.0


def test_the_core_is_a_part_of_the_package() -> None:
    files = sizes.sizes_by_file(sizes.PACKAGE)
    core = sizes.core_of(files)
    assert 0 < core.tokens < sum(size.tokens for size in files.values())


@pytest.mark.parametrize("n_rows", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_calls_of_a_step_include_choosing_correcting_and_the_compiled_library(n_rows: int) -> None:
    X, y = make_classification(n_rows, 10, n_informative=6, flip_y=0.1, random_state=0)
    names = {name for name in vars(_kernels.library()) if name.startswith("fcg_")}
    assert names
    steps.count_calls(X, y, 5)
    few, many = (steps.count_calls(X, y, n_steps) for n_steps in (5, 10))
    # A step calls at least the choice, the correction and the record.
    assert many - few > 5 * 20
    assert {name for name in vars(_kernels.library()) if name.startswith("fcg_")} == names


def test_every_planted_fault_fits_one_place_and_changes_it() -> None:
    planted = faults.read_faults()
    assert len(planted) >= 200
    misfits = []
    for fault in planted:
        text = (faults.ROOT / fault.path).read_text("utf-8")
        try:
            assert fault.planted(text) != text
        except ValueError as error:
            misfits.append(str(error))
    assert misfits == []


def test_a_fault_fits_however_its_line_is_broken() -> None:
    fault = faults.Fault("losses.py", was="f(a, b + 1)", now="f(a, b)")
    assert fault.planted("x = f(\n    a,\n    b + 1,\n)\n") == "x = f(a, b)\n"
    with pytest.raises(ValueError, match="occurs 2 times"):
        fault.find("f(a, b + 1) + f(a, b+1)")
