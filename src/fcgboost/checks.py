"""Validation of the user's input, once, before any work."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _get_feature_names, column_or_1d, validate_data

from fcgboost.arrays import (
    Array,
    ClassLabels,
    Codes,
    Labels,
    Matrix,
    Rows,
    Tensor,
    Weights,
    is_sparse,
    is_tensor,
    namespace,
)
from fcgboost.clipping import FAR, NEAR
from fcgboost.findings import Finding
from fcgboost.tables.cells import is_missing
from fcgboost.tables.columns import Column, NumberColumn, SkippedColumn
from fcgboost.tables.inputs import are_plain, audience_of
from fcgboost.tables.learning import IDS, LearnedColumn, learn_column, row_number, wanted_kinds
from fcgboost.tables.opening import (
    OpenedTable,
    as_array,
    closest,
    frame_names,
    is_frame,
    is_table,
    open_table,
)

#: A score of an estimator on rows and labels, larger is better.
Scorer = Callable[..., float]
#: The parameters of an estimator with several forms.
Metrics = str | Scorer | Sequence[str] | Mapping[str, str | Scorer] | None
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
RandomState = int | np.random.RandomState | None

#: Weights with a smaller mean are hardly meant as counts.
_LEAST_COUNT = 0.5
# A prediction may be larger by a factor.
_LARGEST_TARGET = 1e305
_LARGEST_WEIGHT = 1e75  # its inverse is the smallest positive one

_FLOATS = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}

_IMPUTE = "impute such values (for example with sklearn.impute.SimpleImputer) or drop the row"


def check_number(
    name: str,
    value: Any,
    low: float,
    *,
    strict: bool = False,
    whole: bool = False,
    words: Sequence[str | bool | None] = (),
) -> None:
    """Raise a ValueError unless a parameter is a finite number and large enough, or a word."""
    if isinstance(value, str | bool | None) and value in words:
        return
    kind = numbers.Integral if whole else numbers.Real
    is_number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    value = value.item() if isinstance(value, np.generic) else value
    high = 2**31 - 1 if whole else float(np.finfo(np.float64).max)
    if is_number and (value > low if strict else value >= low) and value <= high:
        return
    bound = f" {'greater than' if strict else 'of at least'} {low:g}" if np.isfinite(low) else ""
    bound = f" of at most {high:,}" if is_number and value > high else bound
    raise ValueError(f"{name} must be a {'whole ' * whole}number{bound}, got {value!r}.")


def check_word(name: str, value: object, words: Sequence[str | bool]) -> None:
    """Raise a ValueError unless a parameter is one of the given strings or booleans."""
    if not (isinstance(value, str | bool | np.bool_) and value in words):
        raise ValueError(f"{name} must be one of {list(words)}, got {value!r}.")


def named_metrics(metrics: Metrics) -> dict[str, str | Scorer]:
    """Return scores by name, from any form that scikit-learn's `cross_validate` accepts."""
    if callable(metrics):
        return {"score": metrics}
    names = [metrics] if isinstance(metrics, str) else metrics or ()
    if isinstance(names, Mapping | list | tuple) and all(isinstance(name, str) for name in names):
        return dict(names) if isinstance(names, Mapping) else {name: name for name in names}
    raise ValueError(
        "metrics must be None, the name of a scikit-learn score, a function, a list of names, or a "
        f"dict from names to names or functions, got {metrics!r}."
    )


def to_host(values: Any) -> Any:
    """Return a torch tensor as a NumPy array, anything else unchanged."""
    return values.detach().cpu().numpy() if is_tensor(values) else values


