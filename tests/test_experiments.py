"""Units, rows and their store; the runner; the simulations in reduced form."""

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, ReluDictionary
from fcgboost.cli import main
from fcgboost.experiments import rates, runner, settings
from fcgboost.experiments.admm_vs_gd import AdmmVsGd, RaceUnit
from fcgboost.experiments.base import PRESETS, Experiment, Unit
from fcgboost.experiments.display import Display
from fcgboost.experiments.registry import EXPERIMENTS
from fcgboost.experiments.samples import Samples
from fcgboost.experiments.sim1 import Sim1, Sim1Unit, steps_shown
from fcgboost.experiments.sim2 import Sim2, Sim2Unit
from fcgboost.experiments.sim3 import Sim3, Sim3Unit
from fcgboost.experiments.sim4 import SCHEMES, Sim4, Sim4Unit
from fcgboost.experiments.store import Store, StoreError


@dataclass(frozen=True)
class ToyUnit(Unit):
    name: str
    size: int


class Toy(Experiment[ToyUnit]):
    name = "toy"
    title = about = "Squares."
    unit_type = ToyUnit
    results = ("i", "square", "note")

    def __init__(self, fails_at=None, hindrance=None):
        self.fails_at = fails_at
        self.hindrance = hindrance

    def units(self, preset, split):
        return [ToyUnit(name, size) for name in ("a", 'b, "c"') for size in (1, 2, 3)]

    def run(self, unit):
        if unit == self.fails_at:
            raise ZeroDivisionError
        return [unit.row(i=i, square=i * i / 7, note=None) for i in range(unit.size)]

    def cost(self, unit):
        return float(unit.size)

    def obstacle(self):
        return self.hindrance


def run(experiment, folder, **options):
    return runner.run(experiment, "quick", folder, stream=io.StringIO(), **options)


# The store


def test_values_come_back_exactly_and_in_the_order_of_the_units(tmp_path):
    run(Toy(), tmp_path)
    frame, facts = runner.load(Toy(), tmp_path)
    expected = [i * i / 7 for _ in range(2) for size in (1, 2, 3) for i in range(size)]
    assert frame["square"].tolist() == expected
    assert frame["name"].tolist() == ["a"] * 6 + ['b, "c"'] * 6
    assert facts["preset"] == "quick"
    assert facts["is_finished"]
    assert facts["command"] == "fcgboost reproduce toy --preset quick"


def test_whatever_is_cut_off_only_incomplete_units_are_lost(tmp_path):
    toy = Toy()
    run(toy, tmp_path)
    store = Store(tmp_path, toy.name, toy.settings, toy.results)
    whole, text = store.load(), store.path.read_text()
    header = text.index("\n") + 1
    for end in range(header, len(text) + 1):
        store.path.write_text(text[:end])
        kept = store.load()
        assert all(kept[key] == whole[key] for key in kept)
        # A unit all of whose lines are there is kept.
        n_lines = text[header:end].count("\n")
        sizes = np.cumsum([len(rows) for rows in whole.values()])
        assert len(kept) == np.count_nonzero(sizes <= n_lines)


def test_repair_leaves_a_file_that_can_be_appended_to(tmp_path):
    toy = Toy()
    run(toy, tmp_path)
    path = tmp_path / "toy.csv"
    whole = runner.load(toy, tmp_path)[0]
    path.write_text(path.read_text()[:-9])
    run(toy, tmp_path, resume=True)
    resumed = runner.load(toy, tmp_path)[0]
    drop = ["unit_seconds"]
    assert resumed.drop(columns=drop).equals(whole.drop(columns=drop))


def test_rows_of_another_form_are_refused(tmp_path):
    run(Toy(), tmp_path)
    path = tmp_path / "toy.csv"
    path.write_text(path.read_text().replace("square", "cube"))
    with pytest.raises(StoreError, match=r"toy\.csv has other columns"):
        runner.load(Toy(), tmp_path)


