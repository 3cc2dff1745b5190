"""`fcgboost datasets`: the public sets of the paper, and its simulation, as files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcgboost.cli import console
from fcgboost.cli.arguments import add_command, add_json, count, whole

_SIMULATION = "simulation"
_TEXT = f"""\
List the sets that the package knows, or write one to a file with its target in
the column "target".

Public sets are looked up in the folder that FCGBOOST_DATA names, then in the
user's cache, and else downloaded, which needs the extra `data`. The paper's
simulation ({_SIMULATION}) is made on the spot.

examples:
  fcgboost datasets
  fcgboost datasets heart --out heart.csv
  fcgboost datasets simulation --rows 5000 --noise 0.3 --out noisy.csv
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "datasets", run, "list public data sets, or fetch one", _TEXT)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the set to write (default: list)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=".csv .tsv .parquet .arrow, text also .gz (default: NAME.csv)",
    )
    parser.add_argument(
        "--rows", type=count, default=1000, help="of the simulation (default: %(default)s)"
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=0.3,
        metavar="SHARE",
        help="of labels flipped in the simulation (default: %(default)s)",
    )
    parser.add_argument("--seed", type=whole, default=0, help="of the simulation")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """List, or write one."""
    from fcgboost.cli.rows import check_outputs
    from fcgboost.readers import write_rows

    if options.name is None:
        _list(options.json)
        return 0
    out = options.out or Path(f"{options.name}.csv")
    check_outputs([out], [], tables=[out])
    names, X, y = _load(options)
    write_rows(out, _frames(names, X, y))
    if options.json:
        console.print_json({"out": str(out), "n_rows": len(y), "n_features": X.shape[1]})
    else:
        print(f"{len(y):,} rows, {X.shape[1]} features and the target: {out}")
    return 0


def _list(is_json: bool) -> None:
    from fcgboost.datasets.catalog import UCI_SETS
    from fcgboost.datasets.home import data_homes, find_file

    homes = data_homes(None)
    facts = [
        {
            "name": name,
            "title": one.title,
            "n_rows": one.n_rows,
            "is_here": find_file((one.file_name,), homes) is not None,
        }
        for name, one in UCI_SETS.items()
    ]
    simulation = {"name": _SIMULATION, "title": "the paper's simulation", "is_here": True}
    facts.append({**simulation, "n_rows": None})
    if is_json:
        console.print_json(facts)
        return
    rows = [
        (
            str(one["name"]),
            str(one["title"]),
            "yes" if one["is_here"] else "to be downloaded",
            f"{one['n_rows']:,}" if one["n_rows"] else "any",
        )
        for one in facts
    ]
    console.print_table(("name", "title", "here", "rows"), rows, n_labels=3)


def _load(options: argparse.Namespace) -> tuple[list[str], Any, Any]:
    from fcgboost.datasets import fetch_uci, make_simulation

    if options.name == _SIMULATION:
        if not 0.0 <= options.noise <= 1.0:
            raise ValueError(f"--noise must be a share from 0 to 1, got {options.noise}.")
        X, y = make_simulation(
            options.rows,
            noise="uniform" if options.noise else None,
            level=options.noise,
            random_state=options.seed,
        )
        return ["x1", "x2"], X, y
    bunch: Any = fetch_uci(options.name, return_X_y=False)
    return list(bunch.feature_names), bunch.data, bunch.target


def _frames(names: list[str], X: Any, y: Any) -> Iterator[Any]:
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(X, columns=names)
    frame["target"] = np.asarray(y).astype(np.int64)
    yield frame
