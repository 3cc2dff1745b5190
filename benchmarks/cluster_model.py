"""Predict the time of fits on larger clusters from what `benchmarks.cluster` measured.

    python -m benchmarks.cluster_model [FILE]

FILE is its cluster.json. Assumed, not measured: a network of 10 Gbit/s and 0.2 ms, that a worker
costs who asks it as much as on one machine with eight of them, and that sums travel as one piece.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cluster import needed_bytes
from benchmarks.page import STORED
from benchmarks.tables import number
from fcgboost.cluster.sums import branches

NETWORK_BYTES, NETWORK_SECONDS = 10e9 / 8, 2e-4
N_CANDIDATES, N_FEATURES, N_STEPS = 128, 20, 100
VECTORS = 130


@dataclass(frozen=True)
class Constants:
    """Seconds: of one thread of a worker per row, of a round, of a byte.

    Attributes
    ----------
    candidate, other, point, column : float
        Per row: and candidate; of the other rounds of a step; and point; and point and column.
    round, worker : float
        A round of one worker with next to no work, and each further worker.
    byte : float
        A byte from a worker to the client, on one machine.
    n_points : float
        Newton points per step.
    """

    candidate: float
    other: float
    point: float
    column: float
    round: float
    worker: float
    byte: float
    n_points: float

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> Constants:
        """Find the constants among the records of a run."""
        records = {record["name"]: record for record in results["records"]}

        def ours(*words: str) -> float:
            (name,) = (n for n in records if all(word in n for word in words))
            return float(records[name]["ours"])

        thread, idle = "one thread of a worker: ", "a round with next to no work"
        scoring = records[f"{thread}scoring, per row and candidate"]["details"]
        return cls(
            candidate=1e-9 * ours(f"{thread}scoring"),
            other=1e-9 * ours(f"{thread}other rounds"),
            point=1e-9 * float(records[f"{thread}a Newton point, per row"]["ours"]),
            column=1e-9 * ours(f"{thread}a Newton point, per row and column"),
            round=1e-3 * records[f"{idle}, two workers"]["details"]["1 workers (ms)"],
            worker=1e-3 * ours(f"{idle}: each further worker"),
            byte=1e-9 * ours("a byte from a worker", "direct_to_workers"),
            n_points=scoring["points per step"],
        )


@dataclass(frozen=True)
class Prediction:
    """Seconds of a path, by what they are spent on, and the memory of a worker."""

    rows: float
    rounds: float
    bytes: float
    gibibytes: float

    @property
    def total(self) -> float:
        return self.rows + self.rounds + self.bytes


def widest_way(n_below: int) -> list[int]:
    """Return how many are asked at every place on the way to the last worker."""
    asked = branches(range(n_below))
    return [len(asked), *widest_way(len(asked[-1]) - 1)] if asked else []


def predict(c: Constants, n_rows: float, n_workers: int) -> Prediction:
    """Predict a path of 100 steps over 20 features with 128 sampled ReLU candidates."""
    columns = [k + 2.0 for k in range(N_STEPS)]
    k, k_squared = (sum(n**power for n in columns) / N_STEPS for power in (1, 2))
    each = n_rows / n_workers
    per_row = N_CANDIDATES * c.candidate + c.other + c.n_points * (c.point + c.column * k)
    asked = widest_way(n_workers)
    per_round = sum(c.round + (n - 1) * c.worker + NETWORK_SECONDS for n in asked)
    shape = (N_CANDIDATES, N_FEATURES, sum(asked), (k, k_squared), c.n_points)
    n_bytes = sum(needed_bytes(*shape).values())
    memory = each * (12 * N_FEATURES + 8 * (N_STEPS + 1) + VECTORS)
    return Prediction(
        rows=N_STEPS * each * per_row,
        rounds=N_STEPS * (3.0 + c.n_points) * per_round,
        bytes=N_STEPS * n_bytes * (c.byte + 1.0 / NETWORK_BYTES),
        gibibytes=memory / 2**30,
    )


def table(c: Constants) -> str:
    """Give the predictions as a table in Markdown."""
    lines = [
        ("rows", "workers", "seconds", "work on rows", "rounds", "bytes", "GiB per worker"),
        ("---",) * 7,
    ]
    for n_rows in (1e8, 1e9):
        for n_workers in (16, 256):
            p = predict(c, n_rows, n_workers)
            numbers = (p.total, p.rows, p.rounds, p.bytes, p.gibibytes)
            lines.append((f"{n_rows:,.0f}", str(n_workers), *map(number, numbers)))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else STORED / "cluster.json"
    print(table(Constants.of(json.loads(path.read_text(encoding="utf-8")))))
