"""
Four losses and their margins
=============================

A loss is a function of the margin y f(x), which is positive where the prediction is right. Here
are four losses, the margins that they lead to, and which of them give probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import CubedHinge, FCGBoostClassifier, Hinge, Square, SquaredHinge
from fcgboost.datasets import make_simulation

# %%
# All four are 0 at a margin of 1 and grow to its left. To its right the three hinges stay at 0:
# rows with a margin above 1 no longer matter. The square loss penalises them.
losses = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "cubed hinge": CubedHinge(),
    "square": Square(),
}
margins = np.linspace(-1.2, 2.2, 300)
figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
for name, loss in losses.items():
    style = "--" if name == "square" else "-"
    ax.plot(margins, loss.value(np.ones_like(margins), margins), style, label=name)
ax.axvline(1.0, color="black", ls=":", lw=1)
ax.set(xlabel="margin y f(x)", ylabel="loss", ylim=(0, 6))
ax.legend()

# %%
# Fitted to the same 1000 points, with clean labels and with three in ten wrong.
clean = make_simulation(1000, noise=None, random_state=0)
noisy = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)

figure, axes = plt.subplots(2, 4, figsize=(13, 5), sharex=True, layout="constrained")
errors, active = {}, {}
for row, (kind, (X, y)) in zip(axes, {"clean": clean, "noisy": noisy}.items(), strict=True):
    for ax, (name, loss) in zip(row, losses.items(), strict=True):
        clf = FCGBoostClassifier("relu", loss=loss, max_iter="theory", random_state=0).fit(X, y)
        margin = np.minimum(y * clf.decision_function(X), 3.0)  # the last bar: 3 or more
        ax.hist(margin[margin < 1], bins=np.arange(-2.0, 1.01, 0.2), color="C1")
        ax.hist(margin[margin >= 1], bins=np.arange(1.0, 3.01, 0.2), color="C0")
        active[kind, name] = np.mean(margin < 1)
        ax.set(title=f"{name}, {kind}: {active[kind, name]:.0%} active", xlim=(-2, 3))
        errors[kind, name] = 1 - clf.score(X_test, y_test)
for ax in axes[1]:
    ax.set_xlabel("margin")
plt.show()

# %%
# Orange rows are *active*: their margin is below 1, and they still have a gradient. On clean
# labels the hinges ignore most rows, while the square loss pulls large margins back to 1. On noisy
# labels no margin reaches 1, and the squared hinge and the square loss coincide.
for (kind, name), error in errors.items():
    print(f"{kind} labels, {name}: test error {error:.3f}")
assert active["clean", "squared hinge"] < 0.2
assert active["noisy", "squared hinge"] > 0.99
assert errors["noisy", "squared hinge"] == errors["noisy", "square"]

# %%
# Probabilities
# -------------
#
# The minimiser of the squared hinge is 2 P(y = 1 | x) - 1. So (1 + f) / 2, clipped to [0, 1],
# estimates the probability. The minimiser of the hinge is only a sign: there is no
# ``predict_proba``, and the error says so.
X, y = noisy
clf = FCGBoostClassifier("relu", random_state=0).fit(X, y)
probability = clf.predict_proba(X_test)[:, 1]
print(f"mean probability where the label is +1: {probability[y_test > 0].mean():.2f} (truth: 0.70)")
assert abs(probability[y_test > 0].mean() - 0.7) < 0.05

try:
    FCGBoostClassifier("relu", loss="hinge").fit(X, y).predict_proba(X_test)
except AttributeError as error:
    print(error.__cause__)
# sphinx_gallery_thumbnail_number = 1
