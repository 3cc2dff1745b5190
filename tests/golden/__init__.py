"""Paths that stored fits took: what a change of the engine must give again.

`python -m tests.golden paths` fits all cases and writes them anew. Do that only where a change is
meant to change results, and say so: the stored values are the memory of what the package computed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import (
    FCGBoostClassifier,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    TreeDictionary,
    UnionDictionary,
)

FILE = Path(__file__).parent / "paths.json"
N_STEPS = 8

#: Families whose atoms are drawn, by the names that the cases begin with.
DRAWN = {
    "gauss": GaussDictionary(width=0.8),
    "gauss of a box": GaussDictionary(width=0.5, centers="box"),
    "polynomial": PolynomialDictionary(degree=3),
    "sigmoid": SigmoidDictionary(),
    "relu": ReluDictionary(),
}
#: Families whose atoms are made for the residual.
LEARNED = {
    "gauss": GaussDictionary(),
    "sigmoid": SigmoidDictionary(),
    "relu": ReluDictionary(),
    "tree": TreeDictionary(),
    "union": UnionDictionary([ReluDictionary(), TreeDictionary(), GaussDictionary()]),
}
_PAPER = {"solver": "admm", "l2": 0.0, "reselect": True}
#: What every drawn family is fitted with.
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "the paper's": _PAPER,
    "fresh samples": {"selection": "sampled"},
    "normalised": {"normalize": True, "fit_intercept": False, "standardize": False},
}
#: What one family is fitted with.
_OTHERS: Mapping[str, Mapping[str, Any]] = {
    **{f"loss {name}": {"loss": name} for name in ("hinge", "cubed_hinge", "square")},
    **{
        f"scheme {name}": {"scheme": name}
        for name in ("original", "shrinkage", "truncation", "epsilon", "rescaled")
    },
    "gradient descent": {"solver": "gradient_descent"},
    "backward": {"removal": "backward"},
    "balanced": {"class_weight": "balanced"},
    "clipped": {"clip": 1.5},
}


def rows(n_classes: int = 2) -> tuple[Any, Any]:
    """Return rows with zeros and their labels; NumPy promises this stream for ever."""
    random = np.random.RandomState(7)
    X = random.normal(size=(150, 3))
    X[random.uniform(size=X.shape) < 0.2] = 0.0
    f = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=len(X))
    return X, np.digitize(f, [0.0] if n_classes == 2 else [-0.7, 0.7])


def weights(seed: int) -> Any:
    """Return weights: with them the first residual is whatever it should be."""
    return np.random.RandomState(seed).exponential(size=150)


def fit_case(
    dictionary: Any, parameters: Mapping[str, Any], *, kind: str = "dense"
) -> FCGBoostClassifier:
    """Fit a case."""
    X, y = rows(3 if kind == "three classes" else 2)
    sample_weight = weights(0) if kind == "weights" else None
    X = sparse.csr_array(X) if kind == "sparse" else X
    given = {"max_iter": N_STEPS, "random_state": 3, **parameters}
    return FCGBoostClassifier(dictionary, **given).fit(X, y, sample_weight=sample_weight)


def paths() -> dict[str, FCGBoostClassifier]:
    """Return the fits whose atoms are drawn."""
    fits = {
        f"{family}, {variant}": fit_case(dictionary, parameters)
        for family, dictionary in DRAWN.items()
        for variant, parameters in _VARIANTS.items()
    }
    for other, parameters in _OTHERS.items():
        fits[f"gauss, {other}"] = fit_case(DRAWN["gauss"], parameters)
    for family in ("gauss", "relu"):
        for kind in ("sparse", "weights", "three classes"):
            fits[f"{family}, {kind}"] = fit_case(DRAWN[family], {}, kind=kind)
    return fits


def first_steps() -> dict[str, FCGBoostClassifier]:
    """Return fits that learn one atom of a family, for several residuals."""
    X, y = rows()
    return {
        f"{family}, {seed}": FCGBoostClassifier(
            dictionary,
            selection="learned",
            max_iter=3 if family == "union" else 1,  # one atom of each of its families
            l2=0.01,
            random_state=seed,
        ).fit(X, y, sample_weight=weights(seed))
        for family, dictionary in LEARNED.items()
        for seed in range(1, 7)
    }


def record(fit: FCGBoostClassifier) -> dict[str, Any]:
    """Return what a fit is compared by."""
    atoms = fit.atoms_
    atoms = atoms.toarray() if sparse.issparse(atoms) else np.asarray(atoms)
    return {
        "atoms": atoms.tolist(),
        "coef": fit.atom_coef_.tolist(),
        "intercept": fit.intercept_.tolist(),
        "objectives": [step.objectives.tolist() for step in fit.trace_.steps],
        "status": fit.status_.name,
    }


def write() -> None:
    """Fit all cases and write them down."""
    found = {
        "paths": {name: record(fit) for name, fit in paths().items()},
        "first steps": {name: record(fit) for name, fit in first_steps().items()},
    }
    FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