# The runner


def test_a_failed_unit_keeps_all_that_was_finished_before(tmp_path):
    toy = Toy(fails_at=ToyUnit('b, "c"', 1))
    with pytest.raises(ZeroDivisionError):
        run(toy, tmp_path)
    frame, facts = runner.load(toy, tmp_path)
    assert len(frame) == 6
    assert not facts["is_finished"]
    run(Toy(), tmp_path, resume=True)
    assert len(runner.load(Toy(), tmp_path)[0]) == 12


def test_rows_are_never_overwritten_unasked(tmp_path):
    run(Toy(), tmp_path)
    before = (tmp_path / "toy.csv").read_bytes()
    with pytest.raises(StoreError, match="--resume"):
        run(Toy(), tmp_path)
    assert (tmp_path / "toy.csv").read_bytes() == before


def test_rows_of_two_presets_do_not_mix(tmp_path):
    run(Toy(), tmp_path)
    with pytest.raises(StoreError, match="preset 'quick', and this run has 'full'"):
        runner.run(Toy(), "full", tmp_path, resume=True, stream=io.StringIO())


def test_an_obstacle_is_written_down_and_lifted_by_a_later_run(tmp_path):
    assert not run(Toy(hindrance="No data."), tmp_path)
    assert runner.load(Toy(), tmp_path)[1]["obstacle"] == "No data."
    assert run(Toy(), tmp_path, resume=True)
    frame, facts = runner.load(Toy(), tmp_path)
    assert len(frame) == 12
    assert facts["obstacle"] is None


def test_processes_give_the_rows_of_one_process(tmp_path):
    for n_jobs in (1, 2):
        run(Samples(), tmp_path / str(n_jobs), n_jobs=n_jobs)
    one, two = (runner.load(Samples(), tmp_path / str(n))[0] for n in (1, 2))
    assert one.drop(columns="unit_seconds").equals(two.drop(columns="unit_seconds"))


def reproduce(*arguments):
    command = [sys.executable, "-c", "from fcgboost.cli import main; raise SystemExit(main())"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "reproduce", *map(str, arguments)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_a_killed_and_resumed_run_gives_the_tables_of_an_uninterrupted_one(tmp_path):
    options = ("--preset", "quick", "--jobs", 1)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = reproduce("rates", *options, "--out", killed)
    rows = killed / "rows" / "rates.csv"
    deadline = time.monotonic() + 120
    while not (rows.exists() and rows.read_text().count("\n") > 12):
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    n_stored = rows.read_text().count("\n")
    for folder, more in ((killed, ["--resume"]), (whole, [])):
        assert main(["reproduce", "rates", *map(str, options), "--out", str(folder), *more]) == 0
    assert n_stored < rows.read_text().count("\n")
    drop = ["unit_seconds"]
    frames = [
        runner.load(EXPERIMENTS["rates"], folder / "rows")[0].drop(columns=drop)
        for folder in (killed, whole)
    ]
    assert frames[0].equals(frames[1])
    reports = [(folder / "REPORT.md").read_text() for folder in (killed, whole)]
    # The last section says how long it took.
    tables, other = (text.partition("## How the rows came about")[0] for text in reports)
    assert tables == other
    assert tables.count("\n|") > 10


# The command


def test_the_list_explains_every_experiment_with_its_times(capsys):
    assert main(["reproduce", "--list"]) == 0
    text = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}: {experiment.title}" in text
    assert text.count("standard ") == len(EXPERIMENTS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce"], "no experiment named: choose among admm-vs-gd, samples"),
        (["reproduce", "sim5"], "unknown experiment 'sim5'"),
        (["reproduce", "sim1", "--jobs", "0"], "at least 1, got '0'"),
        (["reproduce", "sim1", "--preset", "slow"], "invalid choice: 'slow'"),
    ],
)
def test_wrong_usage_ends_with_status_2_and_a_sentence(arguments, message, capsys):
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


