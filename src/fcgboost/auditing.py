"""Audits of targets: which are suspicious, why, and how many labels are wrong."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils import _safe_indexing

from fcgboost import hashing
from fcgboost.arrays import Array, Codes, Flags, Labels, Rows, Weights, is_sparse
from fcgboost.checks import RandomState, check_number, check_rows, to_host
from fcgboost.estimators import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.explanation import Explanation, explain
from fcgboost.findings import Finding, is_quantity
from fcgboost.label_noise import LabelNoise, WrongLabels
from fcgboost.members import Members
from fcgboost.prediction import BaseFCGBoost, twin_of
from fcgboost.training.folds import n_folds_for
from fcgboost.training.labels import Judged, JudgedLabels, digests_of, targets_among
from fcgboost.training.settings import CrossValidation
from fcgboost.wording import count, fixed, number, shortened, text_table

if TYPE_CHECKING:
    from pandas import DataFrame

A = TypeVar("A", bound="_BaseAudit")

__all__ = ["Audit", "RegressionAudit", "audit"]

# How many suspicious rows a text shows.
_N_SHOWN = 10
_N_EXPLAINED = 50
# Folds of rows that a fit would not divide.
_FEWEST_FOLDS = 3
# Of normal numbers, the standard deviation over the median absolute deviation.
_NORMAL = 1.4826
# Residuals beyond so many robust standard deviations are suspicious: of normal ones 0.006 %.
_N_DEVIATIONS = 4.0


@dataclass(frozen=True, eq=False, repr=False)
class _BaseAudit(ABC):
    """What models that have not seen a row say of its target, for all rows as given."""

    #: What a target is called.
    _noun: ClassVar[str]

    estimator: BaseFCGBoost
    X: Rows
    y: Labels

    @property
    @abstractmethod
    def _quality(self) -> Array:
        """What is least for the worst targets, and NaN for rows that no fold judged."""

    @property
    @abstractmethod
    def is_issue(self) -> Flags:
        """Whether a target is suspicious."""

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame."""

    @abstractmethod
    def _against(self, rows: Codes, explanation: Explanation) -> Array:
        """Return what columns add against the targets of rows."""

    @abstractmethod
    def _written(self, row: int, added: float) -> str:
        """Return how what a column adds against the target of a row is written."""

    @abstractmethod
    def _shown(self, rows: Codes) -> tuple[str, dict[str, Iterable[object]]]:
        """Return what a text says of all targets, and its columns about some rows."""

    @property
    def _judged(self) -> Judged:
        judged: Judged = self.estimator._judged_
        return judged

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What else is suspicious."""
        return self.estimator.findings_

    @property
    def ranking(self) -> Codes:
        """The positions of all rows that were judged and are not trusted, the worst first."""
        quality = self._quality
        order = np.argsort(quality, kind="stable")
        is_ranked = ~np.isnan(quality) & ~self._judged.trusted
        return np.asarray(order[is_ranked[order]])

    @property
    def suspects(self) -> Codes:
        """The positions of suspicious rows, the most suspicious first."""
        ranking = self.ranking
        return np.asarray(ranking[self.is_issue[ranking]])

    @property
    def has_reasons(self) -> bool:
        """Whether members judged the targets, so that there are reasons."""
        return self._judged.are_members

    def to_frame(self) -> DataFrame:
        """Return a data frame with the index of X or y and a row for each of theirs."""
        import pandas as pd

        frame = pd.DataFrame(self._columns())
        index = getattr(self.X, "index", getattr(self.y, "index", None))
        if isinstance(index, pd.Index):
            frame.index = index
        return frame

    def explain(self, rows: ArrayLike | None = None) -> Explanation:
        """Return what each column adds to the out-of-fold decision values of rows.

        Rows are positions; None means the first 50 of `ranking`. Shapley values are by the members
        that have not seen a row: with the base value they sum to its `oof_decision_function_`, or
        `oof_prediction_`.
        """
        if not self.has_reasons:
            raise ValueError(
                "The models that judged are no members of this estimator, so that there are no "
                "reasons: fit it with ensemble=True, or call fcgboost.audit(X, y)."
            )
        X = to_host(self.X)
        positions = self._chosen(rows)
        is_judge = np.array([np.isin(positions, fold) for fold in self._judged.folds])
        folds_of = [tuple(np.flatnonzero(folds).tolist()) for folds in is_judge.T]
        parts = []
        places: list[int] = []
        for folds in set(folds_of):
            own = [place for place, other in enumerate(folds_of) if other == folds]
            parts.append(explain(self._judge(folds), _safe_indexing(X, positions[own])))
            places += own
        order = np.argsort(places)
        values, base_values, errors = (
            np.concatenate([getattr(part, name) for part in parts])[order]
            for name in ("values", "base_values", "errors")
        )
        return Explanation(
            values,
            base_values=base_values,
            data=_safe_indexing(X, positions),
            feature_names=parts[0].feature_names,
            errors=errors,
        )

    def reasons(self, rows: ArrayLike | None = None, n_columns: int = 3) -> list[str]:
        """Say which columns speak most against the targets of rows, chosen as in `explain`.

        Texts such as "age = 61 (+0.42)": how much a column adds to the predicted number; or to the
        decision value of the class that is more probable, or would be, with several classes in
        comparison with that of the label.
        """
        rows = self._chosen(rows)
        if len(rows) == 0:
            return []
        explanation = self.explain(rows)
        cells = _cells(explanation.data)
        texts = []
        for row, added in enumerate(self._against(rows, explanation)):
            first = np.argsort(-added, kind="stable")[:n_columns]
            texts.append(
                ", ".join(
                    f"{explanation.feature_names[j]} = {_cell(cells[row, j])} "
                    f"({self._written(rows[row], added[j])})"
                    for j in first
                    if added[j] > 0.0
                )
            )
        return texts

    def __repr__(self) -> str:
        return self.summary(np.arange(len(self._quality)))

    def summary(self, numbers: Codes) -> str:
        """Return the text that `print` shows, with other numbers of the rows."""
        suspects = self.suspects
        quality = self._quality
        lines = [
            f"{count(len(suspects), f'suspicious {self._noun}')} among {count(len(quality), 'row')}"
        ]
        n_unjudged = int(np.isnan(quality).sum())
        if n_unjudged:
            lines.append(f"{count(n_unjudged, 'row')} judged by no fold")
        shown = suspects[:_N_SHOWN]
        facts, columns = self._shown(shown)
        parts = ["\n".join([*lines, facts])]
        if len(shown):
            cells = zip(numbers[shown], *columns.values(), strict=True)
            rows = [[shortened(str(cell)) for cell in row] for row in cells]
            parts.append(text_table(["row", *columns], rows))
        return "\n\n".join([*parts, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return f"<pre>{escape(repr(self))}</pre>"

    def _chosen(self, rows: ArrayLike | None) -> Codes:
        return self.ranking[:_N_EXPLAINED] if rows is None else np.asarray(rows)

    def _judge(self, folds: Sequence[int]) -> BaseFCGBoost:
        """Return the estimator of the members that have not seen what some folds judge."""
        judge = twin_of(self.estimator)
        n_folds = len(self._judged.folds)
        members = [member for i, member in enumerate(judge.members_) if i % n_folds in folds]
        total = sum(member.weight for member in members)
        judge.members_ = Members(
            replace(member, weight=member.weight / total) for member in members
        )
        return judge


@dataclass(frozen=True, eq=False, repr=False)
class Audit(_BaseAudit):
    """What models that have not seen a row say of its label, for all rows as given.

    Attributes
    ----------
    label_quality : ndarray of shape (n_samples,)
        The probability that the label is the true one; NaN for rows that no fold judged.
    label_probability : ndarray of shape (n_samples,)
        The probability of the label at this row, which says nothing of rates of wrong labels; NaN
        for rows that no fold judged.
    is_issue : ndarray of shape (n_samples,)
        Whether another class is more probably true. Never for trusted rows.
    ranking : ndarray
        The positions of all rows that were judged and are not trusted, the worst labels first.
    suspects : ndarray
        Those of them for which another class is more probably true.
    wrong : WrongLabels
        The share of wrong labels: `share`, the 90 % interval `low` to `high`, and `is_known`.
    wrong_by_class : dict
        The same among the labels of each class.
    noise : LabelNoise
        The estimated rates of wrong labels.
    findings : tuple of Finding
        What else is suspicious: columns that give the label away, ids, rows equal but for the
        label, labels that differ only in case.
    estimator : FCGBoostClassifier
        What judged the labels.
    """

    _noun = "label"

    @property
    def _judged(self) -> JudgedLabels:
        judged: JudgedLabels = self.estimator._judged_
        return judged

    @property
    def _quality(self) -> Array:
        return self.label_quality

    @property
    def noise(self) -> LabelNoise:
        """The estimated rates of wrong labels."""
        return self._judged.noise

    @property
    def label_quality(self) -> Array:
        """The probabilities that labels are true."""
        return self._judged.quality

    @property
    def label_probability(self) -> Array:
        """The probabilities of the labels."""
        codes = self._judged.target
        p = self._judged.p[np.arange(len(codes)), codes]
        return np.where(codes < 0, np.nan, p)

    @property
    def is_issue(self) -> Flags:
        """Whether another class is more probably true."""
        likely = self._judged.likely
        return np.asarray((likely >= 0) & (likely != self._judged.target))

    @property
    def wrong(self) -> WrongLabels:
        """The share of wrong labels: `share`, `low`, `high` and `is_known`."""
        return self.noise.wrong()

    @property
    def wrong_by_class(self) -> dict[Any, WrongLabels]:
        """The share of wrong labels among those of each class."""
        classes = self.estimator.classes_.tolist()
        return {label: self.noise.wrong(code) for code, label in enumerate(classes)}

    @property
    def flips(self) -> Codes:
        """How many labels of each class (rows) probably belong to each (columns)."""
        codes = np.arange(len(self.estimator.classes_))
        # Without rows that are of no class, or not judged.
        flips = confusion_matrix(self._judged.target, self._judged.likely, labels=codes)
        return np.asarray(flips)

    def _columns(self) -> dict[str, Any]:
        import pandas as pd

        def column(codes: Codes) -> Any:
            labels = pd.Series(self.estimator.classes_[codes])
            return labels if (codes >= 0).all() else labels.where(codes >= 0)

        return {
            "given_label": column(self._judged.target),
            "predicted_label": column(self._judged.likely),
            "label_quality": self.label_quality,
            "label_probability": self.label_probability,
            "is_label_issue": self.is_issue,
        }

    def _against(self, rows: Codes, explanation: Explanation) -> Array:
        codes = self._judged.target[rows]
        p = self._judged.p[rows]
        p[np.arange(len(rows)), codes] = -1.0
        likely = self._judged.likely[rows]
        other = np.where(likely == codes, p.argmax(axis=1), likely)
        values, _ = explanation.towards(other)
        if len(self.estimator.classes_) > 2:
            values = values - explanation.towards(codes)[0]
        return values

    def _written(self, row: int, added: float) -> str:
        return f"+{fixed(added, 2)}"

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        top: int = 50,
        rows: Mapping[str, ArrayLike] | None = None,
    ) -> Path:
        """Write one HTML page about the labels, which needs nothing else.

        Parameters
        ----------
        path : path
            The page is written in full or not at all.
        title : str or None, default=None
            The heading of the page.
        top : int, default=50
            How many suspicious rows it lists at most.
        rows : mapping or None, default=None
            What names the rows: columns with a value for every row of X. The first one, "row", is
            their number from 1 unless it is given.

        Returns
        -------
        Path
        """
        from fcgboost.report import write_audit_report  # not needed for audits

        check_number("top", top, 1, whole=True)
        return write_audit_report(
            path,
            self,
            title=title,
            top=top,
            rows=rows,
        )

    def about(self) -> dict[str, Any]:
        """Return the shares of wrong labels, for JSON."""
        by_class = self.wrong_by_class.items()
        return {
            "wrong": self.wrong._asdict(),
            "wrong_by_class": {str(label): wrong._asdict() for label, wrong in by_class},
        }

    def _shown(self, rows: Codes) -> tuple[str, dict[str, Iterable[object]]]:
        codes = self._judged.target
        classes_ = self.estimator.classes_
        by_class = [
            [shortened(str(label)), f"{np.count_nonzero(codes == code):,}", str(wrong)]
            for code, (label, wrong) in enumerate(self.wrong_by_class.items())
        ]
        table = text_table(["label", "rows", "wrong"], by_class)
        return f"wrong labels: {self.wrong}\n\n{table}", {
            "given": classes_[codes[rows]],
            "more likely": classes_[self._judged.likely[rows]],
            "label quality": [f"{quality:.3f}" for quality in self.label_quality[rows]],
        }


@dataclass(frozen=True, eq=False, repr=False)
class RegressionAudit(_BaseAudit):
    """What models that have not seen a row say of its number, for all rows as given.

    A number is suspicious if its residual is more than four robust standard deviations (1.4826
    median absolute deviations) from the median residual. Of right numbers with normal errors of
    one size 0.006 % are: one in 16,000.

    Attributes
    ----------
    estimator : FCGBoostRegressor
        What judged the numbers.
    residual : ndarray of shape (n_samples,)
        The number less the out-of-fold prediction; NaN for rows that no fold judged.
    scale : float
        The robust standard deviation of the residuals.
    is_issue : ndarray of shape (n_samples,)
        Whether a number is suspicious. Never for trusted rows.
    ranking : ndarray
        The positions of all rows that were judged and are not trusted, the largest deviations from
        the median residual first.
    suspects : ndarray
        Those of them that are suspicious.
    findings : tuple of Finding
        What else is suspicious, as in `Audit`.
    """

    _noun = "target"

    @property
    def residual(self) -> Array:
        """The numbers less the out-of-fold predictions."""
        return np.asarray(self._judged.target - self.estimator.oof_prediction_)

    @property
    def scale(self) -> float:
        """The robust standard deviation of the residuals."""
        return -_NORMAL * float(np.nanmedian(self._quality))

    @property
    def is_issue(self) -> Flags:
        """Whether a number is suspicious."""
        is_far = -self._quality > _N_DEVIATIONS * self.scale
        return np.asarray(is_far & ~self._judged.trusted)

    @property
    def _quality(self) -> Array:
        residual = self.residual
        return -np.abs(residual - np.nanmedian(residual))

    def _columns(self) -> dict[str, Any]:
        return {
            "given": self._judged.target,
            "predicted": self.estimator.oof_prediction_,
            "residual": self.residual,
            "is_target_issue": self.is_issue,
        }

    def _shown(self, rows: Codes) -> tuple[str, dict[str, Iterable[object]]]:
        facts = f"usual error: {number(self.scale)} (robust standard deviation, out of fold)"
        return facts, dict(self.to_frame().iloc[rows, :-1].map(number))

    def _against(self, rows: Codes, explanation: Explanation) -> Array:
        return np.asarray(explanation.values * -np.sign(self.residual[rows])[:, None])

    def _written(self, row: int, added: float) -> str:
        return ("+" if self.residual[row] < 0.0 else "\N{MINUS SIGN}") + number(added)


def audit(
    X: Rows,
    y: Labels,
    *,
    cv: CrossValidation = "auto",
    groups: ArrayLike | None = None,
    sample_weight: Weights = None,
    trusted: ArrayLike | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Audit | RegressionAudit:
    """Find targets that are probably wrong, say why, and estimate how many labels are.

    The default classifier is fitted in folds, and members that have not seen a row judge its label.
    `FCGBoostClassifier(...).fit(X, y).audit(X, y)` does so with other settings. Of many different
    numbers, which look like a quantity, the default regressor judges each.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : "auto", int, splitter or iterable, default="auto"
        The folds, as in `FCGBoostClassifier`, but at least three however large X is.
    groups : array-like of shape (n_samples,), default=None
        Rows of a group, such as all records of a person, are judged together.
    sample_weight : array-like of shape (n_samples,), default=None
        Counts: a row of weight 2 is like two equal rows.
    trusted : array-like of bool of shape (n_samples,), default=None
        Rows whose targets are certain, for example because they were checked: they are no suspects,
        and rates of wrong labels count them as right.
    random_state : int, RandomState or None, default=0
        Seed of the folds and of all draws.
    n_jobs : int or None, default=None
        Number of threads; None is all cores.
    verbose : int, default=0
        1 shows progress on standard error.

    Returns
    -------
    Audit, or RegressionAudit of a quantity

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> import fcgboost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wrong = np.arange(5, 569, 20)
    >>> y[wrong] = 1 - y[wrong]
    >>> audit = fcgboost.audit(X, y)
    >>> bool(np.isin(audit.ranking[:20], wrong).mean() > 0.8)
    True
    """
    is_number = is_quantity(np.asarray(to_host(y)))
    estimator = (FCGBoostRegressor if is_number else FCGBoostClassifier)(
        cv=cv,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    set_folds(estimator, X, y)
    estimator.fit(
        X,
        y,
        sample_weight,
        groups=groups,
        trusted=trusted,
    )
    return estimator.audit(X, y)


def set_folds(estimator: FCGBoostClassifier | FCGBoostRegressor, X: Rows, y: Labels) -> None:
    """Let folds judge all rows, however many there are."""
    cv = estimator.cv
    if cv is None:
        raise ValueError("cv=None has no folds, which judge the targets: use 'auto' or a number.")
    shape: Sequence[int] = getattr(X, "shape", ())
    if isinstance(cv, str) and cv == "auto" and len(shape) == 2:
        task, _ = estimator._make_task().read(y)
        if n_folds_for(shape[0], shape[1], task.n_outputs) < _FEWEST_FOLDS:
            estimator.set_params(cv=_FEWEST_FOLDS)


def audit_of(kind: type[A], estimator: BaseFCGBoost, X: Rows, y: Labels) -> A:
    """Return the audit of a fitted estimator, if these are its training rows."""
    judged = vars(estimator).get("_judged_")
    if judged is None:
        raise ValueError(
            "No targets were judged: audit needs an estimator as it was fitted, not loaded or "
            "truncated, with folds (cv). fcgboost.audit(X, y) fits one."
        )
    target = targets_among(y, getattr(estimator, "classes_", np.empty(0)).tolist())
    rows = check_rows(estimator, X)
    digests = digests_of(hashing.fingerprint(to_host(rows)), target)
    if not np.array_equal(digests, judged.digests):
        raise ValueError(
            "X and y are not what the estimator was fitted to: pass all training rows in the same "
            "order, or call fcgboost.audit(X, y)."
        )
    return kind(estimator, X, y)


def _cells(X: Rows) -> NDArray[np.object_]:
    """Return the cells of rows as an array of objects."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=object)


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return number(float(value)) or "missing"
    return shortened(str(value).removesuffix(" 00:00:00"))  # of a date
