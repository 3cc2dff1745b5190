"""The contract of a design: a dictionary laid over weighted rows, and the columns of chosen atoms.

The loop, the schemes and the solvers see no rows: they hold coefficients and ask *verbs* for sums
over all rows at these coefficients. A verb is a compiled call or a few in this process, one wait
for a device, one round on a cluster. A step of the greedy loop is

    Design.sample          draw rows for new candidates         one round
    Candidates.best        find the best of many atoms          one round
    ActiveColumns.append   add its column                       none: sent with the next verb
    ActiveColumns.expand   sums at coefficients, per trial      one round each
    ActiveColumns.gram     the Hessian, if that omits it        one round per direction

or, if atoms are learned, `Subsample.residuals` and `Design.sums` in place of the first two, one
round each. If every leaf of a tree is a column, `Design.grow` takes about one round per level, and
a correction, with too many columns for a Gram matrix, one `ActiveColumns.product` per step of
conjugate gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fcgboost.arrays import Array as Array
from fcgboost.arrays import Flags, Matrix
from fcgboost.dictionaries import Dictionary, Sample
from fcgboost.losses import CurvedLoss, Loss

T = TypeVar("T")
Piece = TypeVar("Piece")
#: Scores within this share of the best are ties, which go to the lowest index: the order of float64
#: sums matters far less, so the choice does not depend on threads, blocks or storage.
TIE = 1e-10
# The line search for one column; it ends once a step gains less than this share of the first.
_TRIALS = 20
_ARMIJO = 1e-4
_LITTLE = 1e-9


def first_best(scores: Array, tie: float = TIE) -> int:
    """Return the first of the scores within a share of the largest, which is not negative."""
    return int((scores >= (1.0 - tie) * scores.max()).argmax())


@dataclass(frozen=True)
class Winner:
    """The index and the score of the best candidate for one output."""

    index: int
    score: float
    #: Its column, if scoring has computed it: see `ActiveColumns.append`.
    entry: object = None


class Start(NamedTuple):
    """The best constant, 0 if there is none, and the risk there and at 0."""

    constant: float
    risk: float
    null: float


class Expansion(NamedTuple):
    """Sums over all rows at some coefficients, with s the rows' shares of the weight.

    Attributes
    ----------
    risk : float
        The weighted mean of the losses.
    gradient : ndarray of shape (n_columns,)
        Its gradient, A^T (s phi').
    gram : ndarray of shape (n_columns, n_columns) or (n_columns,), or None
        Its Hessian, A^T diag(s phi'') A, for leaves only the diagonal; None for a loss without a
        second derivative, and if it would cost more than a round: see `ActiveColumns.gram`.
    state : object or None
        The rows there, if they are in this process: pass it on with the coefficients, and nothing
        is computed twice. It stays valid when columns are appended, with coefficient 0.
    """

    risk: float
    gradient: Array
    gram: Array | None
    state: object = None


class NewestFit(NamedTuple):
    """Coefficients of which only the newest and the constant have changed, and the risk there."""

    coef: Array
    risk: float
    #: As in `Expansion`.
    state: object = None


class NewtonEnd(NamedTuple):
    """Where a compiled Newton method stopped."""

    coef: Array
    objective: float
    #: The largest entry of the gradient, relative to that at zero coefficients.
    residual: float
    n_iter: int
    #: As in `Expansion`.
    state: object = None


@dataclass(frozen=True)
class Sums:
    """Sums over all rows that determine the gains of atoms g, with residuals r.

    Rows have their weights times `Loss.stiffness` as weights h.

    Attributes
    ----------
    dots : ndarray of shape (n_atoms, n_points)
        <r, g>.
    firsts, squares : ndarray of shape (n_atoms, n_points)
        The sums of h g and h g^2.
    active : ndarray of shape (n_points,)
        The sum of h.
    entries : sequence
        What `ActiveColumns.append` takes for each atom that enters; empty if that is evaluated
        again.
    """

    dots: Array
    firsts: Array
    squares: Array
    active: Array
    entries: Sequence[object] = ()

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.dots + other.dots,
            self.firsts + other.firsts,
            self.squares + other.squares,
            self.active + other.active,
        )


class ActiveColumns(ABC):
    """The chosen atoms as columns of A, with the targets of one output.

    The constant, if any, is column 0. Outputs are coefficients of the same columns, one for each
    ridge penalty.
    """

    loss: Loss
    #: Whether column 0 is the constant 1.
    has_constant: bool
    #: Whether equal atoms of several outputs are one atom of the model. Trees whose leaves have
    #: coefficients belong to one output.
    shares_atoms: bool = True
    #: The number k of columns, including the constant.
    n_columns: int
    #: The sum of the weights, m in all formulas.
    total_weight: float

    @abstractmethod
    def start(self) -> Start:
        """Return the best constant, and risks, in a round or two."""

    def narrow(self, loss: Loss) -> None:
        """Go on with a narrowed loss; states of the rows are no longer valid."""
        self.loss = loss

    @property
    @abstractmethod
    def norms(self) -> Array:
        """The k-vector of the columns' empirical norms."""

    @property
    @abstractmethod
    def first_gradient(self) -> Array:
        """The gradient of the mean loss at zero coefficients, a k-vector."""

    @abstractmethod
    def append(self, atoms: Matrix, entry: object = None) -> None:
        """Add columns for parameter rows, which need not have been candidates.

        `entry` is the column or the leaf numbers of a single atom, if scoring has computed it.
        """

    def drop(self, position: int) -> None:
        """Remove a column; later ones move up. Leaves are never removed."""
        raise NotImplementedError

    @abstractmethod
    def expand(self, point: Point, subset: Sequence[int] | None = None) -> Expansion:
        """Return the sums at a point, in one round.

        Gradient and Gram matrix are those of all columns, or of a subset that are no leaves.
        """

    def gram(self, point: Point) -> Array:
        """Return the Hessian of the mean loss if `expand` omits it, in one round."""
        raise NotImplementedError

    def product(self, point: Point, direction: Array) -> Array:
        """Return the Hessian of the mean loss times a direction, for too many columns for `gram`.

        One round.
        """
        raise NotImplementedError

    def atom_coef(self, coef: Array) -> Array:
        """Return the coefficients of atoms without the constant; 1 if leaves have their own."""
        return coef[int(self.has_constant) :]

    def leaf_values(self, coef: Array, first: int = 0) -> list[Array]:
        """Return the leaf coefficients of each tree from `first` on, if leaves are corrected."""
        return []

    def qr_factor(self, point: Point, majorize: bool) -> tuple[Array, Array]:
        """Return what determines a least-norm Newton direction, unless columns are leaves.

        With h the rows' curvatures and r = -slope / h where h > 0: the factor R of a QR
        decomposition of diag(h)^(1/2) [A, r], of shape (k + 1, k + 1), whose condition is that of
        A, not its square; and the sums of A over the slopes of rows without curvature. With
        `majorize`, rows with a slope but no curvature get the bound of the curvature.
        """
        raise NotImplementedError

    def newton(
        self,
        output: int,
        coef: Array,
        penalty: Array,
        tol: float,
        max_iter: int,
    ) -> NewtonEnd | None:
        """Run Newton's method where the rows are, while the normal equations are safe.

        None if there is nothing faster than `expand`.
        """
        return None

    def step(self, point: Point, newest: int, l2: float) -> NewestFit | None:
        """Minimise over the constant and the coefficient of one column, which is 0.

        For a tree's leaves, the first of which is `newest`, over all of them. None for a loss
        without a second derivative.
        """
        if not isinstance(self.loss, CurvedLoss):
            return None
        subset = [0, newest] if self.has_constant else [newest]
        ridge = np.array([0.0, l2])[-len(subset) :]
        trial = point
        best = NewestFit(point.coef, np.inf)
        least = np.inf
        way = 0.0 * ridge
        slope = 0.0
        first = 0.0
        for _ in range(_TRIALS):
            expansion = self.expand(trial, subset)
            assert expansion.gram is not None
            end = trial.coef
            objective = expansion.risk + l2 * float(end[newest]) ** 2
            if objective > least + _ARMIJO * slope:
                way = 0.5 * way
                slope = 0.5 * slope
            else:
                least = objective
                best = NewestFit(end, expansion.risk, expansion.state)
                gradient = expansion.gradient + 2.0 * ridge * end[subset]
                system = expansion.gram + 2.0 * np.diag(ridge)
                way = np.asarray(-np.linalg.lstsq(system, gradient, rcond=None)[0], np.float64)
                slope = float(gradient @ way)
                first = first or -slope
                if not slope < -_LITTLE * first:
                    break
            moved = best.coef.copy()
            moved[subset] += way
            trial = Point(self, point.output, moved)
        return best

    def arrays(self) -> tuple[Matrix, Matrix, Matrix]:
        """Return A, the labels and the weights, for solvers that work on all rows."""
        raise TypeError("These columns are on other machines.")


class Point(NamedTuple):
    """Where residuals are taken: an output of some columns, and coefficients."""

    columns: ActiveColumns
    output: int
    coef: Array
    #: The state of the rows there, if known: see `Expansion`.
    state: object = None


@dataclass(frozen=True)
class Residuals:
    """The residuals at points, computed once per step."""

    points: Sequence[Point]
    #: Of shape (n_rows, n_points), if the rows are in this process.
    matrix: Matrix = None
    #: The weights of the rows times `Loss.stiffness`, of the same shape.
    weights: Matrix = None


class Candidates(ABC):
    """Candidate atoms laid over the data."""

    #: ndarray or CSR matrix of shape (n_candidates, n_parameters), in order of preference.
    atoms: Matrix

    @abstractmethod
    def best(self, residuals: Residuals, normalize: bool, allowed: Flags) -> list[Winner | None]:
        """Find the candidate with the largest absolute inner product with each residual.

        Among scores within TIE of the largest, the first wins.

        Parameters
        ----------
        residuals : Residuals
        normalize : bool
            Whether to divide each atom by its empirical norm. An atom that vanishes on the data
            then scores 0.
        allowed : ndarray of bool, shape (n_candidates, n_points)
            Which candidates may be chosen for each point.

        Returns
        -------
        list of Winner or None
            None for a point with no allowed candidate.
        """


class Subsample(ABC):
    """Some rows of a design, fixed during a fit, on which atoms are learned."""

    #: ndarray or CSR matrix: raw rows, in an order that depends only on their values.
    rows: Matrix
    weights: Array

    @abstractmethod
    def residuals(self, residuals: Residuals) -> tuple[Array, Array]:
        """Return its residuals and the weights of its rows there, of shape (n_rows, n_points)."""


class Design(ABC):
    """A dictionary laid over weighted data."""

    dictionary: Dictionary
    n_rows: int
    total_weight: float
    #: One standardised unit of each column.
    scale: Array
    #: The standard deviation of each column.
    deviation: Array

    @property
    @abstractmethod
    def n_distinct(self) -> int:
        """The number of distinct rows; on a cluster, those of the partitions add up."""

    @property
    @abstractmethod
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""

    @abstractmethod
    def as_sample(self, rows: Matrix) -> Sample:
        """Return rows with what a dictionary knows of all the data."""

    @abstractmethod
    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw at most n distinct rows of the data.

        Rows lie on a circle at their keyed hashes, and the first n from `turn` on are drawn. The
        cost of a fresh draw, with another turn in each step, does not grow with the data.
        """

    @abstractmethod
    def subsample(self, n: int, key: int) -> Subsample:
        """Return a subsample of at most n rows; the key does not matter if that is all of them."""

    @abstractmethod
    def candidates(self, atoms: Matrix, *, reuse: bool) -> Candidates:
        """Lay atoms over the data.

        Parameters
        ----------
        atoms : ndarray or CSR matrix of shape (n_candidates, n_parameters)
        reuse : bool
            Whether they will be scored more than once: then their values are stored if they fit
            into the memory budget.
        """

    def each_output(self, work: Callable[[Piece], T], outputs: Sequence[Piece]) -> list[T]:
        """Do work for outputs, which share nothing; return the results in order."""
        return [work(output) for output in outputs]

    @abstractmethod
    def residuals(self, points: Sequence[Point]) -> Residuals:
        """Return the residuals at points, for the following verbs."""

    @abstractmethod
    def sums(self, atoms: Matrix, residuals: Residuals) -> Sums:
        """Return the sums that determine the gains of a few atoms, in float64."""

    @abstractmethod
    def grow(self, residuals: Residuals) -> tuple[Any, Sums]:
        """Grow a tree with corrected leaves on each residual, over all rows.

        Return the trees and the sums of each of them.
        """

    @abstractmethod
    def columns(
        self,
        target: Any,
        loss: Loss,
        capacity: int,
        has_constant: bool,
        n_outputs: int = 1,
    ) -> ActiveColumns:
        """Return an empty set of columns.

        Parameters
        ----------
        target : ndarray or tensor of shape (n_rows,)
            Numbers, for a margin loss labels -1 and +1, or what represents them on a cluster.
        loss : Loss
        capacity : int
            The largest number of atoms.
        has_constant : bool
        n_outputs : int, default=1
        """
