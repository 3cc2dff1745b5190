"""What a round of a fit costs with many workers, which are simulated and have a clock.

    python -m benchmarks.cluster_tree [--rows 100000] [--latency 1.1] [--gigabits 0]

Every worker has one partition of so many rows, and works out its answer, reads those of the workers
below it, adds them up and writes the sum with the code of the package, one after the other in this
process. Each of these takes the least time that was measured for it (equal work counts once: the
machine that measures is one, and is not always free). A message takes a stated latency to get to
the next place, by default half of a round with one worker of a Dask cluster on one machine
(docs/cluster.md), and with `--gigabits` those that come to one place share its network. The cost of
a round is its critical path: from the client's question to the sum of all answers there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import numpy as np

from benchmarks.tables import number
from fcgboost.backends.cluster.sums import Pieces, branches

WORKERS = (2, 16, 64, 256)
#: A round with so many workers should cost no more than so many times one with two.
ALLOWED = 3.0
REPEATS = 5
_COLUMNS, _LEAVES, _FEATURES, _BINS, _NODES = 100, 16_000, 24, 256, 32


def answers(n_rows: int) -> Mapping[str, Callable[[], Any]]:
    """Give what a partition answers, by the kind of the question."""
    rng = np.random.default_rng(0)
    A, slopes = rng.random((n_rows, _COLUMNS)), rng.standard_normal(n_rows)
    leaves, bins = rng.integers(0, _LEAVES, n_rows), rng.integers(0, _BINS, (_FEATURES, n_rows))
    nodes = rng.integers(0, _NODES, n_rows) * _BINS

    def histograms() -> Any:
        return tuple(
            np.stack([np.bincount(nodes + own, w, _NODES * _BINS) for own in bins])
            for w in (slopes, np.abs(slopes))
        )

    return {
        "small": lambda: (float(slopes @ slopes), float(np.abs(slopes).sum())),
        "Gram matrix of 100 columns": lambda: (float(slopes @ slopes), slopes @ A, A.T @ A),
        "sums of 16,000 leaves": lambda: np.bincount(leaves, slopes, _LEAVES),
        "3 MB of histograms": histograms,
    }


@dataclass
class Cluster:
    """Simulated workers that all have the same rows."""

    answer: Callable[[], Any]
    n_workers: int
    latency: float
    bytes_per_second: float
    #: The least seconds of every piece of work, by what and where it is.
    taken: dict[Any, float] = field(default_factory=dict)

    def measured(self, name: Any, work: Callable[[], Any]) -> tuple[Any, float]:
        """Do a piece of work; return the result, and the least time that it has taken."""
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
        self.taken[name] = min(seconds, self.taken.get(name, np.inf))
        return result, self.taken[name]

    def round(self) -> float:
        """Return the seconds of a round."""
        pieces, seconds = self.heard("client", range(self.n_workers), 0.0, None)
        assert pieces.total is not None
        return seconds

    def heard(
        self, who: Any, below: Sequence[int], now: float, own: Pieces | None
    ) -> tuple[Pieces, float]:
        """Ask those below; return the sum with one's own, and when it is known."""
        asked = branches(below)
        replies = [self.reply(branch, self.latency) for branch in asked]
        pieces = [] if own is None else [own]
        arrived = 0.0
        for branch, (message, sent) in zip(asked, replies, strict=True):
            # Messages to one place come one after the other.
            arrived = max(arrived, sent + self.latency) + len(message) / self.bytes_per_second
            piece, seconds = self.measured((len(branch), "read"), lambda m=message: loads(m))
            now = max(now, arrived) + seconds
            pieces.append(piece)
        total, seconds = self.measured(
            (len(below), who == "client", "add"), lambda: pieces[0].with_others(pieces[1:])
        )
        return total, now + seconds

    def reply(self, branch: Sequence[int], asked_at: float) -> tuple[bytes, float]:
        """Return the pickled answer of a branch, and when it is sent."""
        answer, seconds = self.measured("answer", self.answer)
        own = Pieces.of(self.n_workers, {branch[0]: answer})
        # Those below start when the question has come to them, as does one's own work.
        total, known = self.heard(branch[0], branch[1:], seconds, own)
        message, seconds = self.measured((len(branch), "write"), lambda: cloudpickle.dumps(total))
        return message, asked_at + known + seconds


def loads(message: bytes) -> Pieces:
    pieces: Pieces = cloudpickle.loads(message)
    return pieces


def table(n_rows: int, latency: float, bytes_per_second: float) -> str:
    """Give the costs of rounds in milliseconds as a table in Markdown."""
    lines = [
        ("answer", "kB", *(f"{n} workers" for n in WORKERS), f"{WORKERS[-1]} to 2"),
        ("---",) * 7,
    ]
    for name, answer in answers(n_rows).items():
        size = len(cloudpickle.dumps(answer())) / 1e3
        costs = []
        for n_workers in WORKERS:
            cluster = Cluster(answer, n_workers, latency, bytes_per_second)
            costs.append(1e3 * min(cluster.round() for _ in range(REPEATS)))
        ratio = costs[-1] / costs[0]
        lines.append((name, number(size), *map(number, costs), number(ratio)))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a worker")
    parser.add_argument("--latency", type=float, default=1.1, help="milliseconds of a hop")
    parser.add_argument(
        "--gigabits", type=float, default=0.0, help="per second; 0: as many as come"
    )
    given = parser.parse_args()
    speed = given.gigabits * 1e9 / 8 or np.inf
    print(table(given.rows, given.latency / 1e3, speed))
