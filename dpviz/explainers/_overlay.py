"""What a page draws over its figures: a pinned setting, what really holds, and an answer given before looking.

The traces are allocated once, hidden while unused, so that a figure's traces keep their number and order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.figures import _style as style
from dpviz.locale import Catalogue

Spec = Mapping[str, Any]

_MARK = 12
_FEW = 8
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
    below = [
        *_copies(spec, pinned, "pinned", style.PINNED, text),
        *_copies(spec, real, "really", style.REALLY, text),
    ]
    others = [other["layout"] for other in (pinned, real) if other is not None]
    return {
        **spec,
        "data": [*below, *spec["data"], *_answers(marks, text)],
        "layout": _reaching(spec["layout"], others),
    }


def _reaching(layout: Spec, others: Sequence[Spec]) -> Spec:
    """Return a layout whose axes reach as far as its own and those of the figures drawn beside it."""
    for side in ("xaxis", "yaxis") if others else ():
        first, last = layout[side]["range"]
        ends = np.array([layout[side]["range"], *(other[side]["range"] for other in others)])
        low, high = float(ends.min()), float(ends.max())
        layout = {**layout, side: {**layout[side], "range": [low, high] if first < last else [high, low]}}
    return layout


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
    dots = [twin for twin in twins if twin is not None and "lines" not in twin.get("mode", "markers")]
    labelled = min(dots, key=lambda twin: len(twin["x"]), default=None)
    return [
        _HIDDEN
        if twin is None
        else _copy(
            twin,
            color,
            text(f"overlay.{kind}", name=twin["name"]),
            text(f"overlay.{kind}_label") if twin is labelled else "",
            "bottom center" if kind == "pinned" else "top center",
        )
        for twin in twins
    ]


def _is_same(trace: Spec, twin: Spec) -> bool:
    return all(np.array_equal(trace[side], twin[side], equal_nan=True) for side in ("x", "y"))


def _copy(trace: Spec, color: str, name: str, label: str, side: str) -> Spec:
    """Return a trace drawn thinly in one colour; a bar becomes a mark at its end."""
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
        return {**looks, "mode": "lines", "line": {**trace["line"], "color": color, "width": 1.75}}
    symbol = "line-ns-open" if trace["type"] == "bar" else "circle-open"
    size = _MARK if len(trace["x"]) <= _FEW else trace["marker"]["size"]
    return {
        **looks,
        "mode": "markers+text",
        "marker": {"symbol": symbol, "color": color, "size": size, "line": {"color": color, "width": 2}},
        "text": [label, *[""] * (len(trace["x"]) - 1)],
        "textposition": side,
        "textfont": {"color": color, "size": 12},
        "cliponaxis": False,
    }


def _answers(marks: Marks | None, text: Catalogue) -> Sequence[Spec]:
    """Return the gap between an answer and the true one, and the two points."""
    if marks is None:
        return (_HIDDEN, _HIDDEN)
    points = [marks.guess, *([] if marks.answer is None else [marks.answer])]
    x, y = (np.array([point[side] for point in points], dtype=np.float64) for side in (0, 1))
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
        "text": [text("overlay.guess_label"), text("overlay.answer_label")][: len(points)],
        "textposition": ["middle left", "top right"][: len(points)],
        "textfont": {"color": style.GUESS, "size": 13},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "visible": True,
    }
    return (gap if marks.answer is not None else _HIDDEN, dots)
