"""The server of the page: on this machine only, for browsers that were invited."""

from __future__ import annotations

import math
import os
import threading
import webbrowser
from importlib.resources import files
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Self

from fcgboost.playground.desk import Desk
from fcgboost.playground.gate import Gate
from fcgboost.playground.handler import ADDRESS, Handler

MOST_CONNECTIONS = 32
# The address is in the list of processes when a browser is started with it.
_OPENING_SECONDS = 60.0
_RESOURCES = ("page.html", "page.css", "drawing.js", "page.js")
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Server(ThreadingMixIn, TCPServer):
    """Listens on 127.0.0.1, and answers a limited number of connections at a time.

    http.server's own class looks up the machine's name, which can take seconds.

    Parameters
    ----------
    port : int
        0 is any that is free.
    """

    daemon_threads = True
    # Elsewhere this only skips the minutes after a server has ended; on Windows it would let
    # another program listen on the same port.
    allow_reuse_address = os.name != "nt"
    request_queue_size = 2 * MOST_CONNECTIONS

    def __init__(self, port: int) -> None:
        self.gate = Gate()
        self.desk = Desk()
        folder = files("fcgboost.playground")
        self.resources = {name: (folder / name).read_text("utf-8") for name in _RESOURCES}
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((ADDRESS, port), Handler)

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection its thread, or turn it away."""
        if not self._room.acquire(blocking=False):
            request.sendall(_FULL)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()


class Playground:
    """A playground that runs while the context is open.

    Parameters
    ----------
    port : int, default=0
        0 is any that is free.

    Attributes
    ----------
    url : str
        The address of the page, for browsers that were let in before. Only inside the context.

    Examples
    --------
    >>> with Playground() as playground:
    ...     print(playground.url.partition(":")[0])
    http
    """

    url: str

    def __init__(self, port: int = 0) -> None:
        if not isinstance(port, int) or not 0 <= port <= 65535:
            raise ValueError(f"port must be a whole number from 0 to 65535, got {port!r}.")
        self.port = port

    def __enter__(self) -> Self:
        try:
            self._server = Server(self.port)
        except OSError as error:
            raise OSError(
                f"Port {self.port} of {ADDRESS} can not be used ({error.strerror}): choose "
                "another one, or 0 for any that is free."
            ) from error
        self.url = f"http://{ADDRESS}:{self._server.port}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="playground", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.desk.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def invite(self, seconds: float = math.inf) -> str:
        """Give an address that lets one browser in.

        Parameters
        ----------
        seconds : float, default=inf
            How long it does, if it is not used before.
        """
        return f"{self.url}?ticket={self._server.gate.issue(seconds)}"

    def wait(self) -> None:
        """Wait until Ctrl-C, which raises KeyboardInterrupt."""
        while self._thread.is_alive():
            self._thread.join(0.5)  # without a limit, Windows would not hear of Ctrl-C


def serve(port: int = 0, *, open_browser: bool = True) -> None:
    """Serve the playground to this machine until Ctrl-C.

    Parameters
    ----------
    port : int, default=0
        0 is any that is free.
    open_browser : bool, default=True
        Whether the page is opened in the browser; an address is printed in any case.
    """
    with Playground(port) as playground:
        print(
            f"The playground is at {playground.invite()}\nThis address lets one browser in, which "
            f"may then open {playground.url} as often as it likes.\nCtrl-C ends it.",
            flush=True,
        )
        if open_browser:
            webbrowser.open(playground.invite(_OPENING_SECONDS))
        try:
            playground.wait()
        except KeyboardInterrupt:
            print("\nThe playground has ended.", flush=True)
