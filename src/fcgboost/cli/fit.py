"""`fcgboost fit`: from a file to a model, with its scores on rows it has not seen."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, save_model
from fcgboost.cli import console
from fcgboost.cli.arguments import (
    FORMATS,
    add_command,
    add_data,
    add_json,
    add_split,
    add_target,
    removal,
    seconds,
    setting,
)
from fcgboost.cli.rows import check_outputs, read_rows
from fcgboost.cli.training import make_classifier, train
from fcgboost.io import make_model, split_model
from fcgboost.readers import write_rows
from fcgboost.scores import Score, evaluate
from fcgboost.tables import TableEncoder
from fcgboost.validation import FAMILIES

_TEXT = f"""\
Fit a classifier to the rows of a file and write it to a model file.

{FORMATS}
Text columns become categories, missing values are filled and marked; the model
file holds all of that. A part of the rows is held out, and the scores printed are
those on it. Rows whose target is missing are left out. Ridge and number of steps
are chosen on rows set aside; --dictionary compact gives a smaller model, and the
families of the paper (gauss, relu, ...) are there, too.

examples:
  fcgboost fit customers.csv --target churned
  fcgboost fit customers.csv --target churned --dictionary compact --out churn.json
  fcgboost fit customers.csv --target churned --test-out test.csv
  fcgboost fit digits.parquet --target digit --multiclass shared --removal backward
  fcgboost fit train.parquet --target y --drop id --dictionary relu --json
  fcgboost fit a1a.svm --dictionary gauss --set dictionary__width=2.5 --set l2=0.01
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "fit", run, "fit a classifier to a file of rows", _TEXT)
    add_data(parser)
    add_target(parser, "the column with the classes (not for svmlight files, which have theirs)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("model.json"),
        metavar="FILE",
        help="where the model goes; an older file is replaced (default: %(default)s)",
    )
    _add_parts(parser)
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COL",
        help="a column to leave out, such as a number of the row; may be given several times",
    )
    parser.add_argument(
        "--set",
        action="append",
        type=setting,
        default=[],
        metavar="NAME=VALUE",
        help="any parameter of FCGBoostClassifier",
    )
    parser.add_argument(
        "--no-path",
        action="store_true",
        help="leave the steps before the last out of the file, which becomes much smaller",
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="end the fit after so long with the steps it has; 0: none (default: %(default)g)",
    )
    parser.add_argument(
        "--refit",
        action="store_true",
        help="after scoring, fit again to all rows, those held out included",
    )
    add_split(parser, 0.2)
    parser.add_argument(
        "--test-out",
        type=Path,
        metavar="FILE",
        help="also write the rows held out, for evaluate and report (not for svmlight files)",
    )
    add_json(parser)


def _add_parts(parser: Any) -> None:
    """Add what the model is made of."""
    parser.add_argument(
        "--dictionary",
        choices=sorted(FAMILIES["dictionary"][1]),
        default="auto",
        help="the kind of atoms (default: %(default)s)",
    )
    parser.add_argument("--loss", choices=sorted(FAMILIES["loss"][1]), default="squared_hinge")
    parser.add_argument(
        "--removal",
        type=removal,
        metavar="SHARE",
        help='let atoms leave again, for a smaller model: "backward", or the share of what a '
        "step gains that they may cost (default: they stay, but may leave a compact model)",
    )
    parser.add_argument(
        "--multiclass",
        choices=("one_vs_rest", "shared"),
        default="one_vs_rest",
        help="of three or more classes: own atoms for each, or the same for all "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--link",
        choices=("auto", "theory", "power"),
        default="auto",
        help='what gives probabilities: the loss ("theory"), or a curve fitted to rows set aside '
        '("power"; default: power for auto and compact where rows are set aside, else theory)',
    )


