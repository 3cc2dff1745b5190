"""The small studies that pages quote: they run, and measure what they say."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import (
    few_rows,
    model_sizes,
    study_categories,
    study_findings,
    study_members,
    study_noise,
    study_scores,
)
from benchmarks.data import make_rows
from fcgboost import FCGBoostClassifier
from paper.data.tables import LabelledFrame


def cells_of(line: str) -> list[str]:
    return line.strip("| ").split(" | ")


def test_one_column_tells_the_classes_apart_and_each_has_its_rows() -> None:
    X, y, X_test, y_test = few_rows.one_column(3, seed=0)
    assert (np.bincount(y) == 3).all()
    assert (np.bincount(y_test) == 47).all()
    stacked, labels = np.vstack([X, X_test]), np.concatenate([y, y_test])
    spreads = np.array([stacked[labels == c].std(axis=0) for c in range(few_rows.N_CLASSES)])
    assert spreads[:, 0].mean() == pytest.approx(0.5, abs=0.05)
    assert stacked[:, 0].std() > 200.0


def test_the_table_of_few_rows_has_a_line_for_each_method(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = "one column, 5 rows a class"
    few_rows.main(["--seeds", "1", "--data", data, "--methods", "random forest", "fast"])
    (*_, forest, fast) = capsys.readouterr().out.splitlines()
    assert cells_of(forest)[:2] == [data, "random forest"]
    assert 30.0 < float(cells_of(forest)[2].split()[0]) < 80.0
    assert cells_of(fast)[1] == "fast"


def test_scores_are_compared_with_fresh_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_scores, "N_FRESH", 400)
    study_scores.main(["--rows", "60", "--data", "noise", "--seeds", "2"])
    line = capsys.readouterr().out.splitlines()[-1]
    assert cells_of(line)[:3] == ["60", "noise", "2"]
    assert 40.0 < float(cells_of(line)[3]) < 60.0


def test_a_fixed_ridge_leaves_one_to_choose_from(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[FCGBoostClassifier] = []
    fit = FCGBoostClassifier.fit

    def recorded(self: FCGBoostClassifier, X: object, y: object) -> FCGBoostClassifier:
        fitted.append(fit(self, X, y))
        return fitted[-1]

    monkeypatch.setattr(FCGBoostClassifier, "fit", recorded)
    monkeypatch.setattr(study_scores, "N_FRESH", 400)
    part = study_scores.noise(60, seed=0)
    gap, accuracy = study_scores.gap(part, is_fixed=True)
    (model,) = fitted
    assert {member.l2 for member in model.members_} == {1.0 / np.sqrt(60)}
    assert gap == pytest.approx(100.0 * model.oof_score_ - accuracy)


def test_sizes_of_models_are_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    model_sizes.main(["--rows", "150", "--models", "compact"])
    head, _, two, seven = map(cells_of, capsys.readouterr().out.splitlines())
    assert len(head) == len(model_sizes.COLUMNS)
    for cells, n_classes in ((two, "2"), (seven, "7")):
        figures = dict(zip(model_sizes.COLUMNS, cells, strict=False))
        assert figures["classes"] == n_classes
        assert float(figures["JSON"]) <= float(figures["with paths"])


def test_members_fitted_again_with_their_own_ridge_are_the_same() -> None:
    X, y = make_rows(120)
    model = FCGBoostClassifier(l2=0.05, max_iter=8, cv=3, random_state=0)
    once = model.fit(X, y).decision_function(X)
    with study_members.fitted_again():
        again = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(again, once)
    assert {member.l2 for member in model.members_} == {0.05}


@pytest.mark.parametrize(
    ("variant", "families"),
    [("families", {"UnionDictionary"}), ("forests", {"TreeDictionary"})],
)
def test_a_variant_of_one_kind_has_members_of_that_kind(variant: str, families: set[str]) -> None:
    X, y = make_rows(120)
    change = study_members.VARIANTS[variant].change
    assert change is not None
    with change():
        model = FCGBoostClassifier(max_iter=8, cv=3, random_state=0).fit(X, y)
    assert {type(member.model.dictionary).__name__ for member in model.members_} == families


def test_columns_of_categories_are_compared_on_the_same_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(study_categories, "MOST_ROWS", 120)
    small = study_categories.generate(7, 120)
    assert (small.X.shape, small.X_test.shape) == ((120, 17), (120, 17))
    assert study_categories.without_texts(small).X.shape == (120, 12)
    noisy = study_categories.with_noise(small, 4)
    assert noisy.X.shape == (120, 22)
    assert set(noisy.X_test["noise 0"]) <= {f"level {i}" for i in range(4)}
    monkeypatch.setattr(study_categories, "deal", lambda name, split: small)
    monkeypatch.setattr(study_categories, "PATH", tmp_path / "categories.csv")
    options = ["--only", "generated", "--splits", "1", "2", "--variants", "without text"]
    study_categories.main(options)
    head, _, row = map(cells_of, capsys.readouterr().out.splitlines())
    assert head == ["table (splits)", "AUC", "less without text"]
    assert row[0] == "generated (2)"
    # Both splits are the same rows.
    assert re.fullmatch(r"[+-]\d+\.\d{2} ± 0\.00 \(\d+\.\d{2} ×\)", row[2])
    # What has a row is not measured again.
    monkeypatch.setattr(
        study_categories, "measure", lambda name, split, variants: map(int, variants)
    )
    study_categories.main(options)
    assert cells_of(capsys.readouterr().out.splitlines()[-1]) == row


def test_small_sets_give_the_table_of_members(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_members, "load", lambda name: make_rows(100))
    options = ["--sets", "small", "--only", "heart", "--splits", "100", "101"]
    study_members.main([*options, "--variants", "fast", "fitted again"])
    (*_, default, fast, again) = map(cells_of, capsys.readouterr().out.splitlines())
    assert default[:3] == ["default", "2", "+0.00 ± 0.00"]
    assert (fast[0], again[0]) == ("fast", "fitted again")
    assert re.fullmatch(r"[+-]\d+\.\d{2} ± \d+\.\d{2}", again[2])
    part = study_members.deal_small("heart", 100)
    assert (len(part.y), len(part.y_test)) == (50, 50)


def test_the_search_for_findings_takes_a_share_of_a_fit_and_says_what_it_found() -> None:
    assert 0.0 < study_findings.share(100, "fast") < 1.0
    y = np.arange(100) % 2
    frame = pd.DataFrame({"x": np.sin(np.arange(100)), "copy": y})
    said = study_findings.said(LabelledFrame(frame, y))
    assert [(finding.kind, finding.columns) for finding in said] == [("leak", ("copy",))]


@pytest.mark.parametrize(("flips", "share"), [("clean", 0.0), ("surest", 0.15), ("uniform", 0.3)])
def test_a_share_of_the_labels_of_a_pair_is_wrong(flips: str, share: float) -> None:
    part = study_noise.pair(flips, seed=0)
    side = np.sin(2.0 * part.X[:, 0]) * part.X[:, 1]
    is_wrong = part.y != (side > 0.0)
    assert is_wrong.mean() == pytest.approx(share, abs=0.03)
    if flips == "surest":
        assert abs(side[is_wrong]).min() >= abs(side[~is_wrong]).max()
    assert (part.y_test == (np.sin(2.0 * part.X_test[:, 0]) * part.X_test[:, 1] > 0.0)).all()


def test_accuracies_under_wrong_labels_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_noise, "N_TEST", 200)
    data = "simulation, outliers"
    study_noise.main(["--data", data, "--methods", "compact", "SVC", "--seeds", "500"])
    compact, svc = capsys.readouterr().out.splitlines()
    assert cells_of(compact)[:2] == [data, "compact"]
    assert 80.0 < float(cells_of(compact)[2].split()[0]) <= 100.0
    assert cells_of(svc)[1] == "SVC"
