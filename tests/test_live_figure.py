"""LiveFigure: only what changed travels, once, and nothing is missed."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.explainers._live_figure import LiveFigure, differences, encode

SPEC = {
    "data": [
        {"x": np.arange(3.0), "y": np.array([1.0, np.nan, np.inf]), "name": "a"},
        {"x": [1], "y": ["row"]},
    ],
    "layout": {"title": {"text": "before"}, "shapes": [{"x0": 1.0}]},
}


def patched(spec, edits):
    """Apply edits as the browser does."""
    for path, value in edits:
        target = spec
        for step in path[:-1]:
            target = target[step]
        if value is None:
            target.pop(path[-1], None)
        else:
            target[path[-1]] = value
    return spec


def copied(value):
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list | tuple) else value


def is_same(left, right):
    return not list(differences(left, right))


@pytest.fixture
def live(monkeypatch):
    figure = LiveFigure(SPEC, words={})
    figure.sent = []
    monkeypatch.setattr(LiveFigure, "send", lambda self, content, buffers=None: self.sent.append((content, buffers)))
    return figure


def test_the_same_figure_sends_nothing(live):
    live.show(copied(SPEC))
    assert live.sent == []


def test_only_what_changed_travels_in_one_binary_message(live):
    after = copied(SPEC)
    after["data"][0]["y"] = np.array([1.0, 2.0, 3.0])
    after["layout"]["title"]["text"] = "after"
    live.show(after)
    [(content, buffers)] = live.sent
    assert sorted(path for path, _ in content["edits"]) == sorted(
        [["data", 0, "y"], ["layout", "title", "text"]], key=str
    )
    assert [bytes(buffer) for buffer in buffers] == [np.array([1.0, 2.0, 3.0], dtype="<f8").tobytes()]
    json.dumps(content, allow_nan=False)


def test_infinite_and_missing_values_travel():
    """JSON has no word for NaN or infinity; a buffer has."""
    buffers = []
    encoded = encode(SPEC, buffers)
    json.dumps(encoded, allow_nan=False)
    assert np.array_equal(np.frombuffer(buffers[1], "<f8"), SPEC["data"][0]["y"], equal_nan=True)


def test_a_page_that_missed_a_message_gets_the_whole(live):
    after = copied(SPEC)
    after["layout"]["title"]["text"] = "after"
    live.show(after)
    live.sent.clear()
    live._answer(live, {"kind": "seen", "number": 0}, [])
    [(content, _)] = live.sent
    assert (content["kind"], content["number"]) == ("whole", 1)
    assert content["spec"]["layout"]["title"]["text"] == "after"
    live.sent.clear()
    live._answer(live, {"kind": "seen", "number": 1}, [])
    assert live.sent == []


def test_a_page_opened_late_starts_from_the_newest_figure(live):
    after = copied(SPEC)
    after["layout"]["title"]["text"] = "after"
    live.show(after)
    state = live.get_state("_whole")["_whole"]
    assert state["number"] == 1
    assert state["spec"]["layout"]["title"]["text"] == "after"


def test_the_library_is_sent_where_the_host_has_none(live):
    live._answer(live, {"kind": "library"}, [])
    [(content, [buffer])] = live.sent
    assert content == {"kind": "library"}
    assert b"plotly.js" in bytes(buffer[:200])


def test_the_library_fits_the_python_package():
    """The figures are written for one schema of plotly; the browser must have the same."""
    from plotly.offline import get_plotlyjs_version

    from dpviz.explainers._live_figure import _PLOTLY_JS

    head = _PLOTLY_JS.read_text(encoding="utf-8")[:200]
    assert f"v{get_plotlyjs_version()}" in head


VALUES = st.recursive(
    st.one_of(
        st.integers(-3, 3),
        st.text(max_size=3),
        st.booleans(),
        st.lists(st.floats(allow_nan=True), min_size=1).map(np.array),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), VALUES), st.dictionaries(st.sampled_from("abc"), VALUES))
def test_edits_turn_one_figure_into_the_other(before, after):
    edited = patched(copied(before), [(path, copied(value)) for path, value in differences(before, after)])
    assert is_same(edited, after)


def test_cards_and_dark_colours_travel_once(monkeypatch):
    from dpviz.figures import DARK

    sent = []
    monkeypatch.setattr(LiveFigure, "send", lambda self, content, buffers=None: sent.append(content))
    card = {"name": "a", "title": "A line", "status": "exact", "parts": [["Status", "exact"]]}
    figure = LiveFigure(SPEC, words={}, cards=[card])
    assert figure.get_state(["_cards", "_dark"]) == {"_cards": [card], "_dark": DARK}
    after = copied(SPEC)
    after["layout"]["title"]["text"] = "after"
    figure.show(after)
    [content] = sent
    assert "A line" not in json.dumps(content)


def test_the_parts_of_the_script_share_one_scope_in_peace():
    """All parts are joined into one module: each is in it, no name is declared twice, and one thing is exported."""
    from dpviz.explainers import _live_figure

    parts = {path.name for path in _live_figure._HERE.glob("figure_*.js")} | {"live_figure.js"}
    assert parts == set(_live_figure._SCRIPTS)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", LiveFigure._esm, flags=re.MULTILINE)
    assert len(names) == len(set(names))
    assert LiveFigure._esm.count("export default") == 1
    assert "innerHTML" not in LiveFigure._esm