def run(options: argparse.Namespace) -> int:
    """Fit, score, save, tell."""
    check_outputs([options.out, options.test_out], [options.data])
    classifier = make_classifier(options)
    X, y, first_index = read_rows(options)
    X_train, X_test, y_train, y_test = _split(X, y, options)
    start = time.perf_counter()
    model = _train(classifier, X_train, y_train, options.time_limit)
    scores = evaluate(model, X_test, y_test)
    if options.refit:
        console.note("Fitting again to all rows; the scores are those of the first fit.")
        model, y_train = _train(classifier, X, y, options.time_limit), y
    about = _about(options, y_train, (len(y_test), scores), time.perf_counter() - start)
    _, fitted = split_model(model)
    if first_index is not None:
        about["data"]["first_index"] = first_index
    if options.test_out is not None:
        _write_test(options, X_test, y_test)
    save_model(model, options.out, trace=not options.no_path, about=about)
    size = options.out.stat().st_size
    facts = {"model": str(options.out), "bytes": size, "n_atoms": fitted.n_atoms_}
    facts["parameters"] = _chosen(fitted)
    if options.json:
        console.print_json({**facts, **about})
    else:
        _tell(options, facts, about, scores)
    return 0


def _train(classifier: Any, X: Any, y: Any, time_limit: float) -> Any:
    """Give a model fitted to rows."""
    encoder = None if sparse.issparse(X) else TableEncoder()
    numbers = X if encoder is None else encoder.fit_transform(X)
    for note in () if encoder is None else encoder.notes_:
        console.note(note)
    return make_model(encoder, train(clone(classifier), numbers, y, time_limit))


def _split(X: Any, y: Any, options: argparse.Namespace) -> Any:
    values, counts = np.unique(y, return_counts=True)
    n_test = round(options.test_size * len(y))
    if counts.min() < 2:
        raise ValueError(
            f"The class {values[counts.argmin()]!s} has one row only: at least two are needed, "
            "one of them for the test."
        )
    if min(n_test, len(y) - n_test) < len(values):
        raise ValueError(
            f"{len(y)} rows are too few to hold out {options.test_size:g} of them with each of the "
            f"{len(values)} classes on both sides: give more rows or another --test-size."
        )
    parts = train_test_split(
        X, y, test_size=options.test_size, random_state=options.seed, stratify=y
    )
    return parts[0], parts[1], parts[2], parts[3]


def _write_test(options: argparse.Namespace, X: Any, y: Any) -> None:
    if sparse.issparse(X):
        raise ValueError("--test-out writes tables: it can not write sparse rows.")
    write_rows(options.test_out, [X.assign(**{options.target or "y": y})])


def _about(
    options: argparse.Namespace,
    y: Any,
    test: tuple[int, Mapping[str, Score]],
    seconds: float,
) -> dict[str, Any]:
    """Give what travels with the model about its making."""
    values, counts = np.unique(y, return_counts=True)
    class_counts = {str(v): int(n) for v, n in zip(values.tolist(), counts, strict=True)}
    return {
        **({} if options.target is None else {"target": options.target}),
        "data": {"file": options.data.name, "n_samples": len(y), "class_counts": class_counts},
        "test": {"n_samples": test[0], "scores": console.as_data(test[1])},
        "seconds": round(seconds, 4),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fcgboost": version("fcgboost"),
    }


def _chosen(classifier: FCGBoostClassifier) -> dict[str, str]:
    """Give what was chosen, or given, in words."""
    given = {name: str(getattr(classifier, name)) for name in ("dictionary", "loss")}
    return given | {"l2": f"{classifier.l2_:.3g}", "steps": str(classifier.n_iter_)}


def _tell(
    options: argparse.Namespace,
    fitted: Mapping[str, Any],
    about: Mapping[str, Any],
    scores: Mapping[str, Score],
) -> None:
    data = about["data"]
    names = ", ".join(f"{name} ({n})" for name, n in data["class_counts"].items())
    print(f"Fitted {fitted['n_atoms']} atoms to {data['n_samples']} rows: {names}.")
    print(", ".join(f"{name} {value}" for name, value in fitted["parameters"].items()))
    print(f"Took {about['seconds']:.2f} s. On {about['test']['n_samples']} rows held out:\n")
    console.print_scores(scores)
    print(f"\nModel: {fitted['model']} ({fitted['bytes']:,} bytes)")
    seen = "" if options.test_out is None else f" {options.test_out}"
    print(f"Look at it: fcgboost report {fitted['model']}{seen}")
