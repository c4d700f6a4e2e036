"""Start a server for a test, as a process of its own, and talk to it as a browser would."""

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 60.0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers (names in lower case) and text; a redirect is returned and not followed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, answer.read().decode("utf-8", errors="replace")
    finally:
        connection.close()


def is_answered(url: str) -> bool:
    """Whether somebody answers at the address, whatever they say."""
    try:
        fetch(url)
    except OSError:
        return False
    return True


@contextmanager
def serving(
    command: Sequence[str], url: str, log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Iterator[None]:
    """Run `command` until the block ends; `url` is answered when it begins."""
    with log.open("wb") as said:
        process = subprocess.Popen(command, cwd=cwd, env=env or os.environ, stdout=said, stderr=said)
    try:
        start = time.monotonic()
        while not is_answered(url):
            assert process.poll() is None, f"the server ended:\n{log.read_text()}"
            assert time.monotonic() - start < PATIENCE, f"nobody answers at {url}:\n{log.read_text()}"
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
