"""What there is to say about a model, as data and in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import EllipticDictionary, GaussDictionary, TreeDictionary
from fcgboost.cli import console
from fcgboost.importances import weights_of
from fcgboost.model import by_family
from fcgboost.presets import preset_of
from fcgboost.scores import TITLES


def describe(encoder: Any, classifier: Any) -> dict[str, Any]:
    """Return what there is to say about a model, as data."""
    model = classifier.model_
    names = _feature_names(encoder, classifier)
    facts: dict[str, Any] = {
        "dictionary": " ".join(str(model.dictionary).split()),
        "families": _count_families(model),
        "loss": str(classifier.loss),
        "l2": classifier.l2_,
        "link": None if classifier.link_ is None else asdict(classifier.link_),
        "classes": [str(name) for name in classifier.classes_],
        "n_atoms": classifier.n_atoms_,
        "n_steps": classifier.n_iter_,
        "status": str(classifier.status_),
        "intercept": model.intercept.tolist(),
        "features": names,
        "atoms": [
            {"step": int(step), "coef": coef}
            for step, coef in zip(model.entered, model.coef.T.tolist(), strict=True)
        ],
        "about": classifier.about_,
    }
    if encoder is not None:
        facts["columns"] = [_describe_column(column) for column in encoder.columns_]
    if model.limits is not None:
        facts["limits"] = {"low": model.limits.low.tolist(), "high": model.limits.high.tolist()}
    influence = getattr(classifier, "feature_importances_", None)
    if influence is not None:
        facts["influence"] = dict(zip(names, influence.tolist(), strict=True))
    return facts


def _feature_names(encoder: Any, classifier: Any) -> list[str]:
    if encoder is not None:
        return [str(name) for name in encoder.get_feature_names_out()]
    known = vars(classifier).get("feature_names_in_")
    if known is not None:
        return [str(name) for name in known]
    return [f"x{i}" for i in range(classifier.n_features_in_)]


def _describe_column(column: Any) -> dict[str, Any]:
    return {"kind": type(column).__name__.removesuffix("Column").lower(), **vars(column)}


def print_facts(facts: dict[str, Any], classifier: Any, top: int) -> None:
    """Print what there is to say, and of atoms and features the first."""
    classes = ", ".join(facts["classes"])
    print(f"{_families(facts)} tell apart {classes}.")
    n_steps, ridge = f"{facts['n_steps']} steps", f"; ridge {facts['l2']:.3g}"
    is_chosen = (classifier.l2, classifier.max_iter) == ("auto", "auto")
    if preset_of(classifier.dictionary) is not None and is_chosen:
        print(f"Loss {facts['loss']}{ridge}; {n_steps}; ridge and steps chosen on rows set aside.")
    else:
        print(f"Loss {facts['loss']}{ridge}; {n_steps}; ended {facts['status']}")
    if classifier.link_ is not None:
        slope, power = classifier.link_.slope, classifier.link_.power
        print(
            f"Probabilities by a link fitted to rows set aside: slope {slope:g}, power {power:g}."
        )
    if "limits" in facts:
        print("Inputs are clipped to limits that the training rows gave.")
    _print_about(facts["about"])
    if "columns" in facts:
        print("\nColumns:")
        rows = [(column["name"], column["kind"], _detail(column)) for column in facts["columns"]]
        console.print_table(("column", "kind", "how it enters"), rows, n_labels=3)
    if "influence" in facts:
        ordered = sorted(facts["influence"].items(), key=lambda item: -item[1])
        print("\nFeatures that matter:")
        shares = [(name, f"{100 * value:.1f} %") for name, value in ordered[:top]]
        console.print_table(("feature", "influence"), shares)
    _print_atoms(classifier.model_, facts["features"], top)


def _families(facts: dict[str, Any]) -> str:
    """Say how many atoms of which families there are."""
    atoms = "1 atom" if facts["n_atoms"] == 1 else f"{facts['n_atoms']} atoms"
    counts = facts["families"]
    if len(counts) < 2:
        return f"{atoms} of {next(iter(counts), facts['dictionary'])}"
    return f"{atoms} ({', '.join(f'{n} of {family}' for family, n in counts.items())})"


def _count_families(model: Any) -> dict[str, int]:
    """Give the number of atoms of every family that has some."""
    counts: dict[str, int] = {}
    for family, places, _ in by_family(model.dictionary, model.atoms, len(model.scale)):
        name = " ".join(str(family).split())
        counts[name] = counts.get(name, 0) + len(places)
    return counts


def _print_about(about: dict[str, Any]) -> None:
    """Print what `fcgboost fit` wrote down; what others wrote, only --json shows."""
    data, test = _part_of(about, "data"), _part_of(about, "test")
    if data:
        print(f"Fitted to {data.get('n_samples', '?')} rows of {data.get('file', '?')}.")
    ended = _part_of(about, "ended")
    if ended:
        cuts = ended.get("cut_by_time_limit")
        cut = " The time limit cut paths short." if isinstance(cuts, list) and cuts else ""
        seconds = _number(ended.get("seconds"))
        print(f"The fit ended after {seconds} s: {ended.get('reason', '?')}{cut}")
    found = _part_of(test, "scores").items()
    scores = {name: one for name, one in found if isinstance(one, dict)}
    if scores:
        print(f"\nOn {test.get('n_samples', '?')} rows held out then:")
        rows = [
            (TITLES.get(name, name), *(_number(score.get(key)) for key in ("value", "low", "high")))
            for name, score in scores.items()
        ]
        console.print_table(("score", "value", "low", "high"), rows)


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else ""


def _detail(column: dict[str, Any]) -> str:
    if column["kind"] == "skipped":
        return f"left out: {column['reason']}"
    mark = "; missing values are marked" if column["is_marked"] else ""
    if column["kind"] == "number":
        fill = f"{column['fill']:g}"
        if column["unit"] == "days":
            fill = str(np.datetime64("1970-01-01") + np.timedelta64(round(column["fill"]), "D"))
        return f"missing values become {fill}{mark}"
    levels = ", ".join(column["levels"][:8]) + (", ..." if len(column["levels"]) > 8 else "")
    other = "; rare ones are pooled" if column["has_other"] else ""
    return f"one of {levels}{other}{mark}"


def _print_atoms(model: Any, names: list[str], top: int) -> None:
    weights = np.abs(model.coef).max(axis=0, initial=0.0)
    order = np.argsort(-weights, kind="stable")[:top]
    if len(order) == 0:
        print("\nThe model is a constant.")
        return
    print(f"\nThe {len(order)} largest atoms:")
    texts = [""] * model.n_atoms
    found = by_family(model.dictionary, model.atoms, len(names))
    heads = []
    for family, places, rows in found:
        head, own = _looks(family, rows, model.scale, names)
        heads.append(head)
        for place, text in zip(places, own, strict=True):
            texts[place] = text if len(found) == 1 else f"{head} {text}".strip()
    lines = [
        (
            str(int(model.entered[j])),
            " ".join(f"{value:+.4g}" for value in model.coef[:, j]),
            texts[j],
        )
        for j in order
    ]
    what = heads[0] if len(heads) == 1 else "what it looks at"
    console.print_table(("step", "coefficient", what), lines, n_labels=3)


def _looks(family: Any, rows: Any, scale: Any, names: list[str]) -> tuple[str, list[str]]:
    """Say what atoms of one family look at, and in which features most."""
    sizes = weights_of(family, rows, scale)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    if sizes is None:
        return "", [""] * len(dense)
    if isinstance(family, TreeDictionary):
        return "splits by", [_largest(None, row, names) for row in sizes]
    is_near = isinstance(family, GaussDictionary | EllipticDictionary)
    # In standardised units: what sets a centre apart from the others, or how steep a plane is.
    pairs = zip(dense[:, : len(names)], np.abs(sizes), strict=True)
    return "rows near" if is_near else "direction", [_largest(*pair, names) for pair in pairs]


def _largest(entries: Any, sizes: Any, names: list[str]) -> str:
    order = [j for j in np.argsort(-sizes, kind="stable")[:3] if sizes[j] > 0.0]
    if entries is None:
        return ", ".join(names[j] for j in order)
    return ", ".join(f"{names[j]} {entries[j]:.4g}" for j in order)


def _part_of(about: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a part of what travels with a model; users may have put anything there."""
    found = about.get(key)
    return found if isinstance(found, dict) else {}
