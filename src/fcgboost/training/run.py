"""A whole fit: a single path or cross-fitted members, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray

from fcgboost import hashing
from fcgboost.arrays import Array, Codes, Labels, Rows, is_sparse
from fcgboost.calibration import (
    Correction,
    HeldOut,
    PowerLink,
    check_noise_matrix,
    fit_link,
    probabilities_of,
)
from fcgboost.checks import draw_key
from fcgboost.conformal import HeldOutErrors
from fcgboost.findings import (
    Finding,
)
from fcgboost.label_noise import LabelNoise, estimate_noise
from fcgboost.losses import ProbabilityLoss
from fcgboost.members import Member, Members, decision_of
from fcgboost.stopping import StoppingRule, theory_steps
from fcgboost.training.callbacks import FitTasks
from fcgboost.training.crossfit import CrossFit, cross_fit, n_paths_of
from fcgboost.training.dataset import Data, DataSet
from fcgboost.training.fit import Fit
from fcgboost.training.folds import (
    SHARE,
    Split,
    check_groups,
    group_folds,
    group_hashes,
    hash_folds,
    n_folds_for,
    one_split,
    users_splits,
)
from fcgboost.training.labels import GivenTargets, JudgedLabels, judge_labels
from fcgboost.training.layout import FitRows, Layout, MemoryLayout, MemoryRows
from fcgboost.training.metrics import with_metrics
from fcgboost.training.presets import AUTO
from fcgboost.training.progress import ProgressLine
from fcgboost.training.schedule import Schedule
from fcgboost.training.scoring import held_out_score
from fcgboost.training.settings import Settings
from fcgboost.training.suspicions import findings_in
from fcgboost.training.tasks import Classification
from fcgboost.training.time_limit import TimeLimit
from fcgboost.training.trials import Trial
from fcgboost.training.warm_start import FitState, find_state

# Without held-out rows a preset makes this many steps, in multiples of k0: with a strong ridge they
# do no harm.
_STEPS_OF_PRESETS = 5
_MANY_ROWS = (
    "There are so many numbers that rows were not divided into folds: one part was held out, as by "
    "dictionary='fast'. cv=3 divides them."
)
# Of rates of wrong labels.
_DIGITS = 6


@dataclass(frozen=True)
class Job:
    """All that a fit needs: the settings of each kind of members, the rows, and a state."""

    kinds: Sequence[Settings]
    rows: FitRows
    #: What a single path continues, and the seed of all draws.
    state: FitState
    #: What users should know about the rows, and about what the fit does.
    findings: list[Finding] = field(default_factory=list)
    #: The targets of all rows given, which members judge that have not seen them.
    given: GivenTargets | None = None

    @property
    def settings(self) -> Settings:
        return self.kinds[0]

    @property
    def is_judged(self) -> bool:
        """Whether held-out rows judge members."""
        return self.rows.n_splits > 0 or self.rows.has_validation

    @property
    def is_crossfitted(self) -> bool:
        return self.settings.is_crossfitted and self.is_judged

    @property
    def n_paths(self) -> int:
        """How many paths the fit makes, at most."""
        if not self.is_crossfitted:
            return 1
        return sum(n_paths_of(kind, self.rows) for kind in self.kinds) + self._is_refitted

    @property
    def _is_refitted(self) -> bool:
        """Whether the best setting is fitted again, to all rows."""
        return self.is_crossfitted and self.rows.n_splits > 0 and not self.settings.is_ensemble

    @property
    def _n_at_once(self) -> int:
        """How many paths may run at once: one a thread, if they fit into the working memory."""
        room = sklearn.get_config()["working_memory"] * 2**20
        # Kinds take turns.
        n_bytes = sum(map(self.rows.path_bytes, self.kinds)) / len(self.kinds)
        return max(1, min(self.settings.n_threads, int(room / max(1.0, n_bytes))))

    def run(
        self,
        rules: list[StoppingRule],
        arguments: dict[str, object],
        limit: TimeLimit | None = None,
    ) -> Mapping[str, object]:
        """Fit, and return the fitted attributes.

        The arguments are those that scikit-learn's callbacks get.
        """
        self._check_link()
        tasks = FitTasks(arguments, self.n_paths, self.is_crossfitted)
        # What users hand us meets one member at a time.
        runs_users_code = any(settings.runs_users_code for settings in self.kinds)
        n_at_once = 1 if rules or tasks.is_watched or runs_users_code else self._n_at_once
        if limit is not None:
            limit.plan(len(self.kinds), self._is_refitted, n_at_once)
            rules = [*rules, limit]
        line = ProgressLine(int(self.settings.verbose))
        if line.is_heard:
            rules = [line, *rules]
        schedule = Schedule(
            rules,
            self.n_paths,
            tasks,
            self._of_trial,
            n_at_once,
        )
        with closing(line):
            attributes = self._fitted(schedule, limit)
        tasks.close(lambda: attributes)
        return attributes

    def _fitted(self, schedule: Schedule, limit: TimeLimit | None) -> dict[str, object]:
        if not self.is_crossfitted:
            trial = self._single(schedule)
            attributes = self._of_trial(trial)
            return self._corrected(attributes, lambda: trial.held_out(trial.best_member()))
        result = cross_fit(
            self.kinds,
            self.rows,
            # Other draws than those of the folds.
            draw_key(self.state.key),
            schedule,
            limit,
        )
        link = self._link(result.held_out)
        attributes = self._attributes(result.members, result.layouts, link)
        are_folds = result.is_average and self.rows.n_splits > 0
        attributes["_errors_"] = self._errors(result.held_out, are_folds)
        attributes |= self._out_of_fold(result, link)
        return self._corrected(attributes, lambda: result.held_out)

    def _single(self, schedule: Schedule) -> Trial:
        """Fit a single path, which may continue the last one."""
        settings = self.settings
        layout = self.rows.lay_out(settings)
        fit = Fit.of(settings, layout, self.state.key)
        resume = self.state.path
        n_steps = 0 if resume is None else resume.n_steps
        if n_steps > fit.recipe.max_iter:
            raise ValueError(
                f"max_iter={fit.recipe.max_iter} is less than the {n_steps} steps that the fit "
                "continues from: use truncate(k) for a shorter model."
            )
        if settings.is_preset and settings.tunes_steps and layout.judge is None:
            limit = min(fit.recipe.max_iter, _STEPS_OF_PRESETS * fit.k0)
            fit = replace(fit, recipe=replace(fit.recipe, max_iter=max(limit, n_steps)))
        return fit.run(schedule, resume)

    def _check_link(self) -> None:
        """Raise a ValueError for probabilities that are wanted but cannot be had."""
        noise = self.settings.label_noise
        has_formula = isinstance(self.settings.loss, ProbabilityLoss)
        if noise is not None and not isinstance(noise, str):
            check_noise_matrix(noise, self.rows.task.names)
        if noise is not None and not has_formula and self.settings.link != "power":
            raise ValueError(
                f"label_noise needs probabilities, but loss={self.settings.loss} has none: set "
                "link='power', or use loss='squared_hinge'."
            )
        if isinstance(noise, str) and not self.is_judged:
            raise ValueError(
                "label_noise='estimate' needs held-out rows, but there are none: set cv, for "
                "example to 5, or pass X_val and y_val; or pass a matrix."
            )
        if self.settings.link == "power" and not self.is_judged and self.state.link is None:
            raise ValueError(
                "link='power' needs held-out rows, but there are none: set cv, for example to 5, "
                "or validation_fraction, or pass X_val and y_val; or use link='theory'."
            )

    def _of_trial(self, trial: Trial) -> dict[str, object]:
        """Return the fitted attributes of a single path."""
        member = trial.best_member()
        held_out = trial.held_out(member)
        link = self._link(held_out)
        attributes = self._attributes([member], [trial.layout], link)
        attributes["_errors_"] = self._errors(held_out)
        state = replace(self.state, path=trial.traces[0], link=link)
        return attributes | {"_state_": state}

    def _attributes(
        self,
        members: Sequence[Member],
        layouts: Sequence[Layout | None],
        link: PowerLink | None,
    ) -> dict[str, object]:
        """Return the fitted attributes; metrics of members are computed where they have layouts."""
        return {
            **self.rows.task.attributes(link),
            "members_": Members(
                with_metrics(member, layout, link) if isinstance(layout, MemoryLayout) else member
                for member, layout in zip(members, layouts, strict=True)
            ),
            "_loss_": self.settings.loss,
            "_sample_": self.rows.sample(),
            "_state_": self.state,
            "_k0_": theory_steps(self.rows.total_weight),
        }

    def _errors(self, held_out: Sequence[HeldOut], are_folds: bool = False) -> HeldOutErrors | None:
        """Return the errors of held-out rows, if there are any."""
        if not held_out:
            return None
        errors = [self.rows.task.errors(part) for part in held_out]
        return HeldOutErrors.of(errors, are_folds)

    def _corrected(
        self, attributes: dict[str, object], held_out: Callable[[], Sequence[HeldOut]]
    ) -> dict[str, object]:
        """Return the attributes with the correction for wrong labels that is asked for, if any."""
        if self.settings.label_noise is None:
            return attributes
        link = attributes["link_"]
        assert link is None or isinstance(link, PowerLink)
        judged = attributes.get("_judged_")
        known = judged.noise if isinstance(judged, JudgedLabels) else None
        matrix = self._noise_matrix(held_out(), link, known)
        correction = None if matrix is None else Correction.of(matrix, self.settings.loss, link)
        attributes["_correction_"] = correction
        if correction is not None and "oof_decision_function_" in attributes:
            attributes["oof_decision_function_"] -= correction.shift  # type: ignore[operator]
        return attributes

    def _noise_matrix(
        self,
        held_out: Sequence[HeldOut],
        link: PowerLink | None,
        known: LabelNoise | None,
    ) -> Array | None:
        """Return the noise matrix that was given, or is estimated unless it cannot be told."""
        value = self.settings.label_noise
        classes = self.rows.task.names
        if not isinstance(value, str | None):
            return check_noise_matrix(value, classes)
        if known is None:
            decision, codes, weights = (
                np.concatenate(part) for part in zip(*held_out, strict=True)
            )
            known = estimate_noise(
                probabilities_of(
                    self.settings.loss,
                    link,
                    decision[:, 0] if len(classes) == 2 else decision,
                ),
                codes=codes,
                weights=weights,
                trusted=np.zeros(len(codes), dtype=bool),
            )
        wrong = known.wrong()
        rates = 1.0 - np.diag(known.matrix)
        worst = int(rates.argmax())
        # One class that loses more labels than another moves the boundary, even where it is not
        # known how many the other one loses; rates that may be equal need to be known.
        is_uneven = known.likely_low[worst] > rates.min()
        if not is_uneven and not (known.is_known.all() and wrong.is_known):
            text = (
                "label_noise='estimate' corrects nothing, since which labels are wrong cannot be "
                f"told: {100.0 * wrong.low:.0f} to {100.0 * wrong.high:.0f} % of all."
            )
            self.findings.append(Finding("fit", text))
            return None
        # Sums in another order differ in the last digits.
        matrix = known.matrix.round(_DIGITS)
        np.fill_diagonal(matrix, 0.0)
        np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
        return matrix

    def _link(self, held_out: Sequence[HeldOut]) -> PowerLink | None:
        """Return the link to probabilities; None stands for the formula of the loss."""
        settings = self.settings
        has_formula = isinstance(settings.loss, ProbabilityLoss)
        is_default = settings.link == "auto" and settings.is_preset and has_formula
        if not (settings.link == "power" or is_default):
            return None
        return fit_link(held_out) if held_out else self.state.link

    def _out_of_fold(self, result: CrossFit, link: PowerLink | None) -> dict[str, object]:
        """Return the attributes that the rows held out from members give."""
        attributes: dict[str, object] = {"cv_results_": result.results}
        rows = self.rows
        if not isinstance(rows, MemoryRows) or not rows.n_splits:
            return attributes
        decisions = []
        for split, held_out in enumerate(result.held_out):
            uncounted = rows.data.uncounted[rows.uncounted[split]]
            others = decision_of(result.judged_by(split), uncounted)
            decisions.append(np.vstack([held_out.decision, others]))
        decision = rows.out_of_fold(decisions)
        given = rows.as_given(decision)
        decision = decision[: len(rows.divided.weights)]
        is_judged = ~np.isnan(decision[:, 0])
        scored = rows.divided.take(is_judged)
        attributes |= rows.task.out_of_fold(given)
        attributes["oof_score_"] = self._score(decision[is_judged], scored, link)
        # One held-out part judges few of the targets.
        if self.given is None or rows.n_splits == 1:
            return attributes
        # Time may have ended before the last folds.
        folds = rows.judged()[: len(result.held_out)]
        judged = self.given.judged(rows.data, folds, result.is_average)
        if not isinstance(rows.task, Classification):
            return attributes | {"_judged_": judged}
        link = link or fit_link(result.held_out)
        # Time may have ended before some folds.
        is_seen = ~np.isnan(given[:, 0])
        shares = np.full((len(given), len(rows.task.classes)), np.nan)
        seen = given[is_seen]
        seen = seen[:, 0] if rows.task.n_outputs == 1 else seen
        shares[is_seen] = link.probabilities(seen) / rows.task.per_class
        labels = judge_labels(judged, shares, rows.data)
        return attributes | {"label_quality_": labels.quality, "_judged_": labels}

    def _score(
        self,
        decision: Array,
        data: DataSet,
        link: PowerLink | None,
    ) -> float:
        """Return the score of out-of-fold decision values."""
        task = self.rows.task
        if self.settings.scoring is None:
            return task.score(decision, data.target, data.weights)
        score = held_out_score(
            self.settings.scoring,
            data,
            task,
            link,
        )
        return score(decision)


def prepare(
    settings: Settings,
    data: Data,
    last: FitState | None,
    X: Rows,
    y: Labels,
    groups: ArrayLike | None,
    trusted: ArrayLike | None = None,
) -> Job:
    """Return the fit to data in this process, which may continue the last one."""
    train = data.train
    given = GivenTargets.of(y, trusted, data)
    n_rows, n_columns = train.X.shape
    digests = [part.digest() for part in (train, data.validation) if part is not None]
    if groups is not None:
        groups = _checked_groups(groups, settings, data)
        digests.append(_digest(groups, data))
    state = find_state(
        settings,
        (*data.task.names, *digests, n_columns, is_sparse(train.X)),
        data.table_columns,
        last,
    )
    findings = findings_in(data)
    if settings.validation_fraction is not None:
        data = _held_out(
            data,
            groups,
            settings.validation_fraction,
            state.key,
        )
    n_folds = _n_folds(settings, data)
    if n_folds == 1:
        if settings.preset is AUTO:
            findings.append(Finding("fit", _MANY_ROWS))
        settings = settings.without_folds()
    kinds = settings.of_kinds(n_rows, n_columns if is_sparse(train.X) else 0)
    if settings.cv is None or data.validation is not None:
        rows = MemoryRows(data, data.train)
    elif isinstance(settings.cv, str | Integral):
        rows = _divided(
            data,
            groups,
            n_folds,
            state.key,
        )
    else:
        splits = users_splits(
            settings.cv,
            X,
            np.asarray(y),
            groups,
        )
        rows = _users(data, splits, state.key)
    if trusted is not None and rows.n_splits < 2:
        raise ValueError(
            "trusted says which targets are certain, but rows are not divided into folds, so that "
            "none is judged: set cv, for example to 5, without X_val; or leave out trusted."
        )
    return Job(
        kinds,
        rows,
        state,
        findings,
        given,
    )


def _checked_groups(groups: ArrayLike, settings: Settings, data: Data) -> NDArray[np.generic]:
    """Return the groups of all rows; raise a ValueError if they would have no meaning."""
    labels = check_groups(groups, data.n_rows)
    if data.validation is not None:
        raise ValueError(
            "groups say which training rows judge together, but X_val and y_val judge: leave out "
            "one of them."
        )
    if settings.cv is None and settings.validation_fraction is None:
        raise ValueError(
            "groups say which rows judge together, but no rows are held out: set cv, for example "
            "to 5, or validation_fraction; or leave out groups, with metadata routing by "
            "set_fit_request(groups=False)."
        )
    return labels


def _digest(groups: NDArray[np.generic], data: Data) -> hashing.Digest:
    """Return a digest of the groups of the training rows."""
    rows = data.given
    hashes = hashing.mix(rows.row_hashes) + group_hashes(groups)[data.kept]
    return hashing.Digest.of(hashes, rows.target, rows.weights)


def _held_out(
    data: Data,
    groups: NDArray[np.generic] | None,
    fraction: float,
    key: int,
) -> Data:
    """Return the data with a fraction of the training rows, or of their groups, for validation."""
    rows = _divided(
        data,
        groups,
        1,
        key,
        fraction,
    )
    if not rows.splits:
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: each class keeps at "
            "least one distinct row for training, so pass more rows, or X_val and y_val."
        )
    return rows.part(0)


def _divided(
    data: Data,
    groups: NDArray[np.generic] | None,
    n_folds: int,
    key: int,
    share: float = SHARE,
) -> MemoryRows:
    """Return the rows in folds; 1 fold is one held-out part, with a share of the rows."""
    if groups is not None:
        strata = np.full(data.n_rows, -1)
        strata[data.kept] = data.given.strata
        splits = group_folds(
            groups,
            strata,
            n_folds,
            key,
            share,
        )
        return _users(data, splits, key)
    rows = data.train
    splits = one_split(rows, key, share) if n_folds == 1 else hash_folds(rows, n_folds, key)
    return MemoryRows(
        data,
        rows,
        splits,
        _uncounted(data, splits, key),
    )


def _uncounted(data: Data, splits: Sequence[Split], key: int) -> list[Codes]:
    """Return the rows of weight zero that each fold judges: by their hash, or with equal rows."""
    hashes = hashing.fingerprint(data.uncounted)
    folds = _by_hash(hashes, len(splits), key)
    if len(hashes):
        for fold, split in enumerate(splits):
            folds[np.isin(hashes, data.train.row_hashes[split.test])] = fold
    return [np.flatnonzero(folds == fold) for fold in range(len(splits))]


def _by_hash(hashes: hashing.Hashes, n_folds: int, key: int) -> Codes:
    """Return the folds that the hashes of rows name."""
    return (hashing.keyed(hashes, key) % np.uint64(max(1, n_folds))).astype(np.intp)


def _n_folds(settings: Settings, data: Data) -> int:
    """Return the number of folds, if that is asked for; 1 stands for one held-out part."""
    if isinstance(settings.cv, Integral):
        return int(settings.cv)
    if settings.cv != "auto" or data.validation is not None:
        return 0
    if settings.preset.has_one_split:
        return 1
    n_rows, n_columns = data.train.X.shape
    return n_folds_for(n_rows, n_columns, data.task.n_outputs)


def _users(data: Data, splits: Sequence[Split], key: int) -> MemoryRows:
    """Return the rows as given with splits of all rows of X.

    A fold that holds out rows of weight zero alone has no member: other folds, which their hashes
    name, judge them.
    """
    mapped = []
    uncounted = []
    alone = []
    for number, (train, test) in enumerate(splits):
        n_both = len(np.intersect1d(train, test))
        if n_both:
            raise ValueError(
                f"Fold {number} has {n_both} rows in its training part that it also holds out: "
                "members are judged by rows that they have not seen."
            )
        part = Split(_among(data.kept, train, data.n_rows), _among(data.kept, test, data.n_rows))
        target = data.given.target[part.train]
        data.task.check_part(target, f"The training part of fold {number}")
        others = _among(data.others, test, data.n_rows)
        if len(part.test):
            mapped.append(part)
            uncounted.append(others)
        else:
            alone.append(others)
    if not mapped:
        raise ValueError("cv holds out no row of positive weight: give some fold such rows.")
    if alone:
        rows = np.setdiff1d(np.concatenate(alone), np.concatenate(uncounted))
        folds = _by_hash(hashing.fingerprint(data.uncounted[rows]), len(mapped), key)
        for fold in range(len(mapped)):
            uncounted[fold] = np.append(uncounted[fold], rows[folds == fold])
    return MemoryRows(
        data,
        data.given,
        mapped,
        uncounted,
    )


def _among(rows: Codes, chosen: Codes, n_rows: int) -> Codes:
    """Return the positions of chosen rows of X among some of its rows, if they are there."""
    positions = np.full(n_rows, -1)
    positions[rows] = np.arange(len(rows))
    found: Codes = positions[chosen]
    return found[found >= 0]
