"""
A few candidates per step are enough
====================================

Scoring all n candidates in every step costs m x n. A fresh random sample of some dozens per
step gives the same accuracy, needs no m x n matrix, and makes a step cheap for any number of
rows.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier, SampledCandidates
from fcgboost.datasets import make_simulation

X_test, y_test = make_simulation(5000, noise=None, random_state=1)

# %%
# Five training sets of 1000 rows with 30 % wrong labels. All 1000 candidates in every step, or
# 4 to 256 of them.
selections = {q: SampledCandidates(q) for q in (4, 16, 64, 256)} | {1000: "all"}
errors = {
    q: [
        1
        - FCGBoostClassifier("relu", selection=selection, random_state=0)
        .fit(*make_simulation(1000, noise="uniform", level=0.3, random_state=seed))
        .score(X_test, y_test)
        for seed in range(10, 15)
    ]
    for q, selection in selections.items()
}
for q, values in errors.items():
    print(f"{q:5} candidates per step: test error {np.mean(values):.3f}")
assert np.mean(errors[64]) < np.mean(errors[1000]) + 0.01

# %%
# The time of a fit with 64 candidates per step grows with the number of rows, not with its
# square. (Times of whatever machine built this page; the benchmarks page has careful ones.)
rows, seconds = [500, 1000, 2000, 4000], {"64 sampled": [], "all": []}
FCGBoostClassifier("relu").fit(*make_simulation(100, random_state=0))  # the first fit loads code
for m in rows:
    X, y = make_simulation(m, noise="uniform", level=0.3, random_state=0)
    for name, selection in {"64 sampled": SampledCandidates(64), "all": "all"}.items():
        start = time.perf_counter()
        FCGBoostClassifier("relu", selection=selection, max_iter=40, random_state=0).fit(X, y)
        seconds[name].append(time.perf_counter() - start)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.boxplot(list(errors.values()), tick_labels=[*map(str, list(errors)[:-1]), "all"])
left.set(xlabel="candidates per step", ylabel="test error (5 training sets)", ylim=(0, None))
for name, values in seconds.items():
    right.loglog(rows, values, "o-", label=name)
right.set(xlabel="rows", ylabel="seconds for 40 steps")
right.legend()
plt.show()

# %%
# ``selection="auto"``, the default, scores all candidates up to ten million values of m x n,
# and samples 128 per step beyond.
