"""
How small may it be?
====================

A fitted path is a family of models. Take the shortest one that is good enough: ``truncate(k)``
gives it without another fit. Beside it, what support vector machines and forests need.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifier

# %%
# 569 tumours, 30 measurements of each, from scikit-learn. All figures are means over five
# folds.
X, y = load_breast_cancer(return_X_y=True)
folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
sizes = np.array([1, 2, 3, 5, 8, 13, 20, 30, 45])

accuracy = {
    name: np.mean(
        [
            [path.truncate(k).score(X[test], y[test]) for k in sizes]
            for train, test in folds
            for path in [FCGBoostClassifier(name, random_state=0).fit(X[train], y[train])]
        ],
        axis=0,
    )
    for name in ("relu", "gauss")
}

# %%
# The size of a model is the number of values it has to store: an atom in d dimensions has d + 1
# parameters and a coefficient, a support vector d values and a coefficient, an inner node of a
# tree a feature, a threshold and two children, a leaf its answer.
d = X.shape[1]
others = {"SVC": make_pipeline(StandardScaler(), SVC()), "forest": RandomForestClassifier(100)}


def n_numbers(model):
    if isinstance(model, RandomForestClassifier):
        trees = [estimator.tree_ for estimator in model.estimators_]
        return sum(4 * (t.node_count - t.n_leaves) + t.n_leaves for t in trees)
    return model[-1].n_support_.sum() * (d + 1)


figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name, values in accuracy.items():
    ax.plot(
        sizes * (d + 2), values, "o-", label=f"fcgboost, {name}: {sizes[0]} to {sizes[-1]} atoms"
    )
scores = {}
for (name, model), marker in zip(others.items(), "sD", strict=True):
    fits = []
    for train, test in folds:
        if name == "forest":
            model.set_params(random_state=0)
        model.fit(X[train], y[train])
        fits.append((n_numbers(model), model.score(X[test], y[test])))
    scores[name] = np.mean(fits, axis=0)
    ax.plot(*scores[name], marker, ms=10, label=f"{name}, default settings")
ax.set(xscale="log", xlabel="numbers to store", ylabel="accuracy (5 folds)", ylim=(0.88, 1.0))
ax.legend()
plt.show()

# %%
# Thirteen atoms are 416 numbers.
small = accuracy["relu"][list(sizes).index(13)]
for name, (numbers, score) in scores.items():
    print(f"{name}: accuracy {score:.3f} with {numbers:.0f} numbers")
print(f"relu, 13 atoms: accuracy {small:.3f} with {13 * (d + 2)} numbers")
assert small > 0.94
assert 13 * (d + 2) < scores["SVC"][0] / 4

# %%
# To choose k by data, fit with ``validation_fraction`` or use `FCGBoostClassifierCV`; to keep a
# short model, save ``clf.truncate(k)``.
