"""A loss of your own: the Huberised squared hinge, by deriving from the package's contracts.

The squared hinge grows quadratically, so a few mislabelled points far on the wrong side pull
hard. The Huberised one (Rosset and Zhu, "Piecewise linear regularized solution paths", 2007)
goes on linearly where the margin falls short by more than a threshold M: with
e = max(0, 1 - y f),

    phi = e^2 where e <= M, else 2 M e - M^2.

Each base class adds what a part of the package needs: `SmoothLoss` Newton's method and gradient
descent, `ProximalLoss` ADMM, `ProbabilityLoss` the estimator's `predict_proba`.
"""

import numpy as np

from fcgboost.losses import ProbabilityLoss, ProximalLoss, SmoothLoss


class HuberisedSquaredHinge(SmoothLoss, ProximalLoss, ProbabilityLoss):
    """The squared hinge up to a shortfall of `threshold`, a straight line beyond."""

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

    def prox(self, z, tau):
        gap = 1.0 - z
        bent, straight = tau * gap / (2.0 + tau), gap - 2.0 * self.threshold / tau
        return np.where(gap <= 0.0, z, 1.0 - np.maximum(bent, straight))

    def probability(self, f):
        # Where the slopes of both classes balance: p min(1 - f, M) = (1 - p) min(1 + f, M).
        up = np.minimum(1.0 + np.clip(f, -1.0, 1.0), self.threshold)
        down = np.minimum(1.0 - np.clip(f, -1.0, 1.0), self.threshold)
        return up / (up + down)

    def initial(self, y, weights):
        positive = weights[y > 0].sum() / weights.sum()
        major = max(positive, 1.0 - positive)
        size = max(2.0 * major - 1.0, 1.0 - self.threshold * (1.0 - major) / major)
        return float(np.sign(2.0 * positive - 1.0) * size)


if __name__ == "__main__":
    from sklearn.datasets import make_moons
    from sklearn.model_selection import train_test_split

    from fcgboost import FCGBoostClassifier

    X, y = make_moons(1000, noise=0.25, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = FCGBoostClassifier(loss=HuberisedSquaredHinge(threshold=1.0)).fit(X_train, y_train)
    print(f"{len(model.atoms_)} atoms, accuracy {model.score(X_test, y_test):.3f}")
