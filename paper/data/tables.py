"""Tables with categories, text, dates and gaps, as data frames with their labels.

Ten are copies of data sets of R packages, which no address serves: they are looked up in the folder
"tables" of a data home. Three are UCI sets whose categories are not coded as numbers here.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper.data.catalog import UCI_SETS
from paper.data.home import VARIABLE, data_homes, find_file, read_verified
from paper.data.table import read_columns
from paper.data.uci import read_or_fetch

if TYPE_CHECKING:
    from pandas import DataFrame

FOLDER = "tables"
TARGET = "target"

#: The digests of the decompressed files.
DIGESTS: Mapping[str, str] = {
    "wa_churn": "4358def0e31286484ff5edbd310db6855815811cdc8d335f8b49e969282e3173",
    "credit_data": "738eaacc83841607e3af3f3e3781b59c9a2ebdcc148f0fc3213d1903b03ab74b",
    "attrition": "015646842f0ca729cbc7def7124b1e179940d91c61efed3f1b3fd4c066eb3326",
    "mlc_churn": "753042bfa2c90362ba9a239cc8467caadab9c44447c47daa49b9c0bd047ac1e4",
    "lending_club": "a79ec1a47ea0c681b1a07b3e85b49a7222a6a23b33f9a9811a16357e694a75d4",
    "chile": "cd56b03b159025efce43b0f6ff8f4d784420db28ec14fe17d0cf72ec6a083d2d",
    "mpls_stops": "cdd98935bbc928e6495d4bcf117c1558bdea2ee357e91642932781a53d64081a",
    "resume": "71b1d72259db8b0a7329f365fd29e6c04871d3e13589770dd9fe9fd5af73c4c3",
    "covid_testing": "1994bd6400f00c67b758db2c613539cf078aaa1178c4d977d98289bec3c0f11d",
    "nass_cds": "0c94ca00329daee88a5cbb6b9f4d9e84501f64947af0a7579e2c545eafa8ad51",
}
#: UCI sets, and the columns whose numbers are names. Letters stay text.
CATEGORIES: Mapping[str, Sequence[str]] = {
    "seismic_bumps": (),
    "heart": (
        *("sex", "chest_pain_type", "fasting_blood_sugar", "resting_ecg", "exercise_angina"),
        "thal",
    ),
    "default_credit_card_clients": ("SEX", "EDUCATION", "MARRIAGE"),
}
TABLES = (*DIGESTS, *CATEGORIES)


class LabelledFrame(NamedTuple):
    """A frame and the classes of its rows, numbered from 0 in the order of their names."""

    X: DataFrame
    y: NDArray[np.int64]


def fetch_table(name: str, data_home: str | os.PathLike[str] | None = None) -> LabelledFrame:
    """Load a table; its columns have the types a user's frame would have.

    Raises
    ------
    ValueError
        If the file holds something else.
    FileNotFoundError
        If it is in no data home, and for a UCI set cannot be downloaded either.
    """
    homes = data_homes(data_home)
    if name in CATEGORIES:
        return _uci_frame(name, read_or_fetch(UCI_SETS[name], homes))
    path = find_file((file_name(name),), homes)
    if path is None:
        raise FileNotFoundError(
            f"{file_name(name)} is in no data home. Set {VARIABLE} to the folder that has it."
        )
    return read_table(read_verified(path, DIGESTS[name]))


def file_name(name: str) -> str:
    """Give the place of a table's file in a data home."""
    return f"{FOLDER}/{name}.csv.gz"


def read_table(content: bytes) -> LabelledFrame:
    """Read CSV text: the label is the last column, and only what is empty is missing."""
    import pandas as pd

    frame = pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""])
    return _labelled(frame, frame.pop(TARGET))


def _uci_frame(name: str, content: bytes) -> LabelledFrame:
    import pandas as pd

    facts, columns = UCI_SETS[name], read_columns(content)
    frame = pd.DataFrame(columns).drop(columns=[TARGET])
    numbers = [column for column in frame if column not in facts.categories]
    names = list(CATEGORIES[name])
    frame = frame.astype({**dict.fromkeys(numbers, float), **dict.fromkeys(names, "category")})
    return _labelled(frame, columns[TARGET])


def _labelled(frame: DataFrame, labels: object) -> LabelledFrame:
    _, y = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    return LabelledFrame(frame, y.astype(np.int64))
