"""Audits of labels: which are suspicious, why, and how many are wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils import _safe_indexing

from fcgboost import hashing
from fcgboost.arrays import Array, Codes, Flags, Labels, Rows, Weights, is_sparse
from fcgboost.checks import RandomState, check_labels, check_number, check_rows, to_host
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.explanation import Explanation, explain
from fcgboost.findings import Finding
from fcgboost.label_noise import LabelNoise, WrongLabels
from fcgboost.members import Members
from fcgboost.prediction import BaseFCGBoost, twin_of
from fcgboost.training.folds import n_folds_for
from fcgboost.training.labels import JudgedLabels, codes_among, digests_of
from fcgboost.training.settings import CrossValidation
from fcgboost.wording import count, fixed, number, shortened, text_table

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Audit", "audit"]

# How many suspicious rows a text shows.
_N_SHOWN = 10
_N_EXPLAINED = 50
# Folds of rows that a fit would not divide.
_FEWEST_FOLDS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What models that have not seen a row say of its label, for all rows as given.

    Attributes
    ----------
    label_quality : ndarray of shape (n_samples,)
        The probability that the label is the true one; NaN for rows that no fold judged.
    label_probability : ndarray of shape (n_samples,)
        The probability of the label at this row, which says nothing of rates of wrong labels; NaN
        for rows that no fold judged.
    is_label_issue : ndarray of shape (n_samples,)
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
    classifier : FCGBoostClassifier
        What judged the labels.
    """

    classifier: BaseFCGBoost
    X: Rows
    y: Labels

    @property
    def _judged(self) -> JudgedLabels:
        judged: JudgedLabels = self.classifier._judged_labels_
        return judged

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What else is suspicious."""
        return self.classifier.findings_

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
        codes = self._judged.codes
        p = self._judged.p[np.arange(len(codes)), codes]
        return np.where(codes < 0, np.nan, p)

    @property
    def is_label_issue(self) -> Flags:
        """Whether another class is more probably true."""
        likely = self._judged.likely
        return np.asarray((likely >= 0) & (likely != self._judged.codes))

    @property
    def ranking(self) -> Codes:
        """The positions of all rows that were judged and are not trusted, worst labels first."""
        order = np.argsort(self.label_quality, kind="stable")
        is_ranked = ~np.isnan(self.label_quality) & ~self._judged.trusted
        return np.asarray(order[is_ranked[order]])

    @property
    def suspects(self) -> Codes:
        """The positions of rows whose labels are probably wrong, the most suspicious first."""
        ranking = self.ranking
        return np.asarray(ranking[self.is_label_issue[ranking]])

    @property
    def wrong(self) -> WrongLabels:
        """The share of wrong labels: `share`, `low`, `high` and `is_known`."""
        return self.noise.wrong()

    @property
    def wrong_by_class(self) -> dict[Any, WrongLabels]:
        """The share of wrong labels among those of each class."""
        classes = self.classifier.classes_.tolist()
        return {label: self.noise.wrong(code) for code, label in enumerate(classes)}

    @property
    def flips(self) -> Codes:
        """How many labels of each class (rows) probably belong to each (columns)."""
        codes = np.arange(len(self.classifier.classes_))
        # Without rows that are of no class, or not judged.
        flips = confusion_matrix(self._judged.codes, self._judged.likely, labels=codes)
        return np.asarray(flips)

    @property
    def has_reasons(self) -> bool:
        """Whether members judged the labels, so that there are reasons."""
        return self._judged.are_members

    def to_frame(self) -> DataFrame:
        """Return a data frame with the index of X or y and a row for each of theirs.

        Its columns are `given_label`, `predicted_label` (the class that is most probably true,
        given the label), `label_quality`, `label_probability` and `is_label_issue`.
        """
        import pandas as pd

        index = getattr(self.X, "index", getattr(self.y, "index", None))
        if not isinstance(index, pd.Index):
            index = None

        def column(codes: Codes) -> Any:
            labels = pd.Series(self.classifier.classes_[codes], index)
            return labels if (codes >= 0).all() else labels.where(codes >= 0)

        columns = {
            "given_label": column(self._judged.codes),
            "predicted_label": column(self._judged.likely),
            "label_quality": self.label_quality,
            "label_probability": self.label_probability,
            "is_label_issue": self.is_label_issue,
        }
        return pd.DataFrame(columns, index)

    def explain(self, rows: ArrayLike | None = None) -> Explanation:
        """Return what each column adds to the out-of-fold decision values of rows.

        Rows are positions; None means the first 50 of `ranking`. Shapley values are by the members
        that have not seen a row: with the base value they sum to its `oof_decision_function_`.
        """
        if not self.has_reasons:
            raise ValueError(
                "The models that judged the labels are no members of this classifier, so that "
                "there are no reasons: fit it with ensemble=True, or call fcgboost.audit(X, y)."
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
        """Say which columns speak most against the labels of rows, chosen as in `explain`.

        Texts such as "age = 61 (+0.42)": how much a column adds to the decision value of the class
        that is more probable, or would be; with several classes, in comparison with that of the
        label.
        """
        rows = self._chosen(rows)
        if len(rows) == 0:
            return []
        explanation = self.explain(rows)
        codes = self._judged.codes[rows]
        p = self._judged.p[rows]
        p[np.arange(len(rows)), codes] = -1.0
        likely = self._judged.likely[rows]
        other = np.where(likely == codes, p.argmax(axis=1), likely)
        values, _ = explanation.towards(other)
        if len(self.classifier.classes_) > 2:
            values = values - explanation.towards(codes)[0]
        cells = _cells(explanation.data)
        texts = []
        for row, added in enumerate(values):
            first = np.argsort(-added, kind="stable")[:n_columns]
            texts.append(
                ", ".join(
                    f"{explanation.feature_names[j]} = {_cell(cells[row, j])} "
                    f"(+{fixed(added[j], 2)})"
                    for j in first
                    if added[j] > 0.0
                )
            )
        return texts

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

    def _chosen(self, rows: ArrayLike | None) -> Codes:
        return self.ranking[:_N_EXPLAINED] if rows is None else np.asarray(rows)

    def _judge(self, folds: Sequence[int]) -> BaseFCGBoost:
        """Return the classifier of the members that have not seen what some folds judge."""
        judge = twin_of(self.classifier)
        n_folds = len(self._judged.folds)
        members = [member for i, member in enumerate(judge.members_) if i % n_folds in folds]
        total = sum(member.weight for member in members)
        judge.members_ = Members(
            replace(member, weight=member.weight / total) for member in members
        )
        return judge

    def __repr__(self) -> str:
        return self.summary(np.arange(len(self.label_quality)))

    def summary(self, numbers: Codes) -> str:
        """Return the text that `print` shows, with other numbers of the rows."""
        codes = self._judged.codes
        classes_ = self.classifier.classes_
        lines = [
            f"{count(len(self.suspects), 'suspicious label')} among {count(len(codes), 'row')}",
            f"wrong labels: {self.wrong}",
        ]
        n_unjudged = int(np.isnan(self.label_quality).sum())
        if n_unjudged:
            lines.append(f"{count(n_unjudged, 'row')} judged by no fold")
        rows = [
            [shortened(str(label)), f"{np.count_nonzero(codes == code):,}", str(wrong)]
            for code, (label, wrong) in enumerate(self.wrong_by_class.items())
        ]
        parts = ["\n".join(lines), text_table(["label", "rows", "wrong"], rows)]
        shown = self.suspects[:_N_SHOWN]
        if len(shown):
            columns = (
                numbers[shown],
                classes_[codes[shown]],
                classes_[self._judged.likely[shown]],
                [f"{quality:.3f}" for quality in self.label_quality[shown]],
            )
            rows = [[shortened(str(cell)) for cell in row] for row in zip(*columns, strict=True)]
            parts.append(text_table(["row", "given", "more likely", "label quality"], rows))
        return "\n\n".join([*parts, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return f"<pre>{escape(repr(self))}</pre>"


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
) -> Audit:
    """Find labels that are probably wrong, say why, and estimate how many are.

    The default classifier is fitted in folds, and members that have not seen a row judge its label.
    `FCGBoostClassifier(...).fit(X, y).audit(X, y)` does so with other settings.

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
        Rows whose labels are certain, for example because they were checked: they are no suspects,
        and rates of wrong labels count them as right.
    random_state : int, RandomState or None, default=0
        Seed of the folds and of all draws.
    n_jobs : int or None, default=None
        Number of threads; None is all cores.
    verbose : int, default=0
        1 shows progress on standard error.

    Returns
    -------
    Audit

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
    classifier = FCGBoostClassifier(
        cv=cv,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    set_folds(classifier, X, y)
    classifier.fit(
        X,
        y,
        sample_weight,
        groups=groups,
        trusted=trusted,
    )
    return Audit(classifier, X, y)


def set_folds(classifier: FCGBoostClassifier, X: Rows, y: Labels) -> None:
    """Let folds judge all rows, however many there are."""
    cv = classifier.cv
    if cv is None:
        raise ValueError("cv=None has no folds, which judge the labels: use 'auto' or a number.")
    shape: Sequence[int] = getattr(X, "shape", ())
    if isinstance(cv, str) and cv == "auto" and len(shape) == 2:
        classes, _ = check_labels(y)
        if n_folds_for(shape[0], shape[1], len(classes)) < _FEWEST_FOLDS:
            classifier.set_params(cv=_FEWEST_FOLDS)


def audit_of(classifier: BaseFCGBoost, X: Rows, y: Labels) -> Audit:
    """Return the audit of a fitted classifier, if these are its training rows."""
    judged = vars(classifier).get("_judged_labels_")
    if judged is None:
        raise ValueError(
            "No labels were judged: audit needs a classifier as it was fitted, not loaded or "
            "truncated, with folds (cv). fcgboost.audit(X, y) fits one."
        )
    codes = codes_among(y, classifier.classes_.tolist())
    rows = check_rows(classifier, X)
    digests = digests_of(hashing.fingerprint(to_host(rows)), codes)
    if not np.array_equal(digests, judged.digests):
        raise ValueError(
            "X and y are not what the classifier was fitted to: pass all training rows in the same "
            "order, or call fcgboost.audit(X, y)."
        )
    return Audit(classifier, X, y)


def _cells(X: Rows) -> NDArray[np.object_]:
    """Return the cells of rows as an array of objects."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=object)


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return number(float(value)) or "missing"
    return shortened(str(value).removesuffix(" 00:00:00"))  # of a date
