"""The languages of the pages: each has a folder of notebooks, and the server's own words in its catalogue."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpviz.locale import catalogue, languages
from dpviz.server.settings import INDEX

_WEIGHT = re.compile(r"q=([01](?:\.\d{0,3})?)", re.IGNORECASE)
_PAGE_WORDS = (
    *("address", "cell_fault", "description", "languages", "lost", "needs_script", "skip", "starting", "synthetic"),
    *("theme_system", "theme_light", "theme_dark"),
)


@dataclass(frozen=True)
class Language:
    """A language by its code in HTML, and the folder of its notebooks: "" is the top one."""

    code: str
    folder: str

    @property
    def index(self) -> str:
        """The name of its gallery's notebook."""
        return self.named(INDEX)

    @property
    def own_name(self) -> str:
        """What its speakers call it."""
        return self.text("server.own_name")

    def named(self, page: str) -> str:
        """Return the notebook of a page in this language."""
        return f"{self.folder}/{page}" if self.folder else page

    def text(self, key: str) -> str:
        """Return one of the server's texts."""
        return catalogue(self.code)(key)


ENGLISH = Language("en", "")


@cache
def known_languages() -> tuple[Language, ...]:
    """Return the languages that have a catalogue, English first.

    Examples
    --------
    >>> known_languages()[0]
    Language(code='en', folder='')
    """
    others = (code for code in languages() if code != ENGLISH.code)
    return (ENGLISH, *(Language(code, _primary(code)) for code in others))


def language_of(notebook: str) -> Language:
    """Return the language of a notebook, as its folder says.

    Examples
    --------
    >>> language_of("composition.ipynb").code, language_of("elsewhere/composition.ipynb").code
    ('en', 'en')
    """
    top = notebook.partition("/")[0] if "/" in notebook else ""
    return next((language for language in known_languages() if language.folder == top), ENGLISH)


def served_languages(notebooks: Collection[str]) -> tuple[Language, ...]:
    """Return the languages that have a gallery among the notebooks, English first."""
    return tuple(language for language in known_languages() if language.index in notebooks)


def preferred_language(header: str, among: Collection[Language]) -> Language:
    """Return the language that an ``Accept-Language`` header asks for first, English if none fits.

    Examples
    --------
    >>> preferred_language("fr, ja;q=0.8, en;q=0.9", [ENGLISH, Language("ja", "ja")]).code
    'en'
    """
    for wanted in sorted(_ranges(header), key=lambda found: -found[1]):
        for language in among:
            if wanted[1] > 0 and wanted[0] == _primary(language.code):
                return language
    return ENGLISH


def surroundings(notebook: str, notebooks: Collection[str], base_url: str) -> dict[str, Any]:
    """Return what stands around a page: the words of its language, the way home, the page in other languages."""
    here = language_of(notebook)
    page = notebook.removeprefix(f"{here.folder}/")
    versions = [language for language in known_languages() if language.named(page) in notebooks]
    home = here if here.index in notebooks else ENGLISH
    return {
        "code": here.code,
        "home": page_address(home.index, base_url),
        "text": {word: here.text(f"server.page.{word}") for word in _PAGE_WORDS},
        "versions": [
            {
                "code": language.code,
                "name": language.own_name,
                "address": page_address(language.named(page), base_url),
                "is_here": language == here,
            }
            for language in versions
        ],
    }


def page_address(notebook: str, base_url: str) -> str:
    """Return the address of a notebook's page, without its host."""
    return f"{base_url}voila/render/{notebook}"


def _primary(tag: str) -> str:
    return tag.partition("-")[0].lower()


def _ranges(header: str) -> Iterator[tuple[str, float]]:
    """Yield the languages of a header and their weights; what is malformed is passed over."""
    for item in header.split(","):
        tag, *parameters = (part.strip() for part in item.split(";"))
        weights = [_WEIGHT.fullmatch(parameter) for parameter in parameters]
        if tag and all(weights):
            yield _primary(tag), min(1.0, *(float(found[1]) for found in weights if found), 1.0)
