"""What tests share: hypothesis strategies, the paper's simulation, examples."""

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

EXAMPLES = Path(__file__).parents[2] / "examples"


class Data(NamedTuple):
    """A weighted training set."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def repeated(self) -> "Data":
        """Give every row as often as its weight says."""
        rows = np.repeat(np.arange(len(self.y)), self.weights.astype(int))
        return Data(self.X[rows], self.y[rows], np.ones(len(rows)))

    def permuted(self, seed: int) -> "Data":
        """Give the rows in another order."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return Data(self.X[order], self.y[order], self.weights[order])


@st.composite
def training_sets(draw, min_samples: int = 4, max_samples: int = 25) -> Data:
    """Few rows on a coarse grid: repeated rows, tied scores and constant columns are common."""
    m = draw(st.integers(min_samples, max_samples))
    d = draw(st.integers(1, 3))
    X = draw(arrays(np.float64, (m, d), elements=st.integers(-4, 4).map(lambda i: i / 2.0)))
    y = draw(arrays(np.float64, m, elements=st.sampled_from([-1.0, 1.0])))
    y[:2] = [-1.0, 1.0]
    weights = draw(arrays(np.float64, m, elements=st.integers(1, 3).map(float)))
    return Data(X, y, weights)


seeds = st.integers(0, 2**32 - 1)


def simulation(m: int, noise: float, seed: int) -> Data:
    """Give the paper's simulation: labels change where x2 crosses zeta(x1); some are flipped."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, 2))
    t = X[:, 0]
    zeta = (np.maximum(0.0, 1.0 - 2.0 * t) ** 5 * (32.0 * t**2 + 10.0 * t + 1.0) + 1.0) / 2.0
    y = np.where(X[:, 1] >= zeta, 1.0, -1.0)
    y[rng.random(m) < noise] *= -1.0
    return Data(X, y, np.ones(m))


def load_example(name: str) -> ModuleType:
    """Import what a file of `examples/` defines, under a name that pickle finds again.

    The rest of it is a script, which fits and draws: tests of the examples run that.
    """
    if name not in sys.modules:
        path = EXAMPLES / f"{name}.py"
        tree = ast.parse(path.read_text(encoding="utf-8"), path)
        definitions = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
        tree.body = [node for node in tree.body if isinstance(node, definitions)]
        module = ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        exec(compile(tree, path, "exec"), module.__dict__)
    return sys.modules[name]
