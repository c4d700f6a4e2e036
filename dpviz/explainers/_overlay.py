"""What a page draws over its figures: a pinned setting, what really holds, and an answer given before looking.

The traces are allocated once, hidden while unused, so that a figure's traces keep their number and order. What is
pinned and what really holds are said once a figure, in a key above its axes, where nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.figures import _style as style
from dpviz.locale import Catalogue

Spec = Mapping[str, Any]

_MARK, _END = 12, 34  # px; a mark at the end of a bar is longer than the bar is broad
_FEW = 8
_WIDTHS = {"pinned": 4.5, "really": 1.75}  # px; a pinned line is a broad one below the page's own
_ABOVE = 28  # px above the axes for the key
_PLOT = (300.0, 200.0)  # px; about what a narrow plot measures, to tell which words would stand on others
_LETTER, _LINE, _OFF = 7.5, 16.0, 10.0  # px
_AT_CORNER = {"left": "top right", "right": "top left"}  # of which the words stand where
_SIDES = ("top right", "middle right", "bottom right", "top left", "middle left", "bottom left")
_NOTHING = np.zeros(0)
_HIDDEN: dict[str, Any] = {
    "type": "scatter",
    "mode": "lines",
    "name": "",
    "x": _NOTHING,
    "y": _NOTHING,
    "visible": False,
}


@dataclass(frozen=True)
class Marks:
    """An answer given before looking, and the true one once it is shown: points on a figure's axes."""

    guess: tuple[float, float]
    answer: tuple[float, float] | None = None


def overlaid(spec: Spec, *, pinned: Spec | None, real: Spec | None, marks: Marks | None, text: Catalogue) -> style.Spec:
    """Return `spec` with grey copies of a pinned setting and copies of what really holds below, an answer on top."""
    pins = _copies(spec, pinned, "pinned", style.PINNED, text)
    truths = _copies(spec, real, "really", style.REALLY, text)
    layout = _reaching(spec, [other["layout"] for other in (pinned, real) if other is not None])
    keys = [
        _key(layout, text("overlay.pinned_label") if _is_any_shown(pins) else "", style.PINNED, "left"),
        _key(layout, text("overlay.really_label") if _is_any_shown(truths) else "", style.REALLY, "right"),
    ]
    if any(key is not _HIDDEN for key in keys):
        layout = {**layout, "margin": {**layout["margin"], "t": _ABOVE}}
    return {
        **spec,
        "data": [*pins, *truths, *spec["data"], *keys, *_answers(marks, {**spec, "layout": layout}, text)],
        "layout": layout,
    }


def _is_any_shown(traces: Sequence[Spec]) -> bool:
    return any(trace["visible"] for trace in traces)


def _reaching(spec: Spec, others: Sequence[Spec]) -> Spec:
    """Return a layout that shows the figures drawn beside this one, as far as no curve ends in the middle of an axis.

    A curve is known over its own horizontal axis, and on a log axis down to that axis's foot: there a figure with
    curves keeps its own ends, and only reaches higher. A figure of dots and bars reaches as far as all of them.
    """
    layout: Spec = spec["layout"]
    has_curves = any(trace.get("mode") == "lines" and trace["name"] for trace in spec["data"])
    sides = ("yaxis",) if has_curves else ("xaxis", "yaxis")
    for side in sides if others else ():
        axis = layout[side]
        ends = np.array([axis["range"], *(other[side]["range"] for other in others)])
        low, high = float(ends.min()), float(ends.max())
        if has_curves and axis["type"] == "log":
            low = axis["range"][0]
        layout = {**layout, side: style.reaching(axis, low, high)}
    return layout


def _key(layout: Spec, label: str, color: str, side: str) -> Spec:
    """Return the name of an overlay in its colour above a corner of the axes; hidden without one."""
    if not label:
        return _HIDDEN
    corner = [layout["xaxis"]["range"][0 if side == "left" else 1], layout["yaxis"]["range"][1]]
    x, y = (
        10**end if layout[axis]["type"] == "log" else end for axis, end in zip(("xaxis", "yaxis"), corner, strict=True)
    )
    said = f"━ {label}"
    words = style.labels([x], [y], [said], color=color, position=_AT_CORNER[side], size=12)
    return {**words, "visible": True}


def _copies(spec: Spec, other: Spec | None, kind: str, color: str, text: Catalogue) -> list[Spec]:
    """Return for each trace that says something its copy from another figure; hidden where the two are the same."""
    bars = [at for at, trace in enumerate(spec["data"]) if trace["type"] == "bar"]
    stacked = bars[1:] if spec["layout"].get("barmode") == "stack" else []  # their ends say nothing of themselves
    pairs = [
        (trace, None if other is None else other["data"][at])
        for at, trace in enumerate(spec["data"])
        if trace.get("name") and at not in stacked and trace.get("line", {}).get("color") != style.CONTEXT
    ]
    twins = [None if twin is None or _is_same(trace, twin) else twin for trace, twin in pairs]
    return [
        _HIDDEN if twin is None else _copy(twin, color, text(f"overlay.{kind}", name=twin["name"]), _WIDTHS[kind])
        for twin in twins
    ]


def _is_same(trace: Spec, twin: Spec) -> bool:
    return all(np.array_equal(trace[side], twin[side], equal_nan=True) for side in ("x", "y"))


