"""Explainer: the wiring of a page, written once.

Control values become parameters, parameters a result, the result the figures and the sentences; each step is pure, and
every picture, the first and each later one, comes the same way. A page states its parts; this class moves them.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import ipywidgets

import dpviz
from dpviz.accounting import DomainError
from dpviz.explainers._check import Check, PageCheck
from dpviz.explainers._controls import Controls, Seed
from dpviz.explainers._live_figure import LiveFigure
from dpviz.explainers._panel import Panel, Reply, Request
from dpviz.explainers._settings import Settings, first_settings, from_query, from_texts, to_query, to_texts
from dpviz.figures import FigureFunction
from dpviz.locale import Catalogue, catalogue

P = TypeVar("P")
R = TypeVar("R")

_FIGURE_WORDS = (
    "table",
    "csv",
    "svg",
    "png",
    "table_hint",
    "csv_hint",
    "svg_hint",
    "png_hint",
    "table_note",
    "no_library",
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
    """One state of a page: the settings, what they mean, what follows, how it is drawn and said."""

    settings: Settings
    params: P
    result: R
    specs: Mapping[str, Mapping[str, Any]]
    words: Mapping[str, str]


class Explainer(ABC, Generic[P, R]):
    """A page: controls, linked figures and a live sentence over one pure computation.

    A subclass states `params` (builds valid parameters from control values by name), `compute` (parameters to
    result), `figures` (result to picture, by name, in the order shown), `controls`, `words` and `checks`. Its texts
    stand in the catalogue under its `name`.
    """

    name: ClassVar[str]
    params: ClassVar[Callable[..., Any]]
    compute: ClassVar[staticmethod[[Any], Any]]
    figures: ClassVar[Mapping[str, FigureFunction]]

    def __init__(self, language: str = "en") -> None:
        self.text: Catalogue = catalogue(language)
        self._controls = self.controls()
        self._picture = self.picture(first_settings(self._controls))
        self._past: list[dict[str, Any]] = []
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
    def checks(self, params: P, result: R) -> Iterable[Check]:
        """Yield the page's numbers beside the same numbers found another way."""

    # What a page gets --------------------------------------------------------------------------------

    def picture(self, settings: Settings) -> Picture[P, R]:
        """Return what a page with `settings` shows; pure, and the only way to a picture."""
        params = type(self).params(**settings)
        result = type(self).compute(params)
        words = self.words(params, result)
        specs = {
            name: self._captioned(name, figure.spec(result, self.text), settings, words)
            for name, figure in self.figures.items()
        }
        return Picture(settings, params, result, specs, words)

    def show(self) -> Page:
        """Return the page as a widget: the last line of its notebook's first cell."""
        words = {word: self.text(f"figure.{word}") for word in _FIGURE_WORDS}
        self._live = {name: LiveFigure(spec, words=words) for name, spec in self._picture.specs.items()}
        self._panel = Panel(self._controls, self.text, self._reply(0), self._answer)
        figures = ipywidgets.Box(list(self._live.values()))
        figures.add_class("dpviz-figures")
        return Page(self.name, [self._panel, figures])

    def check(self) -> PageCheck:
        """Return the page's check of its own numbers, on the settings of a fresh page."""
        fresh = self.picture(first_settings(self._controls))
        return PageCheck(tuple(self.checks(fresh.params, fresh.result)), self.text)

    @property
    def current(self) -> Picture[P, R]:
        """The picture that the page shows."""
        return self._picture

    # How it moves ------------------------------------------------------------------------------------

    def _answer(self, request: Request) -> None:
        """Carry out a request of the browser and show what follows; a fault of ours is shown and logged.

        A move may be held back in the browser while a button is not: one that comes after a newer request is dropped.
        """
        if self._panel is None or request.count < self._newest:
            return
        self._newest = request.count
        try:
            errors, notes = self._carry_out(request)
            reply = self._reply(request.count, errors=errors, notes=notes)
        except DomainError as error:
            reply = self._reply(request.count, notes=(self.text("input.domain", why=str(error)),))
        except Exception as error:
            log.exception("%s: the page could not follow %s", self.name, request)
            fault = self.text("panel.fault", kind=type(error).__name__)
            reply = self._reply(request.count, fault=fault)
        self._panel.show(reply)

    def _carry_out(self, request: Request) -> tuple[dict[str, str], tuple[str, ...]]:
        before = self._picture.settings
        errors: dict[str, str] = {}
        notes: tuple[str, ...] = ()
        match request.kind:
            case "move":
                after, errors = from_texts(self._controls, request.texts, before, self.text)
            case "open":
                after, notes = from_query(self._controls, request.search, self.text)
            case "reset":
                after = first_settings(self._controls)
            case "undo":
                after = self._past.pop() if self._drop_unchanged() else dict(before)
            case "draw":
                after = {
                    name: control.next(before[name]) if isinstance(control, Seed) else before[name]
                    for name, control in self._controls.items()
                }
            case _:
                raise LookupError(f"no such request: {request.kind!r}")
        if after != before:
            self._redraw(self.picture(after))
            self._remember(before, request)
        return errors, notes

    def _redraw(self, picture: Picture[P, R]) -> None:
        self._picture = picture
        for name, live in self._live.items():
            live.show(picture.specs[name])

    def _remember(self, before: Settings, request: Request) -> None:
        """Keep the settings before a change, once a gesture; an address that opens the page is no change."""
        is_change = request.kind not in ("undo", "open")
        if is_change and (request.kind != "move" or request.gesture != self._gesture):
            self._past = [*self._past, dict(before)][-_MOST_UNDOS:]
        self._gesture = request.gesture

    def _drop_unchanged(self) -> bool:
        """Forget the settings that are those shown, as after a gesture that ends where it began; say if any is left."""
        while self._past and self._past[-1] == self._picture.settings:
            self._past.pop()
        return bool(self._past)

    # What it says ------------------------------------------------------------------------------------

    def _reply(self, count: int, **more: Any) -> Reply:
        picture, words = self._picture, self._picture.words
        return Reply(
            count=count,
            texts=to_texts(self._controls, picture.settings),
            plain=self.text(f"{self.name}.plain", **words),
            technical=self.text(f"{self.name}.technical", **words),
            assumes=self.text(f"{self.name}.assumes", **words),
            query=to_query(self._controls, picture.settings),
            can_undo=self._drop_unchanged(),
            messages=sum(live.number for live in self._live.values()),
            **more,
        )

    def _captioned(
        self, figure: str, spec: Mapping[str, Any], settings: Settings, words: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return `spec` with what the page adds around it: alternative text, file name and receipt."""
        texts = {self._controls[name].key: text for name, text in to_texts(self._controls, settings).items()}
        state = "_".join(f"{key}{text}" for key, text in texts.items())
        receipt = (
            self.text(f"{self.name}.technical", **words),
            self.text(f"{self.name}.assumes", **words),
            self.text(f"{self.name}.source"),
            self.text(
                "figure.made_by",
                version=dpviz.__version__,
                state=", ".join(f"{k} = {v}" for k, v in texts.items()),
            ),
        )
        layout = spec["layout"]
        meta = {
            **layout.get("meta", {}),
            "alt": self.text(f"{self.name}.alt.{figure}", **words),
            "file": f"dpviz_{self.name}_{figure}_{state}",
            "receipt": receipt,
        }
        return {**spec, "layout": {**layout, "meta": meta}}
