"""Explainer: the wiring of a page, written once.

Control values become parameters, parameters a result, the result the figures and the sentences; each step is pure, and
every picture, the first and each later one, comes the same way. A page states its parts; this class moves them.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Generic, TypeVar

import ipywidgets

from dpviz.accounting import DomainError
from dpviz.explainers._check import Check, PageCheck
from dpviz.explainers._controls import Controls, InputError, Seed
from dpviz.explainers._lesson import Answer, Breach, Prediction
from dpviz.explainers._live_figure import LiveFigure
from dpviz.explainers._overlay import Marks, overlaid
from dpviz.explainers._panel import Panel, Reply, Request
from dpviz.explainers._settings import (
    Settings,
    State,
    first_settings,
    from_query,
    from_texts,
    sentence,
    to_query,
    to_texts,
)
from dpviz.explainers._speech import Speech
from dpviz.figures import FigureFunction, figure_cards
from dpviz.locale import Catalogue, catalogue

P = TypeVar("P")
R = TypeVar("R")

_FIGURE_TOOLS = ("table", "cards", "csv", "svg", "png")
_FIGURE_WORDS = (
    *_FIGURE_TOOLS,
    *(f"{tool}_hint" for tool in _FIGURE_TOOLS),
    "table_note",
    "no_library",
    "curve",
    "status",
)
_MOST_UNDOS = 200

log = logging.getLogger("dpviz")


class Page(ipywidgets.Box):  # type: ignore[misc]  # ipywidgets has no types
    """A page as a widget; its text form says which, and nothing that changes from run to run."""

    def __init__(self, name: str, children: Iterable[ipywidgets.Widget]) -> None:
        super().__init__(list(children))
        self._name = name
        self.add_class("dpviz")

    def __repr__(self) -> str:
        return f"<dpviz page: {self._name}>"


@dataclass(frozen=True)
class Picture(Generic[P, R]):
    """One state of a page: the settings, what they mean, what follows, how it is drawn and said.

    `real` is the picture of what really holds while an assumption is broken, `pinned` that of the pinned settings, with
    `pin_line` to say so; `receipt` are the lines that a file of this state carries.
    """

    settings: Settings
    params: P
    result: R
    specs: Mapping[str, Mapping[str, Any]]
    words: Mapping[str, str]
    pinned: Picture[P, R] | None = None
    real: Picture[P, R] | None = None
    pin_line: str = ""
    receipt: tuple[str, ...] = ()


class Explainer(ABC, Generic[P, R]):
    """A page: controls, linked figures, a live sentence and a lesson over one pure computation.

    A subclass states `params` (builds valid parameters from control values by name), `compute` (parameters to
    result), `figures` (result to picture, by name, in the order shown), `controls`, `words`, `contract` and `checks`;
    and what it teaches: `prediction`, `scenarios` (the parameters, by name, that differ from a fresh page) and
    `breaches`. Its texts stand in the catalogue under its `name`.
    """

    name: ClassVar[str]
    params: ClassVar[Callable[..., Any]]
    compute: ClassVar[staticmethod[[Any], Any]]
    figures: ClassVar[Mapping[str, FigureFunction]]
    prediction: ClassVar[Prediction]
    scenarios: ClassVar[Mapping[str, Mapping[str, Any]]]
    breaches: ClassVar[Mapping[str, Breach]]

    def __init__(self, language: str = "en") -> None:
        self.text: Catalogue = catalogue(language)
        self._controls = self.controls()
        self._speech = Speech(self.name, self.text, self._controls)
        self._bare = lru_cache(maxsize=4)(self._bare_of)
        self._first = first_settings(self._controls)
        self._state = State(self._first)
        self._answer = Answer()
        self._picture = self.picture(self._state.settings)
        self._past: list[State] = []
        self._gesture = 0
        self._newest = 0
        self._live: dict[str, LiveFigure] = {}
        self._panel: Panel | None = None

    # What a page states ------------------------------------------------------------------------------

    @abstractmethod
    def controls(self) -> Controls:
        """Return the controls, keyed by the parameter that each one sets."""

    @abstractmethod
    def words(self, params: P, result: R) -> Mapping[str, str]:
        """Return the values of the placeholders in the page's sentences and captions."""

    @abstractmethod
    def contract(self, params: P, result: R) -> Mapping[str, str]:
        """Return for each item of the assumption strip the variant that these parameters assume."""

    @abstractmethod
    def checks(self, params: P, result: R) -> Iterable[Check]:
        """Yield the page's numbers beside the same numbers found another way."""

    # What a page gets --------------------------------------------------------------------------------

    def picture(
        self, settings: Settings, *, pin: Settings | None = None, breach: str = "", marks: Marks | None = None
    ) -> Picture[P, R]:
        """Return what a page with `settings` shows; pure, and the only way to a picture.

        `pin` are settings to compare with, `breach` names an assumption that is broken, `marks` an answer to the
        page's question.
        """
        bare = self._bare(tuple(settings.items()))
        pinned = None if pin is None else self._bare(tuple(pin.items()))
        real = self._bare(tuple({**settings, **self.breaches[breach].really(settings)}.items())) if breach else None
        words = {**bare.words, **{f"real_{name}": word for name, word in (real.words if real else {}).items()}}
        pin_line = self._speech.pin(pinned.settings, pinned.words) if pinned else ""
        receipt = self._speech.receipt(settings, words, breach, pin_line)
        state = self._speech.state_name(settings)
        question = self.prediction.figure
        specs = {
            name: self._speech.captioned(
                name,
                overlaid(
                    spec,
                    pinned=pinned.specs[name] if pinned else None,
                    real=real.specs[name] if real else None,
                    marks=marks if name == question else None,
                    text=self.text,
                ),
                words,
                receipt,
                state,
            )
            for name, spec in bare.specs.items()
        }
        return replace(bare, specs=specs, words=words, pinned=pinned, real=real, pin_line=pin_line, receipt=receipt)

    def _bare_of(self, settings: tuple[tuple[str, Any], ...]) -> Picture[P, R]:
        """Return the picture of `settings` alone, without captions."""
        params = type(self).params(**dict(settings))
        result = type(self).compute(params)
        specs = {name: figure.spec(result, self.text) for name, figure in self.figures.items()}
        return Picture(dict(settings), params, result, specs, self.words(params, result))

    def show(self) -> Page:
        """Return the page as a widget: the last line of its notebook's first cell."""
        words = {word: self.text(f"figure.{word}") for word in _FIGURE_WORDS}
        bare = self._bare(tuple(self._state.settings.items()))
        self._live = {
            name: LiveFigure(spec, words=words, cards=figure_cards(bare.specs[name], self.text))
            for name, spec in self._picture.specs.items()
        }
        lesson = self._speech.lesson(self.prediction, self.scenarios, self.breaches, self.question.words)
        self._panel = Panel(self._controls, self.text, self._reply(0), self._follow, lesson)
        figures = ipywidgets.Box(list(self._live.values()))
        figures.add_class("dpviz-figures")
        return Page(self.name, [self._panel, figures])

    def check(self) -> PageCheck:
        """Return the page's check of its own numbers, on the settings of a fresh page."""
        fresh = self.picture(self._first)
        return PageCheck(tuple(self.checks(fresh.params, fresh.result)), self.text)

    @property
    def current(self) -> Picture[P, R]:
        """The picture that the page shows."""
        return self._picture

    def setting_of(self, declared: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a fresh page with some of them `declared`."""
        return {**self._first, **declared}

    @cached_property
    def question(self) -> Picture[P, R]:
        """The picture that the page's question is about, without captions; its words are those of the question."""
        bare = self._bare(tuple(self.setting_of(self.prediction.settings).items()))
        return replace(bare, words={**bare.words, **self.prediction.words(bare.params, bare.result)})

    # How it moves ------------------------------------------------------------------------------------

    def _follow(self, request: Request) -> None:
        """Carry out a request of the browser and show what follows; a fault of ours is shown and logged.

        A move may be held back in the browser while a button is not: one that comes after a newer request is dropped.
        """
        if self._panel is None or request.count < self._newest:
            return
        self._newest = request.count
        try:
            more = self._carry_out(request)
            reply = self._reply(request.count, **more)
        except DomainError as error:
            symbol = self._symbol(error.name)
            reply = self._reply(request.count, notes=(self.text("input.domain", symbol=symbol, given=error.value),))
        except Exception as error:
            log.exception("%s: the page could not follow %s", self.name, request)
            fault = self.text("panel.fault", kind=type(error).__name__)
            reply = self._reply(request.count, fault=fault)
        self._panel.show(reply)

    def _carry_out(self, request: Request) -> dict[str, Any]:
        """Bring the page into the state that is asked for; return what else there is to say."""
        before, answer = self._state, replace(self._answer, error="")
        after = before
        more: dict[str, Any] = {}
        match request.kind:
            case "move":
                settings, errors = from_texts(self._controls, request.texts, before.settings, self.text)
                after, more = replace(before, settings=settings), {"errors": errors}
            case "open":
                after, notes = from_query(self._controls, self.breaches, request.search, self.text)
                more = {"notes": notes}
            case "reset":
                after = State(self._first)
            case "undo":
                after = self._past.pop() if self._drop_unchanged() else before
            case "draw":
                after = replace(before, settings=self._next_draw(before.settings))
            case "scenario":
                after = replace(before, settings=self._chosen(self.scenarios[request.value]))
            case "pin":
                after = replace(before, pin=before.settings)
            case "unpin":
                after = replace(before, pin=None)
            case "breach":
                after = replace(before, breach=request.value if request.value in self.breaches else "")
            case "estimate" | "guess" | "skip" | "ask":
                answer = self._answered(request)
                if answer.phase == "locked":
                    after = replace(before, settings=self._chosen(self.prediction.settings), breach="")
            case "sheet":
                more = {"sheet": self._sheet()}
            case _:
                raise LookupError(f"no such request: {request.kind!r}")
        if after != before or answer != self._answer:
            self._redraw(after, answer)
            self._remember(before, request)
        return more

    def _symbol(self, parameter: str) -> str:
        """Return the symbol of the control that sets a parameter; its own name where none does."""
        control = self._controls.get(parameter)
        return self.text(f"control.{control.texts}.symbol") if control else parameter

    def _chosen(self, declared: Mapping[str, Any]) -> Settings:
        """Return the settings of a preset; the seed stays."""
        kept = {name: self._state.settings[name] for name, one in self._controls.items() if isinstance(one, Seed)}
        return {**self.setting_of(declared), **kept}

    def _next_draw(self, settings: Settings) -> Settings:
        return {
            name: control.next(settings[name]) if isinstance(control, Seed) else settings[name]
            for name, control in self._controls.items()
        }

    def _answered(self, request: Request) -> Answer:
        """Return the answer to the page's question after a request about it."""
        if request.kind == "skip":
            return Answer("skipped")
        if request.kind == "ask":
            return Answer()
        control = self.prediction.control
        try:
            value = control.read(request.value)
        except InputError as error:
            return Answer(value=self._answer.value, error=sentence(control, error, self.text))
        return Answer("locked" if request.kind == "guess" else "open", value)

    def _marks(self, state: State, answer: Answer) -> Marks | None:
        """Return where an answer stands in the figure; only beside the settings that it is about."""
        if answer.value is None or not self._is_set(state.settings, self.prediction.settings) or state.breach:
            return None
        result, place = self.question.result, self.prediction.place
        truth = place(result, self.prediction.answer(result)) if answer.phase == "locked" else None
        return Marks(place(result, answer.value), truth)

    def _is_set(self, settings: Settings, declared: Mapping[str, Any]) -> bool:
        """Whether `settings` are those of a preset, whatever the seed."""
        wanted = self.setting_of(declared)
        return all(settings[name] == wanted[name] for name, one in self._controls.items() if not isinstance(one, Seed))

    def _redraw(self, state: State, answer: Answer) -> None:
        picture = self.picture(state.settings, pin=state.pin, breach=state.breach, marks=self._marks(state, answer))
        self._state, self._answer, self._picture = state, answer, picture
        for name, live in self._live.items():
            live.show(picture.specs[name])

    def _remember(self, before: State, request: Request) -> None:
        """Keep the state before a change, once a gesture; an address that opens the page is no change."""
        is_change = request.kind not in ("undo", "open") and before != self._state
        if is_change and (request.kind != "move" or request.gesture != self._gesture):
            self._past = [*self._past, before][-_MOST_UNDOS:]
        self._gesture = request.gesture

    def _drop_unchanged(self) -> bool:
        """Forget the states that are the one shown, as after a gesture that ends where it began; say if any is left."""
        while self._past and self._past[-1] == self._state:
            self._past.pop()
        return bool(self._past)

    # What it says ------------------------------------------------------------------------------------

    def _reply(self, count: int, **more: Any) -> Reply:
        picture, state, speech = self._picture, self._state, self._speech
        said = speech.sentences(picture.words)
        variants = self.contract(picture.params, picture.result)
        scenario = next((name for name, set_ in self.scenarios.items() if self._is_set(state.settings, set_)), "")
        return Reply(
            count=count,
            texts=to_texts(self._controls, state.settings),
            plain=said["plain"],
            technical=said["technical"],
            assumes=said["assumes"],
            query=to_query(self._controls, state),
            can_undo=self._drop_unchanged(),
            messages=sum(live.number for live in self._live.values()),
            strip=speech.strip(variants, picture.words, state.breach, self.breaches),
            scenario=scenario,
            story=speech.story(scenario, picture.words),
            breach=state.breach,
            breach_line=speech.breach_line(state.breach, picture.words),
            pin=picture.pin_line,
            prediction=self._said_answer(),
            receipt=picture.receipt,
            file=speech.file_name(speech.state_name(state.settings)),
            **more,
        )

    def _said_answer(self) -> dict[str, str]:
        """Return the phase of the question, what was answered, and once locked the line that explains."""
        answer, prediction = self._answer, self.prediction
        said = {"phase": answer.phase, "line": "", "error": answer.error, "guess": ""}
        if answer.value is None:
            return said
        said["guess"] = prediction.control.write(answer.value)
        if answer.phase == "locked":
            truth = prediction.answer(self.question.result)
            said["line"] = self._speech.answer_line(prediction, answer.value, truth, self.question.words)
        return said

    def _sheet(self) -> tuple[Mapping[str, str], ...]:
        """Return the items of a worksheet: the page's question, its scenarios, its broken assumptions."""
        speech, prediction = self._speech, self.prediction
        first = speech.question_item(prediction, prediction.answer(self.question.result), self.question.words)
        pictures = {name: self.picture(self.setting_of(declared)) for name, declared in self.scenarios.items()}
        fresh = self.setting_of({})
        broken = {name: self.picture(fresh, breach=name) for name in self.breaches}
        return (
            first,
            *(speech.scenario_item(name, picture.words) for name, picture in pictures.items()),
            *(speech.breach_item(name, fresh, picture.words) for name, picture in broken.items()),
        )
