"""What the search for suspicious columns costs, and what it says about real tables.

    python -m benchmarks.study_findings

CPU seconds on one thread: those of the search, the least of five, and their share of a fit to rows
of 28 normal columns. Then what is said about each table of the contest and of the folder `mid`.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import make_rows
from benchmarks.mid_sets import FILES, TABLES
from fcgboost import FCGBoostClassifier
from fcgboost.findings import Finding
from fcgboost.training.dataset import check_data
from fcgboost.training.suspicions import findings_in
from paper.data.tables import TABLES as CONTEST
from paper.data.tables import LabelledFrame, fetch_table

SIZES = (1_000, 10_000)
_N_COLUMNS = 28
_N_TIMES = 5


def share(n_rows: int, dictionary: str) -> float:
    """Return the share of a fit that the search takes."""
    X, y = make_rows(n_rows, _N_COLUMNS, seed=0)
    classifier = FCGBoostClassifier(dictionary, n_jobs=1, random_state=0)
    data = check_data(classifier, classifier._make_task(), X, y, None, (None, None, None))
    seconds = []
    for _ in range(_N_TIMES):
        start = time.process_time()
        findings_in(data)
        seconds.append(time.process_time() - start)
    start = time.process_time()
    classifier.fit(X, y)
    return min(seconds) / (time.process_time() - start)


def said(table: LabelledFrame) -> list[Finding]:
    """Return what is said about a table."""
    classifier = FCGBoostClassifier()
    task = classifier._make_task()
    data = check_data(classifier, task, table.X, np.asarray(table.y), None, (None, None, None))
    return [*classifier.findings_, *findings_in(data)]


def main() -> None:
    """Print the shares, and what is said."""
    with threadpool_limits(1):
        for n_rows in SIZES:
            for dictionary in ("auto", "fast"):
                print(f"{n_rows:6,} rows, {dictionary}: {100 * share(n_rows, dictionary):.2f} %")
    for name in CONTEST:
        _print(name, fetch_table(name))
    for name in FILES:
        _print(name, TABLES[name].load())


def _print(name: str, table: LabelledFrame) -> None:
    print(f"\n{name}")
    for finding in said(table):
        print(f"  {finding.kind}: {finding}")


if __name__ == "__main__":
    main()
