"""Settings: the values of a page's controls, and the state around them, from texts and addresses, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dpviz.explainers._controls import Control, Controls, InputError, shortened
from dpviz.locale import Catalogue

Settings = Mapping[str, Any]

PAGE_WORDS = ("teach", "embed", "theme", "lock")
"""Words of an address that say how the page around the explainer looks; the browser reads them."""

_LONGEST_ADDRESS = 2000


@dataclass(frozen=True)
class State:
    """All that an address says of a page: its settings, those pinned to compare with, the assumption broken."""

    settings: Settings
    pin: Settings | None = None
    breach: str = ""


def first_settings(controls: Controls) -> dict[str, Any]:
    """Return the values of a fresh page."""
    return {name: control.read(control.default) for name, control in controls.items()}


def to_texts(controls: Controls, settings: Settings) -> dict[str, str]:
    """Return the text of each value."""
    return {name: control.write(settings[name]) for name, control in controls.items()}


def by_key(controls: Controls, settings: Settings) -> dict[str, str]:
    """Return the text of each value by its control's name in the address."""
    return {controls[name].key: text for name, text in to_texts(controls, settings).items()}


def from_texts(
    controls: Controls, texts: Mapping[str, str], before: Settings, text: Catalogue
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that `texts` write, and a sentence for each text that writes none.

    A control whose text is missing or refused keeps its value of `before`.
    """
    settings, errors = dict(before), {}
    for name, control in controls.items():
        try:
            settings[name] = control.read(texts[name]) if name in texts else before[name]
        except InputError as error:
            errors[name] = sentence(control, error, text)
    return settings, errors


def to_query(controls: Controls, state: State) -> str:
    """Return the page's address for `state`: ``k=100&sigma=16&…&pin=k:10,sigma:8&breach=…``."""
    words = by_key(controls, state.settings)
    if state.pin is not None:
        words["pin"] = ",".join(f"{key}:{text}" for key, text in by_key(controls, state.pin).items())
    if state.breach:
        words["breach"] = state.breach
    return urlencode(words, safe=":,")


def from_query(
    controls: Controls, breaches: Collection[str], search: str, text: Catalogue
) -> tuple[State, tuple[str, ...]]:
    """Return the state that an address asks for, and a sentence for each part of it that was refused.

    A part that is refused leaves its control at the value of a fresh page. Nothing of the address is evaluated.
    """
    settings = first_settings(controls)
    if len(search) > _LONGEST_ADDRESS:
        return State(settings), (text("input.address_too_long", most=str(_LONGEST_ADDRESS)),)
    notes: list[str] = []
    words = parse_qsl(search.removeprefix("?"), keep_blank_values=True)
    asked = [(key, value) for key, value in words if key not in (*PAGE_WORDS, "pin", "breach")]
    _fill(settings, asked, controls, text, notes)
    pin: dict[str, Any] | None = None
    breach = ""
    for key, value in words:
        if key == "pin":
            pinned = first_settings(controls)
            if _fill(pinned, [_pair(part) for part in value.split(",")], controls, text, notes):
                pin = pinned
        elif key == "breach" and value in breaches:
            breach = value
        elif key == "breach":
            notes.append(text("input.unknown_breach", given=shortened(value), known=", ".join(breaches)))
    return State(settings, pin, breach), tuple(dict.fromkeys(notes))


def sentence(control: Control, error: InputError, text: Catalogue) -> str:
    """Return the sentence that says what was wrong with the text given to `control`."""
    word, symbol = (text(f"control.{control.texts}.{part}") for part in ("word", "symbol"))
    return text(error.key, word=word, symbol=symbol, **error.values)


def _fill(
    settings: dict[str, Any],
    asked: list[tuple[str, str]],
    controls: Controls,
    text: Catalogue,
    notes: list[str],
) -> int:
    """Put what was asked for into `settings`, and a sentence for each part that was refused into `notes`.

    Returns
    -------
    int
        How many parts were taken.
    """
    names = {**{name: name for name in controls}, **{control.key: name for name, control in controls.items()}}
    taken = 0
    for key, value in asked:
        if key not in names:
            known = ", ".join(control.key for control in controls.values())
            notes.append(text("input.unknown_key", key=shortened(key), known=known))
            continue
        control = controls[names[key]]
        try:
            settings[names[key]] = control.read(value)
            taken += 1
        except InputError as error:
            why = sentence(control, error, text)
            notes.append(text("input.replaced", why=why, default=control.default))
    return taken


def _pair(part: str) -> tuple[str, str]:
    key, _, value = part.partition(":")
    return key, value
