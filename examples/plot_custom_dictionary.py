"""
Your own dictionary: cosine waves
=================================

A dictionary says which atoms exist. For atoms that are functions of an inner product, write three
short methods: the candidates, the profile, and its derivative.
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
# 2007) average to the Gauss kernel: g(x) = cos(<w, x> + b), with w normal with standard deviation
# 1 / width and b uniform on the circle.
#
# An atom is a row (w, b), which `InnerProductDictionary` evaluates on dense and sparse inputs.
# Other kinds of atoms derive from `Dictionary` and write ``evaluate`` themselves.


class CosineDictionary(InnerProductDictionary):
    """Cosine waves whose typical length, in standardised units, is 2 pi times `width`."""

    def __init__(self, width=1.0):
        self.width = width

    def check_parameters(self):
        check_positive(self, "width")

    def candidates(self, sample, n, key):
        # The key is the only source of randomness. Each kind of number has its own stream, so
        # that a smaller draw is a prefix of a larger one.
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
# Everything else works as usual: full correction, the path, importances, sample weights.
X, y = make_moons(1000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
clf = FCGBoostClassifier(CosineDictionary(width=0.7), random_state=0).fit(X_train, y_train)
print(f"{clf.n_atoms_} waves, accuracy {clf.score(X_test, y_test):.3f}")
assert clf.score(X_test, y_test) > 0.9

# %%
# The first three waves, and the sum of all.
side = [np.linspace(column.min(), column.max(), 150) for column in X.T]
points = np.stack(np.meshgrid(*side), axis=-1).reshape(-1, 2)
waves = [clf.atom_coef_[0, j] * clf.model_.columns(points)[:, j] for j in range(3)]


def draw(ax, values, title):
    values = np.clip(values, -1, 1).reshape(150, 150)
    limit = np.abs(values).max()
    ax.contourf(*side, values, levels=np.linspace(-limit, limit, 21), cmap="RdBu")
    ax.set_title(title)
    return values


figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, values, title in zip(axes, waves, ("first wave", "second", "third"), strict=True):
    draw(ax, values, title)

figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
values = draw(ax, clf.decision_function(points), f"all {clf.n_atoms_} waves")
ax.contour(*side, values, levels=[0.0], colors="black")
ax.scatter(*X_test.T, s=14, c=np.where(y_test == 1, "navy", "darkred"))
plt.show()
# sphinx_gallery_thumbnail_number = 2
