"""Validation of the user's input, once, before any work."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _get_feature_names, column_or_1d, validate_data

from fcgboost.arrays import is_tensor, namespace
from fcgboost.clipping import FAR, NEAR
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss
from fcgboost.names import NAMES
from fcgboost.selection.fixed import Selection
from fcgboost.solvers import Solver
from fcgboost.tables.cells import Cells, read_column
from fcgboost.tables.columns import Column, NumberColumn
from fcgboost.tables.encoder import Table, as_array, is_table, open_table
from fcgboost.tables.inputs import views_of
from fcgboost.tables.learning import learn_reader, wanted_kinds

Array = NDArray[np.float64]

# In the order of NAMES.
_CONTRACTS = (Dictionary, Loss, Scheme, Solver, Selection, Removal)
#: For each kind of part, its contract and the parts by name.
FAMILIES: Mapping[str, tuple[type, Mapping[str, Callable[[], Any]]]] = {
    family: (contract, {name: resolve_name(f"fcgboost.{part}") for name, part in parts.items()})
    for contract, (family, parts) in zip(_CONTRACTS, NAMES.items(), strict=True)
}

#: Weights with a smaller mean are hardly meant as counts.
_LEAST_COUNT = 0.5
_LARGEST_WEIGHT = 1e75  # its inverse is the smallest positive one

_FLOATS: Mapping[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}

_IMPUTE = "impute such values (for example with sklearn.impute.SimpleImputer) or drop the row"


def make_part(family: str, value: Any) -> Any:
    """Return the part that a parameter names; parts are returned as they are."""
    contract, presets = FAMILIES[family]
    if isinstance(value, contract):
        return value
    if isinstance(value, str) and value in presets:
        return presets[value]()
    names = sorted(presets) + (["auto"] if family in ("solver", "selection") else [])
    raise ValueError(
        f"{family} must be one of {names} or an instance of {contract.__name__}, got {value!r}."
    )


def make_solver(value: Any, loss: Loss) -> Solver:
    """Return the solver that a parameter names; it must be able to minimise the loss."""
    able = [name for name, make in FAMILIES["solver"][1].items() if make().accepts(loss)]
    if isinstance(value, str) and value == "auto":
        if not able:
            raise ValueError(
                f"No solver can minimise {type(loss).__name__}: it has neither a curvature "
                "(CurvedLoss) nor a proximal map (ProximalLoss). Add one of them, or use a scheme "
                "that needs only the gradient, such as scheme='original'."
            )
        preferred = ["newton", "interior_point", "admm", "gradient_descent"]
        value = min(able, key=preferred.index)
    solver: Solver = make_part("solver", value)
    if not solver.accepts(loss):
        raise ValueError(
            f"{type(solver).__name__} cannot minimise {type(loss).__name__}: it needs "
            f"{solver.needs_text}. Solvers for this loss: {able}."
        )
    return solver


def check_number(
    name: str, value: Any, low: float, *, strict: bool = False, whole: bool = False
) -> None:
    """Raise a ValueError unless a parameter is a finite number and large enough."""
    kind = numbers.Integral if whole else numbers.Real
    is_number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    value = value.item() if isinstance(value, np.generic) else value
    high = 2**31 - 1 if whole else float(np.finfo(np.float64).max)
    if is_number and (value > low if strict else value >= low) and value <= high:
        return
    bound = f" {'greater than' if strict else 'of at least'} {low:g}" if np.isfinite(low) else ""
    bound = f" of at most {high:,}" if is_number and value > high else bound
    raise ValueError(f"{name} must be a {'whole ' * whole}number{bound}, got {value!r}.")


def check_word(name: str, value: Any, words: tuple[Any, ...]) -> None:
    """Raise a ValueError unless a parameter is one of the given strings or booleans."""
    if not (isinstance(value, str | bool | np.bool_) and value in words):
        raise ValueError(f"{name} must be one of {list(words)}, got {value!r}.")


def named_metrics(metrics: Any) -> dict[str, Any]:
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


def check_matrix(estimator: BaseEstimator, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return X as a float array or canonical CSR matrix, finite except for NaN where allowed.

    A table becomes one number per cell. With `reset`, how its columns are read is stored as
    `_readers_`; None stands for plain numbers.
    """
    X = as_array(to_host(X))
    readers = None if reset else vars(estimator).get("_readers_")
    if sparse.issparse(X) and readers is not None:
        raise ValueError(f"{name} is sparse, but the model was fitted to a table: pass a table.")
    is_listed = reset and lists_categories(estimator)
    if is_listed and sparse.issparse(X):
        raise ValueError("categorical_features needs dense columns: use X.toarray().")
    if readers is not None or is_table(X) or is_listed:
        return _check_table(estimator, X, reset, readers)
    if reset:
        keep_readers(estimator, [], [])
    n = 2 if reset else 1
    X = validate_data(estimator, X, reset=reset, ensure_min_samples=n, **_FLOATS)
    names = getattr(estimator, "feature_names_in_", None)
    allows_missing = reset or name != "X" or takes_missing(estimator)
    return _checked(X, name, names, allows_missing)


