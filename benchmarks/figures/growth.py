"""Time and memory against the number of rows: ours with sampled candidates and five rivals.

Made-up rows in 10 columns, 100 steps. Every point is a fresh process, so its memory is its own:
the peak above the data and the libraries. A method stops where the next size would take longer
than the limit.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.measure import MEBIBYTE, Record, at_most, fitted_slope
from benchmarks.processes import ProcessError, call

THREADS = 2
SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
QUICK_SIZES = (200, 400)
# Seconds that one fit of a rival may take, and one process of ours.
LIMIT, OUR_LIMIT = 25.0, 180.0
N_STEPS = 100
OURS = "fcgboost"
# With the input that the library does not copy or convert first.
INPUTS = {
    OURS: "float64",
    "LightGBM": "float32",
    "HistGradientBoosting": "float64",
    "random forest": "float32",
    "AdaBoost": "float32",
    "SVC": "float64",
}
# How rivals are called in `paper.rivals`, and what they are given.
MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "LightGBM": ("lightgbm", {"n_jobs": THREADS}),
    "HistGradientBoosting": ("hist_gradient_boosting", {}),
    "random forest": ("random_forest", {"n_jobs": THREADS}),
    "AdaBoost": ("adaboost", {}),
    "SVC": ("svm_rbf", {}),
}
# Fits this short are repeated.
SHORT, REPEATS = 3.0, 3


def measure(quick: bool) -> list[Record]:
    sizes = QUICK_SIZES if quick else SIZES
    curves = {method: _curve(method, sizes) for method in INPUTS}
    ours, rival = curves[OURS], curves["LightGBM"]
    if ours["sizes"] != list(sizes):
        raise ProcessError(ours["ended by"])
    span = f"{sizes[0]:,} to {sizes[-1]:,} rows, {N_STEPS} steps"
    about = f"LightGBM, {INPUTS['LightGBM']}, {THREADS} threads"
    records = [
        Record(
            f"exponent of {what}, {span}",
            ours=ours[f"{what} exponent"],
            baseline=rival.get(f"{what} exponent"),
            baseline_name=about,
            bound=at_most(bound, of="ours"),
        )
        for what, bound in (("time", 1.1), ("memory", 1.05))
    ]
    largest = Record(
        f"{sizes[-1]:,} rows, {N_STEPS} steps: fit",
        unit="s",
        ours=ours["seconds"][-1],
        baseline=dict(zip(rival["sizes"], rival["seconds"], strict=True)).get(sizes[-1]),
        baseline_name=about,
        bound=at_most(120.0, of="ours"),
        details={"curves": curves, "limit of a rival's fit (s)": LIMIT},
    )
    return [*records, largest]


def _curve(method: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Grow until the sizes end, the next one would take too long, or one fails."""
    points: list[dict[str, float]] = []
    ended = "the last size"
    for size in sizes:
        if method != OURS and _expected(points, size) > LIMIT:
            ended = f"the limit of {LIMIT:g} s"
            break
        limit = OUR_LIMIT if method == OURS else 4.0 * LIMIT
        try:
            points.append(call(f"{__name__}:point", {"method": method, "m": size}, THREADS, limit))
        except ProcessError as error:
            ended = str(error)
            break
    done, seconds = [point["m"] for point in points], [point["seconds"] for point in points]
    # Less than a MiB is the allocator's noise, not the method's.
    mebibytes = [max(1.0, point["bytes"] / MEBIBYTE) for point in points]
    curve = {
        "sizes": done,
        "seconds": seconds,
        "mebibytes": mebibytes,
        "input": INPUTS[method],
        "ended by": ended,
    }
    if len(points) > 1:
        curve["time exponent"] = fitted_slope(done, seconds)
        curve["memory exponent"] = fitted_slope(done, mebibytes)
    return curve


def _expected(points: list[dict[str, float]], size: int) -> float:
    """Guess the time of the next size from the last ones."""
    if not points:
        return 0.0
    last = points[-1]
    exponent = 1.0
    if len(points) > 1:
        pair = points[-2:]
        exponent = fitted_slope([p["m"] for p in pair], [p["seconds"] for p in pair])
    return float(last["seconds"] * (size / last["m"]) ** max(exponent, 1.0))


def point(method: str, m: int) -> dict[str, float]:
    """Fit one method to m rows in this process."""
    from benchmarks.data import make_rows
    from benchmarks.measure import peak_memory, seconds

    X, y = make_rows(m)
    X = X.astype(INPUTS[method], copy=False)
    # The first use of a library is slower, and loads and compiles code.
    make_method(method).fit(X[:100], y[:100])
    with peak_memory() as memory:
        times = [seconds(lambda: make_method(method).fit(X, y))]
    while times[0] < SHORT and len(times) < REPEATS:
        times.append(seconds(lambda: make_method(method).fit(X, y)))
    return {"m": m, "seconds": statistics.median(times), "bytes": memory.above}


def make_method(name: str) -> Any:
    """Give a fresh classifier; libraries that are not asked for are not loaded."""
    if name == OURS:
        from fcgboost import FCGBoostClassifier

        return FCGBoostClassifier(
            "gauss", selection="sampled", max_iter=N_STEPS, n_jobs=THREADS, random_state=0
        )
    from paper.rivals import RIVALS

    rival, options = MADE[name]
    return RIVALS[rival].classifier(**options)
