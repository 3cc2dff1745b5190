"""Claims on the six update schemes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from fcgboost.experiments.reporting import published
from fcgboost.experiments.reporting.ledger.base import Claim, Finding, Verdict, graded, select
from fcgboost.experiments.reporting.summaries import Summary, paired, summaries

if TYPE_CHECKING:
    from pandas import DataFrame

PARTIAL = ("original", "shrinkage", "truncation", "epsilon", "rescaled")
ALL = ("fully_corrective", *PARTIAL)
#: A pair of mean best test errors further apart than this is looked into.
_APART = 0.01
_K0 = 13


def _chosen(frame: DataFrame) -> DataFrame:
    """Give the rows whose width cross-validation chose; of a quick run, all."""
    rows = select(frame, width="cv")
    return frame if rows.empty else rows


def _means(frame: DataFrame, kind: str, column: str) -> dict[str, Summary]:
    return summaries(select(_chosen(frame), kind=kind), ["scheme"], column)


def _few_atoms(frame: DataFrame) -> Finding:
    texts, ratios = [], []
    for kind, name in (("best", "at the best test error"), ("reach", "to come within 0.005 of it")):
        atoms = {scheme: s.mean for scheme, s in _means(frame, kind, "atoms").items()}
        ratios += [atoms[scheme] / atoms["fully_corrective"] for scheme in PARTIAL]
        shown = ", ".join(f"{scheme} {atoms[scheme]:.1f}" for scheme in ALL)
        texts.append(f"{name}: {shown}")
    return Finding(
        graded(sum(ratio >= 3.0 for ratio in ratios), len(ratios)),
        f"Mean distinct atoms {'; '.join(texts)}. Ratios to full correction "
        f"{min(ratios):.1f} to {max(ratios):.1f}.",
    )


def _twelve(frame: DataFrame) -> Finding:
    atoms = _means(frame, "best", "atoms")
    names = {
        "fully_corrective": "active atoms excluded, λ = 1/m",
        "exact": "excluded, λ = 0",
        "letter": "Algorithm 1 to the letter by ADMM",
    }
    shown = "; ".join(f"{names[s]}: {atoms[s].mean:.1f} ± {atoms[s].error:.1f}" for s in names)
    near = [abs(atoms[s].mean - 12.6) <= max(3.0, 2.0 * atoms[s].error) for s in names]
    printed = published.sim4("fully_corrective")
    return Finding(
        graded(sum(near), len(near)),
        f"Atoms at the best test error, printed {printed.atoms if printed else 0}. {shown}.",
    )


def _equal_errors(frame: DataFrame) -> Finding:
    errors = _means(frame, "best", "test_error")
    shown = ", ".join(f"{s} {errors[s].mean:.4f} ± {errors[s].error:.4f}" for s in ALL)
    apart = [
        (first, last)
        for first, last in combinations(ALL, 2)
        if abs(errors[first].mean - errors[last].mean) > _APART
    ]
    if not apart:
        return Finding("holds", f"{shown}. No pair is further apart than {_APART}.")
    reasons = [_reason(frame, *pair) for pair in apart]
    return Finding("does not hold", f"{shown}. Further apart than {_APART}: {'; '.join(reasons)}.")


def _reason(frame: DataFrame, first: str, last: str) -> str:
    """Say from the rows of fixed widths whether width or scheme sets a pair apart."""
    best = frame[(frame["kind"] == "best") & frame["width"].astype(str).ne("cv")]
    gaps = {
        str(width): paired(rows, "test_error", "scheme", first, last)
        for width, rows in best.groupby("width")
    }
    apart = [width for width, gap in gaps.items() if abs(gap.mean) > _APART]
    if not gaps:
        cause = "no fixed widths were run"
    elif not apart:
        cause = "the width, since at equal widths the two are together"
    elif len(apart) == len(gaps):
        cause = "the scheme, at every width"
    else:
        cause = f"scheme and width together, only at σ = {', '.join(apart)}"
    shown = ", ".join(f"σ {width}: {gap.mean:+.4f}" for width, gap in gaps.items())
    return f"{last} minus {first} ({shown}): {cause}"


def _training_errors(frame: DataFrame) -> Finding:
    errors = _means(frame, "best", "training_error")
    shown = ", ".join(f"{scheme} {errors[scheme].mean:.4f}" for scheme in ALL)
    values = [errors[scheme].mean for scheme in ALL]
    return Finding(
        graded(int(max(values) - min(values) <= _APART), 1),
        f"{shown}; printed 0.3069 to 0.3078.",
    )


def _slow_growth(frame: DataFrame) -> Finding:
    """Compare new atoms per step early and late."""
    texts, slower = [], 0
    curves = select(_chosen(frame), kind="curve")
    for scheme in PARTIAL:
        rows = select(curves, scheme=scheme)
        atoms = {k: s.mean for k, s in summaries(rows, ["k"], "atoms").items()}
        last = max(atoms)
        early, half = (max(k for k in atoms if k <= last * share) for share in (0.1, 0.5))
        first_rate = atoms[early] / early
        late_rate = (atoms[last] - atoms[half]) / (last - half)
        slower += late_rate < first_rate / 2.0
        texts.append(f"{scheme} {first_rate:.2f} and {late_rate:.3f}")
    verdict: Verdict = graded(slower, len(PARTIAL))
    return Finding(
        verdict, f"New atoms per step in the first tenth and the last half: {'; '.join(texts)}."
    )


CLAIMS = (
    Claim("The six schemes have almost the same best test error.", "sim4", _equal_errors),
    Claim("At these steps all fit the training set alike.", "sim4", _training_errors),
    Claim(
        "Full correction needs far fewer atoms (12.6 against 72.2 to 313.1).", "sim4", _few_atoms
    ),
    Claim(f"Its 12.6 atoms are close to the theory's k0 = {_K0}.", "sim4", _twelve),
    Claim("After some steps the other schemes choose new atoms slowly.", "sim4", _slow_growth),
)
