"""What a method of the real-data table is, and how all of them are tuned.

Every choice of a method's grid is fitted to the training part, the best accuracy on the
validation part wins (of equal ones the first: grids begin with the simplest), and nothing looks
at the test part but the last lines of `Method.evaluate`.

The paper does not give the parameters of its dictionaries.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    Status,
)
from paper.protocol import Data, accuracy
from paper.rivals import RIVALS
from paper.rivals.base import Grid, Params, Rival, Table
from paper.rivals.fpc import FPC
from paper.rivals.grids import DEGREES, NO_GRID, each


class Outcome(NamedTuple):
    """What a method reached on one split of the data.

    Attributes
    ----------
    accuracy, validation_accuracy : float
        Shares of right labels.
    parameters : str
        What the validation part chose.
    size : int
        Atoms, support vectors, centres, nodes of trees or coefficients.
    deviation : str
        How this differs from the paper's protocol; empty if it does not.
    """

    accuracy: float
    validation_accuracy: float
    parameters: str
    size: int
    deviation: str


@dataclass(frozen=True)
class Method(ABC):
    """A column of the paper's table."""

    name: str

    @abstractmethod
    def choices(self, grid: Grid, n_features: int) -> Sequence[Params]:
        """Give the grid, simplest first."""

    @abstractmethod
    def trial(self, data: Data, grid: Grid, seed: int) -> Data | None:
        """Give what the grid is searched on, or None if that is the data themselves."""

    @abstractmethod
    def fit(self, params: Params, data: Data, grid: Grid, seed: int, is_trial: bool) -> Any:
        """Fit to the training part; only the number of steps may use the validation part."""

    @abstractmethod
    def size(self, classifier: Any) -> int:
        """Give the size of what was learned."""

    @abstractmethod
    def cut(self, classifier: Any) -> str:
        """Say which bound ended the fit before it converged; empty if none did."""

    @abstractmethod
    def deviations(self, classifier: Any, data: Data, grid: Grid) -> list[str]:
        """Say how the search and the final fit differ from the paper's, grids apart."""

    def evaluate(self, data: Data, grid: Grid, seed: int) -> Outcome:
        """Tune, fit and test."""
        if data.has_one_class:
            return _guess(data)
        choices = self.choices(grid, data.X.shape[1])
        trial = self.trial(data, grid, seed)
        params, classifier, notes = choices[0], None, [""]
        if len(choices) > 1:
            is_trial = trial is not None
            params, classifier, notes = self._tune(choices, trial or data, grid, seed, is_trial)
        if trial is not None or classifier is None:
            classifier = self.fit(params, data, grid, seed, is_trial=False)
        is_papers = choices == self.choices("paper", data.X.shape[1])
        own = self.deviations(classifier, data, grid)
        notes = ["" if is_papers else f"{grid} grid", *own, self.cut(classifier), *notes]
        steps = {"k": classifier.n_iter_} if isinstance(classifier, FCGBoostClassifier) else {}
        return Outcome(
            accuracy(classifier.predict(data.X_test), data.y_test),
            accuracy(classifier.predict(data.X_val), data.y_val),
            " ".join(f"{name}={value:.5g}" for name, value in {**params, **steps}.items()),
            self.size(classifier),
            "; ".join(note for note in notes if note),
        )

    def _tune(
        self, choices: Sequence[Params], data: Data, grid: Grid, seed: int, is_trial: bool
    ) -> tuple[Params, Any, list[str]]:
        """Give the best choice, its classifier, and which fits a bound ended.

        A fit that did not converge is an accident, not the method: it wins only over its like.
        """
        best, params, winner, cuts = (False, -1.0), choices[0], None, Counter[str]()
        for choice in choices:
            classifier = self.fit(choice, data, grid, seed, is_trial)
            cut = self.cut(classifier)
            score = (not cut, accuracy(classifier.predict(data.X_val), data.y_val))
            cuts[cut] += 1
            if score > best:
                best, params, winner = score, choice, classifier
        notes = [f"{n} of {len(choices)} trials {cut}" for cut, n in cuts.items() if cut]
        return params, winner, notes


def _guess(data: Data) -> Outcome:
    """Give the outcome where training has one class only: that class, always."""
    right = [accuracy(np.full_like(y, data.majority()), y) for y in (data.y_test, data.y_val)]
    return Outcome(right[0], right[1], "", 0, "one class in training: predicts that class")


@dataclass(frozen=True)
class Tuned(Method):
    """A rival, which is a scikit-learn classifier."""

    rival: Rival
    table: Table

    def choices(self, grid: Grid, n_features: int) -> Sequence[Params]:
        return self.table.grids[grid]

    def trial(self, data: Data, grid: Grid, seed: int) -> Data | None:
        rows = self.table.bounds[grid].rows
        return data.at_most(rows, seed) if rows else None

    def fit(self, params: Params, data: Data, grid: Grid, seed: int, is_trial: bool) -> Any:
        bounds = self.table.bounds[grid]
        if bounds.final_rows:
            data = data.at_most(bounds.final_rows, seed)
        trial = bounds.trial if is_trial else {}
        classifier = self.rival.classifier(**{**bounds.fixed, **trial, **params})
        if "random_state" in classifier.get_params():
            classifier.set_params(random_state=seed)
        with warnings.catch_warnings():
            # Counted instead, and written beside the result.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return classifier.fit(data.X, data.y)

    def size(self, classifier: Any) -> int:
        return self.table.size(classifier)

    def cut(self, classifier: Any) -> str:
        is_cut = isinstance(classifier, SVC) and classifier.fit_status_ != 0
        return f"stopped at {classifier.max_iter:,} iterations" if is_cut else ""

    def deviations(self, classifier: Any, data: Data, grid: Grid) -> list[str]:
        bounds, notes = self.table.bounds[grid], []
        if bounds.rows and max(len(data.y), len(data.y_val)) > bounds.rows:
            notes.append(f"tuned on {bounds.rows:,} rows")
        if bounds.final_rows and len(data.y) > bounds.final_rows:
            notes.append(f"fitted to {bounds.final_rows:,} rows")
        if isinstance(classifier, FPC) and len(classifier.centers_) == classifier.max_centers:
            notes.append(f"at most {classifier.max_centers:,} centres")
        return notes


