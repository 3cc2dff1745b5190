"""
Why a row is predicted as it is
===============================

Shapley values share a decision value out among the columns of a row. For one row they are a
waterfall, and their mean size over many rows says which columns matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import ContributionDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
labels = np.where(y == 1, "benign", "malignant")
X_train, X_test, y_train, y_test = train_test_split(X, labels, random_state=0)
clf = FCGBoostClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy {clf.score(X_test, y_test):.3f} on rows held out")

# %%
# The base value is the mean over some training rows; the contributions lead from there to the
# decision value, here that of the row about which the model is least sure.
found = clf.explain(X_test)
decision = clf.decision_function(X_test)
assert np.allclose(found.base_values + found.values.sum(axis=1), decision)

row = int(np.abs(decision).argmin())
ContributionDisplay.from_explanation(found, row=row, classes=clf.classes_)

# %%
# ``feature_importances_`` says how much the model changes with a column, in either direction and
# from wherever it is. The mean size of the contributions says how far a column takes the rows of
# this table from the mean. Both agree on what matters.
sizes = np.abs(found.values).mean(axis=0)
sizes /= sizes.sum()
importances = clf.feature_importances_
figure, ax = plt.subplots(layout="constrained")
ax.scatter(importances, sizes)
for j in np.argsort(-sizes)[:3]:
    ax.annotate(
        X.columns[j],
        (importances[j], sizes[j]),
        xytext=(-4, 4),
        ha="right",
        textcoords="offset points",
    )
ax.set(xlabel="feature_importances_", ylabel="share of the mean size of contributions")
agreement = np.corrcoef(importances, sizes)[0, 1]
print(f"correlation {agreement:.2f}")
assert agreement > 0.5
plt.show()
