"""The same notebooks in JupyterLab: figures live, library sent once by the kernel."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import DESKTOP
from tests.serving import free_port, serving

PATIENCE = 180_000  # ms; a lab starts slowly on a busy machine
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab on a copy of the notebooks, with settings of its own."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(NOTEBOOKS, home / "notebooks")
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    own = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    own |= {name: str(home / name.lower()) for name in ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")}
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={home / 'notebooks'}",
        "--LabApp.news_url=",
    ]
    with serving(command, url, home / "log.txt", env={**os.environ, **own}):
        yield url


def run_all(page, url, name):
    page.goto(f"{url}lab/tree/{name}.ipynb?reset")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=PATIENCE)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for(timeout=PATIENCE)
    # The menu asks for a kernel until the notebook has its own, whatever its indicator says.
    page.locator(".jp-KernelName").filter(has_text="Python 3").first.wait_for(timeout=PATIENCE)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(
        "() => { const plots = [...document.querySelectorAll('.dpviz-plot')];"
        " return plots.length > 2 && plots.every(p => p.querySelector('svg.main-svg')); }",
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("name", ["composition"])
def test_a_slider_moves_the_figures_in_lab(browser, lab, name):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    run_all(page, lab, name)
    picture = "() => [...document.querySelectorAll('.dpviz-plot path.js-line')].map(n => n.getAttribute('d')).join()"
    before = page.evaluate(picture)
    slider = page.locator(".dpviz-controls [type=range]").nth(1)
    slider.scroll_into_view_if_needed()
    bounds = slider.bounding_box()
    y = bounds["y"] + bounds["height"] / 2
    page.mouse.move(bounds["x"] + bounds["width"] * 0.55, y)
    page.mouse.down()
    page.mouse.move(bounds["x"] + bounds["width"] * 0.3, y, steps=20)
    page.mouse.up()
    page.wait_for_function(f"before => ({picture})() !== before", arg=before)
    assert "?" not in page.url.split("/lab/")[1].replace("?reset", ""), "the editor's address is not ours"
    assert page.evaluate("() => [...document.scripts].filter(s => s.src.startsWith('blob:')).length") <= 1
    assert errors == []
    context.close()
