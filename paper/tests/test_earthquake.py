"""Felt reports from small hand-made files."""

import gzip

import numpy as np
import pytest

from paper.data import earthquake, fetch_earthquake, fetch_italy
from paper.data.earthquake import COLUMNS, FEATURES, FILE_NAMES, git_hash
from paper.data.home import VARIABLE

RECORD = {
    **{"year": "1971", "month": "2", "day": "9", "hour": "14", "minute": "0", "second": "41.8"},
    **{"utc_offset": "8", "epicentre_latitude": "34.4", "epicentre_longitude": "-118.4"},
    **{"magnitude": "6.5", "depth": "13", "epicentral_distance": "20", "city_latitude": "34.05"},
    **{"city_longitude": "-118.25", "mmi": "7", "state": "CA", "city": "LOS ANGELES"},
    **{"source": "H"},
}


def record(**changes):
    return [{**RECORD, **changes}.get(name, "") for name in COLUMNS]


def write(folder, rows, name="eqint_tsqp", separator=","):
    if name.endswith(".xlsx"):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        # A sheet is often wider than its table.
        book.active.cell(1, len(COLUMNS) + 3, " ")
        book.save(folder / name)
        return
    text = "".join(separator.join(row) + "\n" for row in rows).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home, and no other on this computer."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("header", [[], [list(COLUMNS)]])
@pytest.mark.parametrize("name", FILE_NAMES)
def test_commas_tabs_headers_and_all_endings_read_the_same(home, name, header, separator):
    write(home, [*header, record(mmi="4"), record()], name, separator)
    X, y = fetch_earthquake(home)
    np.testing.assert_array_equal(X, [[34.4, -118.4, 34.05, -118.25, 6.5, 13.0]] * 2)
    np.testing.assert_array_equal(y, [1.0, -1.0])


def test_intensities_up_to_four_are_the_positive_class(home):
    write(home, [record(mmi=str(mmi)) for mmi in range(1, 13)])
    np.testing.assert_array_equal(fetch_earthquake(home)[1], [1.0] * 4 + [-1.0] * 8)


@pytest.mark.parametrize("name", [*FEATURES, "mmi"])
@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("", "missing"),
        ("  ", "missing"),
        ("?", "no number"),
        ("999", "out of range"),
        ("nan", "out of range"),
    ],
)
def test_an_incomplete_record_is_dropped_and_its_reason_counted(home, name, field, reason):
    write(home, [record(), record(**{name: field})])
    bunch = fetch_earthquake(home, return_X_y=False)
    assert bunch.counts == {"read": 2, "kept": 1, "dropped": {f"{name} {reason}": 1}}
    assert len(bunch.data) == len(bunch.target) == 1
    assert bunch.feature_names == list(FEATURES)
    assert "8173" in bunch.DESCR


@pytest.mark.parametrize("mmi", ["0", "13", "4.5"])
def test_an_intensity_that_is_none_is_dropped(home, mmi):
    write(home, [record(), record(mmi=mmi)])
    counts = fetch_earthquake(home, return_X_y=False).counts
    assert counts["dropped"] == {"mmi out of range": 1}


def test_fields_that_are_not_used_may_be_empty_quoted_or_padded(home):
    rows = [
        record(second="", utc_offset="", source="", city='"SAN JOSE, NEAR"'),
        record(magnitude=" 6.5 ", mmi='"7"', city="CAÑON"),
    ]
    write(home, rows)
    assert len(fetch_earthquake(home)[1]) == 2


def test_blank_lines_and_other_line_ends_do_no_harm(home):
    lines = ["", ",".join(record()), "  ", ",".join(record()), ""]
    for end in ("\n", "\r\n"):
        (home / "eqint_tsqp").write_bytes(end.join(lines).encode())
        assert len(fetch_earthquake(home)[1]) == 2


def test_lines_are_counted_from_the_top_of_the_file(home):
    (home / "eqint_tsqp").write_text("\n\n1,2\n", "utf-8")
    with pytest.raises(ValueError, match="line 3: expected 19 columns"):
        fetch_earthquake(home)


def test_letters_in_the_year_of_a_later_line_are_no_header(home):
    write(home, [list(COLUMNS), record(), record(year="year")])
    assert fetch_earthquake(home, return_X_y=False).counts["read"] == 2


