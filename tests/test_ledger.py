"""Every verdict follows from rows: other rows, another verdict."""

import io

import numpy as np
import pytest
from report_frames import frame_of

from fcgboost.experiments import runner
from fcgboost.experiments.registry import EXPERIMENTS
from fcgboost.experiments.report import write_report
from fcgboost.experiments.reporting import published
from fcgboost.experiments.reporting.ledger import CLAIMS, section
from fcgboost.experiments.reporting.ledger.base import graded

FRAMES = {name: frame_of(experiment) for name, experiment in EXPERIMENTS.items()}


def judged(start, **frames):
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith(start)]
    return claim.finding({**FRAMES, **frames})


def changed(name, where, **values):
    """Give the made-up rows of an experiment with some values replaced."""
    frame = FRAMES[name].copy()
    rows = frame.query(where).index if where else frame.index
    for column, value in values.items():
        frame.loc[rows, column] = value(frame.loc[rows]) if callable(value) else value
    return {name: frame}


def _flips(rows, n_flipped):
    return (np.arange(len(rows)) % 1000 < n_flipped).astype(int)


def curve(level):
    return lambda rows: level + 0.3 / rows["k"]


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.text for claim in CLAIMS])
def test_a_claim_is_judged_or_said_not_to_be(claim):
    verdict, evidence = claim.finding(FRAMES)
    assert verdict in ("holds", "holds in part", "does not hold")
    assert evidence.endswith(".")
    assert "nan" not in evidence
    assert claim.finding({}).verdict == "not run"
    assert claim.finding({claim.experiment: FRAMES[claim.experiment][:0]}).verdict == "not run"


def test_counts_become_verdicts():
    assert [graded(n, 3) for n in (0, 1, 3)] == ["does not hold", "holds in part", "holds"]


# The claim, rows with which it holds, rows with which it does not: an experiment, a query, values.
CASES = [
    (
        "ADMM is faster",
        ("admm-vs-gd", "solver == 'admm' and kind == 'race'", {"gap": 0.0, "total_seconds": 1e-5}),
        ("admm-vs-gd", "solver == 'admm' and kind == 'race'", {"gap": 1.0, "total_seconds": 9.0}),
    ),
    (
        "100 iterations of ADMM",
        ("admm-vs-gd", "kind == 'ridge'", {"distance_minimiser": 0.001}),
        ("admm-vs-gd", "kind == 'ridge'", {"distance_minimiser": 0.6}),
    ),
    (
        "Outlier noise",
        ("samples", "", {"is_flipped": lambda rows: _flips(rows, 174)}),
        ("samples", "", {"is_flipped": lambda rows: _flips(rows, 400)}),
    ),
    (
        "With k the test error",
        ("sim1", "", {"test_error": curve(0.03)}),
        ("sim1", "", {"test_error": lambda rows: 0.001 * rows["k"]}),
    ),
    (
        "The minimiser of the empirical risk",
        ("sim1", "", {"test_error": curve(0.03)}),
        ("sim1", "correction == 'exact'", {"test_error": lambda rows: 0.001 * rows["k"]}),
    ),
    (
        "ReLU is slightly better",
        ("sim1", "dictionary == 'relu'", {"test_error": 0.0}),
        ("sim1", "dictionary == 'relu'", {"test_error": 0.5}),
    ),
    (
        "Algorithm 1 as printed",
        ("sim1", "correction == 'letter'", {"status": "step_limit"}),
        ("sim1", "correction == 'letter'", {"status": "stalled"}),
    ),
    (
        "The size n of the dictionary",
        ("sim2", "", {"test_error": 0.04}),
        ("sim2", "", {"test_error": lambda rows: rows["n"] / 1e5}),
    ),
    (
        "For all n, ReLU and Gauss",
        ("sim2", "dictionary in ('relu', 'gauss')", {"test_error": 0.0}),
        ("sim2", "dictionary in ('relu', 'gauss')", {"test_error": 0.5}),
    ),
    (
        "The squared hinge is commonly",
        ("sim3", "loss == 'squared_hinge'", {"test_error": 0.0}),
        ("sim3", "loss == 'squared_hinge'", {"test_error": 0.5}),
    ),
    (
        "The printed test errors",
        ("sim3", "loss == 'squared_hinge'", {"test_error": 0.0}),
        ("sim3", "loss == 'squared_hinge'", {"test_error": 0.5}),
    ),
    (
        "Gauss and ReLU are frequently",
        ("sim3", "dictionary in ('relu', 'gauss')", {"test_error": 0.0}),
        ("sim3", "dictionary in ('relu', 'gauss')", {"test_error": 0.5}),
    ),
    (
        "The excess risk at k0",
        ("rates", "kind == 'size'", {"excess_risk": lambda rows: rows["n_samples"] ** -0.5}),
        ("rates", "kind == 'size'", {"excess_risk": lambda rows: rows["n_samples"] ** -0.1}),
    ),
    (
        "The excess squared hinge risk",
        ("rates", "", {"excess_loss": lambda rows: 1 / rows["k"] + rows["k"] / 169}),
        ("rates", "", {"excess_loss": lambda rows: 1 / rows["k"]}),
    ),
    (
        "The six schemes have almost",
        ("sim4", "", {"test_error": 0.02}),
        ("sim4", "scheme == 'epsilon'", {"test_error": 0.2}),
    ),
    (
        "At these steps all fit",
        ("sim4", "", {"training_error": 0.3}),
        ("sim4", "scheme == 'epsilon'", {"training_error": 0.4}),
    ),
    (
        "Full correction needs far fewer",
        ("sim4", "scheme == 'fully_corrective'", {"atoms": 5}),
        ("sim4", "scheme == 'fully_corrective'", {"atoms": 500}),
    ),
    (
        "Its 12.6 atoms",
        ("sim4", "scheme in ('fully_corrective', 'exact', 'letter')", {"atoms": 13}),
        ("sim4", "scheme in ('fully_corrective', 'exact', 'letter')", {"atoms": 50}),
    ),
    (
        "After some steps",
        ("sim4", "", {"atoms": lambda rows: rows["k"].clip(upper=100)}),
        ("sim4", "", {"atoms": lambda rows: rows["k"]}),
    ),
    (
        "The proposed method is best",
        ("uci", "method == 'fcg_relu'", {"accuracy": 1.0}),
        ("uci", "method == 'adaboost'", {"accuracy": 1.0}),
    ),
    (
        "Boost-Gauss is frequently",
        ("uci", "method == 'svm_rbf'", {"accuracy": 0.0}),
        ("uci", "method == 'svm_rbf'", {"accuracy": 1.0}),
    ),
    (
        "Boost-Poly is frequently",
        ("uci", "method in ('svm_poly', 'fpc')", {"accuracy": 0.0}),
        ("uci", "method in ('svm_poly', 'fpc')", {"accuracy": 1.0}),
    ),
    (
        "Gauss, polynomial and ReLU",
        ("uci", "method == 'fcg_sigmoid'", {"accuracy": 0.0}),
        ("uci", "method == 'fcg_sigmoid'", {"accuracy": 1.0}),
    ),
    (
        "The printed accuracy on seismic_bumps",
        ("uci", "method == 'fcg_relu'", {"accuracy": 0.9644}),
        ("uci", "", {"accuracy": 0.935}),
    ),
    (
        "On the earthquake data",
        ("earthquake", "method == 'fcg_polynomial'", {"accuracy": 1.0}),
        ("earthquake", "method == 'fcg_polynomial'", {"accuracy": 0.0}),
    ),
]


