"""Tables with text, dates and gaps, and missing cells: what rivals get, and what rows say."""

import gzip
import io
import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from report_frames import FINISHED, frame_of
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier
from paper import runner
from paper.base import DataError
from paper.contest import frames
from paper.contest.frames import METHODS, arrange, fit_tuned, measure
from paper.data import tables as data
from paper.data.catalog import UCI_SETS
from paper.data.home import VARIABLE, digest
from paper.data.tables import LabelledFrame, fetch_table, read_table
from paper.experiments import gaps, tables
from paper.experiments.gaps import Gaps, GapsUnit
from paper.experiments.tables import DEVELOPMENT, JUDGED, Tables, TablesUnit, missing_tables
from paper.protocol import deal_random, seed_of
from paper.reporting.frames import LABELS, OURS, RIVALS
from paper.reporting.ledger.frames import GAPS, TABLES
from paper.reporting.sections import section
from paper.rivals.base import Terms
from paper.rivals.coding import (
    MISSING,
    OTHER,
    DateParts,
    TextLevels,
    TrainingLevels,
    one_hot,
)
from paper.rivals.frames import FRAME_RIVALS, FrameRival

WHY = "in the dependency group 'paper' only"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    # Threads that wait for each other on busy cores take minutes.
    with threadpool_limits(1):
        yield


def made_up(n_rows=240, n_classes=2):
    """Give a table in which a number and a text decide."""
    random = np.random.default_rng(n_rows)
    x, text = random.normal(size=n_rows), random.choice(["a", "b", "c"], n_rows)
    y = np.digitize(x + 2.0 * (text == "b"), np.linspace(0.0, 2.0, n_classes + 1)[1:-1])
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 900, n_rows), "h")
    frame = pd.DataFrame(
        {
            "x": np.where(random.uniform(size=n_rows) < 0.1, np.nan, x),
            "text": pd.Series(text).where(random.uniform(size=n_rows) < 0.9),
            "when": days.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "kind": pd.Categorical(random.choice(["u", "v"], n_rows)),
        }
    )
    return LabelledFrame(frame, y.astype(np.int64))


def parts_of(n_classes=2):
    table = made_up(n_classes=n_classes)
    return arrange(table, deal_random(len(table.y), 0))


# Data


def test_only_what_is_empty_is_missing_and_the_last_column_is_the_label():
    X, y = read_table(b"a,b,target\n1,NA,no\n,x,yes\n3,,no\n")
    assert list(X) == ["a", "b"]
    assert X["a"].isna().tolist() == [False, True, False]
    assert X["b"].tolist()[:2] == ["NA", "x"]
    assert X["b"].isna().tolist() == [False, False, True]
    assert y.tolist() == [0, 1, 0]


def test_numbers_that_are_names_become_categories_and_letters_stay_text():
    names = data.CATEGORIES["heart"]
    content = f"age,{','.join(names)},target\n70.0{',1.0' * 6},2\n67.0{',0.0' * 6},1\n"
    X, y = data._uci_frame("heart", content.encode())
    assert X["age"].tolist() == [70.0, 67.0]
    assert all(X[name].dtype == "category" for name in names)
    assert y.tolist() == [1, 0]
    letters = ",".join(UCI_SETS["seismic_bumps"].categories)
    X, _ = data._uci_frame("seismic_bumps", f"{letters},energy,target\na,b,N,a,5,0\n".encode())
    assert X.iloc[0].tolist() == ["a", "b", "N", "a", 5.0]


def test_a_table_is_found_in_its_folder_and_verified(tmp_path, monkeypatch):
    content = b"a,target\n1,x\n2,y\n"
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(data, "DIGESTS", {"chile": digest(content)})
    with pytest.raises(FileNotFoundError, match=r"tables/chile\.csv\.gz is in no data home"):
        fetch_table("chile")
    assert "no data home: tables/chile.csv.gz" in missing_tables(["chile"])
    assert "--datasets" in missing_tables(["chile"])
    (tmp_path / "tables").mkdir()
    path = tmp_path / "tables" / "chile.csv.gz"
    path.write_bytes(gzip.compress(content))
    assert len(fetch_table("chile").y) == 2
    assert missing_tables(["chile"]) is None
    path.write_bytes(gzip.compress(b"a,target\n1,x\n"))
    with pytest.raises(DataError, match="does not hold the expected data"):
        missing_tables(["chile"])


