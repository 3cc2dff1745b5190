"""`fcgboost datasets`: generated data as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcgboost.cli import arguments, console

_TITLES = {
    "customers": "a messy table: text, dates, gaps, an id and odd cells (target: churned)",
    "simulation": "the paper's simulation: two features and noisy labels (target: target)",
}
HELP = "write a generated table to a file"
USAGE = "[NAME] [options]"
TEXT = """\
List the generated data sets, or write one to a file. No network is needed.

customers is a messy table to try the commands on: customers of an internet provider,
some of whom have churned. simulation is the paper's problem with noisy labels. The
paper's public data sets come from `python -m paper data NAME`, in a clone of the
repository.

examples:
  fcgboost datasets
  fcgboost datasets customers --out customers.csv
  fcgboost datasets simulation --rows 5000 --noise 0.3 --out noisy.csv
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    help_ = f"{' or '.join(_TITLES)} (default: list them)"
    parser.add_argument("name", nargs="?", metavar="NAME", help=help_)
    help_ = "the file to write: .csv .tsv .parquet .arrow, text also .gz (default: NAME.csv)"
    parser.add_argument("--out", **arguments.FILE, help=help_)
    help_ = "the number of rows (default: %(default)s)"
    parser.add_argument("--rows", type=arguments.count, default=2000, metavar="N", help=help_)
    help_ = "simulation only: the share of labels to flip (default: 0.3)"
    parser.add_argument("--noise", type=arguments.share, metavar="SHARE", help=help_)
    help_ = "the random seed (default: %(default)s)"
    parser.add_argument("--seed", type=arguments.whole, default=0, metavar="N", help=help_)


def run(options: argparse.Namespace) -> None:
    """List the data sets, or write one."""
    if options.name is None:
        known = [{"name": name, "title": title} for name, title in _TITLES.items()]
        lines = (f"{name:<12}{title}" for name, title in _TITLES.items())
        console.print_result(options, known, "\n".join(lines))
        return
    if options.name not in _TITLES:
        raise ValueError(
            f"There is no data set {options.name!r}; choose from {', '.join(_TITLES)}. The paper's "
            "public sets are written by python -m paper data NAME, in a clone of the repository."
        )
    import pandas as pd
    import pyarrow as pa

    from fcgboost.cli.writing import check_outputs, write_rows
    from fcgboost.datasets import make_customers, make_simulation

    out = options.out or Path(f"{options.name}.csv")
    check_outputs([out], [], tables=[out])
    if options.name == "customers":
        if options.noise is not None:
            raise ValueError("--noise is an option of simulation; leave it out for customers.")
        table = make_customers(options.rows, random_state=options.seed)
    else:
        level = 0.3 if options.noise is None else options.noise
        X, y = make_simulation(options.rows, level=level, random_state=options.seed)
        table = pd.DataFrame({"x1": X[:, 0], "x2": X[:, 1], "target": y.astype("int64")})
    n_rows, (*features, target) = write_rows(out, [pa.Table.from_pandas(table)]), table.columns
    facts = {"out": str(out), "n_rows": n_rows, "n_features": len(features), "target": target}
    sentence = f"{n_rows:,} rows, {len(features)} features and the target {target!r}: {out}"
    console.print_result(options, facts, sentence)
