"""Claims on the six update schemes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from paper.reporting import published
from paper.reporting.ledger.base import Claim, Finding, graded, needs, select
from paper.reporting.summaries import Summary, carried, paired, summaries

if TYPE_CHECKING:
    from pandas import DataFrame

PARTIAL = ("original", "shrinkage", "truncation", "epsilon", "rescaled")
ALL = ("fully_corrective", *PARTIAL)
#: Three readings of what the paper ran.
_READINGS = {
    "fully_corrective": "active atoms excluded, λ = 1/m",
    "exact": "excluded, λ = 0",
    "letter": "Algorithm 1 to the letter by ADMM",
}
#: Test errors further apart than this are looked into.
_APART = 0.01
#: So many atoms more or fewer are called the same.
_SAME_ATOMS = 3.0
_K0 = 13
#: As in the paper, cross-validation chooses the width.
_CHOSEN = ("cv",)


def _means(frame: DataFrame, kind: str, column: str) -> dict[str, Summary]:
    return summaries(select(frame, width="cv", kind=kind), ["scheme"], column)


@needs("atoms", width=_CHOSEN, kind=("best", "reach"), scheme=ALL)
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


@needs("atoms", width=_CHOSEN, kind=("best",), scheme=tuple(_READINGS))
def _twelve(frame: DataFrame) -> Finding | None:
    printed = published.sim4("fully_corrective")
    if printed is None:
        return None
    atoms = _means(frame, "best", "atoms")
    near = [s for s in _READINGS if abs(atoms[s].mean - printed.atoms) <= _SAME_ATOMS]
    shown = "; ".join(
        f"{name}: {atoms[s].mean:.1f} ± {atoms[s].error:.1f}{', near' if s in near else ''}"
        for s, name in _READINGS.items()
    )
    return Finding(
        graded(len(near), len(_READINGS)),
        f"Atoms at the best test error, printed {printed.atoms}. {shown}. Within "
        f"{_SAME_ATOMS:g} atoms: {len(near)} of {len(_READINGS)} readings.",
    )


@needs("test_error", width=_CHOSEN, kind=("best",), scheme=ALL)
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
    return Finding(
        "does not hold",
        f"{shown}. Further apart than {_APART}, and why (at a width apart means by more than "
        f"{_APART} and than two standard errors): {'; '.join(reasons)}.",
    )


def _reason(frame: DataFrame, first: str, last: str) -> str:
    """Say from the rows of fixed widths whether width or scheme sets a pair apart."""
    best = frame[(frame["kind"] == "best") & frame["width"].astype(str).ne("cv")]
    found = {
        str(width): paired(rows, "test_error", "scheme", first, last)
        for width, rows in best.groupby("width")
    }
    gaps = {width: gap for width, gap in found.items() if gap.n > 1}
    apart = [width for width, gap in gaps.items() if abs(gap.mean) > max(_APART, 2.0 * gap.error)]
    if not gaps:
        return f"{last} minus {first}: no fixed width was run twice"
    if not apart:
        cause = "the width, since at no equal width are the two apart"
    elif len(apart) == len(gaps):
        cause = "the scheme, at every width"
    else:
        cause = f"scheme and width together, only at σ = {', '.join(apart)}"
    shown = ", ".join(f"σ {w}: {gap.mean:+.4f} ± {gap.error:.4f}" for w, gap in gaps.items())
    return f"{last} minus {first} ({shown}): {cause}"


@needs("training_error", width=_CHOSEN, kind=("best",), scheme=ALL)
def _training_errors(frame: DataFrame) -> Finding:
    errors = _means(frame, "best", "training_error")
    shown = ", ".join(f"{scheme} {errors[scheme].mean:.4f}" for scheme in ALL)
    values = [errors[scheme].mean for scheme in ALL]
    return Finding(
        graded(int(max(values) - min(values) <= _APART), 1),
        f"{shown}; printed 0.3069 to 0.3078.",
    )


def _curve(frame: DataFrame, scheme: str, column: str) -> dict[int, float]:
    """Give the mean of a column by step; a path that has ended keeps its last value."""
    rows = select(frame, width="cv", kind="curve", scheme=scheme)
    means: dict[int, float] = carried(rows, column).mean(axis=1).to_dict()
    return means


def _at(curve: Mapping[int, float], share: float) -> int:
    """Give the last stored step within a share of the path, or its first."""
    return max((k for k in curve if k <= share * max(curve)), default=min(curve))


@needs("atoms", width=_CHOSEN, kind=("curve",), scheme=PARTIAL)
def _slow_growth(frame: DataFrame) -> Finding:
    """Compare new atoms per step early and late."""
    texts, slower = [], 0
    for scheme in PARTIAL:
        atoms = _curve(frame, scheme, "atoms")
        early, half, last = _at(atoms, 0.1), _at(atoms, 0.5), max(atoms)
        first_rate = atoms[early] / early
        late_rate = (atoms[last] - atoms[half]) / max(1, last - half)
        slower += late_rate < first_rate / 2.0
        texts.append(f"{scheme} {first_rate:.2f} and {late_rate:.3f}")
    return Finding(
        graded(slower, len(PARTIAL)),
        f"New atoms per step in the first tenth and the last half: {'; '.join(texts)}.",
    )


@needs("test_error", width=_CHOSEN, kind=("curve",), scheme=PARTIAL)
def _slow_gain(frame: DataFrame) -> Finding:
    texts, changes = [], []
    for scheme in PARTIAL:
        errors = _curve(frame, scheme, "test_error")
        early, last = _at(errors, 0.1), max(errors)
        changes.append(errors[last] - errors[early])
        texts.append(f"{scheme} {errors[early]:.4f} at k = {early}, {errors[last]:.4f} at {last}")
    slow = sum(abs(change) <= _APART for change in changes)
    return Finding(
        graded(slow, len(PARTIAL)),
        f"Mean test error at a tenth of the path and at its end: {'; '.join(texts)}. Of "
        f"{len(PARTIAL)} schemes it changes by at most {_APART} for {slow}, and rises by more for "
        f"{sum(change > _APART for change in changes)}.",
    )


CLAIMS = (
    Claim("The six schemes have almost the same best test error.", "sim4", _equal_errors),
    Claim("At these steps all fit the training set alike.", "sim4", _training_errors),
    Claim(
        "Full correction needs far fewer atoms (12.6 against 72.2 to 313.1).", "sim4", _few_atoms
    ),
    Claim(f"Its 12.6 atoms are close to the theory's k0 = {_K0}.", "sim4", _twelve),
    Claim("After some steps the other schemes choose new atoms slowly.", "sim4", _slow_growth),
    Claim("Meanwhile their generalisation improves slowly, too.", "sim4", _slow_gain),
)
