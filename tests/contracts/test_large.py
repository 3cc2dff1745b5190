"""Large sparse data are never written out as a dense matrix."""

import subprocess
import sys

import pytest

# 200,000 x 50,000 entries would take 80 GB, 20,000 rows 8 GB; five in a row are not zero.
SCRIPT = """
import sys

import numpy as np
from scipy import sparse

from fcgboost import FCGBoostClassifier

rng = np.random.default_rng(0)
m, d, n_entries = int(sys.argv[1]), 50_000, 5 * int(sys.argv[1])
places = rng.integers(0, m, n_entries), rng.integers(0, d, n_entries)
X = sparse.csr_array((rng.standard_normal(n_entries), places), shape=(m, d))
y = np.where(X @ rng.standard_normal(d) > 0.0, 1, 0)
model = FCGBoostClassifier("gauss", random_state=0)
if len(sys.argv) > 2:
    model.set_params(max_iter=int(sys.argv[2]))
model.fit(X, y)
model.predict_proba(X[:1000])
model.feature_importances_
# Not ru_maxrss, which begins with the size of the process that started this one.
with open("/proc/self/status") as status:
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
print(model.n_iter_, int(peak) / 2**20)
"""


def steps_and_gibibytes(*arguments):
    """Give the number of steps and the largest memory of a fit in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    n_steps, gibibytes = done.stdout.split()
    return int(n_steps), float(gibibytes)


@pytest.mark.slow
@pytest.mark.parametrize("m", [20_000, 200_000])
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_some_steps_on_a_large_sparse_matrix_take_little_memory(m):
    n_steps, gibibytes = steps_and_gibibytes(str(m), "15")
    assert n_steps == 15
    assert gibibytes < 0.5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_a_default_fit_on_a_large_sparse_matrix_takes_less_than_a_gibibyte():
    n_steps, gibibytes = steps_and_gibibytes("20000")
    assert n_steps == 225
    assert gibibytes < 1.0
