"""
Probabilities without a calibration step
========================================

The squared hinge's minimiser is 2 P(y = 1 | x) - 1, so the fitted values are probabilities
already. A support vector machine needs a second fit on its scores (Platt's method) to get
there.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import ReliabilityDisplay

# %%
# Two features and a known probability, so that one can compare with the truth and not with
# labels alone.


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    truth = 1.0 / (1.0 + np.exp(-4.0 * (X[:, 1] - np.sin(3.0 * X[:, 0]))))
    return X, (rng.uniform(size=n) < truth).astype(int), truth


X, y, _ = draw(1000, 0)
X_test, y_test, truth = draw(10_000, 1)

# %%
# Both see the same rows. Platt's method fits five machines for its calibration.
models = {
    "fcgboost (relu)": FCGBoostClassifier("relu", random_state=0),
    "SVC + Platt": CalibratedClassifierCV(SVC(), ensemble=False, cv=5),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.8), layout="constrained")
distance = {}
for ax, (name, model) in zip(axes[:2], models.items(), strict=True):
    probability = model.fit(X, y).predict_proba(X_test)[:, 1]
    ReliabilityDisplay.from_estimator(model, X_test, y_test, n_bins=12, ax=ax)
    ax.set_title(name)
    axes[2].plot(truth, probability, ".", ms=1.5, alpha=0.4, label=name)
    distance[name] = np.sqrt(np.mean((probability - truth) ** 2))
    brier = brier_score_loss(y_test, probability)
    print(
        f"{name}: Brier score {brier:.4f}, distance from the true probability {distance[name]:.3f}"
    )
print(f"the truth itself: Brier score {brier_score_loss(y_test, truth):.4f}")
axes[2].set(xlabel="true probability", ylabel="predicted probability", title="beside the truth")
axes[2].legend(loc="upper left", markerscale=8)
plt.show()

# %%
# Bars are 95 % intervals, the strips below count rows. Neither is perfect; the price differs:
svc = models["SVC + Platt"].calibrated_classifiers_[0].estimator
print(f"{models['fcgboost (relu)'].n_atoms_} atoms, {svc.n_support_.sum()} support vectors")
assert distance["fcgboost (relu)"] < 0.1
assert models["fcgboost (relu)"].n_atoms_ < svc.n_support_.sum() / 4

# %%
# How far this carries
# --------------------
#
# The probability is the *loss's*: squared hinge, square loss and cubed hinge determine one, the
# hinge does not. It is cut at 0 and 1, so rows far from the boundary get exactly 0 or 1, which the
# log loss punishes without limit where it is wrong.
probability = models["fcgboost (relu)"].predict_proba(X_test)[:, 1]
sure = (probability == 0.0) | (probability == 1.0)
print(f"{sure.mean():.1%} of the probabilities are 0 or 1; the largest true one among the zeros:")
print(f"{truth[probability == 0.0].max():.3f}")

# %%
# A link is certain only up to rounding: a curve of two parameters that is fitted to rows held out.
# The default, ``FCGBoostClassifier()``, has one; other dictionaries get one where there are such
# rows.
options = {"validation_fraction": 0.25, "random_state": 0}
theory = FCGBoostClassifier("relu", **options).fit(X, y)
linked = FCGBoostClassifier("relu", link="power", **options).fit(X, y)
print(linked.link_)
losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (theory, linked)]
print(f"log loss {losses[0]:.4f} by the loss's formula, {losses[1]:.4f} by the link")
assert losses[1] < losses[0]
