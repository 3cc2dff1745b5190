"""Models of tables for the tests of exports, and their rows as an exported model takes them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.export.sources import record_of
from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.cells import is_missing, text_of
from fcgboost.tables.columns import level_codes
from fcgboost.tables.dates import part_of_date
from fcgboost.tables.inputs import encode
from fcgboost.tables.pairs import Pair


class Case(NamedTuple):
    """A model, and rows to compare on: numbers or a table."""

    model: Any
    X: Any


def table_of(model: Any) -> list[Column] | None:
    """Give the columns that an exported model takes one by one; None if rows are arrays."""
    columns = model.columns_
    are_numbers = [isinstance(one, NumberColumn) and one.unit == "number" for one in columns]
    if all(are_numbers):
        return None
    return [column for j, column in enumerate(columns) if is_used(model, j)]


def is_used(model: Any, j: int) -> bool:
    """Whether some member makes something of a column."""
    return any(member.inputs.columns[j].n_outputs for member in model.members_)


def cells_of(column: Column, X: Any, dtype: Any) -> np.ndarray:
    """Give a column as an exported model takes it: texts, numbers of some type, or days."""
    values = X[column.name] if hasattr(X, "columns") else X[:, int(column.name[1:])]
    if isinstance(column, CategoryColumn):
        return np.array(["" if is_missing(v) else text_of(v) for v in values], dtype=object)
    numbers = column.read(values)
    return numbers.astype(dtype) if column.unit == "number" else numbers


def read(model: Any, X: Any, dtype: Any) -> np.ndarray:
    """Give one number for every cell of rows, whose numbers are known as some type only."""
    columns = model.columns_
    if table_of(model) is None:
        return np.asarray(X, dtype=np.float64).astype(dtype).astype(np.float64)
    numbers = [
        column.read(cells_of(column, X, dtype)) if is_used(model, j) else np.full(len(X), np.nan)
        for j, column in enumerate(columns)
    ]
    return np.column_stack(numbers)


def cells(model: Any, X: Any, dtype: Any) -> np.ndarray:
    """Give the numbers that rows of a table are read as: values, parts of dates and codes."""
    numbers = read(model, X, dtype).T
    columns = []
    for j, part, second in record_of(model).cells:
        if part == "pair":
            columns.append(Pair.of(model.columns_, j, second).codes(numbers.T))
        elif part == "level":
            columns.append(level_codes(numbers[j], len(model.columns_[j].levels)))
        else:
            columns.append(numbers[j] if part == "value" else part_of_date(part, numbers[j]))
    return np.column_stack(columns).astype(dtype)


def seen(model: Any, X: Any, dtype: Any) -> list[np.ndarray]:
    """Give what the atoms of each member see of rows."""
    numbers = read(model, X, dtype)
    return [encode(member.inputs, numbers) for member in model.members_]


COLORS = ["red", "gr\u00fcn", 'bl"ue', "a\\b", "??/", "*/", "yellow, or so", "rare", "also rare"]


def table_rows(n: int, seed: int, *, is_new: bool = False) -> Any:
    """Give rows with numbers, truth values, dates and texts, and gaps among them."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    shares = np.array([20, 20, 15, 10, 10, 10, 10, 0.7, 0.7])
    rows = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(8.0, 1.0, n)),
            "int": rng.random(n) < 0.4,
            "since": pd.Timestamp("2015-03-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
            "*/ #error evil": rng.choice(COLORS, n, p=shares / shares.sum()),
            "label": rng.choice(["yes", "no"], n),
            "constant": "same",
            "sex": rng.choice(["f", "m", None], n),
        }
    )
    if is_new:
        rows.loc[::7, "*/ #error evil"] = "never seen"
        rows.loc[::5, "label"] = "maybe"
        rows.loc[::6, "label"] = None
        rows.loc[::4, "age"] = np.nan
        rows.loc[::9, "since"] = pd.NaT
        rows.loc[::8, "sex"] = ""
    return rows


def wide_rows(n: int, seed: int, *, is_new: bool = False) -> Any:
    """Give such rows with hours, many levels, whole numbers that are categories, and a key."""
    import pandas as pd

    rng = np.random.default_rng([seed, n])
    cities = np.array([f"city {number} \u00e9\u4e2d"[: 6 + number % 5] for number in range(40)])
    rows = table_rows(n, seed, is_new=is_new).assign(
        city=rng.choice(cities, n).astype(object),
        zone=rng.integers(-2, 6, n),
        seen=pd.Timestamp("1969-11-20") + pd.to_timedelta(rng.integers(0, 5000, n), "h"),
        key=[f"row {row}" for row in range(n)],
    )
    if not is_new:
        rows["zone"] = rows["zone"].astype("category")
        return rows
    rows["zone"] = rows["zone"].astype(float)
    rows.loc[::5, "zone"] = [77.0, np.nan, -0.0, 2.5][seed % 4]
    rows.loc[::4, "city"] = ""
    rows.loc[::9, "city"] = None
    rows.loc[1::9, "city"] = "zzz"
    rows.loc[2::9, "city"] = "A"
    rows.loc[::6, "seen"] = pd.NaT
    dates = ["1931-02-28 23:59:59.999999", "1704-02-29", "2000-03-01", "1900-12-31 00:30"]
    rows["seen"] = rows["seen"].astype("datetime64[us]")
    rows.loc[7:10, "seen"] = pd.to_datetime(dates, format="ISO8601").astype("datetime64[us]")
    return rows


