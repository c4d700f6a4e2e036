"""Kinds of fault that public bug reports tell of pages like these, each ruled out here under its own name."""

import json
import re
import shutil

import pytest

from dpviz.server.settings import find_notebooks
from tests.browser.conftest import Visit
from tests.server_helpers import running_server, write_notebook

SLOW = """
import time
from dpviz.explainers.laplace import Laplace
def slowly(params, compute=Laplace.compute):
    slowly.runs += 1
    time.sleep(0.4)
    return compute(params)
slowly.runs = 0
class Slow(Laplace):
    compute = staticmethod(slowly)
    def words(self, params, result):
        return {**super().words(params, result), "output": f"{params.output:g} after {slowly.runs} runs"}
Slow().show()
"""
FAULTY = """
from dpviz.explainers.laplace import Laplace
class Faulty(Laplace):
    def words(self, params, result):
        if params.epsilon > 1:
            raise RuntimeError("secret detail")
        return super().words(params, result)
Faulty().show()
"""


def slider(page, name):
    return page.locator(f"[data-control='{name}'] [type=range]")


def box(page, name):
    return page.locator(f"[data-control='{name}'] .dpviz-box")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """The address of a gallery with a slow page and a faulty one."""
    folder = tmp_path_factory.mktemp("workshop")
    shutil.copy(find_notebooks() / "index.ipynb", folder)
    for name, source in (("slow", SLOW), ("faulty", FAULTY)):
        write_notebook(folder, f"{name}.ipynb", source)
    with running_server(folder, folder / "log.txt", warm=0) as server:
        yield server.url


@pytest.fixture
def at_work(browser, workshop):
    tab = Visit(browser, workshop)
    yield tab
    tab.context.close()


def test_a_slider_over_tiny_numbers_reaches_more_than_its_ends(visit):
    page = visit.open("composition")
    seen = []
    for _ in range(20):
        slider(page, "delta").press("ArrowRight")
        seen.append(slider(page, "delta").get_attribute("aria-valuetext"))
    assert len(set(seen)) == 20
    assert not any(re.match(r"0\.0*( |$)", text) for text in seen), "a readout of two decimals hides small values"
    assert seen[0].startswith("2e-6")


def test_a_value_with_many_digits_is_not_rounded_on_its_way_back(visit):
    page = visit.open("composition")
    box(page, "sigma").fill("0.7000001")
    box(page, "sigma").press("Enter")
    visit.settle()
    assert box(page, "sigma").input_value() == "0.7000001"
    slider(page, "count").press("ArrowRight")
    visit.settle()
    assert box(page, "sigma").input_value() == "0.7000001"


def test_a_drag_over_a_slow_network_rests_at_the_last_value(visit):
    page = visit.open("laplace")
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    slow = {"offline": False, "latency": 150, "downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", slow)
    for _ in range(50):
        slider(page, "epsilon").press("ArrowRight")
    visit.settle()
    assert f"claimed ε = {box(page, 'epsilon').input_value()}" in page.locator(".dpviz-technical").inner_text()


def test_events_do_not_queue_behind_a_slow_computation(at_work):
    page = at_work.open("slow")
    for _ in range(50):
        slider(page, "output").press("ArrowRight")
    at_work.settle()
    value = box(page, "output").input_value()
    sentence = page.locator(".dpviz-plain").inner_text()
    assert f"x = {value} after" in sentence
    runs = int(sentence.partition(" after ")[2].split()[0])
    assert runs <= 12, "the newest value wins; those between are left out"


def test_a_fault_in_a_step_shows_a_sentence_and_no_trace_of_the_program(at_work):
    page = at_work.open("faulty")
    before = at_work.picture()
    box(page, "epsilon").fill("2")
    box(page, "epsilon").press("Enter")
    fault = page.locator(".dpviz-fault")
    fault.filter(has_text="RuntimeError").wait_for()
    assert page.locator(".dpviz.dpviz-stale").count() == 1, "the picture is marked as old"
    content = page.content()
    assert "Traceback" not in content
    assert "secret detail" not in content
    assert ".py" not in page.locator("main").inner_text()
    assert at_work.picture() == before
    box(page, "epsilon").fill("0.5")
    box(page, "epsilon").press("Enter")
    at_work.settle()
    assert fault.inner_text() == ""


def test_a_moved_drawing_is_the_one_that_would_be_drawn(visit):
    """What is moved by hand during a drag stands where plotly.js would put it, labels and a pin's copies too."""
    read = (
        "n => [...n.querySelectorAll('.textpoint > text, .point')].map(t =>"
        " [t.textContent, ...['x', 'y', 'transform'].map(name => t.getAttribute(name))].join())"
    )
    page = visit.open("composition", "?k=400&pin=k:100,sigma:8")
    visit.settle()
    slider(page, "sigma").press("ArrowRight")
    page.wait_for_function(
        "() => { const d = document.querySelector('.dpviz-plot').dataset; return d.drawn !== d.settled; }"
    )
    plot = page.locator(".dpviz-plot").first
    moved = plot.evaluate(read)
    visit.settle()
    assert moved == plot.evaluate(read)


def test_a_page_says_how_far_it_is(visit):
    """A test, or a reader's script, can wait for the page instead of sleeping."""
    page = visit.open("composition")
    slider(page, "sigma").press("ArrowRight")
    visit.settle()
    data = page.locator(".dpviz").evaluate("n => ({...n.dataset})")
    assert data["ready"] == data["asked"]
    assert json.loads(data["messages"]) > 0
