"""How good probabilities are: as the theory gives them, after a link, and those of others.

The squared hinge's minimiser is f = 2 eta - 1, so (1 + pi f) / 2 is a probability without any
fit, pi f being f cut to [-1, 1]. A link that was fitted to the validation part maps f to another
probability; that of the default is one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier
from fcgboost.calibration import HeldOut, fit_link
from fcgboost.evaluation import log_losses
from paper.base import CLIPPING, Experiment, Preset, Row, Split, Unit
from paper.contest import CONTESTANTS
from paper.experiments.atoms import limit_of
from paper.experiments.uci import SETS, UciUnit, deal, missing_sets
from paper.protocol import Data, seed_of
from paper.rivals import absent_packages
from paper.rivals.plans import FOREST_TREES

Array = NDArray[np.float64]
#: From decision values to probabilities of +1.
Link = Callable[[Array], Array]

#: Bins of equal width for the expected calibration error.
N_BINS = 10
OURS = "fcg"
#: Other libraries with one choice each, from the middle of the contest's grids: it is their
#: probabilities that are looked at, as they come.
RIVALS: Mapping[str, Mapping[str, Any]] = {
    "lightgbm": {"num_leaves": 16},
    "catboost": {"depth": 6},
    "random_forest": {"n_estimators": FOREST_TREES, "max_features": "sqrt", "min_samples_leaf": 1},
}


class Extent(NamedTuple):
    """What a preset runs; a row limit of 0 is none but that of the largest set."""

    repetitions: int
    rival_repetitions: int
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(1, 1, row_limit=400),
    "standard": Extent(5, 2),
    "full": Extent(10, 10),
}


@dataclass(frozen=True)
class CalibrationUnit(Unit):
    """One method on one random split of one set."""

    dataset: str
    method: str
    repetition: int
    row_limit: int


class Calibration(Experiment[CalibrationUnit]):
    """Brier score, log-loss and expected calibration error of probabilities."""

    name = "calibration"
    title = "Probabilities and links"
    about = (
        "Brier score, log-loss and expected calibration error of the default's probabilities, of "
        "the same after links fitted to the validation part, and of LightGBM, CatBoost and random "
        "forest. Not in the paper."
    )
    unit_type = CalibrationUnit
    results = ("model", "brier", "log_loss", "calibration_error", "parameters", "n_train", "n_test")
    in_all = False
    clipping = CLIPPING

    def units(self, preset: Preset, split: Split | None) -> list[CalibrationUnit]:
        """Declare every method on every split: whole repetitions first."""
        extent = EXTENTS[preset]
        return [
            CalibrationUnit(dataset, method, repetition, limit_of(dataset, extent.row_limit))
            for repetition in range(extent.repetitions)
            for dataset in SETS
            for method in (OURS, *RIVALS)
            if method == OURS or repetition < extent.rival_repetitions
        ]

    def run(self, unit: CalibrationUnit) -> list[Row]:
        """Fit, and judge the probabilities of the test part."""
        place = UciUnit(unit.dataset, "", "random", unit.repetition, "thinned", unit.row_limit)
        data, seed = deal(place), seed_of(unit.dataset, unit.repetition)
        with threadpool_limits(1):
            found = linked(data, seed) if unit.method == OURS else _rival(unit.method, data, seed)
        counts = {"n_train": len(data.y), "n_test": len(data.y_test)}
        return [
            unit.row(model=name, parameters=said, **counts, **score(p, data.y_test))
            for name, (p, said) in found.items()
        ]

    def cost(self, unit: CalibrationUnit) -> float:
        """Estimate from the number of rows."""
        return 1.0 if unit.dataset in SETS[:5] or 0 < unit.row_limit < 20_000 else 5.0

    def obstacle(self, units: Sequence[CalibrationUnit]) -> str | None:
        """Say which packages or sets are not there."""
        absent = absent_packages(unit.method for unit in units)
        return absent or missing_sets(list(dict.fromkeys(unit.dataset for unit in units)))


def _rival(method: str, data: Data, seed: int) -> dict[str, tuple[Array, str]]:
    learned = CONTESTANTS[method].fit(RIVALS[method], data, seed)
    return {method: (learned.judge(data.X_test).probabilities, "")}


def linked(data: Data, seed: int) -> dict[str, tuple[Array, str]]:
    """Fit our default; give its probabilities by every link, and what the link has learned."""
    classifier = FCGBoostClassifier(n_jobs=1, random_state=seed)
    classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    on_validation, on_test = (classifier.decision_function(X) for X in (data.X_val, data.X_test))
    found = {}
    for name, fit in LINKS.items():
        link, said = fit(on_validation, data.y_val)
        found[name] = link(on_test), said
    return found


def score(p: Array, y: Array) -> dict[str, float]:
    """Judge probabilities of +1 beside labels -1 and +1."""
    is_positive = y > 0.0
    return {
        "brier": float(np.mean((p - is_positive) ** 2)),
        "log_loss": float(log_losses(np.where(is_positive, p, 1.0 - p)).mean()),
        "calibration_error": calibration_error(p, y),
    }


def calibration_error(p: Array, y: Array) -> float:
    """Give the mean distance of mean probability and share of +1, over bins of equal width."""
    bins = np.minimum((p * N_BINS).astype(np.intp), N_BINS - 1)
    gaps = np.bincount(bins, weights=p - (y > 0.0), minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(p))


# Links. Each takes decision values and labels of the validation part.


def _theory(f: Array, y: Array) -> tuple[Link, str]:
    return lambda f: 0.5 + 0.5 * np.clip(f, -1.0, 1.0), ""


def _shrunk(f: Array, y: Array) -> tuple[Link, str]:
    """One parameter: (1 + s pi f) / 2, which is never 0 or 1."""
    # A share of 1 would be certain: half a row less is the most that so many rows can tell.
    most = 1.0 - 1.0 / (len(y) + 1.0)

    def link(s: float, f: Array) -> Array:
        return 0.5 + 0.5 * s * np.clip(f, -1.0, 1.0)

    s = minimize_scalar(
        lambda s: _likelihood(link(s, f), _targets(y)), bounds=(0.0, most), method="bounded"
    ).x
    return lambda f: link(s, f), f"s={s:.4g}"


def _logistic(f: Array, y: Array) -> tuple[Link, str]:
    """One parameter: 1 / (1 + exp(-a f))."""

    def loss(log_a: float) -> float:
        return _likelihood(expit(np.exp(log_a) * f), _targets(y))

    a = float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))
    return lambda f: expit(a * f), f"a={a:.4g}"


def _power(f: Array, y: Array) -> tuple[Link, str]:
    """Two parameters: what the default itself fits, 1 / (1 + exp(-a f (1 + f^2)^((b - 1) / 2)))."""
    link = fit_link([HeldOut(f[:, None], (y > 0.0).astype(np.intp), np.ones(len(y)))])
    return lambda f: link.probabilities(f)[:, 1], f"a={link.slope:.4g} b={link.power:.4g}"


def _platt(f: Array, y: Array) -> tuple[Link, str]:
    """Two parameters: Platt's 1 / (1 + exp(-(a f + b)))."""

    def loss(point: Array) -> float:
        return _likelihood(expit(point[0] * f + point[1]), _targets(y))

    bounds = ((0.0, 150.0), (-20.0, 20.0))
    a, b = minimize(loss, (3.0, 0.0), bounds=bounds, method="L-BFGS-B").x
    return lambda f: expit(a * f + b), f"a={a:.4g} b={b:.4g}"


def _isotonic(f: Array, y: Array) -> tuple[Link, str]:
    """Any number of parameters: a monotone step function."""
    curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(f, y > 0.0)
    return lambda f: np.asarray(curve.predict(f)), f"steps={len(curve.X_thresholds_)}"


#: What the decision values become; the first one is the loss's, "power" the default's.
LINKS: Mapping[str, Callable[[Array, Array], tuple[Link, str]]] = {
    "theory": _theory,
    "shrunk": _shrunk,
    "logistic": _logistic,
    "power": _power,
    "platt": _platt,
    "isotonic": _isotonic,
}


def _targets(y: Array) -> Array:
    """Give Platt's targets: a row more of each class keeps a link finite where classes separate."""
    n_positive = float(np.sum(y > 0.0))
    high = (n_positive + 1.0) / (n_positive + 2.0)
    low = 1.0 / (len(y) - n_positive + 2.0)
    return np.where(y > 0.0, high, low)


def _likelihood(p: Array, targets: Array) -> float:
    tiny = 1e-300
    return float(-np.mean(targets * np.log(p + tiny) + (1.0 - targets) * np.log(1.0 - p + tiny)))
