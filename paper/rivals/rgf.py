"""Regularised greedy forests, by the programs that come with the package rgf_python.

The package's own classes are written for older versions of scikit-learn, so the programs are
called directly: they read and write text files. "RGF" is the original program, which sorts all
rows; on more than a few thousand rows only "FastRGF", which bins them, ends within minutes.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from paper.protocol import Data
from paper.rivals.base import Array, Judgement, Learned, Params, by_log_odds, rank, tree_numbers

#: How often a program saves its forest on the way; the validation part chooses among them.
N_SAVED = 10


def fit_rgf(params: Params, data: Data, seed: int) -> Learned:
    """Fit the fast program where `params` has a number of trees, and else the original one."""
    return (_fit_fast if "n_trees" in params else _fit_original)(params, data)


def _fit_original(params: Params, data: Data) -> Learned:
    """Fit the original program; `params` has max_leaf and l2."""

    def train(rows: Path, labels: Path, model: Path) -> None:
        settings = {
            "algorithm": "RGF",
            "loss": "Log",
            "reg_L2": params["l2"],
            # What the authors advise for the search of splits.
            "reg_sL2": params["l2"] / 100.0,
            "max_leaf_forest": params["max_leaf"],
            "test_interval": params["max_leaf"] // N_SAVED,
            "train_x_fn": rows,
            "train_y_fn": labels,
            "model_fn_prefix": model,
        }
        _call("rgf", "train", ",".join(f"{name}={value}" for name, value in settings.items()))

    return _best_saved(_saved(train, data), data, _answer, _printed_leaves)


def _fit_fast(params: Params, data: Data) -> Learned:
    """Fit the fast program; `params` has n_trees, max_leaf and l2."""

    def train(rows: Path, labels: Path, model: Path) -> None:
        settings = {
            "forest.ntrees": params["n_trees"],
            "forest.save_frequency": params["n_trees"] // N_SAVED,
            "dtree.loss": "LOGISTIC",
            "dtree.max_nodes": params["max_leaf"],
            "dtree.lamL2": params["l2"],
            # As many as LightGBM has.
            "discretize.dense.max_buckets": 255,
            "set.nthreads": 1,
            "trn.target": "BINARY",
            "trn.x-file": rows,
            "trn.y-file": labels,
            "model.save": model,
        }
        _call("forest_train", *(f"{name}={value}" for name, value in settings.items()))

    return _best_saved(_saved(train, data), data, _answer_fast, fast_leaves)


def _saved(train: Callable[[Path, Path, Path], None], data: Data) -> list[bytes]:
    """Run a program on the training part; give all forests it saved."""
    with tempfile.TemporaryDirectory() as folder:
        rows, labels, model = (Path(folder) / name for name in ("rows", "labels", "model"))
        np.savetxt(rows, data.X, fmt="%.9g")
        np.savetxt(labels, data.y, fmt="%d")
        train(rows, labels, model)
        return [path.read_bytes() for path in sorted(Path(folder).glob("model*"))]


def _best_saved(
    saved: Sequence[bytes],
    data: Data,
    answer: Callable[[Path, Path, Path], None],
    count_leaves: Callable[[bytes], list[int]],
) -> Learned:
    """Choose a forest by the validation part."""
    ranks = [rank(judged, data.y_val) for judged in _judge(saved, data.X_val, answer)]
    best = min(range(len(saved)), key=ranks.__getitem__)
    model = saved[best]
    leaves = count_leaves(model)
    return Learned(
        lambda X: _judge([model], X, answer)[0],
        len(leaves),
        lambda: sum(map(tree_numbers, leaves)),
        lambda: model,
        {"trees": len(leaves), "leaves": sum(leaves)},
    )


def _judge(
    models: Sequence[bytes], X: Array, answer: Callable[[Path, Path, Path], None]
) -> list[Judgement]:
    """Ask a program for the decisions of several forests on the same rows."""
    judgements = []
    with tempfile.TemporaryDirectory() as folder:
        path, rows, answers = (Path(folder) / name for name in ("model", "rows", "answers"))
        np.savetxt(rows, X, fmt="%.9g")
        for model in models:
            path.write_bytes(model)
            answer(path, rows, answers)
            judgements.append(by_log_odds(np.loadtxt(answers, ndmin=1)))
    return judgements


def _answer(model: Path, rows: Path, answers: Path) -> None:
    _call("rgf", "predict", f"model_fn={model},test_x_fn={rows},prediction_fn={answers}")


def _answer_fast(model: Path, rows: Path, answers: Path) -> None:
    files = (f"model.load={model}", f"tst.x-file={rows}", f"tst.output-prediction={answers}")
    _call("forest_predict", *files, "tst.target=BINARY", "set.nthreads=1")


def fast_leaves(model: bytes) -> list[int]:
    """Read the number of leaves of every tree from a file of the fast program.

    After the first line a tree is a line: a kind, the number of nodes, and six numbers a node.
    """
    trees = [line.split() for line in model.splitlines()[1:] if line.strip()]
    return [(int(tree[1]) + 1) // 2 for tree in trees]


def _printed_leaves(model: bytes) -> list[int]:
    """Read the numbers of leaves of all trees from what the program prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(model)
        printed = _call("rgf", "dump_model", f"model_fn={path}")
    # A leaf is a line such as "[  3], (-0.179), depth=2, gain=0".
    trees = re.split(r"^tree\[\d+\]", printed, flags=re.MULTILINE)[1:]
    return [len(re.findall(r"^\s*\[\s*\d+\], \(", tree, re.MULTILINE)) for tree in trees]


def _call(program: str, *arguments: str) -> str:
    """Run a program of the package; give what it prints."""
    found = find_spec("rgf")
    if found is None or found.origin is None:
        raise ImportError("Regularised greedy forests need the package rgf_python.")
    path = Path(found.origin).parent / program
    if not path.stat().st_mode & 0o100:
        # Installers drop the permission to execute.
        path.chmod(path.stat().st_mode | 0o111)
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout
