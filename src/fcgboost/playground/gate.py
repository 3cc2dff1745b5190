"""Who may come in: a ticket opens the page once, and gives its browser a token to stay with.

An address can be seen by others: in the list of processes while a browser is started with it, in
the browser's history, on the screen. So it holds a ticket, which is worth nothing after its use.
"""

from __future__ import annotations

import hmac
import math
import secrets
import threading
import time


class Gate:
    """The tickets and the token of one playground."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._ends: dict[str, float] = {}
        self._changing = threading.Lock()

    def issue(self, seconds: float = math.inf) -> str:
        """Give a new ticket, valid for one use within some time."""
        ticket = secrets.token_urlsafe(32)
        with self._changing:
            self._ends[ticket] = time.monotonic() + seconds
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """Give the token for a ticket that is valid, and make it invalid."""
        with self._changing:
            end = self._ends.pop(ticket, -math.inf)
        return self._token if time.monotonic() < end else None

    def knows(self, token: str) -> bool:
        """Tell whether a token is the right one."""
        return hmac.compare_digest(token.encode(), self._token.encode())
