"""What the tests of the playground share: a client of its server, and small settings."""

from __future__ import annotations

import http.client
import json
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from fcgboost.web.server import TOKEN_HEADER
from fcgboost.web.settings import Settings

SMALL = Settings(n_samples=100, max_iter=10)


class Client:
    """Sends requests to a playground that it was invited to."""

    def __init__(self, invitation: str) -> None:
        parts = urlsplit(invitation)
        self.port = parts.port
        self.token: str | None = None
        self.ticket = parse_qs(parts.query)["ticket"][0]
        status, answer, _ = self.enter(self.ticket)
        assert status == 200, answer
        self.token = answer["token"]

    def enter(self, ticket: Any) -> tuple[int, Any, http.client.HTTPMessage]:
        """Ask for the token, as the page does when it is opened."""
        return self.send("POST", "/enter", {"ticket": ticket}, headers={TOKEN_HEADER: None})

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str | None] | None = None,
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        """Send a request as the page does, but for the headers given; None leaves one out."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            TOKEN_HEADER: self.token,
            "Content-Type": "application/json",
            "Content-Length": None if content is None else str(len(content)),
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in (sent | (headers or {})).items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(content)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        is_json = response.headers.get_content_type() == "application/json" and answer
        return response.status, json.loads(answer) if is_json else answer, response.headers

    def fit(self, settings: Settings, k: Any = "auto") -> Any:
        status, answer, _ = self.send("POST", "/fit", {"settings": asdict(settings), "k": k})
        assert status == 200, answer
        return answer


def grid_of(answer: Any) -> np.ndarray:
    """Give the points whose decision values an answer holds, from its own description."""
    grid = answer["grid"]
    return np.stack(np.meshgrid(grid["xs"], grid["ys"]), axis=-1).reshape(-1, 2)
