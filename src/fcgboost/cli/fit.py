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
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, FCGBoostClassifierCV, theory_steps
from fcgboost.cli import console
from fcgboost.cli.arguments import (
    FORMATS,
    add_command,
    add_data,
    add_json,
    add_split,
    add_target,
    setting,
)
from fcgboost.io import make_model, save_model
from fcgboost.readers import read_table, write_rows
from fcgboost.scores import Score, evaluate
from fcgboost.tables import TableEncoder
from fcgboost.validation import FAMILIES

_TEXT = f"""\
Fit a classifier to the rows of a file and write it to a model file.

{FORMATS}
Text columns become categories, missing values are filled and marked; the model
file holds all of that. A part of the rows is held out, and the scores printed are
those on it. Rows whose target is missing are left out. --auto chooses dictionary
and number of steps by cross-validation and takes longer.

examples:
  fcgboost fit customers.csv --target churned
  fcgboost fit customers.csv --target churned --auto --out churn.json
  fcgboost fit customers.csv --target churned --test-out test.csv
  fcgboost fit train.parquet --target y --drop id --dictionary relu --json
  fcgboost fit a1a.svm --dictionary gauss --set dictionary__width=2.5 --set l2=0.01
"""
# A number in this many different values is a quantity, not a class.
_MANY_CLASSES = 100


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
    parser.add_argument(
        "--dictionary",
        choices=sorted(FAMILIES["dictionary"][1]),
        help="the kind of atoms (default: gauss; with --auto: all are tried)",
    )
    parser.add_argument("--loss", choices=sorted(FAMILIES["loss"][1]), default="squared_hinge")
    parser.add_argument(
        "--auto", action="store_true", help="choose dictionary and steps by cross-validation"
    )
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
        help="any parameter of FCGBoostClassifier (with --auto: of FCGBoostClassifierCV)",
    )
    parser.add_argument(
        "--no-path",
        action="store_true",
        help="leave the steps before the last out of the file, which becomes much smaller",
    )
    add_split(parser, 0.2)
    parser.add_argument(
        "--test-out",
        type=Path,
        metavar="FILE",
        help="also write the rows held out, for evaluate and report (not for svmlight files)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Fit, score, save, tell."""
    X, y = read_rows(options)
    X_train, X_test, y_train, y_test = _split(X, y, options)
    if options.test_out is not None:
        _write_test(options, X_test, y_test)
    encoder = None if sparse.issparse(X) else TableEncoder()
    classifier = _make_classifier(options)
    start = time.perf_counter()
    numbers = X_train if encoder is None else encoder.fit_transform(X_train)
    _fit(classifier, numbers, y_train)
    seconds = time.perf_counter() - start
    model = make_model(encoder, classifier)
    scores = evaluate(model, X_test, y_test)
    about = _about(options, y_train, (len(y_test), scores), seconds)
    save_model(model, options.out, trace=not options.no_path, about=about)
    size = options.out.stat().st_size
    fitted = {"model": str(options.out), "bytes": size, "n_atoms": classifier.n_atoms_}
    if options.json:
        console.print_json({**fitted, "parameters": _chosen(classifier), **about})
    else:
        _tell(classifier, fitted, about, scores)
    return 0


def read_rows(options: argparse.Namespace) -> tuple[Any, Any]:
    """Read the rows a command is to learn from, and their classes."""
    X, y = read_table(options.data, options.target)
    if options.drop:
        names = [str(name) for name in getattr(X, "columns", ())]
        for name in options.drop:
            if name not in names:
                raise ValueError(f"--drop {name}: the columns are {', '.join(names) or 'unnamed'}.")
        X = X.drop(columns=options.drop)
    is_there = _is_there(y)
    if not is_there.all():
        console.note(f"{int((~is_there).sum())} rows without a target are left out.")
        X, y = X[is_there], y[is_there]
    return X, _classes_of(y, options.target)


def _is_there(y: Any) -> Any:
    return np.array([value is not None and value == value for value in y])


def _classes_of(y: Any, target: str | None) -> Any:
    """Give the labels as an array whose type is that of the values that are there."""
    labels = np.asarray(list(y))
    if labels.dtype.kind == "f" and (labels == np.floor(labels)).all():
        # Whole numbers that were read as floats because some were missing.
        labels = labels.astype(np.int64)
    n_classes = len(np.unique(labels))
    name = "The target" if target is None else f"The target {target!r}"
    if n_classes < 2:
        raise ValueError(f"{name} has one value only: there is nothing to tell apart.")
    if labels.dtype.kind in "iuf" and n_classes > _MANY_CLASSES:
        raise ValueError(
            f"{name} has {n_classes} different numbers, which looks like a quantity: fcgboost "
            "tells classes apart. Cut it into a few classes first."
        )
    return labels


def _split(X: Any, y: Any, options: argparse.Namespace) -> Any:
    values, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"The class {values[counts.argmin()]!s} has one row only: at least two are needed, "
            "one of them for the test."
        )
    parts = train_test_split(
        X, y, test_size=options.test_size, random_state=options.seed, stratify=y
    )
    return parts[0], parts[1], parts[2], parts[3]


