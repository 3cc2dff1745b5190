"""
Small models, saved and exported
================================

A path contains models of every size, and ``truncate(k)`` picks one without another fit. As a JSON
file it comes back bit for bit; as C it needs nothing but a compiler.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.export import save_c, to_c

# %%
# How small may it be?
# --------------------
#
# 569 tumours with 30 measurements each, from scikit-learn. Accuracies are means over five folds.
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
# Size is the number of stored values: d + 2 for an atom in d dimensions, d + 1 for a support
# vector, four for an inner node of a tree and one for a leaf.
d = X.shape[1]
others = {
    "SVC": make_pipeline(StandardScaler(), SVC()),
    "random forest": RandomForestClassifier(random_state=0),
}


def n_numbers(model):
    if isinstance(model, RandomForestClassifier):
        trees = [estimator.tree_ for estimator in model.estimators_]
        return sum(4 * (t.node_count - t.n_leaves) + t.n_leaves for t in trees)
    return model[-1].n_support_.sum() * (d + 1)


figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
for name, values in accuracy.items():
    ax.plot(sizes * (d + 2), values, "o-", label=f"fcgboost, {name}")
scores = {}
for (name, model), marker in zip(others.items(), "sD", strict=True):
    fits = []
    for train, test in folds:
        model.fit(X[train], y[train])
        fits.append((n_numbers(model), model.score(X[test], y[test])))
    scores[name] = np.mean(fits, axis=0)
    ax.plot(*scores[name], marker, ms=11, label=f"{name}, default settings")
ax.set(xscale="log", xlabel="stored numbers", ylabel="accuracy (5 folds)", ylim=(0.88, 1.0))
ax.legend(loc="lower right")
plt.show()

small = accuracy["relu"][list(sizes).index(13)]
for name, (numbers, score) in scores.items():
    print(f"{name}: accuracy {score:.3f} with {numbers:.0f} numbers")
print(f"relu, 13 atoms: accuracy {small:.3f} with {13 * (d + 2)} numbers")
assert small > 0.94
assert 13 * (d + 2) < scores["SVC"][0] / 4

# %%
# Save and load
# -------------
#
# With the path (the default) a loaded model can still be truncated; ``trace=False`` keeps the
# final model only.
clf = FCGBoostClassifier("relu", random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    save_model(clf, folder / "path.json")
    save_model(clf.truncate(13), folder / "small.json", trace=False)
    n_bytes = {path.name: path.stat().st_size for path in sorted(folder.glob("*.json"))}
    n_bytes["small.h"] = save_c(clf.truncate(13), folder / "small.h", precision="float")
    loaded = load_model(folder / "path.json")
assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
assert loaded.truncate(5).n_atoms_ == 5
print(n_bytes)

# %%
# C
# ---
#
# One C99 header without dependencies. This one has two atoms and two inputs.
tiny = FCGBoostClassifier("relu", max_iter=2, random_state=0).fit(X[:, :2], y)
print(to_c(tiny))
