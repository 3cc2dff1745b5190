"""The path of a fit, step by step, as the page's script draws it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.prediction import winners
from fcgboost.report.atoms import describe_atoms
from fcgboost.report.boundary import Plane, boundary_data
from fcgboost.report.subject import Array, Judged, Subject
from fcgboost.report.wording import count, label

# What the page has room for: steps, coefficients (a megabyte), atoms that are described. And rows
# whose errors are counted.
_MOST_STEPS, _FEWEST_STEPS = 400, 20
_MOST_COEFFICIENTS = 200_000
_MOST_TEXTS = 3000
_MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Path:
    """The steps that a page shows, and what is known about each.

    Attributes
    ----------
    ks : list of int
    curves : dict from str to ndarray of shape (n_steps,)
        Shares of errors: "this data", "validation" or "cross-validation"; NaN where unknown.
    score : tuple of str and ndarray, or None
        What the fit was validated by, if that was not the error.
    objective : ndarray of shape (n_steps,)
        The mean over outputs of the regularised objective on the training data.
    """

    subject: Subject
    ks: list[int]
    curves: dict[str, Array]
    score: tuple[str, Array] | None
    objective: Array

    @property
    def best(self) -> int | None:
        """The first step with the fewest errors on the data of the page."""
        errors = self.curves.get("this data")
        return None if errors is None else self.ks[int(np.argmin(errors))]

    @property
    def steps(self) -> list[Any]:
        """The records of the steps."""
        return [self.subject.classifier.trace_[k - 1] for k in self.ks]


def find_path(subject: Subject, judged: Judged | None, plane: Plane | None) -> Path:
    """Collect what is known about the steps of a path."""
    ks = _kept_steps(subject, _MOST_STEPS if plane is None else plane.most_steps)
    curves = {}
    if judged is not None:
        curves["this data"] = _errors(subject, judged, ks)
    name, values, is_error = _recorded(subject, ks)
    if values is not None and is_error:
        curves[name] = values
    score = (name, values) if values is not None and not is_error else None
    objective = np.array([np.mean(subject.classifier.trace_[k - 1].objectives) for k in ks])
    return Path(subject, ks, curves, score, objective)


def path_data(path: Path, judged: Judged | None, plane: Plane | None) -> dict[str, Any]:
    """Give a path as JSON has it."""
    subject, steps = path.subject, path.steps
    curves = [{"name": name, "values": plain(values)} for name, values in path.curves.items()]
    panels = [{"title": "error", "percent": True, "curves": curves}] if curves else []
    if path.score is not None:
        panels.append(_panel(*path.score))
    panels.append(_panel("training objective", path.objective))
    n_atoms = [step.n_atoms for step in steps]
    most = max(n_atoms)
    is_told = most <= _MOST_TEXTS
    texts = describe_atoms(subject, subject.classifier.trace_.atoms[: most * is_told])
    data: dict[str, Any] = {
        "ks": path.ks,
        "nAtoms": n_atoms,
        "chosen": subject.classifier.n_iter_,
        "k0": subject.k0,
        "best": path.best,
        "panels": panels,
        "summary": f"Curves over {count(len(subject.classifier.trace_), 'step')}",
        "boundary": None if plane is None or judged is None else boundary_data(plane, path.ks),
    }
    if data["boundary"] is None:
        # Of very many classes, the first ones.
        names = _outputs(subject)[: max(1, _MOST_COEFFICIENTS // sum(n_atoms))]
        data["coef"] = {"outputs": names, "values": _coefficients(steps, len(names))}
        data["atoms"] = [{"label": _atom(j, texts)} for j in range(1, most + 1)]
    return data


def plain(values: Array, digits: int = 6) -> list[float | None]:
    """Give numbers for JSON, None for what is not finite."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def packed(values: NDArray[Any]) -> str:
    """Give the bytes of an array as text."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def _panel(name: str, values: Array) -> dict[str, Any]:
    curves = [{"name": name, "values": plain(values)}]
    return {"title": name, "percent": False, "curves": curves}


def _kept_steps(subject: Subject, most: int) -> list[int]:
    """Choose the steps to show: all, or fewer that come ever more rarely."""
    trace, outputs = subject.classifier.trace_, len(subject.classifier.intercept_)
    n = len(trace)
    marked = [k for k in (subject.classifier.n_iter_, subject.k0) if k is not None and 1 <= k <= n]
    while True:
        ks = list(range(1, n + 1))
        if n > most:
            few = np.unique(np.geomspace(1, n, most).round().astype(int))
            ks = sorted({*few.tolist(), *marked, n})
        size = sum(outputs * trace[k - 1].n_atoms for k in ks)
        if size <= _MOST_COEFFICIENTS or most <= _FEWEST_STEPS:
            return ks
        most = max(_FEWEST_STEPS, min(most, len(ks)) * 3 // 4)


def _errors(subject: Subject, judged: Judged, ks: Sequence[int]) -> Array:
    """Give the share of errors after each step, on some rows if there are many."""
    rows = judged.some(_MOST_ROWS)
    y, classes = judged.y[rows], subject.classes
    inputs = judged.some_inputs(rows)
    wanted, shares = set(ks), []
    whole = subject.classifier.truncate(ks[-1])
    for k, decision in enumerate(whole.staged_decision_function(inputs), 1):
        if k in wanted:
            shares.append(np.mean(winners(np.asarray(decision), classes) != y))
    return np.array(shares)


def _recorded(subject: Subject, ks: Sequence[int]) -> tuple[str, Array | None, bool]:
    """Give what the fit wrote down about other data: its name, values, whether it is an error."""
    classifier: Any = subject.classifier
    scoring = vars(classifier).get("scoring")
    is_error = scoring in (None, "accuracy")
    results = vars(classifier).get("cv_results_")
    if results is not None:
        name, known = "cross-validation", _cross_validated(classifier, results)
    else:
        name, known = "validation", {step.k: step.validation_score for step in classifier.trace_}
    values = np.array([np.nan if known.get(k) is None else known[k] for k in ks], dtype=np.float64)
    if np.isnan(values).all():
        return name, None, is_error
    return (name, 1.0 - values, True) if is_error else (f"{name} ({scoring})", values, False)


def _cross_validated(classifier: Any, results: Any) -> dict[int, float]:
    best = classifier.best_params_
    scores = zip(results["params"], results["mean_test_score"], strict=True)
    return {
        int(setting["max_iter"]): float(score)
        for setting, score in scores
        if setting["dictionary"] is best["dictionary"] and setting["l2"] == best["l2"]
    }


def _coefficients(steps: Sequence[Any], n_outputs: int) -> str:
    rows = [step.coef[:n_outputs].astype(np.float32).ravel() for step in steps]
    return packed(np.concatenate(rows))


def _outputs(subject: Subject) -> list[str]:
    classes = subject.classes
    return [label(value) for value in (classes[1:] if len(classes) == 2 else classes)]


def _atom(number: int, texts: list[str]) -> str:
    text = texts[number - 1] if texts else ""
    return f"atom {number}: {text}" if text else f"atom {number}"