def check_same_columns(estimator: Any, X: Any) -> None:
    """Raise a ValueError if validation and training rows have different columns."""
    width, names = (*getattr(X, "shape", ()), None, None)[1], _get_feature_names(X)
    known = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
    there, here = (
        f"{n} columns " + ("without names" if own is None else f"named {own.tolist()}")
        for n, own in (known, (width or known[0], names))
    )
    if here != there:
        raise ValueError(
            f"X_val has {here:.99}, but X has {there:.99}. A Pipeline does not transform X_val: "
            "pass X_val=pipe[:-1].fit(X, y).transform(X_val), or use "
            "Pipeline(steps, transform_input=['X_val']) with set_fit_request(X_val=True, "
            "y_val=True) and sklearn.set_config(enable_metadata_routing=True)."
        )


def _check_table(estimator: Any, X: Any, reset: bool, readers: Any) -> Array:
    table = open_table(X, min_rows=2 if reset else 1)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not reset:
        return read_table(table, readers or [NumberColumn(name) for name in table.columns])
    dayfirst, accepts = estimator.dayfirst, estimator._accepts_strays
    wanted = wanted_kinds(estimator.categorical_features, list(table.columns), table.has_names)
    learned = [
        learn_reader(name, values, kind, dayfirst, accepts)
        for (name, values), kind in zip(table.columns.items(), wanted, strict=True)
    ]
    # Stray text may occur only in later rows.
    found = [
        (_accepting(reader, values) if accepts else reader, notes)
        for (reader, _, notes), values in zip(learned, table.columns.values(), strict=True)
    ]
    keep_readers(estimator, list(table.columns), found)
    return np.column_stack([numbers for _, numbers, _ in learned])


def read_table(table: Table, readers: Sequence[Column]) -> Array:
    """Return one number per cell of a table whose columns are known."""
    if table.matrix is not None:
        raise ValueError("X is sparse, but the model was fitted to a table: pass a table.")
    pairs = zip(readers, table.columns.values(), strict=True)
    return np.column_stack([reader.read(values) for reader, values in pairs])


def lists_categories(estimator: Any) -> bool:
    """Return whether `categorical_features` lists columns."""
    listed = estimator.categorical_features
    return not (listed is None or (isinstance(listed, str) and listed == "from_dtype"))


def keep_readers(
    estimator: Any, names: list[str], learned: Sequence[tuple[Column, list[str]]]
) -> None:
    """Store how columns are read (None for plain numbers), and the notes on them."""
    readers = tuple(reader for reader, _ in learned)
    is_plain = readers == tuple(NumberColumn(name) for name in names)
    notes = tuple(note for _, own in learned for note in own)
    vars(estimator).update(_readers_=None if is_plain else readers, notes_=notes)


def _accepting(reader: Column, values: Any) -> Column:
    """Return a column that accepts stray text later, if its numbers are written as text."""
    found = read_column(values) if isinstance(reader, NumberColumn) else None
    is_text = isinstance(found, Cells) and any(isinstance(one, str) for one in found.distinct)
    return replace(reader, accepts_text=True) if is_text else reader  # type: ignore[call-arg]


def takes_missing(estimator: BaseEstimator) -> bool:
    """Return whether X may contain NaN; models of older files decide it themselves."""
    inputs, model = vars(estimator).get("_inputs_"), vars(estimator).get("model_")
    return inputs is not None or model is None or bool(model.dictionary.takes_missing)


def check_plain_matrix(X: Any, name: str, columns: Any, allows_missing: bool) -> Any:
    """Check a part of the rows like `check_matrix`, without an estimator."""
    X = check_array(X, input_name=name, **_FLOATS)
    return _checked(X, name, columns, allows_missing)


def _checked(X: Any, name: str, columns: Any, allows_missing: bool) -> Any:
    """Return X without duplicate entries; raise a ValueError for one that is not finite."""
    is_sparse = sparse.issparse(X)
    if is_sparse and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data if is_sparse else X
    # The sum is finite only if all entries are.
    if _has_finite_sum(values):
        return X
    is_bad = np.isinf(values) if allows_missing and not is_sparse else ~np.isfinite(values)
    if is_bad.any():
        first = int(np.flatnonzero(is_bad.ravel())[0])
        column = int(X.indices[first]) if is_sparse else first % X.shape[1]
        what = "NaN" if np.isnan(values.ravel()[first]) else "infinity"
        label = f" ({columns[column]!r})" if columns is not None else ""
        advice = _IMPUTE if what == "NaN" else "clip such values or drop the row"
        raise ValueError(f"Input {name} contains {what} in column {column}{label}: {advice}.")
    return X


