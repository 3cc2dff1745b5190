"""The contract of a design: a dictionary laid over weighted rows, and the columns of chosen atoms.

The loop, the schemes and the solvers see no row: they hold coefficients, and ask *verbs* for sums
over all rows at these coefficients. A verb is one compiled call, or a few, in this process, one
wait for a device, one round for a cluster (two for `Candidates.best`). A step of the greedy loop is

    Design.sample      draw rows for new candidates              one round
    Candidates.best    find the best of many atoms               two rounds
    Columns.append     add its column                            none: it goes with the next look
    Columns.look       sums at coefficients, once a trial        one round each
    Columns.gram       the Hessian, where a look leaves it out   one round for a direction

or, where atoms are learned, `Subsample.residuals` and `Design.sums` in place of the first two, one
round each. Where every leaf of a tree is a column, `Design.grow` takes a round for about every
level of the tree; a correction, for which there are too many columns for a Gram matrix, takes a
`Columns.product` for every step of conjugate gradients, one round each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Dictionary, Sample
from fcgboost.losses import CurvedLoss, Loss

Array = NDArray[np.float64]
Divisor = Literal["none", "max", "norm"]

#: Scores within this share of the best are ties, which go to the lowest index: float64 sums in
#: another order differ by far less, so the choice does not depend on threads, blocks or storage.
TIE = 1e-10
# How a step of one column is searched; it ends where the next one would gain less than a share of
# what the first one did.
_TRIALS, _ARMIJO, _LITTLE = 20, 1e-4, 1e-9


@dataclass(frozen=True)
class Best:
    """The best candidate for one output: its index among the candidates and its score."""

    index: int
    score: float


class Look(NamedTuple):
    """Sums over all rows at some coefficients, s the rows' shares of the weight.

    Attributes
    ----------
    risk : float
        The weighted mean of the losses.
    gradient : ndarray of shape (n_columns,)
        Its gradient, A^T (s phi').
    gram : ndarray of shape (n_columns, n_columns) or (n_columns,), or None
        Its Hessian, A^T diag(s phi'') A, of leaves its diagonal alone; None for a loss without a
        second derivative, and where it costs more than a round: there `Columns.gram` has it.
    """

    risk: float
    gradient: Array
    gram: Array | None


@dataclass(frozen=True)
class Sums:
    """Sums over all rows that say how much atoms would gain.

    A row is active for a point where its residual is not zero; there g is the atom and s the
    weights.

    Attributes
    ----------
    dots : ndarray of shape (n_atoms, n_points)
        <r, g>.
    firsts, squares : ndarray of shape (n_atoms, n_points)
        The sums of s g and s g^2 over the active rows.
    active : ndarray of shape (n_points,)
        The sum of s over the active rows.
    """

    dots: Array
    firsts: Array
    squares: Array
    active: Array

    def __add__(self, other: Sums) -> Sums:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Sums(*(mine + yours for mine, yours in pairs))


class Columns(ABC):
    """The chosen atoms as columns of A, of outputs that have the same atoms.

    If there is a constant, it is column 0. Columns are scaled as the dictionary asks; `factors`
    turns their coefficients into those of atoms.
    """

    loss: Loss
    #: Whether column 0 is the constant 1.
    has_constant: bool
    #: The number k of columns, the constant included.
    n_columns: int
    n_outputs: int
    #: The sum of the weights, which is what m means in every formula.
    total_weight: float
    #: The weights of the labels -1 and +1, of shape (n_outputs, 2).
    label_weights: Array

    @property
    @abstractmethod
    def factors(self) -> Array:
        """The k-vector with: coefficient of the atom = factor x coefficient of its column."""

    @property
    @abstractmethod
    def norms(self) -> Array:
        """The k-vector of the columns' empirical norms."""

    @property
    @abstractmethod
    def first_gradients(self) -> Array:
        """The gradients of the mean loss where all coefficients are 0, of shape (n_outputs, k)."""

    @abstractmethod
    def append(self, atoms: Any) -> None:
        """Add columns for parameter rows, which need not have been candidates."""

    @abstractmethod
    def drop(self, position: int) -> None:
        """Take a column out; those behind it move up."""

    @abstractmethod
    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        """Return the sums at points, each an output and its coefficients, in one round.

        Gradients and Gram matrices are those of all columns, or of those at some places.
        """

    def gram(self, output: int, coef: Array) -> Array:
        """Return the Hessian of the mean loss that a look has left out, in one round."""
        raise TypeError("A look at these columns has it.")

    def product(self, output: int, coef: Array, direction: Array) -> Array:
        """Return the Hessian of the mean loss at some coefficients, times a direction."""
        raise TypeError("These columns are few enough for a Gram matrix.")

    def atom_coef(self, coef: Array) -> Array:
        """Return the coefficients of atoms, the constant left out; 1 where leaves have them."""
        return (coef * self.factors)[self.has_constant :]

    def leaf_values(self, coef: Array) -> list[Array]:
        """Return the coefficients of every tree's leaves, where these are corrected."""
        return []

    @abstractmethod
    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Return what a least-norm Newton direction is made of.

        With h the rows' curvatures and r = -slope / h where h > 0: the triangle R of a QR
        factorisation of diag(h)^(1/2) [A, r], of shape (k + 1, k + 1), whose condition is that of
        A, not its square; and the sums of A over the slopes of rows without curvature. `is_lifted`
        gives rows that have a slope but no curvature the bound of the curvature.
        """

    def newton(
        self, output: int, coef: Array, penalty: Array, tol: float, max_iter: int
    ) -> tuple[Array, float, float, int] | None:
        """Run Newton's method where the rows are, as far as the normal equations are safe.

        Return where it ended, the objective and the optimality residual there, and the number of
        iterations; None where nothing quicker than looks is there.
        """
        return None

    def step(self, output: int, coef: Array, newest: int, l2: float) -> tuple[Array, float] | None:
        """Minimise over the coefficient of one column, which is 0, and over the constant.

        Of a tree's leaves, the first of which is `newest`, over all of them. Return where that
        ended and the risk there; None for a loss without a second derivative.
        """
        if not isinstance(self.loss, CurvedLoss):
            return None
        places = [0, newest] if self.has_constant else [newest]
        ridge = np.array([0.0, l2])[-len(places) :]
        point, way, slope, first, least = coef.copy(), 0.0 * ridge, 0.0, 0.0, np.inf
        for _ in range(_TRIALS):
            trial = point.copy()
            trial[places] += way
            ((risk, gradient, gram),) = self.look([(output, trial)], places)
            assert gram is not None
            objective = risk + l2 * float(trial[newest]) ** 2
            if objective > least + _ARMIJO * slope:
                way, slope = 0.5 * way, 0.5 * slope
                continue
            point, least = trial, objective
            gradient = gradient + 2.0 * ridge * point[places]
            system = gram + 2.0 * np.diag(ridge)
            way = np.asarray(-np.linalg.lstsq(system, gradient, rcond=None)[0], np.float64)
            slope = float(gradient @ way)
            first = first or -slope
            if not slope < -_LITTLE * first:
                break
        return point, least - l2 * float(point[newest]) ** 2

    def arrays(self, output: int) -> tuple[Any, Any, Any]:
        """Return A, the labels and the weights, for solvers that work on all rows."""
        raise TypeError("These columns are on other machines.")


class Point(NamedTuple):
    """Where residuals are taken: an output of some columns, and its coefficients."""

    columns: Columns
    output: int
    coef: Array


class Candidates(ABC):
    """Atoms that may enter, laid over the data."""

    #: ndarray or CSR matrix of shape (n_candidates, n_parameters), in order of preference.
    atoms: Any

    @abstractmethod
    def best(
        self,
        points: Sequence[Point],
        divisor: Divisor,
        allowed: NDArray[np.bool_],
    ) -> list[Best | None]:
        """Find the candidate with the largest absolute inner product with every residual.

        Scores are float64 sums. Those within TIE of the largest are equal, and the first of equals
        wins; so the choice depends on nothing but the candidates and the residuals.

        Parameters
        ----------
        points : sequence of Point
        divisor : {"none", "max", "norm"}
            What each atom is divided by: nothing, its largest absolute value, its empirical
            norm. An atom that vanishes on the data scores 0.
        allowed : ndarray of bool, shape (n_candidates, n_points)
            Which candidates may be chosen for each point.

        Returns
        -------
        list of Best or None
            None for a point that may choose no candidate.
        """


class Subsample(ABC):
    """Some rows of a design, the same ones during a fit, on which atoms are learned."""

    #: ndarray or CSR matrix: raw rows, in an order that only their values decide.
    rows: Any
    weights: Array

    @abstractmethod
    def residuals(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Return the residuals at these rows, and the weights where they are not zero.

        Returns
        -------
        two arrays of shape (n_rows, n_points)
        """


class Design(ABC):
    """A dictionary laid over weighted data."""

    dictionary: Dictionary
    #: The sum of the weights, which are counts.
    total_weight: float
    #: One standardised unit of each column.
    scale: Array
    #: The standard deviation of each column.
    deviation: Array
    _made_of_data: tuple[str, ...] = ("_made",)

    @property
    @abstractmethod
    def n_distinct(self) -> int:
        """The number of distinct rows, estimated where they are many and elsewhere."""

    @abstractmethod
    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw at most n distinct rows of the data.

        The rows stand on a circle at their keyed hashes. The first n from the place `turn` on are
        drawn, and each step of a fit takes another turn: what a fresh draw costs does not grow
        with the data.
        """

    @abstractmethod
    def subsample(self, n: int, key: int) -> Subsample:
        """Return at most n rows of the data that can be looked at closely."""

    @abstractmethod
    def candidates(self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]) -> Candidates:
        """Lay atoms over the data.

        Parameters
        ----------
        atoms : ndarray or CSR matrix of shape (n_candidates, n_parameters)
        reuse : bool
            Whether they will be scored more than once.
        store : bool or "auto"
            Whether to keep their values: "auto" does it if they are used again and fit the
            memory budget; True raises a MemoryError that says what to do if they do not.
        """

    @abstractmethod
    def sums(self, atoms: Any, points: Sequence[Point]) -> Sums:
        """Return what the gains of a few atoms are made of, in float64 over all rows."""

    @abstractmethod
    def grow(self, points: Sequence[Point]) -> Any:
        """Grow a tree whose leaves are corrected on the residual of every point, over all rows."""

    @abstractmethod
    def columns(
        self, targets: Sequence[Any], loss: Loss, capacity: int, has_constant: bool
    ) -> Columns:
        """Return an empty set of columns.

        Parameters
        ----------
        targets : sequence
            Labels -1 and +1 of the rows for every output, or what stands for them where the rows
            are elsewhere.
        loss : Loss
        capacity : int
            The number of atoms that there will be at most.
        has_constant : bool
        """

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` returned when last asked for by this name; another name replaces it.

        For what the data and the dictionary decide: the paths of one fit share it.
        """
        made: tuple[Hashable, Any] | None = vars(self).get("_made")
        if made is None or made[0] != name:
            self.forget()
            made = vars(self)["_made"] = (name, make())
        return made[1]

    def forget(self) -> None:
        """Drop what was made of the data: it knows the design, and both would stay in memory."""
        for name in self._made_of_data:
            vars(self).pop(name, None)
