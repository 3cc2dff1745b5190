"""
A table with text, dates and missing values
===========================================

Real tables hold more than numbers. Pass the data frame as it is: the classifier learns what each
column holds, and no encoder, imputer or scaler is needed.
"""

import matplotlib.pyplot as plt
from sklearn.inspection import permutation_importance
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_customers
from fcgboost.plotting import FeatureInfluenceDisplay

# %%
# Two thousand customers of an internet provider, generated: an id, two dates, text, numbers, and
# gaps. Who has churned?
customers = make_customers(odd_cells=0, random_state=0)
print(customers.head(4).T.to_string())

# %%
# Hold a quarter of the rows out, and fit the rest.
X, y = customers.drop(columns="churned"), customers["churned"]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = FCGBoostClassifier(random_state=0).fit(X_train, y_train)

baseline = (y_test == "no").mean()
accuracy = clf.score(X_test, y_test)
print(f"accuracy {accuracy:.3f}; always answering 'no': {baseline:.3f}")
print(classification_report(y_test, clf.predict(X_test)))
assert accuracy > baseline + 0.08

# %%
# Notes say what it made of unusual columns. The id is of no use and is left out.
for note in clf.notes_:
    print(note)
assert any("customer_id" in note for note in clf.notes_)

# %%
# Later rows may hold values that were never seen: an unknown town counts as missing.
strange = X_test.head(3).assign(town="Atlantis", income=None)
print(clf.predict_proba(strange).round(2))

# %%
# Permutation importance, one bar per column of the table: how much accuracy is lost when the
# column is shuffled.
permuted = permutation_importance(clf, X_test, y_test, n_repeats=10, random_state=0)
FeatureInfluenceDisplay(
    permuted.importances_mean,
    list(X_test.columns),
    errors=permuted.importances_std,
    xlabel="drop in accuracy when permuted",
).plot()
plt.show()
