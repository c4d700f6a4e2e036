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
from dpviz.locale.numbers import given

if TYPE_CHECKING:
    import plotly.graph_objects as go

Spec = dict[str, Any]

PAPER = "#ffffff"
CLEAR = "rgba(0, 0, 0, 0)"
INK = "#1d1d1f"
QUIET = "#6b6b70"
GRID = "#ececef"
CONTEXT = "#8a8a90"
EXACT = "#0072B2"
BOUND = "#D55E00"
ACCURACY = "#009E73"
PERSON = "#AA3377"
NOBODY = INK
REST = "#d9d9de"

PINNED = "#8f8f95"
REALLY = "#6b6700"
GUESS = "#7700cc"

SLACK = "rgba(213, 94, 0, 0.16)"
SLACK_BAR = "rgba(213, 94, 0, 0.22)"
ALLOWED = "rgba(29, 29, 31, 0.06)"
SPREAD = "rgba(0, 158, 115, 0.13)"
ACCUSED = "rgba(29, 29, 31, 0.20)"
MISSED = "rgba(170, 51, 119, 0.20)"

_BOUND_WORD = "#ad4c00"
_ACCURACY_WORD = "#007a5a"
_WORDS = {BOUND: _BOUND_WORD, ACCURACY: _ACCURACY_WORD, CONTEXT: QUIET, PINNED: QUIET}

DARK = {
    PAPER: "#16171a",
    CLEAR: CLEAR,
    INK: "#ececf0",
    QUIET: "#a9a9b2",
    GRID: "#2a2b30",
    CONTEXT: "#85868e",
    EXACT: "#56b4e9",
    BOUND: "#ff8c42",
    ACCURACY: "#2dc79a",
    PERSON: "#f08fc0",
    REST: "#3a3b40",
    PINNED: "#7c7d85",
    REALLY: "#d2cb4c",
    GUESS: "#bf66ff",
    SLACK: "rgba(255, 140, 66, 0.22)",
    SLACK_BAR: "rgba(255, 140, 66, 0.28)",
    ALLOWED: "rgba(236, 236, 240, 0.08)",
    SPREAD: "rgba(45, 199, 154, 0.20)",
    ACCUSED: "rgba(236, 236, 240, 0.26)",
    MISSED: "rgba(240, 143, 192, 0.26)",
    _BOUND_WORD: "#ff8c42",
    _ACCURACY_WORD: "#2dc79a",
}
"""What each colour becomes on a dark page; figures are stated, saved and printed in the light ones."""

Cards = str | Sequence[str]
"""The card that says what a trace is, or those of its points."""

_SHORT, _MIDDLE, _LONG = 0.7, 2.0, 3.0  # decades of a log axis
_STEPS = {1: 6, 2: 9, 3: 15}
"""Decades from tick to tick of a longer one, and the length up to which they are used."""
_EDGE = 1e-9

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
    card: Cards = (),
    is_bound: bool = False,
    bound: str = "",
    width: float = 2.5,
    dash: str = "",
    hover: str = "",
    **more: Any,
) -> Spec:
    """Return a line trace: dashed for a bound, solid for an exact value, unless `dash` says otherwise.

    `bound` is "upper" or "lower" where a value may be rounded one way only; a bound is an upper one unless said.
    """
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {
            "color": color,
            "width": width,
            "dash": dash or ("dash" if is_bound else "solid"),
            "simplify": False,
        },
        "hovertemplate": f"{hover}<extra></extra>" if hover else None,
        "hoverinfo": None if hover else "skip",
        "connectgaps": False,
        **_explained(card, bound or ("upper" if is_bound else "")),
        **more,
    }


def dots(
    x: Sequence[float] | npt.NDArray[Any],
    y: Sequence[Any] | npt.NDArray[Any],
    *,
    name: str,
    color: str | Sequence[str],
    card: Cards = (),
    is_bound: bool = False,
    bound: str = "",
    size: float = 10,
    symbol: str = "circle",
    hover: str = "",
    **more: Any,
) -> Spec:
    """Return a marker trace: open for a bound, filled for an exact value; one colour, or one a point.

    `bound` as for `line`.
    """
    is_edge = is_bound or symbol.startswith("line")
    return {
        "type": "scatter",
        "mode": "markers",
        "x": as_array(x),
        "y": as_array(y),
        "name": name,
        "marker": {
            "symbol": symbol,
            "color": PAPER if is_bound else color,
            "size": size,
            "line": {"color": color if is_edge else PAPER, "width": 2 if is_edge else 1.5},
        },
        "hovertemplate": f"{hover}<extra></extra>" if hover else None,
        "hoverinfo": None if hover else "skip",
        "cliponaxis": False,
        **_explained(card, bound or ("upper" if is_bound else "")),
        **more,
    }


