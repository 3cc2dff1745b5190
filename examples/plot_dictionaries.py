"""
Four families of atoms
======================

The dictionary decides which functions a model is a sum of: Gauss, ReLU, sigmoid or
polynomial atoms. Here are the paper's four on the same data.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.colors import DICTIONARY_COLORS
from fcgboost.datasets import bayes_boundary, make_simulation
from fcgboost.plotting import DecisionBoundaryDisplay, path_error

X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)
models = {
    name: FCGBoostClassifier(name, random_state=0).fit(X, y)
    for name in ("gauss", "relu", "sigmoid", "polynomial")
}

# %%
# One atom of each
# ----------------
#
# A Gauss atom is large around a training point and acts locally. A ReLU atom is 0 on one side of
# a line and rises on the other. A sigmoid atom is a soft step across a line. A polynomial atom
# acts everywhere.
t = np.linspace(-2.0, 2.0, 200)
atoms = {
    "gauss": np.exp(-(t**2) / 2),
    "relu": np.maximum(0.0, t),
    "sigmoid": 1 / (1 + np.exp(-4 * t)),
    "polynomial": (1 + t / 2) ** 3 / 8,
}
figure, axes = plt.subplots(2, 2, figsize=(6.5, 4.2), sharey=True, layout="constrained")
for ax, (name, values) in zip(axes.flat, atoms.items(), strict=True):
    ax.plot(t, values, color=DICTIONARY_COLORS[name], lw=4)
    ax.set(xticks=[], yticks=[], ylim=(-0.2, 1.6))
    ax.set_title(name, fontsize=16)

# %%
# The same points, ten atoms each
# -------------------------------
#
# Dots are the centres of Gauss atoms; lines are the bends of ReLU atoms and the midlines of
# sigmoid atoms, in the colour of the class that they favour.
figure, axes = plt.subplots(1, 4, figsize=(13, 4.4), sharey=True, layout="constrained")
for ax, (name, clf) in zip(axes.flat, models.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(clf, X, k=10, true_boundary=bayes_boundary, ax=ax)
    error = 1 - clf.truncate(10).score(X_test, y_test)
    ax.set_title(f"{name}: {error:.1%} test error")
    if legend := ax.get_legend():
        legend.remove()
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4)

# %%
# Test error along the path
# -------------------------
curves = {name: path_error(clf, X_test, y_test) for name, clf in models.items()}
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, errors in curves.items():
    ax.plot(range(1, len(errors) + 1), errors, color=DICTIONARY_COLORS[name], label=name)
    print(f"{name:11} {errors[-1]:.3f} with {len(errors)} atoms")
ax.set(xlabel="atoms", ylabel="test error (clean labels)", ylim=(0, 0.3))
ax.legend(ncols=2)
plt.show()
assert max(errors[-1] for errors in curves.values()) < 0.08

# %%
# No family is best everywhere. With ``cv=5`` each has a cross-validated score to compare:
# :doc:`plot_search`.
