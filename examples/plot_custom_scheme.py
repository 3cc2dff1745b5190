"""
Your own update scheme: backfitting
===================================

A scheme says how coefficients change once an atom has been chosen. Between updating one and
solving for all lies backfitting: sweep over the atoms one by one.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier, GaussDictionary, Status
from fcgboost.datasets import make_simulation
from fcgboost.greedy.schemes import Scheme, line_search
from fcgboost.parts import check_count
from fcgboost.solvers import Solution

# %%
# ``anchor`` returns the coefficients at which the next gradient is taken, ``update`` the
# coefficients after the step. Both see a *problem*: the loss, the labels, and the columns of the
# atoms chosen so far. ``reselects`` says whether an atom may be chosen again.


class Backfitting(Scheme):
    """Exact line searches along the newest atom, then along each atom, for some sweeps.

    Parameters
    ----------
    n_sweeps : int, default=1
    """

    reselects = False

    def __init__(self, n_sweeps=1):
        self.n_sweeps = n_sweeps

    def check_parameters(self):
        check_count(self, "n_sweeps")

    def anchor(self, problem, coef, k):
        return coef

    def update(self, problem, coef, newest, k):
        coef = coef.copy()
        for _ in range(self.n_sweeps):
            for position in [newest, *range(len(coef))]:
                coef[position] += line_search(problem, coef, position)
        # A solution records how far it is from optimal.
        point = problem.expand(coef)
        residual = np.abs(point.gradient).max() / problem.gradient_scale
        status = Status.CONVERGED if residual < 1e-10 else Status.NOT_CONVERGED
        return Solution(coef, point.objective, status, self.n_sweeps, residual)


# %%
# Compared with updating the newest atom only and with full correction. There is no ridge penalty,
# because line searches have none.
X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
schemes = {
    "original": "original",
    "backfitting, 1 sweep": Backfitting(1),
    "backfitting, 5 sweeps": Backfitting(5),
    "fully corrective": "fully_corrective",
}
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
last = {}
for name, scheme in schemes.items():
    clf = FCGBoostClassifier(
        GaussDictionary(0.2),
        scheme=scheme,
        l2=0.0,
        max_iter=20,
        standardize=False,
        fit_intercept=False,
        random_state=0,
    ).fit(X, y)
    objective = clf.trace_.column("objectives")[:, 0]
    ax.plot(clf.trace_.column("n_atoms"), objective, "o-", ms=3, label=name)
    last[name] = objective[clf.trace_.column("n_atoms") <= 12][-1]
ax.set(xlabel="distinct atoms", ylabel="training loss")
ax.legend()
plt.show()

# %%
# More sweeps come closer to full correction, which has the lowest loss for given atoms.
for name, value in last.items():
    print(f"{name}: training loss {value:.4f} with 12 atoms")
assert list(last.values()) == sorted(last.values(), reverse=True)
