"""The playground's server: local, for invited browsers only.

It answers four kinds of requests, from its own page only, and no files. A page of another site may
send requests to 127.0.0.1 from the same browser, and a name of its own may lead there: so the host
must be ours, and an origin that is named must be ours. The page itself holds nothing but the
package's own text; whoever wants a fit must know a token, which the page gets for a ticket.
An address can be seen by others: in the list of processes while a browser is started with it, in
the browser's history, on the screen. So it holds the ticket, which is worth nothing after its use.
"""

from __future__ import annotations

import hmac
import json
import math
import os
import secrets
import socket
import threading
import time
import webbrowser
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Self

from fcgboost.web.fits import FitQueue
from fcgboost.web.page import playground_page
from fcgboost.web.settings import FitRequest, RefusalError, Settings, read_json, read_request

ADDRESS = "127.0.0.1"
TOKEN_HEADER = "X-Fcgboost-Token"
MOST_CONNECTIONS = 32
#: Settings are a few hundred bytes.
MOST_BYTES = 4096
#: How long a request may take to come in, all of it, and then its answer to go out.
REQUEST_SECONDS = 5.0
# How long the body of a refused request is read after the answer: a connection that is closed on
# unread bytes may lose it.
_LINGER_SECONDS = 1.0
# The address is in the list of processes when a browser is started with it.
_OPENING_SECONDS = 60.0
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NO_PAGE = "default-src 'none'; frame-ancestors 'none'"


