"""Claims on simulations 1 and 2: the number of steps, the size of the dictionary."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from paper.experiments.sim1 import steps_shown
from paper.reporting.ledger.base import (
    Claim,
    Finding,
    graded,
    lacking,
    needs,
    select,
)
from paper.reporting.summaries import paired, summaries
from paper.settings import CORRECTIONS, DICTIONARIES, NOISES

if TYPE_CHECKING:
    from pandas import DataFrame

#: Differences of test errors up to this are called none.
_SAME = 0.01
_NOISES = tuple(noise for noise, _ in NOISES)
_PANELS = tuple(product(_NOISES, DICTIONARIES))
_K0, _ENOUGH, _LAST = 13, 65, 130
_KS = tuple(steps_shown(_K0))
_NAMES = {
    "ridge": "with λ = 1/m",
    "exact": "with the paper's λ = 0 solved exactly",
    "admm": "by its ADMM",
    "letter": "by Algorithm 1 to the letter",
}


def _settles(curve: DataFrame) -> bool:
    """Say whether the error falls until 5 k0, and then stays."""
    fall = paired(curve, "test_error", "k", _KS[0], _ENOUGH)
    late = paired(curve, "test_error", "k", _ENOUGH, _LAST)
    return fall.mean < -2.0 * fall.error and abs(late.mean) <= _SAME


@needs("test_error", noise=_NOISES, dictionary=DICTIONARIES, correction=tuple(CORRECTIONS), k=_KS)
def _stable(frame: DataFrame) -> Finding:
    texts, counts = [], {}
    for correction, name in _NAMES.items():
        own = select(frame, correction=correction)
        panels = (select(own, noise=noise, dictionary=d) for noise, d in _PANELS)
        settled = [panel for panel in panels if _settles(panel)]
        counts[correction] = len(settled)
        ends = [status for panel in settled for status in select(panel, k=_LAST)["status"]]
        ended = sum(status != "step_limit" for status in ends)
        texts.append(f"{len(settled)} {name} ({ended} of their {len(ends)} paths had ended)")
    n = len(_PANELS)
    return Finding(
        graded(counts["ridge"] + counts["exact"], 2 * n),
        f"Of {n} panels the error falls by more than two standard errors from k = {_KS[0]} to "
        f"5 k0, and changes by at most {_SAME} from there to 10 k0, in {', '.join(texts)}. A path "
        "that has ended is stable trivially. Judged by the two exact solutions.",
    )


@needs("test_error", noise=_NOISES, dictionary=DICTIONARIES, correction=tuple(CORRECTIONS), k=_KS)
def _sufficient(frame: DataFrame) -> Finding:
    counts = dict.fromkeys(_NAMES, 0)
    for (noise, dictionary), correction in product(_PANELS, _NAMES):
        rows = select(frame, noise=noise, dictionary=dictionary, correction=correction)
        means = {k: found.mean for k, found in summaries(rows, ["k"], "test_error").items()}
        counts[correction] += means[_ENOUGH] <= min(means.values()) + _SAME
    shown = ", ".join(f"{counts[correction]} {name}" for correction, name in _NAMES.items())
    return Finding(
        graded(counts["ridge"] + counts["exact"], 2 * len(_PANELS)),
        f"Of {len(_PANELS)} panels the mean error at 5 k0 is within {_SAME} of the lowest over "
        f"all k in {shown}. Judged by the two exact solutions.",
    )


@needs(
    "test_error",
    **{"noise": _NOISES, "dictionary": DICTIONARIES},
    **{"correction": ("ridge", "exact"), "k": (_K0, _LAST)},
)
def _overfits(frame: DataFrame) -> Finding:
    found = summaries(frame, ["noise", "dictionary", "correction", "k"], "test_error")
    parts, rises = [], 0
    for noise, dictionary in _PANELS:
        exact, ridge = (
            [found[noise, dictionary, correction, k].mean for k in (_K0, _LAST)]
            for correction in ("exact", "ridge")
        )
        rises += exact[1] > exact[0] + _SAME
        if dictionary == "relu":
            parts.append(
                f"ReLU, {noise}: λ = 0 {exact[0]:.3f} at k0 and {exact[1]:.3f} at 10 k0; "
                f"λ = 1/m {ridge[0]:.3f} and {ridge[1]:.3f}"
            )
    n = len(_PANELS)
    return Finding(
        graded(n - rises, n),
        f"With λ = 0 the error at 10 k0 is more than {_SAME} above that at k0 in {rises} of {n} "
        f"panels. {'; '.join(parts)}.",
    )


@needs(
    "test_error",
    **{"noise": _NOISES, "dictionary": DICTIONARIES, "correction": ("ridge",), "k": (_ENOUGH,)},
)
def _best_dictionary(frame: DataFrame) -> Finding:
    texts, wins = [], 0
    for noise in _NOISES:
        rows = select(frame, noise=noise, correction="ridge", k=_ENOUGH)
        found = summaries(rows, ["dictionary"], "test_error")
        wins += min(DICTIONARIES, key=lambda name: found[name].mean) == "relu"
        shown = (
            f"{name} {found[name].mean:.4f} ± {found[name].error:.4f}" for name in DICTIONARIES
        )
        texts.append(f"{noise}: {', '.join(shown)}")
    return Finding(graded(wins, len(NOISES)), f"At k = 5 k0, λ = 1/m. {'; '.join(texts)}.")


@needs(
    "atoms",
    **{"noise": _NOISES, "dictionary": DICTIONARIES, "correction": ("letter",), "k": (_LAST,)},
)
def _letter_stalls(frame: DataFrame) -> Finding:
    rows = select(frame, correction="letter", k=_LAST)
    stalled = int((rows["status"] == "stalled").sum())
    spans = rows.groupby("dictionary")["atoms"].agg(["mean", "min", "max"])
    shown = ", ".join(
        f"{name} {spans.loc[name, 'mean']:.1f} ({spans.loc[name, 'min']} to "
        f"{spans.loc[name, 'max']})"
        for name in DICTIONARIES
    )
    return Finding(
        graded(len(rows) - stalled, len(rows)),
        f"With the paper's ADMM and no exclusion, {stalled} of {len(rows)} paths choose an active "
        f"atom again and then stand still. Atoms at 10 k0, mean and span: {shown}.",
    )


def _n_matters_little(frame: DataFrame) -> Finding | None:
    sizes = sorted(frame["n"].unique())
    lack = lacking(frame, "test_error", noise=_NOISES, dictionary=DICTIONARIES, n=sizes)
    if lack is not None or len(sizes) < 2:
        return lack
    spans = []
    for noise, dictionary in _PANELS:
        rows = select(frame, noise=noise, dictionary=dictionary)
        means = [found.mean for found in summaries(rows, ["n"], "test_error").values()]
        spans.append(max(means) - min(means))
    same = sum(span <= _SAME for span in spans)
    return Finding(
        graded(same, len(spans)),
        f"The mean errors over n from {sizes[0]} to {sizes[-1]} differ by at most {_SAME} in "
        f"{same} of {len(spans)} panels; largest span {max(spans):.4f}, median "
        f"{np.median(spans):.4f}.",
    )


def _n_order(frame: DataFrame) -> Finding | None:
    sizes = sorted(frame["n"].unique())
    lack = lacking(frame, "test_error", noise=_NOISES, dictionary=DICTIONARIES, n=sizes)
    if lack is not None:
        return lack
    texts, right = [], 0
    for noise in _NOISES:
        found = summaries(select(frame, noise=noise), ["dictionary"], "test_error")
        means = {name: found[name].mean for name in DICTIONARIES}
        right += max(means["relu"], means["gauss"]) < min(means["polynomial"], means["sigmoid"])
        texts.append(f"{noise}: " + ", ".join(f"{k} {v:.4f}" for k, v in means.items()))
    return Finding(graded(right, len(NOISES)), f"Means over all n. {'; '.join(texts)}.")


CLAIMS = (
    Claim("With k the test error falls first, then becomes stable.", "sim1", _stable),
    Claim("5 k0 steps are generally sufficient.", "sim1", _sufficient),
    Claim(
        "The minimiser of the empirical risk does not over-fit between k0 and 10 k0.",
        "sim1",
        _overfits,
        is_implied=True,
    ),
    Claim(
        "ReLU is slightly better than the other dictionaries under both noises.",
        "sim1",
        _best_dictionary,
    ),
    Claim(
        "Algorithm 1 as printed goes on to choose new atoms up to 10 k0.",
        "sim1",
        _letter_stalls,
        is_implied=True,
    ),
    Claim(
        "The size n of the dictionary, from m to 10 m, has little effect.",
        "sim2",
        _n_matters_little,
    ),
    Claim(
        "For all n, ReLU and Gauss are slightly better than polynomial and sigmoid.",
        "sim2",
        _n_order,
    ),
)
