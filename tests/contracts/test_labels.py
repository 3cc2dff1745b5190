"""`benchmarks.labels`: labels are flipped as it says, and its report reads its rows."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import labels_sets
from benchmarks.labels_report import report
from benchmarks.labels_sets import CLEAN, KINDS, MOST, Clean, flip


@pytest.fixture
def clean(monkeypatch, tmp_path) -> Clean:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=4_000), "kind": rng.choice(["a", "b"], 4_000)})
    y = (X["size"].to_numpy() > 0.0).astype(np.int64)
    monkeypatch.setattr(labels_sets, "MARGINS", tmp_path)
    np.save(tmp_path / "made up-0.npy", np.abs(X["size"].to_numpy()))
    return Clean("made up", 0, X, y, X, y)


def rate(part, rows) -> float:
    return float(np.mean((part.given != part.true)[rows]))


def test_no_kind_flips_clean_labels(clean) -> None:
    part = flip(clean, CLEAN)
    np.testing.assert_array_equal(part.given, part.true)


@pytest.mark.parametrize("percent", [5, 10, 20, 30])
def test_uniform_flips_have_their_rate(clean, percent) -> None:
    part = flip(clean, f"uniform {percent}")
    assert rate(part, slice(None)) == pytest.approx(percent / 100, abs=0.03)
    np.testing.assert_array_equal(flip(clean, f"uniform {percent}").given, part.given)


def test_one_class_loses_labels(clean) -> None:
    for code, name in enumerate("ab"):
        part = flip(clean, f"one-sided 40, {name}")
        assert rate(part, part.true == code) == pytest.approx(0.4, abs=0.04)
        assert rate(part, part.true != code) == 0.0


def test_halves_are_flipped(clean) -> None:
    is_sure = clean.is_sure()
    size = np.abs(clean.X["size"].to_numpy())
    assert size[is_sure].min() >= size[~is_sure].max()
    surest = flip(clean, "surest")
    assert rate(surest, is_sure) == pytest.approx(0.3, abs=0.03)
    assert rate(surest, ~is_sure) == 0.0
    boundary = flip(clean, "boundary")
    assert rate(boundary, ~is_sure) == pytest.approx(MOST, abs=0.04)
    assert rate(boundary, is_sure) == 0.0


def test_a_column_decides(clean) -> None:
    part = flip(clean, "feature")
    order = np.argsort(clean.X["size"])
    assert rate(part, order[:400]) < 0.06
    assert rate(part, order[-400:]) == pytest.approx(0.43, abs=0.06)


def test_several_classes_lose_labels_to_others(clean) -> None:
    many = Clean("made up", 0, clean.X, np.arange(4_000) % 5, clean.X, clean.y)
    uniform = flip(many, "uniform 20")
    moves = (uniform.given - uniform.true)[uniform.given != uniform.true] % 5
    assert set(moves.tolist()) == {1, 2, 3, 4}
    one_sided = flip(many, "one-sided 40, a")
    is_wrong = one_sided.given != one_sided.true
    assert len(set(one_sided.true[is_wrong])) == len(set(one_sided.given[is_wrong])) == 1


def row(data, kind, method, **scores) -> dict[str, str]:
    ours = {"quality": 0.9, "share": 0.1, "low": 0.05, "high": 0.2, "is_known": 1.0}
    values = {
        "data": data,
        "draw": 0,
        "kind": kind,
        "method": method,
        "rows": 100,
        "cpu": 2.0,
        "wrong": 0.1,
        "plain": 0.7,
        "adjusted": 0.8,
        "error": 0.15,
        "joint": 0.12,
        **(ours if method == "fcgboost" else dict.fromkeys(ours, "")),
        **scores,
    }
    return {name: str(value) for name, value in values.items()}


def test_the_report_compares_cells_that_all_methods_have() -> None:
    kinds = list(KINDS)[:2]
    rows = [
        row(data, kind, method)
        for data in ("diamonds", "breast_cancer", "digits")
        for kind in kinds
        for method in ("fcgboost", "lightgbm")
    ]
    rows.append(row("diamonds", "surest", "fcgboost", quality=0.1, wrong=0.3))
    text = report(rows)
    assert "| uniform 5 | 2 | 90.0 | 70.0 | 80.0 | 70.0 | 80.0 | LightGBM adjusted | +10.0" in text
    assert "| without digits | 4 | 8 | 8 |" in text
    # Of the seven cells of ours, one interval misses.
    assert "| all | 7 | 7 | 86 % |" in text
    assert report([row("diamonds", "surest", "lightgbm")]).startswith("There are no rows of")
