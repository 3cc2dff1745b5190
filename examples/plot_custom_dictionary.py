"""
A dictionary of your own: cosine waves
======================================

A dictionary says which atoms exist. An atom that is a function of an inner product takes three
short methods: which rows to propose, the profile, and the profile's slope.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import InnerProductDictionary
from fcgboost.parts import check_positive

# %%
# Random Fourier features (Rahimi and Recht, "Random features for large-scale kernel machines",
# 2007) average to the Gauss kernel: g(x) = cos(<w, x> + b), with w normal of standard deviation
# 1 / width and b uniform on the circle.
#
# An atom of an inner product is a row (w, b). `InnerProductDictionary` knows how to evaluate
# such rows on dense and sparse inputs. Any other kind of atom derives from `Dictionary` and
# writes ``evaluate`` itself.


class CosineDictionary(InnerProductDictionary):
    """Cosine waves whose typical length, in standardised units, is 2 pi times `width`."""

    def __init__(self, width=1.0, scaling="none"):
        self.width = width
        self.scaling = scaling

    def check_parameters(self):
        super().check_parameters()
        check_positive(self, "width")

    def candidates(self, sample, n, key):
        # Nothing but the key is random. Each kind of number has its own stream, so that fewer
        # atoms are the first ones of more.
        directions, phases = np.random.default_rng(key).spawn(2)
        w = directions.standard_normal((n, sample.n_features)) / self.width
        b = phases.uniform(0.0, 2.0 * np.pi, size=n)
        # <w, (x - shift) / scale> + b, in the units of the raw inputs.
        w /= sample.scale
        return np.column_stack([w, b - w @ sample.shift])

    def profile(self, z):
        return np.cos(z)

    def slope(self, z):
        return -np.sin(z)


# %%
# Everything else comes with it: full correction, the path, importances, weights that are
# counts.
X, y = make_moons(1000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
clf = FCGBoostClassifier(CosineDictionary(width=0.7), random_state=0).fit(X_train, y_train)
print(f"{clf.n_atoms_} waves, accuracy {clf.score(X_test, y_test):.3f}")
assert clf.score(X_test, y_test) > 0.9

# %%
# The first three waves, and their sum with all the others.
side = [np.linspace(column.min(), column.max(), 150) for column in X.T]
points = np.stack(np.meshgrid(*side), axis=-1).reshape(-1, 2)
waves = [clf.atom_coef_[0, j] * clf.model_.columns(points)[:, j] for j in range(3)]
figure, axes = plt.subplots(1, 4, figsize=(13, 3), sharey=True, layout="constrained")
titles = ("first wave", "second wave", "third wave", f"all {clf.n_atoms_} waves")
for ax, values, title in zip(axes, [*waves, clf.decision_function(points)], titles, strict=True):
    values = np.clip(values, -1, 1).reshape(150, 150)
    limit = np.abs(values).max()
    ax.contourf(*side, values, levels=np.linspace(-limit, limit, 21), cmap="RdBu")
    ax.set_title(title)
axes[3].contour(*side, values, levels=[0.0], colors="black")
axes[3].scatter(*X_test.T, s=6, c=np.where(y_test == 1, "navy", "darkred"))
plt.show()
