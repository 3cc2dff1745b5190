"""Metrics of training and validation rows along a path, computed at its end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fcgboost.calibration import PowerLink
from fcgboost.greedy.path import Trace
from fcgboost.training.checks import Array
from fcgboost.training.dataset import DataSet
from fcgboost.training.fit import Fit, MemoryLayout
from fcgboost.training.scoring import Metric


def try_metrics(fit: Fit) -> None:
    """Score decision values of 0, so that a metric that fails does so before the fit."""
    link = PowerLink(1.0, 1.0) if fit.settings.link == "power" else None
    for _, layout, data, score in _scores(fit, link):
        score(np.zeros((len(data.codes), len(layout.targets))))


def with_metrics(fit: Fit, trace: Trace, link: PowerLink | None) -> Trace:
    """Return the path with its metrics; probabilities use the link of the model."""
    found, names = {}, [*fit.settings.metrics]
    for rows, layout, data, score in _scores(fit, link):
        try:
            values = layout.judge(data, score).scores(trace, trace.atoms) if len(trace) else []
        except Exception as error:  # a user's function may raise anything
            warnings.warn(f"The metrics of the {rows} rows are NaN: {error}", stacklevel=4)
            values = [[np.nan] * len(names)] * len(trace)
        found[rows] = dict(zip(names, np.reshape(values, (-1, len(names))).T.copy(), strict=True))
    return replace(trace, metrics=found) if found else trace


def _scores(
    fit: Fit, link: PowerLink | None
) -> Iterator[tuple[str, MemoryLayout, DataSet, Callable[[Array], list[float]]]]:
    """Yield the name of the rows, their layout, the rows, and their metrics."""
    layout, metrics = fit.layout, [Metric(one) for one in fit.settings.metrics.values()]
    assert isinstance(layout, MemoryLayout)
    for name, data in (("train", layout.train), ("validation", layout.validation)):
        if metrics and data is not None:
            scores = [one.at(data, fit.settings.loss, layout.classes, link) for one in metrics]

            def score(decision: Array, scores: Any = scores) -> list[float]:
                return [one(decision) for one in scores]

            yield name, layout, data, score
