"""One fit at a time: tabs of the page wait in line, and of a tab only the newest request counts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fcgboost.playground.fits import Fit
from fcgboost.playground.settings import Settings

# Settings one comes back to; each holds a few megabytes at most.
_N_KEPT = 8


class SupersededError(Exception):
    """The same tab has sent a newer request, or the playground is closing."""


@dataclass(frozen=True, eq=False)
class Request:
    """One request of a tab; two are never equal."""

    tab: str
    settings: Settings
    order: int = 0


class Desk:
    """Where requests of several threads meet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # Those that somebody waits for, one of each tab.
        self._newest: dict[str, Request] = {}
        # In order of coming in; the first one is in work.
        self._line: list[Request] = []
        self._kept: OrderedDict[Settings, Fit] = OrderedDict()

    @contextmanager
    def turn(self, settings: Settings, tab: str = "", order: int = 0) -> Iterator[Fit]:
        """Give the fit of some settings; no other one is made while the context is open.

        What is computed beside a fit that begins can slow it down many times.

        Parameters
        ----------
        settings : Settings
        tab : str
        order : int
            Requests of a tab may come in otherwise than they were sent: the highest is the newest,
            of equals the last to come in.

        Raises
        ------
        SupersededError
            If there is a newer request of the same tab, or one comes in before it is done.
        """
        request = Request(tab, settings, order)
        with self._changed:
            if tab in self._newest and self._newest[tab].order > order:
                raise SupersededError
            self._newest[tab] = request
            self._line.append(request)
            self._changed.notify_all()
        try:
            kept = self._kept_fit(settings)
            # What the clock has cut is fitted again.
            yield self._new_fit(request) if kept is None or kept.is_cut else kept
        finally:
            self._leave(request)

    def fit(self, settings: Settings, tab: str = "", order: int = 0) -> Fit:
        """Give the fit of some settings, as `turn` does."""
        with self.turn(settings, tab, order) as fit:
            return fit

    def step(self, settings: Settings, tab: str = "", order: int = 0) -> Fit:
        """Give a fit to look at one of its steps: a kept one disturbs nobody."""
        # In a line of its own: a step that was asked for does not end the tab's next fit.
        return self._kept_fit(settings) or self.fit(settings, f"step of {tab}", order)

    def close(self) -> None:
        """Drop the fit in work and all that wait."""
        with self._changed:
            self._newest.clear()
            self._changed.notify_all()

    def _is_stale(self, request: Request) -> bool:
        return self._newest.get(request.tab) is not request

    def _kept_fit(self, settings: Settings) -> Fit | None:
        with self._changed:
            fit = self._kept.get(settings)
            if fit is not None:
                self._kept.move_to_end(settings)
            return fit

    def _new_fit(self, request: Request) -> Fit:
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
        """Keep a fit; of two that were cut the longer one, which has the steps of both."""
        kept = self._kept.get(fit.settings)
        if kept is None or kept.n_steps <= fit.n_steps:
            self._kept[fit.settings] = fit
        self._kept.move_to_end(fit.settings)
        while len(self._kept) > _N_KEPT:
            self._kept.popitem(last=False)

    def _leave(self, request: Request) -> None:
        with self._changed:
            self._line.remove(request)
            if not self._is_stale(request):
                del self._newest[request.tab]
            self._changed.notify_all()
