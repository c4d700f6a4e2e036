"""The page around a notebook, in a real browser: starts at once, keeps to its own host, tells when it is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_helpers import Server, running_server, write_notebook
from tests.test_server import COUNTER, SLIDER

READY = "html[data-page=ready]"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pages")
    prose = "# A page with $\\varepsilon$\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" + 200 * "Words and words. "
    write_notebook(folder, "index.ipynb", prose, SLIDER, COUNTER, title="A page")
    write_notebook(folder, "slow.ipynb", "# Slow", "import time\ntime.sleep(3)", SLIDER)
    write_notebook(folder, "raises.ipynb", "# Raises", "raise RuntimeError('cell_secret')")
    log = tmp_path_factory.mktemp("log") / "server.txt"
    with running_server(folder, log, warm=0, max_kernels=20) as started:
        yield started


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab that remembers its errors and which hosts it asked."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.errors, page.asked = [], []
    page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()


def test_a_page_lives_without_errors_and_without_another_host(tab: Any, server: Server) -> None:
    tab.goto(f"{server.url}?k=1")
    tab.wait_for_selector(READY, state="attached")
    assert tab.title() == "A page"
    assert tab.url == f"{server.url}voila/render/index.ipynb?k=1"
    assert tab.locator("#page-starting").is_hidden()
    assert tab.locator("#page-lost").is_hidden()
    tab.get_by_text("object, doubled 0").click()
    tab.get_by_text("object, doubled 2").wait_for()
    tab.locator(".noUi-handle").press("ArrowRight")
    tab.get_by_text("square 16").wait_for()
    tab.locator("h1 mjx-container").wait_for()
    tab.goto(f"{server.url}voila/render/index.ipynb")
    tab.wait_for_selector(READY, state="attached")
    assert tab.errors == []
    assert [url for url in tab.asked if not url.startswith((server.url, "data:", "blob:"))] == []


def test_a_slow_page_says_at_once_that_it_starts(tab: Any, server: Server) -> None:
    tab.goto(f"{server.url}voila/render/slow.ipynb", wait_until="commit")
    tab.locator("#page-starting").wait_for(timeout=2500)
    assert tab.locator(".widget-slider").count() == 0
    tab.wait_for_selector(READY, state="attached")
    assert tab.locator("#page-starting").is_hidden()


def test_a_page_whose_cell_raises_says_so(tab: Any, server: Server) -> None:
    tab.goto(f"{server.url}voila/render/raises.ipynb")
    tab.get_by_text("This part of the page could not be computed.").wait_for()
    tab.locator("#page-starting").wait_for(state="hidden")
    assert "cell_secret" not in tab.content()


def test_a_page_says_when_its_kernel_has_died(tab: Any, server: Server) -> None:
    before = {kernel.pid for kernel in server.kernels()}
    tab.goto(f"{server.url}voila/render/index.ipynb")
    tab.wait_for_selector(READY, state="attached")
    for kernel in server.kernels():
        if kernel.pid not in before:
            kernel.kill()
    lost = tab.get_by_text("The connection to this page's computer was lost.")
    lost.wait_for()
    assert "Reload the page; the address keeps your settings." in lost.inner_text()


def test_a_page_says_when_the_server_is_gone(tab: Any, tmp_path: Path) -> None:
    write_notebook(tmp_path, "index.ipynb", "# A page", SLIDER)
    with running_server(tmp_path, tmp_path / "log", warm=0, max_kernels=4) as server:
        tab.goto(f"{server.url}voila/render/index.ipynb")
        tab.wait_for_selector(READY, state="attached")
        server.stop()
        tab.get_by_text("The connection to this page's computer was lost.").wait_for()


def test_going_back_gives_a_page_that_lives(tab: Any, server: Server) -> None:
    tab.goto(f"{server.url}voila/render/index.ipynb")
    tab.wait_for_selector(READY, state="attached")
    tab.goto("about:blank")
    tab.go_back()
    tab.wait_for_selector(READY, state="attached")
    tab.locator(".noUi-handle").press("ArrowRight")
    tab.get_by_text("square 16").wait_for()


def test_a_narrow_page_does_not_scroll_sideways_and_things_can_stick(tab: Any, server: Server) -> None:
    tab.set_viewport_size({"width": 320, "height": 640})
    tab.goto(f"{server.url}voila/render/index.ipynb")
    tab.wait_for_selector(READY, state="attached")
    assert tab.evaluate("document.documentElement.scrollWidth") == 320
    clipping = """() => {
      const found = [];
      for (let node = document.querySelector("main"); node; node = node.parentElement)
        if (getComputedStyle(node).overflow !== "visible") found.push(node.id || node.tagName);
      return found;
    }"""
    assert tab.evaluate(clipping) == []
