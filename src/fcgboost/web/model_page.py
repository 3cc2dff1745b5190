"""The page about a fitted model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import Any

from fcgboost.dictionaries import UnionDictionary
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.importances import n_numbers_of
from fcgboost.scores import Score
from fcgboost.web import text
from fcgboost.web.atoms import atom_table, dictionary_name
from fcgboost.web.blocks import Block, Card, Cell, Code, Explorer, Head, Section, Table
from fcgboost.web.models import Evaluation, FittedModel, evaluate_model, take_apart
from fcgboost.web.page import write_page
from fcgboost.web.path import find_path, path_data
from fcgboost.web.pictures import (
    draw_boundary,
    draw_columns,
    draw_path,
    draw_predictions,
    draw_row,
)
from fcgboost.web.plane import find_plane
from fcgboost.web.reasons import Reasons, find_reasons
from fcgboost.web.tables import (
    class_table,
    column_table,
    confusion_table,
    id_columns,
    mistake_table,
)
from fcgboost.web.text import count, percent, quoted, shortened
from fcgboost.web.thresholds import find_curves, threshold_data

_CODE = """\
from fcgboost import load_model

model = load_model("model.json")
model.predict(X){then}
"""


def write_model_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    row: int | None = None,
) -> Path:
    """Write one self-contained HTML page about a fitted model.

    With data, the page evaluates the model on these rows: give held-out rows. Without data, it
    shows what the model itself holds.

    Parameters
    ----------
    path : path
        The page is written in full or not at all.
    model : classifier of fcgboost, or Pipeline of a TableEncoder and such a classifier
    X : data frame, array-like or sparse matrix of shape (n_samples, n_features), default=None
    y : array-like of shape (n_samples,), default=None
    title : str or None, default=None
        The heading of the page.
    row : int or None, default=None
        The row of X to explain, counted from 0; None is the worst mistake.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.web import write_model_report
    >>> clf = FCGBoostClassifier("relu", random_state=0).fit(*make_simulation(300, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     _ = write_model_report(page, clf, *make_simulation(200, random_state=1))
    ...     page.read_text("utf-8").startswith("<!DOCTYPE html>")
    True
    """
    if (X is None) != (y is None):
        raise ValueError("Pass both X and y, or neither.")
    fitted, evaluation = take_apart(model), None
    if X is not None:
        evaluation = evaluate_model(fitted, X, y)
        fitted = evaluation.model
    if row is not None and evaluation is None:
        raise ValueError(f"row={row}: a row of X is explained, so pass X and y, too.")
    if row is not None and not 0 <= row < len(evaluation or ()):
        raise ValueError(f"row={row}: there are {len(y)} rows of data, which count from 0.")
    target = fitted.classifier.about_.get("target")
    known = f"A model of {shortened(target)}" if isinstance(target, str) else "A fitted model"
    lead, cards = _lead(fitted, evaluation), _cards(fitted, evaluation)
    return write_page(path, title or known, lead, cards, _sections(fitted, evaluation, row))


def _sections(model: FittedModel, evaluation: Evaluation | None, row: int | None) -> list[Section]:
    sections: list[Section] = []
    if evaluation is not None:
        sections.append(("performance", "Performance", _performance(model, evaluation)))
    if pictures := draw_columns(model, evaluation):
        blocks: list[Block] = [pictures]
        if evaluation is not None and pictures[0].name == "influence" and model.classifier.n_atoms_:
            blocks.append("Permutation importance of a model this large would take too long.")
        sections.append(("columns", "What predictions depend on", blocks))
    if evaluation is not None:
        reasons = find_reasons(model, evaluation, row)
        listed: Block = "No row is misclassified."
        if len(evaluation.mistakes):
            listed = mistake_table(model, evaluation, reasons)
        sections.append(("mistakes", "Mistakes", [listed]))
        sections.append(("row", "One row explained", _row(model, evaluation, reasons)))
    return [
        *sections,
        ("path", "Training path", _path(model, evaluation)),
        ("data", "Data", _data(model, evaluation)),
        ("making", "Settings", _making(model)),
    ]


def _performance(model: FittedModel, evaluation: Evaluation) -> list[Block]:
    matrix, pictures = confusion_table(model, evaluation), draw_predictions(model, evaluation)
    if not (curves := find_curves(model, evaluation)):
        return [matrix, pictures]
    # Of two classes the script's own matrix begins with the same numbers.
    is_same = len(model.classes) == 2 and not any(evaluation.codes < 0)
    hint = "Move the threshold, here or on a curve: precision, recall and the matrix follow."
    data = threshold_data(curves, evaluation.proba is not None)
    if is_same:
        return [Explorer("thresholds", data, hint, [matrix]), pictures]
    return [matrix, Explorer("thresholds", data, hint), pictures]


def _lead(model: FittedModel, evaluation: Evaluation | None) -> list[str]:
    classifier, names = model.classifier, [quoted(value) for value in model.classes]
    atoms = count(classifier.n_atoms_, f"{dictionary_name(classifier.model_.dictionary)} atom")
    what = f"tells {names[1]} from {names[0]}"
    if len(names) > 2:
        what = f"predicts one of {count(len(names), 'class')}"
    seconds = classifier.about_.get("seconds")
    fitted = f", fitted in {text.seconds(float(seconds))}," if isinstance(seconds, Real) else ""
    lines = [f"A model of {atoms}{fitted} that {what}."]
    if evaluation is None:
        lines.append("No data was given, so this page shows what the model file holds.")
        n = model.about_part("test").get("n_samples")
        rows = f"{count(n)} held-out rows" if isinstance(n, int) else "held-out rows"
        return [*lines, f"The scores are those on {rows}."] if _recorded_scores(model) else lines
    accuracy, (majority, share) = evaluation.scores["accuracy"], evaluation.baseline
    return [
        *lines,
        f"Baseline: always predicting {quoted(majority)} is right for {percent(share)} of the "
        f"{count(len(evaluation), 'row')} given. The model is right for "
        f"{percent(accuracy.value)} (95 % interval: {text.interval('accuracy', accuracy)}).",
    ]


def _cards(model: FittedModel, evaluation: Evaluation | None) -> list[Card]:
    scores = _recorded_scores(model) if evaluation is None else evaluation.scores
    notes = text.score_notes(scores, len(model.classes))
    cards = []
    if (baseline := _baseline(model, evaluation)) is not None:
        cards.append(Card("Baseline", percent(baseline[1]), f"always {quoted(baseline[0])}"))
    for name, one in scores.items():
        value, ends = text.score(name, one.value), text.interval(name, one)
        cards.append(Card(text.score_title(name), value, ends, notes.get(name, "")))
    classifier, n_numbers = model.classifier, n_numbers_of(model.classifier.model_)
    return [
        *cards,
        Card("Atoms", count(classifier.n_atoms_), f"in {count(classifier.n_iter_, 'step')}"),
        Card("Size", f"{8 * n_numbers / 1000:,.1f} kB", count(n_numbers, "number")),
    ]


def _baseline(model: FittedModel, evaluation: Evaluation | None) -> tuple[Any, float] | None:
    """Return the most frequent class and its share, of the rows given or as `fit` stored them."""
    if evaluation is not None:
        return evaluation.baseline
    found = model.about_part("test").get("baseline")
    known = found if isinstance(found, Mapping) else {}
    share = known.get("accuracy")
    return (known["class"], float(share)) if isinstance(share, Real) and "class" in known else None


def _recorded_scores(model: FittedModel) -> dict[str, Score]:
    """Return the scores that are stored in a model file, if they are valid."""
    recorded, found = model.about_part("test").get("scores"), {}
    for name, value in recorded.items() if isinstance(recorded, Mapping) else ():
        parts = value if isinstance(value, Mapping) else {}
        ends = [parts.get(key) for key in ("value", "low", "high")]
        if all(isinstance(end, Real) for end in ends):
            found[str(name)] = Score(*(float(end) for end in ends if end is not None))
    return found


def _data(model: FittedModel, evaluation: Evaluation | None) -> list[Block]:
    if evaluation is None:
        return [column_table(model, None)]
    words = (
        f"{count(len(evaluation), 'row')} with {count(len(model.columns), 'column')}. If the model "
        "was trained on these rows, all scores on this page are too optimistic."
    )
    return [words, class_table(model, evaluation), column_table(model, evaluation)]


def _path(model: FittedModel, evaluation: Evaluation | None) -> list[Block]:
    plane = find_plane(model, evaluation)
    stills = [] if plane is None else [draw_boundary(plane)]
    if not model.has_path:
        why = "The model was saved without its path (trace=False)."
        if model.classifier.n_iter_ == 0:
            why = "The fit made no step: the model is a constant."
        return [f"{why} {_ending(model)}", *([stills] if stills else []), atom_table(model)]
    path = find_path(model, evaluation, plane)
    sentences = [_step(model)]
    if plane is not None and len(path.frames) < path.n_steps:
        sentences.append(
            f"The curves have all {count(path.n_steps, 'step')}; the page holds the boundary after "
            f"{count(len(path.frames))} of them."
        )
    if plane is not None and (n := plane.n_outside):
        sentences.append(f"The picture leaves out {count(n, 'row')} far from all others.")
    sentences.append(_ending(model))
    shown = "the boundary" if plane is not None else "the scores"
    hint = f"Move over the curves or drag the slider to see {shown} after k steps."
    explorer = Explorer("path", path_data(path, plane), hint, [[draw_path(path), *stills]])
    return [" ".join(filter(None, sentences)), explorer, atom_table(model)]


def _row(model: FittedModel, evaluation: Evaluation, reasons: Reasons | None) -> list[Block]:
    if reasons is None:
        return ["Shapley values of a model this large would take too long."]
    truth, found = evaluation.y[reasons.row], evaluation.labels[reasons.row]
    row, ids = reasons.row, id_columns(model, evaluation)
    known = "".join(f" ({name} {shortened(str(cells[row]))})" for name, cells in ids.items())
    words = f"Row {row}{known} is predicted as {quoted(found)}; its true class is {quoted(truth)}."
    if error := reasons.explanation.errors[-1]:
        words += f" Contributions are accurate to ± {text.number(float(f'{error:.1g}'))}."
    if not reasons.is_from_training:
        words += " The model holds no training rows, so the rows given are the background."
    return [words, [draw_row(model, reasons, found)]]


def _step(model: FittedModel) -> str:
    found = _found(model)
    scheme, each = found.scheme, "" if len(model.classes) == 2 else " for every class"
    if scheme != "fully_corrective" and not isinstance(scheme, FullyCorrective):
        return f"Every step moves the coefficient of one atom{each}."
    # A step of a mean of paths has the objectives of all.
    n_paths = len(found.trace_[0].objectives) // len(found.model_.intercept)
    mean = f"The model is the mean of {count(n_paths)} paths. " if n_paths > 1 else ""
    often = " whenever the model has grown enough" if _is_preset(found) else ""
    return f"{mean}Every step adds an atom{each}, and all coefficients are refitted{often}."


def _found(model: FittedModel) -> Any:
    """Return the classifier, or the best one of a search."""
    return vars(model.classifier).get("best_estimator_", model.classifier)


def _is_preset(found: Any) -> bool:
    """Whether the dictionary is a preset."""
    used = found.model_.dictionary
    has_chosen = isinstance(used, UnionDictionary) or used.corrects_leaves
    return isinstance(found.dictionary, str) and has_chosen


def _ending(model: FittedModel) -> str:
    found = _found(model)
    is_chosen = _is_preset(found) and found.max_iter == found.l2 == "auto"
    if is_chosen and found.status_.name == "STEP_LIMIT":
        return "The number of steps was chosen on held-out rows."
    return f"How the fit ended: {model.classifier.status_.value}"


def _making(model: FittedModel) -> list[Block]:
    found = _found(model)
    used = found.model_.dictionary
    clipped = "clipped to the usual range of the training rows"
    facts = {
        "dictionary": f"{found.dictionary}: {dictionary_name(used)}"
        if isinstance(used, UnionDictionary)
        else repr(used),
        "loss": repr(found._loss_),
        "inputs": None if found.model_.limits is None else clipped,
        "ridge penalty λ": text.number(found.l2_),
        "link": "of the loss" if found.link_ is None else repr(found.link_),
        "k₀ (theory)": count(model.k0),
        "steps": f"{count(found.n_iter_)} of {count(len(found.trace_) or found.n_iter_)}",
        "ended": found.status_.name.lower().replace("_", " "),
        "fcgboost": version("fcgboost"),
        **_recorded_facts(model),
    }
    then = "\nmodel.predict_proba(X)" if model.has_proba else ""
    load = "To load the model, saved as model.json:"
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return [known, _parameters(found), load, Code(_CODE.format(then=then))]


def _recorded_facts(model: FittedModel) -> dict[str, str]:
    """Return what a model file says about its fit and its data, where it is valid."""
    about, data, test = model.classifier.about_, model.about_part("data"), model.about_part("test")
    counts = data.get("class_counts")
    facts: list[tuple[str, Any, type, Any]] = [
        ("created", about.get("created"), str, shortened),
        ("fitted with fcgboost", about.get("fcgboost"), str, shortened),
        ("fit time", about.get("seconds"), Real, text.seconds),
        ("file", data.get("file"), str, shortened),
        ("training rows", data.get("n_samples"), int, count),
        ("held-out rows", test.get("n_samples"), int, count),
    ]
    for name, n in counts.items() if isinstance(counts, Mapping) else ():
        facts.append((f"rows of {quoted(name)}", n, int, count))
    return {name: write(fact) for name, fact, kind, write in facts if isinstance(fact, kind)}


def _parameters(found: Any) -> Table:
    defaults = type(found)().get_params(deep=False)
    rows = [
        [Cell(name), Cell(shortened(repr(value))), Cell(shortened(repr(defaults[name])))]
        for name, value in sorted(found.get_params(deep=False).items())
    ]
    heads = [Head("parameter"), Head("value", "text"), Head("default", "text")]
    return Table("All parameters", heads, rows, is_folded=True)
