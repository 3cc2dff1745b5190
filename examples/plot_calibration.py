"""
Probabilities
=============

The minimiser of the squared hinge is 2 P(y = 1 | x) - 1, so a fit estimates probabilities without
a calibration step. Where held-out rows exist, a link of two parameters improves the extremes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import ReliabilityDisplay

# %%
# Two features and a known probability: predictions can be compared with the truth, not just with
# labels.


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    truth = 1.0 / (1.0 + np.exp(-4.0 * (X[:, 1] - np.sin(3.0 * X[:, 0]))))
    return X, (rng.uniform(size=n) < truth).astype(int), truth


X, y, _ = draw(1000, 0)
X_test, y_test, truth = draw(10_000, 1)

# %%
# Both methods see the same rows. Platt scaling fits five more support vector machines.
models = {
    "fcgboost (relu)": FCGBoostClassifier("relu", random_state=0).fit(X, y),
    "SVC + Platt": CalibratedClassifierCV(SVC(), ensemble=False, cv=5).fit(X, y),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ReliabilityDisplay.from_estimator(model, X_test, y_test, n_bins=12, ax=ax)
    ax.set_title(name)

# %%
# Bars are 95 % confidence intervals; the strips below count rows. Against the true probability:
figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
distance = {}
for name, model in models.items():
    probability = model.predict_proba(X_test)[:, 1]
    ax.plot(truth, probability, ".", ms=2, alpha=0.4, label=name)
    distance[name] = np.sqrt(np.mean((probability - truth) ** 2))
    brier = brier_score_loss(y_test, probability)
    print(f"{name}: Brier score {brier:.4f}, RMS distance to the truth {distance[name]:.3f}")
print(f"the truth itself: Brier score {brier_score_loss(y_test, truth):.4f}")
ax.plot([0, 1], [0, 1], "k--", lw=1)
ax.set(xlabel="true probability", ylabel="predicted probability")
ax.legend(loc="upper left", markerscale=8)
plt.show()

# %%
# Neither is perfect. The model sizes differ:
svc = models["SVC + Platt"].calibrated_classifiers_[0].estimator
print(f"{models['fcgboost (relu)'].n_atoms_} atoms, {svc.n_support_.sum()} support vectors")
assert distance["fcgboost (relu)"] < 0.1
assert models["fcgboost (relu)"].n_atoms_ < svc.n_support_.sum() / 4

# %%
# The link
# --------
#
# Probabilities from the loss are clipped to [0, 1]. Rows far from the boundary get exactly 0 or
# 1, and the log loss punishes a wrong certainty without limit.
probability = models["fcgboost (relu)"].predict_proba(X_test)[:, 1]
sure = (probability == 0.0) | (probability == 1.0)
print(f"{sure.mean():.1%} of the probabilities are exactly 0 or 1")
print(f"largest true probability among the zeros: {truth[probability == 0.0].max():.3f}")

# %%
# ``link="power"`` fits a curve of two parameters to held-out rows instead. The presets do so;
# single families do when asked.
options = {"validation_fraction": 0.25, "random_state": 0}
theory = FCGBoostClassifier("relu", **options).fit(X, y)
linked = FCGBoostClassifier("relu", link="power", **options).fit(X, y)
print(linked.link_)
losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (theory, linked)]
print(f"log loss {losses[0]:.4f} from the loss, {losses[1]:.4f} with the link")
assert losses[1] < losses[0]
# sphinx_gallery_thumbnail_number = 2
