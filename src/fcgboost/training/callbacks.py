"""Callbacks: stopping rules, and scikit-learn's callbacks if its version has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from fcgboost.greedy.loop import Watcher
from fcgboost.greedy.path import Trace
from fcgboost.stopping import Status, Step, StoppingRule

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

__all__ = ["CallbackSupport", "FitTasks", "with_callbacks"]

T = TypeVar("T")

try:
    from sklearn.callback import CallbackSupportMixin, FitCallback
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stores callbacks and passes them to clones."""

        def set_callbacks(self, *callbacks: Callable[[Step], object] | FitCallback) -> Self:
            self._skl_callbacks = list(callbacks)
            return self

        def __sklearn_clone__(self) -> Self:
            twin: Self = super().__sklearn_clone__()  # type: ignore[misc]
            return twin.set_callbacks(*vars(self).get("_skl_callbacks", []))

    class FitCallback:  # type: ignore[no-redef]
        """A stand-in without instances."""

    def _with_callbacks(method: T) -> T:
        return method


def with_callbacks(method: T) -> T:
    """Let scikit-learn's callbacks watch a method, whose type stays the same."""
    watched: T = _with_callbacks(method)
    return watched


@dataclass(eq=False)
class Rule(FitCallback):
    """A stopping rule stored among scikit-learn's callbacks, which clones share."""

    function: Callable[[Step], object]

    def __call__(self, step: Step) -> Status | None:
        answer = self.function(step)
        if isinstance(answer, Status):
            return answer
        return Status.CALLBACK if answer else None

    def setup(self, estimator: object, context: object) -> None:
        """Do nothing, here and below: the loop calls the rule, not scikit-learn."""

    teardown = on_fit_task_begin = on_fit_task_end = setup


class CallbackSupport(CallbackSupportMixin):
    """Lets an estimator carry stopping rules and scikit-learn callbacks."""

    def set_callbacks(self, *callbacks: Callable[[Step], object] | FitCallback) -> Self:
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


class FitTasks:
    """What scikit-learn's callbacks watch: a fit, its paths if there may be several, their steps.

    The arguments are those of `fit`, as the callbacks get them.
    """

    def __init__(self, arguments: dict[str, object], n_paths: int, has_paths: bool) -> None:
        estimator = arguments["estimator"]
        assert isinstance(estimator, CallbackSupport)
        self._arguments = arguments
        self._estimator = estimator
        self._has_paths = has_paths
        self._n_begun = 0
        self._root: CallbackContext | None = None
        self._current: CallbackContext | None = None
        n_callbacks = len(vars(estimator).get("_skl_callbacks", ()))
        #: Whether there are any.
        self.is_watched = len(estimator.stopping_rules()) < n_callbacks
        if self.is_watched and has_paths:
            self._begin_fit(n_paths)

    def _begin_fit(self, n_subtasks: int) -> None:
        root = self._estimator._init_callback_context(max_subtasks=n_subtasks)
        self._root = self._current = root
        self._begin(root)

    def begin_path(
        self, max_iter: int, attributes: Callable[[Trace], dict[str, object]]
    ) -> Watcher | None:
        """Begin a path; return the function to call after every step, if any."""
        if not self.is_watched:
            return None
        self._n_begun += 1
        if self._root is None:
            # The subtasks of a single path are its steps.
            self._begin_fit(max_iter)
        elif self._has_paths:
            name = f"member {self._n_begun}"
            self._current = self._root.subcontext(name, max_subtasks=max_iter)
            self._begin(self._current)

        def watch(step: Step, path: Callable[[], Trace]) -> Status | None:
            assert self._current is not None
            task = self._current.subcontext(task_name=f"step {step.k}")
            self._begin(task)
            return Status.CALLBACK if self._end(task, lambda: attributes(path())) else None

        return watch

    def end_path(self, attributes: Callable[[], dict[str, object]]) -> None:
        """End a path."""
        if self._current is not None and self._has_paths:
            self._end(self._current, attributes)

    def close(self, attributes: Callable[[], dict[str, object]]) -> None:
        """End the fit."""
        if self.is_watched and self._root is None:
            # A path that goes on may have all its steps.
            self._begin_fit(0)
        if self._root is not None:
            self._end(self._root, attributes)

    def _begin(self, task: CallbackContext) -> None:
        task.call_on_fit_task_begin(**self._arguments)

    def _end(self, task: CallbackContext, attributes: Callable[[], dict[str, object]]) -> bool:
        fitted = {"reconstruction_attributes": attributes}
        return bool(task.call_on_fit_task_end(**self._arguments, **fitted))
