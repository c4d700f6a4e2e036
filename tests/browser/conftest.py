"""A real browser on a real server: Debian's chromium, driven by playwright."""

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.serving import free_port, serving

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 90_000  # ms
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        reason = "chromium is not installed; the browser tests need it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def gallery(tmp_path_factory):
    """The address of a running gallery."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "dpviz", "--no-browser", "--port", str(port)]
    with serving(command, url, tmp_path_factory.mktemp("server") / "log.txt"):
        yield url


class Visit:
    """One reader's tab: opens pages, and remembers what went wrong in them."""

    def __init__(self, browser, url, **options):
        self.url = url
        self.context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.outside = []
        self.errors = []
        host = urlsplit(url).netloc
        self.page.on("request", lambda request: self._note(request.url, host))
        self.page.on("console", lambda line: line.type == "error" and self.errors.append(line.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _note(self, address, host):
        parts = urlsplit(address)
        if parts.scheme not in {"data", "blob"} and parts.netloc != host:
            self.outside.append(address)

    def open(self, name, query=""):
        """Open a page and wait until all its figures are drawn."""
        self.page.goto(f"{self.url}voila/render/{name}.ipynb{query}")
        self.wait_drawn()
        return self.page

    def wait_drawn(self):
        self.page.wait_for_function(
            "() => { const plots = [...document.querySelectorAll('.dpviz-plot')];"
            " return plots.length > 2 && plots.every(p => p.dataset.drawn !== undefined && p.querySelector('svg'))"
            " && ['.dpviz-plain', '.dpviz-technical'].every(name => document.querySelector(name)?.textContent); }"
        )

    def settle(self):
        """Wait until the newest request is answered and drawn, then have plotly.js draw what was moved by hand."""
        self.page.wait_for_function(
            "() => { const { ready, asked = '0', messages } = document.querySelector('.dpviz').dataset;"
            " const plots = [...document.querySelectorAll('.dpviz-plot')].map(plot => plot.dataset);"
            " const drawn = plots.reduce((sum, plot) => sum + Number(plot.drawn), 0);"
            " return ready === asked && drawn === Number(messages); }"
        )
        self.page.evaluate(
            "() => document.querySelectorAll('.dpviz-plot').forEach(plot => plot.dispatchEvent("
            "new PointerEvent('pointermove', { clientX: -9, clientY: -9 })))"
        )

    def picture(self):
        """Everything that is drawn or said, as one text."""
        return self.page.evaluate(
            "() => [...document.querySelectorAll('.dpviz-plot svg path, .dpviz-plot svg text, .dpviz-title, .dpviz-plain, .dpviz-technical')]"
            ".map(n => (n.getAttribute('d') || '') + (n.getAttribute('transform') || '') + n.textContent).join('|')"
        )


@pytest.fixture
def visit(browser, gallery):
    """A fresh tab; at its end nothing may have been asked of another host, and no error may stand in the console."""
    tab = Visit(browser, gallery)
    yield tab
    tab.context.close()
    assert tab.outside == []
    assert tab.errors == []


@pytest.fixture
def phone(browser, gallery):
    """A fresh tab of the size of a phone, with touch."""
    tab = Visit(browser, gallery, viewport=PHONE, has_touch=True, is_mobile=True)
    yield tab
    tab.context.close()
    assert tab.outside == []
    assert tab.errors == []
