"""
Which inputs matter
===================

Two answers to the same question: how steep the model is in each input (known from the atoms, no
data needed), and what the accuracy loses when an input is shuffled.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import FeatureInfluenceDisplay

# %%
# Eight inputs, of which three count: ``age`` beyond a threshold, ``dose`` in a window, and
# ``weight`` together with ``dose``. The others are noise, and so is one label in ten.
rng = np.random.default_rng(0)
names = ["age", "dose", "weight", *(f"noise {i}" for i in range(1, 6))]
X = pd.DataFrame(rng.normal(size=(2000, 8)), columns=names)
truth = np.maximum(0, X["age"]) - np.abs(X["dose"]) + 0.5 * X["weight"] * (X["dose"] > 0) > 0
y = truth ^ (rng.uniform(size=2000) < 0.1)
train, test = slice(0, 1000), slice(1000, 2000)

clf = FCGBoostClassifier("relu", random_state=0).fit(X[train], y[train])
print(f"accuracy {clf.score(X[test], truth[test]):.3f} on clean labels")
assert clf.score(X[test], truth[test]) > 0.85

# %%
# Slopes say what the *model* does, its wiggles in the noise included; shuffling says what its
# *accuracy* rests on. Both name the three inputs, and only shuffling shows that the rest is
# noise.
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
FeatureInfluenceDisplay.from_estimator(clf, ax=axes[0])
FeatureInfluenceDisplay.from_estimator(
    clf, X[test], y[test], method="permutation", options={"random_state": 0}, ax=axes[1]
)
axes[0].set_title("size of the slope")
axes[1].set_title("loss of accuracy when shuffled")

order = np.argsort(clf.feature_importances_)[::-1]
print([names[i] for i in order[:3]], clf.feature_importances_.round(3))
assert set(order[:3]) == {0, 1, 2}
plt.show()