@pytest.mark.parametrize(("start", "good", "bad"), CASES, ids=[case[0] for case in CASES])
def test_a_verdict_follows_the_rows(start, good, bad):
    name, where, values = good
    assert judged(start, **changed(name, where, **values)).verdict == "holds"
    name, where, values = bad
    assert judged(start, **changed(name, where, **values)).verdict == "does not hold"


def test_every_claim_that_rows_decide_has_a_case():
    starts = [case[0] for case in CASES]
    others = ["0.0245 is", *(f"The printed accuracy on {name}" for name in published.datasets())]
    assert all(any(claim.text.startswith(s) for s in (*starts, *others)) for claim in CLAIMS)


def test_the_cause_of_a_difference_is_read_off_the_fixed_widths():
    where = "scheme == 'epsilon' and width == 'cv'"
    assert (
        "the width, since" in judged("The six", **changed("sim4", where, test_error=0.2)).evidence
    )
    everywhere = changed("sim4", "scheme == 'epsilon'", test_error=0.2)
    assert "the scheme, at every width" in judged("The six", **everywhere).evidence
    narrow = "scheme == 'epsilon' and width in ('cv', '0.1')"
    finding = judged("The six", **changed("sim4", narrow, test_error=0.2))
    assert "only at σ = 0.1" in finding.evidence


def test_the_ledger_opens_a_report_with_the_claims_on_what_was_run(tmp_path):
    assert section({}) is None
    shown = section({"sim2": FRAMES["sim2"], "earthquake": FRAMES["earthquake"][:0]})
    texts = [[cell.text for cell in row] for row in shown.tables[0].rows]
    assert [row[4] for row in texts] == ["sim2", "sim2", "earthquake"]
    assert texts[-1][2] == "not run"
    # Numbers name a claim whatever was run.
    assert texts[0][0] == "8"
    runner.run(EXPERIMENTS["samples"], "quick", tmp_path / "rows", stream=io.StringIO())
    page = write_report(tmp_path, [EXPERIMENTS["samples"]], section)
    text = page.with_name("REPORT.md").read_text()
    assert text.index("The paper's claims") < text.index("The noisy training samples")
