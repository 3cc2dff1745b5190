"""The training path, step by step, as the page's script draws it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fcgboost.plotting.paths import atoms_by_step, by_step, path_error, recorded
from fcgboost.report.models import Array, EvaluatedRows, FittedModel

# Rows whose errors are counted after every step.
_MOST_ROWS = 20_000


#: Curves by their names, whose values are those after each step.
Panels = dict[str, dict[str, Array]]


def find_panels(evaluation: EvaluatedRows) -> Panels:
    """Return what is known about the steps of a path, by what the curves show.

    That is the share of errors; the validation score of the fit, if it was another; of a single
    path the mean over outputs of the regularised objective.
    """
    model = evaluation.model
    classifier = model.classifier
    rows = evaluation.sample(_MOST_ROWS)
    errors = path_error(classifier, evaluation.rows(rows), evaluation.y[rows])
    panels = {"error": {"test": errors}}
    validated, unit = recorded(classifier)
    for name, scores in validated.items():
        title = unit if unit == "error" else f"{name} {unit.removeprefix('score ')}"
        panels.setdefault(title, {})[name] = scores[: len(errors)]
    if not model.is_average:
        means = np.array([np.mean(step.objectives) for step in classifier.trace_])
        [objective] = by_step(classifier, [means])
        panels["training objective"] = {"training objective": objective}
    return panels


def path_data(model: FittedModel, panels: Panels) -> dict[str, object]:
    """Return a path as JSON has it; the best step is the first with the fewest errors."""
    drawn = [
        {
            "title": title,
            "percent": title == "error",
            "curves": [{"name": name, "values": plain(curve)} for name, curve in curves.items()],
        }
        for title, curves in panels.items()
    ]
    return {
        "nAtoms": atoms_by_step(model.classifier).astype(int).tolist(),
        "chosen": model.classifier.n_iter_,
        "k0": model.k0,
        "best": 1 + int(np.argmin(panels["error"]["test"])),
        "panels": drawn,
    }


def plain(values: Iterable[float]) -> list[float | None]:
    """Return six digits of numbers for JSON, None for what is not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