def bars(
    values: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    *,
    name: str,
    color: str | Sequence[str],
    card: Cards,
) -> Spec:
    """Return horizontal bars, one a row; one colour, or one a row; a pale colour gets an edge that can be seen."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": rows,
        "width": 0.42,
        "name": name,
        "marker": {"color": color, "line": {"color": CONTEXT, "width": 1 if color == REST else 0}},
        "hoverinfo": "skip",
        **_explained(card),
    }


def labels(
    x: Sequence[float] | npt.NDArray[Any],
    y: Sequence[float] | npt.NDArray[Any],
    texts: Sequence[str],
    *,
    color: str | Sequence[str],
    position: str | Sequence[str],
    size: float = 13,
) -> Spec:
    """Return text at points, in the colour of what it names, a little off its point; one colour, or one a text."""
    sides = [position] * len(texts) if isinstance(position, str) else list(position)
    return {
        "type": "scatter",
        "mode": "text",
        "x": as_array(x),
        "y": as_array(y),
        "text": [_off_point(text, side) for text, side in zip(texts, sides, strict=True)],
        "textposition": sides,
        "textfont": {"color": word(color) if isinstance(color, str) else [word(each) for each in color], "size": size},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def word(color: str) -> str:
    """Return the colour for words about what is drawn in `color`: the same hue, dark enough to read."""
    return _WORDS.get(color, color)


def axis(title: str, *, low: float, high: float, is_log: bool = False, **more: Any) -> Spec:
    """Return a still axis from `low` to `high`; on a log axis both must be > 0."""
    ends = [float(np.log10(low)), float(np.log10(high))] if is_log else [low, high]
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 13, "color": INK}},
        "type": "log" if is_log else "linear",
        "range": ends,
        **(_log_ticks(*ends) if is_log else {}),
        "exponentformat": "power",
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": CONTEXT,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": CONTEXT,
        "tickfont": {"size": 12, "color": QUIET},
        "tickangle": 0,
        "automargin": True,
        **more,
    }


def reaching(axis: Spec, low: float, high: float) -> Spec:
    """Return an axis with other ends, in the unit of its range; it keeps its direction."""
    first, last = axis["range"]
    ticks = _log_ticks(low, high) if axis["type"] == "log" else {}
    kept = {key: value for key, value in axis.items() if not (ticks and key in {"dtick", "tickvals", "ticktext"})}
    return {**kept, **ticks, "range": [low, high] if first < last else [high, low]}


def layout(*, title: str, x: Spec, y: Spec, meta: Spec | None = None, **more: Any) -> Spec:
    """Return the layout that all figures share around two axes."""
    return {
        "title": {"text": title},
        "xaxis": x,
        "yaxis": y,
        "font": {"family": _FONT, "size": 13, "color": INK},
        "margin": {"l": 56, "r": 26, "t": 10, "b": 46},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": PAPER, "bordercolor": CONTEXT, "font": {"color": INK, "size": 13}},
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


def on_axis(
    values: Sequence[float] | npt.NDArray[np.float64], axis: Spec, *, arrows: tuple[str, str] = (" ↓", " ↑")
) -> tuple[list[float], list[str]]:
    """Return `values` moved to the ends of a still `axis`, and for each an arrow to where it really is.

    `arrows` are those to what lies below and above the axis; a value on it has none.

    Examples
    --------
    >>> on_axis([0.001, 2.0, 5000.0], axis("", low=0.01, high=1000, is_log=True))
    ([0.01, 2.0, 1000.0], [' ↓', '', ' ↑'])
    """
    below, above = arrows
    ends = np.array(axis["range"], dtype=np.float64)
    low, high = np.sort(10**ends if axis["type"] == "log" else ends)
    said = [below if value < low else above if value > high else "" for value in values]
    return [float(np.clip(value, low, high)) for value in values], said


def shown(value: float) -> float:
    """Return `value` for a point on a log axis; 0 is not there."""
    return value if value > 0 else float("nan")


def as_array(values: Sequence[Any] | npt.NDArray[Any]) -> Any:
    """Return numbers as an array, so that they travel as such; anything else as it is."""
    if isinstance(values, np.ndarray) or not all(isinstance(value, int | float) for value in values):
        return values
    return np.array(values, dtype=np.float64)


def _explained(card: Cards, bound: str = "") -> Spec:
    meta: Spec = {"card": card if isinstance(card, str) else list(card)} if card else {}
    if bound:
        meta["bound"] = bound
    return {"meta": meta} if meta else {}


def _off_point(text: str, side: str) -> str:
    if side.endswith("left"):
        return f"{text}\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"
    return f"\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}{text}" if side.endswith("right") else text


def _log_ticks(low: float, high: float) -> Spec:
    """Return the ticks of a log axis between two powers of ten: whole numbers on a short axis, else powers alone."""
    decades = high - low
    if decades > _LONG:
        return {"dtick": next((step for step, reach in _STEPS.items() if decades <= reach), 5)}
    steps = range(1, 10) if decades <= _SHORT else (1, 2, 5) if decades <= _MIDDLE else (1, 3)
    places = [float(f"{step}e{power}") for power in range(int(np.floor(low)), int(np.ceil(high)) + 1) for step in steps]
    values = [value for value in places if low - _EDGE <= np.log10(value) <= high + _EDGE]
    return {"tickvals": values, "ticktext": [given(value) for value in values]}
