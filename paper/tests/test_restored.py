"""The archive's own files, restored from our text and known by the SHA-256 others published.

What is tested is that a download would convert to the very text of the table.
"""

import gzip
from itertools import count
from typing import NamedTuple

import pytest

from paper.data.archive import canonical_text
from paper.data.catalog import UCI_SETS
from paper.data.home import VARIABLE, data_homes, digest, find_file


class Form(NamedTuple):
    """How a member file writes what our text holds."""

    separator: str = ","
    end: str = "\n"
    ends_last: bool = True
    missing: str = ""


class Readings(NamedTuple):
    """How a recording of occupancy_detection writes its row numbers and dates."""

    first: int
    quote: str


FORMS = {
    "heart": Form(" "),
    "breast_cancer": Form(missing="?"),
    "biodeg": Form(";", "\r\n"),
    "banknote_authentication": Form(end="\r\n", ends_last=False),
    "HTRU2": Form(end="\r", ends_last=False),
    "magic_gamma_telescope": Form(),
    "Skin_NonSkin": Form("\t", "\r\n"),
}
READINGS = {
    "datatraining.txt": Readings(1, '"'),
    "datatest.txt": Readings(140, '"'),
    "datatest2.txt": Readings(1, ""),
}
PUBLISHED = {
    "heart.dat": "f5f3b4204c285bafadd85cb735f38b47689f2be7047feb172dcbeab648110bf9",
    "breast-cancer-wisconsin.data": (
        "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64"
    ),
    "biodeg.csv": "c66ac1a23aba11fb166fd5054fea14ac97b8e4f7e4940ae679dc863d1cc4b3c9",
    "data_banknote_authentication.txt": (
        "d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9"
    ),
    "HTRU_2.csv": "b13b4d8929e96ecd196e464c1c8a454c3ac2ffa631015f6388957531a9923f59",
    "magic04.data": "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
    "datatraining.txt": "b2c4d0ce2b9e4e453c476f7125ef31aeec2d1f5c7f5572d0e80de3df6521ab56",
    "datatest.txt": "1b92c7c1b2838963464fa891a610cf3c5db4becb7189189b29b330107a584c7f",
    "datatest2.txt": "d026d1bd5aeccd4aff4f3b3710d48e40613bd5fc370db7e61bbdcaa50d985095",
    "Skin_NonSkin.txt": "e30c0a845385dcc95a45c45ed263465674a49638e98ef740afd520769c7714a4",
}


def read_rows(name):
    path = find_file((UCI_SETS[name].file_name,), data_homes())
    if path is None:
        pytest.skip(f"{name}.csv.gz is in no data home; set {VARIABLE} to a folder that has it")
    text = gzip.decompress(path.read_bytes()).decode()
    return [line.split(",") for line in text.splitlines()[1:]]


def restore(rows, form):
    lines = (form.separator.join(field or form.missing for field in row) for row in rows)
    return (form.end.join(lines) + form.end * form.ends_last).encode()


def restore_readings(rows, member):
    first, quote = READINGS[member]
    mine = (row[1:] for row in rows if f"{row[0]}.txt" == member)
    names = ("date", "Temperature", "Humidity", "Light", "CO2", "HumidityRatio", "Occupancy")
    lines = [",".join(f'"{name}"' for name in names)]
    for number, (date, *values) in zip(count(first), mine, strict=False):
        lines.append(",".join((f'"{number}"', f"{quote}{date}{quote}", *values)))
    return "".join(f"{line}\n" for line in lines).encode()


def check(name, members):
    assert {member: digest(data) for member, data in members.items()} == {
        member: PUBLISHED[member] for member in UCI_SETS[name].archive.members
    }
    assert digest(canonical_text(UCI_SETS[name], members)) == UCI_SETS[name].sha256


@pytest.mark.parametrize("name", FORMS)
def test_the_archives_own_file_becomes_the_text_of_the_table(name):
    (member,) = UCI_SETS[name].archive.members
    check(name, {member: restore(read_rows(name), FORMS[name])})


def test_the_archives_three_recordings_become_the_text_of_the_table():
    rows = read_rows("occupancy_detection")
    check("occupancy_detection", {member: restore_readings(rows, member) for member in READINGS})
