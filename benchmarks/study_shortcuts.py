"""Whether a step can score less than all candidates in full, and still choose the same atom.

The default path over MAGIC (10,000 rows, all of them candidates, Gauss atoms, 165 steps) is run
once; then every shortcut is asked, at each step, how many candidates its error bounds leave in
doubt. Those have to be scored exactly, and where they are more than an eighth of all, everything
is. After that the passes over stored values are timed, at the same size.
"""

import timeit
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier, GaussDictionary
from fcgboost.backends import kernels
from paper.data import fetch_uci

N_SAMPLES = 10_000
AT_ONCE = 500
RUNS = 10
DOUBTFUL_SHARE = 1 / 8
ROUNDOFF = 2.0**-24


class Path(NamedTuple):
    """Residuals of all steps (as rows), candidates' exact scores there, and what bounds need."""

    Z: Any
    residuals: Any
    allowed: Any
    exact: Any
    norms: Any
    quantised: dict[str, tuple[Any, Any]]


def run_path() -> Path:
    """Fit, then score all candidates at all steps, in blocks of candidates."""
    X, y = fetch_uci("magic_gamma_telescope")
    X, y = np.asarray(X, np.float64), np.where(y == np.unique(y)[1], 1.0, -1.0)
    rows = np.random.default_rng(0).permutation(len(X))[:N_SAMPLES]
    Z = ((X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)).astype(np.float32)
    atoms = GaussDictionary(width=np.sqrt(Z.shape[1] / 2.0))
    model = FCGBoostClassifier(atoms, selection="all", standardize=False, random_state=0)
    model.fit(Z.astype(np.float64), y[rows])
    residuals = path_residuals(model.trace_, evaluate(Z, model.atoms_[:, :-1]), y[rows])
    exact, norms = np.empty((len(residuals), len(Z))), np.empty(len(Z))
    allowed = np.ones(exact.shape, bool)
    for k, atom in enumerate(model.atoms_[:, :-1]):
        allowed[k + 1 :, (atom == Z).all(axis=1)] = False
    quantised = {name: (np.empty_like(exact), np.empty_like(norms)) for name in ("int8", "int16")}
    for start in range(0, len(Z), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        G = evaluate(Z, Z[block])
        exact[:, block], norms[block] = residuals @ G, np.linalg.norm(G, axis=0)
        for name, (dots, errors) in quantised.items():
            # Multiples of a share of the column's largest value.
            unit = G.max(axis=0) / np.iinfo(name).max
            kept = np.rint(G / unit) * unit
            dots[:, block], errors[block] = residuals @ kept, np.linalg.norm(G - kept, axis=0)
    return Path(Z, residuals, allowed, exact, norms, quantised)


def evaluate(Z: Any, centers: Any) -> Any:
    """Give Gauss atoms of steepness 1 / d in float64."""
    Z = Z.astype(np.float64)
    squares = sum((Z[:, k, None] - centers[:, k]) ** 2 for k in range(Z.shape[1]))
    return np.exp(-squares / Z.shape[1])


def path_residuals(trace: Any, columns: Any, y: Any) -> Any:
    """Give the squared hinge's residuals before each step, of norm about 1."""
    start = np.full(len(y), trace.start[0])
    decisions = [start] + [columns[:, : s.coef.shape[1]] @ s.coef[0] + s.intercept for s in trace]
    return np.array([y * np.maximum(0.0, 1.0 - y * f) for f in decisions[:-1]]) / np.sqrt(len(y))


def in_doubt(scores: Any, bounds: Any, allowed: Any) -> int:
    """Count the candidates that can be the best."""
    sizes = np.abs(scores)
    surely = np.max((sizes - bounds)[allowed])
    return int(np.count_nonzero((sizes + bounds)[allowed] >= surely))


def count_anchored(path: Path, name: str) -> Iterator[int]:
    """Score changes since the last full pass with a coarse copy of the values."""
    dots, errors = path.quantised[name]
    anchor = 0
    yield len(path.norms)
    for k in range(1, len(path.exact)):
        scores = path.exact[anchor] + dots[k] - dots[anchor]
        bounds = errors * np.linalg.norm(path.residuals[k] - path.residuals[anchor])
        count = in_doubt(scores, bounds, path.allowed[k])
        if count > DOUBTFUL_SHARE * len(errors):
            anchor, count = k, len(errors)
        yield count


def count_carried(path: Path) -> Iterator[int]:
    """Bound every score from the step at which it was last computed."""
    scored, last = np.zeros(len(path.norms), int), np.abs(path.exact[0])
    yield len(path.norms)
    for k in range(1, len(path.exact)):
        moves = np.linalg.norm(path.residuals[: k + 1] - path.residuals[k], axis=1)
        allowed, exact = path.allowed[k], np.abs(path.exact[k])
        # Fewer cannot do: whatever might beat the best one has to be looked at.
        again = allowed & (last + moves[scored] * path.norms >= exact[allowed].max())
        scored[again], last[again] = k, exact[again]
        yield int(again.sum())


def count_stored(path: Path) -> Iterator[int]:
    """Score with float32 values, errors bounded by norms."""
    lost = kernels.stored_error(path.residuals.shape[1]) + 2.0 * ROUNDOFF
    for k, exact in enumerate(path.exact):
        bounds = 1.01 * lost * np.linalg.norm(path.residuals[k]) * path.norms
        yield in_doubt(exact, bounds, path.allowed[k])


def count_fused(path: Path) -> Iterator[int]:
    """Score with the fused kernel and its own bounds."""
    Z, R = path.Z, np.ascontiguousarray(path.residuals.T, dtype=np.float32)
    steepness = np.full(len(Z), 1.0 / Z.shape[1], np.float32)
    dots, sizes = kernels.gauss_dots(Z, Z, steepness, R)
    bounds = kernels.gauss_bounds(sizes, np.abs(R).sum(axis=0, dtype=np.float64), *Z.shape)
    # Rounding the residuals, and a steepness that has no float32: x g <= 1 in the exponent.
    bounds += 2.0 * ROUNDOFF * np.abs(path.residuals).sum(axis=1)
    for k in range(len(path.exact)):
        yield in_doubt(dots[:, k], bounds[:, k], path.allowed[k])


@numba.njit(nogil=True, error_model="numpy")
def coarse_dots(G: Any, rows: Any, r: Any, start: int, dots: Any) -> None:
    """Add to dots as `stored_dots` does, of integers and a multiple of four rows."""
    n, f = len(dots), np.float32
    sums = np.empty(n, f)
    for first in range(0, len(rows), kernels.BLOCK):
        sums[:] = 0.0
        for q in range(first, min(first + kernels.BLOCK, len(rows)), 4):
            r0, r1, r2, r3 = r[q], r[q + 1], r[q + 2], r[q + 3]
            g0, g1 = G[rows[q]][start : start + n], G[rows[q + 1]][start : start + n]
            g2, g3 = G[rows[q + 2]][start : start + n], G[rows[q + 3]][start : start + n]
            for j in range(n):
                pair = r0 * f(g0[j]) + r1 * f(g1[j])
                sums[j] += pair + (r2 * f(g2[j]) + r3 * f(g3[j]))
        for j in range(n):
            dots[j] += sums[j]


def time_passes(n: int, n_threads: int) -> dict[str, float]:
    """Time a pass over n x n stored values, all rows having residuals."""
    rng = np.random.default_rng(0)
    G, r, rows = rng.random((n, n), np.float32), rng.random(n, np.float32), np.arange(n)
    cuts = list(pairwise(np.linspace(0, n, n_threads + 1, dtype=int)))
    with ThreadPoolExecutor(n_threads) as pool, threadpool_limits(n_threads):

        def best_time(work: Callable[[], Any]) -> float:
            return min(timeit.repeat(work, number=1, repeat=RUNS))

        def in_threads(work: Callable[[int, int], Any]) -> float:
            return best_time(lambda: list(pool.map(lambda cut: work(*cut), cuts)))

        times = {"r @ G (BLAS)": best_time(lambda: r @ G)}
        times["stored_dots"] = in_threads(lambda a, b: kernels.stored_dots(G, rows, r, a, b))
        for name in ("int16", "int8"):
            Q = (np.iinfo(name).max * G).astype(name)
            times[name] = in_threads(lambda a, b, Q=Q: coarse_dots(Q, rows, r, a, np.zeros(b - a)))
        return times


def main() -> None:
    path = run_path()
    counts = {
        "int8 copy, anchored": count_anchored(path, "int8"),
        "int16 copy, anchored": count_anchored(path, "int16"),
        "bounds carried over": count_carried(path),
        "float32, stored": count_stored(path),
        "float32, fused": count_fused(path),
    }
    n = len(path.norms)
    print(f"In doubt, of {n} candidates, at {len(path.exact)} steps (full: all were scored)")
    print(f"{'':<22}{'median':>8}{'mean':>8}{'steps 2-33':>12}{'last 33':>9}{'full':>6}")
    for name, found in counts.items():
        c = np.fromiter(found, float)
        spans = f"{np.median(c[1:33]):>12.0f}{np.median(c[-33:]):>9.0f}"
        spans += f"{np.count_nonzero(c > DOUBTFUL_SHARE * n):>6}"
        print(f"{name:<22}{np.median(c):>8.0f}{c.mean():>8.0f}{spans}")
    for n_threads in (1, 2):
        for name, seconds in time_passes(n, n_threads).items():
            rate = n * n / seconds / 1e9
            print(f"{n_threads} threads {name:<14}{1e3 * seconds:>8.1f} ms {rate:>6.1f} 10^9 / s")


if __name__ == "__main__":
    main()
