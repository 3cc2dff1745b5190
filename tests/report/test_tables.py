"""Tables of columns and mistakes."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix

from fcgboost import FCGBoostClassifier
from fcgboost.evaluation import evaluate
from tests.suites.pages import (
    Reader,
    Show,
    mixed,
)


def test_columns_are_summed_up(show: Show, table_model: Any) -> None:
    X, y = mixed(80, 1)
    page = show(table_model, X, y)
    heads, rows = page.table("encoding")
    by_name = {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
    assert by_name["age"]["encoding"].startswith("age (")
    assert by_name["since"]["kind"] == "date"
    assert by_name["same"]["kind"].startswith("number")
    assert by_name["city"]["encoding"] == "city=Bern, city=Oslo and city=Rome"
    shares = [float(row["influence"].removesuffix(" %")) for row in by_name.values()]
    assert sum(shares) == pytest.approx(100.0, abs=0.3)


def test_mistakes_are_counted_and_the_worst_come_first(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    X, y = judged
    said = model.predict(X)
    heads, rows = page.table("true class")
    counts = confusion_matrix(y, said)
    assert [row[heads.index("no") : heads.index("no") + 2] for row in rows] == [
        [str(n) for n in row] for row in counts
    ]
    margins = np.where(y == "yes", 1.0, -1.0) * model.decision_function(X)
    wrong = np.flatnonzero(said != y)
    heads, rows = page.table("P(true class)")
    assert [int(row[0]) for row in rows] == (1 + wrong[np.argsort(margins[wrong])][:20]).tolist()
    i = int(rows[0][0]) - 1
    p = model.predict_proba(X[[i]])[0, int(y[i] == "yes")]
    assert rows[0][heads.index("P(true class)")] == f"{p:.3f}"
    assert f"feature 1 = {X[i, 0]:.4g} (" in rows[0][heads.index("explanation")]


def test_an_id_that_the_model_leaves_out_stands_beside_its_mistakes(show: Show) -> None:
    X, y = mixed(200, 0)
    X["customer"] = [f"C{i:04d}" for i in range(200)]
    clf = FCGBoostClassifier("relu", max_iter=6, random_state=0).fit(X, y)
    page = show(clf, X, np.where(y == "no", "yes", "no"))
    heads, rows = page.table("explanation")
    assert f"Row {rows[0][0]} (customer {rows[0][1]}) is predicted as" in page.text
    assert heads[:3] == ["row", "customer", "true class"]
    assert all(row[1] == f"C{int(row[0]) - 1:04d}" for row in rows)
    assert not any("customer" in row[heads.index("explanation")] for row in rows)


def test_long_class_names_number_the_confusion_matrix(show: Show) -> None:
    X, codes = make_classification(200, 8, n_informative=5, n_classes=4, random_state=0)
    y = np.array([f"a class with quite a long name, number {code}" for code in range(4)])[codes]
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, y)
    heads, rows = show(clf, X, y).table("true class")
    assert heads[1:] == ["rows", "1", "2", "3", "4", "recall", "precision"]
    assert rows[2][0] == "3.\N{NO-BREAK SPACE}a class with quite a long name, number 2"
    counts = confusion_matrix(y, clf.predict(X))
    assert [row[2:6] for row in rows] == [[str(n) for n in row] for row in counts]


def test_labels_that_the_model_does_not_know_are_mistakes_of_their_own(
    model: FCGBoostClassifier, judged: tuple[Any, Any], show: Show
) -> None:
    X, y = judged
    y = y.astype(object)
    y[:7] = "perhaps"
    page = show(model, X, y)
    heads, rows = page.table("true class")
    assert rows[-1][:2] == ["unknown to the model", "7"]
    assert rows[-1][heads.index("recall")] == "0.0 %"
    assert evaluate(model, X, y).scores["accuracy"].value < 1.0 - 7 / len(y)
