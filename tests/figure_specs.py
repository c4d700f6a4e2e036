"""Every figure of every page at the settings that matter: fresh, and each control at its ends."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dpviz.explainers import find_explainers
from dpviz.explainers._controls import Choice, Slider
from dpviz.explainers._settings import first_settings
from dpviz.locale import catalogue

PAGES = sorted(find_explainers())


def corners(name: str) -> Iterator[dict[str, Any]]:
    """Yield the settings of a fresh page, then those with one control at an end, then with all at their ends."""
    controls = find_explainers()[name]("en").controls()
    fresh = dict(first_settings(controls))
    yield fresh
    ends: dict[str, list[Any]] = {}
    for key, control in controls.items():
        if isinstance(control, Slider):
            ends[key] = [control.read(control.stops[0]), control.read(control.stops[-1])]
        elif isinstance(control, Choice):
            ends[key] = list(control.options)
    for key, values in ends.items():
        for value in values:
            yield {**fresh, key: value}
    for at in (0, -1):
        yield {**fresh, **{key: values[at] for key, values in ends.items()}}


@lru_cache
def results(name: str) -> tuple[Any, ...]:
    """Return a page's results at all its corners."""
    page = find_explainers()[name]
    return tuple(page.compute(page.params(**settings)) for settings in corners(name))


def specs(name: str, language: str = "en") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (figure, spec) of a page at all its corners."""
    text = catalogue(language)
    for result in results(name):
        for figure, function in find_explainers()[name].figures.items():
            yield figure, function.spec(result, text)


def fresh_specs(name: str, language: str = "en") -> dict[str, dict[str, Any]]:
    """Return the specs of a fresh page, by figure."""
    figures = find_explainers()[name].figures
    return {figure: function.spec(results(name)[0], catalogue(language)) for figure, function in figures.items()}
