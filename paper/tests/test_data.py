"""Public sets from a data home."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from paper.data import fetch_uci
from paper.data.catalog import BREAST_CANCER, HEART, SEISMIC, UCI_SETS
from paper.data.home import (
    VARIABLE,
    cache_folder,
    data_homes,
    digest,
    find_file,
    read_verified,
)
from paper.data.table import to_table
from paper.files import replace_file

DATA_PAGE = Path(__file__).parents[2] / "docs" / "data.md"
each_set = pytest.mark.parametrize("facts", UCI_SETS.values(), ids=list(UCI_SETS))


def write_gzip(path, content):
    replace_file(path, gzip.compress(content, mtime=0))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home, and no other on this computer."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "home"


def canonical(facts, *rows):
    return "".join(",".join(row) + "\n" for row in (facts.header, *rows)).encode()


def skip_without(facts):
    if find_file((facts.file_name,), data_homes()) is None:
        pytest.skip(f"{facts.file_name} is in no data home; set {VARIABLE} to a folder that has it")


@each_set
def test_a_public_set_has_the_samples_and_classes_of_the_table(facts):
    skip_without(facts)
    bunch = fetch_uci(facts.name, return_X_y=False)
    assert bunch.data.shape == (sum(facts.counts), facts.n_features)
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert (np.sum(bunch.target == -1.0), np.sum(bunch.target == 1.0)) == facts.counts
    assert len(bunch.feature_names) == facts.n_features
    assert all(len(column) == len(bunch.target) for column in bunch.groups.values())
    for fact in (facts.title, facts.deviation, facts.positive[1], str(facts.n_rows)):
        assert fact in bunch.DESCR


@each_set
def test_the_page_on_data_lists_the_facts_of_the_table(facts):
    lines = DATA_PAGE.read_text("utf-8").splitlines()
    line = next(line for line in lines if line.startswith(f"| `{facts.name}`"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    rows, attributes = facts.paper_shape
    assert cells == [
        f"`{facts.name}`",
        f"[{facts.title}]({facts.page})",
        f"{sum(facts.counts)} × {facts.n_features}",
        f"{rows} × {attributes}",
        f"`{facts.positive[0]}`, {facts.positive[1]}: {facts.counts[1]}",
        f"`{facts.negative[0]}`, {facts.negative[1]}: {facts.counts[0]}",
        f"`{facts.sha256[:16]}…`",
    ]


def test_musk2_comes_with_the_molecule_of_each_row():
    skip_without(UCI_SETS["musk2"])
    bunch = fetch_uci("musk2", return_X_y=False)
    molecules = bunch.groups["id_molecule"]
    np.testing.assert_array_equal(np.unique(molecules), np.arange(1, 103))
    labels = set(zip(molecules.tolist(), bunch.target.tolist(), strict=True))
    assert len(labels) == 102


def test_rows_with_missing_values_are_dropped_from_features_labels_and_groups():
    rows = [
        ["1000025", *"511121311", "2"],
        ["1057013", *"84512", "", *"731", "4"],
        ["1017122", *("8", "10", "10", "8", "7", "10", "9", "7", "1"), "4"],
    ]
    table = to_table(canonical(BREAST_CANCER, *rows), BREAST_CANCER)
    np.testing.assert_array_equal(table.X[0], [5, 1, 1, 1, 2, 1, 3, 1, 1])
    np.testing.assert_array_equal(table.X[1], [8, 10, 10, 8, 7, 10, 9, 7, 1])
    np.testing.assert_array_equal(table.y, [-1.0, 1.0])
    np.testing.assert_array_equal(table.groups["id_sample_code"], [1000025, 1017122])


def test_letters_become_one_column_per_level():
    numbers = ["0"] * 9 + ["1"]
    rows = [
        ["a", "c", "N", *"1234", "b", *numbers, "0"],
        ["b", "a", "W", *"5678", "a", *numbers, "1"],
    ]
    table = to_table(canonical(SEISMIC, *rows), SEISMIC)
    first = dict(zip(table.feature_names, table.X[0], strict=True))
    assert len(first) == 24
    ones = {name for name, value in first.items() if "=" in name and value == 1.0}
    assert ones == {"seismic=a", "seismoacoustic=c", "shift=N", "ghazard=b"}
    assert (first["genergy"], first["gdpuls"], first["maxenergy"]) == (1.0, 4.0, 1.0)


def test_identifiers_that_are_no_numbers_stay_text():
    facts = UCI_SETS["occupancy_detection"]
    row = ["datatest", "2015-02-04 17:51:00", *"12345", "1"]
    groups = to_table(canonical(facts, row), facts).groups
    assert groups["id_file"].tolist() == ["datatest"]
    assert groups["id_date"].tolist() == ["2015-02-04 17:51:00"]


@pytest.mark.parametrize(
    ("name", "advice"), [("Heart", "'heart'"), ("htru", "'HTRU2'"), ("skin_nonskin", "'Skin_Non")]
)
def test_an_unknown_name_is_answered_with_the_closest_and_all_names(name, advice):
    with pytest.raises(ValueError, match=f"no set {name!r}. Did you mean {advice}") as caught:
        fetch_uci(name)
    assert all(known in str(caught.value) for known in UCI_SETS)


def test_a_name_like_no_other_gets_no_suggestion():
    with pytest.raises(ValueError, match=r"no set 7\. The sets are heart"):
        fetch_uci(7)


def test_folders_are_looked_in_in_order(home, tmp_path, monkeypatch):
    assert data_homes() == (tmp_path / "cache" / "fcgboost",)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named"))
    assert data_homes(home) == (home, tmp_path / "named", tmp_path / "cache" / "fcgboost")
    for folder in reversed(data_homes(home)):
        write_gzip(folder / "set", b"")
        assert find_file(("set",), data_homes(home)) == folder / "set"


def test_a_tilde_is_the_users_folder_and_an_empty_variable_is_none(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert data_homes("~/sets")[0] == Path.home() / "sets"
    assert len(data_homes()) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "fcgboost"


def test_the_content_is_verified_and_not_its_compression(home):
    for level in (1, 9):
        write_gzip(home / "set", b"")
        (home / "set").write_bytes(gzip.compress(b"samples", level))
        assert read_verified(home / "set", digest(b"samples")) == b"samples"


def test_another_content_is_named_with_both_digests(home):
    path = home / HEART.file_name
    content = canonical(HEART, [*"1234567890123", "1"])
    write_gzip(path, content)
    with pytest.raises(ValueError, match="does not hold the expected data") as caught:
        fetch_uci("heart", data_home=home)
    for part in (str(path), HEART.sha256, digest(content), "Delete the file"):
        assert part in str(caught.value)


def test_a_file_without_one_column_is_refused(home):
    text = canonical(HEART, [*"1234567890123", "1"])
    write_gzip(home / HEART.file_name, text.replace(b"age,", b"").replace(b"\n1,", b"\n"))
    with pytest.raises(ValueError, match="does not hold the expected data"):
        fetch_uci("heart", data_home=home)


@pytest.mark.parametrize("n_bytes", [0, 1, 5, 12, 40, 60])
def test_a_truncated_file_is_named(home, n_bytes):
    content = b"".join(b"%d\n" % number for number in range(100))
    write_gzip(home / HEART.file_name, content)
    (home / HEART.file_name).write_bytes(gzip.compress(content)[:n_bytes])
    with pytest.raises(ValueError, match=r"heart\.csv\.gz"):
        fetch_uci("heart", data_home=home)


def test_a_file_that_is_no_gzip_is_named(home):
    write_gzip(home / HEART.file_name, b"")
    (home / HEART.file_name).write_text("age,sex\n", "utf-8")
    with pytest.raises(ValueError, match="not a whole gzip file"):
        fetch_uci("heart", data_home=home)


def test_a_write_that_fails_leaves_nothing_behind(home, monkeypatch):
    write_gzip(home / "set", b"before")

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_gzip(home / "set", b"after")
    assert [path.name for path in home.iterdir()] == ["set"]
    assert gzip.decompress((home / "set").read_bytes()) == b"before"


def test_facts_are_consistent():
    for facts in UCI_SETS.values():
        assert facts.negative[0] != facts.positive[0]
        assert sum(facts.counts) <= facts.n_rows
        assert set(facts.categories) <= set(facts.columns)
        assert len(set(facts.header)) == len(facts.header)
