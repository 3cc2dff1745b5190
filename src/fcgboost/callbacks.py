"""Callbacks: plain stopping rules everywhere, scikit-learn's where the installed one has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from fcgboost.greedy import Trace, Watcher
from fcgboost.stopping import Status, Step, StoppingRule

__all__ = ["CallbackSupport", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks

    HAS_SKLEARN_CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    HAS_SKLEARN_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    class FitCallback:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks; nothing is an instance of it."""

    def with_callbacks(method: Any) -> Any:
        """Stand in where scikit-learn has no callbacks."""
        return method


class CallbackSupport(CallbackSupportMixin):
    """Lets an estimator carry stopping rules and scikit-learn callbacks."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set what is called after every step.

        Parameters
        ----------
        *callbacks : stopping rules or scikit-learn callbacks
            A stopping rule takes a `Step` and returns a `Status` or True to end the fit, None
            or False to go on. scikit-learn's callbacks need scikit-learn 1.9. No arguments
            remove all callbacks.
        """
        from_sklearn = [c for c in callbacks if isinstance(c, FitCallback)]
        rules = [c for c in callbacks if not isinstance(c, FitCallback)]
        for rule in rules:
            if not callable(rule) or isinstance(rule, type):
                raise TypeError(
                    "A callback must be a function of a Step or an instance of scikit-learn's "
                    f"FitCallback (scikit-learn 1.9 or later), got {rule!r}."
                )
        if HAS_SKLEARN_CALLBACKS:
            super().set_callbacks(*from_sklearn)
        self._stopping_rules = rules
        return self

    def stopping_rules(self) -> list[StoppingRule]:
        """Give the plain rules."""
        return [_as_rule(rule) for rule in vars(self).get("_stopping_rules", [])]

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        if "_stopping_rules" in vars(self):
            twin._stopping_rules = self._stopping_rules
        return twin

    def watch_fit(
        self, max_iter: int, data: dict[str, Any], attributes: Callable[[Trace], dict[str, Any]]
    ) -> tuple[Watcher | None, Callable[[Trace], None]]:
        """Open scikit-learn's callback context.

        Returns
        -------
        watcher : callable or None
            To be called after every step.
        close : callable
            To be called with the path once the fit is done.
        """
        if not vars(self).get("_skl_callbacks"):
            return None, lambda trace: None
        context = self._init_callback_context(max_subtasks=max_iter)
        context.call_on_fit_task_begin(estimator=self, **data)

        def watch(step: Step, path: Callable[[], Trace]) -> Status | None:
            task = context.subcontext(task_name=f"step {step.k}")
            task.call_on_fit_task_begin(estimator=self, **data)
            stop = task.call_on_fit_task_end(
                estimator=self, **data, reconstruction_attributes=lambda: attributes(path())
            )
            return Status.CALLBACK if stop else None

        def close(trace: Trace) -> None:
            context.call_on_fit_task_end(
                estimator=self, **data, reconstruction_attributes=lambda: attributes(trace)
            )

        return watch, close


def _as_rule(callback: Callable[[Step], Any]) -> StoppingRule:
    """Let a callback answer with True as well as with a Status."""

    def rule(step: Step) -> Status | None:
        answer = callback(step)
        if isinstance(answer, Status):
            return answer
        return Status.CALLBACK if answer else None

    return rule
