"""
Losses, and what they do to margins
===================================

A loss sees the margin y f(x): how far a prediction is on the right side. Four losses, the
margins they leave behind on clean and on noisy labels, and which of them give probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import CubedHinge, FCGBoostClassifier, Hinge, Square, SquaredHinge
from fcgboost.datasets import make_simulation

# %%
# All four are 0 at a margin of 1 and grow to its left. To its right the three hinges stay at 0:
# a row that is right by a margin of 1 or more has no say any more. The square loss punishes it.
losses = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "cubed hinge": CubedHinge(),
    "square": Square(),
}
margins = np.linspace(-1.2, 2.2, 300)
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, loss in losses.items():
    style = "--" if name == "square" else "-"
    ax.plot(margins, loss.value(np.ones_like(margins), margins), style, label=name)
ax.axvline(1.0, color="black", ls=":", lw=1)
ax.set(xlabel="margin y f(x)", ylabel="loss", ylim=(0, 6))
ax.legend()

# %%
# Fitted to the same 1000 points, first with right labels, then with three in ten wrong ones.
clean = make_simulation(1000, noise=None, random_state=0)
noisy = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)

figure, axes = plt.subplots(2, 4, figsize=(13, 5), sharex=True, layout="constrained")
errors, active = {}, {}
for row, (kind, (X, y)) in zip(axes, {"clean": clean, "noisy": noisy}.items(), strict=True):
    for ax, (name, loss) in zip(row, losses.items(), strict=True):
        clf = FCGBoostClassifier("relu", loss=loss, max_iter="theory", random_state=0).fit(X, y)
        margin = np.minimum(y * clf.decision_function(X), 3.0)  # the last bar: 3 and more
        ax.hist(margin[margin < 1], bins=np.arange(-2.0, 1.01, 0.2), color="C1")
        ax.hist(margin[margin >= 1], bins=np.arange(1.0, 3.01, 0.2), color="C0")
        active[kind, name] = np.mean(margin < 1)
        ax.set(title=f"{name}, {kind}: {active[kind, name]:.0%} active", xlim=(-2, 3))
        errors[kind, name] = 1 - clf.score(X_test, y_test)
for ax in axes[1]:
    ax.set_xlabel("margin")
plt.show()

# %%
# Orange rows are *active*: margin below 1, they still pull. On clean labels the hinges let go
# of most rows; the square loss holds on to all of them and pulls those that are right by far
# back to 1. On noisy labels no margin reaches 1, and the squared hinge and the square loss
# become the same thing.
for (kind, name), error in errors.items():
    print(f"{kind} labels, {name}: test error {error:.3f}")
assert active["clean", "squared hinge"] < 0.2
assert active["noisy", "squared hinge"] > 0.99
assert errors["noisy", "squared hinge"] == errors["noisy", "square"]

# %%
# Probabilities
# -------------
#
# The minimiser of the squared hinge over all functions is 2 P(y = 1 | x) - 1. So (1 + f) / 2,
# cut at 0 and 1, estimates the probability. The hinge's minimiser is the sign alone; it has no
# ``predict_proba``, and says so.
X, y = noisy
clf = FCGBoostClassifier("relu", random_state=0).fit(X, y)
probability = clf.predict_proba(X_test)[:, 1]
print(f"mean probability where the label is +1: {probability[y_test > 0].mean():.2f} (truth: 0.70)")
assert abs(probability[y_test > 0].mean() - 0.7) < 0.05

try:
    FCGBoostClassifier("relu", loss="hinge").fit(X, y).predict_proba(X_test)
except AttributeError as error:
    print(error.__cause__)
