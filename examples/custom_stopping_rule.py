"""A stopping rule of your own: end the fit when the objective has all but stopped falling.

A rule is called with a `Step` after every step and answers with a `Status` (or True) to end the
fit, with None (or False) to go on.
"""

from fcgboost import FCGBoostClassifier, Status, Step
from fcgboost.datasets import make_simulation


class SmallGain:
    """End when the mean objective falls by less than a share of itself for a few steps in a row.

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
        if step.k == 1:  # a new fit: a rule that remembers must know when to forget
            self.n_small = 0
        elif self.last - objective < self.share * self.last:
            self.n_small += 1
        else:
            self.n_small = 0
        self.last = objective
        return Status.CALLBACK if self.n_small >= self.patience else None


if __name__ == "__main__":
    X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
    X_test, y_test = make_simulation(5000, noise=None, random_state=1)
    for name, rule in {"no rule": lambda step: None, "small gain": SmallGain()}.items():
        classifier = FCGBoostClassifier("relu", random_state=0).set_callbacks(rule).fit(X, y)
        print(
            f"{name}: {classifier.n_iter_} steps, test accuracy "
            f"{classifier.score(X_test, y_test):.3f} ({classifier.status_})"
        )
