"""
Four dictionaries on one data set
=================================

The dictionary decides which functions a model is a sum of: bells, ramps, soft steps or
polynomials. The same data, four kinds of atoms, and what each of them makes of the boundary.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.colors import DICTIONARY_COLORS
from fcgboost.datasets import bayes_boundary, make_simulation
from fcgboost.plotting import DecisionBoundaryDisplay, PathDisplay, path_error

X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)
models = {
    name: FCGBoostClassifier(name, random_state=0).fit(X, y)
    for name in ("gauss", "relu", "sigmoid", "polynomial")
}

# %%
# One atom of each, along a line
# ------------------------------
#
# A Gauss atom is a bell around a training point: it says something about its neighbourhood and
# nothing elsewhere. A ReLU atom is 0 on one side of a line and a ramp on the other, a sigmoid
# atom a soft step across a line, a polynomial atom a smooth function of the whole space.
t = np.linspace(-2.0, 2.0, 200)
atoms = {
    "gauss": np.exp(-(t**2) / 2),
    "relu": np.maximum(0.0, t),
    "sigmoid": 1 / (1 + np.exp(-4 * t)),
    "polynomial": (1 + t / 2) ** 3 / 8,
}
figure, axes = plt.subplots(1, 4, figsize=(11, 2.2), sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, atoms.items(), strict=True):
    ax.plot(t, values, color=DICTIONARY_COLORS[name], lw=2)
    ax.set(title=name, xticks=[], ylim=(-0.2, 1.6))

# %%
# What they make of the same points
# ---------------------------------
#
# Dots are the centres of Gauss atoms, lines the bends of ReLU and the middles of sigmoid atoms,
# in the colour of the class that they speak for. Only the ten first atoms are drawn.
figure, axes = plt.subplots(1, 4, figsize=(13, 4.2), sharey=True, layout="constrained")
for ax, (name, clf) in zip(axes.flat, models.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(clf, X, k=10, true_boundary=bayes_boundary, ax=ax)
    error = 1 - clf.truncate(10).score(X_test, y_test)
    ax.set_title(f"{name}, 10 atoms: {error:.1%} wrong")
    ax.get_legend().remove()
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4)

# %%
# Error along the path
# --------------------
curves = {name: path_error(clf, X_test, y_test) for name, clf in models.items()}
PathDisplay.from_predictions(curves, k0=13, ylabel="test error (clean labels)")
plt.show()

# %%
# On this draw:
for name, errors in curves.items():
    print(f"{name:11} {errors[-1]:.3f} after {len(errors)} atoms")
assert max(errors[-1] for errors in curves.values()) < 0.08

# %%
# No dictionary is best everywhere: see the page on choosing a dictionary. When in doubt, let
# `FCGBoostClassifierCV` try all four; a path is cheap.
