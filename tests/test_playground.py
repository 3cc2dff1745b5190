"""The server of the playground: who is answered, what is refused, and who waits for whom."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest
from suites.playgrounds import SMALL, Client

from fcgboost import theory_steps
from fcgboost.web import Playground, fits
from fcgboost.web.fits import Fit, FitQueue, SupersededError
from fcgboost.web.server import MOST_BYTES, MOST_CONNECTIONS, TOKEN_HEADER, Handler
from fcgboost.web.settings import FitRequest, Settings

# A path that would take minutes, for tests that end it.
SLOW = Settings(loss="hinge", l2=0.0, n_samples=2000, max_iter=200)


# How long anything here may take on a busy machine.
PATIENCE = 60.0


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """A busy machine is no reason to cut a path or to close a connection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits, "SECONDS", PATIENCE)
        patch.setattr(Handler, "timeout", PATIENCE)
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Playground() as playground:
        yield Client(playground.invite())


class TestWhoIsAnswered:
    @pytest.mark.parametrize("token", [None, "", "wrong", "t\u00f6ken", "x" * 5000])
    @pytest.mark.parametrize("path", ["/fit", "/step"])
    def test_a_missing_or_wrong_token_is_refused(self, client, path, token) -> None:
        status, answer, _ = client.send("POST", path, {}, headers={TOKEN_HEADER: token})
        assert status == 403
        assert client.token not in str(answer)

    def test_a_token_in_the_address_is_none(self, client) -> None:
        without = {TOKEN_HEADER: None}
        for name in ("token", "ticket"):
            path = f"/fit?{name}={client.token}"
            assert client.send("POST", path, {}, headers=without)[0] == 403

    def test_the_page_is_for_anybody_and_holds_no_token(self, client) -> None:
        status, page, _ = client.send("GET", "/", headers={TOKEN_HEADER: None})
        assert status == 200
        assert client.token.encode() not in page

    def test_a_ticket_gives_the_token_once(self) -> None:
        with Playground() as playground:
            client, other = Client(playground.invite()), Client(playground.invite())
            assert client.token == other.token
            assert client.ticket != other.ticket
            for ticket in (client.ticket, other.ticket, client.token, "", None, 7, [], {}):
                status, answer, _ = client.enter(ticket)
                assert status == 403
                assert client.token not in str(answer)

    def test_looking_at_an_address_does_not_spend_its_ticket(self) -> None:
        with Playground() as playground:
            invitation = playground.invite()
            path = "/?" + invitation.partition("?")[2]
            assert Client(playground.invite()).send("GET", path)[0] == 200
            assert Client(invitation).token

    def test_a_ticket_for_a_time_is_worth_nothing_afterwards(self) -> None:
        with Playground() as playground:
            assert Client(playground.invite(60.0)).token
            with pytest.raises(AssertionError, match="has been used"):
                Client(playground.invite(0.0))

    def test_no_ticket_is_given_to_another_site(self, client) -> None:
        with Playground() as playground:
            client = Client(playground.invite())
            invitation = playground.invite()
            body = {"ticket": invitation.partition("ticket=")[2]}
            for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
                assert client.send("POST", "/enter", body, headers=headers)[0] in (403, 421)
            kind = {"Content-Type": "text/plain"}
            assert client.send("POST", "/enter", body, headers=kind)[0] == 415
            assert Client(invitation).token

    def test_every_playground_has_its_own_token(self) -> None:
        with Playground() as first, Playground() as second:
            tokens = [Client(playground.invite()).token for playground in (first, second)]
            assert (
                Client(first.invite()).send("POST", "/fit", {}, headers={TOKEN_HEADER: tokens[1]})[
                    0
                ]
                == 403
            )
        assert tokens[0] != tokens[1]
        assert min(map(len, tokens)) >= 32

    @pytest.mark.parametrize(
        "host",
        [None, "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0:{port}"],
    )
    def test_another_host_is_refused(self, client, host) -> None:
        sent = host and host.format(port=client.port)
        status, _, _ = client.send("GET", "/", headers={"Host": sent})
        assert status == 421

    def test_two_hosts_are_refused(self, client) -> None:
        answer = talk(
            client,
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nHost: evil.example\r\n"
            f"{TOKEN_HEADER}: {client.token}\r\n\r\n",
        )
        assert answer.startswith(b"HTTP/1.0 421")

    def test_localhost_is_the_same_host(self, client) -> None:
        assert client.send("GET", "/", headers={"Host": f"localhost:{client.port}"})[0] == 200

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", ""]
    )
    def test_another_origin_is_refused(self, client, origin) -> None:
        sent = {"Origin": origin.format(port=client.port)}
        assert client.send("POST", "/fit", {}, headers=sent)[0] == 403

    def test_its_own_origin_is_answered(self, client) -> None:
        sent = {"Origin": f"http://127.0.0.1:{client.port}"}
        body = {"settings": asdict(SMALL)}
        assert client.send("POST", "/fit", body, headers=sent)[0] == 200

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address")
    def test_no_other_address_is_served(self, client) -> None:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", client.port), timeout=5)