def _copy(trace: Spec, color: str, name: str, width: float) -> Spec:
    """Return a trace drawn in one colour; a bar becomes a mark at its end."""
    looks: dict[str, Any] = {
        "type": "scatter",
        "x": trace["x"],
        "y": trace["y"],
        "name": name,
        "meta": trace.get("meta", {}),
        "hoverinfo": "skip",
        "connectgaps": False,
        "visible": True,
    }
    if "lines" in trace.get("mode", ""):
        return {**looks, "mode": "lines", "line": {**trace["line"], "color": color, "width": width}}
    is_bar = trace["type"] == "bar"
    is_tick = is_bar or trace["marker"]["symbol"].startswith("line")
    symbol = "line-ns-open" if is_tick else "circle-open"
    size = _END if is_bar else _MARK if len(trace["x"]) <= _FEW else trace["marker"]["size"]
    return {
        **looks,
        "mode": "markers",
        "marker": {"symbol": symbol, "color": color, "size": size, "line": {"color": color, "width": 2}},
        "cliponaxis": False,
    }


def _answers(marks: Marks | None, spec: Spec, text: Catalogue) -> Sequence[Spec]:
    """Return the gap between an answer and the true one, and the two points, named where the figure leaves room."""
    if marks is None:
        return (_HIDDEN, _HIDDEN)
    points = [marks.guess, *([] if marks.answer is None else [marks.answer])]
    x, y = (np.array([point[side] for point in points], dtype=np.float64) for side in (0, 1))
    said = [text("overlay.guess_label"), text("overlay.answer_label")][: len(points)]
    gap = {
        **_HIDDEN,
        "name": text("overlay.gap"),
        "x": x,
        "y": y,
        "line": {"color": style.GUESS, "width": 6},
        "opacity": 0.45,
        "hoverinfo": "skip",
        "visible": True,
    }
    dots = {
        "type": "scatter",
        "mode": "markers+text",
        "name": text("overlay.answers"),
        "x": x,
        "y": y,
        "marker": {
            "symbol": ["diamond-open", "diamond"][: len(points)],
            "color": style.GUESS,
            "size": 13,
            "line": {"color": style.GUESS, "width": 2},
        },
        "text": said,
        "textposition": _sides(spec, x, y, said),
        "textfont": {"color": style.GUESS, "size": 13},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "visible": True,
    }
    return (gap if marks.answer is not None else _HIDDEN, dots)


Box = tuple[float, float, float, float]  # left, right, low, high


def _sides(spec: Spec, x: np.ndarray, y: np.ndarray, said: Sequence[str]) -> list[str]:
    """Return for each point the side where its words stand least on the words and dots of a figure, and inside it."""
    taken = [*_taken(spec), *(_box(at, "", "middle center") for at in _pixels(spec, x, y))]
    sides = []
    for at, words in zip(_pixels(spec, x, y), said, strict=True):
        boxes = {side: _box(at, words, side) for side in _SIDES}
        best = min(_SIDES, key=lambda side: _outside(boxes[side]) + sum(_shared(boxes[side], box) for box in taken))
        taken.append(boxes[best])
        sides.append(best)
    return sides


def _taken(spec: Spec) -> Iterator[Box]:
    """Yield where the words, the bars and the few dots of a figure stand, in pixels of a narrow plot."""
    for trace in spec["data"]:
        places = _pixels(spec, trace["x"], trace["y"])
        if trace.get("mode") == "text":
            for at, words, side in zip(places, trace["text"], trace["textposition"], strict=True):
                if words:
                    yield _box(at, words, side)
        elif trace["type"] == "bar":
            for (left, _), (right, y) in zip(_pixels(spec, 0 * trace["x"], trace["y"]), places, strict=True):
                yield left, right, y - _OFF, y + _OFF
        elif trace["mode"] == "markers" and len(places) <= _FEW:
            yield from (_box(at, "", "middle center") for at in places)


def _pixels(spec: Spec, x: np.ndarray, y: np.ndarray) -> list[tuple[float, float]]:
    """Return points in pixels from the lower left corner of a narrow plot; those without a place are far away."""
    sides = []
    for values, name, length in zip((x, y), ("xaxis", "yaxis"), _PLOT, strict=True):
        axis = spec["layout"][name]
        low, high = axis["range"]
        with np.errstate(divide="ignore", invalid="ignore"):
            along = np.log10(values) if axis["type"] == "log" else np.asarray(values)
        sides.append(np.nan_to_num((along - low) / (high - low) * length, nan=-1e6))
    return list(zip(*(side.tolist() for side in sides), strict=True))


def _box(at: tuple[float, float], words: str, side: str) -> Box:
    """Return the room of words beside a point, or of the point itself."""
    upright, level = side.split()
    letters = sum(2 if letter > "\u2e80" else 1 for letter in words)  # those of Chinese and Japanese are wide
    width, height = _LETTER * letters + _OFF, _LINE if words else _OFF
    left = {"left": at[0] - width, "center": at[0] - width / 2, "right": at[0]}[level]
    low = {"bottom": at[1] - height - _OFF / 2, "middle": at[1] - height / 2, "top": at[1] + _OFF / 2}[upright]
    return left, left + width, low, low + height


def _shared(one: Box, other: Box) -> float:
    """Return the area that two boxes share."""
    width = min(one[1], other[1]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[2], other[2])
    return max(width, 0.0) * max(height, 0.0)


def _outside(box: Box) -> float:
    """Return the area of a box outside the plot."""
    left, right, low, high = box
    return (right - left) * (high - low) - _shared(box, (0.0, _PLOT[0], 0.0, _PLOT[1]))
