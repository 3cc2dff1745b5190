"""`python -m fcgboost.demo`, with its options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from fcgboost.demo.story import main


def run(argv: Sequence[str] | None = None) -> None:
    """Run the demo with options as they are typed."""
    parser = argparse.ArgumentParser(
        prog="python -m fcgboost.demo",
        description="The paper's simulation: FCGBoost beside three well-known classifiers.",
    )
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of the pictures")
    parser.add_argument("--n-samples", type=int, default=1000, help="number of training points")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    try:
        main(options.out, n_samples=options.n_samples, seed=options.seed)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    run()
