"""The path of a fit, step by step, as the page's script draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.plotting.paths import path_error, recorded
from fcgboost.web.atoms import describe_atoms
from fcgboost.web.models import Array, Evaluation, FittedModel
from fcgboost.web.plane import Plane, boundary_data, packed, plain
from fcgboost.web.text import label

# What the page has room for: frames, coefficients (a megabyte; beside a boundary a third of it),
# atoms that are described. And rows whose errors are counted.
_MOST_FRAMES, _FEWEST_FRAMES = 1000, 20
_MOST_COEFFICIENTS, _MOST_BESIDE = 200_000, 60_000
_MOST_TEXTS = 3000
_MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class PathRecord:
    """What is known about every step of a path, and the steps whose model a page shows.

    Panels are curves by step, NaN where unknown: shares of errors; what the fit was validated by,
    if that was another score; the mean over outputs of the regularised objective. `best` is the
    first step with the fewest errors on the data of the page.
    """

    model: FittedModel
    frames: list[int]
    panels: dict[str, dict[str, Array]]
    best: int | None

    @property
    def n_steps(self) -> int:
        return len(self.model.classifier.trace_)

    @property
    def shown_steps(self) -> list[Any]:
        return [self.model.classifier.trace_[k - 1] for k in self.frames]


def find_path(model: FittedModel, evaluation: Evaluation | None, plane: Plane | None) -> PathRecord:
    """Collect what is known about the steps of a path."""
    trace, best = model.classifier.trace_, None
    errors: dict[str, Array] = {}
    panels = {"error": errors}
    if evaluation is not None:
        rows = evaluation.some(_MOST_ROWS)
        found = path_error(model.classifier, evaluation.some_inputs(rows), evaluation.y[rows])
        errors["this data"], best = found, 1 + int(np.argmin(found))
    validated, unit = recorded(model.classifier)
    for name, known in validated.items():
        values = np.full(len(trace), np.nan)
        values[: len(known)] = known[: len(trace)]
        title = "error" if unit == "error" else f"{name} {unit.removeprefix('score ')}"
        panels.setdefault(title, {})[name] = values
    title = "training objective"
    panels[title] = {title: np.array([np.mean(step.objectives) for step in trace])}
    shown = {title: curves for title, curves in panels.items() if curves}
    return PathRecord(model, _frames(model, plane, best), shown, best)


def path_data(path: PathRecord, plane: Plane | None) -> dict[str, Any]:
    """Return a path as JSON has it."""
    model, trace = path.model, path.model.classifier.trace_
    n_entered = trace[-1].n_entered
    texts = describe_atoms(model, trace.atoms[: n_entered * (n_entered <= _MOST_TEXTS)])
    texts = [f": {text}" if text else "" for text in texts] or [""] * n_entered
    panels = []
    for title, curves in path.panels.items():
        drawn = [{"name": name, "values": plain(values)} for name, values in curves.items()]
        panels.append({"title": title, "percent": title == "error", "curves": drawn})
    return {
        "nAtoms": [step.n_atoms for step in trace],
        "frames": path.frames,
        "chosen": model.classifier.n_iter_,
        "k0": model.k0,
        "best": path.best,
        "panels": panels,
        "boundary": None if plane is None else boundary_data(plane, path.frames),
        "coef": _coefficients(path) if plane is None else _strongest(path),
        "atoms": [f"atom {j}{text}" for j, text in enumerate(texts, 1)],
    }


def _frames(model: FittedModel, plane: Plane | None, best: int | None) -> list[int]:
    """Choose the steps whose model is shown: all, or fewer that come ever more rarely."""
    trace, outputs = model.classifier.trace_, len(model.classifier.intercept_)
    most, room, n = _MOST_FRAMES, _MOST_COEFFICIENTS // outputs, len(trace)
    if plane is not None:
        most, room = plane.most_frames, _MOST_BESIDE
    most = max(_FEWEST_FRAMES, min(most, room // max(1, trace[-1].n_entered)))
    if n <= most:
        return list(range(1, n + 1))
    marked = (best, model.classifier.n_iter_, model.k0)
    known = {k for k in marked if k is not None and 1 <= k <= n}
    early = most // 2
    rarer = np.geomspace(early, n, most - early).round().astype(int).tolist()
    return sorted({*range(1, early), *rarer, *known})


def _coefficients(path: PathRecord) -> dict[str, Any]:
    """Return the coefficients of every class; of very many classes, of the first ones."""
    steps, classes = path.shown_steps, path.model.classes
    names = [label(value) for value in (classes[1:] if len(classes) == 2 else classes)]
    names = names[: max(1, _MOST_COEFFICIENTS // sum(step.n_entered for step in steps))]
    rows = [step.coef[: len(names)].astype(np.float32).ravel() for step in steps]
    return {"outputs": names, "values": packed(np.concatenate(rows))}


def _strongest(path: PathRecord) -> dict[str, Any]:
    """Return every atom's largest coefficient, and the class that it is of."""
    codes = [np.abs(step.coef).argmax(axis=0) for step in path.shown_steps]
    pairs = zip(path.shown_steps, codes, strict=True)
    values = [step.coef[code, np.arange(len(code))] for step, code in pairs]
    return {
        "outputs": ["the class it says most about"],
        "values": packed(np.concatenate(values).astype(np.float32)),
        "codes": packed(np.concatenate(codes).astype(np.uint8)),
    }
