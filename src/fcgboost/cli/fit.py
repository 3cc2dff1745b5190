"""`fcgboost fit`: from a file to a model, with its scores on rows it has not seen."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fcgboost import __version__
from fcgboost.cli import arguments, console
from fcgboost.names import NAMES

HELP = "fit a classifier to a table"
USAGE = "DATA --target COL [options]"
TEXT = f"""\
Fit a classifier to a table and write it to a model file.

{arguments.FORMATS}
Columns may hold numbers, categories, dates and text, and values may be missing. A
fifth of the rows is held out: the baseline, the scores and the confusion matrix are
those of the held-out rows. Rows without a target are skipped. The ridge penalty and
the number of steps are chosen on validation rows. --dictionary compact makes a model
of about a tenth of the size; the paper's families (gauss, relu, ...) make sparse ones.

examples:
  fcgboost fit customers.csv --target churned
  fcgboost fit customers.csv --target churned --dictionary compact --test-out test.csv
  fcgboost fit kunden.csv --target aktiv --encoding cp1252 --thousands . --dayfirst
  fcgboost fit train.parquet --target y --drop id --dictionary relu --json
  fcgboost fit a1a.svm --dictionary gauss --set dictionary__width=2.5 --set l2=0.01
  fcgboost fit train.parquet --target y --set 'class_weight={{"0": 1, "1": 5}}'
"""

_N_COLUMNS = 8


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    arguments.add_data(parser, " (svmlight files have labels)")
    help_ = "the model file to write (default: %(default)s)"
    parser.add_argument("--out", **arguments.FILE, help=help_, default="model.json")
    _add_parts(parser)
    arguments.add_repeated(parser, "--drop", "COL", "a column to leave out, such as a row number")
    help_ = "a parameter of FCGBoostClassifier"
    arguments.add_repeated(parser, "--set", "NAME=VALUE", help_, arguments.setting)
    help_ = "save only the last step: a much smaller file"
    parser.add_argument("--no-path", action="store_true", help=help_)
    help_ = "fit for about this long, with more steps if there is time (default: no limit)"
    parser.add_argument("--time-limit", type=arguments.seconds, metavar="SECONDS", help=help_)
    help_ = "after scoring, fit again to all rows, the held-out ones included"
    parser.add_argument("--refit", action="store_true", help=help_)
    arguments.add_split(parser, 0.2)
    help_ = "also write the held-out rows, for evaluate and report (not with svmlight files)"
    parser.add_argument("--test-out", **arguments.FILE, help=help_)


def _add_parts(parser: Any) -> None:
    help_ = "the dictionary of atoms (default: %(default)s)"
    arguments.add_choice(parser, "--dictionary", sorted(NAMES["dictionary"]), help_, "auto")
    help_ = "the loss to minimise (default: %(default)s)"
    arguments.add_choice(parser, "--loss", sorted(NAMES["loss"]), help_, "squared_hinge")
    help_ = "remove superfluous atoms: backward, or the share of a step's gain that a removal may "
    help_ += "cost (default: none are removed, except in a compact model)"
    parser.add_argument("--removal", type=arguments.removal, metavar="SHARE", help=help_)
    help_ = "how decision values become probabilities: theory, by the loss, or power, by a curve "
    help_ += "fitted to validation rows (default: power for auto and compact, else theory)"
    arguments.add_choice(parser, "--link", ("auto", "theory", "power"), help_, "auto")


def run(options: argparse.Namespace) -> None:
    """Fit, score, save, print."""
    from fcgboost.cli import quality, rows, training, writing
    from fcgboost.io import save_model

    outputs = [options.out, options.test_out]
    writing.check_outputs(outputs, [options.data], tables=[options.test_out])
    classifier = training.make_classifier(options)
    listed = classifier.categorical_features
    X, y, first_index = rows.read_rows(options, table=options.test_out, categories=listed)
    training.name_classes(classifier, y)
    X_train, X_test, y_train, y_test = training.split(X, y, options)
    start = time.perf_counter()
    model, ending = training.train(classifier, X_train, y_train, options.time_limit)
    judged = quality.judge(model, model.decision_function(X_test), y_test)
    if options.refit:
        console.note("Fitting again to all rows; the scores remain those of the first fit.")
        model, ending = training.train(classifier, X, y, options.time_limit)
        y_train = y
    test = judged.to_dict()
    about = {
        **({} if options.target is None else {"target": options.target}),
        "data": _describe_data(options.data, y_train, first_index),
        "test": {"n_samples": len(y_test), **{key: test[key] for key in ("scores", "baseline")}},
        "seconds": time.perf_counter() - start,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fcgboost": __version__,
        "ended": ending,
    }
    save_model(model, options.out, trace=not options.no_path, about=about)
    if options.test_out is not None:
        import pyarrow as pa

        held_out = X_test.assign(**{options.target or "y": y_test})
        table = pa.Table.from_pandas(held_out, preserve_index=False)
        writing.write_rows(options.test_out, [table])
    facts = {"model": str(options.out), **_facts(model, options.out), **about}
    if options.json:
        console.print_json({**facts, "test": {**about["test"], **test}})
    else:
        _print(options, facts, judged, model)


def _describe_data(path: Path, y: Any, first_index: int | None) -> dict[str, Any]:
    import numpy as np

    values, counts = np.unique(y, return_counts=True)
    class_counts = {str(v): int(n) for v, n in zip(values.tolist(), counts, strict=True)}
    data = {"file": path.name, "n_samples": len(y), "class_counts": class_counts}
    return data if first_index is None else {**data, "first_index": first_index}


def _facts(classifier: Any, out: Path) -> dict[str, Any]:
    """Return how large a model is, and which parameters were chosen or given."""
    chosen = {name: str(getattr(classifier, name)) for name in ("dictionary", "loss")}
    chosen |= {"l2": classifier.l2_, "steps": classifier.n_iter_}
    return {"bytes": out.stat().st_size, "n_atoms": classifier.n_atoms_, "parameters": chosen}


def _print(options: argparse.Namespace, facts: dict[str, Any], judged: Any, model: Any) -> None:
    from fcgboost.cli.quality import print_influence

    data, ended, chosen = facts["data"], facts["ended"], facts["parameters"]
    names = ", ".join(f"{name} ({n:,})" for name, n in data["class_counts"].items())
    console.say(f"Fitted {facts['n_atoms']} atoms to {data['n_samples']:,} rows: {names}.")
    parts = f"Dictionary {chosen['dictionary']}, loss {chosen['loss']}"
    console.say(f"{parts}, ridge penalty {chosen['l2']:.3g}.")
    steps = "1 step" if ended["steps"] == 1 else f"{ended['steps']} steps"
    console.say(f"{steps} in {ended['seconds']:.2f} s. {ended['reason']}")
    console.say(f"\nOn {facts['test']['n_samples']:,} held-out rows:")
    judged.print()
    if "feature_names_in_" in vars(model):
        print_influence(model.feature_names_in_, model.feature_importances_, _N_COLUMNS)
    console.say(f"\nModel: {facts['model']} ({facts['bytes']:,} bytes)")
    rows = "" if options.test_out is None else f" {options.test_out}"
    console.say(f"Next: fcgboost report {facts['model']}{rows}")
