"""Stopping: the record of a step, the reasons to end, and the rules.

A stopping rule, or a user's callback, is any callable that takes a `Step` and returns a `Status`
to end the loop or None to continue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from fcgboost.arrays import Array, Codes

__all__ = [
    "Progress",
    "Status",
    "Step",
    "theory_steps",
]

# A path ends when this many steps together gain less than this share of the first step's gain.
_NO_GAIN_STEPS = 10
_NO_GAIN_SHARE = 1e-6
_NONE_REMOVED = np.zeros((0, 2), dtype=np.intp)
_NO_ATOMS = np.zeros(0, dtype=np.intp)
_NONE_REMOVED.setflags(write=False)
_NO_ATOMS.setflags(write=False)


class Status(Enum):
    """Why a fit or a solver ended; the value is a sentence for the user."""

    CONVERGED = "The solver reached its tolerance."
    NOT_CONVERGED = "The solver used all its iterations before reaching its tolerance."
    STEP_LIMIT = "The fit made all steps allowed by max_iter."
    TOLERANCE = "The best score fell below tol times the first one."
    ZERO_SCORE = "No candidate is correlated with the residual: nothing is left to fit."
    EXHAUSTED = "Every candidate is already in the model."
    NO_GAIN = "The last steps together gained almost nothing compared with the first."
    STALLED = "Full correction chose an atom again (reselect=True): no step can follow."
    VALIDATION = "The validation score has not improved for some steps (n_iter_no_change)."
    CALLBACK = "A callback ended the fit."
    TIME_LIMIT = "The time limit was reached."

    def __str__(self) -> str:
        return f"{self.name.lower()}: {self.value}"

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        # Enum defines only __reduce_ex__, which skops does not call.
        return Status, (self.value,)


class Progress(NamedTuple):
    """How far a whole fit is: it may make several paths, some of them at once.

    Attributes
    ----------
    path : int
        The number of the current path, from 1.
    n_paths : int
        How many paths the fit makes, at most.
    fold : int or None
        The number of the fold that judges the path, or of its draw where validation rows judge,
        from 1; else None.
    share : float
        The share of the fit that is done, from 0 to 1; an estimate that never falls.
    """

    path: int
    n_paths: int
    fold: int | None
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """The read-only record of one step of the greedy loop.

    There is one output for two classes, and one per class for more. A record may stand for several
    steps (see `Trace`): `chosen` and `scores` then list them one after the other.

    Attributes
    ----------
    k : int
        The number of the step, from 1.
    chosen : ndarray of shape (n_outputs,)
        The position of the atom each output chose; -1 for an output that has ended.
    scores : ndarray of shape (n_outputs,)
        The score of that atom; 0 where `chosen` is -1.
    objectives : ndarray of shape (n_outputs,)
        The regularised objective after the step.
    coef : ndarray of shape (n_outputs, n_atoms)
        The coefficients after the step, atoms in order of entry; 0 for removed atoms.
    intercept : ndarray of shape (n_outputs,)
        The intercepts after the step.
    solver_iterations : int
        Solver iterations in this step, summed over outputs.
    residual : float
        The largest optimality residual of the solver in this step.
    is_corrected : bool
        Whether this step corrected all coefficients to the solver's tolerance.
    seconds : float
        Time since the start of the loop.
    validation_score : float or None
        The validation score, larger is better; None if not all coefficients were corrected.
    removed : ndarray of shape (n_removed, 2)
        The atoms removed in this step, in order: output and position of the atom.
    removed_atoms : ndarray of shape (n_removed,)
        The positions of the atoms that entered earlier and that no output has now.
    leaves : tuple of ndarray
        If leaves are corrected, the leaf values of each tree after the step; otherwise empty.
    progress : Progress or None
        How far the whole fit is, for callbacks; None in the trace.
    """

    k: int
    chosen: Codes
    scores: Array
    objectives: Array
    coef: Array
    intercept: Array
    solver_iterations: int
    residual: float
    is_corrected: bool
    seconds: float
    validation_score: float | None = None
    removed: Codes = field(default_factory=lambda: _NONE_REMOVED)
    removed_atoms: Codes = field(default_factory=lambda: _NO_ATOMS)
    leaves: tuple[Array, ...] = ()
    progress: Progress | None = None

    def __post_init__(self) -> None:
        # Leaves are locked where they are made: steps share most of them.
        for array in (self.chosen, self.scores, self.objectives, self.coef, self.intercept):
            array.setflags(write=False)
        for array in (self.removed, self.removed_atoms):
            if array.flags.writeable:
                array.setflags(write=False)

    def __repr__(self) -> str:
        score = self.validation_score
        text = "" if score is None else f", validation_score={score:.6g}"
        return f"Step(k={self.k}, n_atoms={self.n_atoms}, seconds={self.seconds:.3g}{text})"

    @property
    def objective(self) -> float:
        """The sum of the objectives."""
        return float(np.add.reduce(self.objectives))

    @property
    def n_entered(self) -> int:
        """The number of distinct atoms that have entered."""
        return int(self.coef.shape[1])

    @property
    def n_atoms(self) -> int:
        """The number of distinct atoms in the model."""
        return self.n_entered - len(self.removed_atoms)


StoppingRule = Callable[[Step], Status | None]


def theory_steps(n_samples: float) -> int:
    """Return k0 = ceil(sqrt(m / ln m)), the number of steps of the paper's Theorems 1 and 2.

    Parameters
    ----------
    n_samples : float
        The number of rows m, or the sum of their weights; 3 to 1e19 is used.

    Examples
    --------
    >>> theory_steps(1000)
    13
    """
    m = min(max(3.0, float(n_samples)), 1e19)
    return math.ceil(math.sqrt(m / math.log(m)))


def gains_nothing(steps: Sequence[Step], null: float) -> bool:
    """Return whether the last ten steps gained almost nothing compared with the first."""
    if len(steps) <= _NO_GAIN_STEPS:
        return False
    gain = steps[-1 - _NO_GAIN_STEPS].objective - steps[-1].objective
    return gain <= _NO_GAIN_SHARE * (null - steps[0].objective)


class NoImprovement:
    """End when the validation score has not improved for `patience` steps.

    At least three scored steps (or `patience`, if less) must have been no better. The rule keeps
    the best score, so each fit needs its own.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self._best = -math.inf
        self._best_step = self._n_worse = 0

    def __call__(self, step: Step) -> Status | None:
        if step.validation_score is None:
            return None
        self._n_worse += 1
        if step.validation_score > self._best:
            self._best = step.validation_score
            self._best_step = step.k
            self._n_worse = 0
        is_over = step.k - self._best_step >= self.patience
        return Status.VALIDATION if is_over and self._n_worse >= min(self.patience, 3) else None
