"""Units of stored tables, run again, give their rows again: an oracle of the whole engine."""

from pathlib import Path

import numpy as np
import pytest

from paper.base import written
from paper.data.catalog import UCI_SETS
from paper.data.home import VARIABLE, data_homes, find_file
from paper.registry import EXPERIMENTS
from paper.runner import _store

ROWS = Path(__file__).parents[1] / "rows"

#: Units by their settings as the tables write them. Of sets with repeated rows only those that
#: come out the same although equal rows are one row now.
PAPER = {
    "admm-vs-gd": [
        "race admm squared_hinge uniform 1000 15 0.1 5",
        "ridge admm hinge outlier 4000 30 0.35 5",
        "ridge admm cubed_hinge none 4000 30 0.35 1",
        "ridge admm square uniform 4000 30 0.35 7",
    ],
    "sim1": ["outlier 0.4 gauss 1", "outlier 0.4 relu 8", "uniform 0.3 relu 5"],
    "sim3": ["uniform 0.3 relu 3 shared"],
    "rates": [
        "size smooth gauss 4000 3 22 all",
        "size simulation gauss 2000 15 17 all",
        "size simulation relu 1000 8 13 all",
    ],
    "uci": [
        "heart fcg_relu random 8 thinned 0",
        "heart fcg_gauss random 6 thinned 0",
        "heart fcg_polynomial random 1 thinned 0",
        "breast_cancer fcg_gauss random 5 thinned 0",
        "banknote_authentication fcg_gauss random 7 thinned 0",
        "banknote_authentication fcg_sigmoid random 1 thinned 0",
        "seismic_bumps fcg_gauss random 5 thinned 0",
        "seismic_bumps fcg_relu random 7 thinned 0",
        "seismic_bumps fcg_sigmoid random 8 thinned 0",
    ],
}
BEYOND = {"leaves": ["heart fcg 4 0"]}
#: Units of the contest whose atoms are learned. A last digit may end a search earlier or later, so
#: what must be the same is how good they are on average.
LEARNED = [
    "heart fcg_auto 0.0 0 0",
    "heart fcg_auto 0.3 1 0",
    "heart fcg_compact 0.0 8 0",
    "heart fcg_compact 0.3 6 0",
    "breast_cancer fcg_auto 0.3 4 0",
    "breast_cancer fcg_compact 0.3 7 0",
    "biodeg fcg_auto 0.0 5 0",
    "biodeg fcg_compact 0.0 5 0",
    "banknote_authentication fcg_auto 0.0 2 0",
    "banknote_authentication fcg_compact 0.3 5 0",
    "seismic_bumps fcg_auto 0.0 1 0",
    "seismic_bumps fcg_compact 0.0 8 0",
    "musk2 fcg_compact 0.0 2 0",
    "heart fcg_compact 0.0 9 0",
]
CASES = [
    (folder, name, unit)
    for folder, tables in (("results", PAPER), ("beyond", BEYOND))
    for name, units in tables.items()
    for unit in units
]
#: Results that may differ: times, and what other rules of clipping and writing made.
OTHER = {"log_loss", "file_bytes"}


@pytest.mark.parametrize(("folder", "name", "unit"), CASES)
def test_a_stored_unit_gives_its_rows_again(folder, name, unit):
    experiment = EXPERIMENTS[name]
    key = tuple(unit.split())
    (known,) = [one for one in experiment.units("standard", None) if one.key == key]
    skip_without(getattr(known, "dataset", ""))
    stored = _store(experiment, ROWS / folder).load()[key]
    found = experiment.run(known)
    compared = [c for c in experiment.results if c not in OTHER and "seconds" not in c]
    for new, old in zip(found, stored, strict=True):
        for column in compared:
            assert _is_equal(written(new[column]), old[column]), column


def test_learned_models_are_as_accurate_as_the_stored_ones_up_to_noise():
    experiment, store = EXPERIMENTS["contest"], _store(EXPERIMENTS["contest"], ROWS / "beyond")
    keys, stored = {tuple(unit.split()) for unit in LEARNED}, store.load()
    units = [one for one in experiment.units("standard", None) if one.key in keys]
    assert len(units) == len(LEARNED)
    for one in units:
        skip_without(one.dataset)
    pairs = [(experiment.run(one)[0], stored[one.key][0]) for one in units]
    for column in ("accuracy", "brier"):
        gaps = np.array([float(new[column]) - float(old[column]) for new, old in pairs])
        assert abs(gaps.mean()) <= 2.0 * gaps.std(ddof=1) / np.sqrt(len(gaps)), column


def skip_without(name: str) -> None:
    """Skip a test whose data are not there."""
    facts = UCI_SETS.get(name)
    if facts is not None and find_file((facts.file_name,), data_homes()) is None:
        pytest.skip(f"{facts.file_name} is in no data home; set {VARIABLE} to a folder that has it")


def _is_equal(new: str, old: str) -> bool:
    """Whether two cells are the same up to rounding."""
    try:
        return float(new) == pytest.approx(float(old), rel=1e-6, abs=1e-9)
    except ValueError:
        return new == old
