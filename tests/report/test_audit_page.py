"""The page about an audit says what the audit found, as text, and needs nothing from outside."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fcgboost
from fcgboost import FCGBoostClassifier
from tests.report.conftest import axes, image
from tests.suites.pages import EVIL, MEGABYTE, pictures, read


def flipped(n_rows: int = 240) -> tuple[pd.DataFrame, Any, Any]:
    """Give a table, labels of which some are wrong, and which are."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["length", EVIL])
    X["town"] = rng.choice(["Oslo", f"Rome {EVIL}"], n_rows)
    is_wrong = rng.random(n_rows) < 0.1
    is_spam = (X["length"] > 0.0) ^ is_wrong
    return X, np.where(is_spam, EVIL, "ham"), is_wrong


def quick(X: Any, y: Any, **parameters: Any) -> fcgboost.Audit:
    parameters = {"max_iter": 6, "cv": 3, "random_state": 0, **parameters}
    return FCGBoostClassifier("gauss", **parameters).fit(X, y).audit(X, y)


@pytest.fixture(scope="module")
def audited() -> fcgboost.Audit:
    X, y, _ = flipped()
    return quick(X, y)


@pytest.fixture(scope="module")
def written(audited: fcgboost.Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited.report(tmp_path_factory.mktemp("audit") / "audit.html", title=f"</title>{EVIL}")


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plot pictures without saving them, which takes most of the time."""
    for name, sketch in {"drawing": axes, "image_of": image}.items():
        monkeypatch.setattr(f"fcgboost.report.audit_page.{name}", sketch)


def test_the_suspects_are_listed_with_reasons(audited: fcgboost.Audit, written: Path) -> None:
    heads, rows = read(written).table("more likely")
    assert heads == ["row", "label", "more likely", "quality", "reasons"]
    suspects = audited.suspects
    assert len(suspects) > 5
    assert [int(row[0]) for row in rows] == (suspects + 1).tolist()
    frame = audited.to_frame().iloc[suspects]
    assert [row[1] for row in rows] == frame["given_label"].tolist()
    assert [row[2] for row in rows] == frame["predicted_label"].tolist()
    assert [row[4] for row in rows] == audited.reasons(suspects)
    assert "length = " in rows[0][4]


def test_the_matrix_counts_the_flips(audited: fcgboost.Audit, written: Path) -> None:
    [(heads, *rows)] = [
        table[1:] for table in read(written).tables if "most likely class" in table[0]
    ]
    assert heads == ["label", "rows", EVIL, "ham", "suspicious", "wrong labels"]
    shares = [str(wrong) for wrong in audited.wrong_by_class.values()]
    assert [row[5] for row in rows] == shares
    for (name, n_rows, *counts, _, _), flips in zip(rows, audited.flips, strict=True):
        assert name in (EVIL, "ham")
        assert int(n_rows) == flips.sum()
        assert [int(n) for n in counts] == flips.tolist()
    n_suspicious = audited.flips.sum() - np.trace(audited.flips)
    assert n_suspicious == len(audited.suspects)
    (histogram,) = pictures(read(written))
    assert histogram["alt"].startswith("Histogram of label quality")
    assert histogram["src"].startswith("data:image/svg+xml;base64,")


def test_what_is_typed_as_a_name_is_shown_as_text(written: Path) -> None:
    page = read(written)
    assert [a.get("type") for tag, a in page.elements if tag == "script"] == [
        "application/json",
        None,
    ]
    assert page.text.startswith(f"</title>{EVIL}")
    (policy,) = [
        str(a["content"])
        for _, a in page.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    for tag, attributes in page.elements:
        assert str(attributes.get("src", "data:")).startswith("data:"), tag
        assert str(attributes.get("href", "#")).startswith(("#", "data:")), tag
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    assert written.stat().st_size < MEGABYTE / 2


@pytest.mark.usefixtures("sketched")
def test_rows_have_their_names(audited: fcgboost.Audit, tmp_path: Path) -> None:
    numbers = np.arange(240) * 10
    names = {"row": numbers, "id": [f"=1+{i}" for i in range(240)]}
    page = read(audited.report(tmp_path / "audit.html", top=3, rows=names))
    heads, rows = page.table("more likely")
    first = audited.suspects[:3]
    assert heads[:5] == ["row", "label", "more likely", "quality", "id"]
    assert [(row[0], row[4]) for row in rows] == [(f"{10 * i:,}", f"=1+{i}") for i in first]
    assert "The 3 most suspicious of" in "".join(page.texts)
    page = read(audited.report(tmp_path / "audit.html", top=1, rows={"id": numbers}))
    heads, rows = page.table("more likely")
    assert heads[4] == "id"
    assert (rows[0][0], rows[0][4]) == (f"{first[0] + 1:,}", f"{10 * first[0]:,}")


@pytest.mark.usefixtures("sketched")
def test_labels_that_are_all_right_have_a_page(tmp_path: Path) -> None:
    X, y, is_wrong = flipped()
    trusted = np.ones(240, dtype=bool)
    clf = FCGBoostClassifier("gauss", max_iter=6, cv=3, random_state=0)
    audit = clf.fit(X, y, trusted=trusted).audit(X, y)
    page = read(audit.report(tmp_path / "audit.html"))
    assert is_wrong.any()
    assert "No label is suspicious." in page.text
    assert "Nothing was found." in page.text
    assert audit.reasons(audit.suspects) == []


@pytest.mark.usefixtures("sketched")
def test_models_that_are_no_members_give_no_reasons(tmp_path: Path) -> None:
    X, y, _ = flipped()
    audit = quick(X, y, ensemble=False)
    heads, _ = read(audit.report(tmp_path / "audit.html")).table("more likely")
    assert heads == ["row", "label", "more likely", "quality"]


@pytest.mark.usefixtures("sketched")
def test_of_many_classes_suspects_are_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(14), 30)
    X = codes[:, None] + 0.05 * rng.normal(size=(420, 1))
    y = np.where(rng.random(420) < 0.2, (codes + 1) % 14, codes)
    audit = quick(X, y, max_iter=40)
    heads, rows = read(audit.report(tmp_path / "audit.html")).table("suspicious")
    assert heads == ["label", "rows", "suspicious", "wrong labels"]
    counts = [int(row[2]) for row in rows]
    assert counts == np.bincount(y[audit.suspects], minlength=14).tolist()
    assert sum(counts) > 10


def test_errors_leave_what_was_there(audited: fcgboost.Audit, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    page.write_text("before")
    with pytest.raises(ValueError, match="top"):
        audited.report(page, top=0)
    with pytest.raises(FileNotFoundError, match="The folder for the report"):
        audited.report(tmp_path / "nowhere" / "audit.html")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.html"]
    assert page.read_text() == "before"
