"""The page about a fitted model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any

from fcgboost.dictionaries import UnionDictionary
from fcgboost.importances import n_numbers_of
from fcgboost.report.atoms import atom_table, dictionary_name
from fcgboost.report.boundary import find_plane
from fcgboost.report.columns import column_table
from fcgboost.report.document import (
    Block,
    Card,
    Cell,
    Code,
    Explorer,
    Facts,
    Gallery,
    Head,
    Page,
    Section,
    Table,
    Text,
)
from fcgboost.report.mistakes import mistake_blocks
from fcgboost.report.path import Path as FitPath
from fcgboost.report.path import find_path, path_data
from fcgboost.report.pictures import draw_boundary, draw_path, draw_pictures
from fcgboost.report.rendering import write_page
from fcgboost.report.subject import Judged, Subject, find_subject, judge
from fcgboost.report.wording import (
    count,
    interval,
    label,
    listed,
    number,
    percent,
    quoted,
    score,
    score_notes,
    score_title,
    seconds,
    shortened,
)
from fcgboost.schemes import FullyCorrective
from fcgboost.scores import Score

_CODE = """\
from fcgboost import load_model

model = load_model("model.json")
model.predict(X){then}
"""


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
) -> Path:
    """Write one HTML page about a fitted model, which needs no network to be read.

    With data the page shows how the model does on these rows, so they should be rows that the fit
    has not seen. Without, it shows what the model itself knows.

    Parameters
    ----------
    path : path
        The page is there in full or not at all.
    model : classifier of fcgboost, or Pipeline of a TableEncoder and such a classifier
    X : data frame, array-like or sparse matrix of shape (n_samples, n_features), default=None
    y : array-like of shape (n_samples,), default=None
    title : str or None, default=None
        The heading of the page.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.report import write_report
    >>> clf = FCGBoostClassifier("relu", random_state=0).fit(*make_simulation(300, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     _ = write_report(page, clf, *make_simulation(200, random_state=1))
    ...     page.read_text("utf-8").startswith("<!DOCTYPE html>")
    True
    """
    if (X is None) != (y is None):
        raise ValueError("A model is judged on rows and their labels: pass X and y, or neither.")
    subject = find_subject(model)
    judged = None if X is None else judge(subject, X, y)
    page = make_page(subject if judged is None else judged.subject, judged, title)
    return write_page(path, page)


def make_page(subject: Subject, judged: Judged | None, title: str | None) -> Page:
    """Collect what there is to say."""
    sections = [
        Section("data", "Data", _data(subject, judged)),
        Section("path", "Path", _path(subject, judged)),
    ]
    if pictures := draw_pictures(subject, judged):
        blocks: list[Block] = [Gallery(pictures)]
        is_shuffled = any(one.name == "shuffled" for one in pictures)
        if judged is not None and subject.classifier.n_atoms_ and not is_shuffled:
            blocks.append(Text("The model is too large to shuffle its columns in short time."))
        sections.append(Section("pictures", "Pictures", blocks))
    if judged is not None:
        sections.append(Section("mistakes", "Mistakes", mistake_blocks(subject, judged)))
    sections.append(Section("making", "How it was made", _making(subject)))
    heading = title or _title(subject)
    footer = f"Written by fcgboost {version('fcgboost')}. This page loads nothing from elsewhere."
    cards = _cards(subject, judged)
    notes = [card.note for card in cards if card.note]
    return Page(heading, _lead(subject, judged), cards, sections, footer, notes)


def _title(subject: Subject) -> str:
    target = subject.about.get("target")
    return f"A model of {shortened(target)}" if isinstance(target, str) else "A fitted model"


def _lead(subject: Subject, judged: Judged | None) -> list[str]:
    """Say in plain words what the model is and how good it is."""
    classifier, classes = subject.classifier, subject.classes
    atoms = count(classifier.n_atoms_, f"{dictionary_name(classifier.model_.dictionary)} atom")
    names = [quoted(value) for value in classes]
    what = f"tell {names[1]} from {names[0]}" if len(names) == 2 else f"tell apart {listed(names)}"
    if classifier.n_atoms_ == 1:
        what = what.replace("tell", "tells", 1)
    fitted, loop = _time(subject)
    lines = [f"{atoms}{fitted} {what}.{loop}"]
    if judged is None:
        lines.append("No data was given, so the page shows what the model itself knows.")
        return [*lines, _when_scored(subject)] if _told_scores(subject) else lines
    accuracy = judged.scores["accuracy"]
    codes = judged.codes
    shares = [float((codes == i).mean()) for i in range(len(classes))]
    most = max(range(len(classes)), key=shares.__getitem__)
    return [
        *lines,
        f"Of {count(len(judged), 'row')} given to this report it is right about "
        f"{percent(accuracy.value)} (95 % interval: {interval('accuracy', accuracy)}). Always "
        f"saying {names[most]} would be right about {percent(shares[most])}.",
    ]


def _time(subject: Subject) -> tuple[str, str]:
    """Say how long the fit took, or in a sentence of its own how long its loop did."""
    told, k = subject.about.get("seconds"), subject.classifier.n_iter_
    if isinstance(told, Real):
        return f", fitted in {seconds(float(told))},", ""
    loop = subject.classifier.trace_[k - 1].seconds if subject.has_path and k else 0.0
    return "", f" The loop that chose them took {seconds(loop)}." if loop > 0.0 else ""


def _when_scored(subject: Subject) -> str:
    n = subject.told("test").get("n_samples")
    rows = f" {count(n, 'row')}" if isinstance(n, int) else " rows"
    return f"The scores are those of{rows} that were held out when it was fitted."


def _cards(subject: Subject, judged: Judged | None) -> list[Card]:
    scores = _told_scores(subject) if judged is None else judged.scores
    notes = score_notes(scores, len(subject.classes))
    cards = [
        Card(score_title(name), score(name, one.value), interval(name, one), notes.get(name, ""))
        for name, one in scores.items()
    ]
    classifier = subject.classifier
    model = classifier.model_
    n_steps = count(classifier.n_iter_, "step")
    n_numbers = n_numbers_of(model)
    return [
        *cards,
        Card("Atoms", count(classifier.n_atoms_), f"in {n_steps}"),
        Card("Size", f"{8 * n_numbers / 1000:,.1f} kB", count(n_numbers, "number")),
    ]


def _told_scores(subject: Subject) -> dict[str, Score]:
    """Give the scores that the model file tells of, as far as they are scores."""
    told = subject.told("test").get("scores")
    found = {}
    for name, value in told.items() if isinstance(told, Mapping) else ():
        ends = [value.get(key) for key in ("value", "low", "high")] if _is_map(value) else []
        if len(ends) == 3 and all(isinstance(end, Real) for end in ends):
            found[str(name)] = Score(*map(float, ends))
    return found


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _data(subject: Subject, judged: Judged | None) -> list[Block]:
    blocks: list[Block] = []
    if judged is not None:
        blocks += [
            Text(
                f"{count(len(judged), 'row')} with {count(len(subject.columns), 'column')}, as "
                "given to this report. If the model was fitted to the same rows, all scores are "
                "too good."
            ),
            _class_table(subject, judged),
        ]
    return [*blocks, column_table(subject, judged)]


def _told_data(subject: Subject) -> list[tuple[str, str]]:
    """Say what the model file tells of the data it was fitted to."""
    data, test = subject.told("data"), subject.told("test")
    facts = []
    if isinstance(data.get("file"), str):
        facts.append(("file", shortened(data["file"])))
    for name, part in (("rows fitted to", data), ("rows held out", test)):
        if isinstance(part.get("n_samples"), int):
            facts.append((name, count(part["n_samples"])))
    counts = data.get("class_counts")
    for name, n in counts.items() if isinstance(counts, Mapping) else ():
        if isinstance(n, int):
            facts.append((f"rows of {quoted(name)}", count(n)))
    return facts


def _class_table(subject: Subject, judged: Judged) -> Table:
    rows = []
    for code, value in [*enumerate(subject.classes), (-1, "unknown to the model")]:
        n = int((judged.codes == code).sum())
        if code >= 0 or n:
            share = Cell(percent(n / len(judged)), key=n / len(judged), share=n / len(judged))
            rows.append([Cell(label(value)), Cell(count(n), key=float(n)), share])
    heads = [Head("class"), Head("rows", "number"), Head("share", "number")]
    return Table("The classes.", heads, rows)


def _path(subject: Subject, judged: Judged | None) -> list[Block]:
    plane = find_plane(subject, judged)
    if not subject.has_path:
        text = Text(f"{_no_path(subject)} {_ending(subject)}")
        still = [] if plane is None else [Gallery([draw_boundary(plane)])]
        return [text, *still, atom_table(subject)]
    path = find_path(subject, judged, plane)
    shown = "the boundary" if plane is not None else "the coefficients"
    parts = [_step(subject), _marked_lines(path), _choice(path)]
    if len(path.frames) < path.n_steps:
        parts.append(
            f"The curves have all {count(path.n_steps, 'step')}; {shown} can be seen after "
            f"{count(len(path.frames))} of them."
        )
    if plane is not None and plane.n_outside:
        parts.append(f"The picture leaves out {count(plane.n_outside, 'row')} far from all others.")
    parts.append(_ending(subject))
    hint = f"Move over the curves, or use the slider, to see {shown} after k steps."
    stills = [draw_path(path)] + ([] if plane is None else [draw_boundary(plane)])
    explorer = Explorer("path", path_data(path, judged, plane), hint, stills)
    return [Text(" ".join(filter(None, parts))), explorer, atom_table(subject)]


def _marked_lines(path: FitPath) -> str:
    """Explain the lines that the picture of the path has."""
    chosen, k0 = path.subject.classifier.n_iter_, path.subject.k0
    has_k0 = k0 is not None and k0 <= path.n_steps and k0 != chosen
    if chosen == 0:
        line = "The model is cut down to no step at all: it is a constant."
        return f"{line} The dotted line is the theory's k₀." if has_k0 else line
    also = ", which is the theory's k₀ as well" if k0 == chosen else ""
    line = f"The dashed line is the chosen number of steps{also}"
    return f"{line}, the dotted one the theory's k₀." if has_k0 else f"{line}."


def _choice(path: FitPath) -> str:
    """Say why the chosen step need not be the lowest point of the curve."""
    classifier: Any = path.subject.classifier
    is_validated = bool(path.score) or bool({"validation", "cross-validation"} & set(path.curves))
    k, k0 = classifier.n_iter_, path.subject.k0
    if not is_validated or k0 is None or vars(classifier).get("max_iter") != "auto":
        return ""
    if _is_preset(_found(path.subject)):
        return ""
    if k == 0 or (k % k0 and k != path.n_steps):
        return ""
    return (
        'With max_iter="auto" only multiples of k₀ and the end of the path can be chosen, so the '
        "curve may be lower elsewhere."
    )


def _step(subject: Subject) -> str:
    given: Any = vars(_found(subject))
    is_shared = given.get("multiclass") == "shared" and len(subject.classes) > 2
    several = " for all classes" if is_shared else " for every class"
    each = "" if len(subject.classes) == 2 else several
    if not _is_corrective(given["scheme"]):
        return f"In every step the coefficient of one atom moves{each}."
    leave = " Atoms that are missed least leave again." if _has_removal(subject) else ""
    n_paths = _n_paths(subject)
    mean = f"The model is the mean of {count(n_paths)} paths. " if n_paths > 1 else ""
    step = "In every step of each" if n_paths > 1 else "In every step"
    enters = "up to three atoms enter" if is_shared else "an atom enters"
    return f"{mean}{step} {enters}{each}, and the coefficients of all are fitted again.{leave}"


def _n_paths(subject: Subject) -> int:
    """Give how many paths a model averages: a step of it has the objectives of all."""
    found = _found(subject)
    if len(found.trace_) == 0:
        return 1
    return max(1, len(found.trace_[0].objectives) // len(found.model_.intercept))


def _found(subject: Subject) -> Any:
    """Give the classifier; of a search, the one that it found."""
    return vars(subject.classifier).get("best_estimator_", subject.classifier)


def _is_corrective(scheme: Any) -> bool:
    return scheme == "fully_corrective" or isinstance(scheme, FullyCorrective)


def _has_removal(subject: Subject) -> bool:
    """Whether atoms have left: by the user's wish or, as a preset has it, by the path."""
    found = _found(subject)
    sizes = [step.n_atoms for step in found.trace_]
    return found.removal is not None or any(after < before for before, after in pairwise(sizes))


def _is_preset(found: Any) -> bool:
    """Whether a name stands for several families, with their ridge and steps to be chosen."""
    return isinstance(found.dictionary, str) and isinstance(
        found.model_.dictionary, UnionDictionary
    )


def _no_path(subject: Subject) -> str:
    if subject.classifier.n_iter_ == 0:
        return "The fit made no step: the model is a constant."
    return "The model file does not hold the path (trace=False), only the final model."


def _ending(subject: Subject) -> str:
    found = _found(subject)
    is_chosen = _is_preset(found) and found.max_iter == found.l2 == "auto"
    if is_chosen and found.status_.name == "STEP_LIMIT":
        return "The number of steps was chosen on rows set aside."
    return f"How the fit ended: {subject.classifier.status_.value}"


def _making(subject: Subject) -> list[Block]:
    model = (found := _found(subject)).model_
    facts = [
        ("dictionary", repr(model.dictionary)),
        ("loss", repr(found._loss_)),
        ("link", "theory" if found.link_ is None else repr(found.link_)),
        ("steps", f"{count(found.n_iter_)} of {count(len(found.trace_) or found.n_iter_)}"),
        ("ended", found.status_.name.lower().replace("_", " ")),
        ("fcgboost", version("fcgboost")),
    ]
    if subject.k0 is not None:
        facts.insert(3, ("k₀ of the theory", count(subject.k0)))
    facts.insert(2, ("ridge λ", number(found.l2_)))
    if model.limits is not None:
        facts.insert(2, ("inputs", "clipped to limits that the training rows gave"))
    for key, name in (("created", "created"), ("fcgboost", "fitted with fcgboost")):
        if isinstance(subject.about.get(key), str):
            facts.append((name, shortened(subject.about[key])))
    if isinstance(subject.about.get("seconds"), Real):
        facts.append(("time of the fit", seconds(float(subject.about["seconds"]))))
    facts += _told_data(subject)
    then = "\nmodel.predict_proba(X)" if hasattr(found, "predict_proba") else ""  # not the hinge
    load = Text("If the model is saved as model.json, for example by save_model, this loads it:")
    return [Facts(facts), _parameters(found), load, Code(_CODE.format(then=then))]


def _parameters(found: Any) -> Table:
    defaults = type(found)().get_params(deep=False)
    rows = [
        [Cell(name), Cell(shortened(repr(value))), Cell(shortened(repr(defaults[name])))]
        for name, value in sorted(found.get_params(deep=False).items())
    ]
    heads = [Head("parameter"), Head("value", "text"), Head("default", "text")]
    return Table("All parameters.", heads, rows, is_folded=True)
