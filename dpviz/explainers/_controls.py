"""Controls: what a reader can set, as values; how they look is `_panel`'s affair.

A control speaks text: what a slider stop shows, what is typed in its box and what stands in the page's address are
the same words, and `read` is the one place that turns them into a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from dpviz.locale import Catalogue, numbers

Controls = Mapping[str, "Control"]
"""The controls of a page, keyed by the name of the parameter that each one sets."""

_FINE_MANTISSAS = (*range(100, 200, 5), *range(200, 500, 10), *range(500, 1000, 20))
_COARSE_MANTISSAS = tuple(range(100, 1000, 100))
_LONGEST_TEXT = 40


class InputError(ValueError):
    """A text that is no value of its control; `key` and `values` name the sentence that says why."""

    def __init__(self, key: str, **values: str) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


class Control(Protocol):
    """One parameter that a reader sets."""

    @property
    def key(self) -> str:
        """Name in the page's address."""

    @property
    def texts(self) -> str:
        """Key of the control's texts, ``control.<texts>.…``."""

    @property
    def default(self) -> str:
        """Text of the value on a fresh page."""

    def read(self, text: str) -> Any:
        """Return the value that `text` writes, or raise `InputError`."""

    def write(self, value: Any) -> str:
        """Return the text of `value`; `read` gives the value back."""

    def look(self, text: Catalogue) -> dict[str, Any]:
        """Return what the browser needs to show the control."""


@dataclass(frozen=True)
class Slider:
    """A number from `low` to `high`: a slider over readable stops and a box that takes any value between them."""

    key: str
    default: str
    stops: tuple[str, ...]
    is_whole: bool = False
    words: str = ""
    """Key of its texts, where that is not `key`: the same symbol may mean another thing on another page."""

    @property
    def texts(self) -> str:
        """Key of the control's texts."""
        return self.words or self.key

    @property
    def low(self) -> float:
        """Least value, in the parameter's unit."""
        return float(self.stops[0])

    @property
    def high(self) -> float:
        """Greatest value, in the parameter's unit."""
        return float(self.stops[-1])

    def read(self, text: str) -> float | int:
        """Return the number that `text` writes, or raise `InputError` with what was wrong."""
        given = shortened(text)
        try:
            value = numbers.number(text)
        except ValueError:
            raise InputError("input.not_a_count" if self.is_whole else "input.not_a_number", given=given) from None
        if not self.low <= value <= self.high:
            raise InputError(
                "input.out_of_range",
                given=given,
                low=numbers.given(self.low),
                high=numbers.given(self.high),
            )
        if not self.is_whole:
            return value
        if not value.is_integer():
            raise InputError("input.not_whole", given=given)
        return int(value)

    def write(self, value: float) -> str:
        """Return the shortest text that reads back as `value`."""
        return numbers.exact(value)

    def look(self, text: Catalogue) -> dict[str, Any]:
        """Return label, end words and stops for the browser."""
        return {
            "kind": "slider",
            "stops": list(self.stops),
            **{part: text(f"control.{self.texts}.{part}") for part in ("word", "symbol", "unit", "low", "high")},
        }


@dataclass(frozen=True)
class Choice:
    """One of a few named options."""

    key: str
    default: str
    options: tuple[str, ...]

    @property
    def texts(self) -> str:
        """Key of the control's texts."""
        return self.key

    def read(self, text: str) -> str:
        """Return the option named `text`, or raise `InputError`."""
        if not text:
            raise InputError("input.nothing_chosen")
        if text not in self.options:
            raise InputError("input.not_an_option", given=shortened(text), options=", ".join(self.options))
        return text

    def write(self, value: str) -> str:
        """Return the option's name."""
        return str(value)

    def look(self, text: Catalogue) -> dict[str, Any]:
        """Return label and named options for the browser."""
        return {
            "kind": "choice",
            "options": [[option, text(f"control.{self.key}.{option}")] for option in self.options],
            **{part: text(f"control.{self.key}.{part}") for part in ("word", "symbol")},
        }


@dataclass(frozen=True)
class Seed:
    """The seed of a page's chance, shown, with a button that draws again."""

    key: str = "seed"
    default: str = "1"
    highest: int = 999_999

    @property
    def texts(self) -> str:
        """Key of the control's texts."""
        return self.key

    def read(self, text: str) -> int:
        """Return the seed that `text` writes, or raise `InputError`."""
        return int(Slider(self.key, self.default, ("0", str(self.highest)), is_whole=True).read(text))

    def write(self, value: int) -> str:
        """Return the seed's digits."""
        return str(value)

    def next(self, value: int) -> int:
        """Return the seed that follows `value`."""
        return (value + 1) % (self.highest + 1)

    def look(self, text: Catalogue) -> dict[str, Any]:
        """Return label and button word for the browser."""
        return {
            "kind": "seed",
            **{part: text(f"control.{self.key}.{part}") for part in ("word", "symbol", "again")},
        }


def log_slider(key: str, *, value: float, low: float, high: float, coarse: bool = False, words: str = "") -> Slider:
    """Return a slider whose stops are readable numbers, evenly spread in the logarithm from `low` to `high`.

    Parameters
    ----------
    key : str
        Name in the address, and of the texts unless `words` names others.
    value, low, high : float
        First value and ends, in the parameter's unit; all > 0.
    coarse : bool
        Nine stops a decade (1, 2, … 9) instead of seventy-five: for a parameter that spans many decades.
    words : str
        Key of the texts, ``control.<words>.…``.
    """
    stops = _log_stops(low, high, _COARSE_MANTISSAS if coarse else _FINE_MANTISSAS)
    return Slider(key, numbers.exact(value), stops, words=words)


def log_integer_slider(key: str, *, value: int, low: int, high: int) -> Slider:
    """Return a slider over whole numbers, evenly spread in the logarithm above the first few."""
    whole = {stop for stop in _log_stops(low, high, _FINE_MANTISSAS) if "." not in stop}
    return Slider(key, str(value), tuple(sorted(whole, key=int)), is_whole=True)


def linear_slider(key: str, *, value: float, low: float, high: float, step: float) -> Slider:
    """Return a slider with stops every `step` from `low` to `high`."""
    count = round((high - low) / step)
    stops = tuple(numbers.exact(round(low + index * step, 9)) for index in range(count + 1))
    return Slider(key, numbers.exact(value), stops)


def shortened(text: str) -> str:
    """Return `text` as it may be quoted back: one line, not long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"


def _log_stops(low: float, high: float, mantissas: tuple[int, ...]) -> tuple[str, ...]:
    """Return the texts of all mantissa × 10ⁿ in [low, high], both ends included."""
    powers = range(int(f"{low:e}".partition("e")[2]), int(f"{high:e}".partition("e")[2]) + 1)
    grid = (float(f"{mantissa}e{power - 2}") for power in powers for mantissa in mantissas)
    values = [low, *(value for value in grid if low < value < high), high]
    if not all(before < after for before, after in pairwise(values)):
        raise ValueError(f"low must be a number > 0 and below high, but got {low!r} and {high!r}")
    return tuple(numbers.exact(value) for value in values)
