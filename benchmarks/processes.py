"""Each figure in a process of its own: its peak memory and its number of threads mean something.

`call` runs a function in a new interpreter; run as a script, this module is that interpreter.
The caller should be small, because Linux counts the memory of the process that starts another
one as a peak of the new one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

# Whichever library counts: all of them read theirs when they are loaded.
_THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"),
)


class ProcessError(Exception):
    """The function in the other process raised an error, was killed, or took too long."""


def call(target: str, arguments: dict[str, Any], threads: int, limit: float) -> Any:
    """Call "module:function" in a new process and give what it returns, by way of JSON."""
    environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", __name__, target, json.dumps(arguments), str(answer)]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=limit, check=False, stdout=sys.stderr
            )
        except subprocess.TimeoutExpired as error:
            raise ProcessError(f"{target} took more than {limit:.0f} s") from error
        if done.returncode != 0:
            raise ProcessError(f"{target} ended with status {done.returncode}; see above")
        return json.loads(answer.read_text(encoding="utf-8"))


def main(target: str, arguments: str, answer: str) -> None:
    module, _, function = target.partition(":")
    result = getattr(import_module(module), function)(**json.loads(arguments))
    # Numbers of NumPy know how to become Python's.
    text = json.dumps(result, default=lambda number: number.item())
    Path(answer).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
