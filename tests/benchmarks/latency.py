"""Measure the pages as a reader meets them: slider to plot, fast drag, first plot, memory, a burst of visitors.

Run ``python -m tests.benchmarks.latency``; it starts its own servers and a headless chromium. Times are taken in the
page itself, from the key press to the change of the drawn path. The same curve as ``interact`` with matplotlib is
measured in the same run, since only ratios of one run mean anything on a shared machine. So is, with
``--before FOLDER``, a clone of an earlier state: step by step and page by page in turn.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nbformat
import psutil
from playwright.sync_api import sync_playwright

from dpviz.server.settings import find_notebooks
from tests.browser.conftest import ARGUMENTS, DESKTOP
from tests.serving import fetch, free_port, serving

# The pages, and the control that is stepped.
PAGES = {"composition": "sigma", "laplace": "epsilon", "averaging": "repeats", "tradeoff": "count", "profile": "mu"}
MATPLOTLIB = """
%matplotlib inline
import matplotlib.pyplot as plt
from ipywidgets import FloatLogSlider, interact
from dpviz.accounting.curves.composition import ReleaseHistory, composition_curves
def draw(sigma):
    curves = composition_curves(ReleaseHistory(100, sigma, 1.0, 1e-6))
    plt.loglog(curves.counts, curves.bound, "--"); plt.loglog(curves.counts, curves.exact)
    plt.ylim(1e-2, 1e3); plt.title(f"{curves.ladder['exact']:.4g}"); plt.show()
interact(draw, sigma=FloatLogSlider(value=16, min=-1, max=3, step=0.02))
"""
WATCH = """
(selector) => {
  window.steps = []; let start;
  addEventListener("keydown", () => { start = performance.now(); }, true);
  const plots = [...document.querySelectorAll(selector)];
  const observer = new MutationObserver((changes) => {
    const now = performance.now();
    for (const change of changes) {
      const plot = plots.findIndex((p) => p.contains(change.target));
      if (start !== undefined) window.steps.push([start, plot, now - start]);
    }
  });
  for (const plot of plots) observer.observe(plot, { subtree: true, childList: true, attributes: true, attributeFilter: ["d", "src", "transform", "x"] });
}
"""


@contextmanager
def server(folder: Path, warm: int, clone: Path | None = None):
    """Serve a folder of notebooks with the dpviz that is installed, or with that of a clone."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    code = (
        "from dpviz.server import serve; from dpviz.server.settings import ServerSettings; from pathlib import Path;"
        f"serve(ServerSettings(port={port}, open_browser=False, warm={warm}, max_kernels=100, notebooks=Path({str(folder)!r})))"
    )
    with (
        tempfile.TemporaryDirectory() as logs,
        serving(
            [sys.executable, "-c", code],
            url,
            Path(logs) / "log.txt",
            env={**os.environ, "PYTHONPATH": str(clone)} if clone else None,
            cwd=clone,
        ),
    ):
        yield url


def notebooks(folder: Path) -> Path:
    """Copy the pages into `folder`, with the matplotlib page beside them."""
    for page in find_notebooks().glob("*.ipynb"):
        shutil.copy(page, folder)
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(MATPLOTLIB)])
    other.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(other, folder / "matplotlib.ipynb")
    return folder


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def keyboard_steps(browser, url: str, page_name: str, steps: int) -> dict[str, float]:
    """Press an arrow key `steps` times; return times to the last changed figure, and what travelled."""
    is_ours = page_name != "matplotlib"
    page = browser.new_context(viewport=DESKTOP).new_page()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    frames: list[bytes] = []
    session.on("Network.webSocketFrameReceived", lambda event: frames.append(_payload(event["response"])))
    page.goto(f"{url}voila/render/{page_name}.ipynb")
    selector = ".dpviz-plot" if is_ours else ".widget-output, .jp-OutputArea-output"
    page.wait_for_selector(f"{selector} svg.main-svg" if is_ours else "img[src^='data:image/png']")
    page.wait_for_timeout(2500)
    name = PAGES.get(page_name)
    slider = page.locator(f"[data-control='{name}'] [type=range]") if name else page.get_by_role("slider").first
    slider.focus()
    page.evaluate(WATCH, selector if is_ours else "body")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)
    page.evaluate("() => { window.steps = []; }")
    frames.clear()
    for step in range(steps):
        page.keyboard.press("ArrowRight" if step % 10 < 5 else "ArrowLeft")
        page.wait_for_timeout(160 if is_ours else 450)
    taken = page.evaluate("() => window.steps")
    last: dict[float, float] = {}
    for start, _, passed in taken:
        last[start] = max(last.get(start, 0.0), passed)
    edits = [frame for frame in frames if b'"edits"' in frame]
    page.context.close()
    times = list(last.values())
    return {
        "steps": len(times),
        "median ms": statistics.median(times),
        "p95 ms": percentile(times, 0.95),
        "kB a step": sum(map(len, frames)) / steps / 1000,
        "figure messages a step": len(edits) / steps,
        "largest figure message kB": max(map(len, edits), default=0) / 1000,
    }


def _payload(response) -> bytes:
    data = response["payloadData"]
    return base64.b64decode(data) if response["opcode"] == 2 else data.encode()


