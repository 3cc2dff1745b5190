"""The members of a model: paths whose decision values it adds up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from fcgboost import threads
from fcgboost._kernels import walks
from fcgboost._kernels.walks import Sum
from fcgboost.arrays import Array, Codes, Matrix, is_tensor, to_device_of
from fcgboost.designs.blocks import row_blocks
from fcgboost.dictionaries.planes import product_on_one_thread
from fcgboost.greedy.path import Trace
from fcgboost.importances import importances_of
from fcgboost.model import Model, of_columns
from fcgboost.stopping import Status
from fcgboost.sums import sum_of
from fcgboost.tables.inputs import Inputs, PlainInputs, encode
from fcgboost.tables.pairs import Pair

__all__ = ["Member"]

# Rows whose decision values one thread computes at once.
_ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True, eq=False, repr=False)
class Member:
    """One path of a model: its model after some of its steps, and how it sees rows.

    Attributes
    ----------
    model : Model
        Dictionary, atoms, coefficients, and intercept, after `n_iter` steps.
    trace : Trace
        The record of every step.
    n_iter : int
        The number of steps in the model.
    l2 : float
        The ridge penalty.
    status : Status
        Why the path ended.
    weight : float
        The factor of its decision values in those of the model.
    inputs : Inputs or None
        How the columns of X become the inputs of its atoms; None if they are passed through.
    deviation : ndarray of shape (n_inputs,) or None
        The standard deviations of the inputs; None if loaded from a file.
    """

    model: Model
    trace: Trace
    n_iter: int
    l2: float
    status: Status
    weight: float = 1.0
    inputs: Inputs | None = None
    deviation: Array | None = None

    def __repr__(self) -> str:
        family = type(self.model.dictionary).__name__
        return (
            f"Member({family}, n_atoms={self.model.n_atoms}, n_iter={self.n_iter}, "
            f"weight={self.weight:g})"
        )

    @property
    def has_path(self) -> bool:
        """Whether it knows its steps: a model file may leave them out."""
        # A path that was not saved has no start either.
        has_start = np.isfinite(self.trace.start).all()
        return self.trace.n_steps >= self.n_iter and bool(has_start)

    @property
    def pairs(self) -> Sequence[Pair]:
        """The pairs of columns that are inputs of its atoms."""
        return () if self.inputs is None else self.inputs.pairs

    def sources(self, n_columns: int) -> Codes:
        """Return the column of X that each input of the atoms is computed from.

        Beyond the columns are pairs of them.
        """
        return np.arange(n_columns) if self.inputs is None else self.inputs.sources

    def decision(self, X: Matrix) -> Matrix:
        """Return the decision values of checked rows, of shape (n_samples, n_outputs)."""
        return self.model.decision(encode(self.inputs, X))

    def truncated(self, k: int) -> Member:
        """Return the member after k steps, or all of its own if these are fewer."""
        k = min(k, self.trace.n_steps)
        if k == self.n_iter:
            return self
        model = self.model
        shorter = self.trace.model(
            k,
            model.dictionary,
            model.scale,
            model.limits,
        )
        return replace(self, model=shorter, n_iter=k)

    def staged_decision(self, X: Matrix, most_entries: float) -> Iterator[Matrix]:
        """Yield the decision values after 1, 2, ..., n_iter steps.

        The values of all atoms are cached if they are at most so many entries.
        """
        X = encode(self.inputs, X)
        steps = {step.k: step for step in self.trace if step.k <= self.n_iter}
        n_entered = max((step.n_entered for step in steps.values()), default=0)
        values = None
        # Corrected leaves have other values in every step.
        is_fixed = not self.model.dictionary.corrects_leaves
        if is_fixed and X.shape[0] * n_entered <= most_entries:
            # Including atoms that were removed later.
            atoms = self.trace.atoms[:n_entered]
            coef = np.zeros((1, n_entered))
            values = replace(self.model, atoms=atoms, coef=coef).columns(X)
        decision = self.truncated(0).model.decision(X)
        for k in range(1, self.n_iter + 1):
            if k in steps:
                step = steps[k]
                if values is None:
                    decision = self.truncated(k).model.decision(X)
                else:
                    coef = to_device_of(step.coef.T, X)
                    intercept = to_device_of(step.intercept, X)
                    decision = product_on_one_thread(values[:, : step.n_entered], coef)
                    decision += intercept
            yield decision

    def importances(self, rows: Matrix, n_columns: int) -> Array:
        """Return the importance of each column over checked rows; they sum to 1."""
        assert self.deviation is not None
        rows = encode(self.inputs, rows)
        if self.model.limits is not None:
            rows = self.model.limits.apply(rows)
        importances = importances_of(
            self.model,
            rows=rows,
            deviation=self.deviation,
            sources=self.sources(n_columns),
            n_features=n_columns + len(self.pairs),
        )
        return of_columns(importances, [pair.columns for pair in self.pairs])


class Members(tuple[Member, ...]):
    """The members of a model: a tuple that keeps the sum it stands for."""

    def __reduce__(self) -> tuple[type[Members], tuple[tuple[Member, ...]]]:
        return Members, (tuple(self),)

    @threads.cached
    def together(self) -> Sum | None:
        """The members as one sum; None if the library does not know it, or they see other rows."""
        if not all(isinstance(member.inputs, PlainInputs | None) for member in self):
            return None
        summands = []
        for member in self:
            summand = member.model.summand(member.weight)
            if isinstance(member.inputs, PlainInputs):
                summand = replace(summand, fills=member.inputs.fills)
            summands.append(summand)
        return sum_of(summands)


def of_fold(members: Sequence[Member], fold: int, n_folds: int) -> list[Member]:
    """Return the members that know nothing of a fold's rows, with weights that sum to one."""
    chosen = members[fold::n_folds]
    total = sum(member.weight for member in chosen)
    return [replace(member, weight=member.weight / total) for member in chosen]


