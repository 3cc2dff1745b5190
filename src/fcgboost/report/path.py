"""The path of a fit, step by step, as the page's script draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.plotting.paths import path_error, recorded
from fcgboost.report.atoms import describe_atoms
from fcgboost.report.boundary import Plane, boundary_data, packed
from fcgboost.report.subject import Array, Judged, Subject
from fcgboost.report.wording import count, label

# What the page has room for: frames, coefficients (a megabyte; beside a boundary a third of it),
# atoms that are described. And rows whose errors are counted.
_MOST_FRAMES, _FEWEST_FRAMES = 1000, 20
_MOST_COEFFICIENTS, _MOST_BESIDE = 200_000, 60_000
_MOST_TEXTS = 3000
_MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Path:
    """What is known about every step of a path, and the steps whose model a page shows.

    Attributes
    ----------
    frames : list of int
        The steps after which the page shows the boundary or the coefficients.
    curves : dict from str to ndarray of shape (n_steps,)
        Shares of errors: "this data", "validation" or "cross-validation"; NaN where unknown.
    score : tuple of str and ndarray, or None
        What the fit was validated by, if that was not the error.
    objective : ndarray of shape (n_steps,)
        The mean over outputs of the regularised objective on the training data.
    """

    subject: Subject
    frames: list[int]
    curves: dict[str, Array]
    score: tuple[str, Array] | None
    objective: Array

    @property
    def n_steps(self) -> int:
        """The length of the path."""
        return len(self.objective)

    @property
    def shown_steps(self) -> list[Any]:
        """The records of the steps whose model is shown."""
        return [self.subject.classifier.trace_[k - 1] for k in self.frames]

    @property
    def best(self) -> int | None:
        """The first step with the fewest errors on the data of the page."""
        errors = self.curves.get("this data")
        return None if errors is None else 1 + int(np.argmin(errors))


def find_path(subject: Subject, judged: Judged | None, plane: Plane | None) -> Path:
    """Collect what is known about the steps of a path."""
    curves, score = {}, None
    if judged is not None:
        rows = judged.some(_MOST_ROWS)
        inputs, y = judged.some_inputs(rows), judged.y[rows]
        curves["this data"] = path_error(subject.classifier, inputs, y)
    for name, values, unit in _recorded(subject):
        if unit == "error":
            curves[name] = values
        else:
            score = (f"{name} {unit.removeprefix('score ')}", values)
    objective = np.array([np.mean(step.objectives) for step in subject.classifier.trace_])
    best = [] if judged is None else [1 + int(np.argmin(curves["this data"]))]
    return Path(subject, _frames(subject, plane, best), curves, score, objective)


def path_data(path: Path, judged: Judged | None, plane: Plane | None) -> dict[str, Any]:
    """Give a path as JSON has it."""
    subject, trace = path.subject, path.subject.classifier.trace_
    curves = [{"name": name, "values": plain(values)} for name, values in path.curves.items()]
    panels = [{"title": "error", "percent": True, "curves": curves}] if curves else []
    if path.score is not None:
        panels.append(_panel(*path.score))
    panels.append(_panel("training objective", path.objective))
    n_atoms = [step.n_atoms for step in trace]
    n_entered = trace[-1].n_entered
    texts = describe_atoms(subject, trace.atoms[: n_entered * (n_entered <= _MOST_TEXTS)])
    return {
        "nAtoms": n_atoms,
        "frames": path.frames,
        "chosen": subject.classifier.n_iter_,
        "k0": subject.k0,
        "best": path.best,
        "panels": panels,
        "summary": f"Curves over {count(path.n_steps, 'step')}",
        "boundary": None if plane is None else boundary_data(plane, path.frames),
        "coef": _coefficients(path) if plane is None else _strongest(path),
        "atoms": [{"label": _atom(j, texts)} for j in range(1, n_entered + 1)],
    }


def plain(values: Array, digits: int = 6) -> list[float | None]:
    """Give numbers for JSON, None for what is not finite."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def _panel(name: str, values: Array) -> dict[str, Any]:
    curves = [{"name": name, "values": plain(values)}]
    return {"title": name, "percent": False, "curves": curves}


def _frames(subject: Subject, plane: Plane | None, best: list[int]) -> list[int]:
    """Choose the steps whose model is shown: all, or fewer that come ever more rarely."""
    trace, outputs = subject.classifier.trace_, len(subject.classifier.intercept_)
    most, room = _MOST_FRAMES, _MOST_COEFFICIENTS
    if plane is not None:
        most, room, outputs = plane.most_frames, _MOST_BESIDE, 1
    n = len(trace)
    marked = [*best, subject.classifier.n_iter_, subject.k0]
    known = {k for k in marked if k is not None and 1 <= k <= n}
    while True:
        frames = list(range(1, n + 1))
        if n > most:
            frames = sorted({*_ever_rarer(n, most), *known, n})
        size = sum(outputs * trace[k - 1].n_entered for k in frames)
        if size <= room or most <= _FEWEST_FRAMES:
            return frames
        most = max(_FEWEST_FRAMES, min(most, len(frames)) * 3 // 4)


def _ever_rarer(n: int, most: int) -> list[int]:
    """Give at most so many of the steps 1, ..., n: all early ones, then a constant share."""
    steps, wanted = np.unique(np.geomspace(1, n, most).round()), most
    while True:
        wanted += max(1, most // 20)
        more = np.unique(np.geomspace(1, n, wanted).round())
        if len(more) > most:
            return [int(k) for k in steps]
        steps = more


def _recorded(subject: Subject) -> list[tuple[str, Array, str]]:
    """Give what the fit wrote down about other data, by step: name, values, unit."""
    curves, unit = recorded(subject.classifier)
    found = []
    for name, known in curves.items():
        values = np.full(len(subject.classifier.trace_), np.nan)
        values[: len(known)] = known[: len(values)]
        found.append((name, values, unit))
    return found


def _coefficients(path: Path) -> dict[str, Any]:
    """Give the coefficients of every class; of very many classes, of the first ones."""
    steps = path.shown_steps
    names = _outputs(path.subject)[: max(1, _MOST_COEFFICIENTS // sum(s.n_entered for s in steps))]
    rows = [step.coef[: len(names)].astype(np.float32).ravel() for step in steps]
    return {"outputs": names, "values": packed(np.concatenate(rows))}


def _strongest(path: Path) -> dict[str, Any]:
    """Give every atom's largest coefficient, and the class that it is of."""
    codes = [np.abs(step.coef).argmax(axis=0) for step in path.shown_steps]
    pairs = zip(path.shown_steps, codes, strict=True)
    values = [step.coef[code, np.arange(len(code))] for step, code in pairs]
    return {
        "outputs": ["the class it says most about"],
        "values": packed(np.concatenate(values).astype(np.float32)),
        "codes": packed(np.concatenate(codes).astype(np.uint8)),
    }


def _outputs(subject: Subject) -> list[str]:
    classes = subject.classes
    return [label(value) for value in (classes[1:] if len(classes) == 2 else classes)]


def _atom(number: int, texts: list[str]) -> str:
    text = texts[number - 1] if texts else ""
    return f"atom {number}: {text}" if text else f"atom {number}"