def _write_test(options: argparse.Namespace, X: Any, y: Any) -> None:
    if sparse.issparse(X):
        raise ValueError("--test-out writes tables: it can not write sparse rows.")
    write_rows(options.test_out, [X.assign(**{options.target or "y": y})])


def _make_classifier(options: argparse.Namespace) -> Any:
    given: dict[str, Any] = {"loss": options.loss, "random_state": options.seed}
    if not options.auto:
        classifier: Any = FCGBoostClassifier(options.dictionary or "gauss", **given)
    elif options.dictionary is None:
        classifier = FCGBoostClassifierCV(**given)
    else:
        classifier = FCGBoostClassifierCV([options.dictionary], **given)
    return classifier.set_params(**dict(options.set))


def _fit(classifier: Any, X: Any, y: Any) -> None:
    if isinstance(classifier, FCGBoostClassifierCV):
        console.note("Choosing dictionary and steps by cross-validation.")
        classifier.fit(X, y)
        return
    with console.progress("Fitting") as show:
        n_steps = _n_steps(classifier, len(y))
        classifier.set_callbacks(lambda step: show(step, n_steps))
        classifier.fit(X, y)
        classifier.set_callbacks()


def _n_steps(classifier: FCGBoostClassifier, m: int) -> int:
    k0, limit = theory_steps(m), classifier.max_iter
    # Any other word is refused by the fit.
    return limit if isinstance(limit, int) else {"auto": 5 * k0}.get(limit, k0)


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


def _chosen(classifier: Any) -> dict[str, str]:
    """Give what was chosen, or given, in words."""
    if isinstance(classifier, FCGBoostClassifierCV):
        return {name: str(value) for name, value in classifier.best_params_.items()}
    names = ("dictionary", "loss", "l2")
    return {name: str(getattr(classifier, name)) for name in names} | {
        "max_iter": str(classifier.n_iter_)
    }


def _tell(
    classifier: Any,
    fitted: Mapping[str, Any],
    about: Mapping[str, Any],
    scores: Mapping[str, Score],
) -> None:
    data = about["data"]
    names = ", ".join(f"{name} ({n})" for name, n in data["class_counts"].items())
    print(f"Fitted {fitted['n_atoms']} atoms to {data['n_samples']} rows: {names}.")
    print(f"{', '.join(f'{name} {value}' for name, value in _chosen(classifier).items())}")
    print(f"Took {about['seconds']:.2f} s. On {about['test']['n_samples']} rows held out:\n")
    console.print_scores(scores)
    print(f"\nModel: {fitted['model']} ({fitted['bytes']:,} bytes)")
    print(f"Look at it: fcgboost report {fitted['model']}")