class Handler(BaseHTTPRequestHandler):
    """Answers one request of one connection."""

    server: Playground
    timeout = REQUEST_SECONDS
    server_version = "fcgboost"
    sys_version = ""
    _is_read = False

    def handle(self) -> None:
        """Turn a connection away if there are too many, else limit the time of its request.

        A socket's timeout begins anew with every byte.
        """
        if not self.server.free.acquire(blocking=False):
            self.wfile.write(_FULL)
            return
        self._deadline = threading.Timer(self.timeout, self._hang_up)
        self._deadline.daemon = True
        self._deadline.start()
        try:
            super().handle()
        finally:
            self._deadline.cancel()
            self.server.free.release()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self) -> None:
        with suppress(ConnectionError, TimeoutError):  # who asked has gone
            try:
                self._check_sender()
                self._route()
            except RefusalError as refusal:
                self._send_json({"error": str(refusal)}, refusal.status)
                self._linger()
            except Exception as error:
                if not isinstance(error, ConnectionError | TimeoutError):
                    self._send_json({"error": "The playground failed; see its terminal."}, 500)
                raise  # the server prints it there

    def _check_sender(self) -> None:
        hosts = {f"{ADDRESS}:{self.server.port}", f"localhost:{self.server.port}"}
        if self.headers.get_all("Host", []) not in [[host] for host in hosts]:
            raise RefusalError(f"The playground is at {ADDRESS}, no other host.", 421)
        if not set(self.headers.get_all("Origin", [])) <= {f"http://{host}" for host in hosts}:
            raise RefusalError("The playground answers its own page only.", 403)

    def _route(self) -> None:
        path = self.path.partition("?")[0]
        routes = {
            "/": ("GET", self._send_page),
            "/enter": ("POST", self._send_token),
            "/fit": ("POST", self._send_fit),
            "/step": ("POST", self._send_step),
        }
        if path not in routes:
            raise RefusalError("The playground has no such page.", 404)
        method, answer = routes[path]
        if self.command != method:
            raise RefusalError(f"{path} takes {method} only.", 405)
        answer()

    def _send_page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        page = self.server.page.replace("NONCE", nonce)
        self._send(page.encode(), "text/html; charset=utf-8", policy=_POLICY.format(nonce))

    def _send_token(self) -> None:
        document = self._read_json()
        ticket = document.get("ticket") if isinstance(document, dict) else None
        if not isinstance(ticket, str) or not self.server.redeem(ticket):
            raise RefusalError("The ticket is wrong or has been used.", 403)
        self._send_json({"token": self.server.token})

    def _send_fit(self) -> None:
        request = self._read_request()
        with self.server.queue.turn(request) as fit:
            answer = {**fit.summary(), "step": fit.step(request.k)}
        self._send_json(answer)

    def _send_step(self) -> None:
        request = self._read_request()
        self._send_json({"step": self.server.queue.step(request).step(request.k)})

    def _read_request(self) -> FitRequest:
        token = self.headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusalError("The token is missing or wrong.", 403)
        return read_request(self._read_json())

    def _read_json(self) -> Any:
        if self.headers.get_content_type() != "application/json":
            raise RefusalError("The body must be application/json.", 415)
        sizes = self.headers.get_all("Content-Length", [])
        # Ten digits are enough to be too large.
        is_number = len(sizes) == 1 and sizes[0].isdecimal() and len(sizes[0]) <= 10
        if not is_number or "Transfer-Encoding" in self.headers:
            raise RefusalError("The request must say its Content-Length.", 411)
        if int(sizes[0]) > MOST_BYTES:
            raise RefusalError(f"The body has more than {MOST_BYTES} bytes.", 413)
        body = self.rfile.read(int(sizes[0]))
        self._is_read = True
        self._deadline.cancel()
        return read_json(body)

    def _linger(self) -> None:
        """Read a body for a moment, so that a client that is still sending gets the answer."""
        has_body = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        end = time.monotonic() + _LINGER_SECONDS
        if has_body and not self._is_read:
            self.connection.settimeout(_LINGER_SECONDS)
            with suppress(OSError):  # who sent has gone, or goes on sending
                self.connection.shutdown(socket.SHUT_WR)
                while time.monotonic() < end and self.connection.recv(1 << 16):
                    pass

    def _send_json(self, document: Any, status: int = 200) -> None:
        content = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
        self._send(content, "application/json", status)

    def _send(self, content: bytes, kind: str, status: int = 200, policy: str = _NO_PAGE) -> None:
        self._deadline.cancel()
        self.send_response(status)
        headers = {"Content-Security-Policy": policy, "Content-Type": kind}
        for name, value in (_HEADERS | headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer invalid HTTP; the standard page would echo what was sent."""
        self.command = self.command or ""
        self._send_json({"error": HTTPStatus(code).phrase}, code)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a line could hold a ticket."""


# http.server looks for a method of this name for every method of HTTP.
for _name in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"):
    setattr(Handler, f"do_{_name}", Handler.answer)


class Playground(ThreadingMixIn, TCPServer):
    """A playground on 127.0.0.1 that serves while its context is open.

    It takes a limited number of connections at a time. http.server's own class looks up the
    machine's name, which can take seconds.

    Parameters
    ----------
    port : int, default=0
        0 is any free port.

    Attributes
    ----------
    port : int
        Where it listens.
    url : str
        The address of the page, for browsers that were let in before.

    Examples
    --------
    >>> with Playground() as playground:
    ...     print(playground.url.partition(":")[0])
    http
    """

    daemon_threads = True
    # Elsewhere this only skips the minutes after a server has ended; on Windows it would let
    # another program listen on the same port.
    allow_reuse_address = os.name != "nt"
    request_queue_size = 2 * MOST_CONNECTIONS

    def __init__(self, port: int = 0) -> None:
        if not isinstance(port, int) or not 0 <= port <= 65535:
            raise ValueError(f"port must be a whole number from 0 to 65535, got {port!r}.")
        self.queue = FitQueue()
        self.page = playground_page(asdict(Settings()))
        self.token = secrets.token_urlsafe(32)
        self._tickets: dict[str, float] = {}
        self.free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise OSError(
                f"Port {port} of {ADDRESS} cannot be used ({error.strerror}): choose another one, "
                "or 0 for any free port."
            ) from error
        self.port = int(self.server_address[1])
        self.url = f"http://{ADDRESS}:{self.port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.queue.close()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def invite(self, seconds: float = math.inf) -> str:
        """Return an address with a ticket, which admits one browser within some time."""
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = time.monotonic() + seconds
        return f"{self.url}?ticket={ticket}"

    def redeem(self, ticket: str) -> bool:
        """Return whether a ticket is valid, and invalidate it."""
        return time.monotonic() < self._tickets.pop(ticket, -math.inf)


def serve(port: int = 0, *, open_browser: bool = True) -> None:
    """Serve the playground on this machine until Ctrl-C.

    Parameters
    ----------
    port : int, default=0
        0 is any free port.
    open_browser : bool, default=True
        Whether to open the page in the browser; its address is printed in any case.
    """
    with Playground(port) as playground:
        print(
            f"The playground is at {playground.invite()}\nThis address admits one browser, which "
            f"may then open {playground.url} at any time.\nPress Ctrl-C to stop.",
            flush=True,
        )
        if open_browser:
            webbrowser.open(playground.invite(_OPENING_SECONDS))
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(0.5)  # without an end, Windows would not hear of Ctrl-C
        print("\nThe playground has stopped.", flush=True)
