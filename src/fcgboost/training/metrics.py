"""Metrics of training and validation rows along a path, computed at its end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fcgboost.arrays import Array
from fcgboost.calibration import PowerLink
from fcgboost.members import Member
from fcgboost.training.dataset import Data, DataSet
from fcgboost.training.layout import MemoryLayout
from fcgboost.training.scoring import Metric
from fcgboost.training.settings import Settings


def try_metrics(settings: Settings, data: Data) -> None:
    """Score decision values of 0, so that a metric that fails does so before the fit."""
    link = PowerLink(1.0, 1.0) if settings.link == "power" else None
    for rows in _scored_parts(settings, data).values():
        shape = (len(rows.weights), data.task.n_outputs)
        score = _metrics_of(
            settings,
            data,
            rows,
            link,
        )
        score(data.task.in_units(np.zeros(shape)))


def with_metrics(member: Member, layout: MemoryLayout, link: PowerLink | None) -> Member:
    """Return a member whose path has its metrics; probabilities use the link of the model."""
    settings = layout.settings
    trace = member.trace
    names = list(settings.metrics)
    metrics = {}
    for part, rows in _scored_parts(settings, layout.data).items():
        validator = layout.make_validator(
            rows,
            _metrics_of(
                settings,
                layout.data,
                rows,
                link,
            ),
        )
        try:
            values = validator.scores(trace, trace.atoms) if len(trace) else []
        except Exception as error:  # a user's function may raise anything
            warnings.warn(f"The metrics of the {part} rows are NaN: {error}", stacklevel=5)
            values = [[np.nan] * len(names)] * len(trace)
        columns = np.reshape(values, (-1, len(names))).T.copy()
        metrics[part] = dict(zip(names, columns, strict=True))
    return replace(member, trace=replace(trace, metrics=metrics))


def _scored_parts(settings: Settings, data: Data) -> dict[str, DataSet]:
    """Return the training and validation rows, if there are metrics."""
    if not settings.metrics:
        return {}
    parts = {"train": data.train, "validation": data.validation}
    return {name: rows for name, rows in parts.items() if rows is not None}


def _metrics_of(
    settings: Settings,
    data: Data,
    rows: DataSet,
    link: PowerLink | None,
) -> Callable[[Array], list[float]]:
    """Return the metrics of rows as a function of decision values."""
    metrics = [
        Metric(scoring).at(
            rows,
            data.task,
            link,
        )
        for scoring in settings.metrics.values()
    ]
    return lambda decision: [metric(decision) for metric in metrics]
