"""Reading by the clock: a sender that drips its bytes has no more time than a silent one."""

from __future__ import annotations

import io
import socket
import time
from typing import Any


class TimedReader(io.RawIOBase):
    """The bytes of a connection, until a deadline.

    A socket's own timeout begins anew with every byte.

    Parameters
    ----------
    connection : socket
    seconds : float
        From now on.
    """

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self.allow(seconds)

    def allow(self, seconds: float) -> None:
        """Set the deadline anew."""
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come, or wait for it.

        Raises
        ------
        TimeoutError
            At the deadline.
        """
        rest = self._end - time.monotonic()
        if rest <= 0.0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(rest)
        return self._connection.recv_into(buffer)
