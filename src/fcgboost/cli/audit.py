"""`fcgboost audit`: which labels of a table are probably wrong, why, and how many are."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fcgboost.cli import arguments, console
from fcgboost.wording import count, shortened

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from fcgboost import Audit, FCGBoostClassifier
    from fcgboost.label_noise import WrongLabels

HELP = "find labels that are probably wrong"
USAGE = "DATA --target COL [options]"
TEXT = f"""\
Find labels that are probably wrong, say why, and estimate how many are.

{arguments.FORMATS}
The default classifier is fitted in folds, and models that have not seen a row judge its
label. A suspicious label need not be wrong: look at the row before you change it.
Labels that you have checked go into a column that --trusted names.

examples:
  fcgboost audit customers.csv --target churned
  fcgboost audit customers.csv --target churned --out suspects.csv --keep customer_id
  fcgboost audit customers.csv --target churned --report audit.html --trusted checked
"""

# What a mark of certain labels may say.
_CERTAIN = {"1", "1.0", "true", "yes"}
_UNCERTAIN = {"0", "0.0", "false", "no", "", "nan"}
# The columns of the result.
_COLUMNS = {
    *("row", "line", "given_label", "predicted_label", "label_quality", "label_probability"),
    "reasons",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_data(parser, " (svmlight files have labels)")
    parser.add_argument(
        "--top",
        type=arguments.count,
        default=50,
        metavar="N",
        help="how many suspicious rows to explain and write at most (default: %(default)s)",
    )
    arguments.add_file(parser, "--out", "a file of suspicious rows to write, .csv or .parquet")
    arguments.add_file(parser, "--report", "an HTML page to write")
    arguments.add_repeated(
        parser,
        "--keep",
        "COL",
        "a column of DATA to copy into the results, such as an id",
    )
    parser.add_argument(
        "--escape-formulas",
        action="store_true",
        help="put an apostrophe before texts that spreadsheets would run as formulas",
    )
    parser.add_argument(
        "--trusted",
        metavar="COL",
        help="a column that marks certain labels: 1, true or yes; it is not used as a feature",
    )
    parser.add_argument(
        "--groups",
        metavar="COL",
        help="a column whose equal rows are judged together; it is not used as a feature",
    )
    arguments.add_fit(parser)
    arguments.add_seed(parser, "the folds and of the fit")


@dataclass(frozen=True, eq=False)
class _Labelled:
    """The rows that have labels, and what the file says of them besides."""

    X: pd.DataFrame
    y: NDArray[np.generic]
    #: Their numbers in the file, from 1, and its lines, unless it has none.
    names: dict[str, NDArray[np.intp]]
    #: Columns as the file has them; None of sparse rows.
    cells: pa.Table | None

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, without spaces around them."""
        assert self.cells is not None
        values = self.cells[column].to_pylist()
        return ["" if value is None else str(value).strip() for value in values]


def run(options: argparse.Namespace) -> None:
    """Read, fit in folds, write, print."""
    from fcgboost.auditing import set_folds
    from fcgboost.cli import outputs, training
    from fcgboost.rows import ColumnError

    files = [options.out, options.report]
    outputs.check_outputs(files, [options.data], tables=[options.out])
    for name in options.keep:
        if name in _COLUMNS:
            raise ValueError(f"--keep {name}: the result has a column of that name already.")
    classifier = training.make_classifier(options)
    rows = _read(options, classifier)
    training.name_classes(classifier, rows.y)
    set_folds(classifier, rows.X, rows.y)
    try:
        model, _ = training.train(
            classifier,
            rows.X,
            rows.y,
            groups=None if options.groups is None else _groups(options, rows),
            trusted=None if options.trusted is None else _trusted(options, rows),
        )
    except ColumnError as error:
        raise ValueError(f"{options.data}: {error}") from None
    _write(options, model.audit(rows.X, rows.y), rows)


