"""What a page says, from its catalogue: sentences, assumptions, stories, receipts and the lines of a worksheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dpviz
from dpviz.explainers._controls import Choice, Control, Controls
from dpviz.explainers._lesson import BROKEN, CONTRACT, Breach, Prediction
from dpviz.explainers._settings import Settings, by_key
from dpviz.locale import Catalogue
from dpviz.locale.numbers import given, rounded

Words = Mapping[str, str]


class Speech:
    """The texts of one page in one language, filled with the words of a picture."""

    def __init__(self, page: str, text: Catalogue, controls: Controls) -> None:
        self._page = page
        self._text = text
        self._controls = controls

    def lesson(
        self, prediction: Prediction, scenarios: Mapping[str, Any], breaches: Mapping[str, Any], words: Words
    ) -> dict[str, Any]:
        """Return what the browser is told once: the question, and the names to choose from."""
        page, text = self._page, self._text
        look = prediction.control.look(text)
        if look["kind"] == "slider" and not prediction.is_on_axis:
            look = {**look, "kind": "number"}
        start = prediction.control.default
        return {
            "page": page,
            "question": {
                "text": text(f"{page}.predict.question", **words),
                "control": {"name": "guess", "start": start, **look},
            },
            "scenarios": [{"name": name, "title": text(f"{page}.scenario.{name}.title")} for name in scenarios],
            "breaches": [{"name": name, "title": text(f"{page}.breach.{name}.title")} for name in breaches],
        }

    def sentences(self, words: Words) -> dict[str, str]:
        """Return the live sentence, plain and technical, and what it assumes."""
        return {
            "plain": self._text(f"{self._page}.plain", **words),
            "technical": self._text(f"{self._page}.technical", **words),
            "assumes": self._text(f"{self._page}.assumes", **words),
        }

    def strip(
        self, variants: Words, words: Words, breach: str, breaches: Mapping[str, Breach]
    ) -> tuple[tuple[str, str, bool], ...]:
        """Return the assumption strip: label, what is assumed, and whether it is a caveat."""
        broken = breaches[breach].item if breach else ""
        return tuple(
            (
                self._text(f"assume.{item}.label"),
                self._text(f"{self._page}.breach.{breach}.caveat", **words)
                if item == broken
                else self._text(f"assume.{item}.{variants[item]}", **words),
                item == broken or variants[item].startswith(BROKEN),
            )
            for item in CONTRACT
        )

    def story(self, scenario: str, words: Words) -> dict[str, str]:
        """Return title, story and lesson of the scenario that is set; nothing when none is."""
        if not scenario:
            return {}
        return {
            part: self._text(f"{self._page}.scenario.{scenario}.{part}", **words)
            for part in ("title", "story", "lesson")
        }

    def breach_line(self, breach: str, words: Words) -> str:
        """Return what is claimed and what really holds."""
        return self._text(f"{self._page}.breach.{breach}.line", **words) if breach else ""

    def pin(self, settings: Settings, words: Words) -> str:
        """Return what is pinned, and its numbers."""
        technical = self._text(f"{self._page}.technical", **words)
        return self._text("panel.pinned", state=self._state(settings), technical=technical)

    def prediction_line(self, prediction: Prediction, truth: Any, words: Words) -> str:
        """Return the line that explains the answer to the page's question."""
        answer = self._answer(prediction, truth)
        return self._text(f"{self._page}.predict.line", **{**words, "answer": answer})

    def answer_line(self, prediction: Prediction, guess: Any, truth: Any, words: Words) -> str:
        """Return what was answered, by how much it is off, and the line that explains."""
        given_answer = self._answer(prediction, guess)
        if isinstance(prediction.control, Choice) or guess == truth:
            said = self._text("panel.guessed", guess=given_answer)
        else:
            ratio = rounded(max(guess, truth) / min(guess, truth))
            said = self._text("panel.guessed_by", guess=given_answer, ratio=ratio)
        return self._text("panel.sentences", first=said, second=self.prediction_line(prediction, truth, words))

    def question_item(self, prediction: Prediction, truth: Any, words: Words) -> dict[str, str]:
        """Return the page's question as the first item of a worksheet."""
        answer = self._answer(prediction, truth)
        return {
            "title": self._text("panel.question"),
            "story": "",
            "ask": self._text(f"{self._page}.predict.question", **words),
            "answer": answer,
            "lesson": self.prediction_line(prediction, truth, words),
        }

    def scenario_item(self, name: str, words: Words) -> dict[str, str]:
        """Return a scenario as an item of a worksheet; its answer is the live sentence."""
        ask, said = self._text(f"{self._page}.scenario.{name}.ask", **words), self.sentences(words)
        answer = self._text("panel.sentences", first=said["plain"], second=said["technical"])
        return {**self.story(name, words), "ask": ask, "answer": answer}

    def breach_item(self, name: str, settings: Settings, words: Words) -> dict[str, str]:
        """Return a broken assumption as an item of a worksheet, with the settings that are claimed."""
        caveat = self._text(f"{self._page}.breach.{name}.caveat", **words)
        state = self._text("panel.sheet_settings", state=self._state(settings))
        return {
            "title": self._text(f"{self._page}.breach.{name}.title"),
            "story": self._text("panel.sentences", first=state, second=caveat),
            "ask": self._text("panel.breach_ask"),
            "answer": self.breach_line(name, words),
            "lesson": "",
        }

    def receipt(self, settings: Settings, words: Words, breach: str, pin: str) -> tuple[str, ...]:
        """Return the receipt: what was set, what follows, what it assumes, from which source, by which version."""
        said = self.sentences(words)
        lines = (
            said["technical"],
            self.breach_line(breach, words),
            pin,
            said["assumes"],
            self._text(f"{self._page}.source"),
            self._text("figure.made_by", version=dpviz.__version__, state=self._state(settings)),
        )
        return tuple(line for line in lines if line)

    def state_name(self, settings: Settings) -> str:
        """Return the settings as the name of a file says them."""
        return "_".join(f"{key}{text}" for key, text in by_key(self._controls, settings).items())

    def file_name(self, state: str, *parts: str) -> str:
        """Return the name of a file, without ending, that says the state."""
        return "_".join(("dpviz", self._page, *parts, state))

    def captioned(
        self, figure: str, spec: Mapping[str, Any], words: Words, receipt: tuple[str, ...], state: str
    ) -> dict[str, Any]:
        """Return a figure with what the page adds around it: alternative text, file name and receipt."""
        layout = spec["layout"]
        meta = {
            **layout.get("meta", {}),
            "alt": self._text(f"{self._page}.alt.{figure}", **words),
            "file": self.file_name(state, figure),
            "receipt": receipt,
        }
        return {**spec, "layout": {**layout, "meta": meta}}

    def _state(self, settings: Settings) -> str:
        """Return the settings as a sentence says them: by symbol, options by their words."""
        said = (
            f"{self._text(f'control.{control.texts}.symbol')} = {self._value(control, settings[name])}"
            for name, control in self._controls.items()
        )
        return self._text("panel.between").join(said)

    def _value(self, control: Control, value: Any) -> str:
        is_choice = isinstance(control, Choice)
        return self._text(f"control.{control.key}.{value}") if is_choice else control.write(value)

    def _answer(self, prediction: Prediction, value: Any) -> str:
        """Return an answer as a sentence says it."""
        control = prediction.control
        if isinstance(control, Choice):
            return self._text(f"control.{control.key}.{value}")
        return given(value) if control.is_whole else rounded(value, 4)
