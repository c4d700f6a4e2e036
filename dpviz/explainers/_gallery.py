"""The gallery: a card per explainer, with a picture drawn from its own numbers."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from dpviz.accounting.verification import Witness, verify
from dpviz.explainers import find_explainers
from dpviz.explainers._base import Explainer
from dpviz.figures._thumbnail import thumbnail
from dpviz.locale import Catalogue, catalogue

_CSS = Path(__file__).parent / "gallery.css"


class Gallery:
    """The cards of all pages; as the value of a notebook's cell it shows itself."""

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._text: Catalogue = catalogue(language)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {self._text(f'gallery.{name}.goal')}" for name in find_explainers())

    def _repr_html_(self) -> str:
        cards = (_card(page(self._language)) for page in find_explainers().values())
        style = _CSS.read_text(encoding="utf-8")
        return f"<style>{style}</style><div class='dpviz-gallery'>{''.join(cards)}</div>"

    def check(self) -> GalleryCheck:
        """Return the recomputed reference values that all pages stand on."""
        return GalleryCheck(verify(), self._text)


class GalleryCheck:
    """The reference values that all pages stand on, recomputed; as a cell's value it says how many hold."""

    def __init__(self, witnesses: tuple[Witness, ...], text: Catalogue) -> None:
        self._witnesses = witnesses
        self._text = text

    def __repr__(self) -> str:
        count = sum(witness.holds for witness in self._witnesses)
        return self._text("gallery.verdict", count=str(count), all=str(len(self._witnesses)))

    def _repr_html_(self) -> str:
        return f"<p class='dpviz-check'>{escape(repr(self))}</p>"


def _card(page: Explainer[Any, Any]) -> str:
    """Return a page's card as HTML: picture, title, goal, what it shows, minutes."""
    picture, text = page.current, page.text
    parts = {part: text(f"gallery.{page.name}.{part}") for part in ("title", "goal")}
    caption = text(f"gallery.{page.name}.caption", **picture.words)
    minutes = text("gallery.minutes", minutes=text(f"gallery.{page.name}.minutes"))
    cover = next(iter(picture.specs.values()))
    return (
        f"<a class='dpviz-card' href='{escape(page.name)}.ipynb'>{thumbnail(cover, label=caption)}"
        f"<h3>{escape(parts['title'])}</h3><p>{escape(parts['goal'])}</p>"
        f"<p class='dpviz-caption'>{escape(caption)}</p><p class='dpviz-minutes'>{escape(minutes)}</p></a>"
    )
