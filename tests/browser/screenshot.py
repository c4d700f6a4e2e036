"""Make the README's picture from the running gallery: ``python -m tests.browser.screenshot``."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import ARGUMENTS, NAMES, Visit
from tests.serving import free_port, serving

PICTURE = Path(__file__).parents[2] / "docs" / "composition.png"


def main() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "dpviz", "--no-browser", "--port", str(port)]
    executable = next(filter(None, map(shutil.which, NAMES)))
    with (
        tempfile.TemporaryDirectory() as logs,
        serving(command, url, Path(logs) / "log.txt"),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        tab = Visit(browser, url, viewport={"width": 1280, "height": 860})
        page = tab.open("composition")
        tab.settle()
        page.evaluate("() => document.querySelector('.dpviz').scrollIntoView()")
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
