"""Settings: the values of a page's controls, from texts and addresses, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dpviz.explainers._controls import Control, Controls, InputError, shortened
from dpviz.locale import Catalogue

Settings = Mapping[str, Any]

_LONGEST_ADDRESS = 2000


def first_settings(controls: Controls) -> dict[str, Any]:
    """Return the values of a fresh page."""
    return {name: control.read(control.default) for name, control in controls.items()}


def to_texts(controls: Controls, settings: Settings) -> dict[str, str]:
    """Return the text of each value."""
    return {name: control.write(settings[name]) for name, control in controls.items()}


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


def to_query(controls: Controls, settings: Settings) -> str:
    """Return the page's address for `settings`: ``k=100&sigma=16&…``."""
    return urlencode({control.key: control.write(settings[name]) for name, control in controls.items()})


def from_query(controls: Controls, search: str, text: Catalogue) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings that an address asks for, and a sentence for each part of it that was refused.

    A part that is refused leaves its control at the value of a fresh page. Nothing of the address is evaluated.
    """
    settings = first_settings(controls)
    if len(search) > _LONGEST_ADDRESS:
        return settings, (text("input.address_too_long", most=str(_LONGEST_ADDRESS)),)
    by_key = {
        **{name: name for name in controls},
        **{control.key: name for name, control in controls.items()},
    }
    notes = []
    for key, value in parse_qsl(search.removeprefix("?"), keep_blank_values=True):
        if key not in by_key:
            notes.append(text("input.unknown_key", key=shortened(key), known=", ".join(_keys(controls))))
            continue
        name = by_key[key]
        try:
            settings[name] = controls[name].read(value)
        except InputError as error:
            default = controls[name].default
            notes.append(text("input.replaced", why=sentence(controls[name], error, text), default=default))
    return settings, tuple(dict.fromkeys(notes))


def sentence(control: Control, error: InputError, text: Catalogue) -> str:
    """Return the sentence that says what was wrong with the text given to `control`."""
    word, symbol = (text(f"control.{control.key}.{part}") for part in ("word", "symbol"))
    return text(error.key, word=word, symbol=symbol, **error.values)


def _keys(controls: Controls) -> list[str]:
    return [control.key for control in controls.values()]