# What rivals get


def test_dates_become_numbers_and_other_texts_stay():
    X = pd.DataFrame(
        {
            "when": ["1970-01-02T12:00:00Z", None, "2024-02-29T00:00:00Z"],
            "text": ["2024-01-01", "no date", "x"],
        }
    )
    found = DateParts().fit_transform(X)
    assert list(found) == ["text", "when_days", "when_month", "when_day_of_week", "when_hour"]
    assert found["when_days"].tolist()[0] == 1.5
    assert found["when_days"].isna().tolist() == [False, True, False]
    assert found.loc[2, ["when_month", "when_day_of_week", "when_hour"]].tolist() == [2, 3, 0]


def test_catboost_gets_strings_and_a_level_for_what_is_missing():
    X = pd.DataFrame({"a": ["x", None], "b": pd.Categorical([1, 2]), "c": [1.0, np.nan]})
    found = TextLevels().fit_transform(X)
    assert found["a"].tolist() == ["x", MISSING]
    assert found["b"].tolist() == ["1", "2"]
    assert found["c"].isna().tolist() == [False, True]


def test_levels_are_those_of_the_training_rows_and_the_rarest_share_one():
    train = pd.DataFrame({"a": ["x"] * 3 + ["y"] * 2 + ["z", "w", None]})
    later = pd.DataFrame({"a": ["z", "new", "x", None]})
    plain = TrainingLevels().fit(train).transform(later)["a"]
    assert set(plain.cat.categories) == {"x", "y", "z", "w"}
    assert plain.isna().tolist() == [False, True, False, True]
    pooled = TrainingLevels(3).fit(train).transform(later)["a"]
    assert list(pooled.cat.categories) == ["x", "y", OTHER]
    assert pooled.tolist()[0] == OTHER
    assert pooled.isna().tolist() == [False, True, False, True]


def test_the_usual_coding_gives_finite_numbers_for_levels_never_seen():
    table = made_up()
    coding = one_hot().fit(table.X)
    later = table.X.assign(text="new", x=np.nan, kind="u")
    found = coding.transform(later)
    assert np.isfinite(found).all()
    assert found.shape[1] == coding.transform(table.X).shape[1]


# Fits


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FRAME_RIVALS)
def test_a_rival_learns_from_frames_by_default_and_tuned(name, n_classes, monkeypatch):
    pytest.importorskip(name if name != "hist_gradient_boosting" else "sklearn", reason=WHY)
    parts, rival = parts_of(n_classes), FRAME_RIVALS[name]
    monkeypatch.setattr("paper.rivals.frames.ROUNDS", 40)
    trial = rival.fitted({"learning_rate": 0.3}, parts.train, parts.validation, 0)
    assert 1 <= rival.n_trees(trial[-1]) <= 40
    n_trees = rival.n_trees(trial[-1])
    final = rival.fitted(rival.rounds(n_trees), parts.learning, None, 0)
    assert rival.n_trees(final[-1]) == n_trees
    p = final.predict_proba(parts.test.X)
    assert p.shape == (len(parts.test.y), n_classes)
    assert np.mean(np.argmax(p, axis=1) == parts.test.y) > 0.6
    assert rival.count(final[-1]) > n_trees


def test_numbers_of_catboost_have_a_value_a_leaf_and_class(tmp_path):
    pytest.importorskip("catboost", reason=WHY)
    rival = FRAME_RIVALS["catboost"]
    for n_classes in (2, 3):
        fitted = rival.fitted({"iterations": 5}, parts_of(n_classes).learning, None, 0)[-1]
        fitted.save_model(str(tmp_path / "model.json"), format="json")
        trees = json.loads((tmp_path / "model.json").read_text())["oblivious_trees"]
        naive = sum(2 * len(tree["splits"]) + len(tree["leaf_values"]) for tree in trees)
        assert rival.count(fitted) == naive


class Toy(ClassifierMixin, BaseEstimator):
    """A classifier that is right everywhere, surest where it has 16 leaves."""

    def __init__(self, params):
        self.p = 0.9 if params["num_leaves"] == 16 else 0.6
        self.classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        is_true = made_up().y[X.index][:, None] == self.classes_
        return np.where(is_true, self.p, 1.0 - self.p)


