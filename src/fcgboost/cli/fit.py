"""`fcgboost fit`: from a file to a model, with its scores on rows it has not seen."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcgboost import __version__
from fcgboost.cli import arguments, console
from fcgboost.names import NAMES
from fcgboost.wording import count, number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fcgboost.cli.training import Estimator
    from fcgboost.evaluation import Evaluation
    from fcgboost.residuals import RegressionEvaluation

HELP = "fit a classifier or a regressor to a table"
USAGE = "DATA --target COL [options]"
TEXT = f"""\
Fit a classifier, or a regressor if the target is a quantity, and write it to a file.

{arguments.FORMATS}
Columns may hold numbers, categories, dates and text, and values may be missing. A
fifth of the rows is held out for the scores. --dictionary compact makes a model of
about a tenth of the size; the paper's families (gauss, relu, ...) make sparse ones.

examples:
  fcgboost fit customers.csv --target churned
  fcgboost fit customers.csv --target churned --dictionary compact --test-out test.csv
  fcgboost fit houses.csv --target price --loss absolute_error
  fcgboost fit kunden.csv --target aktiv --encoding cp1252 --thousands . --dayfirst
  fcgboost fit a1a.svm --dictionary gauss --set dictionary__width=2.5 --set l2=0.01
"""

_N_COLUMNS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_data(parser, " (svmlight files have labels)")
    arguments.add_file(
        parser,
        "--out",
        "the model file to write (default: %(default)s)",
        default=Path("model.json"),
    )
    arguments.add_choice(
        parser,
        "--dictionary",
        sorted(NAMES["dictionary"]),
        "the dictionary of atoms (default: %(default)s)",
        "auto",
    )
    arguments.add_task(parser)
    arguments.add_choice(
        parser,
        "--loss",
        sorted({*NAMES["loss"], *NAMES["regression loss"]}),
        "the loss to minimise (default: squared_hinge, or for numbers squared_error)",
    )
    arguments.add_fit(parser)
    parser.add_argument(
        "--no-path", action="store_true", help="save only the last step: a much smaller file"
    )
    parser.add_argument(
        "--refit",
        action="store_true",
        help="after scoring, fit again to all rows, the held-out ones included",
    )
    arguments.add_split(parser, 0.2)
    arguments.add_file(
        parser,
        "--test-out",
        "also write the held-out rows, for evaluate and report (not with svmlight files)",
    )


def run(options: argparse.Namespace) -> None:
    """Fit, score, save, print."""
    from fcgboost.cli import inputs, outputs, training
    from fcgboost.evaluation import evaluate
    from fcgboost.io import save_model
    from fcgboost.rows import ColumnError, write_rows

    import pyarrow as pa  # isort: skip

    files = [options.out, options.test_out]
    outputs.check_outputs(
        files,
        [options.data],
        tables=[options.test_out],
    )
    X, y, reading = inputs.read_labelled(
        options, dict(options.set).get("categorical_features", "from_dtype")
    )
    estimator, y, parts = training.prepared(
        options,
        X,
        y,
    )
    X_train, X_test, y_train, y_test = parts
    if options.test_out is not None and reading["first_index"] is not None:
        raise ValueError(
            f"{options.test_out} cannot be written: the rows of {options.data} are sparse."
        )
    start = time.perf_counter()
    try:
        model, ending = training.train(
            estimator,
            X_train,
            y_train,
        )
        for note in model.notes_:
            console.note(note)
        evaluation = evaluate(
            model,
            X_test,
            y_test,
        )
        if options.refit:
            console.note("Fitting again to all rows; the scores remain those of the first fit.")
            model, ending = training.train(
                estimator,
                X,
                y,
            )
            y_train = y
    except ColumnError as error:
        raise ValueError(f"{options.data}: {error}") from None
    about = _about(
        options,
        reading,
        y_train,
        evaluation,
        seconds=time.perf_counter() - start,
        ending=ending,
    )
    save_model(
        model,
        options.out,
        trace=not options.no_path,
        about=about,
    )
    if options.test_out is not None:
        held_out = inputs.as_written(X_test, reading).assign(**{options.target: y_test})
        write_rows(options.test_out, [pa.Table.from_pandas(held_out, preserve_index=False)])
    if options.json:
        about["test"] |= evaluation.to_dict()
        console.print_json({**_describe_model(model, options.out), **about})
    else:
        _print(
            options,
            model,
            evaluation,
            about,
        )


def _about(
    options: argparse.Namespace,
    reading: dict[str, Any],
    y: NDArray[np.generic],
    evaluation: Evaluation | RegressionEvaluation,
    *,
    seconds: float,
    ending: dict[str, object],
) -> dict[str, Any]:
    """Return what a model was fitted to, its scores on the rows held out, and how the fit ended."""
    test = evaluation.to_dict()
    return {
        "target": options.target,
        "data": {
            "file": options.data.name,
            "n_samples": len(y),
            **_spread_of(y, evaluation),
            "reading": reading,
        },
        "test": {
            "n_samples": len(evaluation),
            "scores": test["scores"],
            "baseline": test["baseline"],
        },
        "seconds": seconds,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fcgboost": __version__,
        "ended": ending,
    }


def _spread_of(
    y: NDArray[np.generic], evaluation: Evaluation | RegressionEvaluation
) -> dict[str, object]:
    """Return the quartiles of numbers, or the number of rows of every class."""
    import numpy as np

    from fcgboost.residuals import RegressionEvaluation

    if isinstance(evaluation, RegressionEvaluation):
        quartiles = np.quantile(
            y.astype(np.float64),
            np.linspace(
                0.0,
                1.0,
                5,
            ),
        )
        return {"quartiles": quartiles.tolist()}
    classes, counts = np.unique(y, return_counts=True)
    return {
        "class_counts": dict(
            zip(
                map(str, classes.tolist()),
                counts.tolist(),
                strict=True,
            )
        )
    }


def _describe_model(model: Estimator, out: Path) -> dict[str, Any]:
    """Return how large a model is, and which parameters were given or chosen."""
    chosen = [
        {
            "weight": member.weight,
            "l2": member.l2,
            "steps": member.n_iter,
        }
        for member in model.members_
    ]
    return {
        "model": str(out),
        "bytes": out.stat().st_size,
        "n_atoms": model.n_atoms_,
        "parameters": {
            "dictionary": str(model.dictionary),
            "loss": str(model.loss),
        },
        "members": chosen,
        "findings": [asdict(finding) for finding in model.findings_],
    }


def _print(
    options: argparse.Namespace,
    model: Estimator,
    evaluation: Evaluation | RegressionEvaluation,
    about: dict[str, Any],
) -> None:
    from fcgboost.inspection import ridge_of

    data = about["data"]
    ended = about["ended"]
    console.say(f"Fitted {model.n_atoms_} atoms to {data['n_samples']:,} rows: {_spread(data)}.")
    ridge = ridge_of(model.members_)
    console.say(f"Dictionary {model.dictionary}, loss {model.loss}, ridge penalty {ridge}.")
    description = model.describe()
    if description.is_average:
        console.say(description.averaging)
    steps = count(ended["steps"], "step")
    console.say(f"{steps} in {ended['seconds']:.2f} s. {ended['reason']}")
    console.say(f"\nOn {count(len(evaluation), 'held-out row')}\n{evaluation}")
    if "feature_names_in_" in vars(model):
        console.say(f"\n{description.influence_text(_N_COLUMNS)}")
    console.say(f"\nModel: {options.out} ({options.out.stat().st_size:,} bytes)")
    following = f"inspect {options.out}"
    if options.test_out is not None:
        following = f"report {options.out} {options.test_out}"
    console.say(f"Next: fcgboost {following}")


def _spread(data: dict[str, Any]) -> str:
    """Return how many rows each class has, or what the quartiles of numbers are."""
    if "class_counts" in data:
        return ", ".join(f"{name} ({n:,})" for name, n in data["class_counts"].items())
    least, low, middle, high, most = map(number, data["quartiles"])
    return f"from {least} to {most}, half of them between {low} and {high}, median {middle}"
