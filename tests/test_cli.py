"""The command line: what it says, how it ends, and that it serves from a clone, a wheel and behind a proxy."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import dpviz
from dpviz import cli
from dpviz.accounting import verification
from tests.server_helpers import Server, eventually, running, write_notebook

SLIDER = "import ipywidgets\nipywidgets.IntSlider(description='k')"


def said(*arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run the command, and return its exit code, what it printed and what it complained of."""
    done = subprocess.run(
        [sys.executable, "-m", "dpviz", *arguments],
        capture_output=True, text=True, timeout=60, env={**os.environ, **(environment or {})}, cwd=cwd,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


# ------------------------------------------------------------------------------------------- check


def test_check_prints_each_number_and_how_many_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check"]) == 0
    printed = capsys.readouterr().out
    witnesses = verification.verify()
    assert printed.splitlines()[-1] == f"{len(witnesses)} of {len(witnesses)} hold"
    for witness in witnesses:
        assert witness.name in printed
        assert repr(witness.computed) in printed
        assert witness.reference in printed
        assert witness.source in printed


def test_check_prints_json_that_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    witnesses = verification.verify()
    assert [item["computed"] for item in printed] == [witness.computed for witness in witnesses]
    assert all(item["holds"] is True for item in printed)


@pytest.mark.parametrize("arguments", [["check"], ["check", "--json"]])
def test_check_fails_if_one_number_does_not_hold(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = verification.Witness(
        "a third", "divide", (("by", 3.0),), 1 / 3, "0.3333333333333333333", 1e-12, "equal", "by hand"
    )
    wrong = verification.Witness("a half", "divide", (("by", 2.0),), 0.51, "0.5", 1e-12, "equal", "by hand")
    monkeypatch.setattr(verification, "verify", lambda: (right, wrong))
    assert cli.main(arguments) == 1
    printed = capsys.readouterr().out
    assert "0.51" in printed
    if arguments == ["check"]:
        assert "FAILS  a half" in printed
        assert "holds  a third" in printed
        assert printed.splitlines()[-1] == "1 of 2 hold"


# ------------------------------------------------------------------------------------------- one sentence


def test_the_version_is_the_packages() -> None:
    assert said("--version") == (0, f"dpviz {dpviz.__version__}\n", "")


def test_the_help_says_what_the_default_follows_from() -> None:
    code, printed, _ = said("--help", environment={"COLUMNS": "300", "NO_COLOR": "1"})
    assert code == 0
    assert "half of the available memory at 80 MB a page, at least 4" in printed
    for option in ("--port", "--no-browser", "--ip", "--max-kernels", "--base-url", "--warm", "--version", "check"):
        assert option in printed


def test_the_command_line_loads_no_server() -> None:
    code = "import sys, dpviz.cli; print(sorted(sys.modules.keys() & {'voila', 'tornado', 'jupyter_server', 'psutil'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def assert_refused(code: int, printed: str, complained: str, *words: str) -> None:
    assert code == 2
    assert printed == ""
    assert complained.startswith("dpviz: ")
    assert complained.count("\n") == 1, complained
    for word in words:
        assert word in complained


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], ["--nonsense"]),
        (["nonsense"], ["nonsense"]),
        (["--port", "many"], ["--port", "many"]),
        (["--port", "70000"], ["port", "[0, 65535]", "70000"]),
        (["--port", "-1"], ["port", "-1"]),
        (["--max-kernels", "0"], ["max_kernels", "0"]),
        (["--warm", "-1"], ["warm", "-1"]),
        (["--base-url", "prefix"], ["base_url", "prefix"]),
        (["--port", "0", "--ip", "999.1.1.1"], ["999.1.1.1", "not an address of this machine"]),
        (["--port", "0", "--ip", "192.0.2.1"], ["192.0.2.1", "not an address of this machine"]),
        (["--port", "0", "--ip", "no where"], ["no where", "not an address of this machine"]),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(arguments: list[str], words: list[str]) -> None:
    assert_refused(*said("--no-browser", *arguments), *words)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert_refused(*said("--no-browser", "--port", str(port)), f"port {port} is in use", "--port")


