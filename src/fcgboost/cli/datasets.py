"""`fcgboost datasets`: the paper's simulation as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcgboost.cli import arguments, console

_SIMULATION = "simulation"
HELP = "write the paper's simulation"
TEXT = """\
List what the package can make, or write it to a file with its target in the
column "target": the paper's simulation.

The public sets of the paper are written from a clone of the repository, by
python -m paper data NAME.

examples:
  fcgboost datasets
  fcgboost datasets simulation --rows 5000 --noise 0.3 --out noisy.csv
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the set to write (default: list)")
    help_ = ".csv .tsv .parquet .arrow, text also .gz (default: NAME.csv)"
    parser.add_argument("--out", **arguments.FILE, help=help_)
    parser.add_argument("--rows", type=arguments.count, default=1000, help="(default: %(default)s)")
    help_ = "of labels flipped (default: %(default)s)"
    parser.add_argument("--noise", type=arguments.share, default=0.3, metavar="SHARE", help=help_)
    help_ = "of all draws (default: %(default)s)"
    parser.add_argument("--seed", type=arguments.whole, default=0, help=help_)


def run(options: argparse.Namespace) -> None:
    """List, or write one."""
    if options.name is None:
        known = [{"name": _SIMULATION, "title": "the paper's simulation"}]
        console.print_result(options, known, f"{_SIMULATION}: the paper's simulation")
        return
    if options.name != _SIMULATION:
        raise ValueError(
            f"There is no set {options.name!r}: the package makes the {_SIMULATION}. The paper's "
            "public sets are written by python -m paper data NAME, in a clone of the repository."
        )
    import pyarrow as pa

    from fcgboost.cli.writing import check_outputs, write_rows
    from fcgboost.datasets import make_simulation

    out = options.out or Path(f"{options.name}.csv")
    check_outputs([out], [], tables=[out])
    X, y = make_simulation(options.rows, level=options.noise, random_state=options.seed)
    columns = {"x1": X[:, 0], "x2": X[:, 1], "target": y.astype("int64")}
    n_rows = write_rows(out, [pa.table(columns)])
    facts = {"out": str(out), "n_rows": n_rows, "n_features": 2}
    console.print_result(options, facts, f"{n_rows:,} rows, 2 features and the target: {out}")
