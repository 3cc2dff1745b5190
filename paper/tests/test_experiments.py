"""The simulations, in reduced form."""

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, ReluDictionary
from paper import settings
from paper.base import PRESETS
from paper.experiments import rates
from paper.experiments.admm_vs_gd import AdmmVsGd, RaceUnit
from paper.experiments.samples import Samples
from paper.experiments.sim1 import Sim1, Sim1Unit, steps_shown
from paper.experiments.sim2 import Sim2, Sim2Unit
from paper.experiments.sim3 import Sim3, Sim3Unit
from paper.experiments.sim4 import SCHEMES, Sim4, Sim4Unit
from paper.registry import EXPERIMENTS


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
