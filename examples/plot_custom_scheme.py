"""
An update scheme of your own: backfitting
=========================================

A scheme says how coefficients move once an atom has been chosen. Between moving one of them and
solving for all lies backfitting: go through the atoms one by one, a few times over.
"""

import matplotlib.pyplot as plt
import numpy as np

from fcgboost import FCGBoostClassifier, GaussDictionary, Status
from fcgboost.datasets import make_simulation
from fcgboost.greedy.schemes import Scheme, line_search
from fcgboost.parts import check_count
from fcgboost.solvers import Solution

# %%
# ``anchor`` gives the coefficients at which the next gradient is taken, ``update`` the
# coefficients after a step. Both see a *problem*: the loss, the labels, and the columns of the
# atoms chosen so far. ``reselects`` says whether it makes sense to choose an atom again.


class Backfitting(Scheme):
    """Exact line searches along the newest atom, then along all atoms, some times over.

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
        # A solution says how far it is from optimal, so that a trace can be judged later.
        point = problem.look(coef)
        residual = np.abs(point.gradient).max() / problem.gradient_scale
        status = Status.CONVERGED if residual < 1e-10 else Status.NOT_CONVERGED
        return Solution(coef, point.objective, status, self.n_sweeps, residual)


# %%
# Beside the scheme that moves the newest atom only, and full correction; all without a ridge,
# because line searches know none.
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
ax.set(xlabel="different atoms", ylabel="training loss")
ax.legend()
plt.show()

# %%
# Each sweep comes closer to the full correction, which no scheme with the same atoms can be
# below.
for name, value in last.items():
    print(f"{name}: training loss {value:.4f} with 12 atoms")
assert list(last.values()) == sorted(last.values(), reverse=True)
