"""One path: run the loop on laid-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fcgboost.designs.base import Design
from fcgboost.greedy.choice import Recipe
from fcgboost.greedy.loop import fit_path
from fcgboost.greedy.path import Trace
from fcgboost.selection.fixed import default_selection
from fcgboost.stopping import NoImprovement, Status, StoppingRule, theory_steps
from fcgboost.training.layout import Layout
from fcgboost.training.schedule import Schedule
from fcgboost.training.settings import Settings
from fcgboost.training.trials import Trial

# Where ridges are compared, this one leads the path: its residuals decide which atoms are learned.
_LEADER = 1


def make_recipe(settings: Settings, design: Design, key: int, is_scored: bool = False) -> Recipe:
    """Return the recipe for a design, filling in what depends on the size of the data."""
    m = design.total_weight
    selection = settings.selection
    n_candidates = 0
    if selection is None or selection.is_fixed:
        n_candidates = int(settings.n_candidates or design.n_distinct)
    return Recipe(
        loss=settings.loss,
        scheme=settings.scheme,
        selection=default_selection(m, n_candidates) if selection is None else selection,
        n_candidates=n_candidates,
        max_iter=settings.n_steps(m, is_scored),
        l2=settings.ridge(m),
        fit_intercept=settings.fit_intercept,
        normalize=settings.normalize,
        reselect=settings.reselect,
        tol=settings.tol,
        key=key,
        removal=settings.removal,
    )


@dataclass(frozen=True)
class Fit:
    """A path to be fitted. It ends after `patience` steps without a better score."""

    settings: Settings
    layout: Layout
    recipe: Recipe
    patience: int | None = None
    #: The number of the fold that judges it, or of its draw, from 1, if any.
    fold: int | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        layout: Layout,
        key: int,
        fold: int | None = None,
    ) -> Fit:
        """Return the path that settings ask for."""
        recipe = make_recipe(
            settings,
            layout.design,
            key,
            layout.validator is not None,
        )
        return cls(
            settings,
            layout,
            recipe,
            settings.n_iter_no_change,
            fold,
        )

    @property
    def k0(self) -> int:
        return theory_steps(self.layout.design.total_weight)

    def with_ridges(self) -> Fit:
        """Return a fit that corrects the same atoms for all ridges to choose from."""
        others = self.settings.ridges(self.layout.design.total_weight)
        leader = others.pop(min(_LEADER, len(others) - 1))
        return replace(self, recipe=replace(self.recipe, l2=leader, other_l2=tuple(others)))

    def run(self, schedule: Schedule, resume: Trace | None = None) -> Trial:
        """Run the loop with the rules of the settings and the user's."""
        rules: list[StoppingRule] = []
        if self.patience is not None:
            rules.append(NoImprovement(int(self.patience)))
        endings = [rule(step) for rule in rules for step in resume or ()]
        if resume and endings and endings[-1] is not None:
            return self._trial([resume], endings[-1])
        validator = self.layout.validator
        with schedule.path(self.recipe.max_iter, self.fold) as watching:
            traces, status = fit_path(
                self.layout.design,
                self.layout.targets,
                self.recipe,
                rules + watching,
                validator and validator.fresh(),
                schedule.tasks.begin_path(
                    self.recipe.max_iter,
                    lambda trace: schedule.attributes(self._trial([trace], Status.CALLBACK)),
                ),
                resume,
            )
        trial = self._trial(traces, status)
        schedule.tasks.end_path(lambda: schedule.attributes(trial))
        return trial

    def _trial(self, traces: list[Trace], status: Status) -> Trial:
        # A callback sees the leader alone.
        ridges = [self.recipe.l2, *self.recipe.other_l2][: len(traces)]
        leader = min(_LEADER, len(traces) - 1)
        ridges.insert(leader, ridges.pop(0))
        traces.insert(leader, traces.pop(0))
        return Trial(
            settings=self.settings,
            task=self.layout.task,
            view=self.layout.view,
            judge=self.layout.judge,
            k0=self.k0,
            ridges=ridges,
            traces=traces,
            status=status,
            layout=self.layout if self.settings.metrics else None,
        )
