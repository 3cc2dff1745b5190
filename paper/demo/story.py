"""The demo from beginning to end."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from threadpoolctl import threadpool_limits

from fcgboost import theory_steps
from paper.demo import methods, pictures, words

_FEWEST = 50


def main(
    out: str | os.PathLike[str] = "demo", *, n_samples: int = 1000, seed: int = 0
) -> list[Path]:
    """Run the demo: print a table and what it says, and write two pictures.

    Parameters
    ----------
    out : path, default="demo"
        The folder of the pictures; made if it is not there.
    n_samples : int, default=1000
        The number of training points, at least 50.
    seed : int, default=0

    Returns
    -------
    list of Path
        The pictures.
    """
    if n_samples < _FEWEST:
        raise ValueError(
            f"n_samples must be at least {_FEWEST}, got {n_samples}: five folds, two classes, "
            "much noise."
        )
    if find_spec("matplotlib") is None:
        raise ImportError("The demo needs matplotlib: python -m pip install matplotlib.")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    data = methods.make_data(n_samples, seed)
    words.print_beginning(data)
    # Products of this size are no faster in several threads, and the times compare like with like.
    with threadpool_limits(1):
        results = []
        for result in methods.run_all(data):
            words.print_row(result)
            results.append(result)
        # The four dictionaries come first.
        ours = {name: r.model for name, r in zip(methods.DICTIONARIES, results, strict=False)}
        curves = methods.long_paths(ours, data)
    k0 = theory_steps(n_samples)
    words.print_reading(results, data)
    words.print_path(curves, k0)
    print()
    paths = [folder / "boundaries.png", folder / "paths.png"]
    pictures.save(pictures.draw_boundaries(results[:6], data), paths[0])
    pictures.save(pictures.draw_paths(curves, ours, k0), paths[1])
    return paths
