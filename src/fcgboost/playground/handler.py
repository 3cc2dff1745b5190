"""What is answered: four kinds of requests, from our own page only, and no files.

A page of another site may send requests to 127.0.0.1 from the same browser, and a name of its own
may lead there. So the host must be ours, and an origin that is named must be ours. The page itself
holds nothing but the package's own text; whoever wants a fit must know the token.
"""

from __future__ import annotations

import io
import json
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from fcgboost.playground.clock import TimedReader
from fcgboost.playground.desk import SupersededError
from fcgboost.playground.settings import SettingError, Wish, read_wish

if TYPE_CHECKING:
    from fcgboost.playground.server import Server

ADDRESS = "127.0.0.1"
TOKEN_HEADER = "X-Fcgboost-Token"
#: Settings are a few hundred bytes.
MOST_BYTES = 4096
#: How long a request may take to come in, all of it, and then its answer to go out.
REQUEST_SECONDS = 5.0
# How long the body of a refused request is read after the answer: a connection that is closed on
# unread bytes may lose it.
_LINGER_SECONDS = 1.0
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


class RefusalError(Exception):
    """A request that is answered with an error and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """Answers one request of one connection."""

    server: Server
    timeout = REQUEST_SECONDS
    server_version = "fcgboost"
    sys_version = ""
    _is_read = False

    def setup(self) -> None:
        """Read by the clock."""
        super().setup()
        self._reader = TimedReader(self.connection, self.timeout)
        self.rfile = io.BufferedReader(self._reader)

    def answer(self) -> None:
        """Answer a request of any method."""
        try:
            self._answer_or_refuse()
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # who asked has gone
        except Exception:
            self._send_json({"error": "The playground failed; see its terminal."}, status=500)
            raise  # the server prints it there

    def _answer_or_refuse(self) -> None:
        try:
            self._check_sender()
            self._route()()
        except RefusalError as refusal:
            self._refuse(refusal)
        except SettingError as error:
            self._refuse(RefusalError(HTTPStatus.BAD_REQUEST, str(error)))
        except SupersededError:
            self._refuse(RefusalError(HTTPStatus.CONFLICT, "This tab has asked for a newer fit."))

    def _check_sender(self) -> None:
        hosts = {f"{ADDRESS}:{self.server.port}", f"localhost:{self.server.port}"}
        if self.headers.get_all("Host", []) not in [[host] for host in hosts]:
            raise RefusalError(
                HTTPStatus.MISDIRECTED_REQUEST, f"The playground is at {ADDRESS}, no other host."
            )
        origins = self.headers.get_all("Origin", [])
        if not set(origins) <= {f"http://{host}" for host in hosts}:
            raise RefusalError(HTTPStatus.FORBIDDEN, "The playground answers its own page only.")

    def _check_token(self) -> None:
        if not self.server.gate.knows(self.headers.get(TOKEN_HEADER, "")):
            raise RefusalError(HTTPStatus.FORBIDDEN, "The token is missing or wrong.")

    def _route(self) -> Callable[[], None]:
        routes = {
            "/": ("GET", self._send_page),
            "/enter": ("POST", self._send_token),
            "/fit": ("POST", self._send_fit),
            "/step": ("POST", self._send_step),
        }
        path = self.path.partition("?")[0]
        if path not in routes:
            raise RefusalError(HTTPStatus.NOT_FOUND, "The playground has no such page.")
        method, answer = routes[path]
        if self.command != method:
            raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {method} only.")
        return answer

    def _send_page(self) -> None:
        nonce, resources = secrets.token_urlsafe(16), self.server.resources
        page = resources["page.html"].replace("NONCE", nonce)
        for name in ("page.css", "drawing.js", "page.js"):
            page = page.replace(f"/* {name} */", resources[name])
        self._send(page.encode(), "text/html; charset=utf-8", nonce=nonce)

    def _send_token(self) -> None:
        document = self._read_json()
        ticket = document.get("ticket") if isinstance(document, dict) else None
        token = self.server.gate.redeem(ticket) if isinstance(ticket, str) else None
        if token is None:
            raise RefusalError(HTTPStatus.FORBIDDEN, "The ticket is wrong or has been used.")
        self._send_json({"token": token})

    def _send_fit(self) -> None:
        wish = self._read_wish()
        with self.server.desk.turn(wish.settings, wish.tab, wish.order) as fit:
            answer = {**fit.summary(), "step": fit.step(wish.k)}
        self._send_json(answer)

    def _send_step(self) -> None:
        wish = self._read_wish()
        fit = self.server.desk.step(wish.settings, wish.tab, wish.order)
        self._send_json({"step": fit.step(wish.k)})

    def _read_wish(self) -> Wish:
        self._check_token()
        return read_wish(self._read_json())

    def _read_json(self) -> Any:
        if self.headers.get_content_type() != "application/json":
            raise RefusalError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body must be application/json."
            )
        size = self._body_size()
        if size is None:
            raise RefusalError(
                HTTPStatus.LENGTH_REQUIRED, "The request must say its Content-Length."
            )
        if size > MOST_BYTES:
            raise RefusalError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body has more than {MOST_BYTES} bytes."
            )
        self._is_read = True
        return read_json(self.rfile.read(size))

    def _body_size(self) -> int | None:
        sizes = self.headers.get_all("Content-Length", [])
        # Ten digits are enough to be too large.
        is_number = len(sizes) == 1 and sizes[0].isdecimal() and len(sizes[0]) <= 10
        return int(sizes[0]) if is_number and "Transfer-Encoding" not in self.headers else None

    def _refuse(self, refusal: RefusalError) -> None:
        self._send_json({"error": str(refusal)}, refusal.status)
        has_body = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        if has_body and not self._is_read:
            self._linger()

    def _linger(self) -> None:
        """Read on for a moment, so that who is still sending gets the answer."""
        self._reader.allow(_LINGER_SECONDS)
        with suppress(OSError):  # who sent has gone, or goes on sending
            self.connection.shutdown(socket.SHUT_WR)
            while self.rfile.read1(1 << 16):
                pass

    def _send_json(self, document: Any, status: int = 200) -> None:
        content = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
        self._send(content, "application/json", status)

    def _send(self, content: bytes, kind: str, status: int = 200, nonce: str = "") -> None:
        self.close_connection = True
        self.connection.settimeout(self.timeout)  # of which reading may have left next to nothing
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        policy = _POLICY.format(nonce) if nonce else "default-src 'none'; frame-ancestors 'none'"
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request of HTTP; the standard page would repeat what was sent."""
        self.command = self.command or ""
        self._send_json({"error": HTTPStatus(code).phrase}, code)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: a line of the log could hold a ticket."""


# http.server looks for a method of this name for every method of HTTP.
for _name in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"):
    setattr(Handler, f"do_{_name}", Handler.answer)


def read_json(body: bytes) -> Any:
    """Read a document: plain JSON, every key once, no NaN and no infinity."""

    def constant(name: str) -> None:
        raise SettingError(f"{name} is no number of JSON.")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(items)
        if len(document) < len(items):
            raise SettingError("A key stands twice in an object.")
        return document

    try:
        return json.loads(body.decode(), parse_constant=constant, object_pairs_hook=pairs)
    except SettingError:
        raise
    except (ValueError, RecursionError) as error:
        raise SettingError("The body is no JSON.") from error