def _read(options: argparse.Namespace, classifier: FCGBoostClassifier) -> _Labelled:
    from fcgboost.cli.inputs import labelled_rows
    from fcgboost.rows import open_rows

    import numpy as np  # isort: skip

    aside = [name for name in (options.trusted, options.groups) if name is not None]
    with open_rows(
        options.data, format=options.format, **arguments.reading_options(options)
    ) as opened:
        opened.check_columns([*options.keep, *aside])
        X, y = labelled_rows(
            opened,
            options,
            classifier.categorical_features,
            aside,
        )
        cells = None
        n_rows = len(y)
        positions = np.arange(n_rows)
        if opened.matrix is None:
            # Also of rows without a label, which tell how many rows there are.
            [(_, cells)] = opened.batches({}, [options.target, *options.keep, *aside], None)
            n_rows = cells.num_rows
            positions = X.index.to_numpy()
            cells = cells.take(positions)
        names = {"row": positions + 1}
        lines = np.array(opened.lines(), dtype=np.intp)
        if len(lines) == n_rows:
            names["line"] = lines[positions]
    return _Labelled(
        X,
        y,
        names,
        cells,
    )


def _trusted(options: argparse.Namespace, rows: _Labelled) -> NDArray[np.bool_]:
    """Return which labels a column marks as certain."""
    import numpy as np

    texts = rows.texts(options.trusted)
    for row, text in zip(rows.names["row"], texts, strict=True):
        if text.lower() not in _CERTAIN | _UNCERTAIN:
            raise ValueError(
                f"{options.data}, row {row}, column {options.trusted!r}: {text!r} does not say "
                "whether the label is certain. Write 1, true or yes; or 0, false, no or nothing."
            )
    return np.array([text.lower() in _CERTAIN for text in texts])


def _groups(options: argparse.Namespace, rows: _Labelled) -> NDArray[np.generic]:
    """Return the group of every row."""
    import numpy as np

    texts = rows.texts(options.groups)
    if "" in texts:
        row = rows.names["row"][texts.index("")]
        raise ValueError(
            f"{options.data}, row {row}, column {options.groups!r}: there is no group. Fill it in."
        )
    return np.array(texts)


def _write(options: argparse.Namespace, audit: Audit, rows: _Labelled) -> None:
    """Write the files that are asked for, and print the result."""
    from fcgboost.rows import write_rows
    from fcgboost.rows.writing import without_formulas

    kept = {name: rows.cells[name] for name in options.keep} if rows.cells is not None else {}
    written = []
    if options.out is not None or options.json:
        table = _suspects(audit, rows, kept, options.top)
    if options.out is not None:
        shown = without_formulas(table) if options.escape_formulas else table
        n_rows = write_rows(options.out, [shown])
        written.append(f"Suspicious rows: {options.out} ({count(n_rows, 'row')})")
    if options.report is not None:
        named = {name: column.to_pylist() for name, column in kept.items()}
        what = "the labels" if options.target is None else shortened(options.target)
        audit.report(
            options.report,
            title=f"An audit of {what} in {options.data.name}",
            top=options.top,
            rows={**rows.names, **named},
        )
        written.append(f"Report: {options.report}")
    if not written and len(audit.suspects):
        written.append("For more, with reasons, add --out suspects.csv or --report audit.html.")
    if options.json:
        suspects = table.to_pylist()
        for suspect in suspects:
            # Such as dates, which JSON does not know.
            suspect |= {name: str(suspect[name]) for name in kept if suspect[name] is not None}
        console.print_json({**_facts(audit), "suspects": suspects})
    else:
        console.say("\n".join([audit.summary(rows.names["row"]), "", *written]).rstrip())


def _suspects(audit: Audit, rows: _Labelled, kept: dict[str, Any], top: int) -> pa.Table:
    """Return the most suspicious rows, with reasons."""
    import pyarrow as pa

    suspects = audit.suspects[:top]
    judged = audit.to_frame().drop(columns="is_label_issue").iloc[suspects]
    columns: dict[str, Any] = {name: numbers[suspects] for name, numbers in rows.names.items()}
    columns |= {name: column.take(suspects) for name, column in kept.items()}
    columns |= {name: pa.array(judged[name], from_pandas=True) for name in judged}
    columns["reasons"] = pa.array(audit.reasons_of(suspects), pa.string())
    return pa.table(columns)


def _facts(audit: Audit) -> dict[str, Any]:
    return {
        "n_rows": len(audit.label_quality),
        "n_suspicious": len(audit.suspects),
        "wrong": _share(audit.wrong),
        "wrong_by_class": {str(k): _share(wrong) for k, wrong in audit.wrong_by_class.items()},
        "findings": [asdict(finding) for finding in audit.findings],
    }


def _share(wrong: WrongLabels) -> dict[str, Any]:
    return {**wrong._asdict(), "is_known": wrong.is_known}