def test_the_lowest_validation_loss_is_fitted_again_to_all_rows_for_learning(monkeypatch):
    fits = []

    def fit(params, rows, validation, seed):
        fits.append((dict(params), len(rows.y), validation is None))
        return Toy(params)

    rounds = {"n_trees": lambda classifier: 7, "rounds": lambda n: {"n_estimators": n}}
    toy = FrameRival(DateParts, fit, count=lambda classifier: 21, **rounds)
    monkeypatch.setattr(frames, "FRAME_RIVALS", {"lightgbm": toy})
    model = fit_tuned("lightgbm", parts_of(), Terms(), 0)
    assert [params["num_leaves"] for params, _, _ in fits] == [4, 16, 64, 16]
    assert [n_rows for _, n_rows, _ in fits] == [120, 120, 120, 180]
    assert [is_last for _, _, is_last in fits] == [False, False, False, True]
    assert fits[-1][0]["n_estimators"] == 7
    assert (model.n_choices, model.n_parts, model.n_numbers) == (3, 7, 21)


def test_ours_is_given_the_frame_or_its_coding(monkeypatch):
    given = []

    class Spy(FCGBoostClassifier):
        def fit(self, X, y):
            given.append(X)
            return super().fit(X[["x"]].fillna(0.0) if isinstance(X, pd.DataFrame) else X, y)

    monkeypatch.setattr(frames, "FCGBoostClassifier", Spy)
    parts = parts_of()
    METHODS["fcg"](parts, Terms(), 3)
    row = measure("fcg_one_hot", parts, Terms(), 3)
    assert given[0].equals(parts.learning.X)
    assert isinstance(given[1], np.ndarray)
    assert row["accuracy"] > 0.8
    assert row["stored_numbers"] > row["n_parts"] > 0
    assert row["seconds"] > 0.0


# The experiments


def test_judged_splits_come_first_and_those_for_development_only_in_full():
    assert set(JUDGED).isdisjoint(DEVELOPMENT)
    units = Tables().units("standard", None)
    assert len(units) == 10 * 13 * len(METHODS)
    assert [unit.repetition for unit in units] == sorted(unit.repetition for unit in units)
    assert {unit.repetition for unit in Tables().units("quick", None)} <= set(DEVELOPMENT)
    assert {unit.repetition for unit in Gaps().units("full", None)} == {*JUDGED, *DEVELOPMENT}


def test_tables_are_run_by_method_set_and_repetition_into_one_table(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "fetch_table", lambda name: made_up())
    for method in ("fcg_one_hot", "hist_gradient_boosting"):
        only = {"method": [method], "dataset": ["chile"], "repetition": ["100"]}
        options = {"only": only, "resume": True, "stream": io.StringIO()}
        assert runner.run(Tables(), "quick", tmp_path, **options) is None
    frame, facts = runner.load(Tables(), tmp_path)
    assert sorted(frame["method"]) == ["fcg_one_hot", "hist_gradient_boosting"]
    assert set(frame["dataset"]) == {"chile"}
    assert not facts["is_finished"]
    assert frame["auc"].min() > 0.8


def test_absent_tables_and_packages_are_obstacles(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    units = [TablesUnit("chile", "fcg", 0), TablesUnit("resume", "fcg", 0)]
    said = Tables().obstacle(units)
    assert "tables/chile.csv.gz, tables/resume.csv.gz." in said
    monkeypatch.setattr("paper.rivals.base.find_spec", lambda name: None)
    said = Tables().obstacle([TablesUnit("chile", "catboost_tuned", 0)])
    assert "not installed: catboost" in said


def test_cells_are_missing_by_set_and_repetition_alone_and_more_at_larger_shares(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 5))
    monkeypatch.setattr(gaps, "fetch_uci", lambda name: (X, np.where(X[:, 0] > 0.0, 1.0, -1.0)))
    few, many, other = (
        gaps.dealt(GapsUnit("biodeg", method, rate, repetition))
        for method, rate, repetition in (("fcg", 0.1, 3), ("catboost", 0.3, 3), ("fcg", 0.3, 4))
    )
    for part, more in zip(few, many, strict=True):
        assert (part.X.isna() <= more.X.isna()).all(axis=None)
        assert_array_equal(part.y, more.y)
    for part in many:
        assert part.X.isna().mean(axis=None) == pytest.approx(0.3, abs=0.06)
    assert not many.learning.X.equals(other.learning.X)
    order = deal_random(400, seed_of("biodeg", 3)).test
    assert_array_equal(many.test.y, X[order, 0] > 0.0)


