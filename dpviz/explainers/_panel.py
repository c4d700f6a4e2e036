"""Panel: the controls, the live sentence and the messages of a page, as one widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from dpviz.explainers._controls import Controls
from dpviz.locale import Catalogue

_HERE = Path(__file__).parent
_WORDS = ("panel", "undo", "reset")


@dataclass(frozen=True)
class Request:
    """What the browser asks for; `count` numbers it, `gesture` numbers the drag or keystroke run it belongs to."""

    kind: str
    count: int
    gesture: int
    texts: Mapping[str, str]
    search: str = ""


@dataclass(frozen=True)
class Reply:
    """What the browser shows: the controls' texts, the sentences, what was refused, and the page's address.

    `messages` is the number of messages that the figures have been sent; a page that has drawn as many is up to date.
    """

    count: int
    texts: Mapping[str, str]
    plain: str
    technical: str
    assumes: str
    query: str
    can_undo: bool
    messages: int
    errors: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fault: str = ""


class Panel(anywidget.AnyWidget):
    """The controls of a page; calls `answer` with every request, the newest alone while the kernel is busy.

    The newest alone: the browser holds a move back until the kernel has dealt with the one before, and keeps only
    the last of those it holds. What a button asks for is never held back.
    """

    _esm = _HERE / "panel.js"
    _css = _HERE / "panel.css"
    _look = traitlets.Dict().tag(sync=True)
    _reply = traitlets.Dict().tag(sync=True)
    _request = traitlets.Dict().tag(sync=True, echo_update=False)

    def __init__(self, controls: Controls, text: Catalogue, reply: Reply, answer: Callable[[Request], None]) -> None:
        looks = [{"name": name, **control.look(text)} for name, control in controls.items()]
        words = {word: text(f"panel.{word}") for word in _WORDS}
        super().__init__(_look={"controls": looks, "words": words}, _reply=_sent(reply))
        self._answer = answer
        self.observe(lambda change: self._pass_on({"kind": "move", **change["new"]}), "_request")
        self.on_msg(lambda _panel, content, _buffers: self._pass_on(content))

    def show(self, reply: Reply) -> None:
        """Make the page show `reply`."""
        self._reply = _sent(reply)

    def _pass_on(self, content: Mapping[str, Any]) -> None:
        texts = {str(name): str(text) for name, text in dict(content.get("texts", {})).items()}
        self._answer(
            Request(
                kind=str(content.get("kind")),
                count=int(content.get("count", 0)),
                gesture=int(content.get("gesture", 0)),
                texts=texts,
                search=str(content.get("search", "")),
            )
        )


def _sent(reply: Reply) -> dict[str, Any]:
    return {**asdict(reply), "notes": list(reply.notes)}