def decision_of(members: Sequence[Member], X: Matrix, n_jobs: int | None = 1) -> Matrix:
    """Return the weighted sum of the members' decision values at checked rows.

    Many rows are divided into blocks of a fixed size, so that threads do not change the values.
    """

    def decide(rows: Matrix) -> Matrix:
        if isinstance(rows, np.ndarray):
            if isinstance(members, Members) and members.together is not None:
                return walks.add_up(members.together, rows)
            # Once for all members.
            rows = rows.astype(np.float64, copy=False)
        return reduce(add, (member.weight * member.decision(rows) for member in members))

    blocks = _blocks_of(X)
    if len(blocks) <= 1:
        return decide(X)
    parts = threads.each(
        lambda block: decide(X[block]),
        blocks,
        threads.allowed(n_jobs),
    )
    return np.concatenate(parts)


def _blocks_of(X: Matrix) -> list[slice]:
    """Return blocks of rows for threads; a device has no need of them."""
    n_rows = X.shape[0]
    return row_blocks(n_rows, n_rows if is_tensor(X) else _ROWS_AT_ONCE)


def staged_decision_of(
    members: Sequence[Member], X: Matrix, most_entries: float, n_jobs: int | None = 1
) -> Iterator[Matrix]:
    """Yield the decision values after 1, 2, ... steps; shorter members keep their last step.

    Blocks of rows are as in `decision_of`.
    """
    blocks = _blocks_of(X)
    if len(blocks) <= 1:
        yield from _staged(members, X, most_entries)
        return
    most_entries /= len(blocks)
    paths = [_staged(members, X[block], most_entries) for block in blocks]
    n_threads = threads.allowed(n_jobs)
    for _ in range(max(member.n_iter for member in members)):
        yield np.concatenate(threads.each(next, paths, n_threads))


def _staged(members: Sequence[Member], X: Matrix, most_entries: float) -> Iterator[Matrix]:
    decisions = [member.truncated(0).decision(X) for member in members]
    paths = [member.staged_decision(X, most_entries / len(members)) for member in members]
    for _ in range(max(member.n_iter for member in members)):
        decisions = [next(path, last) for path, last in zip(paths, decisions, strict=True)]
        yield reduce(add, (m.weight * f for m, f in zip(members, decisions, strict=True)))
