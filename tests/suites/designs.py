"""What every design must do, checked against matrices written out in full.

The tests of a design import these functions and hand them its `Place`.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from fcgboost.designs.base import ActiveColumns, Candidates, Design, Point, Winner
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import GaussDictionary, ReluDictionary
from fcgboost.losses import CubedHinge, CurvedLoss, Square, SquaredHinge


class OwnSquaredHinge(SquaredHinge):
    """A loss that nothing is compiled for."""


class Place(NamedTuple):
    """How designs are made in some place.

    Attributes
    ----------
    design : callable
        Makes a design of a dictionary, rows, weights, `standardize` and options; rows have the
        labels that `make_codes` returns.
    targets : callable
        Returns what stands for the labels of some classes, each against the rest.
    """

    design: Callable[..., Design]
    target: Callable[[int], Any]
    takes_sparse: bool = True

    def forms(self, X: np.ndarray) -> list[Any]:
        """Return X as it may be handed in."""
        return [X, sparse.csr_array(X)] if self.takes_sparse else [X]


M, D, N_CLASSES, N_OUTPUTS = 60, 3, 3, 3


def make_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with zeros in them, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, D)) * [0.5, 2.0, 30.0] + [1.0, -3.0, 10.0]
    X[rng.random((M, D)) < 0.3] = 0.0
    return X, rng.uniform(0.2, 3.0, M)


def make_codes(m: int = M) -> np.ndarray:
    """Return the class of every row."""
    return np.random.default_rng(20).integers(0, N_CLASSES, m)


def make_atoms(n: int, seed: int = 1) -> np.ndarray:
    """Return ReLU atoms; every fifth vanishes on any data."""
    atoms = np.random.default_rng(seed).standard_normal((n, D + 1))
    atoms[::5] = [0.0] * D + [-1.0]
    return atoms


def naive_matrix(X: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, X @ atoms[:, :-1].T + atoms[:, -1])


class Rows(NamedTuple):
    """Columns in full, the labels of every output, and the rows' shares of the weight."""

    A: np.ndarray
    Y: np.ndarray
    shares: np.ndarray
    loss: CurvedLoss

    def terms(self, output: int, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the losses, and slopes and curvatures times the shares."""
        y, f = self.Y[output], self.A @ coef
        loss, s = self.loss, self.shares
        return loss.value(y, f), s * loss.gradient(y, f), s * loss.curvature(y, f)


class Scene(NamedTuple):
    """Columns of a place, and the same matrix in full."""

    columns: ActiveColumns
    rows: Rows

    def point(self, output: int, seed: int, size: float = 0.3) -> tuple[Point, np.ndarray]:
        """Return a point, and the residual there."""
        k = self.columns.n_columns
        coef = np.random.default_rng(seed).standard_normal(k) * size
        coef /= np.maximum(np.abs(self.rows.A).max(axis=0, initial=0.0), 1.0)
        return Point(self.columns, output, coef), -self.rows.terms(output, coef)[1]

    def points(self, seed: int, size: float = 0.3) -> tuple[list[Point], np.ndarray]:
        """Return a point of every output, and the residuals there."""
        pairs = [self.point(c, seed + c, size) for c in range(len(self.rows.Y))]
        return [point for point, _ in pairs], np.column_stack([r for _, r in pairs])


def make_scene(
    place: Place,
    has_constant: bool = False,
    atoms: np.ndarray | None = None,
    loss: CurvedLoss | None = None,
    design: Design | None = None,
) -> Scene:
    """Append atoms, three at a time, to columns of a class against the rest, for three outputs."""
    X, weights = make_data()
    atoms = make_atoms(8) if atoms is None else atoms
    loss = SquaredHinge() if loss is None else loss
    if design is None:
        design = place.design(ReluDictionary(), X, weights, standardize=False)
    columns = design.columns(place.target(0), loss, len(atoms), has_constant, N_OUTPUTS)
    for j in range(0, len(atoms), 3):
        columns.append(atoms[j : j + 3])
    A = matrix_with_constant(X, atoms, has_constant)
    Y = np.stack([np.where(make_codes() == 0, 1.0, -1.0)] * N_OUTPUTS)
    return Scene(columns, Rows(A, Y, weights / weights.sum(), loss))


def matrix_with_constant(X: np.ndarray, atoms: np.ndarray, has_constant: bool) -> np.ndarray:
    """Return the columns as they must be."""
    values = naive_matrix(X, atoms)
    return np.column_stack([np.ones(len(X)), values]) if has_constant else values


def assert_close(actual: Any, expected: np.ndarray, precision: float = 1e-13) -> None:
    size = np.abs(expected).max(initial=1e-300)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=precision * size)


def assert_expansions_are_right(columns: ActiveColumns, rows: Rows, points: list[Any]) -> None:
    """Compare sums at points with those over the matrix, in units of the columns' sizes."""
    sizes = np.abs(rows.A).max(axis=0, initial=0.0)
    for point in points:
        _, output, coef, _ = point
        risk, gradient, gram, state = columns.expand(point)
        values, slopes, curvatures = rows.terms(output, coef)
        # What kept sums lose, and what cancels in A coef.
        lost = 1e-11 * (1.0 + np.abs(rows.A).max(initial=0.0) * np.abs(coef).sum())
        assert isinstance(risk, float)
        assert risk == pytest.approx(rows.shares @ values, rel=1e-11, abs=lost)
        assert gradient.shape == coef.shape
        assert (np.abs(gradient - rows.A.T @ slopes) <= lost * sizes + 1e-300).all()
        expected = rows.A.T @ (curvatures[:, None] * rows.A)
        gram = columns.gram(Point(columns, output, coef, state)) if gram is None else gram
        assert gram.shape == expected.shape
        assert (np.abs(gram - expected) <= 1e-11 * np.outer(sizes, sizes) + 1e-300).all()


def scores_of(candidates: Candidates, points: list[Point], normalize: bool) -> Any:
    """Return all scores: the best one where a single candidate is allowed is its own."""
    n = candidates.atoms.shape[0]
    scores = np.empty((n, len(points)))
    residuals = candidates._design.residuals(points)
    for j in range(n):
        allowed = np.zeros(scores.shape, dtype=bool)
        allowed[j] = True
        for c, best in enumerate(candidates.best(residuals, normalize, allowed)):
            assert isinstance(best, Winner)
            assert best.index == j
            assert type(best.score) is float
            scores[j, c] = best.score
    return scores


def naive_scores(values: np.ndarray, weights: np.ndarray, R: np.ndarray, normalize: bool) -> Any:
    """Return the absolute inner products with divided columns; those that vanish score 0."""
    sizes = np.ones(values.shape[1])
    if normalize:
        sizes = np.sqrt((weights[:, None] * values**2).sum(axis=0) / weights.sum())
    scores = np.zeros((values.shape[1], R.shape[1]))
    scores[sizes > 0.0] = np.abs(values.T @ R)[sizes > 0.0] / sizes[sizes > 0.0, None]
    return scores


def naive_best(scores: np.ndarray, allowed: np.ndarray) -> list[int | None]:
    """Return the first of the allowed candidates that are as good as the best one."""
    found: list[int | None] = []
    for c in range(scores.shape[1]):
        places = np.flatnonzero(allowed[:, c])
        best = [j for j in places if scores[j, c] >= (1.0 - 1e-10) * scores[places, c].max()]
        found.append(int(best[0]) if best else None)
    return found


# Candidates


def check_scores_are_inner_products(place: Place) -> None:
    X, weights = make_data()
    atoms = make_atoms(25)
    values = naive_matrix(X, atoms)
    for inputs, reuse in product(place.forms(X), (True, False)):
        design = place.design(ReluDictionary(), inputs, weights, False)
        points, R = make_scene(place, design=design).points(seed=2)
        candidates = design.candidates(atoms, reuse=reuse)
        np.testing.assert_array_equal(candidates.atoms, atoms)
        for normalize in (True, False, True):  # again, once they are known
            expected = naive_scores(values, weights, R, normalize)
            assert_close(scores_of(candidates, points, normalize), expected, 1e-12)


def check_the_first_of_the_best_allowed_candidates_wins(place: Place) -> None:
    X, weights = make_data()
    rng = np.random.default_rng(3)
    atoms = make_atoms(50)
    atoms[30:45] = atoms[rng.permutation(30)[:15]]  # exact ties
    values = naive_matrix(X, atoms)
    for inputs, reuse, normalize in product(place.forms(X), (True, False), (False, True)):
        design = place.design(ReluDictionary(), inputs, weights, standardize=False)
        scene = make_scene(place, design=design)
        candidates = design.candidates(atoms, reuse=reuse)
        for seed, share in enumerate((1.0, 0.5, 0.1, 0.02, 0.0)):
            points, R = scene.points(seed, size=1.0)
            allowed = rng.random((50, 3)) < share
            allowed[:, 0] &= share > 0.1
            found = candidates.best(design.residuals(points), normalize, allowed)
            scores = naive_scores(values, weights, R, normalize)
            assert [best and best.index for best in found] == naive_best(scores, allowed)
            for c, best in enumerate(found):
                if best is not None:
                    assert best.score == pytest.approx(scores[best.index, c], rel=1e-10, abs=1e-12)


def check_an_atom_that_vanishes_scores_zero(place: Place) -> None:
    X, weights = make_data()
    design = place.design(ReluDictionary(), X, weights, standardize=False)
    points, _ = make_scene(place, design=design).points(seed=5)
    candidates = design.candidates(make_atoms(50), reuse=False)
    for normalize in (False, True):
        scores = scores_of(candidates, points, normalize)
        np.testing.assert_array_equal(scores[::5], 0.0)
        assert (scores[1:5] > 0.0).any()


def check_standardised_inputs_are_seen_through_folded_atoms(place: Place) -> None:
    X, weights = make_data()
    mean = np.average(X, axis=0, weights=weights)
    Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    Y = np.where(make_codes() == 0, 1.0, -1.0)
    R = (2.0 * weights * Y / weights.sum())[:, None]  # where nothing is fitted yet
    for inputs in place.forms(X):
        design = place.design(GaussDictionary(width=1.5), inputs, weights, standardize=True)
        sample = design.sample(20, 5)
        atoms = design.dictionary.candidates(sample, 20, 5)
        rows = sample.dense_rows()
        centers = [Z[(row == X).all(axis=1)][0] for row in rows]
        values = [[np.exp(-np.sum((z - c) ** 2) / (2 * 1.5**2)) for c in centers] for z in Z]
        candidates = design.candidates(atoms, reuse=False)
        columns = design.columns(place.target(0), SquaredHinge(), 1, has_constant=True)
        scores = scores_of(candidates, [Point(columns, 0, np.zeros(1))], False)
        assert_close(scores, np.abs(np.array(values).T @ R), 1e-12)


def check_sums_say_what_atoms_gain(place: Place) -> None:
    X, weights = make_data()
    atoms = make_atoms(7)
    values = naive_matrix(X, atoms)
    for inputs in place.forms(X):
        design = place.design(ReluDictionary(), inputs, weights, standardize=False)
        points, R = make_scene(place, design=design).points(seed=6, size=1.0)
        assert (R == 0.0).any()
        active = (R != 0.0) * weights[:, None]
        sums = design.sums(atoms, design.residuals(points))
        assert_close(sums.dots, values.T @ R)
        assert_close(sums.firsts, values.T @ active)
        assert_close(sums.squares, (values**2).T @ active)
        assert_close(sums.active, active.sum(axis=0))
        assert design.sums(atoms[:0], design.residuals(points)).dots.shape == (0, 3)


# Columns


def check_columns_are_the_matrix(place: Place) -> None:
    weights = make_data()[1]
    for has_constant in (False, True):
        columns, rows = make_scene(place, has_constant)
        assert columns.n_columns == rows.A.shape[1]
        assert columns.has_constant == has_constant
        assert columns.total_weight == pytest.approx(weights.sum())
        mean = np.average(rows.Y[0], weights=weights) if has_constant else 0.0
        risks = [np.average(columns.loss.value(rows.Y[0], c), weights=weights) for c in (mean, 0)]
        np.testing.assert_allclose(columns.start(), [mean, *risks], rtol=1e-13)
        assert_close(columns.norms, np.sqrt(rows.shares @ rows.A**2))
        slopes = rows.terms(0, np.zeros(rows.A.shape[1]))[1]
        assert_close(columns.first_gradient, rows.A.T @ slopes)


def check_expansions_are_sums_over_the_matrix(place: Place) -> None:
    for loss in (SquaredHinge(), CubedHinge(), Square(), OwnSquaredHinge()):
        for has_constant in (False, True):
            scene = make_scene(place, has_constant, loss=loss)
            points = [scene.point(c, seed)[0] for seed, c in enumerate((0, 2, 1, 1, 0))]
            nothing = Point(scene.columns, 2, np.zeros(scene.columns.n_columns))
            assert_expansions_are_right(scene.columns, scene.rows, [*points, nothing, points[0]])


def check_columns_may_be_empty(place: Place) -> None:
    for loss, has_constant in product((SquaredHinge(), CubedHinge()), (False, True)):
        scene = make_scene(place, has_constant, make_atoms(0), loss)
        assert scene.columns.n_columns == int(has_constant)
        for value in (0.0, 0.5):
            point = Point(scene.columns, 1, np.full(int(has_constant), value))
            assert_expansions_are_right(scene.columns, scene.rows, [point])


def check_expansions_follow_points_and_columns(place: Place) -> None:
    rng = np.random.default_rng(4)
    X, weights = make_data()
    atoms = make_atoms(40)
    for loss, has_constant in product((SquaredHinge(), CubedHinge()), (False, True)):
        design = place.design(ReluDictionary(), X, weights, standardize=False)
        columns = design.columns(place.target(0), loss, 40, has_constant, N_OUTPUTS)
        here: list[int] = []
        Y = make_scene(place).rows.Y
        for step in range(150):
            if step % 5 == 0:
                here.append(len(here))
                columns.append(atoms[here[-1]][None])
                A = matrix_with_constant(X, atoms[here], has_constant)
                coef = np.zeros((N_OUTPUTS, A.shape[1]))
                rows = Rows(A, Y, weights / weights.sum(), loss)
            # Mostly a small move, which changes a few rows, of one output; sometimes a leap.
            c, size = int(rng.integers(N_OUTPUTS)), 0.3 if step % 37 == 0 else 0.01
            coef[c] = coef[c] + size * rng.standard_normal(A.shape[1])
            assert_expansions_are_right(columns, rows, [Point(columns, c, coef[c])])


def check_columns_that_were_dropped_are_as_if_they_had_never_been(place: Place) -> None:
    rng = np.random.default_rng(12)
    X, _ = make_data()
    atoms = make_atoms(30)
    for has_constant in (False, True):
        first, here = int(has_constant), list(range(6))
        columns, rows = make_scene(place, has_constant, atoms[:6])
        for step in range(12):
            if step != 5:  # once two columns come between two expansions
                coef = 0.1 * rng.standard_normal(columns.n_columns)
                columns.expand(Point(columns, 0, coef))
                columns.expand(Point(columns, 1, -coef))
            gone = [0, len(here) - 1, int(rng.integers(len(here)))][step % 3]
            columns.drop(gone + first)
            del here[gone]
            columns.append(atoms[6 + step : 7 + step])
            here.append(6 + step)
            if step % 4 == 3:
                columns.drop(len(here) - 1 + first)
                del here[-1]
            A = matrix_with_constant(X, atoms[here], has_constant)
            assert columns.n_columns == A.shape[1]
            scene = Scene(columns, rows._replace(A=A))
            assert_close(columns.norms, np.sqrt(rows.shares @ A**2))
            assert_expansions_are_right(columns, scene.rows, scene.points(step)[0])
            R, _ = columns.qr_factor(scene.point(0, step)[0], majorize=False)
            assert R.shape == (A.shape[1] + 1, A.shape[1] + 1)


def check_what_an_expansion_has_belongs_to_the_caller(place: Place) -> None:
    for loss in (SquaredHinge(), CubedHinge()):
        scene = make_scene(place, loss=loss)
        point, _ = scene.point(1, seed=3)
        for _ in range(2):
            _, gradient, gram, _ = scene.columns.expand(point)
            gram = scene.columns.gram(point) if gram is None else gram
            gram[:] = gradient[:] = np.nan
        assert_expansions_are_right(scene.columns, scene.rows, [point])


def check_triangles_square_to_the_gram_matrix(place: Place) -> None:
    repeated = np.vstack([make_atoms(5), make_atoms(5)])
    for loss, has_constant in product((SquaredHinge(), CubedHinge(), Square()), (False, True)):
        for atoms in (make_atoms(8), repeated):
            scene = make_scene(place, has_constant, atoms, loss)
            for majorize, seed in product((False, True), range(3)):
                point, _ = scene.point(seed, seed, size=(0.3, 1.0, 10.0)[seed])
                _, g, h = scene.rows.terms(seed, point.coef)
                if majorize:
                    bound = getattr(loss, "curvature_bound", 1.0)
                    h = np.where((h == 0.0) & (g != 0.0), scene.rows.shares * bound, h)
                target = np.divide(-g, h, out=np.zeros(M), where=h > 0.0)
                R, straight = scene.columns.qr_factor(point, majorize)
                B = np.column_stack([scene.rows.A, target])
                assert R.shape == (B.shape[1], B.shape[1])
                np.testing.assert_array_equal(R, np.triu(R))
                assert_close(R.T @ R, B.T @ (h[:, None] * B), 1e-12)
                expected = scene.rows.A.T @ np.where(h > 0.0, 0.0, g)
                np.testing.assert_allclose(straight, expected, atol=1e-13)


def check_room_grows_with_the_columns(place: Place) -> None:
    X, weights = make_data()
    design = place.design(ReluDictionary(), X, weights, standardize=False)
    atoms = make_atoms(1100)
    A = matrix_with_constant(X, atoms, has_constant=True)
    for step in (50, 333, 1100):
        columns = design.columns(place.target(0), SquaredHinge(), 1100, has_constant=True)
        for j in range(0, 1100, step):
            columns.append(atoms[j : j + step])
            # What is kept must grow as well.
            columns.expand(Point(columns, 0, np.zeros(columns.n_columns)))
        assert columns.n_columns == 1101
        rows = make_scene(place).rows._replace(A=A)
        coef = np.random.default_rng(6).standard_normal(1101) / 1e5
        assert_expansions_are_right(columns, rows, [Point(columns, 0, coef)])


# Rows


def check_subsamples_are_rows_with_their_residuals(place: Place) -> None:
    X, weights = make_data()
    design = place.design(ReluDictionary(), X, weights, standardize=False)
    points, R = make_scene(place, design=design).points(seed=7, size=1.0)
    for n in (17, M, 2 * M):
        subsample = design.subsample(n, key=3)
        rows = np.asarray(subsample.rows)
        # Rows on workers are drawn by a limit of their hashes, which is a little too high.
        assert min(n, M) <= len(rows) <= min(3 * n, M)
        places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
        assert len(set(places)) == len(places)
        np.testing.assert_allclose(subsample.weights, weights[places], rtol=1e-13)
        residuals, active = subsample.residuals(design.residuals(points))
        np.testing.assert_allclose(np.asarray(residuals), R[places], atol=1e-14)
        expected = (R != 0.0)[places] * weights[places, None]
        np.testing.assert_allclose(np.asarray(active), expected, rtol=1e-13)


def check_standardisation_counts_weights(place: Place) -> None:
    X, _ = make_data()
    weights = np.random.default_rng(7).integers(1, 5, M).astype(float)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    mean, deviation = repeated.mean(axis=0), repeated.std(axis=0)
    for inputs, s in (
        (X, weights),
        (repeated, np.ones(len(repeated))),
        *((inputs, weights) for inputs in place.forms(X)[1:]),
        *((inputs, np.ones(len(repeated))) for inputs in place.forms(repeated)[1:]),
    ):
        sample = place.design(GaussDictionary(), inputs, s, standardize=True).sample(1, 0)
        np.testing.assert_allclose(sample.shift, mean, rtol=1e-13)
        np.testing.assert_allclose(sample.scale, deviation, rtol=1e-13)
        assert sample.variance == pytest.approx(1.0)
        assert sample.mean_square == pytest.approx(D)
        plain = place.design(GaussDictionary(), inputs, s, standardize=False).sample(1, 0)
        np.testing.assert_array_equal(plain.shift, np.zeros(D))
        np.testing.assert_array_equal(plain.scale, np.ones(D))
        assert plain.variance == pytest.approx(np.mean(deviation**2))
        assert plain.mean_square == pytest.approx(np.mean((repeated**2).sum(axis=1)))
        for drawn in (sample, plain):
            np.testing.assert_array_equal(drawn.low, X.min(axis=0))
            np.testing.assert_array_equal(drawn.high, X.max(axis=0))


def check_constant_columns_have_unit_scale(place: Place) -> None:
    rng = np.random.default_rng(8)
    weights = rng.uniform(0.1, 1.0, 1000)
    constants = [0.1, -1e6 / 3.0, 0.0, 1e-30, 1.0 / 3.0]
    X = np.tile(constants, (1000, 1))
    X[::2, 4] = np.nextafter(X[0, 4], 1.0)  # a column of rounding errors
    X = np.column_stack([X, rng.standard_normal(1000)])
    for inputs in (*place.forms(X), X.astype(np.float32)):
        with np.errstate(under="ignore"):
            sample = place.design(GaussDictionary(), inputs, weights, True).sample(1, 0)
        np.testing.assert_array_equal(sample.scale[:5], np.ones(5))
        np.testing.assert_allclose(sample.shift[:5], X[0, :5], rtol=1e-7)
        assert sample.scale[5] == pytest.approx(1.0, abs=0.1)
        assert sample.variance == pytest.approx(1.0 / 6.0)


def check_samples_are_distinct_rows_in_an_order_of_their_own(place: Place) -> None:
    rng = np.random.default_rng(9)
    X = rng.integers(-1, 2, (M, D)).astype(float)  # at most 27 distinct rows
    distinct = {tuple(row) for row in X}
    order = rng.permutation(M)
    negative_zeros = np.where(X == 0.0, -0.0, X)
    variants = [
        (X, np.ones(M)),
        (X[order], np.ones(M)),
        (X, rng.uniform(0.1, 9.0, M)),
        (np.repeat(X, 3, axis=0), np.ones(3 * M)),
        *((inputs, np.ones(M)) for inputs in place.forms(X)[1:]),
        (X.astype(np.float32), np.ones(M)),
        (negative_zeros, np.ones(M)),
    ]
    draws = {}
    for key in (0, 1, 2**63):
        for inputs, weights in variants:
            design = place.design(GaussDictionary(), inputs, weights, standardize=True)
            rows = design.sample(10, key).dense_rows()
            assert len({tuple(row) for row in rows}) == 10
            assert {tuple(row) for row in rows} <= distinct
            np.testing.assert_array_equal(rows, draws.setdefault(key, rows))
            everything = design.sample(100, key).dense_rows()
            assert len(everything) == len(distinct)
            assert {tuple(row) for row in everything} == distinct
            np.testing.assert_array_equal(everything[:10], rows)
    assert not np.array_equal(draws[0], draws[1])


def check_candidates_that_do_not_fit_are_evaluated_in_blocks(place: Place) -> None:
    X, weights = make_data()
    atoms = make_atoms(50)
    for inputs in place.forms(X):
        scores = []
        for budget in (0, 8 * M * 50):
            design = place.design(ReluDictionary(), inputs, weights, False, memory_budget=budget)
            columns = design.columns(place.target(0), SquaredHinge(), 1, has_constant=True)
            candidates = design.candidates(atoms, reuse=True)
            scores.append(scores_of(candidates, [Point(columns, 0, np.zeros(1))], False))
        assert_close(*scores)


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]


def target_of(positive: int) -> np.ndarray:
    return np.where(make_codes() == positive, 1.0, -1.0)


MEMORY = Place(MemoryDesign, target_of)