class Effort(NamedTuple):
    """Up to how many training rows all n = m candidates are scored; beyond, a fresh sample.

    Attributes
    ----------
    trial, final : int
        Rows for the search of the family's parameter, and for the fit with the one chosen.
    rows : int
        Where the trial samples: the rows it uses.
    """

    trial: int
    final: int
    rows: int


@dataclass(frozen=True)
class Boost(Method):
    """Fully corrective greedy boosting over one family of atoms."""

    build: Callable[..., Dictionary]
    grids: Mapping[Grid, Sequence[Params]]
    efforts: Mapping[Grid, Effort]
    #: Whether the first parameter is a length, which grows like sqrt(d / 2).
    has_length: bool = False

    def choices(self, grid: Grid, n_features: int) -> Sequence[Params]:
        if not self.has_length:
            return self.grids[grid]
        lengths = {params["width"] for params in self.grids[grid]}
        lengths |= {length * np.sqrt(n_features / 2.0) for length in lengths}
        # Wide atoms make simple functions.
        return [{"width": float(length)} for length in sorted(lengths, reverse=True)]

    def trial(self, data: Data, grid: Grid, seed: int) -> Data | None:
        effort = self.efforts[grid]
        return None if len(data.y) <= effort.trial else data.at_most(effort.rows, seed)

    def fit(self, params: Params, data: Data, grid: Grid, seed: int, is_trial: bool) -> Any:
        is_scanned = not is_trial and len(data.y) <= self.efforts[grid].final
        classifier = FCGBoostClassifier(
            self.build(**params),
            selection="all" if is_scanned else "sampled",
            n_jobs=1,
            random_state=seed,
        )
        # One path serves all five numbers of steps.
        return classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)

    def size(self, classifier: Any) -> int:
        return int(classifier.n_atoms_)

    def cut(self, classifier: Any) -> str:
        return ""

    def deviations(self, classifier: Any, data: Data, grid: Grid) -> list[str]:
        effort, notes = self.efforts[grid], []
        if len(data.y) > effort.trial and len(self.grids[grid]) > 1:
            notes.append(f"tuned on {min(effort.rows, len(data.y)):,} rows, sampled selection")
        if len(data.y) > effort.final:
            notes.append("sampled selection")
        if classifier.status_ is Status.TOLERANCE:
            # Beside the first scores of atoms with huge values all later ones are small.
            notes.append(f"path ended by tol after {len(classifier.trace_)} steps")
        return notes


class Default(Method):
    """The package's default, which has nothing to tune; the validation part judges its members."""

    def choices(self, grid: Grid, n_features: int) -> Sequence[Params]:
        return [{}]

    def trial(self, data: Data, grid: Grid, seed: int) -> Data | None:
        return None

    def fit(self, params: Params, data: Data, grid: Grid, seed: int, is_trial: bool) -> Any:
        classifier = FCGBoostClassifier(n_jobs=1, random_state=seed)
        return classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)

    def size(self, classifier: Any) -> int:
        return int(classifier.n_atoms_)

    def cut(self, classifier: Any) -> str:
        return ""

    def deviations(self, classifier: Any, data: Data, grid: Grid) -> list[str]:
        return ["not in the paper"]


#: Widths, and the same again times sqrt(d / 2): the paper's simulations have d = 2, and
#: distances grow like sqrt(d).
WIDTHS: Mapping[Grid, Sequence[float]] = {
    "paper": (0.1, 0.2, 0.35, 0.5, 1.0, 5.0),
    "thinned": (0.1, 0.2, 0.35, 0.5, 1.0, 5.0),
    "quick": (1.0,),
}
SLOPES: Mapping[Grid, Sequence[float]] = {
    "paper": (1.0, 5.0, 10.0, 20.0),
    "thinned": (1.0, 5.0, 10.0, 20.0),
    "quick": (1.0, 5.0),
}

EFFORTS: Mapping[Grid, Effort] = {
    # No set is so large.
    "paper": Effort(trial=10**9, final=10**9, rows=10**9),
    "thinned": Effort(trial=2_000, final=10_280, rows=2_000),
    "quick": Effort(trial=1_000, final=1_000, rows=1_000),
}

_OURS = (
    Boost("fcg_gauss", GaussDictionary, each("width", WIDTHS), EFFORTS, has_length=True),
    Boost("fcg_polynomial", PolynomialDictionary, each("degree", DEGREES), EFFORTS),
    Boost("fcg_sigmoid", SigmoidDictionary, each("slope_range", SLOPES), EFFORTS),
    Boost("fcg_relu", ReluDictionary, NO_GRID, EFFORTS),
)
_RIVALS = [Tuned(r.name, r, r.table) for r in RIVALS.values() if r.table is not None]

#: In the order of the paper's columns.
METHODS: Mapping[str, Method] = {method.name: method for method in (*_OURS, *_RIVALS)}
DEFAULT = Default("fcg_default")
