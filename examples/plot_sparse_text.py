"""
Sparse text data
================

Word counts make wide, sparse matrices. They are never centred or made dense. In such wide spaces,
atoms centred on documents or fitted to all words do better than random directions.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from fcgboost import FCGBoostClassifier, GaussDictionary, PolynomialDictionary

# %%
# A generated corpus: two subjects, 1500 documents, 400 words. Each subject has twenty words that
# occur more often in it; the rest are common to both. One training label in ten is wrong.
n_words, n_own = 400, 20
rng = np.random.default_rng(0)
words = np.array(
    [f"sea {i}" for i in range(n_own)]
    + [f"mountain {i}" for i in range(n_own)]
    + [f"word {i}" for i in range(n_words - 2 * n_own)]
)


def draw(n):
    subject = rng.integers(0, 2, size=n)
    rates = np.full((n, n_words), 0.05)
    rates[subject == 0, :n_own] *= 5.0
    rates[subject == 1, n_own : 2 * n_own] *= 5.0
    return sparse.csr_array(rng.poisson(rates), dtype=float), subject


X, subject = draw(1500)
y = np.where(rng.uniform(size=1500) < 0.1, 1 - subject, subject)
X_test, y_test = draw(3000)
print(f"{X.nnz / np.prod(X.shape):.1%} of the entries are not zero")

# %%
# Gauss and polynomial atoms are centred on training rows, here documents. ReLU and sigmoid atoms
# are random directions, and in 400 dimensions few of those are useful. At every step the default
# adds a direction over all words or a tree over the most frequent ones. Counts share a unit, so
# ``standardize=False`` keeps rare words small.
dictionaries = {
    "auto": "auto",
    "gauss": GaussDictionary(),
    "polynomial, degree 1": PolynomialDictionary(degree=1),
    "relu": "relu",
    "sigmoid": "sigmoid",
}
errors, models = {}, {}
for name, dictionary in dictionaries.items():
    models[name] = FCGBoostClassifier(dictionary, standardize=False, random_state=0).fit(X, y)
    errors[name] = 1 - models[name].score(X_test, y_test)
    print(f"{name}: test error {errors[name]:.3f}")
assert max(errors["auto"], errors["gauss"]) < 0.06
assert errors["gauss"] < errors["relu"]

# %%
# The centres of Gauss atoms stay sparse. A dense array gives the same model up to rounding.
clf = models["gauss"]
print(type(clf.atoms_).__name__, clf.atoms_.shape)
dense = FCGBoostClassifier(GaussDictionary(), standardize=False, random_state=0)
dense.fit(X.toarray(), y)
assert np.allclose(dense.decision_function(X_test.toarray()), clf.decision_function(X_test))

# %%
# ``feature_importances_`` is the mean absolute slope of the model in each word. The forty
# informative words come first.
order = np.argsort(clf.feature_importances_)[::-1]
is_own = order < 2 * n_own
print(f"{is_own[:40].sum()} of the 40 most important words belong to a subject")
assert is_own[:40].sum() >= 38

figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
ax.bar(
    np.arange(60), clf.feature_importances_[order[:60]], color=np.where(is_own, "C0", "0.7")[:60]
)
ax.set(ylabel="importance", title="The 60 most important words (blue: informative)")
ax.set_xticks(np.arange(0, 60, 3), words[order[:60:3]], rotation=60, ha="right", fontsize=9)
plt.show()