def test_a_port_that_is_not_ours_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dpviz.server.serve", refuse)
    assert cli.main(["--port", "80", "--no-browser"]) == 2
    assert "port 80 may not be used by this user" in capsys.readouterr().err


def test_a_fault_of_ours_is_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("dpviz.server.serve", fail)
    with pytest.raises(OSError, match="Input/output"):
        cli.main(["--no-browser"])


@pytest.mark.parametrize("missing", ["voila", "psutil", "tornado"])
def test_without_the_app_the_command_says_how_to_get_it(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None; from dpviz.cli import main; sys.exit(main(['--no-browser']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert_refused(done.returncode, done.stdout, done.stderr, missing, "pip install 'dpviz[app]'")


# ------------------------------------------------------------------------------------------- serving


def copy_package(folder: Path, notebooks: str | None) -> dict[str, str]:
    """Lay the package out below a folder, and return the environment that runs it from there."""
    without = shutil.ignore_patterns("__pycache__", "notebooks")
    shutil.copytree(Path(dpviz.__file__).parent, folder / "dpviz", ignore=without)
    if notebooks:
        write_notebook(folder / notebooks, "index.ipynb", "# The gallery", SLIDER)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_without_pages_the_command_says_so(tmp_path: Path) -> None:
    environment = copy_package(tmp_path, None)
    assert_refused(*said("--no-browser", environment=environment, cwd=tmp_path), "index.ipynb")


@pytest.mark.parametrize("layout", ["notebooks", "dpviz/notebooks"], ids=["clone", "wheel"])
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path, layout: str) -> None:
    environment = copy_package(tmp_path, layout)
    command = [sys.executable, "-m", "dpviz", "--no-browser", "--port", "0", "--warm", "0"]
    with running(command, tmp_path / "log", environment, cwd=tmp_path) as server:
        page, kernel_id = server.open_page("index.ipynb")
        assert "The gallery" in page
        connected = server.connect(kernel_id)
        connected.ask_who()
        connected.close()
        kernels = server.kernels()
        assert server.stop(signal.SIGINT) == 0
        assert psutil.wait_procs(kernels, timeout=20)[1] == []
    assert (tmp_path / "log").read_text() == ""


# ------------------------------------------------------------------------------------------- behind a proxy

PROXIED = """
from dpviz.server.proxy import entry
c.ServerProxy.servers = {"dpviz": entry()}
c.ServerApp.open_browser = False
c.IdentityProvider.token = ""
c.ServerApp.allow_root = True
c.ServerApp.base_url = "/user/somebody/"
c.ServerApp.jpserver_extensions = {"jupyter_server_proxy": True}
"""


@contextlib.contextmanager
def running_jupyter(folder: Path) -> Iterator[Server]:
    """Start a Jupyter server that knows our entry, with a copy of the package and a small notebook."""
    environment = copy_package(folder, "notebooks")
    (folder / "jupyter_server_config.py").write_text(PROXIED)
    environment |= {"JUPYTER_CONFIG_DIR": str(folder), "JUPYTER_NO_CONFIG": ""}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", f"--port={port}", "--ServerApp.port_retries=0"]
    url = f"http://127.0.0.1:{port}/user/somebody/dpviz/"
    announced = [
        sys.executable,
        "-c",
        f"import os, sys; print({url!r}, flush=True); os.execv(sys.executable, {command!r})",
    ]
    with running(announced, folder / "log", environment, cwd=folder) as server:
        yield server


def test_the_gallery_works_behind_jupyter_server_proxy(tmp_path: Path) -> None:
    with running_jupyter(tmp_path) as server:

        def answers() -> bool:
            with contextlib.suppress(ConnectionError):
                return server.ask("").status == 302
            return False

        eventually(answers, patience=60)
        assert server.ask("").headers["location"].endswith("/user/somebody/dpviz/voila/render/index.ipynb")
        page, kernel_id = server.open_page("index.ipynb")
        assert "application/vnd.jupyter.widget-view+json" in page
        assert 'src="/user/somebody/dpviz/static/' in page
        connected = server.connect(kernel_id)
        connected.ask_who()
        connected.close()
