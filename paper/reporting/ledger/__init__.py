"""The paper's claims, one by one, judged by stored rows.

Every verdict is computed: other rows give other verdicts.
"""

from __future__ import annotations

from paper.reporting.document import Section
from paper.reporting.ledger import (
    losses,
    picture,
    real_data,
    schemes,
    simulations,
    solver,
    theory,
)
from paper.reporting.ledger.base import Claim, Frames
from paper.reporting.tables import Table, row

__all__ = ["CLAIMS", "section"]

CLAIMS: tuple[Claim, ...] = (
    *(*solver.CLAIMS, *simulations.CLAIMS, *theory.CLAIMS),
    *(*losses.CLAIMS, *schemes.CLAIMS, *real_data.CLAIMS),
    # Those of the paper keep their numbers.
    *real_data.SUBSTITUTES,
)


def section(frames: Frames) -> Section | None:
    """Give the ledger of the experiments that have a table, be it empty; None if none has."""
    rows = []
    for number, claim in enumerate(CLAIMS, start=1):
        if claim.experiment not in frames:
            continue
        verdict, evidence = claim.finding(frames)
        text = f"{claim.text} (implied)" if claim.is_implied else claim.text
        rows.append(row(str(number), text, verdict, evidence, claim.experiment))
    if not rows:
        return None
    table = Table(
        "Claims of the paper, judged by the rows of this run.",
        ("", "Claim", "Verdict", "Evidence", "Rows"),
        tuple(rows),
        notes=("“Implied” are claims that the paper does not state but needs.",),
        n_labels=5,
    )
    return Section("The paper's claims", (), (table,), picture.draw(frames), "claims")
