"""
What the default learns
=======================

By default ReLU atoms, trees and Gauss atoms take turns, and each atom is learned from the current
residual. The model is one sum; here it is split up by family.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import bayes_boundary, make_simulation

X, y = make_simulation(600, noise="uniform", level=0.2, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)
clf = FCGBoostClassifier(random_state=0).fit(X, y)
print(f"test accuracy {clf.score(X_test, y_test):.3f}: {clf.n_atoms_} atoms, ridge {clf.l2_:.3g}")
assert clf.score(X_test, y_test) > 0.93

# %%
# The contribution of each family
# -------------------------------
#
# An atom is a row of numbers; the first one is the number of its family. The contributions of the
# families and the intercept add up to the decision values.
grid = np.stack(np.meshgrid(np.linspace(0, 1, 80), np.linspace(0, 1, 80)), axis=-1).reshape(-1, 2)
union, columns = clf.model_.dictionary, clf.model_.columns(grid)
parts = {
    type(union.families[number]).__name__: columns[:, places] @ clf.atom_coef_[0, places]
    for number, places, *_ in union.members(clf.atoms_, X.shape[1])
}
whole = clf.decision_function(grid)
assert np.allclose(sum(parts.values()) + clf.intercept_[0], whole)

figure, axes = plt.subplots(1, len(parts) + 1, figsize=(13, 3.7), sharey=True, layout="constrained")
t = np.linspace(0, 1, 200)
for ax, (name, values) in zip(axes, {**parts, "sum": whole}.items(), strict=True):
    image = values.reshape(80, 80)
    ax.imshow(image, extent=(0, 1, 0, 1), origin="lower", cmap="RdBu", vmin=-2, vmax=2)
    ax.plot(t, bayes_boundary(t), color="black", ls="--", lw=1)
    ax.set(title=name, xlim=(0, 1), ylim=(0, 1))
figure.suptitle("Decision values by family; the true boundary is dashed")

# %%
# How the number of steps is chosen
# ---------------------------------
#
# Validation rows, given or held out, choose the number of steps. ``trace_`` records the score of
# every step.
X_val, y_val = make_simulation(400, noise="uniform", level=0.2, random_state=2)
chosen = FCGBoostClassifier(random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
scores = chosen.trace_.column("validation_score").astype(float)
scored = np.flatnonzero(np.isfinite(scores))
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(scored + 1, scores[scored], "o-")
ax.axvline(chosen.n_iter_, color="black", ls="--", lw=1)
ax.set(
    xlabel="steps",
    ylabel="validation score",
    title=f"The model keeps {chosen.n_iter_} steps",
)
assert chosen.score(X_test, y_test) > 0.93
plt.show()
# sphinx_gallery_thumbnail_number = 2
