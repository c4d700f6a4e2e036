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
    """Return a page's card as HTML: picture, title, goal, what the picture shows, minutes.

    The title alone is the link, which the style sheet stretches over the card; the caption says what the picture
    shows, so a screen reader passes over the picture itself.
    """
    picture, text = page.current, page.text
    parts = {part: text(f"gallery.{page.name}.{part}") for part in ("title", "goal")}
    caption = text(f"gallery.{page.name}.caption", **picture.words)
    minutes = text("gallery.minutes", minutes=text(f"gallery.{page.name}.minutes"))
    cover = next(iter(picture.specs.values()))
    return (
        f"<div class='dpviz-card'><h2><a href='{escape(page.name)}.ipynb'>{escape(parts['title'])}</a></h2>"
        f"<div class='dpviz-cover' aria-hidden='true'>{thumbnail(cover, label=caption)}</div>"
        f"<p>{escape(parts['goal'])}</p><p class='dpviz-caption'>{escape(caption)}</p>"
        f"<p class='dpviz-minutes'>{escape(minutes)}</p></div>"
    )
