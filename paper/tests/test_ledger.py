"""Every verdict follows from rows: other rows, another verdict."""

import io
from typing import get_args

import numpy as np
import pytest
from report_frames import frame_of

from paper import runner
from paper.registry import EXPERIMENTS
from paper.report import write_report
from paper.reporting import published
from paper.reporting.ledger import CLAIMS, section
from paper.reporting.ledger.base import ABSENT, TOO_FEW, Verdict, graded
from paper.reporting.ledger.real_data import BOOSTED, DOUBTED, RIVALS
from paper.reporting.summaries import paired_over

FRAMES = {name: frame_of(experiment) for name, experiment in EXPERIMENTS.items()}


def judged(start, **frames):
    (claim,) = [claim for claim in CLAIMS if claim.text.startswith(start)]
    return claim.finding({**FRAMES, **frames})


def changed(name, where, **values):
    """Give the made-up rows of an experiment with some values replaced."""
    frame = FRAMES[name].copy()
    names = {"BOOSTED": BOOSTED, "RIVALS": RIVALS}
    rows = frame.query(where, local_dict=names).index if where else frame.index
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
    assert claim.finding({}) == claim.absent
    assert claim.finding({claim.experiment: FRAMES[claim.experiment][:0]}) == claim.absent


def first_units(name, share):
    """Give the rows of the first units: so many, or a share of all."""
    frame = FRAMES[name]
    numbers = frame.groupby(list(EXPERIMENTS[name].settings), sort=False, dropna=False).ngroup()
    return frame[numbers < (share if share >= 1 else share * (numbers.max() + 1))]


@pytest.mark.parametrize("share", [1, 2, 10, 0.5])
@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.text for claim in CLAIMS])
def test_rows_of_a_run_that_goes_on_are_no_error(claim, share):
    verdict, evidence = claim.finding({claim.experiment: first_units(claim.experiment, share)})
    assert verdict in get_args(Verdict)
    assert "nan" not in evidence


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.text for claim in CLAIMS])
def test_one_repetition_gives_no_verdict(claim):
    frame = FRAMES[claim.experiment]
    # A sample has no repetitions, and a slip of the press needs no rows.
    if "repetition" in frame and not claim.text.startswith("0.0245 is"):
        assert claim.finding({claim.experiment: frame.query("repetition == 0")}) == TOO_FEW


def test_a_claim_on_all_cells_needs_all_of_them():
    without = {
        "sim1": "k != 26",
        "sim2": "n != 4000 or dictionary != 'relu'",
        "sim3": "level != 0.3 or noise != 'outlier' or loss != 'squared_hinge'",
        "uci": "dataset != 'Skin_NonSkin'",
    }
    starts = ("With k the", "The size n", "The squared hinge is", "The proposed method is best")
    for start, (name, rows) in zip(starts, without.items(), strict=True):
        assert judged(start, **{name: FRAMES[name].query(rows)}) == ABSENT
    fewer = judged("Boost-Gauss", uci=FRAMES["uci"].query(without["uci"]))
    assert "of 10 sets" in fewer.evidence


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
        # What never falls is stable, but has not fallen first.
        ("sim1", "", {"test_error": 0.03}),
    ),
    (
        "5 k0 steps",
        ("sim1", "", {"test_error": curve(0.03)}),
        ("sim1", "", {"test_error": lambda rows: 0.5 - 0.001 * rows["k"]}),
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
        "The squared hinge inherits",
        ("sim3", "loss == 'square' and noise == 'outlier'", {"test_error": 0.5}),
        ("sim3", "loss == 'square' and noise == 'outlier'", {"test_error": 0.0}),
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
        "Under the noise condition",
        ("rates", "kind == 'size'", {"excess_risk": lambda rows: rows["n_samples"] ** -0.5}),
        ("rates", "kind == 'size'", {"excess_risk": lambda rows: rows["n_samples"] ** -0.26}),
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
        "Meanwhile",
        ("sim4", "", {"test_error": 0.02}),
        ("sim4", "", {"test_error": lambda rows: 0.4 - 5e-5 * rows["k"]}),
    ),
    (
        "The proposed method is at least",
        ("uci", "method in @RIVALS", {"accuracy": 0.6}),
        ("uci", "method in @BOOSTED", {"accuracy": 0.6}),
    ),
    (
        "On the other 2",
        ("uci", "method in @BOOSTED", {"accuracy": 1.0}),
        ("uci", "method in @BOOSTED", {"accuracy": 0.6}),
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
    *(
        (
            f"The printed accuracy on {name}",
            ("uci", f"dataset == '{name}'", {"accuracy": (published.uci_best(name) - 0.4) / 100}),
            ("uci", f"dataset == '{name}'", {"accuracy": (published.uci_best(name) - 2.0) / 100}),
        )
        for name in DOUBTED
    ),
    (
        "On the earthquake data the method",
        ("earthquake", "method == 'fcg_sigmoid'", {"accuracy": 1.0}),
        ("earthquake", "method in @RIVALS", {"accuracy": 1.0}),
    ),
    (
        "On the earthquake data the polynomial",
        ("earthquake", "method == 'fcg_polynomial'", {"accuracy": 1.0}),
        ("earthquake", "method == 'fcg_polynomial'", {"accuracy": 0.0}),
    ),
    (
        "Not the paper's data, CFTI5Med: On the earthquake data the method",
        ("earthquake-italy", "method == 'fcg_sigmoid'", {"accuracy": 1.0}),
        ("earthquake-italy", "split == 'random' and method in @RIVALS", {"accuracy": 1.0}),
    ),
    (
        "Not the paper's data, CFTI5Med: On the earthquake data the polynomial",
        ("earthquake-italy", "method == 'fcg_polynomial'", {"accuracy": 1.0}),
        ("earthquake-italy", "method == 'fcg_polynomial'", {"accuracy": 0.0}),
    ),
]