def fast_drag(browser, url: str) -> float:
    """Drag σ through 100 positions; return the ms from the release of the mouse to the last change of a figure."""
    page = browser.new_context(viewport=DESKTOP).new_page()
    page.goto(f"{url}voila/render/composition.ipynb")
    page.wait_for_selector(".dpviz-plot svg.main-svg")
    page.wait_for_timeout(1500)
    bounds = page.locator("[data-control='sigma'] [type=range]").bounding_box()
    y = bounds["y"] + bounds["height"] / 2
    page.evaluate(
        "() => { window.last = 0; new MutationObserver(() => { window.last = performance.now(); })"
        ".observe(document.querySelector('.dpviz-figures'), {subtree: true, attributes: true, attributeFilter: ['d']});"
        " addEventListener('pointerup', () => { window.up = performance.now(); }, true); }"
    )
    page.mouse.move(bounds["x"] + 0.6 * bounds["width"], y)
    page.mouse.down()
    for step in range(100):
        page.mouse.move(bounds["x"] + bounds["width"] * (0.6 - 0.4 * step / 100), y)
    page.mouse.up()
    page.wait_for_timeout(1500)
    rest = page.evaluate("() => Math.max(window.last - window.up, 0)")
    page.context.close()
    return rest


def first_plot(browser, url: str, page_name: str) -> tuple[float, float]:
    """Return the seconds from navigation until all figures of a page are drawn, and its kernel's own MB."""
    before = _kernels()
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    page.goto(f"{url}voila/render/{page_name}.ipynb", wait_until="commit")
    page.wait_for_function(
        "() => { const plots = [...document.querySelectorAll('.dpviz-plot')];"
        " return plots.length > 2 && plots.every(p => p.querySelector('svg.main-svg')); }",
        polling=20,
    )
    seconds = page.evaluate("() => performance.now()") / 1000
    new = [process for pid, process in _kernels().items() if pid not in before]
    own = max((process.memory_full_info().uss for process in new), default=0) / 1e6
    context.close()
    return seconds, own


def _kernels() -> dict[int, psutil.Process]:
    return {p.pid: p for p in psutil.Process().children(recursive=True) if "ipykernel_launcher" in _command(p)}


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""


def burst(url: str, count: int) -> list[int]:
    """Return the status of `count` page loads asked for at once."""
    with ThreadPoolExecutor(count) as pool:
        return [status for status, _, _ in pool.map(fetch, [f"{url}voila/render/laplace.ipynb"] * count)]


def import_seconds(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(7))
    return min(float(run.stdout) for run in runs)


def compare(browser, pages: Path, clone: Path, steps: int) -> None:
    """Print this state beside an earlier one: time of a step, and from cold to the first picture."""
    both = [name for name in PAGES if (clone / "notebooks" / f"{name}.ipynb").is_file()]
    with server(pages, warm=0) as now, server(clone / "notebooks", warm=0, clone=clone) as before:
        for name in both:
            rows = [keyboard_steps(browser, url, name, steps) for url in (before, now)]
            first = [[first_plot(browser, url, name)[0] for url in (before, now)] for _ in range(7)]
            shown = [statistics.median(times) for times in zip(*first, strict=True)]
            print(
                f"{name}: step median {rows[0]['median ms']:.0f} -> {rows[1]['median ms']:.0f} ms,"
                f" p95 {rows[0]['p95 ms']:.0f} -> {rows[1]['p95 ms']:.0f} ms;"
                f" first picture {shown[0]:.2f} -> {shown[1]:.2f} s, ratio {shown[1] / shown[0]:.3f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--burst", type=int, default=45)
    parser.add_argument("--before", type=Path, help="clone of an earlier state, to measure beside this one")
    options = parser.parse_args()
    plain = import_seconds("import numpy, scipy.special")
    print(f"import: numpy + scipy.special {plain:.3f} s, dpviz {import_seconds('import dpviz'):.3f} s")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        pages = notebooks(Path(folder))
        if options.before:
            compare(browser, pages, options.before.resolve(), options.steps)
            browser.close()
            return
        with server(pages, warm=0) as url:
            for name in (*PAGES, "matplotlib"):
                row = keyboard_steps(browser, url, name, options.steps)
                print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)
            drags = [fast_drag(browser, url) for _ in range(5)]
            print(f"fast drag: rests after {statistics.median(drags):.0f} ms (all: {[round(d) for d in drags]})")
            for name in PAGES:
                cold = [first_plot(browser, url, name) for _ in range(3)]
                print(
                    f"cold {name}: {statistics.median(c[0] for c in cold):.2f} s, kernel {cold[0][1]:.0f} MB",
                    flush=True,
                )
            answers = burst(url, options.burst)
            print(f"burst of {options.burst}: " + ", ".join(f"{answers.count(s)} x {s}" for s in sorted(set(answers))))
        with server(pages, warm=1) as url:
            browser.new_page().goto(f"{url}voila/render/index.ipynb")
            browser.contexts[0].pages[0].wait_for_timeout(15_000)
            for name in PAGES:
                warm = []
                for _ in range(3):
                    warm.append(first_plot(browser, url, name)[0])
                    browser.contexts[0].pages[0].wait_for_timeout(5000)
                print(f"warm {name}: {statistics.median(warm):.2f} s", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
