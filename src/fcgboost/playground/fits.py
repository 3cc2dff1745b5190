"""One fit of the page's settings by the package, and what the page shows of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fcgboost import (
    FCGBoostClassifier,
    GaussDictionary,
    PolynomialDictionary,
    Status,
    theory_steps,
)
from fcgboost.playground import samples
from fcgboost.playground.settings import Settings
from fcgboost.plotting.atoms import atom_positions

#: A fit that takes longer ends with the steps it has. On a quiet machine the largest take about two
#: seconds, the hinge seven, and without a ridge minutes.
SECONDS = 3.0


def make_classifier(settings: Settings) -> FCGBoostClassifier:
    """Give the classifier of some settings, not fitted."""
    dictionary: Any = settings.dictionary
    if dictionary == "gauss":
        dictionary = GaussDictionary(width=settings.width)
    elif dictionary == "polynomial":
        dictionary = PolynomialDictionary(degree=settings.degree)
    return FCGBoostClassifier(
        dictionary,
        loss=settings.loss,
        scheme=settings.scheme,
        l2=settings.l2,
        fit_intercept=settings.fit_intercept,
        max_iter=settings.max_iter,
        random_state=settings.seed,
    )


class Fit:
    """A path, fitted when the object is made.

    Parameters
    ----------
    settings : Settings
    is_stale : callable
        Asked after every step; a fit that nobody waits for ends.
    """

    def __init__(self, settings: Settings, is_stale: Callable[[], bool]) -> None:
        self.settings = settings
        self.sample = samples.draw(settings)
        classifier = make_classifier(settings)
        start = time.perf_counter()
        end = start + SECONDS
        classifier.set_callbacks(lambda step: is_stale() or time.perf_counter() > end)
        classifier.fit(self.sample.X, self.sample.y)
        self.seconds = time.perf_counter() - start
        self.classifier = classifier.set_callbacks()
        self.grid = samples.grid(settings.data)

    @property
    def n_steps(self) -> int:
        """The length of the path."""
        return len(self.classifier.trace_)

    @property
    def is_cut(self) -> bool:
        """Whether the clock ended the path: another time it may be longer."""
        return self.classifier.status_ is Status.CALLBACK

    def summary(self) -> dict[str, Any]:
        """Give what does not depend on the number of steps: points, path and atoms."""
        settings, sample = self.settings, self.sample
        bayes = np.where(samples.truth(settings.data, sample.X_test) >= 0.0, 1.0, -1.0)
        return {
            "points": {
                "x": sample.X.tolist(),
                "label": sample.y.tolist(),
                "flipped": (sample.y != sample.clean).tolist(),
            },
            "grid": {"size": samples.N_GRID, "frame": samples.frame(settings.data)},
            "truth": samples.grid_truth(settings.data),
            "path": {
                "training": self._errors(sample.X, sample.y),
                "test": self._errors(sample.X_test, sample.y_test),
                "k0": theory_steps(settings.n_samples),
                "status": self._ending(),
                "is_cut": self.is_cut,
            },
            "atoms": self._atoms(),
            "flipped": float(np.mean(sample.y != sample.clean)),
            "bayes": float(np.mean(bayes != sample.y_test)),
            "milliseconds": 1000.0 * self.seconds,
        }

    def step(self, k: int | None) -> dict[str, Any]:
        """Give the model after k steps, at most all: decision values and coefficients.

        None is the theory's number of steps.
        """
        k = min(self.n_steps, theory_steps(self.settings.n_samples) if k is None else k)
        model = self.classifier.truncate(k)
        return {
            "k": k,
            "decision": model.decision_function(self.grid).tolist(),
            "coef": model.coef_[0].tolist(),
            "intercept": float(model.intercept_[0]),
            "code": self.code(k),
        }

    def code(self, k: int) -> str:
        """Give Python that fits the same model."""
        settings = self.settings
        classifier = make_classifier(settings)
        if self.is_cut:
            classifier.set_params(max_iter=self.n_steps)
        parts = {"gauss": ", GaussDictionary", "polynomial": ", PolynomialDictionary"}
        needed = f"from fcgboost import FCGBoostClassifier{parts.get(settings.dictionary, '')}"
        return (
            "\n".join(sorted([needed, *samples.imports(settings)], key=_import_order))
            + f"\n\n{samples.code(settings)}\n"
            + f"path = {repr(classifier).replace(_NEW_LINE, _NEW_LINE + ' ' * 7)}\n"
            + f"path.fit(X, y)\nclf = path.truncate({k})  # the model after {k} steps\n"
            + "print(clf.score(X_test, y_test), clf.n_atoms_)\n"
        )

    def _errors(self, X: Any, y: Any) -> list[float]:
        """Give the share of wrong predictions after 0, 1, ... steps."""
        first = self.classifier.truncate(0).predict(X)
        staged = [first, *self.classifier.staged_predict(X)]
        return [float(np.mean(predicted != y)) for predicted in staged]

    def _atoms(self) -> dict[str, Any]:
        """Give where atoms are: centres of kernels, or lines <w, x> + b = 0 of neurons as (w, b).

        The places are those of the package's pictures; Gauss atoms have a radius along each axis.
        """
        model = self.classifier.model_
        marks = atom_positions(model, self.sample.X)
        if marks is None:
            raise TypeError(f"Atoms of {model.dictionary} have no place in the plane.")
        kind = "centers" if marks.kind == "centre" else "lines"
        atoms = {kind: marks.places.tolist(), "entered": model.entered.tolist()}
        if self.settings.dictionary == "gauss":
            atoms["radii"] = (self.settings.width * model.scale).tolist()
        return atoms

    def _ending(self) -> str:
        """Say why the path ended; a path that was cut, what would help."""
        if not self.is_cut:
            return str(self.classifier.status_.value)
        settings = self.settings
        has_ridge = settings.scheme != "fully_corrective" or settings.l2 != 0.0
        helps = "Fewer samples or" if has_ridge else "A ridge, fewer samples or"
        steps = f"{self.n_steps} {'step' if self.n_steps == 1 else 'steps'}"
        return f"The fit took too long and was ended after {steps}. {helps} a shorter path help."


_NEW_LINE = "\n"


def _import_order(line: str) -> tuple[bool, str]:
    """Order lines of imports as formatters do: plain ones, then others, this package last."""
    return "fcgboost" in line, line.partition(" ")[2] if line.startswith("from") else ""
