"""
Early stopping: one fit, every number of steps
==============================================

A fit holds the model after every step. Without a ridge penalty long paths overfit noisy labels;
with the default one they stay flat. Validation rows find a good place to stop in both cases.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier, theory_steps
from fcgboost.datasets import make_simulation
from fcgboost.plotting import PathDisplay, path_error

# %%
# A thousand points; three in ten training and validation labels are wrong, the test labels are
# clean. The number of steps from theory is k₀ = √(m / ln m), rounded up.
X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_val, y_val = make_simulation(500, noise="uniform", level=0.3, random_state=1)
X_test, y_test = make_simulation(5000, noise=None, random_state=2)
k0 = theory_steps(len(y))
print(f"k0 = {k0}")

# %%
# Two paths of 10 k₀ steps: without a ridge penalty, as in the theory, and with the default one.
# With a number as ``max_iter``, the step with the best validation score becomes the model.
# ``metrics`` are recorded at every step, and choose nothing.
options = {"max_iter": 10 * k0, "metrics": ["accuracy", "roc_auc"], "random_state": 0}
paths = {
    "no ridge": FCGBoostClassifier("relu", l2=0.0, **options),
    "ridge 1/m (default)": FCGBoostClassifier("relu", **options),
}
for clf in paths.values():
    clf.fit(X, y, X_val=X_val, y_val=y_val)

# %%
# Every curve comes from one fit. ``trace_.metrics`` has the recorded scores, and ``path_error``
# computes those of any other rows.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, layout="constrained")
for ax, (name, clf) in zip(axes, paths.items(), strict=True):
    steps, known = np.arange(1, len(clf.trace_) + 1), clf.trace_.metrics
    test = path_error(clf, X_test, y_test)
    ax.plot(steps, 1 - known["train"]["accuracy"], color="0.6", label="training (noisy)")
    ax.plot(steps, 1 - known["validation"]["accuracy"], "C1", label="validation (noisy)")
    ax.plot(steps, test, "C0", lw=3, label="test (clean)")
    ax.plot(clf.n_iter_, test[clf.n_iter_ - 1], "o", color="C0", ms=10, label="chosen")
    ax.axvline(k0, color="black", ls=":", label=f"$k_0$ = {k0}")
    ax.set(title=name, xlabel="steps", ylim=(0, 0.45))
axes[0].set_ylabel("error")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()

# %%
# Without the ridge, the test error at 10 k₀ is several times that at k₀ while the training error
# keeps falling: the model overfits. With the ridge, the length of the path hardly matters.
free, ridge = (path_error(clf, X_test, y_test) for clf in paths.values())
for name, errors, clf in zip(paths, (free, ridge), paths.values(), strict=True):
    print(
        f"{name}: test error {errors[k0 - 1]:.3f} at k0, {errors[-1]:.3f} at 10 k0, "
        f"{errors[clf.n_iter_ - 1]:.3f} at the chosen step {clf.n_iter_}"
    )
assert free[-1] > 3 * free[k0 - 1]
assert ridge[-1] < 0.05
assert free[paths["no ridge"].n_iter_ - 1] < 0.1

# %%
# `PathDisplay` draws a recorded metric, and the same metric of other rows.
PathDisplay.from_estimator(paths["no ridge"], X_test, y_test, metric="roc_auc", x="steps")
plt.show()

# %%
# In practice
# -----------
#
# ``max_iter="auto"`` makes 5 k₀ steps. With validation rows, the best of k₀, 2 k₀, ..., 5 k₀
# becomes the model. ``n_iter_no_change`` stops the fit itself early.
clf = FCGBoostClassifier("relu", validation_fraction=0.2, random_state=0).fit(X, y)
print(
    f"{clf.n_iter_} of {len(clf.trace_)} steps kept; test error {1 - clf.score(X_test, y_test):.3f}"
)
assert clf.score(X_test, y_test) > 0.94

clf = FCGBoostClassifier(
    "relu", max_iter=1000, validation_fraction=0.2, n_iter_no_change=20, random_state=0
).fit(X, y)
print(f"stopped after {len(clf.trace_)} steps. {clf.status_}")
assert len(clf.trace_) < 200
# sphinx_gallery_thumbnail_number = 2
