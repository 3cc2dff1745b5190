"""
Three labels in ten are wrong
=============================

A thousand points of the paper's simulation, three in ten of their labels flipped. The model
finds the boundary behind the noise, as a support vector machine does, but with a sum of a few
dozen functions instead of hundreds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifierCV
from fcgboost.colors import CLASS_COLORS
from fcgboost.datasets import bayes_boundary, make_simulation
from fcgboost.plotting import DecisionBoundaryDisplay

# %%
# Training labels are noisy, test labels are not: what counts is the truth behind the noise.
X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)
wrong = y != np.where(X[:, 1] >= bayes_boundary(X[:, 0]), 1, -1)
print(f"{wrong.mean():.1%} of the training labels are wrong")

# %%
# ReLU atoms, max(0, ⟨w, x⟩ + b), are ramps that begin at a line. Ridge and number of steps are
# chosen by five folds of the noisy labels, and so are the parameters of the support vector
# machine.
clf = FCGBoostClassifierCV(["relu"], l2s=["auto", 0.01, 0.1], random_state=0).fit(X, y)
svc = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.1, 1, 10]}).fit(X, y)
error, svc_error = 1 - clf.score(X_test, y_test), 1 - svc.score(X_test, y_test)
n_vectors = svc.best_estimator_.n_support_.sum()
print(f"fcgboost: {clf.n_atoms_} atoms, {error:.1%} test error, {clf.best_params_}")
print(f"SVC: {n_vectors} support vectors, {svc_error:.1%} test error, {svc.best_params_}")
assert error < 0.05
assert clf.n_atoms_ < n_vectors / 10

# %%
figure, axes = plt.subplots(1, 3, figsize=(13, 4.8), sharey=True, layout="constrained")
for label, color, marker in zip((-1, 1), CLASS_COLORS, "^o", strict=True):
    axes[0].scatter(*X[y == label].T, s=14, c=color, marker=marker, lw=0)
axes[0].set(title=f"what one sees: {wrong.mean():.0%} wrong labels", xlabel="feature 1")
for ax, model, title in (
    (axes[1], clf, f"fcgboost: {clf.n_atoms_} atoms, {error:.1%} error"),
    (axes[2], svc, f"SVC: {n_vectors} support vectors, {svc_error:.1%} error"),
):
    DecisionBoundaryDisplay.from_estimator(
        model, X, y, atoms=False, true_boundary=bayes_boundary, ax=ax
    )
    ax.set_title(title)
    ax.get_legend().remove()
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()

# %%
# Why so many? Every point on the wrong side of its boundary is a support vector, so a support
# vector machine has to keep all the wrong labels. One draw of the noise says little about which
# of the two errs less. Over 20 training sets, tuned in the same way, ReLU atoms have 3.5 % ±
# 0.3 on such labels (``make test-all``, ``tests/test_simulation.py``).
