"""
Several classes
===============

With more than two classes each has its own sum, against the rest. All classes choose from the
same candidates in one pass, and their probabilities sum to one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import DecisionBoundaryDisplay

# %%
# Three arms of a spiral. Labels may be text.
rng = np.random.default_rng(0)
arm = np.repeat(np.arange(3), 200)
t = rng.uniform(0.3, 1.0, size=600)
angle = 4.0 * t + arm * 2.0 * np.pi / 3.0 + rng.normal(scale=0.2, size=600)
X = np.column_stack([t * np.cos(angle), t * np.sin(angle)])
y = np.array(["first", "second", "third"])[arm]

clf = FCGBoostClassifier("gauss", random_state=0).fit(X, y)
print(f"{clf.n_atoms_} atoms for {len(clf.classes_)} classes, coefficients {clf.atom_coef_.shape}")
assert clf.atom_coef_.shape == (3, clf.n_atoms_)
assert clf.score(X, y) > 0.95

figure, ax = plt.subplots(figsize=(6.5, 5.2), layout="constrained")
DecisionBoundaryDisplay.from_estimator(clf, X, y, ax=ax)
plt.show()

# %%
# There is one decision value per class, and the largest wins. Probabilities are the projection of
# the per-class values onto the simplex, which keeps the winner.
decision, probability = clf.decision_function(X[:3]), clf.predict_proba(X[:3])
print(decision.round(2))
print(probability.round(2))
assert np.allclose(probability.sum(axis=1), 1.0)
assert (decision.argmax(axis=1) == probability.argmax(axis=1)).all()

# %%
# Real data: three kinds of wine, thirteen chemical measurements. Half of the 178 bottles train.
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
clf = FCGBoostClassifier("relu", random_state=0).fit(X_train, y_train)
print(f"wine: {clf.n_atoms_} atoms, test accuracy {clf.score(X_test, y_test):.3f}")
assert clf.score(X_test, y_test) > 0.9
