"""
Which columns matter, and why this row
======================================

Three questions about columns: what moves the model (``feature_importances_``), what its accuracy
rests on (permutation importance), and what drove one prediction (Shapley values).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import ContributionDisplay, FeatureInfluenceDisplay, SummaryDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
labels = np.where(y == 1, "benign", "malignant")
X_train, X_test, y_train, y_test = train_test_split(X, labels, random_state=0)
clf = FCGBoostClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy {clf.score(X_test, y_test):.3f} on held-out rows")

# %%
# One row
# -------
#
# Shapley values split a decision value among the columns. They start from the base value, the
# mean over a sample of training rows. Here is the row that the model is least sure of.
found = clf.explain(X_test)
decision = clf.decision_function(X_test)
assert np.allclose(found.base_values + found.values.sum(axis=1), decision)

row = int(np.abs(decision).argmin())
ContributionDisplay.from_explanation(found, row=row, classes=clf.classes_)

# %%
# All rows
# --------
#
# The same for every row of the test set: points to the right speak for "malignant". Large values
# of almost every column do.
SummaryDisplay.from_explanation(found)
plt.show()

# %%
# ``feature_importances_`` says how much the model changes with a column. Permutation importance
# says how much accuracy is lost when the column is shuffled. Columns that repeat each other, as
# here, share both, and a shuffled one is often hardly missed.
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
FeatureInfluenceDisplay.from_estimator(clf, n_shown=8, ax=axes[0])
permuted = permutation_importance(clf, X_test, y_test, n_repeats=10, random_state=0)
FeatureInfluenceDisplay(
    permuted.importances_mean,
    list(X_test.columns),
    errors=permuted.importances_std,
    xlabel="drop in accuracy when permuted",
).plot(axes[1], n_shown=8)
plt.show()

# %%
# The mean absolute Shapley value ranks columns, too. It agrees well with
# ``feature_importances_``.
sizes = np.abs(found.values).mean(axis=0)
agreement = np.corrcoef(clf.feature_importances_, sizes)[0, 1]
print(f"correlation {agreement:.2f}")
assert agreement > 0.5
# sphinx_gallery_thumbnail_number = 1
