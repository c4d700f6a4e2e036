"""A real server for tests: started on a free port with a folder of notebooks, asked over real sockets."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import psutil
import websocket

PROTOCOL = "v1.kernel.websocket.jupyter.org"
KERNEL_ID = r'"kernelId": "([0-9a-f-]{36})"'
PATIENCE = 90.0

DRIVER = """
import json, sys
from pathlib import Path
from dpviz.server import ServerSettings, serve
chosen = json.loads(sys.argv[1])
chosen["notebooks"] = Path(chosen["notebooks"])
settings = ServerSettings(open_browser=False, port=0, **chosen)
serve(settings, announce=lambda address: print(address, flush=True))
"""


def eventually(look: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Return the first truthy answer; fail if there is none in time."""
    deadline = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


@dataclass
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str
    log: Path
    opened: set[str] = field(default_factory=set)

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """Ask for a path below the base URL; no redirect is followed."""
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, address.path + path, body=body, headers=sent)
            answer = connection.getresponse()
            received = answer.read()
            self.opened.update(re.findall(KERNEL_ID, received.decode("utf-8", "replace")))
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, received)
        finally:
            connection.close()

    def ask_raw(self, target: str) -> str:
        """Ask for a target exactly as it is written, and return all that comes back."""
        address = urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode())
            received = b""
            while part := connection.recv(65536):
                received += part
        return received.decode("utf-8", "replace")

    def open_page(self, name: str) -> tuple[str, str]:
        """Return the text of a page and the id of its kernel."""
        answer = self.ask(f"voila/render/{name}")
        assert answer.status == 200, answer.text
        return answer.text, kernel_id_in(answer.text)

    def connect(self, kernel_id: str, origin: str | None = None, protocol: str = PROTOCOL) -> "Channels":
        """Connect to the kernel of a page, as its browser does."""
        address = urlsplit(self.url)
        target = f"ws://{address.netloc}{address.path}api/kernels/{kernel_id}/channels?session_id={uuid.uuid4()}"
        return Channels(
            websocket.create_connection(
                target, timeout=PATIENCE, origin=origin or f"http://{address.netloc}", subprotocols=[protocol]
            )
        )

    def kernels(self) -> list[psutil.Process]:
        """Return the kernel processes that are alive."""
        return [child for child in self._children() if "ipykernel_launcher" in " ".join(self.command_of(child))]

    def unread_kernels(self) -> int:
        """Return how many kernels are alive that no page has named."""
        commands = [" ".join(self.command_of(kernel)) for kernel in self.kernels()]
        return sum(not any(kernel_id in command for kernel_id in self.opened) for command in commands)

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    @staticmethod
    def command_of(process: psutil.Process) -> list[str]:
        """Return the command line of a process; none of one that has just ended."""
        try:
            return list(process.cmdline())
        except psutil.Error:
            return []

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask the server to end, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)


class Channels:
    """A websocket to a kernel."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self.socket = socket

    def send(self, kind: str, content: dict[str, Any], channel: str = "shell", version: str = "2.1.0") -> str:
        """Send a message and return its id."""
        number = str(uuid.uuid4())
        header = {
            "msg_id": number,
            "msg_type": kind,
            "session": "test",
            "username": "",
            "version": "5.3",
            "date": "",
        }
        self.socket.send_binary(joined(channel, [header, {}, {"version": version}, content]))
        return number

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        raw = self.socket.recv()
        assert isinstance(raw, bytes), f"the connection was closed: {raw!r}"
        count = int.from_bytes(raw[:8], "little")
        offsets = [int.from_bytes(raw[8 * i : 8 * (i + 1)], "little") for i in range(1, count + 1)]
        parts = [raw[start:end] for start, end in pairwise(offsets)]
        header, parent, _, content = (json.loads(part) for part in parts[1:5])
        return {"type": header["msg_type"], "parent": parent.get("msg_id"), "content": content}

    def until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Return the messages up to the first that is wanted."""
        received = []
        while not received or not is_wanted(received[-1]):
            received.append(self.receive())
        return received

    def ask_who(self) -> list[dict[str, Any]]:
        """Ask the kernel who it is, and return all messages until it has replied and rests again."""
        number = self.send("kernel_info_request", {})
        awaited = {"kernel_info_reply", "idle"}

        def is_last(message: dict[str, Any]) -> bool:
            if message["parent"] == number:
                awaited.discard(message["content"].get("execution_state", message["type"]))
            return not awaited

        return self.until(is_last)

    def close(self) -> None:
        """Close the websocket."""
        self.socket.close()
        self.socket.shutdown()  # what the server closed is not closed otherwise


def joined(channel: str, parts: list[Any]) -> bytes:
    """Return a message as it travels: how many offsets, the offsets, the parts."""
    encoded = [channel.encode(), *(json.dumps(part).encode() for part in parts)]
    offsets = [8 * (len(encoded) + 2)]
    for part in encoded:
        offsets.append(offsets[-1] + len(part))
    numbers = [len(offsets), *offsets]
    return b"".join(number.to_bytes(8, "little") for number in numbers) + b"".join(encoded)


def kernel_id_in(page: str) -> str:
    """Return the id of the kernel that a page names."""
    found = re.search(KERNEL_ID, page)
    assert found, page[:2000]
    return found.group(1)


def write_notebook(folder: Path, name: str, *cells: str, **metadata: Any) -> Path:
    """Write a notebook; a cell that starts with ``#`` and a blank is prose."""
    make = nbformat.v4
    written = [make.new_markdown_cell(c) if c.startswith("# ") else make.new_code_cell(c) for c in cells]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(make.new_notebook(cells=written, metadata=metadata), path)
    return path


@contextlib.contextmanager
def running_server(
    notebooks: Path, log: Path, environment: dict[str, str] | None = None, **settings: Any
) -> Iterator[Server]:
    """Start a server with these settings; it is stopped at the end, if it still runs."""
    command = [sys.executable, "-c", DRIVER, json.dumps({"notebooks": str(notebooks), **settings})]
    with running(command, log, {**os.environ, **(environment or {})}) as server:
        yield server


@contextlib.contextmanager
def running(command: list[str], log: Path, environment: dict[str, str], cwd: Path | None = None) -> Iterator[Server]:
    """Start a command that says its address in its first line."""
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=cwd)
    with process:
        assert process.stdout
        line = process.stdout.readline().split()
        assert line, log.read_text()
        try:
            yield Server(process, line[-1], log)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=PATIENCE)
