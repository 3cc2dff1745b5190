"""The classifier takes tables of any library, with text, categories, gaps and dates."""

import datetime
import pickle
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score

from fcgboost import FCGBoostClassifier, SquaredHinge, hashing, load_model
from fcgboost.checks import check_rows
from fcgboost.dictionaries import ReluDictionary, TreeDictionary
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.dates import part_of_date
from fcgboost.tables.inputs import facts_of, learn_inputs
from fcgboost.tables.levels import LevelFacts
from fcgboost.training.dataset import DataSet
from fcgboost.training.tasks import Classification
from tests.suites.frames import kinds, small

pa = pytest.importorskip("pyarrow")

LEVELS = np.array([f"level {i:02}" for i in range(30)])


def make_table(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Give a table of every kind of column, and labels that depend on most of them."""
    rng = np.random.default_rng(seed)
    size, color, place = rng.normal(size=n), rng.integers(3, size=n), rng.integers(30, size=n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000 * 24, n), unit="h")
    f = size + np.array([-1.0, 0.0, 1.5])[color] + (place % 3 - 1.0) + (day.month > 6)
    y = np.where(f + 0.3 * rng.normal(size=n) > 0.5, "yes", "no")
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "count": rng.integers(5, size=n),
            "color": np.array(["red", "green", "blue"], dtype=object)[color],
            "place": LEVELS[place],
            "grade": pd.Categorical(rng.integers(4, size=n), ordered=True),
            "is_new": rng.random(n) < 0.5,
            "day": day,
        }
    )
    table.loc[rng.random(n) < 0.1, "color"] = None
    return table, y


X, Y = make_table()
KINDS = {
    **dict.fromkeys(("size", "count", "is_new", "day"), "number"),
    **dict.fromkeys(("color", "place", "grade"), "category"),
}


def as_polars(table: pd.DataFrame) -> pl.DataFrame:
    columns = {name: table[name].to_list() for name in table if name not in ("color", "grade")}
    columns["color"] = [None if pd.isna(cell) else cell for cell in table["color"]]
    frame = pl.DataFrame({**columns, "size": table["size"].to_numpy()})
    grade = pl.Series("grade", table["grade"].astype(str).to_list(), dtype=pl.Categorical)
    return frame.with_columns(grade).select(list(table))


DRESSES = {
    "object": lambda table: table,
    "nullable": lambda table: table.convert_dtypes(),
    "arrow": lambda table: (
        table.astype({"grade": "object"})
        .convert_dtypes(dtype_backend="pyarrow")
        .astype({"grade": "category"})
    ),
    "polars": as_polars,
    "pyarrow": lambda table: pa.Table.from_pandas(table.astype({"grade": str})).set_column(
        4, "grade", pa.array(table["grade"].astype(str)).dictionary_encode()
    ),
}


@pytest.mark.parametrize("dress", DRESSES)
def test_a_table_of_any_library_gives_the_same_model(dress: str) -> None:
    frame = DRESSES[dress](X)
    model, expected = small().fit(frame, Y), small().fit(X, Y)
    assert kinds(model) == KINDS
    np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(X))


def test_polars_needs_no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = as_polars(X)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pandas"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert small().fit(frame, Y).predict(frame).shape == Y.shape


@pytest.mark.parametrize("dictionary", ["auto", "compact", "tree", "relu", "gauss", "polynomial"])
def test_every_family_learns_from_every_kind_of_column(dictionary: str) -> None:
    test, y = make_table(400, 1)
    model = FCGBoostClassifier(dictionary, random_state=0).fit(X, Y)
    assert model.score(test, y) > (0.75 if dictionary in ("auto", "compact", "relu") else 0.6)
    assert model.feature_importances_.shape == (X.shape[1],)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_the_default_uses_what_categories_tell() -> None:
    test, y = make_table(1000, 1)
    model = FCGBoostClassifier(random_state=0).fit(X, Y)
    numbers = ["size", "count", "is_new"]
    without = FCGBoostClassifier(random_state=0).fit(X[numbers], Y)
    assert model.score(test, y) > without.score(test[numbers], y) + 0.1
    influence = dict(zip(X, model.feature_importances_, strict=True))
    assert min(influence[name] for name in ("size", "color", "place")) > influence["is_new"]


# What a column is


def categorical(**options) -> dict[str, str]:
    return kinds(small(max_iter=2, **options).fit(X, Y))


def test_categories_are_what_the_parameter_says() -> None:
    everything = ["color", "place", "grade", "count"]
    assert categorical(categorical_features=everything) == {**KINDS, "count": "category"}
    assert categorical(categorical_features=[2, 3, 4, 1]) == {**KINDS, "count": "category"}
    mask = [name in everything for name in X]
    assert categorical(categorical_features=mask) == {**KINDS, "count": "category"}
    assert categorical(categorical_features=["color", "place"])["grade"] == "number"
    with pytest.raises(ValueError, match=r"Column 'color' holds text, such as .*from_dtype"):
        small(categorical_features=None).fit(X, Y)
    assert kinds(small(categorical_features=None).fit(X[["size", "grade"]], Y))["grade"] == "number"
    for wrong in (["colour"], [9], "all", [True], 3.5):
        with pytest.raises(ValueError, match="categorical_features"):
            small(categorical_features=wrong).fit(X, Y)


def test_a_column_of_an_array_can_be_a_category() -> None:
    numbers = np.column_stack([X["size"].fillna(0.0), X["count"] * 10])
    model = small(categorical_features=[1]).fit(numbers, Y)
    assert model.columns_[1].levels == ("0", "10", "20", "30", "40")
    assert not np.isnan(model.decision_function(np.array([[0.0, 77.0]]))).any()
    decision = model.decision_function(numbers)
    np.testing.assert_array_equal(decision, model.decision_function(numbers.astype(object)))
    missing = model.decision_function(np.column_stack([numbers[:, 0], np.full(len(X), np.nan)]))
    assert (decision != missing).any()


def one_column(cells, **options):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object), "z": np.arange(float(len(cells)))})
    model = small(max_iter=2, **options).fit(frame, np.arange(len(cells)) % 2)
    return model.columns_[0], model


@pytest.mark.parametrize(
    ("cells", "unit", "style"),
    [
        (["1,234.5", "12", "1,000,000", None], "number", ""),
        (["1.234,5", "12,25", "7", ""], "number", "decimal comma"),
        (["1 234", "5 678 901", "3", "4"], "number", ""),
        (["2020-01-31", "2021-12-01T10:00", "2020-02-02", "1969-07-20"], "days", ""),
        ([Decimal("1.5"), None, Decimal(2), Decimal(3)], "number", ""),
        ([datetime.timedelta(days=1), None, datetime.timedelta(hours=3)] * 2, "number", ""),
        ([datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 9)] * 2, "days", ""),
        ([True, False, None, True], "number", ""),
    ],
)
def test_text_that_is_wholly_numbers_or_dates_is_read_as_such(cells, unit, style) -> None:
    column, model = one_column(cells)
    assert isinstance(column, NumberColumn)
    assert (column.unit, column.style) == (unit, style)
    on_column = [note for note in model.notes_ if note.startswith("'a'")]
    assert (len(on_column) == 1) == isinstance(cells[0], str)
    listed, _ = one_column(cells, categorical_features=["a"])
    assert isinstance(listed, CategoryColumn)


@pytest.mark.parametrize(
    "cells", [["007", "012", "007", "012"], ["03/04/2020", "05/06/2020"] * 2, ["1", "x"] * 2]
)
def test_codes_and_ambiguous_dates_stay_categories(cells) -> None:
    assert isinstance(one_column(cells)[0], CategoryColumn)


@pytest.mark.parametrize(("dayfirst", "month"), [(True, 4), (False, 3)])
def test_an_option_tells_days_from_months(dayfirst: bool, month: int) -> None:
    column, _ = one_column(["03/04/2020", "05/06/2020 12:30", None, "1/2/2021"], dayfirst=dayfirst)
    days = column.read(np.array(["03/04/2020"], dtype=object))
    assert part_of_date("month", days).tolist() == [month]


def test_numbers_with_strays_are_an_error_that_says_what_to_do() -> None:
    cells = [str(i) for i in range(60)] + ["none"]
    with pytest.raises(ValueError, match=r"'a': 60 of 61 values are numbers, but not 'none'"):
        one_column(cells)
    assert isinstance(one_column(cells, categorical_features=["a"])[0], CategoryColumn)


def test_parts_of_dates_are_those_of_pandas() -> None:
    hours = np.random.default_rng(0).integers(-(10**6), 10**6, 20_000)
    moments = pd.Timestamp("1970-01-01") + pd.to_timedelta(hours, unit="h")
    days = hours / 24.0
    names = {"month": "month", "weekday": "day_of_week", "hour": "hour"}
    for part, name in names.items():
        np.testing.assert_array_equal(part_of_date(part, days), getattr(moments, name))


# What is decided


def test_two_columns_of_one_name_are_refused() -> None:
    for frame in (
        X.rename(columns={"count": "size"}),
        pd.DataFrame(np.eye(4), columns=list("abca")),
    ):
        with pytest.raises(ValueError, match="Two columns of X are named"):
            small().fit(frame, Y[: len(frame)])


def test_a_column_of_nothing_makes_no_input() -> None:
    frame = X.assign(nothing=None, gaps=np.nan)
    model, plain = small().fit(frame, Y), small().fit(X, Y)
    assert [column.n_outputs for column in model.columns_[-2:]] == [0, 0]
    assert model.feature_importances_[-2:].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0)
    assert model.model_.scale.shape == plain.model_.scale.shape


def test_infinities_are_named() -> None:
    with pytest.raises(ValueError, match=r"Column 'size', row 8: inf is infinite"):
        small().fit(X.assign(size=np.where(np.arange(len(X)) == 7, np.inf, X["size"])), Y)


def test_another_order_of_columns_is_scikit_learns_error() -> None:
    model = small().fit(X, Y)
    with pytest.raises(ValueError, match="in the same order as they were in fit"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        model.predict(X.rename(columns={"size": "width"}))


def test_unseen_levels_count_as_missing() -> None:
    model = FCGBoostClassifier(random_state=0).fit(X, Y)
    new = X.assign(color="violet", place="nowhere", grade=pd.Categorical([9] * len(X)))
    gone = X.assign(color=None, place=None, grade=pd.Categorical([None] * len(X), [1]))
    np.testing.assert_array_equal(model.decision_function(new), model.decision_function(gone))
    assert np.isfinite(model.decision_function(gone)).all()


def task_of(labels):
    return Classification(SquaredHinge(), None, np.array(list(labels)))


def learned(dictionary, columns, rows, labels="xy"):
    """Give the inputs learned from rows, and the facts that encode these."""
    task = task_of(labels)

    def ask(origins):
        return facts_of(origins, rows, task.level_sums)

    return learn_inputs(dictionary, columns, ask, rows.X[:1], task.statistics)


def test_rare_levels_share_a_code_in_trees() -> None:
    counts = [0, 9, 4, 30, 2]
    levels = np.repeat(np.arange(5.0), counts)
    y = np.arange(45) % 2
    rows = DataSet.of(np.column_stack([levels, np.arange(45.0)]), y, np.ones(45))
    columns = [CategoryColumn("a", tuple("vwxyz")), NumberColumn("b")]
    inputs, _ = learned(TreeDictionary(), columns, rows)
    *codes, gap = inputs.columns[0].outputs[-1].numbers
    assert codes[1:] == [1.0, 2.0, 0.0, 2.0]
    # A level that no row has counts as missing.
    assert codes[0] == gap == -1.0


def test_trees_tell_only_the_most_frequent_of_many_levels_apart() -> None:
    counts = [*[90] * 28, 120, 500, 400]
    levels = np.repeat(np.arange(31.0), counts)
    n = len(levels)
    rows = DataSet.of(np.column_stack([levels, np.arange(n)]), np.arange(n) % 2, np.ones(n))
    columns = [CategoryColumn("a", tuple(f"{i:02}" for i in range(31))), NumberColumn("b")]
    inputs, _ = learned(TreeDictionary(), columns, rows)
    # One has a hundred rows, but less than a twentieth of all.
    assert inputs.columns[0].outputs[-1].numbers == (*[2.0] * 29, 0.0, 1.0, -1.0)


# Nothing leaks


def random_levels(n: int, seed: int, n_levels: int) -> np.ndarray:
    return np.char.add("L", np.random.default_rng(seed).integers(n_levels, size=n).astype(str))


def test_statistics_of_a_row_do_not_see_its_label() -> None:
    rng = np.random.default_rng(0)
    n, n_levels = 400, 40
    levels, codes = rng.integers(n_levels, size=n).astype(float), rng.integers(3, size=n)
    rows = DataSet.of(levels[:, None], codes, np.ones(n))
    column = CategoryColumn("a", tuple(f"{i:02}" for i in range(n_levels)))
    before = facts_of([column], rows, task_of("abc").level_sums)
    inputs, _ = learned(ReluDictionary(), [column], rows, "abc")
    own = inputs.encode_training(rows.X, rows.row_hashes, {0: before[0]})
    assert own.shape == (n, 2)
    # All labels of one part of the rows change: statistics of that part move by the prior alone.
    part = hashing.keyed(rows.row_hashes, 19) % np.uint64(5) == 0
    sums = before[0].sums[:, 0]
    other = LevelFacts(before[0].sums.copy(), np.zeros(3))
    other.sums[:, 0] = sums[:, [1, 2, 0]]
    moved = inputs.encode_training(rows.X, rows.row_hashes, {0: other})[part] - own[part]
    by_level = pd.DataFrame(moved).groupby(levels[part])
    assert by_level.nunique().max().max() == 1


def test_shares_of_many_levels_enter_if_they_tell_something_or_nothing_else_does() -> None:
    rng = np.random.default_rng(1)
    n, n_levels = 600, 30
    levels = rng.integers(n_levels, size=(n, 2)).astype(float)
    y = (rng.random(n) < np.where(levels[:, 0] % 2, 0.2, 0.8)).astype(int)
    texts = tuple(f"{i:02}" for i in range(n_levels))
    columns = [CategoryColumn(name, texts) for name in "ab"]
    rows = DataSet.of(levels, y, np.ones(n))
    inputs, facts = learned(ReluDictionary(), columns, rows)
    assert inputs.names() == ["share of y of a"]
    assert list(facts) == [0]
    alone = DataSet.of(levels[:, 1:], y, np.ones(n))
    inputs, facts = learned(ReluDictionary(), columns[1:], alone)
    assert inputs.names() == ["share of y of b"]


def test_facts_of_parts_add_up() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.integers(9, size=60), rng.normal(size=60), rng.uniform(0, 900, 60)]
    )
    values[rng.random(values.shape) < 0.2] = np.nan
    columns = [
        CategoryColumn("a", tuple("abcdefghi")),
        NumberColumn("b"),
        NumberColumn("c", unit="days"),
    ]
    rows = DataSet.of(values, rng.integers(2, size=60), rng.random(60))
    parts = [rows.take(np.arange(60) % 3 == i) for i in range(3)]
    sums_of = task_of("xy").level_sums
    first, second, third = (facts_of(columns, part, sums_of) for part in parts)
    whole = list(facts_of(columns, rows, sums_of))
    found = [one + other + last for one, other, last in zip(first, second, third, strict=True)]
    np.testing.assert_allclose(found[0].sums, whole[0].sums, rtol=1e-14)
    for one, all_rows in zip(found[1:], whole[1:], strict=True):
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, getattr(all_rows, name))


def test_random_levels_teach_nothing() -> None:
    differences = {"test": [], "train": []}
    for seed in range(4):
        (train, y), (test, z) = make_table(400, seed), make_table(400, seed + 100)
        noise = random_levels(400, seed, 400), random_levels(400, seed + 100, 400)
        plain = FCGBoostClassifier(random_state=0).fit(train, y)
        noisy = FCGBoostClassifier(random_state=0).fit(train.assign(noise=noise[0]), y)
        for name, own, labels, column in (
            ("train", train, y, noise[0]),
            ("test", test, z, noise[1]),
        ):
            losses = [
                log_loss(labels, model.predict_proba(frame))
                for model, frame in ((plain, own), (noisy, own.assign(noise=column)))
            ]
            differences[name].append(losses[1] - losses[0])
    for name, sign in (("test", 1.0), ("train", -1.0)):
        mean, error = np.mean(differences[name]), np.std(differences[name], ddof=1) / 2.0
        assert sign * mean < 2.0 * error + 1e-3


# Around the fit


def test_trees_see_how_a_level_changes_the_effect_of_a_number() -> None:
    rng = np.random.default_rng(0)
    level, x = rng.integers(14, size=2600), rng.normal(size=2600)
    frame = pd.DataFrame({"x": x, "level": LEVELS[level]})
    y = x * (level % 2 - 0.5) > 0.0
    model = FCGBoostClassifier(random_state=0).fit(frame[:2200], y[:2200])
    assert model.score(frame[2200:], y[2200:]) > 0.85


def test_a_fit_does_not_go_on_with_columns_of_another_kind() -> None:
    model = small(max_iter=3, l2=0.01, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="needs the data of the last fit"):
        model.set_params(max_iter=5).fit(X.astype({"count": "category"}), Y)


def test_a_column_of_nothing_takes_anything_later() -> None:
    model = small().fit(X.assign(nothing=None), Y)
    assert model.notes_[0] == "'nothing' is left out: every value is missing."
    np.testing.assert_array_equal(
        model.decision_function(X.assign(nothing="text")),
        model.decision_function(X.assign(nothing=None)),
    )


PAIRS = [[i, i + 1] for i in range(len(X))]
RECORDS = [{"first": i} for i in range(len(X))]
SIZES = np.sin(np.arange(len(X))).tolist()
SEVERAL = {
    "lists": X.assign(pair=PAIRS),
    "tuples": X.assign(pair=list(map(tuple, PAIRS))),
    "sets": X.assign(pair=list(map(set, PAIRS))),
    "records": X.assign(pair=RECORDS),
    "arrays": X.assign(pair=list(map(np.array, PAIRS))),
    "cells": X.assign(pair=PAIRS).to_numpy(dtype=object),
    "lists of pandas and Arrow": X.assign(pair=pd.arrays.ArrowExtensionArray(pa.array(PAIRS))),
    "records of pandas and Arrow": X.assign(pair=pd.arrays.ArrowExtensionArray(pa.array(RECORDS))),
    "lists of Arrow": pa.table({"pair": pa.array(PAIRS), "size": SIZES}),
    "records of Arrow": pa.table({"pair": pa.array(RECORDS), "size": SIZES}),
    "lists of polars": pl.DataFrame({"pair": pl.Series(PAIRS), "size": SIZES}),
    "arrays of polars": pl.DataFrame(
        {"pair": pl.Series(PAIRS, dtype=pl.Array(pl.Int64, 2)), "size": SIZES}
    ),
    "records of polars": pl.DataFrame({"pair": pl.Series(RECORDS), "size": SIZES}),
}


@pytest.mark.parametrize("frame", SEVERAL.values(), ids=SEVERAL)
def test_cells_with_several_values_are_left_out_of_frames_or_refused(frame) -> None:
    is_frame = hasattr(frame, "columns")
    name = "pair" if is_frame else f"x{X.shape[1]}"
    with pytest.raises(ValueError, match=f"Column '{name}' cannot be read .row 1 holds several"):
        small(keep_columns=["pair"] if is_frame else None).fit(frame, Y)
    if is_frame:
        model = small().fit(frame, Y)
        [finding] = [finding for finding in model.findings_ if finding.columns == ("pair",)]
        assert finding.kind == "list"
        assert np.isfinite(model.decision_function(frame)).all()


class Silent:
    """A cell without a text."""

    def __str__(self) -> str:
        raise RuntimeError


LATE = np.array(["400000-01-01"] * len(X), dtype="datetime64[s]")
EARLY = np.array(["-400000-01-01"] * len(X), dtype="datetime64[D]")
STRANGE = {
    "a signalling NaN": (pd.Series([Decimal("sNaN")] * len(X)), "NaN"),
    "no text": (pd.Series([Silent()] * len(X)), "RuntimeError"),
    "late dates": (pd.Series(LATE), "290,000 years"),
    "early dates": (pd.Series(EARLY), "290,000 years"),
    "late dates as cells": (pd.Series(list(LATE), dtype=object), "290,000 years"),
    "integers of 128 bits": (pl.Series([1] * len(X), dtype=pl.Int128), "128"),
}


@pytest.mark.parametrize(("values", "problem"), STRANGE.values(), ids=STRANGE)
def test_whatever_a_cell_or_its_library_raises_names_the_column(values, problem) -> None:
    frame = type(values.to_frame())
    message = f"Column 'odd' cannot be read .*{problem}.*: make it numbers, dates or text"
    for wanted in ("from_dtype", ["odd"]):
        with pytest.raises(ValueError, match=message):
            small(categorical_features=wanted).fit(frame({"odd": values}), Y)
        known = small(categorical_features=wanted).fit(frame({"odd": X["count"]}), Y)
        with pytest.raises(ValueError, match="Column 'odd'"):
            known.predict(frame({"odd": values}))


def test_types_of_arrow_that_pandas_does_not_know_are_read() -> None:
    n = len(X)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([n // 2, n], pa.int32()), pa.array([1, 2]))
    texts = pa.array(X["place"].tolist(), pa.string_view())
    arrays = {"runs": runs, "texts": texts, "nothing": pa.nulls(n)}
    model = small().fit(pa.table(arrays), Y)
    assert [column.kind for column in model.columns_] == ["number", "category", "skipped"]
    frame = pd.DataFrame({name: pd.arrays.ArrowExtensionArray(a) for name, a in arrays.items()})
    assert small().fit(frame, Y).columns_ == model.columns_
    np.testing.assert_array_equal(model.predict(frame), model.predict(pa.table(arrays)))


def test_rows_that_are_elsewhere_are_asked_for() -> None:
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*: use X\.collect"):
        small().fit(as_polars(X).lazy(), Y)


def test_wrong_wishes_are_refused_for_numbers_too() -> None:
    numbers = np.random.default_rng(0).normal(size=(60, 2))
    for wrong in ("auto", ["a"], [5]):
        with pytest.raises(ValueError, match="categorical_features"):
            small(categorical_features=wrong).fit(numbers, Y[:60])
    with pytest.raises(ValueError, match="categorical_features need dense columns"):
        small(categorical_features=[1]).fit(sparse.csr_array(numbers), Y[:60])
    with pytest.raises(ValueError, match="dayfirst"):
        small(dayfirst="yes").fit(X, Y)
    mixed = small(categorical_features=["color", "place", 4]).fit(X, Y)
    assert kinds(mixed) == KINDS


# What is kept


def test_repetition_weights_and_order_give_the_same_model() -> None:
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    places = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), weights))
    once = small().fit(X, Y, weights)
    often = small().fit(X.iloc[places], Y[places])
    assert once.columns_ == often.columns_
    np.testing.assert_allclose(
        once.decision_function(X), often.decision_function(X), rtol=1e-9, atol=1e-10
    )


def test_a_fit_goes_on() -> None:
    whole = small(max_iter=20, l2=0.01).fit(X, Y).decision_function(X)
    warm = small(max_iter=8, l2=0.01, warm_start=True).fit(X, Y)
    found = warm.set_params(max_iter=20).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dictionary", ["auto", "tree", "relu"])
def test_a_model_comes_back_from_a_file_and_a_pickle(dictionary: str, tmp_path) -> None:
    model = small(dictionary=dictionary).fit(X, Y)
    model.save_model(tmp_path / "model.json")
    for other in (load_model(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert other.columns_ == model.columns_
        new = X.assign(color="violet", size=None)
        for frame in (X, new):
            np.testing.assert_array_equal(
                other.decision_function(frame), model.decision_function(frame)
            )
        np.testing.assert_allclose(other.feature_importances_, model.feature_importances_)


def test_validation_rows_may_have_other_levels() -> None:
    held_out, y = make_table(200, 5)
    held_out.loc[:9, "color"] = "violet"
    model = FCGBoostClassifier(random_state=0).fit(X, Y, X_val=held_out, y_val=y)
    # Of the draws of a kind, a mean: each is judged by itself.
    results = [model.cv_results_[f"split{i}_test_score"] for i in range(3)]
    for member in model.members_:
        f = member.decision(check_rows(model, held_out))[:, 0]
        losses = np.maximum(0.0, 1.0 - np.where(y == "yes", f, -f)) ** 2
        hits = (f > 0.0) == (y == "yes")
        assert np.isclose(results, (hits - 0.5 * losses).mean(), rtol=1e-9).any()


def test_every_member_learns_its_inputs_from_its_own_rows() -> None:
    half = np.arange(len(Y)) < len(Y) // 2
    options = {"l2": 0.01, "max_iter": 6, "random_state": 0}
    model = FCGBoostClassifier("relu", cv=[(half, ~half), (~half, half)], **options).fit(X, Y)
    assert kinds(model) == KINDS
    for member, rows in zip(model.members_, (half, ~half), strict=True):
        alone = FCGBoostClassifier("relu", **options).fit(X[rows], Y[rows])
        rows_seen = check_rows(model, X)
        np.testing.assert_array_equal(
            member.inputs.encode(rows_seen), alone.members_[0].inputs.encode(rows_seen)
        )


def test_scikit_learns_model_selection_takes_tables() -> None:
    model, y = small(), np.where(Y == "yes", 1, 0)
    X = make_table()[0].fillna({"color": "none"})  # scikit-learn sorts levels
    assert cross_val_score(model, X, y, cv=2).mean() > 0.6
    tuned = TunedThresholdClassifierCV(model, cv=2, scoring="balanced_accuracy").fit(X, y)
    assert tuned.predict(X).shape == y.shape
    fitted = clone(model).fit(X, y)
    importances = permutation_importance(fitted, X, y, n_repeats=2, random_state=0)
    assert importances.importances_mean[2] > importances.importances_mean[5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        effect = partial_dependence(fitted, X, ["color"], categorical_features=["color"])
        assert effect["average"].shape[1] >= 3
        assert partial_dependence(fitted, X, ["size"], grid_resolution=5)["average"].shape == (1, 5)
