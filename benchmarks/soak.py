"""Everything at random for a long time: nothing breaks, grows, or depends on what came before.

    python -m benchmarks.soak [--minutes 30] [--seed 0]

Processes one after another take cases, by number: data, parameters and what is done with the model
are drawn from the number alone. Each case is fitted, predicts, explains, is saved, loaded and
exported; meanwhile other threads fit, the process forks, fits are interrupted, and now and then the
whole process is killed. What must hold: every case has the same model in every process and after
every history; files are whole or not there; neither memory nor threads grow; nothing hangs.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.export import to_c
from fcgboost.threads import shared

# Different cases, cases of one process, and seconds after which a process counts as hanging.
N_CASES, AT_ONCE, PATIENCE = 60, 20, 240
# Cases until all that is loaded and cached is there; what memory may grow by afterwards, in MiB.
WARM_UP, MOST_GROWTH = 8, 48.0


def case_of(number: int) -> tuple[FCGBoostClassifier, Any, Any, Any]:
    """Return a classifier, rows, labels and weights."""
    rng = np.random.default_rng(number)
    n, d, n_classes = int(rng.integers(60, 400)), int(rng.integers(1, 9)), int(rng.integers(2, 4))
    X: Any = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + rng.integers(-2, 3, d)
    codes = np.argmax(X[:, :1] * rng.normal(size=n_classes) + rng.normal(size=(n, n_classes)), 1)
    codes[:n_classes] = range(n_classes)
    y = np.array(["no", "yes", "perhaps"])[codes] if rng.random() < 0.5 else codes
    families = ["relu", "gauss", "sigmoid", "polynomial", "tree", "linear", "step"]
    dictionary = str(rng.choice(["auto", "fast", "compact", *families]))
    settings: dict[str, Any] = {"dictionary": dictionary, "random_state": number}
    settings["n_jobs"] = int(rng.integers(1, 3))
    if rng.random() < 0.8:
        settings["max_iter"] = int(rng.integers(1, 25))
    if rng.random() < 0.3:
        settings["validation_fraction"] = 0.2
    kind = rng.random()
    if kind < 0.2:
        X[np.abs(X) < np.median(np.abs(X))] = 0.0
        X = sparse.csr_array(X)
    elif kind < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
        X = pd.DataFrame(X, columns=[f"column {j}" for j in range(d)])
        X["city"] = rng.choice(["Rome", "Oslo", "Lima"], n)
    weights = rng.integers(0, 3, n) + 1.0 if rng.random() < 0.3 else None
    return FCGBoostClassifier(**settings), X, y, weights


def digest(model: FCGBoostClassifier, X: Any) -> str:
    """Return a word for what a model says, to the last bit."""
    decision = np.asarray(model.decision_function(X))
    assert np.isfinite(decision).all()
    return hashlib.sha256(decision.tobytes()).hexdigest()[:16]


def live(number: int, folder: Path, chance: random.Random) -> str:
    """Do with a case all that users do; return the word of its model."""
    model, X, y, weights = case_of(number)
    is_over = threading.Event()
    other = threading.Thread(target=_fit_on, args=(number + 1, is_over))
    if chance.random() < 0.3:
        other.start()
    try:
        if chance.random() < 0.3:
            _interrupt(clone(model), X, y, chance.uniform(0.0, 0.3))
        model.fit(X, y, weights)
        word = digest(model, X)
        if chance.random() < 0.3:
            assert _forked(number) == word, f"case {number}: another model after a fork"
    finally:
        is_over.set()
        if other.ident is not None:
            other.join()
    if hasattr(model, "predict_proba"):  # not of every loss
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    path = folder / f"case {chance.randrange(5)}.json"
    model.save_model(path)
    for again in (load_model(path), pickle.loads(pickle.dumps(model))):
        assert digest(again, X) == word, f"case {number}: another model after a file"
    assert len(to_c(model)) > 100
    if not sparse.issparse(X):
        found = model.explain(X[:1])
        total = found.base_values + found.values.sum(axis=1)
        np.testing.assert_allclose(total, model.decision_function(X[:1]), atol=1e-9)
    return word


def _fit_on(number: int, is_over: threading.Event) -> None:
    while not is_over.is_set():
        model, X, y, weights = case_of(number)
        model.fit(X, y, weights)


def _interrupt(model: FCGBoostClassifier, X: Any, y: Any, after: float) -> None:
    def interrupt() -> None:
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        timer.start()
        model.fit(X, y)
        while True:
            time.sleep(0.001)
    timer.join()


def _forked(number: int) -> str:
    """Return the word of a case that a forked process fits."""
    receive, send = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads are running
        pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(PATIENCE // 2)
            model, X, y, weights = case_of(number)
            os.write(send, digest(model.fit(X, y, weights), X).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        word = file.read()
    os.waitpid(pid, 0)
    return word


def work(seed: int, folder: Path) -> None:
    """Take cases in a random order, and print a line for each."""
    chance = random.Random(seed)
    # What a shell starts in the background ignores interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    for i in range(AT_ONCE):
        number = chance.randrange(N_CASES)
        facts = {"case": number, "word": live(number, folder, chance)}
        gc.collect()
        size = Path("/proc/self/statm").read_text().split()[1] if os.path.isdir("/proc") else "0"
        facts |= {"i": i, "mib": int(size) * 4096 / 2**20, "threads": threading.active_count()}
        assert shared.n_threads() >= 1
        assert not shared._before
        print(json.dumps(facts), flush=True)


def run(minutes: float, seed: int) -> list[str]:
    """Let processes live for some minutes; return what did not hold."""
    chance, end, problems = random.Random(seed), time.monotonic() + 60.0 * minutes, []
    words: dict[int, str] = {}
    n_lives = n_kills = n_cases = 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            n_lives += 1
            command = [sys.executable, "-m", "benchmarks.soak", "--work", folder]
            child = subprocess.Popen(
                [*command, "--seed", str(chance.randrange(2**31))],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            kill = chance.random() < 0.3
            try:
                out, error = child.communicate(timeout=chance.uniform(3, 15) if kill else PATIENCE)
            except subprocess.TimeoutExpired:
                # With what it has forked, which would keep the pipes open.
                os.killpg(child.pid, signal.SIGKILL)
                out, error = child.communicate()
                n_kills += kill
                if not kill:
                    problems.append(f"a process hung after:\n{out[-300:]}")
            else:
                if child.returncode:
                    problems.append(f"a process ended with {child.returncode}:\n{error[-2000:]}")
            facts = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
            n_cases += len(facts)
            problems += _compare(facts, words)
            for path in Path(folder).glob("case *.json"):
                load_model(path)  # whole, whatever was killed
    lives = f"{n_cases} cases in {n_lives} processes, {n_kills} of them killed"
    print(f"{lives}; {len(problems)} problems")
    return problems


def _compare(facts: list[dict[str, Any]], words: dict[int, str]) -> list[str]:
    problems = [
        f"case {one['case']} has another model than before"
        for one in facts
        if words.setdefault(one["case"], one["word"]) != one["word"]
    ]
    settled = [one for one in facts if one["i"] >= WARM_UP]
    if settled and settled[-1]["mib"] - settled[0]["mib"] > MOST_GROWTH:
        problems.append(f"memory grew from {settled[0]['mib']:.0f} to {settled[-1]['mib']:.0f} MiB")
    if any(one["threads"] > 1 for one in facts):
        problems.append("threads were left over")
    return problems


def main() -> None:
    """Run, and say what did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.seed, options.work)
        return
    problems = run(options.minutes, options.seed)
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
