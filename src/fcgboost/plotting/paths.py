"""Errors and scores along a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fcgboost.arrays import Rows
from fcgboost.checks import named_metrics, to_host
from fcgboost.colors import BLUE, DICTIONARY_COLORS, GREY, ORANGE, SKY, VERMILION
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.prediction import BaseFCGBoost
from fcgboost.training.scoring import Metric, PrecomputedClassifier

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

# The same thing has the same colour in every picture.
_CURVE_COLORS = {
    **DICTIONARY_COLORS,
    "train": ORANGE,
    "validation": BLUE,
    "test": VERMILION,
}
# Of an average, curves of members are not those of the model.
_OF_MEMBERS = " (mean of members)"


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

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike | None = None,
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
        estimator : fitted classifier of this package
        X, y : rows and their labels, or None, default=None
            Held-out rows, for one more curve.
        name : str, default="test"
            The name of this curve; it replaces a recorded one of the same name.
        metric : str or None, default=None
            One of the `metrics` of the fit, recorded for "train" and "validation" rows, or for X
            and y alone any score of scikit-learn. None is the first of the fit; if it had none,
            the error (alone, what `scoring` says) of its "validation" rows. What was recorded for
            each of several members is averaged.
        x : {"atoms", "steps"}, default="atoms"
            Several classes choose several atoms in one step.
        **kwargs :
            For `plot`.
        """
        if x not in ("atoms", "steps"):
            raise ValueError(f"x must be 'atoms' or 'steps', got {x!r}.")
        if (X is None) != (y is None):
            raise ValueError(f"The curve {name!r} needs rows and labels, got one of them.")
        classifier = cls._check_boosted(estimator)
        if path_length(classifier) == 0:
            raise ValueError(
                "The model has no path to draw: it was saved with trace=False, or its fit made no "
                "step."
            )
        metrics = classifier.members_[0].trace.metrics
        metric = metric or next(iter(metrics.get("train", ())), None)
        curves, ylabel = recorded(classifier, metric)
        if X is not None and y is not None:
            if metric is not None:
                curves[name] = _path_metric(classifier, X, y, metric)
            else:
                # Scores that are no accuracy are not errors.
                curves = curves if ylabel == "error" else {}
                ylabel = "error"
                curves[name] = path_error(classifier, X, y)
        if not curves:
            raise ValueError(
                f"There is no {ylabel} to draw: pass X and y and the name of a score, or fit with "
                "validation data (validation_fraction, or X_val and y_val) or with metrics; those "
                f"recorded are {list(metrics.get('train', ()))}."
            )
        display = cls(
            curves,
            k0=classifier._k0_,
            chosen=dict.fromkeys(curves, classifier.n_iter_),
            ylabel=ylabel,
        )
        if x == "atoms":
            display.atoms = atoms_by_step(classifier)
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
        return cls(
            values,
            k0=k0,
            chosen=chosen,
            ylabel=ylabel,
        ).plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.plot`."""
        ax = self._start(ax)
        color = base.text_color(ax)
        others = iter((color, ORANGE, SKY, GREY) * len(self.curves))
        self.lines_: dict[str, Line2D] = {}
        for name, values in self.curves.items():
            style = {
                "color": _CURVE_COLORS.get(name.removesuffix(_OF_MEMBERS).lower()) or next(others),
                "label": name or "_nolegend_",
                "marker": "o" if len(values) == 1 else None,
                **kwargs,
            }
            x = self._places(len(values))
            is_drawn = np.isfinite(x + values)
            (self.lines_[name],) = ax.plot(x[is_drawn], values[is_drawn], **style)
        self._mark_chosen(ax)
        k0 = self.k0
        x = self._places(max(map(len, self.curves.values())))
        if k0 is not None and k0 <= np.isfinite(x).sum():
            x0 = x[k0 - 1]
            at = "" if x0 == k0 else f" ({x0:.0f} atoms)"
            ax.axvline(
                x0,
                label=f"$k_0$ = {k0}{at}",
                color=color,
                linestyle=":",
            )
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
        self.chosen_: dict[str, Line2D] = {}
        # A constant has made no step.
        chosen = {name: k for name, k in (self.chosen or {}).items() if k}
        for name, k in chosen.items():
            (self.chosen_[name],) = ax.plot(
                self._places(k)[-1],
                self.curves[name][k - 1],
                "o",
                color=self.lines_[name].get_color(),
                markersize=8,
            )
        if chosen:
            ks = set(chosen.values())
            label = f"chosen $k$ = {ks.pop()}" if len(ks) == 1 else "chosen number of steps"
            ax.plot(
                [],
                [],
                "o",
                color=GREY,
                markersize=6,
                label=label,
            )


def path_length(classifier: BaseFCGBoost) -> int:
    """Return how many steps can be shown, 0 if a file left them out.

    They are all steps of a single path, and those in the model of several members.
    """
    if not classifier._has_path():
        return 0
    members = classifier.members_
    if len(members) > 1:
        return classifier.n_iter_
    trace = members[0].trace
    return trace[-1].k if trace else 0


def path_error(estimator: BaseFCGBoost, X: ArrayLike, y: ArrayLike) -> Array:
    """Return the share of wrong predictions after every step of a classifier's whole path.

    Parameters
    ----------
    estimator : fitted FCGBoostClassifier
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_steps,)
        Of several members, after each of the `n_iter_` steps in the model.
    """
    check_is_fitted(estimator)
    whole = estimator.truncate(path_length(estimator))
    return np.array([np.mean(predicted != np.asarray(y)) for predicted in whole.staged_predict(X)])


def atoms_by_step(classifier: BaseFCGBoost) -> Array:
    """Return the number of atoms of all members after every step."""
    counts = [member.trace.column("n_atoms") for member in classifier.members_]
    by_member = by_step(classifier, counts, before=0.0)
    return np.asarray(by_member.sum(axis=0))


def by_step(
    classifier: BaseFCGBoost,
    records: Sequence[Array],
    before: float = np.nan,
) -> Array:
    """Return what members recorded, for every step that can be shown.

    Where a member has no record of a step its last one stands, or `before` if it has none yet.
    """
    members = classifier.members_
    steps = np.arange(1, path_length(classifier) + 1)
    rows = []
    for member, record in zip(members, records, strict=True):
        made = steps
        if len(members) > 1:
            made = np.minimum(steps, member.n_iter)
        recorded = member.trace.column("k")
        n_recorded = np.searchsorted(recorded, made, side="right")
        rows.append(np.append(before, record)[n_recorded])
    return np.array(rows)


def _path_metric(classifier: BaseFCGBoost, X: Rows, y: ArrayLike, metric: str) -> Array:
    """Return a score after every step of the whole path."""
    score = Metric(named_metrics(classifier.metrics).get(metric, metric))
    whole = classifier.truncate(path_length(classifier))
    staged = map(to_host, whole.staged_decision_function(X))
    stand_ins = (
        PrecomputedClassifier(
            whole._loss_,
            whole.classes_,
            decision,
            whole.link_,
            whole._correction_,
        )
        for decision in staged
    )
    return np.array([score(stand_in, X, y) for stand_in in stand_ins])


def recorded(classifier: BaseFCGBoost, metric: str | None = None) -> tuple[dict[str, Array], str]:
    """Return what the fit recorded by step, and its unit.

    That is a metric of training and validation rows; without the name of one, the "error" of
    validation rows, or "score (...)" where the fit used another score. Without validation there is
    no curve. What members recorded is averaged, and the names of the curves say so.
    """
    members = classifier.members_
    suffix = _OF_MEMBERS if len(members) > 1 else ""
    if metric is not None:
        curves = {}
        known = [member.trace.metrics for member in members]
        for rows in known[0]:
            if metric in known[0][rows]:
                values = [metrics[rows][metric] for metrics in known]
                curves[rows + suffix] = _mean_by_step(classifier, values)
        return curves, metric
    scoring = vars(classifier).get("scoring")
    is_accuracy = scoring in (None, "accuracy")
    scores = _mean_by_step(classifier, [member.trace.scores for member in members])
    if np.isnan(scores).all():  # no validation data
        return {}, "error"
    name = "validation" + suffix
    if not is_accuracy:
        return {name: scores}, f"score ({scoring})"
    return {name: 1.0 - scores}, "error"


def _mean_by_step(classifier: BaseFCGBoost, records: Sequence[Array]) -> Array:
    """Return the mean of members' records by their weights; NaN where one is missing."""
    weights = classifier.member_weights_
    return np.average(by_step(classifier, records), axis=0, weights=weights)
