"""Errors and scores along a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fcgboost.colors import BLUE, DICTIONARY_COLORS, GREY, ORANGE, SKY, VERMILION
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.training.checks import named_metrics, to_host
from fcgboost.training.scoring import Metric, precomputed

# The same thing has the same colour in every picture.
_CURVE_COLORS = {
    **DICTIONARY_COLORS,
    **{"train": ORANGE, "validation": BLUE, "cross-validation": BLUE, "test": VERMILION},
}


@dataclass(eq=False, repr=False)
class PathDisplay(base.Display):
    """Errors or scores against the number of atoms or steps, with k0 and the chosen step marked.

    Attributes
    ----------
    lines_, chosen_ : dict from str to matplotlib Line2D
        The curves, and the chosen points on them.
    """

    #: The values after 1, 2, ... steps, NaN where there is none. Dictionaries have their colours.
    curves: Mapping[str, Array]
    _: KW_ONLY
    #: The number of atoms after 1, 2, ... steps, if the curves are to be drawn against it.
    atoms: Array | None = None
    #: The number of steps that theory suggests, `theory_steps(n_samples)`: a dotted line.
    k0: int | None = None
    #: Numbers of steps to mark on the curves.
    chosen: Mapping[str, int] | None = None
    ylabel: str = "error"
    #: How many rows a curve was computed on, for the legend.
    n_rows: Mapping[str, int] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        name: str = "test",
        metric: str | None = None,
        x: Literal["atoms", "steps"] = "atoms",
        **kwargs: Any,
    ) -> Self:
        """Draw what a fit recorded along its path, and the same curve for other rows.

        Parameters
        ----------
        estimator : fitted classifier of fcgboost, or a Pipeline that ends in one
        X, y : rows and their labels, or None, default=None
            Held-out rows, for one more curve.
        name : str, default="test"
            The name of this curve; it replaces a recorded one of the same name.
        metric : str or None, default=None
            One of the `metrics` of the fit, recorded for "train" and "validation" rows, or for X
            and y alone any score of scikit-learn. None is the first of the fit; if it had none,
            the error (alone, what `scoring` says) of its "validation" rows, or of a search
            "cross-validation", the mean over the folds.
        x : {"atoms", "steps"}, default="atoms"
            Several classes choose several atoms in one step.
        **kwargs :
            For `plot`.
        """
        if x not in ("atoms", "steps"):
            raise ValueError(f"x must be 'atoms' or 'steps', got {x!r}.")
        if (X is None) != (y is None):
            raise ValueError(f"The curve {name!r} needs rows and labels, got one of them.")
        before, classifier = _with_path(estimator, cls)
        curves, ylabel, score = _drawn(classifier, metric, X is not None)
        if X is not None:
            curves[name] = score(classifier, X if before is None else before.transform(X), y)
        atoms = np.asarray(classifier.trace_.column("n_atoms"), dtype=np.float64)
        chosen = dict.fromkeys(curves, classifier.n_iter_) if classifier.n_iter_ else None
        display = cls(curves, k0=theory_k0(classifier), chosen=chosen, ylabel=ylabel)
        display.atoms = atoms if x == "atoms" else None
        display.n_rows = None if y is None else {name: len(np.asarray(y))}
        return display.plot(**kwargs)

    @classmethod
    def from_predictions(
        cls,
        curves: Mapping[str, ArrayLike] | ArrayLike,
        *,
        k0: int | None = None,
        chosen: Mapping[str, int] | None = None,
        ylabel: str = "error",
        **kwargs: Any,
    ) -> Self:
        """Draw known curves over the number of steps.

        Parameters
        ----------
        curves : mapping from names to array-like of shape (n_steps,), or one such array
            The values after 1, 2, ... steps: of `path_error`, or of
            ``clf.trace_.column("validation_score")``. Names of dictionaries have their colours.
        k0, chosen, ylabel, **kwargs :
            As in the class; for `plot`.
        """
        named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
        if not named:
            raise ValueError("curves must name at least one curve.")
        values = {name: np.asarray(curve, dtype=np.float64) for name, curve in named.items()}
        for name, curve in values.items():
            if curve.ndim != 1 or len(curve) == 0:
                raise ValueError(f"The curve {name!r} must hold one number per step.")
        for name, k in (chosen or {}).items():
            if name not in values or not 1 <= k <= len(values[name]):
                raise ValueError(f"chosen has {name!r} at step {k}, where there is no curve.")
        return cls(values, k0=k0, chosen=chosen, ylabel=ylabel).plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.plot`."""
        ax = self._start(ax)
        others = iter((base.text_color(ax), ORANGE, SKY, GREY) * len(self.curves))
        self.lines_: dict[str, Any] = {}
        for name, values in self.curves.items():
            color = _CURVE_COLORS.get(name.lower()) or next(others)
            marker = "o" if len(values) == 1 else None
            label = f"{name} ({n:,} rows)" if (n := (self.n_rows or {}).get(name)) else name
            style = {"color": color, "label": label or "_nolegend_", "marker": marker, **kwargs}
            places = self._places(len(values))
            is_known = np.isfinite(places + values)
            (self.lines_[name],) = ax.plot(places[is_known], values[is_known], **style)
        self._mark_chosen(ax)
        k0, n_steps = self.k0, max(map(len, self.curves.values()))
        if k0 is not None and k0 <= n_steps and np.isfinite(place := self._places(k0)[-1]):
            at = "" if self.atoms is None or place == k0 else f" ({place:.0f} atoms)"
            ax.axvline(place, label=f"$k_0$ = {k0}{at}", color=base.text_color(ax), linestyle=":")
        ax.set(xlabel="steps $k$" if self.atoms is None else "atoms", ylabel=self.ylabel)
        ax.set_xlim(0, None)
        ax.locator_params(axis="x", integer=True)
        base.legend_below(ax)
        return self

    def _places(self, n: int) -> Array:
        """Return the places of the first steps on the axis; NaN for steps that no one has made."""
        steps = np.arange(1.0, n + 1)
        # Where every step brings one atom, the number of atoms is known for all steps.
        if self.atoms is None or (self.atoms == np.arange(1, len(self.atoms) + 1)).all():
            return steps
        return np.append(self.atoms, np.full(n, np.nan))[:n]

    def _mark_chosen(self, ax: base.Axes) -> None:
        self.chosen_: dict[str, Any] = {}
        for name, k in (self.chosen or {}).items():
            values = self.curves[name]
            if 1 <= k <= len(values) and np.isfinite(values[k - 1]):
                point = self._places(k)[-1], values[k - 1]
                style: dict[str, Any] = {"color": self.lines_[name].get_color(), "markersize": 8}
                (self.chosen_[name],) = ax.plot(*point, "o", **style)
        if self.chosen_ and self.chosen:
            ks = set(self.chosen.values())
            label = f"chosen $k$ = {ks.pop()}" if len(ks) == 1 else "chosen number of steps"
            ax.plot([], [], "o", color=GREY, markersize=6, label=label)


