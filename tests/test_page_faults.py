"""Kinds of fault that public bug reports tell of controls, labels and notebooks, each ruled out under its own name."""

import ast
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from dpviz.explainers import find_explainers
from dpviz.explainers._controls import Choice, Seed
from dpviz.locale import catalogue, languages, numbers
from tests.test_explainers import Reader, every_notebook

PACKAGE = Path(__file__).parent.parent / "dpviz"
PAGES = find_explainers()
SLIDERS = [
    (name, key)
    for name, page in PAGES.items()
    for key, control in page().controls().items()
    if not isinstance(control, Choice | Seed)
]


@pytest.mark.parametrize(("name", "key"), SLIDERS)
def test_no_slider_is_stuck_because_its_numbers_are_tiny(name, key):
    """A slider moves over the places of its stops; the size of its numbers does not matter."""
    control = PAGES[name]().controls()[key]
    assert len(control.stops) >= 20
    assert len({control.read(stop) for stop in control.stops}) == len(control.stops)


def test_no_slider_of_another_library_with_a_linear_scale_is_used():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", ""))
            assert not re.fullmatch(r"(Bounded)?(Float|Int)\w*(Slider|Text)|interact\w*|Output", str(name)), path


@pytest.mark.parametrize(("name", "key"), SLIDERS)
def test_a_readout_never_hides_a_small_value(name, key):
    control = PAGES[name]().controls()[key]
    for stop in control.stops:
        assert control.write(control.read(stop)) == stop
        assert not re.fullmatch(r"-?0\.0+", stop)


@pytest.mark.parametrize(("name", "key"), SLIDERS)
def test_zero_is_refused_in_words_and_not_turned_into_the_smallest_value(name, key, monkeypatch):
    control = PAGES[name]().controls()[key]
    if control.low <= 0 <= control.high:
        return
    reader = Reader(PAGES[name], monkeypatch)
    before = reader.explainer.current
    reply = reader.ask(**{key: "0"})
    assert "“0”" in reply["errors"][key]
    assert reader.explainer.current is before


@pytest.mark.parametrize("typed", ["0.7000001", "0.1234567890123", "3.0000000001"])
def test_a_typed_value_is_not_rounded_and_echoed(typed, monkeypatch):
    reader = Reader(PAGES["composition"], monkeypatch)
    reply = reader.ask(sigma=typed)
    assert reply["texts"]["sigma"] == typed
    assert reader.explainer.current.params.sigma == float(typed)


def test_after_a_refused_text_a_good_one_takes(monkeypatch):
    reader = Reader(PAGES["composition"], monkeypatch)
    for typed in ("-1", "abc", "", "1,5", "1e-5"):
        assert reader.ask(sigma=typed)["errors"]["sigma"]
    reply = reader.ask(sigma="2")
    assert reply["errors"] == {}
    assert reader.explainer.current.params.sigma == 2.0


@pytest.mark.parametrize("name", PAGES)
def test_presets_run_in_both_directions(name, monkeypatch):
    """No order of presets trips over the limits of a control: limits never move."""
    reader = Reader(PAGES[name], monkeypatch)
    names = list(PAGES[name].scenarios)
    for scenario in (*names, *reversed(names)):
        reply = reader.ask("scenario", value=scenario)
        assert (reply["fault"], reply["errors"], reply["scenario"]) == ("", {}, scenario)


def test_one_event_is_one_computation(monkeypatch):
    page = PAGES["laplace"]
    runs = []
    compute = page.compute
    monkeypatch.setattr(page, "compute", staticmethod(lambda params: runs.append(params) or compute(params)))
    reader = Reader(page, monkeypatch)
    runs.clear()
    for step in range(10):
        reader.ask(epsilon=str(1.1 + 0.1 * step), gesture=step)
    assert len(runs) == 10


@pytest.mark.parametrize("name", PAGES)
def test_labels_take_numbers_of_every_type(name):
    """What is said is text, whatever type a number has; infinities and numpy's own types too."""
    page = PAGES[name]()
    assert all(isinstance(word, str) for word in page.current.words.values())
    for value in (np.float64(2.5), np.int64(7), float("inf"), np.float64("inf"), 0.0):
        for write in (numbers.rounded, numbers.rounded_up):
            assert isinstance(write(value), str)


@pytest.mark.parametrize("language", languages())
def test_no_label_needs_a_typesetter(language):
    """TeX is raw text in some hosts, and is set anew at each step of a drag in others."""
    for page in PAGES.values():
        here = page(language)
        looks = [control.look(catalogue(language)) for control in here.controls().values()]
        said = json.dumps(
            [looks, here._speech.lesson(here.prediction, here.scenarios, here.breaches, here.question.words)]
        )
        assert "$" not in said
        assert "\\\\" not in said


@pytest.mark.parametrize("path", every_notebook(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_stored_notebooks_stay_readable(path):
    """No arrays in base64, no error, no stream, and one value a cell: a difference can be read."""
    text = path.read_text(encoding="utf-8")
    assert "bdata" not in text
    assert len(text) < 200_000
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert [output.output_type for output in cell.outputs] == ["execute_result"]
