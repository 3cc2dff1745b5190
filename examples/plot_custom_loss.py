"""
Your own loss: the Huberised squared hinge
==========================================

The squared hinge grows quadratically, so a few mislabelled points far on the wrong side dominate.
The Huberised one is linear beyond a shortfall of M. The package has it as ``ModifiedHuber``; your
own takes one class with a few short methods.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier, SquaredHinge
from fcgboost.datasets import make_simulation
from fcgboost.losses import MarginLoss, ProbabilityLoss, ProximalLoss, SmoothLoss

# %%
# With e = max(0, 1 - y f) the loss is e² where e ≤ M, else 2 M e - M² (Rosset and Zhu,
# "Piecewise linear regularized solution paths", 2007).
#
# `MarginLoss` says that the targets are labels, -1 and +1. Each other base class enables
# something: `SmoothLoss` Newton's method and gradient descent,
# `ProximalLoss` ADMM, `ProbabilityLoss` the estimator's `predict_proba`. ``value``, ``gradient``
# and ``initial`` alone are enough for the classical schemes.


class HuberisedSquaredHinge(SmoothLoss, MarginLoss, ProximalLoss, ProbabilityLoss):
    """The squared hinge up to a shortfall of `threshold`, linear beyond."""

    curvature_bound = 2.0

    def __init__(self, threshold=2.0):
        self.threshold = threshold

    def value(self, y, f):
        shortfall = np.maximum(0.0, 1.0 - y * f)
        bent = np.minimum(shortfall, self.threshold)
        return bent * (2.0 * shortfall - bent)

    def gradient(self, y, f):
        return -2.0 * y * np.clip(1.0 - y * f, 0.0, self.threshold)

    def curvature(self, y, f):
        shortfall = 1.0 - y * f
        return np.where((shortfall > 0.0) & (shortfall < self.threshold), 2.0, 0.0)

    def prox(self, y, z, tau):
        gap = 1.0 - y * z
        bent, straight = tau * gap / (2.0 + tau), gap - 2.0 * self.threshold / tau
        return np.where(gap <= 0.0, z, y * (1.0 - np.maximum(bent, straight)))

    def probability(self, f):
        # Where the gradients of both classes balance: p min(1 - f, M) = (1 - p) min(1 + f, M).
        up = np.minimum(1.0 + np.clip(f, -1.0, 1.0), self.threshold)
        down = np.minimum(1.0 - np.clip(f, -1.0, 1.0), self.threshold)
        return up / (up + down)

    def initial(self, y, weights):
        positive = weights[y > 0].sum() / weights.sum()
        major = max(positive, 1.0 - positive)
        size = max(2.0 * major - 1.0, 1.0 - self.threshold * (1.0 - major) / major)
        return float(np.sign(2.0 * positive - 1.0) * size)


# %%
# Pass an instance as ``loss``; `GridSearchCV` reaches its parameter as ``loss__threshold``. The
# linear tail should help with outliers: four in ten of the labels far from the boundary are
# flipped. Five training sets, one clean test set:
losses = {"squared hinge": SquaredHinge()} | {
    f"Huberised, M = {threshold}": HuberisedSquaredHinge(threshold) for threshold in (1.0, 0.5)
}
X_test, y_test = make_simulation(2000, noise=None, random_state=100)
errors = {name: [] for name in losses}
for seed in range(5):
    X, y = make_simulation(1000, noise="outlier", tol=0.3, ratio=0.4, random_state=seed)
    for name, loss in losses.items():
        clf = FCGBoostClassifier("relu", loss=loss, random_state=0).fit(X, y)
        errors[name].append(1 - clf.score(X_test, y_test))
for name, values in errors.items():
    print(f"{name}: test error {np.mean(values):.3f}, from {min(values):.3f} to {max(values):.3f}")
assert np.mean(errors["Huberised, M = 0.5"]) < 0.5 * np.mean(errors["squared hinge"])

# %%
# It helps on these data. For yours, search over ``loss__threshold``.
margins = np.linspace(-2.0, 1.5, 200)
figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for name, loss in losses.items():
    values = loss.value(np.ones_like(margins), margins)
    ax.plot(margins, values, label=f"{name}: {np.mean(errors[name]):.1%} error")
ax.set(xlabel="margin y f(x)", ylabel="loss")
ax.legend()
plt.show()
