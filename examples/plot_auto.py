"""
What the default learns
=======================

The default averages *members*: paths fitted to all folds but one. They are of two kinds. In one,
ReLU atoms, trees and Gauss atoms take turns; the other is a forest whose leaves are all refitted.
Here the model is split up by kind of members, and a member by families.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import bayes_boundary, make_simulation

X, y = make_simulation(600, noise="uniform", level=0.1, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)
clf = FCGBoostClassifier(random_state=0).fit(X, y)
print(f"test accuracy {clf.score(X_test, y_test):.3f}: {len(clf.members_)} members")
print(f"out-of-fold accuracy on the noisy labels {clf.oof_score_:.3f}")
for member in clf.members_:
    print(f"{member}, ridge {member.l2:.3g}")
assert clf.score(X_test, y_test) > 0.93

# %%
# The contribution of each kind
# -----------------------------
#
# The decision value is the sum of the members' values times their weights. How much weight a kind
# gets is chosen on the rows that its members have not seen.
grid = np.stack(np.meshgrid(np.linspace(0, 1, 80), np.linspace(0, 1, 80)), axis=-1).reshape(-1, 2)
kinds = {"UnionDictionary": "families in turn", "TreeDictionary": "forests"}
parts = {}
for member in clf.members_:
    kind = kinds[type(member.model.dictionary).__name__]
    parts[kind] = parts.get(kind, 0.0) + member.weight * member.model.decision(grid)[:, 0]
whole = clf.decision_function(grid)
assert np.allclose(sum(parts.values()), whole)


def draw(values, title):
    n = len(values)
    figure, axes = plt.subplots(1, n, figsize=(3.3 * n, 3.7), sharey=True, layout="constrained")
    t = np.linspace(0, 1, 200)
    for ax, (name, decision) in zip(axes, values.items(), strict=True):
        image = decision.reshape(80, 80)
        ax.imshow(image, extent=(0, 1, 0, 1), origin="lower", cmap="RdBu", vmin=-2, vmax=2)
        ax.plot(t, bayes_boundary(t), color="black", ls="--", lw=1)
        ax.set(title=name, xlim=(0, 1), ylim=(0, 1))
    figure.suptitle(title)


draw({**parts, "sum": whole}, "Decision values by kind of members; the true boundary is dashed")

# %%
# Inside a member
# ---------------
#
# An atom of a union is a row of numbers; the first one is the number of its family. The
# contributions of the families and the intercept add up to the member's decision values.
first = clf.members_[0]
model = first.model
columns = model.columns(grid)
by_family = {
    type(part.family).__name__: columns[:, part.places] @ model.coef[0, part.places]
    for part in model.dictionary.members(model.atoms, X.shape[1])
}
own = model.decision(grid)[:, 0]
assert np.allclose(sum(by_family.values()) + model.intercept[0], own)
draw({**by_family, "sum": own}, "Decision values of the first member by family")

# %%
# How ridge and steps are chosen
# ------------------------------
#
# Every fold judges the steps of the path that has not seen it, for all ridge penalties.
# ``cv_results_`` has the scores; the best mean (dashed) decides. A path that has ended keeps its
# last score.
results = clf.cv_results_
is_union = results["param_dictionary"] == "UnionDictionary"
figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for l2 in np.unique(results["param_l2"][is_union]):
    shown = is_union & (results["param_l2"] == l2)
    steps = results["param_max_iter"][shown]
    ax.plot(steps, results["mean_test_score"][shown], "o-", label=f"λ = {l2:.2g}")
best = np.argmax(np.where(is_union, results["mean_test_score"], -np.inf))
ax.axvline(results["param_max_iter"][best], color="black", ls="--", lw=1)
ax.set(
    xlabel="steps",
    ylabel="mean score of the folds",
    title="Ridge and steps of the families in turn",
)
ax.legend()
plt.show()
# sphinx_gallery_thumbnail_number = 3
