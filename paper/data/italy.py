"""Felt reports of earthquakes in Italy and the Mediterranean: CFTI5Med, not the paper's data."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper.data.earthquake import STRONGEST_WEAK
from paper.data.home import data_homes, find_file, read_gzip

Array = NDArray[np.float64]

FILE_NAME = "cfti5med.csv.gz"
#: In the order of the columns of X; the catalogue has no depth.
FEATURES = ("lat", "lon", "lat_wgs84", "lon_wgs84", "mm")
_ROMAN = dict(
    zip(
        ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"),
        range(1, 13),
        strict=True,
    )
)


class Reports(NamedTuple):
    """Felt reports: y = +1 for intensity 1 to 4, -1 for 5 to 12, and the event of each."""

    X: Array
    y: Array
    events: NDArray[np.str_]


def fetch_italy(data_home: str | os.PathLike[str] | None = None) -> Reports:
    """Load CFTI5Med, the catalogue of strong earthquakes of Italy's INGV.

    A report is kept if its magnitude is known and its intensity, a Roman numeral or two with a
    hyphen, is decided: "VI-VII" is 5 to 12, "IV-V" is neither. Letters such as "F" (felt) are no
    intensity. Magnitudes and epicentres of old events were estimated from these very intensities.

    The file cfti5med.csv.gz is not downloaded, and not part of the repository: its terms of use
    are not settled. It is looked for in the data homes.

    Raises
    ------
    FileNotFoundError
        If the file is in no folder.
    ValueError
        If it is damaged or has other columns.
    """
    homes = data_homes(data_home)
    path = find_file((FILE_NAME,), homes)
    if path is None:
        folders = ", ".join(map(str, homes))
        raise FileNotFoundError(
            f"There is no {FILE_NAME} in the folders {folders}. It is CFTI5Med, the catalogue of "
            "strong earthquakes of INGV, as one compressed CSV file (docs/data.md)."
        )
    reader = csv.DictReader(io.StringIO(read_gzip(path).decode("utf-8")))
    missing = {"nterr", "intpq", *FEATURES} - set(reader.fieldnames or ())
    if missing:
        raise ValueError(f"{path} has no column {', '.join(sorted(missing))}.")
    kept = [
        record for record in reader if is_weak(record["intpq"]) is not None and _has_size(record)
    ]
    return Reports(
        np.array([[float(record[name]) for name in FEATURES] for record in kept]),
        y=np.array([1.0 if is_weak(record["intpq"]) else -1.0 for record in kept]),
        events=np.array([record["nterr"] for record in kept]),
    )


def is_weak(intensity: str) -> bool | None:
    """Return whether an intensity is 4 or below; None if it is no numeral, or may be either.

    >>> is_weak("III-IV"), is_weak("VI-VII"), is_weak("IV-V"), is_weak("F")
    (True, False, None, None)
    """
    grades = [_ROMAN.get(part) for part in intensity.strip().split("-")]
    if None in grades:
        return None
    sides = {grade <= STRONGEST_WEAK for grade in grades if grade is not None}
    return sides.pop() if len(sides) == 1 else None


def _has_size(record: Mapping[str, str]) -> bool:
    """Return whether the magnitude is known; 0 stands for unknown."""
    return bool(record["mm"]) and float(record["mm"]) > 0.0
