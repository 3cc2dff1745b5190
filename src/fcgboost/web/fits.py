"""Fits of the playground's settings, one at a time, and what the page shows of them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fcgboost import FCGBoostClassifier, GaussDictionary, PolynomialDictionary, Status, theory_steps
from fcgboost.plotting import path_error
from fcgboost.plotting.atoms import atom_positions
from fcgboost.web import samples
from fcgboost.web.settings import PRESETS, FitRequest, RefusalError, Settings
from fcgboost.web.text import count

#: A fit that takes longer ends with the steps it has. On a quiet machine the largest take about two
#: seconds, the hinge seven, and without a ridge minutes.
SECONDS = 3.0
# Settings one comes back to; each holds a few megabytes at most.
_N_KEPT = 8


def make_classifier(settings: Settings) -> FCGBoostClassifier:
    """Return the classifier of some settings, not fitted."""
    dictionary: Any = settings.dictionary
    if dictionary in PRESETS:
        return FCGBoostClassifier(dictionary, random_state=settings.seed)
    if dictionary == "gauss":
        dictionary = GaussDictionary(width=settings.width)
    elif dictionary == "polynomial":
        dictionary = PolynomialDictionary(degree=settings.degree)
    names = ("loss", "scheme", "l2", "fit_intercept", "max_iter")
    options: dict[str, Any] = {name: getattr(settings, name) for name in names}
    return FCGBoostClassifier(dictionary, random_state=settings.seed, **options)


class Fit:
    """A fitted path; the fit ends early if it is stale."""

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
        return len(self.classifier.trace_)

    @property
    def is_cut(self) -> bool:
        """Whether the time limit ended the path."""
        return self.classifier.status_ is Status.CALLBACK

    @property
    def marked_steps(self) -> int:
        """The number of steps that a preset chose, or k0."""
        is_chosen = self.settings.dictionary in PRESETS
        return self.classifier.n_iter_ if is_chosen else theory_steps(len(self.sample.y))

    def summary(self) -> dict[str, Any]:
        """Return all that does not depend on the chosen step: points, path and atoms."""
        settings, sample = self.settings, self.sample
        rule = samples.truth(settings.data, sample.X_test)
        bayes = None if rule is None else float(np.mean((rule >= 0.0) != (sample.y_test > 0.0)))
        xs, ys = samples.sides(settings.data)
        is_flipped = sample.y != sample.clean
        return {
            "points": {
                "x": sample.X[:, 0].tolist(),
                "y": sample.X[:, 1].tolist(),
                "c": (sample.y > 0.0).astype(int).tolist(),
                "flipped": is_flipped.tolist(),
            },
            "grid": {"xs": xs.tolist(), "ys": ys.tolist()},
            **samples.names(settings.data),
            "truth": samples.grid_truth(settings.data),
            "path": {
                "training": self._errors(sample.X, sample.y),
                "test": self._errors(sample.X_test, sample.y_test),
                "marked": self.marked_steps,
                "mark": "chosen" if settings.dictionary in PRESETS else "k₀",
                "n_test": len(sample.y_test),
                "status": self._ending(),
                "is_cut": self.is_cut,
            },
            "atoms": self._atoms(),
            "flipped": float(is_flipped.mean()),
            "bayes": bayes,
            "milliseconds": 1000.0 * self.seconds,
        }

    def step(self, k: int | None) -> dict[str, Any]:
        """Return the model after k steps, at most all; None is the marked number of steps."""
        k = min(self.n_steps, self.marked_steps if k is None else k)
        model = self.classifier.truncate(k)
        return {
            "k": k,
            "decision": model.decision_function(self.grid).tolist(),
            "coef": model.atom_coef_[0].tolist(),
            "code": self.code(k),
        }

    def code(self, k: int) -> str:
        """Return Python that fits the same model."""
        settings = self.settings
        classifier = make_classifier(settings)
        if self.is_cut:
            classifier.set_params(max_iter=self.n_steps)
        parts = {"gauss": ", GaussDictionary", "polynomial": ", PolynomialDictionary"}
        needed = f"from fcgboost import FCGBoostClassifier{parts.get(settings.dictionary, '')}"
        imports, data = samples.code(settings)
        # As formatters order them, this package is last.
        imports.insert(0 if settings.data == "simulation" else len(imports), needed)
        made = repr(classifier).replace("\n", "\n" + " " * 7)
        return (
            "\n".join(imports)
            + f"\n\n{data}\npath = {made}\n"
            + f"path.fit(X, y)\nclf = path.truncate({k})  # the model after {k} steps\n"
            + "print(clf.score(X_test, y_test), clf.n_atoms_)\n"
        )

    def _errors(self, X: Any, y: Any) -> list[float]:
        """Return the share of wrong predictions after 0, 1, ... steps."""
        constant = 1.0 - self.classifier.truncate(0).score(X, y)
        return [float(constant), *path_error(self.classifier, X, y).tolist()]

    def _atoms(self) -> dict[str, Any] | None:
        """Return where atoms are: centres of kernels, or lines <w, x> + b = 0 as (w, b).

        Trees, and atoms of several families, have no place in the plane.
        """
        positions = atom_positions(self.classifier.model_, self.sample.X)
        if positions is None:
            return None
        kind = "points" if positions.kind == "centre" else "lines"
        return {"kind": kind, "rows": positions.places.tolist()}

    def _ending(self) -> str:
        """Say why the path ended, and what helps if it was cut."""
        if not self.is_cut:
            is_preset = self.settings.dictionary in PRESETS
            return "Chosen on held-out rows." if is_preset else self.classifier.status_.value
        settings = self.settings
        has_ridge = settings.scheme != "fully_corrective" or settings.l2 != 0.0
        helps = "fewer samples or" if has_ridge else "a ridge, fewer samples or"
        steps = count(self.n_steps, "step")
        return f"The fit took too long and was stopped after {steps}: try {helps} a shorter path."


class SupersededError(RefusalError):
    """The same tab has sent a newer request, or the playground is closing."""

    def __init__(self) -> None:
        super().__init__("This tab has asked for a newer fit.", 409)


class FitQueue:
    """A queue of requests: tabs take turns, and only the newest request of a tab counts."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # Those that somebody waits for, one of each tab.
        self._newest: dict[str, FitRequest] = {}
        # In order of coming in; the first one is in work.
        self._line: list[FitRequest] = []
        self._kept: OrderedDict[Settings, Fit] = OrderedDict()

    @contextmanager
    def turn(self, request: FitRequest) -> Iterator[Fit]:
        """Fit what a request asks for, or raise if the same tab has sent a newer one.

        No other fit is made while the context is open: what is computed beside a fit that begins
        can slow it down many times. Requests of a tab may come in otherwise than they were sent:
        the one of the highest order is the newest, of equals the last to come in.
        """
        with self._changed:
            newest = self._newest.get(request.tab)
            if newest is not None and newest.order > request.order:
                raise SupersededError
            self._newest[request.tab] = request
            self._line.append(request)
            self._changed.notify_all()
        try:
            kept = self._kept_fit(request.settings)
            # What the time limit has cut is fitted again.
            yield self._new_fit(request) if kept is None or kept.is_cut else kept
        finally:
            self._leave(request)

    def fit(self, request: FitRequest) -> Fit:
        with self.turn(request) as fit:
            return fit

    def step(self, request: FitRequest) -> Fit:
        """Return a fit to look at one of its steps, from the cache if possible."""
        # In a line of its own: a step that was asked for does not end the tab's next fit.
        alone = FitRequest(request.settings, request.k, f"step of {request.tab}", request.order)
        return self._kept_fit(request.settings) or self.fit(alone)

    def close(self) -> None:
        """Drop the current fit and all that wait."""
        with self._changed:
            self._newest.clear()
            self._changed.notify_all()

    def _is_stale(self, request: FitRequest) -> bool:
        return self._newest.get(request.tab) is not request

    def _kept_fit(self, settings: Settings) -> Fit | None:
        with self._changed:
            fit = self._kept.get(settings)
            if fit is not None:
                self._kept.move_to_end(settings)
            return fit

    def _new_fit(self, request: FitRequest) -> Fit:
        with self._changed:
            self._changed.wait_for(lambda: self._is_stale(request) or self._line[0] is request)
            if self._is_stale(request):
                raise SupersededError
        fit = Fit(request.settings, lambda: self._is_stale(request))
        with self._changed:
            if self._is_stale(request):
                raise SupersededError
            self._keep(fit)
        return fit

    def _keep(self, fit: Fit) -> None:
        """Cache a fit; of two that were cut, the longer one."""
        kept = self._kept.get(fit.settings)
        if kept is None or kept.n_steps <= fit.n_steps:
            self._kept[fit.settings] = fit
        self._kept.move_to_end(fit.settings)
        while len(self._kept) > _N_KEPT:
            self._kept.popitem(last=False)

    def _leave(self, request: FitRequest) -> None:
        with self._changed:
            # By identity: another request may be equal.
            self._line = [other for other in self._line if other is not request]
            if not self._is_stale(request):
                del self._newest[request.tab]
            self._changed.notify_all()