def _has_finite_sum(values: Any) -> bool:
    if is_tensor(values):
        return bool(values.sum().isfinite())
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)))


def check_rows(estimator: BaseEstimator, X: Any) -> Any:
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
        and _has_finite_sum(X)
    )
    checked = X if is_plain else check_matrix(estimator, X, reset=False)
    return X if is_tensor(X) else checked


def _floats(X: Any) -> Any:
    """Return a tensor as float32 or float64; complex ones are refused later."""
    torch = namespace(X)
    if X.is_floating_point():
        return X if X.dtype in (torch.float32, torch.float64) else X.float()
    return X if X.is_complex() else X.double()


def check_labels(
    y: Any, known: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes, or the known ones, and the code of each label."""
    y = column_or_1d(to_host(y), warn=True)
    is_text = y.dtype == object and len(y) > 0 and isinstance(y[0], str)
    if known is None:
        assert_all_finite(y, input_name="y")
        # Text is always accepted, and sorting objects is slow.
        check_classification_targets(y[:1] if is_text else y)
    if is_text:
        labels = np.unique(np.array(list(set(y.tolist())), dtype=object))
        codes = np.searchsorted(labels, y)
    else:
        labels, codes = np.unique(y, return_inverse=True)
    if known is None:
        return labels, codes
    known_codes = {label: code for code, label in enumerate(known.tolist())}
    unknown = [label for label in labels.tolist() if label not in known_codes]
    if unknown:
        raise ValueError(
            f"y_val has labels that are not in y: {unknown}. The training labels are "
            f"{list(known_codes)}."
        )
    return known, np.array([known_codes[label] for label in labels.tolist()], dtype=np.intp)[codes]


def check_weights(weights: Any, n_samples: int, name: str = "sample_weight") -> Array:
    """Return weights as a vector of non-negative numbers; ones if there are none."""
    if weights is None:
        return np.ones(n_samples)
    if isinstance(weights, numbers.Number):
        weights = np.full(n_samples, float(weights))  # type: ignore[arg-type]
    weights = check_array(to_host(weights), ensure_2d=False, dtype=np.float64, input_name=name)
    if weights.shape != (n_samples,):
        raise ValueError(f"{name} has shape {weights.shape}, expected ({n_samples},).")
    if (weights < 0).any():
        raise ValueError(f"{name} has negative values: weights are counts of rows.")
    is_odd = (weights > _LARGEST_WEIGHT) | ((weights < 1.0 / _LARGEST_WEIGHT) & (weights > 0.0))
    if is_odd.any():
        raise ValueError(
            f"{name} has a weight of {weights[is_odd][0]:.3g}: weights must be 0 or between "
            f"{1.0 / _LARGEST_WEIGHT:g} and {_LARGEST_WEIGHT:g}. Divide all by the largest."
        )
    return np.asarray(weights, dtype=np.float64)


def warn_of_shares(total: float, n_rows: int, stacklevel: int = 5) -> None:
    """Warn if the weights of n_rows rows, all positive, are too small to be counts."""
    if total < _LEAST_COUNT * n_rows:
        warnings.warn(
            f"The sample weights sum to {total:.3g}: weights are counts, so {n_rows:,} rows count "
            f"as {total:.3g}. If they are relative, rescale them: "
            "sample_weight * len(X) / sample_weight.sum().",
            stacklevel=stacklevel,
        )


def class_weights(setting: Any, classes: NDArray[Any], totals: Array) -> Array:
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
        check_number(f"class_weight of {label!r}", weight, 0, strict=True)
    weights = [float(setting.get(label, 1.0)) for label in classes.tolist()]
    return check_weights(weights, len(classes), "class_weight")


def check_columns(layout: Any) -> Any:
    """Return the layout, but refuse columns whose magnitude only trees can handle."""
    frame, inputs = layout.design.frame, layout.inputs
    is_far = np.maximum(-frame.low, frame.high) >= FAR
    is_odd = is_far | ((frame.low < frame.high) & (frame.high < frame.low + NEAR))
    if is_odd.any() and views_of(layout.design.dictionary)[0]:
        column = int(is_odd.argmax())
        name = f"x{column}" if inputs is None else inputs.columns[inputs.sources[column]].name
        what = f"has numbers beyond {FAR:g}" if is_far[column] else f"spans less than {NEAR:g}"
        raise ValueError(f"Column {name!r} {what}: rescale it, or use dictionary='tree'.")
    return layout
