"""
The method, step by step
========================

Boosting in one dimension, where everything can be drawn: candidates, scores, the chosen atom and
the corrected sum. At the end, twenty lines of NumPy give the same model.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier, GaussDictionary

# %%
# Labels are -1 and +1, and random: the probability of a +1 depends on x. The function to find is
# 2 P(y = 1 | x) - 1 (dashed below). Its sign is the best prediction, its size the confidence.


def truth(x):
    return 0.95 * np.sin(7.0 * x) * np.exp(-0.6 * x)


rng = np.random.default_rng(0)
x = np.sort(rng.uniform(size=400))
y = np.where(rng.uniform(size=400) < (1.0 + truth(x)) / 2.0, 1.0, -1.0)
X = x[:, None]

# %%
# One fit gives the whole path: the model after 1, 2, 3, ... steps. There is one candidate per
# training point, centred on it.
clf = FCGBoostClassifier(
    GaussDictionary(width=0.12), max_iter=12, standardize=False, fit_intercept=False
).fit(X, y)

# %%
# Each step *selects* and *corrects*.
#
# - **Select.** The residual 2 y max(0, 1 - y f) is the negative gradient of the loss; it is zero
#   once the margin y f is at least 1. A candidate's score is its absolute mean product with the
#   residual. The candidate with the highest score enters (the dot in the lower row).
# - **Correct.** The coefficients of *all* atoms chosen so far are refitted. Thin curves are atoms
#   times coefficients; the thick curve is their sum.
candidates = np.exp(-((x[:, None] - x) ** 2) / (2.0 * 0.12**2))


def scores(f):
    residual = 2.0 * y * np.maximum(0.0, 1.0 - y * f)
    return np.abs(residual @ candidates) / len(y)


steps = (1, 2, 3, 12)
figure, axes = plt.subplots(
    2, len(steps), figsize=(11, 5), sharex=True, sharey="row", layout="constrained"
)
for (top, bottom), k in zip(axes.T, steps, strict=True):
    model = clf.truncate(k)
    for atom, coef in zip(model.atoms_, model.atom_coef_[0], strict=True):
        top.plot(x, coef * np.exp(-((x - atom[0]) ** 2) / (2.0 * atom[1] ** 2)), "C0", lw=0.8)
    top.plot(x, y, "|", color="0.6", markersize=5)
    top.plot(x, truth(x), "k--", lw=1.2, label="2 P(y = 1 | x) − 1")
    top.plot(x, model.decision_function(X), "C0", lw=2.5, label="model")
    top.set(title=f"{k} atom{'s' if k > 1 else ''}", ylim=(-1.15, 1.15))
    before = scores(clf.truncate(k - 1).decision_function(X))
    centre = clf.atoms_[k - 1, 0]
    bottom.fill_between(x, before, color="C1", alpha=0.4, lw=0)
    bottom.plot(centre, before[np.abs(x - centre).argmin()], "o", color="C1")
    bottom.set(xlabel="x")
axes[0, 0].set_ylabel("labels and model")
axes[1, 0].set_ylabel("scores before the step")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
plt.show()

# %%
# By the twelfth step the highest score is about a hundredth of the first. The sum of twelve atoms
# is close to the dashed curve, although every single label is -1 or +1.
distance = np.sqrt(np.mean((clf.decision_function(X) - truth(x)) ** 2))
share = clf.trace_.column("scores")[-1, 0] / clf.trace_.column("scores")[0, 0]
print(f"RMS distance to the truth: {distance:.3f}; last score / first score: {share:.3f}")
assert distance < 0.15
assert share < 0.05

figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(x, y, "|", color="0.6", markersize=9, label="labels")
ax.plot(x, truth(x), "k--", lw=2, label="truth")
ax.plot(x, clf.decision_function(X), "C0", lw=4, label="12 atoms")
ax.set(xlabel="x", ylabel="f(x)")
ax.legend(loc="upper right", bbox_to_anchor=(1, 0.93))
plt.show()

# %%
# The same in twenty lines
# ------------------------
#
# A correction minimises the mean of max(0, 1 - y f)² plus the ridge penalty, 1/m times the sum of
# the squared coefficients. On the *active* rows, those with y f < 1, this is least squares. So:
# solve, see which rows are active, and repeat until they no longer change.


def correct(columns):
    active = np.ones(len(y), dtype=bool)
    while True:
        A = columns[active]
        ridge = np.eye(columns.shape[1])
        coef = np.linalg.solve(A.T @ A + ridge, A.T @ y[active])
        now = y * (columns @ coef) < 1.0
        if (now == active).all():
            return coef
        active = now


chosen, f = [], np.zeros(len(y))
for _ in range(12):
    score = scores(f)
    score[chosen] = 0.0  # an atom enters once
    chosen.append(int(score.argmax()))
    f = candidates[:, chosen] @ correct(candidates[:, chosen])

print("largest difference from the package:", np.abs(f - clf.decision_function(X)).max())
assert np.allclose(f, clf.decision_function(X), atol=1e-8)
# sphinx_gallery_thumbnail_number = 2
