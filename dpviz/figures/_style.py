"""The one look of all figures: colours named by meaning, still axes, lines with their labels at the end.

A figure function states a *spec*, plotly's own JSON with numpy arrays in it: a page sends it as it is, and calling
the function gives the same as a plotly ``Figure``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpviz.locale import Catalogue, catalogue

if TYPE_CHECKING:
    import plotly.graph_objects as go

Spec = dict[str, Any]

INK = "#1d1d1f"
QUIET = "#6b6b70"
GRID = "#ececef"
EXACT = "#0072B2"
BOUND = "#D55E00"
ACCURACY = "#009E73"
PERSON = "#AA3377"
NOBODY = INK
SLACK = "rgba(213, 94, 0, 0.16)"
ALLOWED = "rgba(29, 29, 31, 0.06)"

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


class FigureFunction:
    """A pure function from a result to a figure: calling it gives a plotly ``Figure``, `spec` the JSON behind it."""

    def __init__(self, spec: Callable[[Any, Catalogue], Spec]) -> None:
        self._spec = spec
        update_wrapper(self, spec)

    def spec(self, result: Any, text: Catalogue) -> Spec:
        """Return plotly's JSON for `result`, with arrays as numpy arrays and words in the language of `text`."""
        return self._spec(result, text)

    def __call__(self, result: Any, text: Catalogue | None = None) -> go.Figure:
        """Return the figure of `result` as a plotly ``Figure``, in English unless `text` says otherwise."""
        import plotly.graph_objects as go

        return go.Figure(self._spec(result, text or catalogue()))


def line(
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    *,
    name: str,
    color: str,
    is_bound: bool = False,
    width: float = 2.5,
    hover: str = "",
    **more: Any,
) -> Spec:
    """Return a line trace: dashed for a bound, solid for an exact value."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": color, "width": width, "dash": "dash" if is_bound else "solid", "simplify": False},
        "hovertemplate": f"{hover}<extra></extra>" if hover else None,
        "hoverinfo": None if hover else "skip",
        "connectgaps": False,
        **more,
    }


def dots(
    x: Sequence[float] | npt.NDArray[Any],
    y: Sequence[Any] | npt.NDArray[Any],
    *,
    name: str,
    color: str,
    is_bound: bool = False,
    size: float = 10,
    hover: str = "",
    **more: Any,
) -> Spec:
    """Return a marker trace: open for a bound, filled for an exact value."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": as_array(x),
        "y": as_array(y),
        "name": name,
        "marker": {
            "color": "white" if is_bound else color,
            "size": size,
            "line": {"color": color if is_bound else "white", "width": 2 if is_bound else 1.5},
        },
        "hovertemplate": f"{hover}<extra></extra>" if hover else None,
        "hoverinfo": None if hover else "skip",
        "cliponaxis": False,
        **more,
    }


def labels(
    x: Sequence[float] | npt.NDArray[Any],
    y: Sequence[float] | npt.NDArray[Any],
    texts: Sequence[str],
    *,
    color: str,
    position: str | Sequence[str],
    **more: Any,
) -> Spec:
    """Return text at points, in the colour of what it names, a little off its point."""
    sides = [position] * len(texts) if isinstance(position, str) else list(position)
    return {
        "type": "scatter",
        "mode": "text",
        "x": as_array(x),
        "y": as_array(y),
        "text": [_off_point(text, side) for text, side in zip(texts, sides, strict=True)],
        "textposition": sides,
        "textfont": {"color": color, "size": 13},
        "hoverinfo": "skip",
        "cliponaxis": False,
        **more,
    }


def axis(title: str, *, low: float, high: float, is_log: bool = False, **more: Any) -> Spec:
    """Return a still axis from `low` to `high`; on a log axis both must be > 0."""
    ends = [float(np.log10(low)), float(np.log10(high))] if is_log else [low, high]
    decades = ends[1] - ends[0]
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 13, "color": INK}},
        "type": "log" if is_log else "linear",
        "range": ends,
        "dtick": _log_tick(decades) if is_log else None,
        "exponentformat": "power",
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": "#9a9aa0",
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "#9a9aa0",
        "tickfont": {"size": 12, "color": QUIET},
        "automargin": True,
        **more,
    }


def layout(*, title: str, x: Spec, y: Spec, meta: Spec | None = None, **more: Any) -> Spec:
    """Return the layout that all figures share around two axes."""
    return {
        "title": {"text": title},
        "xaxis": x,
        "yaxis": y,
        "font": {"family": _FONT, "size": 13, "color": INK},
        "margin": {"l": 56, "r": 26, "t": 10, "b": 46},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "white", "bordercolor": "#9a9aa0", "font": {"color": INK, "size": 13}},
        "template": {"layout": {}},
        "meta": meta or {},
        **more,
    }


def share_axis(title: str) -> Spec:
    """Return a still axis over the shares from 0 to 1, in per cent."""
    return axis(title, low=0, high=1, tickformat=".0%", dtick=0.25)


def row_axis(rows: Sequence[str]) -> Spec:
    """Return a vertical axis of named rows, the first on top, at 0, 1, 2 and so on."""
    return {
        **axis("", low=len(rows) - 0.5, high=-0.5),
        "tickvals": list(range(len(rows))),
        "ticktext": list(rows),
        "ticks": "",
        "showgrid": False,
        "tickfont": {"size": 13, "color": INK},
    }


def positive(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `values` for a log axis: what is not a finite number > 0 becomes a gap."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def as_array(values: Sequence[Any] | npt.NDArray[Any]) -> Any:
    """Return numbers as an array, so that they travel as such; anything else as it is."""
    if isinstance(values, np.ndarray) or not all(isinstance(value, int | float) for value in values):
        return values
    return np.array(values, dtype=np.float64)


def _off_point(text: str, side: str) -> str:
    if side.endswith("left"):
        return f"{text}\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"
    return f"\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}{text}" if side.endswith("right") else text


def _log_tick(decades: float) -> int | str:
    if decades <= 2:
        return "D1" if decades <= 0.7 else "D2"
    return 1 if decades <= 7 else 2
