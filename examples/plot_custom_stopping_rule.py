"""
Your own stopping rule
======================

A rule is any function that takes a `Step`. It is called after every step and returns a `Status`
(or True) to stop, None (or False) to continue.
"""

import matplotlib.pyplot as plt

from fcgboost import FCGBoostClassifier, Status, Step
from fcgboost.datasets import make_simulation

X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
X_test, y_test = make_simulation(5000, noise=None, random_state=1)

# %%
# The shortest rule: at most ten atoms.
clf = FCGBoostClassifier("relu", random_state=0)
clf.set_callbacks(lambda step: step.n_atoms == 10).fit(X, y)
print(f"{clf.n_atoms_} atoms. {clf.status_}")
assert clf.n_atoms_ == 10

# %%
# A rule with memory: stop when the objective has almost stopped falling. A step has the scores,
# the objective, the coefficients, the elapsed time and, with validation data, its score.


class SmallGain:
    """Stop when the objective falls by less than a share of itself for a few steps in a row.

    Parameters
    ----------
    share : float
    patience : int
    """

    def __init__(self, share: float = 1e-3, patience: int = 3) -> None:
        self.share = share
        self.patience = patience

    def __call__(self, step: Step) -> Status | None:
        objective = float(step.objectives.mean())
        if step.k == 1:  # a new fit: forget the last one
            self.n_small = 0
        elif self.last - objective < self.share * self.last:
            self.n_small += 1
        else:
            self.n_small = 0
        self.last = objective
        return Status.CALLBACK if self.n_small >= self.patience else None


clf = FCGBoostClassifier("relu", random_state=0).set_callbacks(SmallGain()).fit(X, y)
whole = FCGBoostClassifier("relu", random_state=0).fit(X, y)
for name, model in {"small gain": clf, "no rule": whole}.items():
    accuracy = model.score(X_test, y_test)
    print(f"{name}: {model.n_iter_} steps, test accuracy {accuracy:.3f} ({model.status_})")
assert clf.n_iter_ < whole.n_iter_
assert clf.score(X_test, y_test) > 0.93

# %%
# What the rule saw:
objective = whole.trace_.column("objectives")[:, 0]
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(range(1, len(objective) + 1), objective, color="0.6", label="without the rule")
ax.plot(range(1, clf.n_iter_ + 1), objective[: clf.n_iter_], "C0", lw=2.5, label="with the rule")
ax.set(xlabel="steps k", ylabel="objective")
ax.legend()
plt.show()

# %%
# The same pattern stops at a target error or when a file appears. With scikit-learn 1.9 and later,
# its own callbacks are accepted as well. (For a time limit, use ``time_limit``.)
