"""Callbacks: stopping rules, and scikit-learn's callbacks if its version has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from fcgboost.greedy.loop import Watcher
from fcgboost.greedy.path import Trace
from fcgboost.stopping import Status, Step, StoppingRule

__all__ = ["CallbackSupport", "watch_fit", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stores callbacks and passes them to clones."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            self._skl_callbacks = list(callbacks)
            return self

        def __sklearn_clone__(self) -> Self:
            twin: Self = super().__sklearn_clone__()  # type: ignore[misc]
            return twin.set_callbacks(*vars(self).get("_skl_callbacks", []))

    class FitCallback:  # type: ignore[no-redef]
        """A stand-in without instances."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


class Rule(FitCallback):
    """A stopping rule stored among scikit-learn's callbacks, which clones share."""

    def __init__(self, function: Callable[[Step], Any]) -> None:
        self.function = function

    def __call__(self, step: Step) -> Status | None:
        answer = self.function(step)
        if isinstance(answer, Status):
            return answer
        return Status.CALLBACK if answer else None

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing, here and below: the loop calls the rule, not scikit-learn."""

    teardown = on_fit_task_begin = on_fit_task_end = setup


class CallbackSupport(CallbackSupportMixin):
    """Lets an estimator carry stopping rules and scikit-learn callbacks."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks that are called after every step.

        Parameters
        ----------
        *callbacks : stopping rules or scikit-learn callbacks
            A stopping rule takes a `Step` and returns a `Status` or True to end the fit, None or
            False to continue. scikit-learn's callbacks need scikit-learn 1.9. Without arguments all
            callbacks are removed. Clones share callbacks, so these should keep no state of a fit.
        """
        for callback in callbacks:
            is_fit_callback = isinstance(callback, FitCallback)
            if isinstance(callback, type) or not (is_fit_callback or callable(callback)):
                raise TypeError(
                    "A callback must be a function of a Step or an instance of scikit-learn's "
                    f"FitCallback (scikit-learn 1.9 or later), got {callback!r}."
                )
        super().set_callbacks(*(c if isinstance(c, FitCallback) else Rule(c) for c in callbacks))
        return self

    def stopping_rules(self) -> list[StoppingRule]:
        """Return the stopping rules among the callbacks."""
        return [c for c in vars(self).get("_skl_callbacks", ()) if isinstance(c, Rule)]


def watch_fit(
    max_iter: int, data: dict[str, Any], attributes: Callable[[Trace], dict[str, Any]]
) -> tuple[Watcher | None, Callable[[Trace], None]]:
    """Open scikit-learn's callback context of the estimator.

    Return the function to call after every step, if any, and the one to call at the end.
    """
    estimator = data["estimator"]
    if len(estimator.stopping_rules()) == len(vars(estimator).get("_skl_callbacks", ())):
        return None, lambda trace: None
    context = estimator._init_callback_context(max_subtasks=max_iter)
    context.call_on_fit_task_begin(**data)

    def end(task: Any, path: Callable[[], Trace]) -> Any:
        fitted = {"reconstruction_attributes": lambda: attributes(path())}
        return task.call_on_fit_task_end(**data, **fitted)

    def watch(step: Step, path: Callable[[], Trace]) -> Status | None:
        task = context.subcontext(task_name=f"step {step.k}")
        task.call_on_fit_task_begin(**data)
        return Status.CALLBACK if end(task, path) else None

    return watch, lambda trace: end(context, lambda: trace)