def draw_key(random_state: RandomState) -> int:
    """Return the seed of all draws of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_matrix(estimator: BaseEstimator, X: Rows, *, reset: bool, name: str = "X") -> Matrix:
    """Return X as a float array or canonical CSR matrix, finite except for NaN where allowed.

    A table becomes one number per cell. With `reset`, how its columns are read is stored as
    `_table_columns_`; None stands for plain numbers.
    """
    X = as_array(to_host(X))
    table_columns = None if reset else estimator._table_columns_
    is_read = table_columns is not None or is_table(X)
    if is_read or (reset and (lists_categories(estimator) or _has_row_number(X))):
        return _check_table(
            estimator,
            X,
            reset,
            table_columns,
        )
    if reset:
        left_out_of(estimator, frame_names(X))
        keep_table_columns(estimator, [])
    X = validate_data(
        estimator,
        X,
        reset=reset,
        ensure_min_samples=2 if reset else 1,
        **_FLOATS,
    )
    names = getattr(estimator, "feature_names_in_", None)
    allows_missing = reset or name != "X" or takes_missing(estimator)
    return _checked(
        X,
        name,
        names,
        allows_missing,
    )


def check_same_columns(estimator: BaseEstimator, X: Rows) -> None:
    """Raise a ValueError if validation and training rows have different columns."""
    n_columns = estimator.n_features_in_
    has_shape = len(getattr(X, "shape", ())) > 1
    here = _describe_columns(X.shape[1] if has_shape else n_columns, _get_feature_names(X))
    there = _describe_columns(n_columns, getattr(estimator, "feature_names_in_", None))
    if here != there:
        raise ValueError(
            f"X_val has {here:.99}, but X has {there:.99}. A Pipeline does not transform X_val: "
            "pass X_val=pipe[:-1].fit(X, y).transform(X_val), or use "
            "Pipeline(steps, transform_input=['X_val']) with set_fit_request(X_val=True, "
            "y_val=True) and sklearn.set_config(enable_metadata_routing=True)."
        )


def _describe_columns(n_columns: int, names: ClassLabels | None) -> str:
    label = "without names" if names is None else f"named {names.tolist()}"
    return f"{n_columns} columns {label}"


def _check_table(
    estimator: BaseEstimator, X: Rows, reset: bool, table_columns: Sequence[Column] | None
) -> Array:
    table = open_table(X, min_rows=2 if reset else 1)
    validate_data(
        estimator,
        X,
        reset=reset,
        skip_check_array=True,
    )
    if not reset:
        plain = [NumberColumn(name, stray_text=estimator.stray_text) for name in table.columns]
        return read_columns(table, table_columns or plain)
    kinds = wanted_kinds(estimator.categorical_features, list(table.columns), table.has_names)

    def learn(leaves_out: Mapping[str, Collection[str]]) -> list[LearnedColumn]:
        return [
            learn_column(
                name,
                values,
                kind,
                estimator.dayfirst,
                estimator.stray_text,
                leaves_out.get(name, ()),
            )
            for (name, values), kind in zip(table.columns.items(), kinds, strict=True)
        ]

    learned = learn(left_out_of(estimator, frame_names(X)))
    if all(isinstance(column, SkippedColumn) for column, _, _ in learned):
        learned = learn({})
    keep_table_columns(estimator, [(column, findings) for column, _, findings in learned])
    return np.column_stack([numbers for _, numbers, _ in learned])


def left_out_of(estimator: BaseEstimator, names: Sequence[str]) -> dict[str, Collection[str]]:
    """Return what is left out of each column of a frame, if it is that: ids, for example."""
    kept = [] if estimator.keep_columns is None else estimator.keep_columns
    if isinstance(kept, str) or not isinstance(kept, Iterable):
        raise ValueError(f"keep_columns must be None or a list of names, got {kept!r}.")
    for name in kept:
        if name not in names:
            close = closest(str(name), names)
            hint = "" if close is None else f"; did you mean {close!r}?"
            raise ValueError(f"keep_columns: X has no column {name!r}{hint}")
    kinds = IDS
    if not isinstance(estimator.cv, str | numbers.Integral | None):
        # The user's folds may follow the order of the rows, and so does what counts them.
        kinds -= {"row number"}
    return {name: kinds for name in names if name not in kept}


def _has_row_number(X: Rows) -> bool:
    """Return whether a column of a frame of plain numbers looks like a row number."""
    return is_frame(X) and any(row_number(X.iloc[:, j].to_numpy()) for j in range(X.shape[1]))


def read_columns(table: OpenedTable, table_columns: Sequence[Column]) -> Array:
    """Return one number per cell of a table whose columns are known."""
    pairs = zip(table_columns, table.columns.values(), strict=True)
    return np.column_stack([column.read(values) for column, values in pairs])


def lists_categories(estimator: BaseEstimator) -> bool:
    """Return whether `categorical_features` lists columns."""
    listed = estimator.categorical_features
    return not (listed is None or (isinstance(listed, str) and listed == "from_dtype"))


def keep_table_columns(
    estimator: BaseEstimator, learned: Sequence[tuple[Column, list[Finding]]]
) -> None:
    """Store how columns are read (None for plain numbers), and the findings on them."""
    table_columns = tuple(column for column, _ in learned)
    kept = [] if estimator.keep_columns is None else list(estimator.keep_columns)
    findings = tuple(
        finding
        for column, of_column in learned
        for finding in of_column
        if finding.kind not in IDS or column.name not in kept
    )
    is_plain = are_plain(table_columns)
    vars(estimator).update(_table_columns_=None if is_plain else table_columns, findings_=findings)


def takes_missing(estimator: BaseEstimator) -> bool:
    """Return whether X may contain NaN; of sparse rows, only where the dictionary allows it."""
    members = vars(estimator).get("members_", ())
    return all(m.inputs is not None or m.model.dictionary.takes_missing for m in members)


def check_plain_matrix(
    X: Rows, name: str, columns: Sequence[str] | None, allows_missing: bool
) -> Matrix:
    """Check a part of the rows like `check_matrix`, without an estimator."""
    return _checked(
        check_array(X, input_name=name, **_FLOATS),
        name,
        columns,
        allows_missing,
    )


def _checked(X: Matrix, name: str, columns: Sequence[str] | None, allows_missing: bool) -> Matrix:
    """Return X without duplicate entries; raise a ValueError for one that is not finite."""
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values: Array = X.data if is_sparse(X) else X
    # The sum is finite only if all entries are.
    if _has_finite_sum(values):
        return X
    is_bad = np.isinf(values) if allows_missing and not is_sparse(X) else ~np.isfinite(values)
    if is_bad.any():
        first = int(np.flatnonzero(is_bad.ravel())[0])
        column = int(X.indices[first]) if is_sparse(X) else first % X.shape[1]
        what = "NaN" if np.isnan(values.ravel()[first]) else "infinity"
        label = f" ({columns[column]!r})" if columns is not None else ""
        advice = _IMPUTE if what == "NaN" else "clip such values or drop the row"
        raise ValueError(f"Input {name} contains {what} in column {column}{label}: {advice}.")
    return X


def _has_finite_sum(values: Array | Tensor) -> bool:
    if is_tensor(values):
        return bool(values.sum().isfinite())
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def check_rows(estimator: BaseEstimator, X: Rows) -> Matrix:
    """Return the X of a prediction as a float array, CSR matrix, or tensor on a device.

    scikit-learn's checks take longer than predicting one row, so plain valid arrays skip them.
    """
    if is_tensor(X):
        X = _floats(X.detach())
        if X.device.type == "cpu":
            X = X.numpy()  # shares the memory, and NumPy is faster
    is_plain = (
        (type(X) is np.ndarray or is_tensor(X))
        and X.dtype in ((xp := namespace(X)).float64, xp.float32)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and getattr(estimator, "feature_names_in_", None) is None
        and estimator._table_columns_ is None
        and _has_finite_sum(X)
    )
    checked = X if is_plain else check_matrix(estimator, X, reset=False)
    return X if is_tensor(X) else checked


def _floats(X: Tensor) -> Tensor:
    """Return a tensor as float32 or float64; complex ones are refused later."""
    torch = namespace(X)
    if X.is_floating_point():
        return X if X.dtype in (torch.float32, torch.float64) else X.float()
    return X if X.is_complex() else X.double()


def _sorted(labels: ClassLabels) -> ClassLabels:
    """Return the distinct labels in their order."""
    if labels.dtype.kind == "i" and len(labels):
        low = labels.min()
        span = int(labels.max()) - int(low)
        if span < len(labels):  # counting takes less time than sorting
            is_there = np.bincount(labels.astype(np.int64, copy=False) - int(low)) > 0
            return np.asarray((np.flatnonzero(is_there) + int(low)).astype(labels.dtype))
    return np.unique(labels)


def check_labels(
    y: Labels, training_classes: ClassLabels | None = None
) -> tuple[ClassLabels, Codes]:
    """Return the sorted classes, or those of the training data, and the code of each label."""
    labels: ClassLabels = column_or_1d(to_host(y), warn=True)
    if labels.dtype.kind in "OM":
        for row, label in enumerate(labels.tolist()):
            is_text = isinstance(label, str | bytes)
            if not is_text and is_missing(label):
                raise ValueError(f"y has no label in row {row + 1}: drop such rows.")
    is_text = labels.dtype == object and len(labels) > 0 and isinstance(labels[0], str)
    if training_classes is None:
        assert_all_finite(labels, input_name="y")
        if not is_text:  # text is always accepted, and sorting objects is slow
            check_classification_targets(labels)
    distinct = np.array(list(set(labels.tolist())), dtype=object) if is_text else labels
    classes = _sorted(distinct)
    codes = np.searchsorted(classes, labels)
    if training_classes is None:
        return classes, codes
    code_of = {label: code for code, label in enumerate(training_classes.tolist())}
    unknown = [label for label in classes.tolist() if label not in code_of]
    if unknown:
        raise ValueError(
            f"y_val has labels that are not in y: {unknown}. The training labels are "
            f"{list(code_of)}."
        )
    training_codes = np.array([code_of[label] for label in classes.tolist()], dtype=np.intp)
    return training_classes, training_codes[codes]


def check_numbers(y: Labels, name: str) -> Array:
    """Return the target of a regression as float64."""
    values = column_or_1d(to_host(y), warn=True)
    if values.dtype.kind in "mM":
        raise ValueError(f"{name} holds dates or durations: convert them to numbers.")
    if values.dtype.kind not in "biuf":
        try:
            values = check_array(
                values,
                ensure_2d=False,
                ensure_all_finite=False,
                input_name=name,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} holds texts or other values that are not numbers: convert them, or use "
                "FCGBoostClassifier for classes."
            ) from error
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        assert_all_finite(numbers, input_name=name)
    if (np.abs(numbers) > _LARGEST_TARGET).any():
        raise ValueError(f"{name} has numbers beyond {_LARGEST_TARGET:g}: rescale it.")
    # Of both zeros, the positive one.
    return np.asarray(numbers + 0.0)


def check_weights(weights: Weights, n_samples: int, name: str = "sample_weight") -> Array:
    """Return weights as a vector of non-negative numbers; ones if there are none."""
    if weights is None:
        return np.ones(n_samples)
    if isinstance(weights, numbers.Number):
        weights = np.full(n_samples, float(weights))  # type: ignore[arg-type]
    counts = check_array(
        to_host(weights),
        ensure_2d=False,
        dtype=np.float64,
        input_name=name,
    )
    if counts.shape != (n_samples,):
        raise ValueError(f"{name} has shape {counts.shape}, expected ({n_samples},).")
    if (counts < 0).any():
        raise ValueError(f"{name} has negative values: weights are counts of rows.")
    is_odd = (counts > _LARGEST_WEIGHT) | ((counts < 1.0 / _LARGEST_WEIGHT) & (counts > 0.0))
    if is_odd.any():
        raise ValueError(
            f"{name} has a weight of {counts[is_odd][0]:.3g}: weights must be 0 or between "
            f"{1.0 / _LARGEST_WEIGHT:g} and {_LARGEST_WEIGHT:g}. Divide all by the largest."
        )
    return np.asarray(counts)


def warn_of_shares(total: float, n_rows: int, stacklevel: int = 7) -> None:
    """Warn if the weights of n_rows rows, all positive, are too small to be counts."""
    if total < _LEAST_COUNT * n_rows:
        warnings.warn(
            f"The sample weights sum to {total:.3g}: weights are counts, so {n_rows:,} rows count "
            f"as {total:.3g}. If they are relative, rescale them: "
            "sample_weight * len(X) / sample_weight.sum().",
            stacklevel=stacklevel,
        )


def class_weights(setting: ClassWeight, classes: ClassLabels, totals: Array) -> Array:
    """Return a weight per class; "balanced" uses the totals of the sample weights."""
    if setting is None:
        return np.ones(len(classes))
    if isinstance(setting, str) and setting == "balanced":
        return np.asarray(totals.sum() / (len(classes) * totals))
    if not isinstance(setting, Mapping):
        raise ValueError(f"class_weight must be 'balanced', a dict or None, got {setting!r}.")
    unknown = [key for key in setting if key not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight names classes that are not in y: {unknown}. The classes are "
            f"{classes.tolist()}."
        )
    for label, weight in setting.items():
        check_number(
            f"class_weight of {label!r}",
            weight,
            0,
            strict=True,
        )
    weights = [float(setting.get(label, 1.0)) for label in classes.tolist()]
    return check_weights(weights, len(classes), "class_weight")


def check_columns(layout: Any) -> None:
    """Refuse columns of a layout whose magnitude only trees can handle."""
    frame = layout.design.frame
    inputs = layout.view.inputs
    is_far = np.maximum(-frame.low, frame.high) >= FAR
    is_odd = is_far | ((frame.low < frame.high) & (frame.high < frame.low + NEAR))
    if is_odd.any() and audience_of(layout.design.dictionary)[0]:
        column = int(is_odd.argmax())
        name = f"x{column}" if inputs is None else inputs.origins[inputs.sources[column]].name
        what = f"has numbers beyond {FAR:g}" if is_far[column] else f"spans less than {NEAR:g}"
        raise ValueError(f"Column {name!r} {what}: rescale it, or use dictionary='tree'.")
