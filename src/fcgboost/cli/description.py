"""The description of a model, as data and in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from fcgboost.cli import console
from fcgboost.cli.quality import print_influence
from fcgboost.documents.content import column_document
from fcgboost.model import by_family
from fcgboost.scores import TITLES
from fcgboost.tables.inputs import PlainInputs
from fcgboost.training.presets import preset_of
from fcgboost.web.atoms import describe_atoms
from fcgboost.web.columns import kind_of, treatment_of
from fcgboost.web.models import FittedModel
from fcgboost.web.text import count


def describe(fitted: FittedModel) -> dict[str, Any]:
    """Describe a model as data."""
    classifier, model, columns = fitted.classifier, fitted.classifier.model_, fitted.columns
    families: Counter[str] = Counter()
    for family, places, *_ in by_family(model.dictionary, model.atoms, len(model.scale)):
        families[_in_one_line(family)] += len(places)
    facts: dict[str, Any] = {
        "dictionary": _in_one_line(model.dictionary),
        "families": dict(families),
        "loss": str(classifier.loss),
        "l2": classifier.l2_,
        "link": None if classifier.link_ is None else asdict(classifier.link_),
        "classes": [str(name) for name in classifier.classes_],
        "n_atoms": classifier.n_atoms_,
        "n_steps": classifier.n_iter_,
        "status": str(classifier.status_),
        "intercept": model.intercept.tolist(),
        "features": fitted.feature_names,
        "atoms": [
            {"step": int(step), "coef": coef}
            for step, coef in zip(model.entered, model.coef.T.tolist(), strict=True)
        ],
        "about": classifier.about_,
        "columns": [column_document(one) | {"treatment": treatment_of(one)} for one in columns],
    }
    if model.limits is not None:
        facts["limits"] = {"low": model.limits.low.tolist(), "high": model.limits.high.tolist()}
    if (influence := fitted.influence) is not None:
        names = [column.name for column in columns]
        facts["influence"] = dict(zip(names, influence.tolist(), strict=True))
    return facts


def _in_one_line(part: Any) -> str:
    return " ".join(str(part).split())


def print_facts(facts: dict[str, Any], fitted: FittedModel, top: int) -> None:
    """Print the description, with the first few columns and atoms."""
    classifier = fitted.classifier
    console.say(f"{_families(facts)} tell apart {', '.join(facts['classes'])}.")
    is_chosen = (classifier.l2, classifier.max_iter) == ("auto", "auto")
    has_preset = preset_of(classifier.dictionary) is not None
    ended = "both chosen on validation rows." if has_preset and is_chosen else ""
    ended = ended or f"ended {facts['status']}"
    console.say(f"Loss {facts['loss']}; ridge {facts['l2']:.3g}; {facts['n_steps']} steps; {ended}")
    if classifier.link_ is not None:
        link = "slope {slope:g}, power {power:g}".format(**facts["link"])
        console.say(f"Probabilities from a curve fitted to validation rows: {link}.")
    if "limits" in facts:
        console.say("Inputs are clipped to limits learned from the training rows.")
    _print_about(fitted)
    if not isinstance(fitted.inputs, PlainInputs):
        console.say("\nColumns:")
        rows = [(one.name, kind_of(one), treatment_of(one)) for one in fitted.columns]
        console.print_table(("column", "kind", "how it is encoded"), rows, n_labels=3)
    if "influence" in facts:
        print_influence(list(facts["influence"]), list(facts["influence"].values()), top)
    _print_atoms(fitted, top)


def _families(facts: dict[str, Any]) -> str:
    """Say how many atoms of each family there are."""
    atoms, counts = count(facts["n_atoms"], "atom"), facts["families"]
    if len(counts) < 2:
        return f"{atoms} of {next(iter(counts), facts['dictionary'])}"
    return f"{atoms} ({', '.join(f'{n} of {family}' for family, n in counts.items())})"


def _print_about(fitted: FittedModel) -> None:
    """Print what `fcgboost fit` recorded; --json shows what others did, too."""
    data, test, ended = map(fitted.about_part, ("data", "test", "ended"))
    if data:
        console.say(f"Fitted to {data.get('n_samples', '?')} rows of {data.get('file', '?')}.")
    if ended:
        seconds = _number(ended.get("seconds"))
        console.say(f"The fit took {seconds} s. {ended.get('reason', '?')}")
    found = test.get("scores")
    scores: dict[str, Any] = found if isinstance(found, dict) else {}
    rows = [
        (TITLES.get(name, name), *(_number(score.get(key)) for key in ("value", "low", "high")))
        for name, score in scores.items()
        if isinstance(score, dict)
    ]
    if rows:
        console.say(f"\nOn the {test.get('n_samples', '?')} held-out rows:")
        if isinstance(baseline := test.get("baseline"), dict):
            accuracy = _number(baseline.get("accuracy"))
            console.say(f"Baseline (always {baseline.get('class', '?')}): accuracy {accuracy}")
        console.print_table(("score", "value", "low", "high"), rows)


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else ""


def _print_atoms(fitted: FittedModel, top: int) -> None:
    model = fitted.classifier.model_
    order = np.argsort(-np.abs(model.coef).max(axis=0, initial=0.0), kind="stable")[:top]
    if len(order) == 0:
        console.say("\nThe model is constant: it has no atoms.")
        return
    console.say(f"\nThe {len(order)} largest atoms:")
    # Not every terminal has the minus sign of pages.
    texts = [text.replace("−", "-") for text in describe_atoms(fitted, model.atoms[order])]
    coefs = [" ".join(f"{value:+.4g}" for value in coef) for coef in model.coef.T[order]]
    lines = list(zip([str(k) for k in model.entered[order]], coefs, texts, strict=True))
    console.print_table(("step", "coefficient", "what it looks at"), lines, n_labels=3)