def test_a_share_of_cells_is_one_row(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3))
    monkeypatch.setattr(gaps, "fetch_uci", lambda name: (X, np.where(X[:, 0] > 0.0, 1.0, -1.0)))
    (row,) = Gaps().run(GapsUnit("biodeg", "hist_gradient_boosting", 0.1, 0))
    assert set(row) == {*Gaps().settings, *Gaps().results}
    assert row["accuracy"] > 0.7


# What the rows say


def verdicts(name, claims, frame):
    return [claim.finding({name: frame}).verdict for claim in claims]


def test_names_are_those_of_the_methods():
    assert tuple(LABELS) == tuple(METHODS) == (*OURS, *RIVALS)


def test_ranks_gaps_and_time_are_judged_on_their_own():
    rows = frame_of(Tables())
    assert verdicts("tables", TABLES, rows) == ["holds"] * 4
    is_ours = rows["method"] == "fcg"
    worse = rows.assign(log_loss=rows["log_loss"] + 0.05 * is_ours)
    assert verdicts("tables", TABLES, worse) == ["does not hold", *["holds"] * 3]
    on_one = is_ours & (rows["dataset"] == "chile")
    below = rows.assign(auc=rows["auc"] - 0.04 * on_one)
    found = [claim.finding({"tables": below}) for claim in TABLES]
    assert [one.verdict for one in found] == ["holds", "holds", "does not hold", "holds"]
    assert found[2].evidence.startswith("Tables below, in points: chile: CatBoost −1.9")
    slow = rows.assign(seconds=rows["seconds"] + 5.0 * is_ours)
    assert verdicts("tables", TABLES, slow)[3] == "does not hold"
    assert verdicts("tables", TABLES, rows[~is_ours]) == ["not run"] * 4


def test_a_gap_within_two_standard_errors_or_a_point_is_not_far():
    rows = frame_of(Tables())
    is_ours = rows["method"] == "fcg"
    close = rows.assign(auc=rows["auc"] - 0.029 * is_ours)
    assert verdicts("tables", TABLES, close)[2] == "holds"
    wide = rows.assign(auc=rows["auc"] - is_ours * (0.05 + 0.1 * (rows["repetition"] - 1)))
    assert verdicts("tables", TABLES, wide)[2] == "holds"


def test_splits_for_development_are_shown_only_where_no_others_are():
    rows = frame_of(Tables())
    rows = rows[rows["dataset"] == "chile"]
    later = rows.assign(repetition=rows["repetition"] + 100, log_loss=9.0)
    both = pd.concat([rows, later], ignore_index=True)
    shown, expected = (section(Tables(), one, FINISHED).tables for one in (both, rows))
    assert shown == expected
    assert "9.0000" in section(Tables(), later, FINISHED).tables[1].rows[0][2].text


def test_the_section_flags_what_is_far_below():
    rows = frame_of(Tables())
    on_one = (rows["method"] == "fcg") & (rows["dataset"] == "chile")
    made = section(Tables(), rows.assign(auc=rows["auc"] - 0.04 * on_one), FINISHED)
    flags = {cells[0].text: cells[-1].text for cells in made.tables[3].rows}
    assert {name for name, flag in flags.items() if flag} == {"chile"}
    assert [cells[0].text for cells in made.tables[1].rows][-1] == "mean rank"


def test_a_share_is_judged_by_the_better_of_both():
    rows = frame_of(Gaps())
    assert verdicts("gaps", GAPS, rows) == ["holds"] * 3
    worse = rows["accuracy"] - 0.002 * ((rows["method"] == "fcg") & (rows["rate"] == 0.3))
    found = [claim.finding({"gaps": rows.assign(accuracy=worse)}) for claim in GAPS]
    assert [one.verdict for one in found] == ["holds", "holds", "does not hold"]
    assert "Ours minus CatBoost: −0.4" in found[2].evidence
    assert verdicts("gaps", GAPS, rows[rows["method"] != "fcg"]) == ["not run"] * 3
    lead = section(Gaps(), rows, FINISHED).tables[1].rows[0][-1].text
    assert lead.startswith("−0.2")
