"""A small still picture of a figure, as SVG: its lines, areas and dots, without words."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.figures._style import CONTEXT, DARK

WIDTH, HEIGHT = 320, 180
_DASHES = {"dash": "7 5", "dot": "2 4"}
_EDGE = 12

Points = npt.NDArray[np.float64]


def thumbnail(spec: Mapping[str, Any], *, label: str) -> str:
    """Return `spec` as an SVG element of 320 by 180 units; `label` is its alternative text.

    Lines, fills between two lines and dots on linear and log axes are drawn; bars, text and what is hidden are left
    out. Colours follow the theme of the page.
    """
    shapes: list[str] = []
    before: Points | None = None
    for trace in spec["data"]:
        if trace["type"] != "scatter" or trace.get("visible") is False or not _is_numeric(trace):
            continue
        points = _placed(trace, spec["layout"])
        if "lines" in trace["mode"]:
            shapes += _filled(trace, points, before)
            shapes += _stroked(trace, points)
            before = points
        elif "markers" in trace["mode"]:
            shapes += _dotted(trace, points)
    frame = f"<path d='M{_EDGE} {_EDGE}V{HEIGHT - _EDGE}H{WIDTH - _EDGE}' fill='none' stroke='{_themed(CONTEXT)}'/>"
    return (
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-label='{escape(label, quote=True)}'>"
        f"{''.join(shapes)}{frame}</svg>"
    )


def _is_numeric(trace: Mapping[str, Any]) -> bool:
    return all(isinstance(trace[side], np.ndarray) and trace[side].dtype.kind == "f" for side in ("x", "y"))


def _placed(trace: Mapping[str, Any], layout: Mapping[str, Any]) -> Points:
    """Return the trace's points in the picture's units, shape (n, 2)."""
    x = _along(trace["x"], layout["xaxis"]) * (WIDTH - 2 * _EDGE) + _EDGE
    y = HEIGHT - _EDGE - _along(trace["y"], layout["yaxis"]) * (HEIGHT - 2 * _EDGE)
    return np.column_stack([x, y])


def _along(values: Points, axis: Mapping[str, Any]) -> Points:
    low, high = axis["range"]
    with np.errstate(divide="ignore", invalid="ignore"):
        where = np.log10(values) if axis["type"] == "log" else values
    return np.where(np.isfinite(where), (where - low) / (high - low), np.nan)


def _stroked(trace: Mapping[str, Any], points: Points) -> list[str]:
    line = trace["line"]
    if not line["width"]:
        return []
    dash = f" stroke-dasharray='{_DASHES[line['dash']]}'" if line["dash"] in _DASHES else ""
    paint = f"fill='none' stroke='{_themed(line['color'])}' stroke-width='{line['width']}'{dash}"
    return [f"<polyline points='{_path(run)}' {paint}/>" for run in _runs(points)]


def _filled(trace: Mapping[str, Any], points: Points, before: Points | None) -> list[str]:
    match trace.get("fill"):
        case "tonexty" if before is not None:
            outline = np.concatenate([points, before[::-1]])
        case "tozeroy":
            floor = HEIGHT - _EDGE
            outline = np.concatenate([points, [[points[-1, 0], floor], [points[0, 0], floor]]])
        case _:
            return []
    whole = outline[np.isfinite(outline).all(axis=1)]
    return [f"<polygon points='{_path(whole)}' fill='{_themed(trace['fillcolor'])}'/>"]


def _dotted(trace: Mapping[str, Any], points: Points) -> list[str]:
    marker = trace["marker"]
    edge = marker["line"]
    colors = [marker["color"]] * len(points) if isinstance(marker["color"], str) else marker["color"]
    is_open = marker["symbol"].endswith("-open")
    return [
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{marker['size'] / 2}' fill='{'none' if is_open else _themed(color)}' "
        f"stroke='{_themed(edge['color'])}' stroke-width='{edge['width']}'/>"
        for (x, y), color in zip(points, colors, strict=True)
        if np.isfinite(x) and np.isfinite(y)
    ]


def _themed(color: str) -> str:
    return f"light-dark({color}, {DARK[color]})"


def _runs(points: Points) -> list[Points]:
    """Return the stretches of finite points."""
    is_finite = np.asarray(np.isfinite(points).all(axis=1))
    runs = (list(group) for is_run, group in groupby(range(len(points)), key=is_finite.__getitem__) if is_run)
    return [points[run] for run in runs]


def _path(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
