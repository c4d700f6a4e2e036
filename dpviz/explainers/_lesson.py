"""What a page teaches beside its figures: a question, scenarios, and assumptions that can be broken.

A page declares these as values; the machinery asks, applies, draws and says them. Their words stand in the catalogue:

* ``<page>.predict.question`` and ``.line``; the control of the answer has its own ``control.<key>.…`` texts;
* ``<page>.scenario.<name>.title``, ``.story``, ``.ask`` and ``.lesson``;
* ``<page>.breach.<name>.title``, ``.caveat`` and ``.line``;
* ``assume.<item>.label`` and ``assume.<item>.<variant>``.

All may hold the placeholders of the page's `words`; the line of a breach also the same words of what really holds, as
``{real_<word>}``; question and line of a prediction also those of its own `words`, and the line ``{answer}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpviz.explainers._controls import Choice, Slider

CONTRACT = ("unit", "relation", "sensitivity", "sampling", "noise", "delta")
"""What a guarantee is about, in the order of the assumption strip."""

BROKEN = "broken"
"""How the name of a variant starts that says an assumption does not hold."""


@dataclass(frozen=True)
class Prediction:
    """A question to answer before looking: how, about which settings, and where an answer stands in a figure.

    Parameters
    ----------
    control : Slider or Choice
        Takes the answer; its ``default`` is where the slider starts, and gives nothing away.
    settings : Mapping
        Parameters, by name, that the question is about; those not named are those of a fresh page.
    answer : callable
        Result at `settings` to the true answer: a number, or the option's name. Computed, never typed in.
    figure : str
        Name of the figure that shows guess, answer and the gap between them.
    place : callable
        Result and an answer to the point (x, y) on the axes of that figure where the answer stands.
    is_on_axis : bool
        Whether a number is estimated with a slider along the figure's axis, or typed.
    words : callable
        Parameters and result at `settings` to the values of more placeholders of question and line.
    """

    control: Slider | Choice
    settings: Mapping[str, Any]
    answer: Callable[[Any], Any]
    figure: str
    place: Callable[[Any, Any], tuple[float, float]]
    is_on_axis: bool = True
    words: Callable[[Any, Any], Mapping[str, str]] = lambda _params, _result: {}


@dataclass(frozen=True)
class Breach:
    """A negative control: the page goes on claiming its settings while something else really holds.

    Parameters
    ----------
    item : str
        Which item of the assumption strip turns into the caveat: one of `CONTRACT`.
    really : callable
        The claimed settings, by name, to those that differ in truth; among them may be a parameter with a default that
        no control sets, for what happens besides.
    """

    item: str
    really: Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Answer:
    """Where a reader stands with a page's question: ``open``, ``locked`` or ``skipped``; `value` once one was given."""

    phase: str = "open"
    value: Any = None
    error: str = ""
