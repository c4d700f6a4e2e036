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
_SCRIPTS = ("panel.js", "panel_controls.js", "panel_lesson.js", "panel_share.js", "panel_teach.js")
_STYLES = ("panel.css", "panel_controls.css", "panel_lesson.css", "panel_fit.css")
_WORDS = (
    "panel",
    "undo",
    "reset",
    "question",
    "lock",
    "skip",
    "ask_again",
    "answer_question",
    "scenario",
    "scenario_none",
    "pin",
    "unpin",
    "strip",
    "caveat",
    "all_assumptions",
    "breaches",
    "state",
    "share",
    "copy_link",
    "copied",
    "copy_by_hand",
    "copy_text",
    "link",
    "receipt",
    "print",
    "embed",
    "open_full",
    "teach",
    "show_answers",
    "hide_answers",
    "lock_controls",
    "unlock_controls",
    "previous",
    "next",
    "position",
    "worksheet",
    "key",
    "sheet_title",
    "close",
)


@dataclass(frozen=True)
class Request:
    """What the browser asks for; `count` numbers it, `gesture` numbers the drag or keystroke run it belongs to.

    `texts` are the controls' own, `search` is the page's address, `value` the name or answer that a button sends.
    """

    kind: str
    count: int
    gesture: int
    texts: Mapping[str, str]
    search: str = ""
    value: str = ""


@dataclass(frozen=True)
class Reply:
    """What the browser shows: the controls' texts, the sentences, what was refused, and the page's address.

    `strip` holds the assumptions as (label, text, whether it is a caveat); `story`, `breach_line` and `pin` are the
    words of what is running; `receipt` and `file` are for files; `sheet` is for printing, and empty unless asked for.
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
    strip: tuple[tuple[str, str, bool], ...]
    scenario: str
    story: Mapping[str, str]
    breach: str
    breach_line: str
    pin: str
    prediction: Mapping[str, str]
    receipt: tuple[str, ...]
    file: str
    errors: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fault: str = ""
    sheet: tuple[Mapping[str, str], ...] = ()


class Panel(anywidget.AnyWidget):
    """The controls of a page; calls `answer` with every request, the newest alone while the kernel is busy.

    The newest alone: the browser holds a move back until the kernel has dealt with the one before, and keeps only
    the last of those it holds. What a button asks for is never held back.
    """

    _esm = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in _SCRIPTS)
    _css = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in _STYLES)
    _look = traitlets.Dict().tag(sync=True)
    _reply = traitlets.Dict().tag(sync=True)
    _request = traitlets.Dict().tag(sync=True, echo_update=False)

    def __init__(
        self,
        controls: Controls,
        text: Catalogue,
        reply: Reply,
        answer: Callable[[Request], None],
        lesson: Mapping[str, Any] | None = None,
    ) -> None:
        looks = [{"name": name, **control.look(text)} for name, control in controls.items()]
        words = {word: text.template(f"panel.{word}") for word in _WORDS}
        look = {"language": text.language, "controls": looks, "words": words, **(lesson or {})}
        super().__init__(_look=look, _reply=_sent(reply))
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
                value=str(content.get("value", "")),
            )
        )


def _sent(reply: Reply) -> dict[str, Any]:
    return {
        name: [list(item) if isinstance(item, tuple) else item for item in value] if isinstance(value, tuple) else value
        for name, value in asdict(reply).items()
    }
