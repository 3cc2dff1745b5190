"""Stored units of the contest, run again: is this version as accurate as the one that made them?

    python -m benchmarks.again [dataset ...]

Prints the mean difference, new less stored, and its standard error over units, for "auto" and
"compact", with and without flipped labels. All eleven sets take some ten minutes of CPU time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import paper
from paper.registry import EXPERIMENTS
from paper.runner import _store

COLUMNS = {"accuracy": 100.0, "brier": 1.0, "log_loss": 1.0}
METHODS = ("fcg_auto", "fcg_compact")


def differences(datasets: list[str]) -> dict[tuple[str, float], list[list[float]]]:
    """Return for every method and share of flips what every unit gives now, less what it gave."""
    experiment = EXPERIMENTS["contest"]
    stored = _store(experiment, Path(paper.__file__).parent / "rows" / "beyond").load()
    found: dict[tuple[str, float], list[list[float]]] = {}
    for unit in experiment.units("standard", None):
        is_wanted = not datasets or unit.dataset in datasets
        if is_wanted and unit.method in METHODS and unit.key in stored:
            (old,), (new,) = stored[unit.key], experiment.run(unit)
            pairs = [size * (float(new[name]) - float(old[name])) for name, size in COLUMNS.items()]
            found.setdefault((unit.method, float(unit.noise)), []).append(pairs)
    return found


def main(datasets: list[str]) -> None:
    """Print a line for every method and share of flips."""
    print("method       flips  units  accuracy, points      Brier              log-loss")
    for (method, noise), rows in differences(datasets).items():
        means = np.mean(rows, axis=0)
        errors = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(means, errors, strict=True)]
        print(f"{method:<12}{noise:>6}{len(rows):>7}  {'    '.join(cells)}")


if __name__ == "__main__":
    main(sys.argv[1:])
