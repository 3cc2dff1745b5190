"""The playground, served as its command does."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def wait_for(port: int) -> None:
    """Wait until somebody listens, which is soon after the address is printed."""
    end = time.monotonic() + 60.0
    with socket.socket() as connection:
        while connection.connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < end
            time.sleep(0.05)


@contextmanager
def served() -> Iterator[str]:
    """Serve the app as the command does; give the address that it prints."""
    program = "import sys; from fcgboost.cli import main; sys.exit(main())"
    command = [sys.executable, "-u", "-c", program, "playground", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True, env=environment) as server:
        assert server.stdout is not None
        addresses = (re.search(r"http://\S+", line) for line in server.stdout)
        try:
            address = next(match[0] for match in addresses if match)
            wait_for(int(re.findall(r":(\d+)", address)[0]))
            yield address
        finally:
            server.terminate()
