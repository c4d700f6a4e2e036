"""Faults that tools like these were reported for, when they draw: what must hold of every figure at every corner."""

import json

import numpy as np
import pytest

from dpviz.explainers._live_figure import LiveFigure, differences, encode
from tests.figure_specs import PAGES, fresh_specs, results, specs

EDGE = 1e-9


def decoded(value, buffers):
    """Read a message as the browser does."""
    if isinstance(value, dict):
        if "$array" in value:
            return np.frombuffer(buffers[value["$array"]], "<f8")
        return {key: decoded(item, buffers) for key, item in value.items()}
    return [decoded(item, buffers) for item in value] if isinstance(value, list) else value


def along(values, axis):
    """Return values as places on an axis, in the unit of its range."""
    values = np.asarray(values, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log10(values) if axis["type"] == "log" else values


@pytest.mark.parametrize("name", PAGES)
def test_infinity_and_nan_never_stand_in_json(name):
    for _, spec in specs(name):
        json.dumps(encode(spec, []), allow_nan=False)


@pytest.mark.parametrize("name", PAGES)
def test_what_travels_are_the_numbers_themselves(name):
    """Arrays travel as their own bytes, so that what is drawn is what was computed, to the last bit."""
    for spec in fresh_specs(name).values():
        buffers = []
        back = decoded(json.loads(json.dumps(encode(spec, buffers))), [bytes(part) for part in buffers])
        for ours, theirs in zip(spec["data"], back["data"], strict=True):
            for side in ("x", "y"):
                assert np.array_equal(ours[side], theirs[side], equal_nan=True)


@pytest.mark.parametrize("name", PAGES)
def test_a_saved_notebook_holds_no_picture(name):
    """The state that a notebook would save shows numbers nowhere in base64: arrays are buffers, beside the JSON."""
    for spec in fresh_specs(name).values():
        state = LiveFigure(spec, words={}).get_state("_whole")["_whole"]
        assert "bdata" not in json.dumps(state["spec"])
        assert all(isinstance(buffer, memoryview) for buffer in state["buffers"])


@pytest.mark.parametrize("name", PAGES)
def test_every_axis_is_finite_and_has_a_length(name):
    """All-equal tiny values get no axis from -1 to 1: each axis is stated, and wide enough for ticks that differ."""
    for figure, spec in specs(name):
        for side in ("xaxis", "yaxis"):
            low, high = spec["layout"][side]["range"]
            assert np.isfinite([low, high]).all(), figure
            assert abs(high - low) > 1e-6 * max(abs(low), abs(high)), figure


@pytest.mark.parametrize("name", PAGES)
def test_what_is_labelled_stands_on_its_axes(name):
    """A value that leaves a still axis is said at its end; no label is lost beyond it."""
    for figure, spec in specs(name):
        for trace in spec["data"]:
            if trace.get("mode") != "text":
                continue
            for side in ("x", "y"):
                ends = sorted(spec["layout"][f"{side}axis"]["range"])
                places = along(trace[side], spec["layout"][f"{side}axis"])
                for said, place in zip(trace["text"], places, strict=True):
                    if said.strip("\N{NO-BREAK SPACE} ") and np.isfinite(place):
                        assert ends[0] - EDGE <= place <= ends[1] + EDGE, f"{figure}: {said!r} is beyond {side}"


@pytest.mark.parametrize("name", PAGES)
def test_log_axes_never_receive_zero(name):
    for figure, spec in specs(name):
        for trace in spec["data"]:
            for side in ("x", "y"):
                if spec["layout"][f"{side}axis"]["type"] == "log":
                    values = np.asarray(trace[side], dtype=float)
                    assert not np.any(values[np.isfinite(values)] <= 0), figure
                    assert not np.isinf(values).any(), figure


@pytest.mark.parametrize("name", PAGES)
def test_a_step_of_a_slider_sends_little(name):
    """What travels at a step are arrays and texts that changed, never the whole figure again."""
    from dpviz.explainers import find_explainers
    from dpviz.locale import catalogue

    text = catalogue()
    for function in find_explainers()[name].figures.values():
        before, after = (function.spec(result, text) for result in results(name)[:2])
        edits = list(differences(before, after))
        assert not any(path[:2] == ["layout", "template"] or len(path) < 3 for path, _ in edits)
        assert sum(np.asarray(value).nbytes for _, value in edits if isinstance(value, np.ndarray)) < 50_000
