"""The page about a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from pathlib import Path

from numpy.typing import ArrayLike

from fcgboost.dictionaries import UnionDictionary
from fcgboost.files import FilePath
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.importances import n_numbers_of
from fcgboost.inspection import KIND_HEADS, dictionary_name
from fcgboost.prediction import BaseFCGBoost
from fcgboost.report import text
from fcgboost.report.atoms import atom_table
from fcgboost.report.blocks import Block, Card, CodeBlock, Explorer, Section, Table, TableColumn
from fcgboost.report.models import EvaluatedRows, FittedModel, Rows, evaluate_model
from fcgboost.report.page import write_page
from fcgboost.report.path import find_panels, path_data
from fcgboost.report.pictures import (
    draw_boundary,
    draw_columns,
    draw_path,
    draw_predictions,
    draw_row,
)
from fcgboost.report.reasons import Reasons, find_reasons
from fcgboost.report.tables import (
    column_table,
    confusion_table,
    finding_table,
    id_columns,
    mistake_table,
)
from fcgboost.report.text import percent, quoted
from fcgboost.report.thresholds import threshold_data
from fcgboost.stopping import Status
from fcgboost.wording import count, listed, number, shortened

_CODE = """\
from fcgboost import load_model

model = load_model("model.json")
model.predict(X){then}
"""


def write_model_report(
    path: FilePath,
    model: BaseFCGBoost,
    X: Rows,
    y: ArrayLike,
    *,
    title: str | None = None,
    row: int | None = None,
) -> Path:
    """Write one self-contained HTML page about a fitted model.

    The page evaluates the model on the rows given: they should be held-out rows. What the model
    itself holds is shown by `describe`.

    Parameters
    ----------
    path : path
        The page is written in full or not at all.
    model : fitted classifier of fcgboost
    X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    title : str or None, default=None
        The heading of the page.
    row : int or None, default=None
        The position of the row of X to explain, from 0; None is the worst mistake. The page counts
        rows from 1.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> from fcgboost.report import write_model_report
    >>> clf = FCGBoostClassifier("relu", random_state=0).fit(*make_simulation(300, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     _ = write_model_report(page, clf, *make_simulation(200, random_state=1))
    ...     page.read_text("utf-8").startswith("<!DOCTYPE html>")
    True
    """
    fitted = FittedModel.of(model)
    evaluation = evaluate_model(fitted, X, y)
    n_rows = len(evaluation)
    if row is not None and not 0 <= row < n_rows:
        raise ValueError(f"There is no row {row + 1}: the data have {count(n_rows, 'row')}.")
    if title is None:
        target = fitted.classifier.about_.get("target")
        title = f"A model of {shortened(target)}" if isinstance(target, str) else "A fitted model"
    return write_page(
        path,
        title,
        _lead(evaluation),
        _cards(evaluation),
        _sections(evaluation, row),
    )


def _sections(evaluation: EvaluatedRows, row: int | None) -> list[Section]:
    model = evaluation.model
    reasons = find_reasons(evaluation, row)
    mistakes: Block = "No row is misclassified."
    if len(evaluation.mistakes):
        mistakes = mistake_table(evaluation, reasons)
    data = (
        f"{count(len(evaluation), 'row')} with {count(len(model.columns), 'column')}. If the model "
        "was trained on these rows, all scores on this page are too optimistic."
    )
    found = model.classifier.findings_
    findings = [finding_table(found)] if found else []
    return [
        ("performance", "Performance", _performance(evaluation)),
        ("columns", "What predictions depend on", [draw_columns(evaluation)]),
        ("mistakes", "Mistakes", [mistakes]),
        ("row", "One row explained", _row(evaluation, reasons)),
        ("path", "Training path", _path(evaluation)),
        ("data", "Data", [data, *findings, column_table(model)]),
        ("making", "Settings", _making(model)),
    ]


def _performance(evaluation: EvaluatedRows) -> list[Block]:
    matrix = confusion_table(evaluation)
    pictures = draw_predictions(evaluation)
    data = threshold_data(evaluation)
    if data is None:
        return [matrix, pictures]
    # Of two classes the script's own matrix begins with the same numbers.
    if len(evaluation.confusion) == 2:
        return [Explorer("thresholds", data, [matrix]), pictures]
    return [matrix, Explorer("thresholds", data), pictures]


def _lead(evaluation: EvaluatedRows) -> list[str]:
    model = evaluation.model
    classifier = model.classifier
    names = [quoted(value) for value in model.classes]
    atoms = count(classifier.n_atoms_, f"{listed(model.family_names)} atom")
    task = f"tells {names[1]} from {names[0]}"
    if len(names) > 2:
        task = f"predicts one of {count(len(names), 'class')}"
    seconds = classifier.about_.get("seconds")
    fitted = f", fitted in {text.seconds(float(seconds))}," if isinstance(seconds, Real) else ""
    accuracy = evaluation.scores["accuracy"]
    majority, share = evaluation.baseline
    return [
        f"A model of {atoms}{fitted} that {task}.",
        *([model.averaging] if model.is_average else []),
        f"Baseline: always predicting {quoted(majority)} is right for {percent(share)} of the "
        f"{count(len(evaluation), 'row')} given. The model is right for "
        f"{percent(accuracy.value)} (95 % interval: {text.interval('accuracy', accuracy)}).",
    ]


def _cards(evaluation: EvaluatedRows) -> list[Card]:
    model = evaluation.model
    majority, share = evaluation.baseline
    classifier = model.classifier
    n_numbers = sum(n_numbers_of(member.model) for member in model.members)
    where = count(classifier.n_iter_, "step")
    if model.is_average:
        where = count(len(model.members), "member")
    return [
        Card("Baseline", percent(share), f"always {quoted(majority)}"),
        *(
            Card(
                text.score_title(name),
                text.score(name, score.value),
                text.interval(name, score),
                text.score_note(name, len(model.classes)),
            )
            for name, score in evaluation.scores.items()
        ),
        Card("Atoms", count(classifier.n_atoms_), f"in {where}"),
        Card("Size", f"{8 * n_numbers / 1000:,.1f} kB", count(n_numbers, "number")),
    ]


def _path(evaluation: EvaluatedRows) -> list[Block]:
    model = evaluation.model
    rest: list[Block] = [draw_boundary(evaluation), atom_table(model)]
    if not model.has_path:
        reason = "The model was saved without its path (trace=False)."
        if model.classifier.n_iter_ == 0:
            reason = "The fit made no step: the model is a constant."
        return [f"{reason} {_ending(model)}", *rest]
    panels = find_panels(evaluation)
    explorer = Explorer("path", path_data(model, panels), [[draw_path(model, panels)]])
    return [f"{_step(model)} {_ending(model)}", explorer, *rest]


def _row(evaluation: EvaluatedRows, reasons: Reasons | None) -> list[Block]:
    if reasons is None:
        return ["Shapley values of a model this large would take too long."]
    row = reasons.row
    predicted = evaluation.labels[row]
    ids = id_columns(evaluation)
    names = "".join(f" ({name} {shortened(str(cells[row]))})" for name, cells in ids.items())
    words = (
        f"Row {row + 1:,}{names} is predicted as {quoted(predicted)}; its true class is "
        f"{quoted(evaluation.y[row])}."
    )
    if error := reasons.explanation.errors[-1]:
        words += f" Contributions are accurate to ± {number(float(f'{error:.1g}'))}."
    if not reasons.is_from_training:
        words += " The model holds no training rows, so the rows given are the background."
    return [words, [draw_row(evaluation.model, reasons, predicted)]]


def _step(model: FittedModel) -> str:
    scheme = model.classifier.scheme
    each = "" if len(model.classes) == 2 else " for every class"
    to_all = " to every member" if model.is_average else ""
    if scheme != "fully_corrective" and not isinstance(scheme, FullyCorrective):
        return f"Every step moves the coefficient of one atom{each}."
    often = " whenever the model has grown enough" if model.is_preset else ""
    return f"Every step adds an atom{each}{to_all}, and all coefficients are refitted{often}."


def _ending(model: FittedModel) -> str:
    endings = model.endings
    if model.is_chosen and Status.TIME_LIMIT not in endings:
        return "The number of steps was chosen on held-out rows."
    return f"How the fit ended: {' '.join(status.value for status in endings)}"


def _making(model: FittedModel) -> list[Block]:
    classifier = model.classifier
    facts = {
        **_path_facts(model),
        "loss": str(classifier.loss),
        "link": "of the loss" if classifier.link_ is None else repr(classifier.link_),
        "k₀ (theory)": count(model.k0),
        **_recorded_facts(model),
    }
    if any(member.model.limits is not None for member in model.members):
        facts["inputs"] = "clipped to the usual range of the training rows"
    then = "\nmodel.predict_proba(X)" if model.has_proba else ""
    load = "To load the model, saved as model.json:"
    code = CodeBlock(_CODE.format(then=then))
    blocks: list[Block] = [facts, _parameters(classifier), load, code]
    if model.is_average:
        blocks.insert(0, _member_table(model))
    return blocks


def _path_facts(model: FittedModel) -> dict[str, str]:
    """Return the dictionary and the ridge of a single path; members have a table."""
    if model.is_average:
        return {}
    member = model.members[0]
    dictionary = member.model.dictionary
    is_union = isinstance(dictionary, UnionDictionary)
    setting = model.classifier.dictionary
    union = f"{setting}: {dictionary_name(dictionary)}"
    return {
        "dictionary": union if is_union else repr(dictionary),
        "ridge penalty λ": number(member.l2),
    }


def _member_table(model: FittedModel) -> Table:
    """List the kinds of members."""
    cells = zip(*model.kind_rows(), strict=True)
    columns = [
        TableColumn.of_texts(head, texts)
        for head, texts in zip(
            KIND_HEADS,
            cells,
            strict=True,
        )
    ]
    return Table(f"All {count(len(model.members), 'member')}", columns)


def _recorded_facts(model: FittedModel) -> dict[str, str]:
    """Return what a model file says about its fit and its data, where it is valid."""
    about = model.classifier.about_
    data = model.recorded("data")
    counts = data.get("class_counts")
    facts = {
        "created": about.get("created"),
        "fitted with fcgboost": about.get("fcgboost"),
        "file": data.get("file"),
        "training rows": data.get("n_samples"),
        "held-out rows": model.recorded("test").get("n_samples"),
    }
    if isinstance(counts, Mapping):
        facts |= {f"rows of {quoted(name)}": n for name, n in counts.items()}
    return {
        name: count(fact) if isinstance(fact, int) else shortened(fact)
        for name, fact in facts.items()
        if isinstance(fact, int | str)
    }


def _parameters(classifier: BaseFCGBoost) -> Table:
    values = classifier.get_params(deep=False)
    defaults = type(classifier)().get_params(deep=False)
    names = sorted(values)
    columns = [TableColumn.of_texts("parameter", names)]
    for head, parameters in (("value", values), ("default", defaults)):
        texts = [shortened(repr(parameters[name])) for name in names]
        columns.append(TableColumn.of_texts(head, texts, "text"))
    return Table("All parameters", columns, is_folded=True)
