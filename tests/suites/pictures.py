"""What tests of pictures share: small data, fitted models, and looks at what was drawn."""

from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_blobs

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation

X, y = make_simulation(80, random_state=0)
BLOBS, COLORS = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)


@cache
def two_classes(dictionary: str) -> FCGBoostClassifier:
    """Return a model of six steps; it is shared, so it must not change."""
    return FCGBoostClassifier(dictionary, max_iter=6, random_state=0).fit(X, y)


@cache
def three_classes() -> FCGBoostClassifier:
    """Return a model of Gauss atoms for the blobs."""
    return FCGBoostClassifier("gauss", max_iter=5, random_state=0).fit(BLOBS, COLORS)


def legend_texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def offsets(ax: Axes, label: str) -> np.ndarray:
    """Return the points of the scatter with a label."""
    (found,) = [collection for collection in ax.collections if collection.get_label() == label]
    return np.asarray(found.get_offsets())


def lines_of(ax: Axes) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.lines}
