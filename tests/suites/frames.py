"""Tables with texts, categories, gaps and dates, and labels that depend on all of them."""

from typing import Any

import numpy as np
import pandas as pd

from fcgboost import FCGBoostClassifier


def make_frame(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Return rows of which the last third has levels of its own, and labels.

    In the first third a column of texts holds nothing but numbers.
    """
    rng = np.random.default_rng(seed)
    place, is_last = np.arange(n), np.arange(n) >= 2 * n // 3
    color = rng.choice(["red", "green", "blue"], n).astype(object)
    color[is_last & (rng.random(n) < 0.3)] = "violet"
    town = np.array([f"town {i}" for i in rng.integers(0, 25 + 8 * is_last)], dtype=object)
    size, grade = rng.standard_normal(n), rng.integers(0, 4, n)
    code = np.where(place < n // 3, grade.astype(str), np.array(["a", "b", "c", "d"])[grade])
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.15, np.nan, size),
            "color": np.where(rng.random(n) < 0.1, None, color),
            "town": town,
            "code": code.astype(object),
            "grade": pd.Categorical(grade),
            "price": np.array([f"{one:.2f}" for one in 10.0 + size], dtype=object),
            "day": np.where(rng.random(n) < 0.1, np.datetime64("NaT"), day.to_numpy()),
        }
    )
    side = (
        size
        + (color == "red")
        + 0.5 * (grade > 1)
        + 0.8 * (np.char.find(town.astype(str), "1") > 0)
    )
    return frame, (side + 0.5 * rng.standard_normal(n) > 0.9).astype(int)


def small(**changes) -> FCGBoostClassifier:
    """Return a classifier with a single path."""
    return FCGBoostClassifier(**{"cv": None, "max_iter": 12, "random_state": 0, **changes})


def kinds(model) -> dict[str, str]:
    return {column.name: column.kind for column in model.columns_}
