"""`fcgboost datasets`: generated data as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from fcgboost.cli import arguments, console

_TITLES = {
    "customers": "a messy table: text, dates, gaps, an id and odd cells (target: churned)",
    "simulation": "the paper's simulation: two features and noisy labels (target: target)",
}
HELP = "write a generated table to a file"
USAGE = "[NAME] [options]"
TEXT = """\
List the generated data sets, or write one to a file. The paper's public data sets come
from `python -m paper data NAME`, in a clone of the repository.

examples:
  fcgboost datasets
  fcgboost datasets customers --out customers.csv
  fcgboost datasets simulation --rows 5000 --noise 0.3 --out noisy.csv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "name",
        nargs="?",
        choices=_TITLES,
        metavar="NAME",
        help=f"{' or '.join(_TITLES)} (default: list them)",
    )
    arguments.add_file(parser, "--out", "the file to write, .csv or .parquet (default: NAME.csv)")
    parser.add_argument(
        "--rows",
        type=arguments.count,
        default=2000,
        metavar="N",
        help="the number of rows (default: %(default)s)",
    )
    parser.add_argument(
        "--noise",
        type=arguments.share,
        metavar="SHARE",
        help="simulation only: the share of labels to flip (default: 0.3)",
    )
    parser.add_argument(
        "--seed",
        type=arguments.whole,
        default=0,
        metavar="N",
        help="the random seed (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    """List the data sets, or write one."""
    if options.name is None:
        titles = [{"name": name, "title": title} for name, title in _TITLES.items()]
        lines = (f"{name:<12}{title}" for name, title in _TITLES.items())
        console.print_result(options, titles, "\n".join(lines))
        return
    from fcgboost.cli.outputs import check_outputs
    from fcgboost.datasets import make_customers, make_simulation
    from fcgboost.rows import write_rows  # names the extra if one of the next two is missing

    import pandas as pd  # isort: skip
    import pyarrow as pa  # isort: skip

    out = options.out or Path(f"{options.name}.csv")
    check_outputs([out], [], tables=[out])
    if options.name == "customers":
        if options.noise is not None:
            raise ValueError("--noise is an option of simulation: leave it out for customers.")
        table = make_customers(options.rows, random_state=options.seed)
    else:
        level = 0.3 if options.noise is None else options.noise
        X, y = make_simulation(options.rows, level=level, random_state=options.seed)
        table = pd.DataFrame(X, columns=["x1", "x2"]).assign(target=y.astype("int64"))
    n_rows = write_rows(out, [pa.Table.from_pandas(table)])
    *features, target = table.columns
    facts = {"out": str(out), "n_rows": n_rows, "n_features": len(features), "target": target}
    sentence = f"{n_rows:,} rows, {len(features)} features and the target {target!r}: {out}"
    console.print_result(options, facts, sentence)
