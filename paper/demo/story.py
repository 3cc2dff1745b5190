"""The demo from beginning to end."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, theory_steps
from fcgboost.report import write_model_report
from paper.demo import methods, pictures, words
from paper.demo.tasks import Task, make_tasks

_FEWEST = 50


def main(
    out: str | os.PathLike[str] = "demo",
    *,
    n_samples: int = 1000,
    n_draws: int = 10,
    seed: int = 0,
    n_jobs: int = -1,
) -> list[Path]:
    """Run the demo: print tables and what they show, write two pictures and a report.

    Parameters
    ----------
    out : path, default="demo"
        The folder of the pictures and the report; made if it is not there.
    n_samples : int, default=1000
        Training rows of the simulation, at least 50.
    n_draws : int, default=10
        How often each task is drawn, at least 2.
    seed : int, default=0
    n_jobs : int, default=-1
        Methods that run side by side; -1 is one per core.

    Returns
    -------
    list of Path
        The pictures and the report.
    """
    if n_samples < _FEWEST:
        raise ValueError(
            f"n_samples must be at least {_FEWEST}, got {n_samples}: five folds, two classes, "
            "much noise."
        )
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}: one has no standard error.")
    for package in ("matplotlib", "jinja2"):
        if find_spec(package) is None:
            raise ImportError(f"The demo needs {package}: python -m pip install {package}.")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[Task, list[methods.Result]] = {}
    for task in make_tasks(n_samples):
        words.print_head(task, n_draws)
        found[task] = []
        for result in methods.run_task(task, range(seed, seed + n_draws), n_jobs):
            words.print_row(result)
            found[task].append(result)
    simulation, results = next(iter(found.items()))
    data, k0 = simulation.draw(seed), theory_steps(n_samples)
    curves = methods.long_paths(results, data)
    words.print_reading(found)
    words.print_path(curves, k0)
    print()
    models = {r.name: r.model for r in results}
    figures = {
        "overview.png": pictures.draw_overview(found, data),
        "paths.png": pictures.draw_paths(curves, models, k0),
    }
    for name, figure in figures.items():
        pictures.save(figure, folder / name)
    page = write_report(folder / "report.html", seed)
    print(f"Wrote {page}: open it in a browser")
    return [*(folder / name for name in figures), page]


def write_report(path: Path, seed: int) -> Path:
    """Write a report about the default on half of the real table, with its columns' names."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    clf = FCGBoostClassifier(n_jobs=1, random_state=seed).fit(X, y)
    return write_model_report(path, clf, X_test, y_test, title="Breast cancer")