def path_error(estimator: Any, X: Any, y: ArrayLike) -> Array:
    """Return the share of wrong predictions after every step of a classifier's whole path.

    Parameters
    ----------
    estimator : fitted FCGBoostClassifier or FCGBoostClassifierCV
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    ndarray of shape (len(estimator.trace_),)
    """
    check_is_fitted(estimator)
    whole = estimator.truncate(len(estimator.trace_))
    return np.array([np.mean(predicted != np.asarray(y)) for predicted in whole.staged_predict(X)])


def _drawn(
    classifier: Any, metric: str | None, has_rows: bool
) -> tuple[dict[str, Array], str, Callable[..., Array]]:
    """Return the recorded curves, their unit, and what makes such a curve of other rows."""
    metrics, score = classifier.trace_.metrics, path_error
    names, is_known = [*metrics.get("train", ())], True
    metric = metric or next(iter(names), None)
    curves, unit = recorded(classifier)
    if metric is not None:
        curves, unit = {rows: own[metric] for rows, own in metrics.items() if metric in own}, metric
        scoring = named_metrics(classifier.metrics).get(metric, metric)
        score = partial(_path_metric, scoring=scoring)
        is_known = callable(scoring) or scoring in get_scorer_names()
    elif has_rows and unit != "error":
        curves, unit = {}, "error"
    if not (is_known if has_rows else curves):
        raise ValueError(
            f"There is no {unit} to draw: pass X and y and the name of a score, or fit with "
            "validation data (validation_fraction, or X_val and y_val) or with metrics; those "
            f"recorded are {names}."
        )
    return curves, unit, score


def _path_metric(classifier: Any, X: Any, y: ArrayLike, scoring: Any) -> Array:
    """Return a score after every step of the whole path."""
    score, whole = Metric(scoring), classifier.truncate(len(classifier.trace_))
    staged = map(to_host, whole.staged_decision_function(X))
    return np.array([score(precomputed(whole, decision), X, y) for decision in staged])


def _with_path(estimator: Any, display: type) -> tuple[Pipeline | None, Any]:
    """Split an estimator whose classifier must know its path."""
    before, classifier = base.split_boosted(estimator, display)
    if len(classifier.trace_) < max(1, classifier.n_iter_):
        raise ValueError(
            "The model has no path to draw: it was saved with trace=False, or its fit made no step."
        )
    return before, classifier


def theory_k0(classifier: Any) -> int:
    """Return the theory's number of steps for the data of the fit."""
    return int(vars(classifier).get("best_estimator_", classifier)._k0_)


def recorded(classifier: Any) -> tuple[dict[str, Array], str]:
    """Return what the fit recorded on validation rows, by step, and its unit.

    The unit is "error", or "score (...)" where it was another score. Without validation there is
    no curve.
    """
    scoring = vars(classifier).get("scoring")
    is_accuracy = scoring in (None, "accuracy")
    name, values = "validation", classifier.trace_.scores
    if (results := vars(classifier).get("cv_results_")) is not None:
        name, best = "cross-validation", classifier.best_params_
        scores = {
            setting["max_iter"]: score
            for setting, score in zip(results["params"], results["mean_test_score"], strict=True)
            if setting["dictionary"] is best["dictionary"] and setting["l2"] == best["l2"]
        }
        values = np.array([scores.get(k, np.nan) for k in range(1, max(scores) + 1)])
    if np.isnan(values).all():  # no validation data
        return {}, "error"
    unit = "error" if is_accuracy else f"score ({scoring})"
    return {name: 1.0 - values if is_accuracy else values}, unit
