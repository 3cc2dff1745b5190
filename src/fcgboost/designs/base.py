"""The contract of a design: a dictionary laid over weighted rows, and the columns of chosen atoms.

The loop, the schemes and the solvers see no rows: they hold coefficients and ask *verbs* for sums
over all rows at these coefficients. A verb is a compiled call or a few in this process, one wait
for a device, one round on a cluster (two for `Candidates.best`). A step of the greedy loop is

    Design.sample      draw rows for new candidates         one round
    Candidates.best    find the best of many atoms          two rounds
    Columns.append     add its column                       none: sent with the next look
    Columns.look       sums at coefficients, per trial      one round each
    Columns.gram       the Hessian, if a look omits it      one round per direction

or, if atoms are learned, `Subsample.residuals` and `Design.sums` in place of the first two, one
round each. If every leaf of a tree is a column, `Design.grow` takes about one round per level, and
a correction, with too many columns for a Gram matrix, one `Columns.product` per step of conjugate
gradients.
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

#: Scores within this share of the best are ties, which go to the lowest index: the order of float64
#: sums matters far less, so the choice does not depend on threads, blocks or storage.
TIE = 1e-10
# The line search for one column; it ends once a step gains less than this share of the first.
_TRIALS, _ARMIJO, _LITTLE = 20, 1e-4, 1e-9


@dataclass(frozen=True)
class Best:
    """The index and the score of the best candidate for one output."""

    index: int
    score: float


class Look(NamedTuple):
    """Sums over all rows at some coefficients, with s the rows' shares of the weight.

    Attributes
    ----------
    risk : float
        The weighted mean of the losses.
    gradient : ndarray of shape (n_columns,)
        Its gradient, A^T (s phi').
    gram : ndarray of shape (n_columns, n_columns) or (n_columns,), or None
        Its Hessian, A^T diag(s phi'') A, for leaves only the diagonal; None for a loss without a
        second derivative, and if it would cost more than a round: see `Columns.gram`.
    """

    risk: float
    gradient: Array
    gram: Array | None


@dataclass(frozen=True)
class Sums:
    """Sums over all rows that determine the gains of atoms g, with weights s and residuals r.

    The active rows of a point are those with a non-zero residual.

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
    """The chosen atoms as columns of A, for outputs with the same atoms.

    The constant, if any, is column 0. Columns are scaled as the dictionary asks; `factors` converts
    their coefficients to those of atoms.
    """

    loss: Loss
    #: Whether column 0 is the constant 1.
    has_constant: bool
    #: The number k of columns, including the constant.
    n_columns: int
    n_outputs: int
    #: The sum of the weights, m in all formulas.
    total_weight: float
    #: The weights of the labels -1 and +1, of shape (n_outputs, 2).
    label_weights: Array

    @property
    @abstractmethod
    def factors(self) -> Array:
        """The k-vector of ratios of atom coefficients to column coefficients."""

    @property
    @abstractmethod
    def norms(self) -> Array:
        """The k-vector of the columns' empirical norms."""

    @property
    @abstractmethod
    def first_gradients(self) -> Array:
        """The gradients of the mean loss at zero coefficients, of shape (n_outputs, k)."""

    @abstractmethod
    def append(self, atoms: Any) -> None:
        """Add columns for parameter rows, which need not have been candidates."""

    @abstractmethod
    def drop(self, position: int) -> None:
        """Remove a column; later ones move up."""

    @abstractmethod
    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        """Return the sums at points (output and coefficients), in one round.

        Gradients and Gram matrices are those of all columns, or of the given places.
        """

    def gram(self, output: int, coef: Array) -> Array:
        """Return the Hessian of the mean loss if a look omits it, in one round."""
        raise TypeError("A look at these columns includes the Gram matrix.")

    def product(self, output: int, coef: Array, direction: Array) -> Array:
        """Return the Hessian of the mean loss at some coefficients, times a direction."""
        raise TypeError("These columns are few enough for a Gram matrix.")

    def atom_coef(self, coef: Array) -> Array:
        """Return the coefficients of atoms without the constant; 1 if leaves have their own."""
        return (coef * self.factors)[self.has_constant :]

    def leaf_values(self, coef: Array) -> list[Array]:
        """Return the leaf coefficients of each tree, if leaves are corrected."""
        return []

    @abstractmethod
    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Return what determines a least-norm Newton direction.

        With h the rows' curvatures and r = -slope / h where h > 0: the triangle R of a QR
        factorisation of diag(h)^(1/2) [A, r], of shape (k + 1, k + 1), whose condition is that of
        A, not its square; and the sums of A over the slopes of rows without curvature. With
        `is_lifted`, rows with a slope but no curvature get the bound of the curvature.
        """

    def newton(
        self, output: int, coef: Array, penalty: Array, tol: float, max_iter: int
    ) -> tuple[Array, float, float, int] | None:
        """Run Newton's method where the rows are, while the normal equations are safe.

        Return the coefficients, objective, optimality residual and number of iterations; None if
        there is nothing faster than `look`.
        """
        return None

    def step(self, output: int, coef: Array, newest: int, l2: float) -> tuple[Array, float] | None:
        """Minimise over the constant and the coefficient of one column, which is 0.

        For a tree's leaves, the first of which is `newest`, over all of them. Return the
        coefficients and the risk; None for a loss without a second derivative.
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
    """Where residuals are taken: an output of some columns, and coefficients."""

    columns: Columns
    output: int
    coef: Array


class Candidates(ABC):
    """Candidate atoms laid over the data."""

    #: ndarray or CSR matrix of shape (n_candidates, n_parameters), in order of preference.
    atoms: Any

    @abstractmethod
    def best(
        self,
        points: Sequence[Point],
        divisor: Divisor,
        allowed: NDArray[np.bool_],
    ) -> list[Best | None]:
        """Find the candidate with the largest absolute inner product with each residual.

        Scores are float64 sums; among those within TIE of the largest, the first wins.

        Parameters
        ----------
        points : sequence of Point
        divisor : {"none", "max", "norm"}
            Divide each atom by nothing, its largest absolute value, or its empirical norm. An atom
            that vanishes on the data scores 0.
        allowed : ndarray of bool, shape (n_candidates, n_points)
            Which candidates may be chosen for each point.

        Returns
        -------
        list of Best or None
            None for a point with no allowed candidate.
        """


class Subsample(ABC):
    """Some rows of a design, fixed during a fit, on which atoms are learned."""

    #: ndarray or CSR matrix: raw rows, in an order that depends only on their values.
    rows: Any
    weights: Array

    @abstractmethod
    def residuals(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Return the residuals and the active weights, both of shape (n_rows, n_points)."""


class Design(ABC):
    """A dictionary laid over weighted data."""

    dictionary: Dictionary
    total_weight: float
    #: One standardised unit of each column.
    scale: Array
    #: The standard deviation of each column.
    deviation: Array
    _made_of_data: tuple[str, ...] = ("_made",)

    @property
    @abstractmethod
    def n_distinct(self) -> int:
        """The number of distinct rows; an estimate for many rows on a cluster."""

    @abstractmethod
    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw at most n distinct rows of the data.

        Rows lie on a circle at their keyed hashes, and the first n from `turn` on are drawn. The
        cost of a fresh draw, with another turn in each step, does not grow with the data.
        """

    @abstractmethod
    def subsample(self, n: int, key: int) -> Subsample:
        """Return a subsample of at most n rows."""

    @abstractmethod
    def candidates(self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]) -> Candidates:
        """Lay atoms over the data.

        Parameters
        ----------
        atoms : ndarray or CSR matrix of shape (n_candidates, n_parameters)
        reuse : bool
            Whether they will be scored more than once.
        store : bool or "auto"
            Whether to store their values: "auto" does if they are reused and fit into the memory
            budget; True raises a MemoryError if they do not fit.
        """

    @abstractmethod
    def sums(self, atoms: Any, points: Sequence[Point]) -> Sums:
        """Return the sums that determine the gains of a few atoms, in float64."""

    @abstractmethod
    def grow(self, points: Sequence[Point]) -> Any:
        """Grow a tree with corrected leaves on the residual of each point, over all rows."""

    @abstractmethod
    def columns(
        self, targets: Sequence[Any], loss: Loss, capacity: int, has_constant: bool
    ) -> Columns:
        """Return an empty set of columns.

        Parameters
        ----------
        targets : sequence
            Labels -1 and +1 of the rows for each output, or what represents them on a cluster.
        loss : Loss
        capacity : int
            The largest number of atoms.
        has_constant : bool
        """

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return the cached result of `make` under a name; another name replaces it.

        For what depends only on data and dictionary: the paths of a fit share it.
        """
        made: tuple[Hashable, Any] | None = vars(self).get("_made")
        if made is None or made[0] != name:
            self.forget()
            made = vars(self)["_made"] = (name, make())
        return made[1]

    def forget(self) -> None:
        """Drop cached results, which refer to the design and would keep it alive."""
        for name in self._made_of_data:
            vars(self).pop(name, None)