def labels_of(rows: Any, n_classes: int) -> np.ndarray:
    """Give classes that depend on numbers, texts, gaps and hours."""
    score = (rows["age"] - 40.0) / 10.0 + (rows["label"] == "yes") + (rows["sex"] == "f")
    if "seen" in rows:
        # Many levels are told apart where they differ by more than chance.
        score += 3.0 * (rows["city"] < "city 2") - 1.0
        score += rows["income"].isna() + (rows["seen"].dt.hour > 12)
    classes = np.array(["no", "perhaps", "yes"])[:n_classes]
    return classes[np.digitize(score, [1.0, 2.0][: n_classes - 1])]


def encoded(dictionary: Any, n_classes: int, make_rows: Callable[..., Any] = table_rows) -> Case:
    """Fit a classifier on a table."""
    rows = make_rows(250, 0)
    model = FCGBoostClassifier(dictionary=dictionary, max_iter=12, random_state=0)
    return Case(model.fit(rows, labels_of(rows, n_classes)), make_rows(200, 1, is_new=True))


def whole(dictionary: Any, n_classes: int, n: int = 250, **parameters: Any) -> Case:
    """Fit a classifier on a table."""
    rows, settings = wide_rows(n, 0), {"max_iter": 12, "random_state": 0, **parameters}
    model = FCGBoostClassifier(dictionary, **settings).fit(rows, labels_of(rows, n_classes))
    return Case(model, wide_rows(200, n_classes, is_new=True))


def texts(dictionary: Any) -> Case:
    """Fit on a table without numbers."""
    rows, columns = wide_rows(250, 0), ["city", "zone", "sex"]
    model = FCGBoostClassifier(dictionary, max_iter=8, random_state=0).fit(
        rows[columns], labels_of(rows, 2)
    )
    return Case(model, wide_rows(200, 1, is_new=True)[columns])


def paired(dictionary: Any, n_classes: int) -> Case:
    """Fit where combinations of levels decide."""
    rows = table_rows(400, 0)
    is_same = (rows["label"] == "yes") == (rows["sex"] == "f")
    classes = np.where(is_same, np.arange(400) % (n_classes - 1), n_classes - 1)
    model = FCGBoostClassifier(dictionary, max_iter=8, random_state=0).fit(rows, classes)
    assert all(member.pairs for member in model.members_)
    return Case(model, table_rows(200, 1, is_new=True))


def numbers(dictionary: Any, share: float, n_classes: int = 2, **parameters: Any) -> Case:
    """Fit on an array, a share of whose numbers is missing; many are, in later rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 3], [0.0, 1.0][: n_classes - 1])
    X[:, :4] = np.where(rng.random((200, 4)) < share, np.nan, X[:, :4])
    X[:, 2] = np.nan if share else X[:, 2]
    later = np.where(rng.random(X.shape) < 0.3, np.nan, 2.0 * X)
    model = FCGBoostClassifier(dictionary, max_iter=12, random_state=0, **parameters).fit(X, y)
    return Case(model, np.vstack([X, later]))


def listed(dictionary: Any) -> Case:
    """Fit on an array of numbers of which some are listed as categories."""
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 5, 300), rng.integers(-9, 20, 300)])
    y = (X[:, 0] + X[:, 1] % 2 + X[:, 2] % 3 > 1.5).astype(int)
    model = FCGBoostClassifier(dictionary, max_iter=12, categorical_features=[1, 2], random_state=0)
    later = X + rng.choice([0.0, 0.5, 20.0, np.nan], X.shape)
    return Case(model.fit(X, y), np.vstack([X, later]))


#: Rows have columns of several kinds.
TABLES: dict[str, Callable[[], Case]] = {
    "table_gauss_2": lambda: encoded("gauss", 2),
    "table_relu_3": lambda: encoded("relu", 3),
    "table_auto_3": lambda: encoded("auto", 3, wide_rows),
    "whole_auto_2": lambda: whole("auto", 2),
    "whole_auto_3": lambda: whole("auto", 3),
    "whole_tree_3": lambda: whole("tree", 3),
    "whole_relu_3": lambda: whole("relu", 3, clip=1.0),
    "whole_gauss_2": lambda: whole("gauss", 2),
    "whole_forest_3": lambda: whole("auto", 3, 10_000, max_iter=3),
    "texts_auto": lambda: texts("auto"),
    "paired_auto": lambda: paired("auto", 2),
    "paired_relu_3": lambda: paired("relu", 3),
    "listed_auto": lambda: listed("auto"),
    "listed_tree": lambda: listed("tree"),
}
#: Rows are arrays in which numbers are missing.
GAPS: dict[str, Callable[[], Case]] = {
    "later_auto": lambda: numbers("auto", 0.0, 3),
    "later_gauss": lambda: numbers("gauss", 0.0),
    "later_relu": lambda: numbers("relu", 0.0, clip=0.5),
    "later_tree": lambda: numbers("tree", 0.0),
    "early_auto": lambda: numbers("auto", 0.2, 3),
    "early_gauss": lambda: numbers("gauss", 0.2),
    "early_relu": lambda: numbers("relu", 0.2, clip=0.5),
    "early_tree": lambda: numbers("tree", 0.2),
}
