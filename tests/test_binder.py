"""Binder: what it installs is what was tested; what it starts serves the gallery under a prefix."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import stat
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import urljoin, urlsplit

import pytest
import websocket
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.serving import fetch, free_port, serving

ROOT = Path(__file__).resolve().parents[1]
BINDER = ROOT / "binder"
PREFIX = "/user/someone-abc/"


def pins(path: Path) -> dict[str, str]:
    """Return the exact pins of a requirements file; anything else in it is an error."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", line)] == []
    found = {line.partition("==")[0]: line.partition("==")[2] for line in lines}
    assert len(found) == len(lines), f"{path.name} names a package twice"
    return found


def is_installed(name: str) -> bool:
    """Whether this Python has the package; some are for another Python only."""
    return next(iter(importlib.metadata.distributions(name=name)), None) is not None


def installed_needs(names: set[str]) -> dict[str, list[str]]:
    """Return what each release of `names` that is installed here asks for."""
    return {name: importlib.metadata.requires(name) or [] for name in names if is_installed(name)}


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lock", ROOT / ".ci" / "lock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pins_lie_within_the_ranges(lock: ModuleType) -> None:
    pinned = pins(ROOT / "constraints.txt")
    for asked in lock.requirements("dev"):
        assert asked.specifier.contains(pinned[canonicalize_name(asked.name)]), asked
    for name, asked_by in installed_needs(set(pinned)).items():
        inner = [one for one in map(Requirement, asked_by) if lock.applies(one, platform.python_version(), ())]
        for one in inner:
            assert one.specifier.contains(pinned[canonicalize_name(one.name)]), f"{name} asks for {one}"


def test_the_lock_is_complete_and_no_more(lock: ModuleType) -> None:
    pinned = set(pins(ROOT / "constraints.txt"))
    needs = installed_needs(pinned)
    roots = lock.requirements("dev")
    assert lock.closure(roots, needs, platform.python_version()) <= needs.keys()
    assert set().union(*(lock.closure(roots, needs, python) for python in lock.PYTHONS)) == pinned


def test_binder_installs_the_closure_of_the_pages_and_no_more(lock: ModuleType) -> None:
    pinned = pins(BINDER / "requirements.txt")
    assert set(pinned) == lock.closure(lock.binder_roots(), installed_needs(set(pinned)), lock.binder_python())
    assert {"voila", "plotly", "anywidget", "jupyter-server-proxy", "hatchling"} <= set(pinned)
    assert not {"pytest", "playwright", "dp-accounting"} & set(pinned)


def test_binder_installs_what_the_tests_run_with() -> None:
    constraints = pins(ROOT / "constraints.txt")
    assert pins(BINDER / "requirements.txt").items() <= constraints.items()
    for name in filter(is_installed, constraints):
        assert importlib.metadata.version(name) == constraints[name], name


def test_pins_install_on_every_python_that_we_name(lock: ModuleType) -> None:
    for name in filter(is_installed, pins(ROOT / "constraints.txt")):
        admits = SpecifierSet(importlib.metadata.metadata(name)["Requires-Python"] or "")
        assert all(admits.contains(python) for python in lock.PYTHONS), f"{name} needs Python {admits}"


def test_binder_uses_a_python_that_we_name(lock: ModuleType) -> None:
    assert re.fullmatch(r"python-3\.\d+\n", (BINDER / "runtime.txt").read_text(encoding="utf-8"))
    assert lock.binder_python() in lock.PYTHONS


def test_what_binder_runs_after_is_a_program() -> None:
    text = (BINDER / "postBuild").read_text(encoding="utf-8")
    assert (BINDER / "postBuild").stat().st_mode & stat.S_IXUSR
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "--no-deps --no-build-isolation" in text, "the pins are all that is installed"


class Addresses(HTMLParser):
    """Gathers what a browser would fetch or open from a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value for name, value in attrs if name in ("src", "href", "action") and value}


def addresses(page: str) -> set[str]:
    parser = Addresses()
    parser.feed(page)
    return parser.found


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The gallery's address on a Jupyter server like Binder's, with its proxy, under a hub's prefix."""
    port = free_port()
    home = tmp_path_factory.mktemp("home")
    jupyter = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}"]
    options = [f"--ServerApp.base_url={PREFIX}", "--IdentityProvider.token=", f"--ServerApp.root_dir={home}"]
    own = {name: str(home / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    site = f"http://127.0.0.1:{port}"
    with serving([*jupyter, *options], f"{site}{PREFIX}api", home / "log", env={**os.environ, **own}):
        yield f"{site}{PREFIX}dpviz/"


def open_gallery(gallery: str) -> tuple[str, str]:
    """Return the address that the gallery leads to, and its page."""
    status, headers, _ = fetch(gallery)
    assert status == 302
    index = urljoin(gallery, headers["location"])
    status, _, page = fetch(index)
    assert status == 200
    return index, page


@pytest.mark.slow
def test_the_gallery_opens_behind_the_hub(gallery: str) -> None:
    index, page = open_gallery(gallery)
    assert index.startswith(gallery)
    assert "</html>" in page
    assert "Traceback" not in page


@pytest.mark.slow
def test_no_address_leaves_the_prefix(gallery: str) -> None:
    index, page = open_gallery(gallery)
    own = {found for found in addresses(page) if not found.startswith(("#", "data:", "https:"))}
    inside = {urljoin(index, found) for found in own}
    assert inside
    for address in inside:
        assert address.startswith(gallery), address
        assert fetch(address.partition("#")[0])[0] in (200, 302), address
    config = re.search(r'<script id="jupyter-config-data"[^>]*>(.*?)</script>', page, flags=re.DOTALL)
    assert config is not None
    assert urlsplit(gallery).path == json.loads(config[1])["baseUrl"]


@pytest.mark.slow
def test_a_page_talks_to_its_kernel_through_the_proxy(gallery: str) -> None:
    _, page = open_gallery(gallery)
    kernel = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", page)
    assert kernel is not None
    parts = urlsplit(gallery)
    channels = f"ws://{parts.netloc}{parts.path}api/kernels/{kernel[0]}/channels"
    websocket.create_connection(channels, origin=f"http://{parts.netloc}", timeout=20).close()
    with pytest.raises(websocket.WebSocketBadStatusException):
        websocket.create_connection(channels, origin="http://elsewhere.example", timeout=20)
