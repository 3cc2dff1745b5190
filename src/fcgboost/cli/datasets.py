"""`fcgboost datasets`: the paper's simulation as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcgboost.cli import console
from fcgboost.cli.arguments import add_command, add_json, count, whole

_SIMULATION = "simulation"
_TEXT = f"""\
List what the package can make, or write it to a file with its target in the
column "target": the paper's simulation ({_SIMULATION}).

The public sets of the paper are written from a clone of the repository, by
python -m paper data NAME.

examples:
  fcgboost datasets
  fcgboost datasets simulation --rows 5000 --noise 0.3 --out noisy.csv
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "datasets", run, "write the paper's simulation", _TEXT)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the set to write (default: list)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=".csv .tsv .parquet .arrow, text also .gz (default: NAME.csv)",
    )
    parser.add_argument("--rows", type=count, default=1000, help="(default: %(default)s)")
    parser.add_argument(
        "--noise",
        type=float,
        default=0.3,
        metavar="SHARE",
        help="of labels flipped (default: %(default)s)",
    )
    parser.add_argument("--seed", type=whole, default=0, help="of all draws (default: %(default)s)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """List, or write one."""
    from fcgboost.cli.writing import check_outputs, write_rows

    if options.name is None:
        _list(options.json)
        return 0
    if options.name != _SIMULATION:
        raise ValueError(
            f"There is no set {options.name!r}: the package makes the {_SIMULATION}. The paper's "
            "public sets are written by python -m paper data NAME, in a clone of the repository."
        )
    if not 0.0 <= options.noise <= 1.0:
        raise ValueError(f"--noise must be a share from 0 to 1, got {options.noise}.")
    out = options.out or Path(f"{options.name}.csv")
    check_outputs([out], [], tables=[out])
    n_rows = write_rows(out, [_make(options)])
    if options.json:
        console.print_json({"out": str(out), "n_rows": n_rows, "n_features": 2})
    else:
        print(f"{n_rows:,} rows, 2 features and the target: {out}")
    return 0


def _list(is_json: bool) -> None:
    title = "the paper's simulation"
    if is_json:
        console.print_json([{"name": _SIMULATION, "title": title}])
    else:
        console.print_table(("name", "title"), [(_SIMULATION, title)], n_labels=2)


def _make(options: argparse.Namespace) -> Any:
    import pyarrow as pa

    from fcgboost.datasets import make_simulation

    X, y = make_simulation(
        options.rows,
        noise="uniform" if options.noise else None,
        level=options.noise,
        random_state=options.seed,
    )
    return pa.table({"x1": X[:, 0], "x2": X[:, 1], "target": y.astype("int64")})