def test_an_existing_table_ends_with_status_1_and_advice(tmp_path, capsys):
    assert main(["reproduce", "samples", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["reproduce", "samples", "--out", str(tmp_path)]) == 1
    assert "Go on with it by --resume" in capsys.readouterr().err
    assert main(["reproduce", "samples", "--out", str(tmp_path), "--redraw"]) == 0


def test_a_terminal_shows_a_bar_and_a_pipe_plain_lines():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, sign in ((Terminal(), "\r"), (io.StringIO(), "toy: 100%")):
        with Display("toy", 4.0, 1.0, 2, stream) as display:
            assert "25%" in stream.getvalue()
            display.advance(3.0)
            assert display.seconds_left() == 0.0
        assert sign in stream.getvalue()
        assert "100%" in stream.getvalue()


# The experiments


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("preset", PRESETS)
def test_units_are_distinct_and_have_a_cost(name, preset):
    experiment = EXPERIMENTS[name]
    units = experiment.units(preset, None)
    assert len({unit.key for unit in units}) == len(units) > 0
    assert all(experiment.cost(unit) > 0.0 for unit in units)


def test_the_full_preset_is_the_papers_protocol():
    assert steps_shown(13) == [7, 13, 26, 39, 52, 65, 78, 91, 104, 117, 130]
    assert len(EXPERIMENTS["sim1"].units("full", None)) == 2 * 4 * 20
    sim2 = EXPERIMENTS["sim2"].units("full", None)
    assert len(sim2) == 2 * 4 * 20
    assert sim2[0].multiples == "1 2 3 4 5 6 7 8 9 10"
    assert len(EXPERIMENTS["sim3"].units("full", None)) == 6 * 4 * 20
    assert {unit.slow_choice for unit in EXPERIMENTS["sim3"].units("full", None)} == {"own"}
    sim4 = [unit for unit in EXPERIMENTS["sim4"].units("full", None) if unit.width == "cv"]
    assert len(sim4) == 10
    assert (sim4[0].n_candidates, sim4[0].steps_full, sim4[0].steps_other) == (10_000, 500, 5000)
    assert [d.width for d in settings.dictionaries("gauss")] == [0.1, 0.2, 0.35, 0.5, 1.0, 5.0]
    assert [d.degree for d in settings.dictionaries("polynomial")] == list(range(1, 11))
    assert [d.slope_range for d in settings.dictionaries("sigmoid")] == [1.0, 5.0, 10.0, 20.0]


def check_rows(experiment, unit):
    rows = experiment.run(unit)
    names = {*experiment.settings, *experiment.results}
    assert all(set(row) == names for row in rows)
    return rows


def test_sim1_follows_the_path_of_the_estimator():
    rows = check_rows(Sim1(), Sim1Unit("uniform", 0.3, "relu", 3))
    assert len(rows) == 4 * 11
    sample = settings.simulate("uniform", 0.3, 3)
    classifier = FCGBoostClassifier(
        ReluDictionary(), max_iter=26, random_state=3, **settings.PAPER
    ).fit(sample.X, sample.y)
    (row,) = [row for row in rows if row["correction"] == "ridge" and row["k"] == 26]
    assert row["test_error"] == np.mean(classifier.predict(sample.X_test) != sample.y_test)
    letter = [row for row in rows if row["correction"] == "letter"]
    assert {row["status"] for row in letter} == {"stalled"}
    assert letter[-1]["atoms"] < 26
    assert len({row["test_error"] for row in letter[4:]}) == 1


def test_sim2_grows_the_dictionary_and_keeps_the_parameter():
    rows = check_rows(Sim2(), Sim2Unit("outlier", 0.4, "relu", 0, "1 2"))
    assert [row["n"] for row in rows] == [1000, 2000]
    assert all(row["steps"] % 13 == 0 and row["test_error"] < 0.2 for row in rows)


def test_sim3_fits_every_loss_in_both_ways_and_marks_what_deviates():
    rows = check_rows(Sim3(), Sim3Unit("uniform", 0.2, "relu", 0, "shared"))
    assert len({(row["loss"], row["correction"]) for row in rows}) == 8
    marked = {(row["loss"], row["correction"]) for row in rows if row["deviation"]}
    exact = {(loss, "ridge") for loss in ("squared_hinge", "cubed_hinge", "square")}
    assert marked == {(row["loss"], row["correction"]) for row in rows} - exact


def test_sim4_compares_schemes_by_the_printed_rule():
    rows = check_rows(Sim4(), Sim4Unit("0.35", 0, 300, 20, 60))
    assert {row["scheme"] for row in rows} == set(SCHEMES)
    best = {row["scheme"]: row for row in rows if row["kind"] == "best"}
    reach = {row["scheme"]: row for row in rows if row["kind"] == "reach"}
    for scheme, row in best.items():
        curve = [r["test_error"] for r in rows if r["scheme"] == scheme and r["kind"] == "curve"]
        assert row["test_error"] <= min(curve)
        goal = best["fully_corrective"]["test_error"] + 0.005
        assert (reach[scheme]["test_error"] <= goal + 1e-9) == (
            reach[scheme]["status"] == "reached"
        )
        assert reach[scheme]["k"] <= row["k"] or reach[scheme]["status"] == "missed"


def test_every_solver_but_the_papers_admm_reaches_the_optimum():
    gaps = {}
    for solver in ("admm", "gradient_descent", "admm_scaled", "newton"):
        unit = RaceUnit("race", solver, "squared_hinge", "uniform", 1000, 15, 0.1, 0)
        gaps[solver] = check_rows(AdmmVsGd(), unit)[-1]["gap"]
    assert gaps.pop("admm") > 1e-5
    assert max(gaps.values()) < 1e-9


def test_admm_ends_at_ridge_least_squares_for_square_and_squared_hinge():
    for loss, bound in (("squared_hinge", 0.05), ("square", 0.05), ("hinge", 0.11)):
        unit = RaceUnit("ridge", "admm", loss, "uniform", 1000, 30, 0.35, 0)
        (row,) = check_rows(AdmmVsGd(), unit)
        assert row["distance_ridge"] < bound
    assert row["distance_minimiser"] > 0.2


def test_flips_are_marked_where_the_label_is_on_the_wrong_side():
    rows = [row for unit in Samples().units("quick", None) for row in check_rows(Samples(), unit)]
    for noise, share in (("uniform", 0.3), ("outlier", 0.173)):
        flips = [row["is_flipped"] for row in rows if row["noise"] == noise]
        assert len(flips) == 1000
        assert np.mean(flips) == pytest.approx(share, abs=0.04)


def test_rates_measure_the_excess_risk_from_the_known_bayes_rule():
    X = np.random.default_rng(0).uniform(size=(100_000, 2))
    assert np.abs(rates.bayes_function("smooth", X)).max() < 1.0
    assert set(rates.bayes_function("simulation", X)) == {-0.4, 0.4}
    unit = rates.RatesUnit("size", "smooth", "gauss", 2000, 0, 17, "all")
    rows = check_rows(rates.Rates(), unit)
    assert [row["correction"] for row in rows] == ["ridge", "exact"]
    assert all(0.0 < row["excess_risk"] < row["excess_loss"] ** 0.5 for row in rows)
    assert all(row["excess_loss"] < 0.05 for row in rows)


def test_a_rate_has_more_rows_at_long_paths():
    unit = rates.RatesUnit("steps", "simulation", "relu", 1000, 0, 30, "all")
    rows = check_rows(rates.Rates(), unit)
    assert {row["k"] for row in rows} >= {1, 2, 3, 30}