@pytest.mark.parametrize(("start", "good", "bad"), CASES, ids=[case[0] for case in CASES])
def test_a_verdict_follows_the_rows(start, good, bad):
    name, where, values = good
    assert judged(start, **changed(name, where, **values)).verdict == "holds"
    name, where, values = bad
    assert judged(start, **changed(name, where, **values)).verdict == "does not hold"


def test_every_claim_that_rows_decide_has_a_case():
    starts = ("0.0245 is", *(case[0] for case in CASES))
    assert all(claim.text.startswith(starts) for claim in CLAIMS)


def test_noise_is_not_nearness_to_the_printed_atoms():
    noisy = changed("sim4", "kind == 'best'", atoms=lambda rows: rows["repetition"] * 20)
    assert judged("Its 12.6 atoms", **noisy).verdict == "does not hold"
    letter = changed("sim4", "scheme == 'letter' and kind == 'best'", atoms=12)
    finding = judged("Its 12.6 atoms", **letter)
    assert finding.verdict == "holds in part"
    assert "ADMM: 12.0 ± 0.0, near" in finding.evidence


def test_a_curve_that_is_stable_because_its_paths_ended_is_said_to_be():
    frame = changed("sim1", "", test_error=curve(0.03))
    evidence = judged("With k the", **frame).evidence
    assert "8 with λ = 1/m (0 of their 24 paths had ended)" in evidence
    assert "8 by Algorithm 1 to the letter (24 of their 24 paths had ended)" in evidence


def test_a_rate_is_contradicted_only_by_an_interval_above_it():
    spread = changed(
        "rates",
        "kind == 'size'",
        excess_risk=lambda rows: rows["n_samples"] ** -0.2 * (0.02 + rows["repetition"] ** 4),
    )
    assert judged("The excess risk at k0", **spread).verdict == "holds in part"
    one = "kind == 'size' and correction == 'exact'"
    flat = changed("rates", one, excess_risk=lambda rows: rows["n_samples"] ** -0.1)
    assert judged("The excess risk at k0", **flat).verdict == "holds in part"


def test_cells_of_one_repetition_count_once():
    rows = FRAMES["sim3"].query("correction == 'ridge'").copy()
    rows["test_error"] = np.where(rows["loss"] == "hinge", 0.1 * rows["repetition"], 0.0)
    cells = ("noise", "level", "dictionary")
    gap = paired_over(rows, "test_error", cells, "loss", "squared_hinge", "hinge")
    assert gap.n == 3
    assert gap.error == pytest.approx(0.1 / np.sqrt(3.0))
    short = rows[(rows["repetition"] > 0) | (rows["dictionary"] != "relu")]
    assert paired_over(short, "test_error", cells, "loss", "squared_hinge", "hinge").n == 2
    assert paired_over(rows, "test_error", cells, "loss", "squared_hinge", "none").n == 0


def test_a_tie_at_two_digits_is_a_win_and_said_to_be_one():
    frame = changed("uci", "", accuracy=0.6)["uci"]
    frame.loc[frame["method"] == "fcg_relu", "accuracy"] = 0.70001
    frame.loc[frame["method"] == "adaboost", "accuracy"] = 0.70002
    finding = judged("The proposed method is best", uci=frame)
    assert finding.verdict == "holds"
    assert "ties: heart" in finding.evidence
    rows = frame.query("dataset == 'heart' and split == 'random'").drop(columns="dataset")
    assert "ties: adaboost" in judged("On the earthquake data the m", earthquake=rows).evidence
    rows = rows.assign(accuracy=0.7)
    assert "a tie" in judged("On the earthquake data the p", earthquake=rows).evidence


def test_what_is_near_ridge_least_squares_is_named_from_the_rows():
    far = changed("admm-vs-gd", "loss in ('hinge', 'cubed_hinge')", distance_ridge=0.3)
    evidence = judged("100 iterations of ADMM", **far).evidence
    assert "squares at m = 1000: squared_hinge, square;" in evidence


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
    noisy = changed("sim4", "scheme == 'epsilon'", test_error=lambda rows: rows["repetition"] // 3)
    assert "the width, since" in judged("The six", **noisy).evidence


def test_the_ledger_opens_a_report_with_the_claims_on_what_was_run(tmp_path):
    assert section({}) is None
    shown = section({"sim2": FRAMES["sim2"], "earthquake": FRAMES["earthquake"][:0]})
    texts = [[cell.text for cell in row] for row in shown.tables[0].rows]
    assert [row[4] for row in texts] == ["sim2", "sim2", "earthquake", "earthquake"]
    assert texts[-1][2] == "not run: data not available"
    assert "python -m paper run earthquake" in texts[-1][3]
    # Numbers name a claim whatever was run.
    assert texts[0][0] == "9"
    runner.run(EXPERIMENTS["samples"], "quick", tmp_path / "rows", stream=io.StringIO())
    page = write_report(tmp_path, [EXPERIMENTS["samples"]])
    text = page.with_name("REPORT.md").read_text()
    assert text.index("The paper's claims") < text.index("The noisy training samples")
