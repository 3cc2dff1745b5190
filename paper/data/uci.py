"""The eleven UCI sets of the paper, ready for training."""

from __future__ import annotations

import difflib
import gzip
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from paper.data.archive import BASE, FAILURES, address, fetch_text
from paper.data.catalog import UCI_SETS, UciSet
from paper.data.home import data_homes, find_file, read_verified
from paper.data.table import Array, Table, to_table
from paper.files import replace_file


def fetch_uci(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = True,
) -> tuple[Array, Array] | Bunch:
    """Load one of the paper's UCI sets.

    Rows with missing values are dropped, columns of letters become one 0/1 column per level,
    identifiers are set apart, and the rows keep the order of the source. Nothing is scaled.

    Parameters
    ----------
    name : str
        heart, breast_cancer, biodeg, banknote_authentication, seismic_bumps, musk2, HTRU2,
        magic_gamma_telescope, occupancy_detection, default_credit_card_clients or Skin_NonSkin.
    data_home : path or None, default=None
        A folder to look in first. The next ones are that of the environment variable
        FCGBOOST_DATA and the user's cache. A set that is in none of them is downloaded from the
        UCI archive into the first, which needs tqdm, and xlrd for one of the sets.
    return_X_y : bool, default=True

    Returns
    -------
    (X, y) : ndarray of shape (n_samples, n_features), ndarray of shape (n_samples,)
        y is -1 and +1. If `return_X_y`.
    bunch : Bunch
        With `data`, `target`, `feature_names`, `target_names` (of -1 and of +1, source label
        first), `groups` (identifier columns by name; `id_molecule` of musk2 is needed to keep a
        molecule on one side of a split) and `DESCR`. If not `return_X_y`.

    Raises
    ------
    ValueError
        If there is no set of this name, or its file holds something else.
    FileNotFoundError
        If the file is in no folder and cannot be downloaded.

    Examples
    --------
    >>> X, y = fetch_uci("heart")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (270, 13)
    >>> fetch_uci("hearts")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: There is no set 'hearts'. Did you mean 'heart'? The sets are heart, ...
    """
    facts = _look_up(name)
    table = to_table(read_or_fetch(facts, data_homes(data_home)), facts)
    return (table.X, table.y) if return_X_y else _to_bunch(table, facts)


def _look_up(name: str) -> UciSet:
    """Give the facts about a set, or name the sets there are."""
    if name in UCI_SETS:
        return UCI_SETS[name]
    lower = {known.lower(): known for known in UCI_SETS}
    close = difflib.get_close_matches(str(name).lower(), lower, n=1)
    advice = f" Did you mean {lower[close[0]]!r}?" if close else ""
    raise ValueError(f"There is no set {name!r}.{advice} The sets are {', '.join(UCI_SETS)}.")


def read_or_fetch(facts: UciSet, homes: tuple[Path, ...], base: str = BASE) -> bytes:
    """Give a set's text from the first data home that has it, or download it to the first."""
    path = find_file((facts.file_name,), homes)
    if path is not None:
        return read_verified(path, facts.sha256)
    try:
        content = fetch_text(facts, base)
        replace_file(homes[0] / facts.file_name, gzip.compress(content, mtime=0))
    except FAILURES as error:
        folders = ", ".join(str(home) for home in homes)
        raise FileNotFoundError(
            f"{facts.file_name} is in none of the folders {folders}, and fetching it from "
            f"{address(facts, base)} into the first of them failed: {error}. Try again online, or "
            f"put {facts.file_name} into one of the folders; docs/data.md describes the file."
        ) from error
    return content


def _to_bunch(table: Table, facts: UciSet) -> Bunch:
    """Add to the arrays what describes them."""
    names = [f"{label} = {meaning}" for label, meaning in (facts.negative, facts.positive)]
    return Bunch(
        data=table.X,
        target=table.y,
        feature_names=table.feature_names,
        target_names=np.array(names),
        groups=table.groups,
        DESCR=_describe(table, facts),
    )


def _describe(table: Table, facts: UciSet) -> str:
    """Say in words where a set comes from, what its numbers are and how the paper's differ."""
    n_samples, n_features = table.X.shape
    rows, attributes = facts.paper_shape
    n_negative, n_positive = (int(np.sum(table.y == sign)) for sign in (-1.0, 1.0))
    return "\n".join(
        (
            f"{facts.title}, UCI Machine Learning Repository, {facts.page}",
            f"Samples: {n_samples} of the source's {facts.n_rows}, those with missing values "
            "dropped; in the order of the source.",
            f"Features: {n_features}. Identifiers, in groups: {', '.join(table.groups) or 'none'}.",
            f"y = -1: label {facts.negative[0]} ({facts.negative[1]}), {n_negative} samples.",
            f"y = +1: label {facts.positive[0]} ({facts.positive[1]}), {n_positive} samples.",
            f"The paper prints {rows} samples and {attributes} attributes. "
            f"Deviation: {facts.deviation}",
        )
    )
