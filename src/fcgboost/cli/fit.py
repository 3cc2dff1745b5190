"""`fcgboost fit`: from a file to a model, with its scores on rows it has not seen."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcgboost import __version__
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
from fcgboost.names import NAMES

if TYPE_CHECKING:
    from fcgboost.scores import Score

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
        help="end the whole fit after about so long with the steps it has; 0: none "
        "(default: %(default)g)",
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
        type=str.lower,
        choices=sorted(NAMES["dictionary"]),
        default="auto",
        help="the kind of atoms (default: %(default)s)",
    )
    parser.add_argument(
        "--loss", type=str.lower, choices=sorted(NAMES["loss"]), default="squared_hinge"
    )
    parser.add_argument(
        "--removal",
        type=removal,
        metavar="SHARE",
        help='let atoms leave again, for a smaller model: "backward", or the share of what a '
        "step gains that they may cost (default: they stay, but may leave a compact model)",
    )
    parser.add_argument(
        "--multiclass",
        type=str.lower,
        choices=("one_vs_rest", "shared"),
        default="one_vs_rest",
        help="of three or more classes: own atoms for each, or the same for all "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--link",
        type=str.lower,
        choices=("auto", "theory", "power"),
        default="auto",
        help='what gives probabilities: the loss ("theory"), or a curve fitted to rows set aside '
        '("power"; default: power for auto and compact where rows are set aside, else theory)',
    )


def run(options: argparse.Namespace) -> int:
    """Fit, score, save, tell."""
    from fcgboost.cli import rows, training, writing
    from fcgboost.io import save_model, split_model
    from fcgboost.scores import evaluate

    outputs = [options.out, options.test_out]
    writing.check_outputs(outputs, [options.data], tables=[options.test_out])
    classifier = training.make_classifier(options)
    X, y, first_index = rows.read_rows(options, table=options.test_out)
    X_train, X_test, y_train, y_test = training.split(X, y, options)
    start = time.perf_counter()
    model, ending = training.train(classifier, X_train, y_train, options.time_limit)
    scores = evaluate(model, X_test, y_test)
    if options.refit:
        console.note("Fitting again to all rows; the scores are those of the first fit.")
        model, ending = training.train(classifier, X, y, options.time_limit)
        y_train = y
    about = _about(options, y_train, (len(y_test), scores), time.perf_counter() - start)
    about["ended"] = ending
    if first_index is not None:
        about["data"]["first_index"] = first_index
    save_model(model, options.out, trace=not options.no_path, about=about)
    if options.test_out is not None:
        import pyarrow as pa

        held_out = X_test.assign(**{options.target or "y": y_test})
        table = pa.Table.from_pandas(held_out, preserve_index=False)
        writing.write_rows(options.test_out, [table])
    facts = {"model": str(options.out), **_facts(split_model(model)[1], options.out)}
    if options.json:
        console.print_json({**facts, **about})
    else:
        _tell(options, facts, about, scores)
    return 0


def _about(
    options: argparse.Namespace,
    y: Any,
    test: tuple[int, Mapping[str, Score]],
    seconds: float,
) -> dict[str, Any]:
    """Return what travels with the model about its making."""
    import numpy as np

    values, counts = np.unique(y, return_counts=True)
    class_counts = {str(v): int(n) for v, n in zip(values.tolist(), counts, strict=True)}
    return {
        **({} if options.target is None else {"target": options.target}),
        "data": {"file": options.data.name, "n_samples": len(y), "class_counts": class_counts},
        "test": {"n_samples": test[0], "scores": console.as_data(test[1])},
        "seconds": seconds,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fcgboost": __version__,
    }


def _facts(classifier: Any, out: Path) -> dict[str, Any]:
    """Return how large a model is, and what was chosen, or given."""
    chosen = {name: str(getattr(classifier, name)) for name in ("dictionary", "loss")}
    chosen |= {"l2": classifier.l2_, "steps": classifier.n_iter_}
    return {"bytes": out.stat().st_size, "n_atoms": classifier.n_atoms_, "parameters": chosen}


def _tell(
    options: argparse.Namespace,
    fitted: Mapping[str, Any],
    about: Mapping[str, Any],
    scores: Mapping[str, Score],
) -> None:
    data = about["data"]
    names = ", ".join(f"{name} ({n})" for name, n in data["class_counts"].items())
    print(f"Fitted {fitted['n_atoms']} atoms to {data['n_samples']} rows: {names}.")
    chosen = {**fitted["parameters"], "l2": f"{fitted['parameters']['l2']:.3g}"}
    print(", ".join(f"{name} {value}" for name, value in chosen.items()))
    ended = about["ended"]
    steps = "1 step" if ended["steps"] == 1 else f"{ended['steps']} steps"
    n_cut = len(ended["cut_by_time_limit"])
    cut = f" The time limit cut {n_cut} of its paths short." if n_cut else ""
    print(f"Ended after {ended['seconds']:.2f} s and {steps}: {ended['reason']}{cut}")
    print(f"On {about['test']['n_samples']} rows held out:\n")
    console.print_scores(scores)
    print(f"\nModel: {fitted['model']} ({fitted['bytes']:,} bytes)")
    seen = "" if options.test_out is None else f" {options.test_out}"
    print(f"Look at it: fcgboost report {fitted['model']}{seen}")
