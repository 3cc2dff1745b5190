"""Claims of the theorems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from paper.reporting.ledger.base import (
    Claim,
    Finding,
    Judge,
    Verdict,
    graded,
    lacking,
    needs,
    select,
)
from paper.reporting.summaries import Slope, carried, fit_slope

if TYPE_CHECKING:
    from pandas import DataFrame

#: λ = 0 is the theorems' estimator.
_CORRECTIONS = {"exact": "λ = 0", "ridge": "λ = 1/m"}
_PAIRS = (("simulation", "gauss"), ("simulation", "relu"), ("smooth", "gauss"))
#: A line through fewer sizes is not called a rate.
_FEWEST_SIZES = 4
_K0 = 13


def _rates(bounds: Mapping[str, float], note: str) -> Judge:
    """Compare slopes with the exponents that a theorem gives for the problems."""

    def judge(frame: DataFrame) -> Finding | None:
        sizes = select(frame, kind="size")
        if sizes["n_samples"].nunique() < _FEWEST_SIZES:
            return None
        verdicts, texts = [], []
        for correction, name in _CORRECTIONS.items():
            for problem, dictionary in _PAIRS:
                cell = {"correction": correction, "problem": problem, "dictionary": dictionary}
                rows = select(sizes, **cell)
                lack = lacking(rows, "excess_risk", n_samples=sizes["n_samples"].unique())
                slope = fit_slope(rows, "excess_risk")
                if lack is not None or slope is None or np.isnan(slope.low):
                    return lack
                verdicts.append(_agreement(slope, bounds[problem]))
                shown = f"{slope.slope:.2f} [{slope.low:.2f}, {slope.high:.2f}]"
                texts.append(f"{name}, {problem}, {dictionary} {shown}")
        return Finding(_joint(verdicts), f"{_RULE} {'; '.join(texts)}. {note}")

    return judge


_RULE = (
    "Slope of ln(excess risk) on ln(m / ln m) at k = k0 with 95 % intervals. The bound is from "
    "above: a slope at or below the exponent agrees with it, an interval wholly above "
    "contradicts it, and between the two it holds in part, as where slopes differ."
)


def _agreement(slope: Slope, bound: float) -> Verdict:
    if slope.slope <= bound:
        return "holds"
    return "does not hold" if slope.low > bound else "holds in part"


def _joint(verdicts: list[Verdict]) -> Verdict:
    return verdicts[0] if len(set(verdicts)) == 1 else "holds in part"


@needs(
    "excess_loss",
    kind=("steps",),
    correction=tuple(_CORRECTIONS),
    problem=("simulation", "smooth"),
    dictionary=("gauss",),
)
def _u_shape(frame: DataFrame) -> Finding:
    steps = select(frame, kind="steps", dictionary="gauss")
    texts, right = [], []
    for correction, name in _CORRECTIONS.items():
        for problem in ("simulation", "smooth"):
            rows = select(steps, correction=correction, problem=problem)
            # A path that has ended keeps its last model.
            means = carried(rows, "excess_loss").mean(axis=1).to_dict()
            best, last = min(means, key=means.__getitem__), max(means)
            right.append(_K0 / 3 <= best <= 3 * _K0 and means[last] > means[best])
            texts.append(
                f"{name}, {problem}: lowest {means[best]:.4f} at k = {best}, "
                f"{means[last]:.4f} at k = {last}"
            )
    return Finding(
        graded(sum(right), len(right)), f"Gauss, m = 1000, k0 = {_K0}. {'; '.join(texts)}."
    )


CLAIMS = (
    Claim(
        "The excess risk at k0 falls at least as (m / ln m)^(−1/4) (Theorem 1).",
        "rates",
        _rates(dict.fromkeys(("simulation", "smooth"), -0.25), "The exponent is −1/4."),
    ),
    Claim(
        "Under the noise condition it falls at least as (m / ln m)^(−(q+1)/(2(q+2))) (Theorem 2).",
        "rates",
        _rates(
            {"simulation": -1.0 / 2.0, "smooth": -1.0 / 3.0},
            "The exponent is −1/2 on the simulation, where |η − 1/2| = 0.2 (q = ∞) but η jumps, "
            "so that Assumption 1 fails, and −1/3 on the smooth problem (q = 1).",
        ),
    ),
    Claim(
        "The excess squared hinge risk has its minimum at k of the order of k0.",
        "rates",
        _u_shape,
    ),
)
