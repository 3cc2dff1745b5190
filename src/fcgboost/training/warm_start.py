"""Continue the path of the last fit (`warm_start`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcgboost.calibration import PowerLink
from fcgboost.checks import draw_key
from fcgboost.greedy.path import Trace
from fcgboost.tables.columns import Column
from fcgboost.tables.inputs import are_plain
from fcgboost.training.settings import MAY_CHANGE, Settings


@dataclass(frozen=True)
class FitState:
    """What a later fit continues: a path, if any, and what it belongs to.

    That is a digest of the data, the values of the parameters, and the seed of all draws.
    """

    data: tuple[object, ...]
    parameters: dict[str, object]
    key: int
    path: Trace | None = None
    link: PowerLink | None = None


def find_state(
    settings: Settings,
    facts: tuple[object, ...],
    table_columns: Sequence[Column],
    last: FitState | None,
) -> FitState:
    """Return the state to continue from: the last fit's, or a new one.

    The facts tell data from others: classes, digests, the number of columns and the sparsity.
    """
    columns = () if are_plain(table_columns) else table_columns
    data = (*facts, *columns, settings.validation_fraction)
    if last is None:
        return FitState(data, settings.fixed, draw_key(settings.random_state))
    if last.data != data:
        raise ValueError(
            "warm_start=True needs the data of the last fit, but X, y, the weights or the rows "
            "held out for validation (a tenth with n_iter_no_change) are different. Set "
            "warm_start=False to start again."
        )
    changed = sorted(
        name for name, value in settings.fixed.items() if value != last.parameters[name]
    )
    if changed:
        raise ValueError(
            f"warm_start=True needs the parameters of the last fit, but {changed} changed. Only "
            f"{sorted(MAY_CHANGE)} may change."
        )
    return last
