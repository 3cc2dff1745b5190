"""The training path, step by step, as the page's script draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.plotting.paths import path_error, recorded
from fcgboost.web.models import Array, Evaluation, FittedModel
from fcgboost.web.plane import Plane, boundary_data, packed, plain

# What the page has room for beside the boundary: frames, and coefficients of atoms in the plane.
# And rows whose errors are counted.
_FEWEST_FRAMES, _MOST_COEFFICIENTS = 20, 60_000
_MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class PathRecord:
    """What is known about every step of a path, and the steps whose boundary a page shows.

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
        errors["test"], best = found, 1 + int(np.argmin(found))
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
        "coef": None if plane is None else _strongest(path),
    }


def _frames(model: FittedModel, plane: Plane | None, best: int | None) -> list[int]:
    """Choose the steps whose boundary is shown: all, or fewer that come ever more rarely."""
    trace, n = model.classifier.trace_, len(model.classifier.trace_)
    if plane is None:
        return []
    room = _MOST_COEFFICIENTS // max(1, trace[-1].n_entered)
    most = max(_FEWEST_FRAMES, min(plane.most_frames, room))
    if n <= most:
        return list(range(1, n + 1))
    marked = (best, model.classifier.n_iter_, model.k0)
    known = {k for k in marked if k is not None and 1 <= k <= n}
    early = most // 2
    rarer = np.geomspace(early, n, most - early).round().astype(int).tolist()
    return sorted({*range(1, early), *rarer, *known})


def _strongest(path: PathRecord) -> dict[str, Any]:
    """Return every atom's largest coefficient, and its class."""
    codes = [np.abs(step.coef).argmax(axis=0) for step in path.shown_steps]
    pairs = zip(path.shown_steps, codes, strict=True)
    values = [step.coef[code, np.arange(len(code))] for step, code in pairs]
    return {
        "values": packed(np.concatenate(values).astype(np.float32)),
        "codes": packed(np.concatenate(codes).astype(np.uint8)),
    }
