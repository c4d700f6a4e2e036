"""LiveFigure: a plotly figure in the page that takes small updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from dpviz.figures import DARK

Spec = Mapping[str, Any]
Step = str | int

_HERE = Path(__file__).parent
_SCRIPTS = ("live_figure.js", "figure_look.js", "figure_moves.js", "figure_cards.js", "figure_files.js")
_PLOTLY_JS = _HERE.parent / "assets" / "plotly-basic.min.js"


class LiveFigure(anywidget.AnyWidget):
    """A plotly figure that is drawn by plotly.js in the page and follows `show` with one small message a call.

    The whole figure travels once, when a page opens it. After that only the arrays and texts that differ travel, as
    binary buffers. Messages are numbered: a page that missed one asks for the whole figure again.

    Parameters
    ----------
    spec : Mapping
        ``{"data": [...], "layout": {...}}`` as plotly defines them; arrays as numpy arrays.
    words : Mapping of str to str
        Labels of the buttons under the figure.
    cards : sequence of Mapping
        What the lines are, as `dpviz.figures.figure_cards` gives it; without any there is no button for them.

    Examples
    --------
    >>> figure = LiveFigure({"data": [{"y": np.array([1.0, 2.0])}], "layout": {}}, words={})
    >>> figure.show({"data": [{"y": np.array([1.0, 3.0])}], "layout": {}})
    >>> figure.spec["data"][0]["y"].tolist()
    [1.0, 3.0]
    """

    _esm = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in _SCRIPTS)
    _css = _HERE / "live_figure.css"
    _words = traitlets.Dict().tag(sync=True)
    _cards: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _dark = traitlets.Dict().tag(sync=True)
    _whole = traitlets.Any().tag(sync=True, to_json=lambda _value, widget: widget._encoded())

    def __init__(self, spec: Spec, *, words: Mapping[str, str], cards: Sequence[Mapping[str, Any]] = ()) -> None:
        self.spec = spec
        self._number = 0
        super().__init__(_words=dict(words), _cards=list(cards), _dark=DARK)
        self.on_msg(self._answer)

    @property
    def number(self) -> int:
        """How many messages were sent; the page marks a plot with the number that it has drawn."""
        return self._number

    def show(self, spec: Spec) -> None:
        """Make the page show `spec`; nothing travels when nothing changed."""
        edits = list(differences(self.spec, spec))
        self.spec = spec
        if not edits:
            return
        self._number += 1
        buffers: list[memoryview] = []
        content = {"kind": "edits", "number": self._number, "edits": encode(edits, buffers)}
        self.send(content, buffers)

    def _encoded(self) -> dict[str, Any]:
        buffers: list[memoryview] = []
        return {"number": self._number, "spec": encode(self.spec, buffers), "buffers": buffers}

    def _answer(self, _widget: LiveFigure, content: Mapping[str, Any], _buffers: Sequence[memoryview]) -> None:
        """Answer a page: the plotting library where the host has none, or all that it missed."""
        match content.get("kind"):
            case "library":
                self.send({"kind": "library"}, [memoryview(_PLOTLY_JS.read_bytes())])
            case "seen" if content.get("number") != self._number:
                whole = self._encoded()
                self.send({"kind": "whole", **{k: whole[k] for k in ("number", "spec")}}, whole["buffers"])


def differences(old: Any, new: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[list[Step], Any]]:
    """Yield the smallest edits, as (path, value), that turn `old` into `new`; a value of None removes a key."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in old.keys() | new.keys():
            yield from differences(old.get(key), new.get(key), (*path, key))
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, (*path, index))
    elif not _same(old, new):
        yield list(path), new


def encode(value: Any, buffers: list[memoryview]) -> Any:
    """Return `value` as JSON, its numeric arrays moved into `buffers` and named by their place there."""
    if isinstance(value, Mapping):
        return {key: encode(item, buffers) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item, buffers) for item in value]
    if isinstance(value, np.ndarray):
        buffers.append(memoryview(np.ascontiguousarray(value, dtype="<f8").data).cast("B"))
        return {"$array": len(buffers) - 1}
    return value.item() if isinstance(value, np.generic) else value


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return old.shape == new.shape and old.dtype == new.dtype and old.tobytes() == new.tobytes()
    return type(old) is type(new) and bool(old == new)
