"""Numbers and their marks: summaries by hand, the paper's figures, and cells in both formats."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paper.reporting import published
from paper.reporting.document import Picture, Section
from paper.reporting.markdown import escape, write_markdown
from paper.reporting.summaries import (
    Summary,
    carried,
    fit_slope,
    flags,
    growth,
    marks,
    paired,
    summarize,
)
from paper.reporting.tables import (
    Cell,
    Table,
    deviations,
    difference,
    plus_minus,
    repetitions,
    row,
)
from paper.reporting.webpage import write_page

NAN = float("nan")


def table(*rows: tuple[Cell, ...], **options: Any) -> Table:
    return Table("caption", ("a", "b"), rows, **options)


def page_and_text(*tables: Table) -> tuple[str, str]:
    sections = [Section("title", tables=tables)]
    return write_page("t", (), sections), write_markdown("t", (), sections)


# Summaries


def test_a_mean_and_its_standard_error_are_those_by_hand() -> None:
    # Deviations -2, 0, 2: variance 8 / 2 = 4, standard error sqrt(4 / 3).
    found = summarize([1.0, 3.0, 5.0])
    assert found == pytest.approx((3.0, np.sqrt(4.0 / 3.0), 3))


@pytest.mark.parametrize(("values", "n"), [([], 0), ([NAN], 0), ([2.0], 1), ([2.0, NAN], 1)])
def test_fewer_than_two_values_have_no_standard_error(values: list[float], n: int) -> None:
    found = summarize(values)
    assert found.n == n
    assert np.isnan(found.error)


def test_a_paired_change_uses_only_repetitions_that_have_both() -> None:
    frame = pd.DataFrame(
        {"repetition": [0, 0, 1, 1, 2], "n": [1, 2, 1, 2, 1], "e": [0.1, 0.3, 0.2, 0.6, 9.0]}
    )
    assert paired(frame, "e", "n", 1, 2) == pytest.approx((0.3, 0.1, 2))
    assert paired(frame, "e", "n", 1, 7).n == 0


def test_a_path_that_ended_keeps_its_last_value() -> None:
    frame = pd.DataFrame({"repetition": [0, 0, 1], "k": [1, 5, 1], "e": [0.4, 0.2, 0.3]})
    assert carried(frame, "e").to_numpy().tolist() == [[0.4, 0.3], [0.2, 0.3]]


def test_truth_values_are_read_from_words_and_numbers() -> None:
    assert flags(pd.Series(["True", "False", "1", "0", 1.0])).tolist() == [1, 0, 1, 0, 1]


def test_best_and_second_share_marks_on_ties() -> None:
    values = {"a": 97.004, "b": 97.001, "c": 96.5, "d": 96.5, "e": NAN, "f": 90.0}
    found = marks(values, 2, largest=True)
    assert found == {"a": "best", "b": "best", "c": "second", "d": "second", "e": "", "f": ""}
    assert marks({"a": 1.0, "b": 2.0}, 2, second=False) == {"a": "best", "b": ""}
    assert marks({"a": NAN}, 2) == {"a": ""}


@pytest.mark.parametrize("exponent", [-0.25, -0.5])
def test_the_slope_recovers_a_known_exponent(exponent: float) -> None:
    random = np.random.default_rng(0)
    sizes = np.repeat([250 * 2**i for i in range(8)], 20)
    noise = random.uniform(0.8, 1.2, len(sizes))
    frame = pd.DataFrame({"n_samples": sizes, "risk": 0.3 * growth(sizes) ** exponent * noise})
    found = fit_slope(frame, "risk")
    assert found is not None
    assert found.slope == pytest.approx(exponent, abs=0.02)
    assert found.low <= exponent <= found.high
    assert found.high - found.low < 0.1
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert fit_slope(shuffled, "risk") == found


def test_an_exact_power_law_has_an_interval_of_no_width() -> None:
    sizes = np.repeat([250, 1000, 4000], 3)
    frame = pd.DataFrame({"n_samples": sizes, "risk": 2.0 * growth(sizes) ** -0.5})
    assert fit_slope(frame, "risk") == pytest.approx((-0.5, np.log(2.0), -0.5, -0.5))


@pytest.mark.parametrize("risks", [[0.1], [0.1, 0.0], [0.1, NAN]])
def test_no_slope_is_drawn_through_fewer_than_two_positive_means(risks: list[float]) -> None:
    sizes = [250, 500][: len(risks)]
    assert fit_slope(pd.DataFrame({"n_samples": sizes, "risk": risks}), "risk") is None


# Published figures


def test_published_figures_are_those_of_the_paper() -> None:
    assert published.sim3("outlier", "relu", 0.1283, "squared_hinge") == 0.0156
    assert published.sim3("uniform", "relu", 0.5, "hinge") is None
    assert published.sim4("fully_corrective") == (0.0229, 0.3076, 12.6)
    assert published.sim4("letter") is None
    assert published.uci("heart", "fcg_relu") == 89.93
    assert published.earthquake("baseline") is None
    assert published.admm_vs_gd() == (0.034, 0.53)
    assert len(published.datasets()) == 11


def test_printed_marks_follow_the_paper_also_where_it_slips() -> None:
    assert published.sim3_best("outlier", "polynomial", 0.1283) == "squared_hinge"
    assert published.sim3_best("outlier", "polynomial", 0.1731) == "hinge"
    htru2 = published.uci_marks("HTRU2")
    assert {name: mark for name, mark in htru2.items() if mark} == {
        "fcg_relu": "best",
        "baseline": "second",
    }
    banknote = [
        name for name, mark in published.uci_marks("banknote_authentication").items() if mark
    ]
    assert banknote == ["fcg_gauss", "fcg_polynomial", "fcg_relu"]


# Tables in both formats


def test_numbers_are_written_with_their_error_and_sign() -> None:
    assert plus_minus(Summary(0.02391, 0.00104, 20), 4) == "0.0239 ± 0.0010"
    assert plus_minus(Summary(0.02391, NAN, 1), 4) == "0.0239"
    assert plus_minus(summarize([]), 4) == "–"
    # Of the rounded figures, so that a reader finds it right: 0.0239 - 0.0238.
    assert difference(0.02386, 0.0238, 4) == "+0.0001"
    assert difference(0.01, 0.0238, 4) == "−0.0138"
    assert difference(0.01, None, 4) == "–"


def test_repetitions_are_counted_in_words() -> None:
    assert repetitions([20, 20]) == "Mean ± standard error over 20 repetitions."
    assert "3 to 20" in repetitions([20, 3, 0])
    assert "no standard error" in repetitions([1, 1])
    assert "No repetition" in repetitions([])


def test_marks_have_a_cue_beside_colour() -> None:
    page, text = page_and_text(table(row("x", Cell("1", "best")), row("y", Cell("2", "second"))))
    assert '<b class="best">1</b>' in page
    assert '<i class="second">2</i>' in page
    assert "| x | **1** |" in text
    assert "| y | *2* |" in text
    assert "**bold**: best, *italic*: second." in text


def test_deviations_are_footnotes_of_their_cells() -> None:
    made = table(
        row("x", Cell("1", note="one fold")),
        row("y", Cell("2", note="thinned; one fold")),
        row("z", Cell("3")),
    )
    page, text = page_and_text(made)
    assert made.footnotes() == {"one fold": "†", "thinned": "‡"}
    assert "| x | 1† |" in text
    assert "| y | 2‡,† |" in text
    assert "| z | 3 |" in text
    assert "† one fold" in text
    assert "<td>2<sup>‡,†</sup></td>" in page.replace(' class="open"', "")
    assert "<sup>‡</sup> thinned" in page


def test_many_footnotes_have_distinct_signs() -> None:
    made = table(*(row("x", Cell("1", note=f"note {i}")) for i in range(12)))
    assert len(set(made.footnotes().values())) == 12


def test_deviations_of_repetitions_are_named_once_and_nothing_is_none() -> None:
    frame = pd.DataFrame({"deviation": ["b; a", "a", "", None, NAN]})
    assert deviations(frame) == "a; b"
    assert deviations(frame[["deviation"]].iloc[2:]) == ""
    assert deviations(pd.DataFrame({"x": [1]})) == ""


def test_text_is_escaped() -> None:
    hostile = "<script>alert('x')</script> & a|b *c* _d_ `e` [f](g)"
    sections = [
        Section(
            hostile,
            (hostile,),
            (Table(hostile, (hostile,), (row(Cell(hostile, note=hostile)),), (hostile,), hostile),),
            (Picture("p", hostile, b"png"),),
        )
    ]
    page = write_page(hostile, (hostile,), sections)
    assert "<script" not in page
    text = write_markdown(hostile, (hostile,), sections)
    # Within backticks nothing is markup.
    outside = re.sub(r"`[^`]*`", "", text.replace("\\`", "").replace("\\<", ""))
    assert "<script" not in outside
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 2 for line in lines)
    assert escape("a_b") == "a\\_b"


def test_a_table_names_its_command_unless_it_is_the_papers_own() -> None:
    made = Section("s", tables=(table(), table(is_printed=True))).sourced("fcgboost x", "9.9")
    page, text = page_and_text(*made.tables)
    assert page.count("<code>fcgboost x</code>, fcgboost 9.9") == 1
    assert text.count("Made by `fcgboost x`, fcgboost 9.9.") == 1


def test_counts_that_differ_between_repetitions_share_one_footnote():
    notes = ["3 of 115 trials stopped at 20,000 iterations; thinned grid", None]
    notes += ["7 of 115 trials stopped at 20,000 iterations", "path ended by tol after 12 steps"]
    assert deviations(pd.DataFrame({"deviation": notes})) == (
        "path ended early, by tol; some of 115 trials stopped at 20,000 iterations; thinned grid"
    )


def test_where_all_are_equal_none_is_best():
    assert set(marks({"a": 0.0, "b": 0.0}, 2).values()) == {""}
    assert marks({"a": 0.0}, 2) == {"a": "best"}