def talk(client: Client, request: str) -> bytes:
    """Send bytes and give all that comes back."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def head(client: Client, length: int) -> bytes:
    """Give the head of a request for a fit."""
    return (
        f"POST /fit HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n{TOKEN_HEADER}: {client.token}"
        f"\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


class TestWhatIsServed:
    @pytest.mark.parametrize(
        "path",
        [
            *("/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..", "/."),
            *(
                "/plane.js",
                "/style.css",
                "/playground.html",
                "/settings.py",
                "/favicon.ico",
                "/fit/",
            ),
            "*",
            *(
                "/playground.html/../server.py",
                "\\..\\server.py",
                "/?/../fit/x".replace("?", "%3F"),
            ),
            "http://127.0.0.1/",
        ],
    )
    def test_no_other_path_exists(self, client, path) -> None:
        assert client.send("GET", path)[0] == 404
        assert client.send("POST", path, {})[0] == 404

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            *(
                ("GET", "/fit"),
                ("GET", "/enter"),
                ("GET", "/step"),
                ("POST", "/"),
                ("PUT", "/fit"),
                ("DELETE", "/"),
            ),
            *(("PATCH", "/fit"), ("OPTIONS", "/fit"), ("TRACE", "/"), ("HEAD", "/")),
        ],
    )
    def test_another_method_is_refused(self, client, method, path) -> None:
        status, _, headers = client.send(method, path)
        assert status == 405
        assert not [name for name in headers if name.lower().startswith("access-control")]

    def test_what_is_no_method_of_http_is_refused_without_an_echo(self, client) -> None:
        answer = talk(client, f"<script> / HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n")
        assert answer.startswith(b"HTTP/1.0 501")
        assert b"script>" not in answer

    def test_what_is_no_http_is_refused(self, client) -> None:
        assert b"Bad Request" in talk(client, "no request at all\r\n\r\n")

    @pytest.mark.parametrize(
        ("method", "path", "token"),
        [("GET", "/", True), ("POST", "/fit", False), ("GET", "/x", True), ("POST", "/fit", True)],
    )
    def test_every_answer_says_that_it_is_private(self, client, method, path, token) -> None:
        sent = {} if token else {TOKEN_HEADER: None}
        _, _, headers = client.send(method, path, {}, headers=sent)
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Frame-Options"] == "DENY"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Server"].strip() == "fcgboost"

    def test_the_page_is_whole_and_only_its_own_scripts_may_run(self, client) -> None:
        _, page, headers = client.send("GET", "/")
        text, policy = page.decode(), headers["Content-Security-Policy"]
        (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
        assert text.count(f'nonce="{nonce}"') == text.count("<script") + text.count("<style")
        assert text.count("</script") == 1
        assert "unsafe" not in policy
        assert "connect-src 'self'" in policy
        assert client.token not in text
        for name in ("style.css", "drawing.js", "plane.js", "controls.js", "playground.js"):
            assert (files("fcgboost.web") / name).read_text("utf-8") in text
        assert client.send("GET", "/")[1] != page  # the next one has another nonce

    def test_the_page_refers_to_nothing_outside(self, client) -> None:
        _, page, _ = client.send("GET", "/")
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", page.decode()))
        assert addresses == {"http://www.w3.org/2000/svg"}

    def test_nothing_is_written_on_the_terminal(self, client, capfd) -> None:
        client.send("GET", "/")
        client.send("GET", "/nowhere")
        assert capfd.readouterr() == ("", "")


class TestBodies:
    def test_a_body_that_is_too_large_is_refused(self, client) -> None:
        for n_bytes in (MOST_BYTES + 1, 300_000):
            status, answer, _ = client.send("POST", "/fit", b" " * n_bytes)
            assert status == 413
            assert str(MOST_BYTES) in answer["error"]

    def test_a_length_that_is_no_number_is_refused(self, client) -> None:
        for length in (None, "many", "-1", "1e3", "+5", "9" * 30):
            sent = {"Content-Length": length}
            assert client.send("POST", "/fit", headers=sent)[0] in (411, 413)

    def test_a_body_in_chunks_is_refused(self, client) -> None:
        sent = {"Transfer-Encoding": "chunked", "Content-Length": None}
        assert client.send("POST", "/fit", b"0\r\n\r\n", headers=sent)[0] == 411

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
    def test_another_type_is_refused(self, client, kind) -> None:
        assert client.send("POST", "/fit", {}, headers={"Content-Type": kind})[0] == 415

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (b"", "not JSON"),
            (b"{", "not JSON"),
            (b"\xff\xfe", "not JSON"),
            (b"[" * 4000, "not JSON"),
            (b"1" * 4000, "must be an object"),
            (b"[]", "must be an object"),
            (b"null", "must be an object"),
            (b'{"settings": []}', "settings must be an object"),
            (b'{"more": 1}', "must be an object with the keys"),
            (b'{"k": 1, "k": 2}', "twice"),
            (b'{"settings": {"level": NaN}}', "NaN"),
            (b'{"settings": {"level": Infinity}}', "Infinity"),
            (b'{"settings": {"l2": 1e999}}', "l2 must be a number from 0.0 to 10.0, or auto"),
        ],
    )
    def test_what_is_no_request_is_refused(self, client, body, reason) -> None:
        status, answer, _ = client.send("POST", "/fit", body)
        assert status == 400
        assert reason in answer["error"]

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("data", ["iris", "", None, 1, ["simulation"], "/etc/passwd"]),
            ("noise", ["gaussian", None, False]),
            ("level", [-0.01, 0.51, "0.3", True, None]),
            ("n_samples", [19, 2001, 500.0, "500", True, 10**30, None]),
            ("seed", [-1, 10_000, 0.5, "0", False]),
            ("dictionary", ["Gauss", "__class__", 0]),
            ("width", [0.0, 0.04, 5.1, "scale", None, True]),
            ("degree", [0, 9, 2.0, "3"]),
            ("loss", ["log", None]),
            ("scheme", ["newton", {}]),
            ("l2", [-1e-9, 10.1, "none", "AUTO", None, False]),
            ("fit_intercept", [0, 1, "true", None]),
            ("max_iter", [0, 201, 10.0, "theory", None, True]),
        ],
    )
    def test_a_setting_of_a_wrong_type_or_size_is_named(self, client, name, values) -> None:
        for value in values:
            status, answer, _ = client.send("POST", "/fit", {"settings": {name: value}})
            assert status == 400, value
            assert answer["error"].startswith(f"{name} must be "), value


class TestManyRequests:
    def test_a_newer_request_of_the_tab_ends_the_fit_in_work(self) -> None:
        queue, outcome = FitQueue(), []

        def ask() -> None:
            with pytest.raises(SupersededError):
                queue.fit(FitRequest(SLOW, tab="tab"))
            outcome.append("dropped")

        older = threading.Thread(target=ask)
        older.start()
        wait_until(lambda: queue._line)
        newer = queue.fit(FitRequest(SMALL, tab="tab"))
        older.join(PATIENCE)
        assert outcome == ["dropped"]
        assert newer.n_steps == 10

    def test_an_older_one_that_comes_in_late_ends_nothing(self) -> None:
        queue = FitQueue()
        with queue.turn(FitRequest(SMALL, None, "tab", 1)):
            newest = queue._newest["tab"]
            with pytest.raises(SupersededError):
                queue.fit(FitRequest(replace(SMALL, seed=1), None, "tab", 0))
            assert not queue._is_stale(newest)
            assert queue._line == [newest]
        assert queue.fit(FitRequest(replace(SMALL, seed=1), None, "tab", 0)).n_steps == 10

    def test_requests_that_wait_are_dropped_at_once_but_for_the_newest(self) -> None:
        queue, blocker = FitQueue(), FitRequest(SMALL, tab="other")
        queue._line.append(blocker)
        with ThreadPoolExecutor(8) as pool:
            waiting = []
            for seed in range(8):
                waiting.append(
                    pool.submit(queue.fit, FitRequest(replace(SMALL, seed=seed), tab="tab"))
                )
                wait_until(lambda n=seed: queue._line[-1].settings.seed == n)
            results = [job.exception(PATIENCE) for job in waiting[:-1]]
            assert not waiting[-1].done()
            queue._leave(blocker)
        assert [type(error) for error in results] == [SupersededError] * 7
        assert waiting[-1].result().settings.seed == 7
        assert queue._line == []
        assert queue._newest == {}

    def test_tabs_wait_in_line_and_all_get_their_fit(self) -> None:
        queue, blocker, done = FitQueue(), FitRequest(SMALL, tab="first"), []
        queue._line.append(blocker)

        def ask(seed: int) -> None:
            fit = queue.fit(FitRequest(replace(SMALL, seed=seed), tab=f"tab {seed}"))
            done.append(fit.settings.seed)

        with ThreadPoolExecutor(4) as pool:
            jobs = []
            for seed in range(4):
                jobs.append(pool.submit(ask, seed))
                wait_until(lambda n=seed: len(queue._line) == n + 2)
            queue._leave(blocker)
        assert [job.exception() for job in jobs] == [None] * 4
        assert sorted(done) == [0, 1, 2, 3]

    def test_no_fit_begins_while_another_one_s_answer_is_computed(self) -> None:
        queue = FitQueue()
        with ThreadPoolExecutor(1) as pool:
            with queue.turn(FitRequest(SMALL, tab="one")):
                other = pool.submit(queue.fit, FitRequest(replace(SMALL, seed=1), tab="other"))
                wait_until(lambda: len(queue._line) == 2)
                time.sleep(0.2)
                assert not other.done()
            assert other.result(PATIENCE).settings.seed == 1

    def test_looking_at_a_step_disturbs_no_fit(self) -> None:
        queue = FitQueue()
        kept, request = queue.fit(FitRequest(SMALL, tab="tab")), FitRequest(SMALL, tab="tab")
        queue._newest["tab"] = request
        assert queue.step(FitRequest(SMALL, tab="tab")) is kept
        assert queue.step(FitRequest(replace(SMALL, seed=1), tab="tab")).n_steps == 10
        assert not queue._is_stale(request)

    def test_settings_one_comes_back_to_are_kept_but_not_for_ever(self) -> None:
        queue = FitQueue()
        first = queue.fit(FitRequest(SMALL))
        assert queue.fit(FitRequest(SMALL)) is first
        for seed in range(1, 9):
            queue.fit(FitRequest(replace(SMALL, n_samples=20, seed=seed)))
        assert queue.fit(FitRequest(SMALL)) is not first

    def test_a_path_that_was_cut_is_fitted_again_but_its_steps_stay(self, monkeypatch) -> None:
        queue = FitQueue()
        monkeypatch.setattr(fits, "SECONDS", 0.0)
        cut = queue.fit(FitRequest(SMALL))
        assert (cut.is_cut, cut.n_steps) == (True, 1)
        assert queue.step(FitRequest(SMALL)) is cut
        monkeypatch.setattr(fits, "SECONDS", 60.0)
        whole = queue.fit(FitRequest(SMALL))
        assert (whole.is_cut, whole.n_steps) == (False, 10)
        assert queue.step(FitRequest(SMALL)) is queue.fit(FitRequest(SMALL)) is whole

    def test_of_two_paths_that_were_cut_the_longer_one_stays(self) -> None:
        queue = FitQueue()
        ends = [iter([False] * k + [True]) for k in (6, 2)]
        longer, shorter = (Fit(SMALL, lambda end=end: next(end)) for end in ends)
        assert (longer.n_steps, shorter.n_steps) == (7, 3)
        for fit in (longer, shorter):
            queue._keep(fit)
        assert queue.step(FitRequest(SMALL)) is longer

    def test_many_of_a_tab_are_each_right_or_superseded(self, client) -> None:
        answers = ask_at_once(client, lambda seed: "tab")
        assert set(answers.values()) <= {200, 409}
        assert 200 in answers.values()

    def test_many_of_other_tabs_are_all_right(self, client) -> None:
        answers = ask_at_once(client, lambda seed: f"tab {seed}")
        assert set(answers.values()) == {200}

    def test_closing_ends_the_fit_in_work(self) -> None:
        with Playground() as playground:
            client, answers = Client(playground.invite()), []
            body = {"settings": asdict(SLOW)}
            asking = threading.Thread(
                target=lambda: answers.append(client.send("POST", "/fit", body)[0])
            )
            asking.start()
            wait_until(lambda: playground.queue._line)
        asking.join(PATIENCE)
        assert answers == [409]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", client.port), timeout=5)

    def test_connections_beyond_the_limit_are_turned_away_until_others_end(self) -> None:
        with Playground() as playground:
            client = Client(playground.invite())
            where = ("127.0.0.1", client.port)
            idle = [socket.create_connection(where) for _ in range(MOST_CONNECTIONS)]
            wait_until(lambda: playground.free._value == 0)
            assert talk(client, "").startswith(b"HTTP/1.1 503")
            for connection in idle:
                connection.close()
            wait_until(lambda: playground.free._value == MOST_CONNECTIONS)
            assert client.send("GET", "/")[0] == 200

    def test_a_connection_that_says_nothing_is_closed(self, client, monkeypatch) -> None:
        monkeypatch.setattr(Handler, "timeout", 0.1)
        assert talk(client, "") == b""
        # The beginning may meet a connection that is closed already.
        with suppress(ConnectionError):
            assert talk(client, "POST /fit HTTP/1.1\r\nHost:") == b""

    def test_connections_that_drip_do_not_keep_others_out(self, monkeypatch) -> None:
        monkeypatch.setattr(Handler, "timeout", 0.5)
        with Playground() as playground:
            client, room = Client(playground.invite()), playground.free
            where = ("127.0.0.1", client.port)
            slow = [socket.create_connection(where) for _ in range(MOST_CONNECTIONS)]
            wait_until(lambda: room._value == 0)

            def drip() -> bool:
                for connection in slow:
                    with suppress(ConnectionError):
                        connection.sendall(b"G")
                return room._value == MOST_CONNECTIONS

            wait_until(drip)
            assert client.send("GET", "/")[0] == 200
            for connection in slow:
                connection.close()

    def test_a_body_that_drips_is_not_waited_for(self, client, monkeypatch) -> None:
        monkeypatch.setattr(Handler, "timeout", 0.5)
        with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as connection:
            connection.sendall(head(client, MOST_BYTES))
            sent = []
            with pytest.raises(ConnectionError):
                wait_until(lambda: connection.sendall(b" ") or sent.append(1))
        assert len(sent) < MOST_BYTES

    @pytest.mark.parametrize("length", [MOST_BYTES + 1, 9_999_999_999])
    def test_a_body_that_is_announced_too_large_is_refused_at_once(self, client, length) -> None:
        # The server's own patience is longer: it answers before any of the body is sent.
        with socket.create_connection(
            ("127.0.0.1", client.port), timeout=PATIENCE / 2
        ) as connection:
            connection.sendall(head(client, length))
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.0 413")

    def test_one_that_leaves_before_its_answer_does_no_harm(self, client, capfd) -> None:
        left = {"settings": asdict(replace(SMALL, seed=99)), "tab": "left"}
        body = json.dumps(left).encode()
        request = head(client, len(body)) + body
        connection = socket.create_connection(("127.0.0.1", client.port))
        # Closing with a reset, so that the answer meets a connection that is gone.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.sendall(request)
        connection.close()
        assert client.fit(SMALL)["step"]["k"] == theory_steps(100)
        assert capfd.readouterr().err == ""


def ask_at_once(client: Client, name_tab: Callable[[int], str]) -> dict[int, int]:
    """Ask for many fits, check those that come, and give the status of each seed."""
    wanted = [replace(SMALL, seed=seed) for seed in range(12)]

    def ask(settings: Settings) -> tuple[int, Any]:
        body = {"settings": asdict(settings), "k": 5, "tab": name_tab(settings.seed)}
        return client.send("POST", "/fit", body)[:2]

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, wanted))
    for settings, (status, answer) in zip(wanted, answers, strict=True):
        if status == 200:
            assert answer["step"] == Fit(settings, lambda: False).step(5)
    return {settings.seed: status for settings, (status, _) in zip(wanted, answers, strict=True)}


def wait_until(is_so: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


class TestServing:
    def test_a_port_that_is_taken_is_named(self) -> None:
        with Playground() as playground:
            port = Client(playground.invite()).port
            with pytest.raises(OSError, match=f"Port {port} of 127.0.0.1 cannot be used"):
                Playground(port).__enter__()

    @pytest.mark.parametrize("port", [-1, 65536, "80", None])
    def test_what_is_no_port_is_refused(self, port) -> None:
        with pytest.raises(ValueError, match="port must be a whole number from 0 to 65535"):
            Playground(port)

    def test_a_port_that_was_just_used_can_be_used_again(self) -> None:
        with Playground() as first:
            client = Client(first.invite())
            client.send("GET", "/")
        with Playground(client.port) as second:
            assert Client(second.invite()).port == client.port

    @pytest.mark.skipif(os.name == "nt", reason="needs the signals of POSIX")
    def test_it_prints_its_address_opens_it_and_ends_at_ctrl_c(self, tmp_path) -> None:
        script = (
            "import webbrowser\n"
            "webbrowser.open = lambda url: print('opened', url, flush=True)\n"
            "from fcgboost.web import serve\n"
            "serve()\n"
        )
        command, pipe = [sys.executable, "-c", script], subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        try:
            printed = process.stdout.readline().split()[-1]
            assert f"http://127.0.0.1:{urlsplit(printed).port}/ " in process.stdout.readline()
            process.stdout.readline()
            opened = process.stdout.readline().split()[-1]
            # What another user reads in the list of processes is not what the terminal shows.
            assert opened != printed
            for address in (printed, opened):
                assert Client(address).send("GET", "/")[0] == 200
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert (process.returncode, err) == (0, "")
        assert "has stopped" in out
