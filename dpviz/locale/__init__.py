"""Every word a reader sees, by key and language, and the way numbers are written.

The catalogues are gettext files, ``<language>/LC_MESSAGES/dpviz.po``, compiled to ``.mo`` beside them. Keys are
dotted names (``composition.plain``); values may hold ``{name}`` placeholders, filled by `str.format`. A language is
called as in HTML (``zh-Hans``), its folder as in gettext (``zh_Hans``).
"""

from __future__ import annotations

import gettext
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent


class _NoSuchText(gettext.NullTranslations):
    """The last resort of a lookup: a missing text is a bug of ours, so it is loud."""

    def gettext(self, message: str) -> str:
        raise KeyError(f"the text catalogue has no entry {message!r}")


class Catalogue:
    """The texts of one language.

    Examples
    --------
    >>> catalogue("en")("control.sigma.word")
    'noise standard deviation'
    """

    def __init__(self, language: str) -> None:
        self.language = language
        with (folder_of(language) / "dpviz.mo").open("rb") as compiled:
            self._texts = gettext.GNUTranslations(compiled)
        self._texts.add_fallback(_NoSuchText())

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the text of `key` with its placeholders filled.

        Raises
        ------
        KeyError
            If the catalogue has no such text, or a placeholder has no value.
        """
        return self._texts.gettext(key).format_map(values)

    def template(self, key: str) -> str:
        """Return the text of `key` as it stands: plotly fills the ``%{x}`` of its hover texts itself."""
        return self._texts.gettext(key)


@lru_cache
def catalogue(language: str = "en") -> Catalogue:
    """Return the catalogue of `language`, read once."""
    if language not in languages():
        raise ValueError(f"language must be one of {', '.join(languages())}, but got {language!r}")
    return Catalogue(language)


def languages() -> tuple[str, ...]:
    """Return the languages that have a catalogue, in alphabetical order."""
    return tuple(sorted(path.parts[-3].replace("_", "-") for path in FOLDER.glob("*/LC_MESSAGES/dpviz.mo")))


def folder_of(language: str) -> Path:
    """Return the folder that holds a language's catalogue."""
    return FOLDER / language.replace("-", "_") / "LC_MESSAGES"
