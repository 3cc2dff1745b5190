"""
The default: families that take turns
=====================================

Without a dictionary of your choice, ramps, trees and bells take turns, and every atom is learned
from what is still wrong. A model is one sum; here it is taken apart by families again.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import bayes_boundary, make_simulation

X, y = make_simulation(600, noise="uniform", level=0.2, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)
clf = FCGBoostClassifier(random_state=0).fit(X, y)
print(f"{clf.score(X_test, y_test):.1%} right with {clf.n_atoms_} atoms, ridge {clf.l2_:.3g}")
print(clf.status_)

# %%
# What the families contribute
# ----------------------------
#
# An atom is a row of numbers, the first of which says its family. So the sum can be ordered by
# families: their parts and the constant add up to the decision values.
grid = np.stack(np.meshgrid(np.linspace(0, 1, 80), np.linspace(0, 1, 80)), axis=-1).reshape(-1, 2)
union, columns = clf.model_.dictionary, clf.model_.columns(grid)
parts = {
    type(union.families[number]).__name__: columns[:, places] @ clf.atom_coef_[0, places]
    for number, places, *_ in union.members(clf.atoms_, X.shape[1])
}
whole = clf.decision_function(grid)
assert np.allclose(sum(parts.values()) + clf.intercept_[0], whole)

figure, axes = plt.subplots(1, len(parts) + 1, figsize=(13, 3.4), sharey=True, layout="constrained")
t = np.linspace(0, 1, 200)
for ax, (name, values) in zip(axes, {**parts, "their sum": whole}.items(), strict=True):
    image = values.reshape(80, 80)
    ax.imshow(image, extent=(0, 1, 0, 1), origin="lower", cmap="RdBu", vmin=-2, vmax=2)
    ax.plot(t, bayes_boundary(t), color="black", ls="--", lw=1)
    ax.set(title=name, xlim=(0, 1), ylim=(0, 1))
figure.suptitle("Decision values by family, and the true boundary (dashed)")

# %%
# How the number of steps is chosen
# ---------------------------------
#
# With validation data the paths of all ridges that are tried are judged by it. Of few rows the best
# path is averaged with two others of its ridge, and the model is a point of the average. `trace_`
# has the score of every step of it.
X_val, y_val = make_simulation(400, noise="uniform", level=0.2, random_state=2)
chosen = FCGBoostClassifier(random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
scores = chosen.trace_.column("validation_score")
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(np.arange(1, len(scores) + 1), scores)
ax.axvline(chosen.n_iter_, color="black", ls="--", lw=1)
ax.set(xlabel="step", ylabel="accuracy − half the loss", title=f"kept: {chosen.n_iter_} steps")

# %%
# One label in five is wrong, and both models are near the truth all the same.
for model in (clf, chosen):
    assert model.score(X_test, y_test) > 0.93
plt.show()
