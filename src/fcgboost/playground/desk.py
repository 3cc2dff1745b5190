"""One fit at a time: the newest request is worked on, older ones are dropped."""

from __future__ import annotations

import threading
from collections import OrderedDict

from fcgboost.playground.fits import Fit
from fcgboost.playground.settings import Settings

# Settings one comes back to; each holds a few megabytes at most.
_N_KEPT = 8


class SupersededError(Exception):
    """A newer request has come in, or the playground is closing."""


class Desk:
    """Where requests of several threads meet."""

    def __init__(self) -> None:
        self._state = threading.Lock()
        self._working = threading.Lock()
        self._newest = 0
        self._kept: OrderedDict[Settings, Fit] = OrderedDict()

    def fit(self, settings: Settings) -> Fit:
        """Give the fit of some settings.

        Raises
        ------
        SupersededError
            If another request comes in before it is done.
        """
        with self._state:
            self._newest += 1
            ticket = self._newest
        return self._kept_fit(settings) or self._new_fit(settings, ticket)

    def step(self, settings: Settings) -> Fit:
        """Give a fit to look at one of its steps: a kept one disturbs nobody."""
        return self._kept_fit(settings) or self.fit(settings)

    def close(self) -> None:
        """Drop the fit in work and all that wait."""
        with self._state:
            self._newest += 1

    def _kept_fit(self, settings: Settings) -> Fit | None:
        with self._state:
            fit = self._kept.get(settings)
            if fit is not None:
                self._kept.move_to_end(settings)
            return fit

    def _new_fit(self, settings: Settings, ticket: int) -> Fit:
        def is_stale() -> bool:
            return ticket != self._newest

        with self._working:
            if is_stale():
                raise SupersededError
            fit = Fit(settings, is_stale)
        with self._state:
            if is_stale():
                raise SupersededError
            self._kept[settings] = fit
            while len(self._kept) > _N_KEPT:
                self._kept.popitem(last=False)
        return fit
