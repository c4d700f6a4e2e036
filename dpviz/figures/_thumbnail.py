"""A small still picture of a figure, as SVG: its lines, areas and dots, without words."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT = 320, 180
_EDGE = 12

Points = npt.NDArray[np.float64]


def thumbnail(spec: Mapping[str, Any], *, label: str) -> str:
    """Return `spec` as an SVG element of 320 by 180 units; `label` is its alternative text.

    Lines, fills between two lines and dots on linear and log axes are drawn; bars and text are left out.
    """
    shapes: list[str] = []
    before: Points | None = None
    for trace in spec["data"]:
        if trace["type"] != "scatter" or not _is_numeric(trace):
            continue
        points = _placed(trace, spec["layout"])
        if "lines" in trace["mode"]:
            shapes += _filled(trace, points, before)
            shapes += _stroked(trace, points)
            before = points
        elif "markers" in trace["mode"]:
            shapes += _dotted(trace, points)
    frame = f"<path d='M{_EDGE} {_EDGE}V{HEIGHT - _EDGE}H{WIDTH - _EDGE}' fill='none' stroke='#9a9aa0'/>"
    clip = f"<clipPath id='inside'><rect width='{WIDTH}' height='{HEIGHT}'/></clipPath>"
    return (
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-label='{escape(label, quote=True)}'>"
        f"{clip}<g clip-path='url(#inside)'>{''.join(shapes)}{frame}</g></svg>"
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
    dash = " stroke-dasharray='7 5'" if line["dash"] == "dash" else ""
    return [
        f"<polyline points='{_path(run)}' fill='none' stroke='{line['color']}' stroke-width='{line['width']}'{dash}/>"
        for run in _runs(points)
    ]


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
    return [f"<polygon points='{_path(whole)}' fill='{trace['fillcolor']}'/>"]


def _dotted(trace: Mapping[str, Any], points: Points) -> list[str]:
    marker = trace["marker"]
    if not isinstance(marker.get("color"), str):
        return []
    edge = marker["line"]
    return [
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{marker['size'] / 2}' fill='{marker['color']}' "
        f"stroke='{edge['color']}' stroke-width='{edge['width']}'/>"
        for x, y in points[np.isfinite(points).all(axis=1)]
    ]


def _runs(points: Points) -> list[Points]:
    """Return the stretches of finite points."""
    is_finite = np.asarray(np.isfinite(points).all(axis=1))
    runs = (list(group) for is_run, group in groupby(range(len(points)), key=is_finite.__getitem__) if is_run)
    return [points[run] for run in runs]


def _path(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
