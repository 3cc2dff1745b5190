"""The experiments on real data: how rows are dealt, what is declared, what is written down."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from paper.__main__ import main
from paper.base import DataError, Experiment
from paper.experiments import uci
from paper.experiments.earthquake import Earthquake, EarthquakeUnit
from paper.experiments.uci import SECONDS, SETS, Uci, UciUnit
from paper.methods import METHODS
from paper.protocol import (
    Data,
    Deal,
    arrange,
    deal_groups,
    deal_in_order,
    deal_random,
    seed_of,
)

N_ROWS = 102


def made_up(name: str, return_X_y: bool = True) -> tuple[np.ndarray, np.ndarray] | Bunch:
    rng = np.random.default_rng(len(name))
    X = rng.standard_normal((N_ROWS, 4))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    # Row numbers in the second column tell which rows went where.
    X[:, 1] = np.arange(N_ROWS)
    groups = {"id_molecule": np.arange(N_ROWS) // 5}
    return (X, y) if return_X_y else Bunch(data=X, target=y, groups=groups)


@pytest.fixture
def _made_up_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uci, "fetch_uci", made_up)


@pytest.fixture
def _no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FCGBOOST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))


def check_deal(deal: Deal, n_rows: int) -> None:
    assert_array_equal(np.sort(np.concatenate(deal)), np.arange(n_rows))


# Dealing -----------------------------------------------------------------------------------------


def test_a_random_deal_uses_every_row_once_in_the_papers_shares() -> None:
    deal = deal_random(1000, seed=0)
    check_deal(deal, 1000)
    assert [len(part) for part in deal] == [500, 250, 250]


def test_a_random_deal_depends_on_the_seed_alone() -> None:
    deals = (deal_random(99, seed) for seed in (1, 1, 2))
    for first, again, other in zip(*deals, strict=True):
        assert_array_equal(first, again)
        assert not np.array_equal(first, other)


def test_a_limited_deal_draws_from_the_whole_file() -> None:
    deal = deal_random(1000, seed=0, limit=100)
    rows = np.concatenate(deal)
    assert len(rows) == len(np.unique(rows)) == 100
    assert rows.max() > 800


def test_file_order_is_first_half_next_quarter_last_quarter() -> None:
    deal = deal_in_order(12)
    assert [part.tolist() for part in deal] == [[0, 1, 2, 3, 4, 5], [6, 7, 8], [9, 10, 11]]
    short = np.concatenate(deal_in_order(1000, limit=10))
    assert (short[0], short[-1]) == (0, 999)
    assert np.all(np.diff(short) > 0)


def test_a_group_is_never_on_two_sides() -> None:
    groups = np.random.default_rng(0).integers(0, 30, size=500)
    for seed in range(20):
        deal = deal_groups(groups, seed)
        check_deal(deal, 500)
        sides = [set(groups[part]) for part in deal]
        assert not sides[0] & sides[1]
        assert not (sides[0] | sides[1]) & sides[2]
        assert [len(side) for side in sides] == [15, 7, 8]


def test_seeds_differ_between_sets_and_repetitions() -> None:
    seeds = {seed_of(name, repetition) for name in SETS for repetition in range(50)}
    assert len(seeds) == len(SETS) * 50


def test_the_training_part_alone_sets_the_scale() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(3.0, 5.0, size=(80, 2)), np.where(rng.random(80) < 0.5, 1.0, -1.0)
    X[:40, 1] = 7.0
    data = arrange(X, y, deal_in_order(80))
    assert_allclose(data.X[:, 0].mean(), 0.0, atol=1e-12)
    assert_allclose(data.X[:, 0].std(), 1.0)
    assert_allclose(data.X_test[:, 0], (X[60:, 0] - X[:40, 0].mean()) / X[:40, 0].std())
    assert_allclose(data.X_test[:, 1], X[60:, 1] - 7.0)


def test_fewer_rows_keep_both_classes_and_their_shares() -> None:
    y = np.where(np.arange(1000) < 20, 1.0, -1.0)
    data = Data(y[:, None], y, y[:, None], y, y[:, None], y)
    few = data.at_most(100, seed=0)
    assert len(few.y) == len(few.y_val) == 100
    assert np.sum(few.y == 1.0) == 2
    assert_array_equal(few.X[:, 0], few.y)
    assert len(few.y_test) == 1000


# The table of UCI sets ---------------------------------------------------------------------------


@pytest.mark.usefixtures("_made_up_sets")
@pytest.mark.parametrize("split", ["random", "file-order", "molecules"])
def test_all_methods_see_the_same_parts(split: uci.Dealing) -> None:
    parts = [
        uci.deal(UciUnit("musk2", method, split, 1, "quick")) for method in ("fcg_relu", "baseline")
    ]
    for first, second in zip(*parts, strict=True):
        assert_array_equal(first, second)
    other = uci.deal(UciUnit("musk2", "baseline", split, 2, "quick"))
    assert np.array_equal(other.X, parts[0].X) == (split == "file-order")


@pytest.mark.usefixtures("_made_up_sets")
@pytest.mark.parametrize("method", METHODS)
def test_a_unit_gives_one_row_with_all_columns(method: str) -> None:
    experiment, unit = Uci(), UciUnit("heart", method, "random", 0, "quick", 100)
    (row,) = experiment.run(unit)
    assert set(row) == {*experiment.settings, *experiment.results}
    assert 0.5 < float(row["accuracy"] or 0.0) <= 1.0
    assert (row["n_train"], row["n_test"]) == (50, 25)
    assert experiment.cost(unit) > 0.0


@pytest.mark.usefixtures("_made_up_sets")
def test_a_unit_gives_the_same_row_again() -> None:
    unit = UciUnit("heart", "fcg_gauss", "random", 0, "quick")
    (first,), (second,) = (Uci().run(unit) for _ in range(2))
    assert {**first, "seconds": 0.0} == {**second, "seconds": 0.0}


def test_the_majority_is_that_of_the_training_part() -> None:
    y = np.array([1.0, 1.0, 1.0, -1.0])
    data = Data(y[:, None], y, y[:, None], y, -y[:, None], -y)
    assert uci.measure(data, "baseline", "quick", 0)["majority"] == 0.25


def test_standard_has_every_set_method_and_split() -> None:
    units = Uci().units("standard", None)
    assert len({unit.key for unit in units}) == len(units)
    for dealing in ("random", "file-order"):
        cells = {(unit.dataset, unit.method) for unit in units if unit.split == dealing}
        assert cells == {(name, method) for name in SETS for method in METHODS}
    assert {unit.dataset for unit in units if unit.split == "molecules"} == {"musk2"}
    assert {(unit.grid, unit.row_limit) for unit in units} == {("thinned", 0)}


def test_quick_has_every_set_and_split_and_is_short() -> None:
    units = Uci().units("quick", None)
    cells = {(unit.dataset, unit.split) for unit in units}
    expected = {(name, split) for name in SETS for split in ("random", "file-order")}
    assert cells == {*expected, ("musk2", "molecules")}
    # A split by molecules has all rows, and its units say so.
    assert {(unit.split, unit.row_limit) for unit in units} == {
        ("random", 1_000),
        ("file-order", 1_000),
        ("molecules", 0),
    }
    assert sum(map(Uci().cost, units)) < 120.0


def test_full_is_the_papers_protocol() -> None:
    units = Uci().units("full", "random")
    repetitions = {unit.repetition for unit in units if unit.split == "random"}
    assert repetitions == set(range(50))
    assert {unit.grid for unit in units if unit.dataset != "Skin_NonSkin"} == {"paper"}


def test_full_ends_within_a_week() -> None:
    units = Uci().units("full", None)
    assert {unit.grid for unit in units if unit.dataset == "Skin_NonSkin"} == {"thinned"}
    assert sum(map(Uci().cost, units)) / 2 < 7 * 24 * 3600


def test_a_split_that_is_asked_for_is_the_only_one() -> None:
    dealings = {
        split: {unit.split for unit in Uci().units("standard", split)}
        for split in ("random", "file-order")
    }
    assert dealings == {"random": {"random", "molecules"}, "file-order": {"file-order"}}


def test_costs_are_known_for_every_set_and_method() -> None:
    assert set(SECONDS) == set(SETS)
    assert {len(seconds) for seconds in SECONDS.values()} == {len(METHODS)}


@pytest.mark.usefixtures("_no_data")
def test_missing_sets_are_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(name: str) -> None:
        raise FileNotFoundError(f"{name} is not in {tmp_path}.") from OSError("no network")

    monkeypatch.setattr(uci, "fetch_uci", fail)
    obstacle = Uci().obstacle(Uci().units("quick", None))
    assert obstacle is not None
    assert all(name in obstacle for name in SETS)
    assert "no network" in obstacle
    assert "FCGBOOST_DATA" in obstacle
    assert str(tmp_path) not in obstacle


@pytest.mark.usefixtures("_no_data", "_made_up_sets")
def test_nothing_is_in_the_way_where_sets_can_be_fetched() -> None:
    assert Uci().obstacle(Uci().units("quick", None)) is None


@pytest.mark.usefixtures("_no_data")
def test_only_sets_that_units_need_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(uci, "fetch_uci", asked.append)
    units = [unit for unit in Uci().units("quick", None) if unit.dataset in ("heart", "musk2")]
    assert Uci().obstacle(units) is None
    assert asked == ["heart", "musk2"]


@pytest.mark.usefixtures("_no_data")
def test_a_damaged_set_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "heart.csv.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"heart\.csv\.gz is not a whole gzip file"):
        Uci().obstacle([UciUnit("heart", "baseline", "random", 0, "quick")])


# Earthquakes -------------------------------------------------------------------------------------


def write_reports(folder: Path, n_rows: int = 120) -> None:
    """Strong quakes nearby are felt strongly; one record has no depth."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(n_rows):
        magnitude, city = rng.uniform(3.0, 7.0), rng.uniform(30.0, 40.0)
        intensity = 7 if magnitude > 5.0 else 3
        depth = "" if i == 0 else "10"
        lines.append(
            f"1950,1,1,0,0,0,8,,{city + 0.5:.2f},-120.0,{magnitude:.2f},{depth},50,{city:.2f},"
            f"-119.0,{intensity},CA,SOMEWHERE,H"
        )
    folder.mkdir()
    (folder / "eqint_tsqp.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.usefixtures("_no_data")
def test_an_earthquake_unit_gives_one_row_with_all_columns(tmp_path: Path) -> None:
    write_reports(tmp_path / "data")
    experiment, unit = Earthquake(), EarthquakeUnit("fcg_relu", 0, "quick")
    assert experiment.obstacle([unit]) is None
    (row,) = experiment.run(unit)
    assert set(row) == {*experiment.settings, *experiment.results}
    assert (row["n_train"], row["n_test"]) == (59, 31)
    assert float(row["accuracy"] or 0.0) > 0.8


@pytest.mark.usefixtures("_no_data")
def test_without_the_file_earthquake_says_where_to_put_it(tmp_path: Path) -> None:
    obstacle = Earthquake().obstacle(Earthquake().units("quick", None))
    assert obstacle is not None
    assert "eqint_tsqp" in obstacle
    assert "FCGBOOST_DATA" in obstacle
    assert str(tmp_path) not in obstacle


@pytest.mark.usefixtures("_no_data")
def test_a_wrong_earthquake_file_ends_the_command_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "eqint_tsqp.csv").write_text("1,2,3\n", encoding="utf-8")
    assert main(["run", "earthquake", "--out", str(tmp_path / "out")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "earthquake was not run" in line
    assert "expected 19 columns" in line


@pytest.mark.parametrize(
    "experiment", [Uci(), Earthquake()], ids=lambda experiment: experiment.name
)
def test_presets_run_every_method(experiment: Experiment) -> None:
    for preset in ("quick", "standard", "full"):
        units = experiment.units(preset, None)
        assert {unit.method for unit in units} == set(METHODS)
        assert all(experiment.cost(unit) > 0.0 for unit in units)
