"""Metrics along a path, for training and validation rows: recorded at its end, never chosen by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from fcgboost.calibration import PowerLink
from fcgboost.greedy.path import Trace
from fcgboost.training.checks import Array
from fcgboost.training.dataset import DataSet
from fcgboost.training.fit import Fit, MemoryLayout
from fcgboost.training.scoring import Metric


def try_metrics(fit: Fit) -> None:
    """Score decision values of 0: what cannot be computed is an error before the path is made."""
    link = PowerLink(1.0, 1.0) if fit.settings.link == "power" else None
    for _, data, score in _scores(fit, link):
        score(np.zeros((len(data.codes), len(fit.layout.targets))))


def with_metrics(fit: Fit, trace: Trace, link: PowerLink | None) -> Trace:
    """Return a path with its metrics, probabilities by the link of the model."""
    found, layout = {}, fit.layout
    assert isinstance(layout, MemoryLayout)
    for rows, data, score in _scores(fit, link):
        values = layout.judge(data, score).scores(trace, trace.atoms) if len(trace) else []
        columns = np.reshape(values, (-1, len(fit.settings.metrics))).T
        found[rows] = dict(zip(fit.settings.metrics, columns, strict=True))
    return replace(trace, metrics=found)


def _scores(
    fit: Fit, link: PowerLink | None
) -> Iterator[tuple[str, DataSet, Callable[[Array], list[float]]]]:
    """Yield what rows are called, the rows, and all metrics as a function of decision values."""
    layout, loss, metrics = fit.layout, fit.settings.loss, fit.settings.metrics.values()
    assert isinstance(layout, MemoryLayout)
    for name, data in (("train", layout.train), ("validation", layout.validation)):
        if metrics and data is not None:
            scores = [Metric(one).at(data, loss, layout.classes, link) for one in metrics]
            yield name, data, lambda decision, scores=scores: [one(decision) for one in scores]
