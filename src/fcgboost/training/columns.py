"""Columns whose numbers lie far away: wild ones are clipped, those without squares refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fcgboost.clipping import FAR, NEAR, Flags, Limits
from fcgboost.designs.base import Array
from fcgboost.designs.moments import Moments
from fcgboost.dictionaries import Dictionary
from fcgboost.tables.inputs import Inputs, views_of


def find_limits(
    clip: float | None,
    dictionary: Dictionary,
    moments_within: Callable[[Limits | None], Moments],
    ends_of: Callable[[Flags], list[list[Array]]],
    zeros_within: Callable[[Limits | None], Flags],
) -> tuple[Limits | None, Moments]:
    """Return what rows are clipped to, if to anything, and the moments of what is left.

    Rows are asked, wherever they are, for sums over them. Wild values are no matter to trees.
    """
    limits, moments = None, moments_within(None)
    categories = dictionary.categories(len(moments.mean))
    is_odd = moments.is_odd() & ~categories
    if is_odd.any() and views_of(dictionary)[0]:
        limits = moments.fences(is_odd, ends_of(is_odd))
    if limits is not None:
        limits = limits.without(categories)
        moments = moments_within(limits)
    if clip is not None:
        own = moments.limits(clip, zeros_within(limits)).without(categories)
        limits = own if limits is None else own.within(limits)
        moments = moments_within(limits)
    return limits, moments


def check_columns(design: Any, inputs: Inputs | None) -> None:
    """Raise a ValueError if a column is of a size that families other than trees cannot take."""
    moments: Moments = design.frame.moments
    is_far = moments.is_far & (moments.variance > 0.0)
    if not views_of(design.dictionary)[0] or not (is_far | moments.is_near).any():
        return
    column = int((is_far | moments.is_near).argmax())
    name = f"x{column}" if inputs is None else inputs.columns[inputs.sources[column]].name
    what = f"reaches {FAR:g} or more: divide it by a power of ten, or take its logarithm"
    if moments.is_near[column]:
        what = f"spreads over less than {NEAR:g}: multiply it by a power of ten, or leave it out"
    raise ValueError(f"Column {name!r} {what}. Trees (dictionary='tree') take numbers of any size.")