@pytest.mark.parametrize(
    ("row", "separator", "message"),
    [
        (record()[:-1], ",", r"line 3: expected 19 columns separated by commas, found 18"),
        ([*record(), "x"], "\t", r"line 3: expected 19 columns separated by tabs, found 20"),
        (["1,2,3"], "\t", r"line 3: expected 19 columns separated by tabs, found 1"),
        ([*record()[:-2], '"unended', "x"], ",", r"line 3: expected 19 columns .* found 18"),
    ],
)
def test_a_file_of_another_form_is_named_with_its_line(home, row, separator, message):
    write(home, [list(COLUMNS), record(), row], separator=separator)
    with pytest.raises(ValueError, match=message):
        fetch_earthquake(home)


@pytest.mark.parametrize("rows", [[], [list(COLUMNS)], [record(mmi="")]])
def test_a_file_without_complete_records_is_named(home, rows):
    write(home, rows)
    with pytest.raises(ValueError, match="holds no complete record"):
        fetch_earthquake(home)


def test_a_truncated_file_is_named(home):
    write(home, [record()] * 50, "eqint_tsqp.gz")
    path = home / "eqint_tsqp.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match="not a whole gzip file"):
        fetch_earthquake(home)


def test_an_absent_file_is_answered_with_where_to_put_it(home):
    with pytest.raises(FileNotFoundError, match="no eqint_tsqp in the folders") as caught:
        fetch_earthquake(home)
    for part in (str(home), str(home / "cache" / "fcgboost"), "PANGAEA", "eqint_tsqp.csv"):
        assert part in str(caught.value)


def test_a_damaged_workbook_is_named(home):
    pytest.importorskip("openpyxl")
    (home / "eqint_tsqp.xlsx").write_bytes(b"PK, but no more")
    with pytest.raises(ValueError, match=r"eqint_tsqp\.xlsx is not a whole workbook"):
        fetch_earthquake(home)


def test_the_row_of_a_workbook_that_is_too_long_is_named(home):
    write(home, [list(COLUMNS), [*record(), "x"]], "eqint_tsqp.xlsx")
    with pytest.raises(ValueError, match="line 2: expected 19 columns separated by cells"):
        fetch_earthquake(home)


def test_hashes_are_those_of_git():
    # printf 'what is up, doc?' | git hash-object --stdin
    assert git_hash(b"what is up, doc?") == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"


def test_the_file_that_circulates_is_recognised(home, monkeypatch):
    write(home, [record()])
    assert not fetch_earthquake(home, return_X_y=False).is_known
    content = (home / "eqint_tsqp").read_bytes()
    monkeypatch.setattr(earthquake, "KNOWN_HASH", git_hash(content))
    bunch = fetch_earthquake(home, return_X_y=False)
    assert bunch.is_known
    assert "the CSV that circulates" in bunch.DESCR


ITALIAN = ("nterr", "lat", "lon", "lat_wgs84", "lon_wgs84", "mm", "intpq", "desloc")


def write_italian(folder, *records):
    lines = [",".join(ITALIAN), *(",".join(record) for record in records)]
    content = "".join(f"{line}\n" for line in lines).encode()
    (folder / "cfti5med.csv.gz").write_bytes(gzip.compress(content))


def italian(intensity, magnitude="5.1", event="00013"):
    return (event, "45.5", "10.2", "45.4", "9.2", magnitude, intensity, "Brescia")


def test_italian_reports_are_kept_where_magnitude_and_side_are_known(home):
    write_italian(
        home,
        italian("III-IV"),
        italian("IV-V"),
        italian("V", event="00014"),
        italian("F"),
        italian("VI-VII?"),
        italian("XII", magnitude="0"),
        italian(" VIII "),
    )
    X, y, events = fetch_italy(home)
    np.testing.assert_array_equal(y, [1.0, -1.0, -1.0])
    np.testing.assert_array_equal(events, ["00013", "00014", "00013"])
    np.testing.assert_array_equal(X, [[45.5, 10.2, 45.4, 9.2, 5.1]] * 3)


def test_an_absent_italian_file_is_answered_with_where_to_put_it(home):
    with pytest.raises(FileNotFoundError, match=r"no cfti5med\.csv\.gz in the folders"):
        fetch_italy(home)


def test_an_italian_file_of_other_columns_is_named(home):
    (home / "cfti5med.csv.gz").write_bytes(gzip.compress(b"nterr,lat\n1,2\n"))
    with pytest.raises(ValueError, match="has no column intpq, lat_wgs84, lon, lon_wgs84, mm"):
        fetch_italy(home)
