"""Synthetic rows in the shape of every experiment's: enough to draw each table and figure."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from findings_frames import MAKERS

from paper.base import Experiment
from paper.experiments.sim3 import LEVELS
from paper.methods import DEFAULT
from paper.reporting import published
from paper.reporting.contest import LABELS
from paper.reporting.figures import (
    CORRECTION_STYLES,
    DICTIONARY_STYLES,
    LOSS_NAMES,
    METHOD_STYLES,
    SCHEME_STYLES,
    SOLVER_STYLES,
)

Rows = list[dict[str, Any]]
NOISES = (("uniform", 0.3), ("outlier", 0.4))
FINISHED = {
    **{"command": "python -m paper run NAME --preset standard", "version": "0.1.0"},
    **{"n_units": 1, "obstacle": None, "is_finished": True, "preset": "standard"},
    "clipping": "1e-15",
}


def frame_of(experiment: Experiment[Any], seed: int = 0) -> pd.DataFrame:
    """Give made-up rows of an experiment, in the columns its table has."""
    rows = _MAKERS[experiment.name](np.random.default_rng(seed))
    columns = [*experiment.settings, *experiment.results]
    frame = pd.DataFrame(rows)
    assert set(frame) <= set(columns), set(frame) - set(columns)
    return frame.reindex(columns=columns).assign(row=1, rows=1, unit_seconds=1.5)


def _sim1(random: np.random.Generator) -> Rows:
    ks = (7, *range(13, 131, 13))
    cases = product(NOISES, DICTIONARY_STYLES, range(3), CORRECTION_STYLES, ks)
    return [
        {
            **{"noise": noise, "level": level, "dictionary": name, "repetition": repetition},
            **{"correction": correction, "k": k, "training_error": 0.3, "parameter": 0.35},
            "test_error": 0.03 + 0.3 / k + 0.01 * random.uniform(),
            "atoms": min(k, 12 + repetition) if correction == "letter" else k,
            "status": "stalled" if correction == "letter" else "step_limit",
        }
        for (noise, level), name, repetition, correction, k in cases
    ]


def _sim2(random: np.random.Generator) -> Rows:
    cases = product(NOISES, DICTIONARY_STYLES, range(3), (1000, 4000, 10000))
    return [
        {
            **{"noise": noise, "level": level, "dictionary": name, "repetition": repetition},
            **{"multiples": "1 4 10", "n": n, "steps": 26, "atoms": 26, "parameter": 0.35},
            "test_error": 0.04 + 0.01 * random.uniform(),
        }
        for (noise, level), name, repetition, n in cases
    ]


def _sim3(random: np.random.Generator) -> Rows:
    cases = product(LEVELS, DICTIONARY_STYLES, range(3), LOSS_NAMES, ("ridge", "admm"))
    return [
        {
            **{"noise": noise, "level": level, "dictionary": name, "repetition": repetition},
            **{"slow_choice": "shared", "loss": loss, "correction": correction, "steps": 26},
            "test_error": (published.sim3(noise, name, printed, loss) or 0.0)
            + 0.01 * random.uniform(),
            "deviation": "one fold" if correction == "admm" else None,
        }
        for (noise, level, printed), name, repetition, loss, correction in cases
    ]


def _sim4(random: np.random.Generator) -> Rows:
    rows = []
    for width, repetition, (i, scheme) in product(
        ("cv", "0.1", "0.2", "0.35", "0.5"), range(4), enumerate(SCHEME_STYLES)
    ):
        last = 500 if i > 4 else 5000
        ks = np.unique(np.geomspace(1, last, 40).round().astype(int))
        settings = {"width": width, "repetition": repetition, "scheme": scheme}
        settings |= {"chosen_width": 0.35, "training_error": 0.305, "status": "step_limit"}
        for k in ks:
            error = 0.022 + (0.4 if i > 4 else 0.9 + 0.2 * i) / k + 0.002 * random.uniform()
            atoms = min(int(k), 300) if i > 4 else round(20 * np.log1p(k / (i + 1)) + 1)
            point = {"k": int(k), "atoms": atoms, "test_error": min(0.45, error)}
            rows.append({**settings, **point, "kind": "curve"})
        reached = "missed" if scheme == "epsilon" and repetition == 0 else "reached"
        for kind, status in (("best", "step_limit"), ("reach", reached)):
            rows.append({**rows[-1], "kind": kind, "k": 100 + i, "status": status})
    return rows


def _samples(random: np.random.Generator) -> Rows:
    rows = []
    for (noise, level), _ in product(NOISES, range(1000)):
        x1, x2 = random.uniform(size=2)
        flipped = random.uniform() < (0.3 if noise == "uniform" else 0.174)
        label = 1 if (x2 > 0.5) != flipped else -1
        point = {"x1": x1, "x2": x2, "label": label, "is_flipped": int(flipped)}
        rows.append({"noise": noise, "level": level, "seed": 0, **point})
    return rows


def _race(random: np.random.Generator) -> Rows:
    rows: Rows = []
    for repetition, (i, solver) in product(range(3), enumerate(SOLVER_STYLES)):
        settings = {"kind": "race", "solver": solver, "loss": "squared_hinge", "noise": "uniform"}
        settings |= {"n_samples": 1000, "n_atoms": 15, "width": 0.1, "repetition": repetition}
        last = (100, 1000, 20000, 6)[i]
        speed = (0.001, 0.02, 0.001, 5.0)[i]
        for k in np.unique(np.geomspace(1, last, 60).round().astype(int)):
            gap = max(0.4 * np.exp(-speed * k), 1e-15)
            result = {"seconds": 1e-4 * k, "objective": 0.5 + gap, "total_seconds": 1e-4 * last}
            rows.append({**settings, "iteration": int(k), "gap": gap, **result})
    for repetition, loss, noise, m in product(
        range(3), LOSS_NAMES, ("uniform", "outlier", "none"), (1000, 4000)
    ):
        settings = {"kind": "ridge", "solver": "admm", "loss": loss, "noise": noise}
        settings |= {"n_samples": m, "n_atoms": 30, "width": 0.35, "repetition": repetition}
        distance = {"distance_ridge": 20 / m, "distance_minimiser": 0.3 * random.uniform()}
        rows.append({**settings, "iteration": 100, **distance})
    return rows


def _uci(random: np.random.Generator) -> Rows:
    splits = [("random", repetition) for repetition in range(4)]
    splits += [("file-order", 0), ("molecules", 0), ("molecules", 1)]
    return [
        {
            **{"dataset": name, "split": split, "repetition": repetition, "grid": "thinned"},
            **_outcome(method, (published.uci(name, method) or 0.0) / 100, random),
            "row_limit": 0,
        }
        for name, (split, repetition), method in product(
            published.datasets(), splits, METHOD_STYLES
        )
        if split != "molecules" or name == "musk2"
    ]


def _earthquake(random: np.random.Generator) -> Rows:
    return [
        {"repetition": repetition, "grid": "thinned", "row_limit": 0, **outcome}
        for repetition, method in product(range(3), METHOD_STYLES)
        for outcome in (_outcome(method, 0.78, random),)
    ]


def _earthquake_italy(random: np.random.Generator) -> Rows:
    return [
        {"split": split, "repetition": repetition, "grid": "thinned", "row_limit": 0, **outcome}
        for split, repetition, method in product(
            ("random", "events"), range(3), (*METHOD_STYLES, DEFAULT.name)
        )
        for outcome in (_outcome(method, 0.78, random),)
    ]


def _sizes(random: np.random.Generator) -> Rows:
    return [
        {
            "dataset": name,
            "n_rows": n_rows + 1,
            "n_complete": n_rows,
            "n_attributes": n_attributes,
            "n_inputs": n_attributes,
            "n_positive": n_rows // 3,
        }
        for name in published.datasets()
        for n_rows, n_attributes in (published.uci_size(name),)
    ]


def _contest(random: np.random.Generator) -> Rows:
    cases = product((0.0, 0.3), range(3), published.datasets(), enumerate(LABELS))
    return [
        {
            **{"dataset": name, "method": method, "noise": noise, "repetition": repetition},
            **{"row_limit": 0, "accuracy": 0.9 - noise / 4 - i / 100 - 0.001 * random.uniform()},
            **{"brier": 0.1, "log_loss": 0.3, "validation_accuracy": 0.9, "n_train": 500},
            **{"n_test": 250, "parameters": "trees=100", "n_choices": 3, "seconds_tune": 1.0 + i},
            **{"seconds_fit": 0.5, "stored_numbers": 100 + 600 * i, "file_bytes": 4000 + i},
            **{"n_parts": 100, "deviation": "one choice" if method == "rgf" else ""},
        }
        for noise, repetition, name, (i, method) in cases
    ]


def _outcome(method: str, accuracy: float, random: np.random.Generator) -> dict[str, Any]:
    deviation = "grid thinned; tuned on 2,000 rows" if method.startswith("svm") else ""
    return {
        **{"method": method, "accuracy": min(1.0, accuracy - 0.03 * random.uniform())},
        **{"validation_accuracy": accuracy, "majority": 0.6, "n_train": 500, "n_test": 250},
        **{"size": 65, "parameters": "width=1", "deviation": deviation, "seconds": 1.0},
    }


def _rates(random: np.random.Generator) -> Rows:
    rows: Rows = []
    pairs = (("simulation", "gauss"), ("simulation", "relu"), ("smooth", "gauss"))
    for kind, (problem, name), i, repetition, correction in product(
        ("size", "chosen"), pairs, range(9), range(5), ("ridge", "exact")
    ):
        m = 250 * 2**i
        scale = (m / np.log(m)) ** -0.4 * (1.5 if correction == "exact" else 1.0)
        scale *= 1.4 if name == "relu" else 1.0
        settings = {"kind": kind, "problem": problem, "dictionary": name, "n_samples": m}
        settings |= {"repetition": repetition, "max_iter": 13, "selection": "all"}
        noise = random.uniform(0.8, 1.2)
        values = {"excess_risk": 0.3 * scale * noise, "excess_loss": 0.5 * scale * noise}
        rows.append({**settings, "correction": correction, "k": 13, "atoms": 13, **values})
    for (problem, name), repetition, correction in product(pairs, range(5), ("ridge", "exact")):
        settings = {"kind": "steps", "problem": problem, "dictionary": name, "n_samples": 1000}
        settings |= {"repetition": repetition, "max_iter": 300, "selection": "all"}
        rise = 0.007 if correction == "exact" else 0.0005
        for k in np.unique(np.geomspace(1, 300, 40).round().astype(int)):
            loss = 0.1 * (1 / k + rise * k) * random.uniform(0.9, 1.1)
            values = {"excess_risk": 0.5 * loss, "excess_loss": loss, "atoms": int(k)}
            rows.append({**settings, "correction": correction, "k": int(k), **values})
    return rows


_MAKERS = {
    **{"sim1": _sim1, "sim2": _sim2, "sim3": _sim3, "sim4": _sim4, "samples": _samples},
    **{"admm-vs-gd": _race, "uci": _uci, "earthquake": _earthquake, "rates": _rates},
    **{"earthquake-italy": _earthquake_italy, "sizes": _sizes},
    "contest": _contest,
    **MAKERS,
}
