"""Units, rows and their store; the runner."""

import errno
import io
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from paper import runner
from paper.base import Experiment, Unit
from paper.experiments.samples import Samples
from paper.store import Store, StoreError


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

    def obstacle(self, units):
        self.looked_at = units
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
    assert facts["command"] == "python -m paper run toy --preset quick"


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


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("toy.json", None, r"toy\.json is missing.*or remove toy\.csv"),
        ("toy.json", b'{"preset": ', r"toy\.json is damaged \(Expecting value.*remove toy\.csv"),
        ("toy.json", b"{}", r"toy\.json is damaged \(it names no preset"),
        ("toy.json", b'{"preset": "slow", "split": null}', r"toy\.json is damaged"),
        ("toy.json", b"[1]", r"toy\.json is damaged"),
        ("toy.json", b"\xff", r"toy\.json is damaged"),
        ("toy.csv", b"\xff\xfe\n\n", r"toy\.csv is damaged \('utf-8' codec"),
    ],
)
def test_damage_is_said_with_the_file_and_what_to_do(tmp_path, name, damage, message):
    run(Toy(), tmp_path)
    path = tmp_path / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(StoreError, match=message):
        runner.load(Toy(), tmp_path)
    with pytest.raises(StoreError, match=message):
        run(Toy(), tmp_path, resume=True)


def test_of_units_that_are_there_twice_the_first_complete_copy_counts(tmp_path):
    toy = Toy()
    run(toy, tmp_path)
    path = tmp_path / "toy.csv"
    whole = runner.load(toy, tmp_path)[0]
    header, *lines = path.read_text().splitlines(keepends=True)
    later = [line.rpartition(",")[0] + ",77\n" for line in lines]
    path.write_text(header + "".join(lines[:5] + lines + later))
    frame, facts = runner.load(toy, tmp_path)
    assert frame.equals(whole)
    assert facts["is_finished"]


def test_whether_a_table_is_finished_is_seen_from_its_rows(tmp_path):
    run(Toy(), tmp_path)
    path = tmp_path / "toy.csv"
    path.write_text(path.read_text()[:-9])
    facts = tmp_path / "toy.json"
    facts.write_text(facts.read_text().replace("{", '{"is_finished": true, "n_units": 1,', 1))
    assert not runner.load(Toy(), tmp_path)[1]["is_finished"]


def test_two_runs_cannot_write_one_table(tmp_path):
    with (
        runner.opened(Toy(), "quick", tmp_path),
        pytest.raises(StoreError, match=r"Another run is writing here: .*toy\.csv"),
    ):
        run(Toy(), tmp_path)
    run(Toy(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.csv", "toy.json"]


def test_a_killed_process_leaves_no_lock(tmp_path):
    toy = Toy()
    script = (
        "import sys, time; from pathlib import Path\n"
        "from paper.store import Store\n"
        "with Store(Path(sys.argv[1]), 'toy', (), ()).locked():\n"
        "    print('locked', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"locked\n"
    with pytest.raises(StoreError, match="Another run"):
        run(toy, tmp_path)
    process.kill()
    process.communicate()
    assert (tmp_path / ".toy.lock").exists()
    assert run(toy, tmp_path) is None


def test_where_the_file_system_knows_no_locks_a_run_goes_on(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert run(Toy(), tmp_path) is None


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


class SplitToy(Toy):
    has_splits = True


@pytest.mark.parametrize(
    ("made", "now", "message"),
    [
        ({}, {"preset": "full"}, "--preset quick: give --preset quick, or choose another --out"),
        ({"split": "random"}, {}, "--split random: give --split random, or choose another --out"),
        ({}, {"split": "random"}, "no --split: leave it out, or choose another --out"),
    ],
)
def test_rows_made_in_two_ways_do_not_mix(tmp_path, made, now, message):
    defaults = {"preset": "quick", "folder": tmp_path, "stream": io.StringIO()}
    runner.run(SplitToy(), **(defaults | made))
    with pytest.raises(StoreError, match=f"toy.csv was made with {message}"):
        runner.run(SplitToy(), **(defaults | now), resume=True)


def test_log_losses_that_were_clipped_otherwise_do_not_mix(tmp_path):
    class Clipped(Toy):
        clipping = "1e-15"

    run(Toy(), tmp_path)
    with pytest.raises(StoreError, match="kept away from 0 and 1 by None, and now it is 1e-15"):
        run(Clipped(), tmp_path, resume=True)


def test_rows_of_another_version_do_not_mix(tmp_path):
    run(Toy(), tmp_path)
    facts = tmp_path / "toy.json"
    facts.write_text(facts.read_text().replace('"version": "', '"version": "9.'))
    with pytest.raises(StoreError, match=r"made with version 9\..* go on with that version"):
        run(Toy(), tmp_path, resume=True)


def test_the_split_matters_only_where_it_is_used(tmp_path):
    run(Toy(), tmp_path, split="random")
    assert run(Toy(), tmp_path, resume=True) is None
    facts = runner.load(Toy(), tmp_path)[1]
    assert facts["split"] is None
    assert "--split" not in facts["command"]
    path = tmp_path / "toy.json"
    path.write_text(path.read_text().replace('"split": null', '"split": "random"'))
    assert run(Toy(), tmp_path, resume=True) is None


def test_an_obstacle_is_written_down_and_lifted_by_a_later_run(tmp_path):
    assert run(Toy(hindrance="No data."), tmp_path) == "No data."
    assert runner.load(Toy(), tmp_path)[1]["obstacle"] == "No data."
    with pytest.raises(ZeroDivisionError):
        run(Toy(fails_at=ToyUnit("a", 1)), tmp_path)
    assert runner.load(Toy(), tmp_path)[1]["obstacle"] is None
    assert run(Toy(), tmp_path) is None
    frame, facts = runner.load(Toy(), tmp_path)
    assert len(frame) == 12
    assert facts["obstacle"] is None


def test_an_obstacle_leaves_earlier_rows_to_be_shown(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run(Toy(fails_at=ToyUnit('b, "c"', 1)), tmp_path)
    blocked = Toy(hindrance="No data.")
    assert run(blocked, tmp_path, resume=True) == "No data."
    assert {unit.name for unit in blocked.looked_at} == {'b, "c"'}
    frame, facts = runner.load(Toy(), tmp_path)
    assert len(frame) == 6
    assert facts["obstacle"] is None


def test_a_finished_table_needs_no_data(tmp_path):
    run(Toy(), tmp_path)
    assert run(Toy(hindrance="No data."), tmp_path, resume=True) is None
    assert runner.load(Toy(), tmp_path)[1]["is_finished"]


def test_a_table_without_rows_was_not_started(tmp_path):
    run(Toy(hindrance="No data."), tmp_path)
    (tmp_path / "toy.csv").write_text("columns,of,another,version\n")
    runner.run(Toy(), "full", tmp_path, stream=io.StringIO(), n_jobs=1)
    frame, facts = runner.load(Toy(), tmp_path)
    assert len(frame) == 12
    assert (facts["preset"], facts["n_jobs"]) == ("full", 1)


def test_processes_give_the_rows_of_one_process(tmp_path):
    for n_jobs in (1, 2):
        run(Samples(), tmp_path / str(n_jobs), n_jobs=n_jobs)
    one, two = (runner.load(Samples(), tmp_path / str(n))[0] for n in (1, 2))
    assert one.drop(columns="unit_seconds").equals(two.drop(columns="unit_seconds"))
