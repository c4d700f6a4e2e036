"""The gallery's cards: short links, headings in order, and pictures that can be seen in both themes."""

import re
from pathlib import Path

import pytest

import dpviz.explainers
from dpviz.explainers import find_explainers, gallery
from dpviz.locale import catalogue
from tests.test_server_languages import contrast

CSS = (Path(dpviz.explainers.__file__).parent / "gallery.css").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cards() -> list[str]:
    html = gallery()._repr_html_()
    return re.findall(r"<div class='dpviz-card'>.*?</p></div>", html)


def test_a_card_is_a_heading_whose_title_is_the_link(cards: list[str]) -> None:
    names = list(find_explainers())
    assert len(cards) == len(names)
    for name, card in zip(names, cards, strict=True):
        title = catalogue("en")(f"gallery.{name}.title")
        assert f"<h2><a href='{name}.ipynb'>{title}</a></h2>" in card
        assert card.count("<a ") == 1
        assert len(title) <= 40


def test_a_picture_is_passed_over_because_its_caption_says_the_same(cards: list[str]) -> None:
    for card in cards:
        hidden = re.search(r"aria-hidden='true'><svg.*?aria-label='([^']*)'", card)
        assert hidden
        assert f"<p class='dpviz-caption'>{hidden[1]}</p>" in card


def test_links_lead_to_pages_beside_the_gallery(cards: list[str]) -> None:
    """Relatively, so that a translated gallery leads to translated pages."""
    for card in cards:
        for link in re.findall(r"href='([^']*)'", card):
            assert re.fullmatch(r"\w+\.ipynb", link)


def test_every_line_of_a_picture_is_seen_in_both_themes(cards: list[str]) -> None:
    grounds = re.search(r"--paper: light-dark\((#\w{6}), (#\w{6})\);", CSS)
    assert grounds
    paints = {paint for card in cards for paint in re.findall(r"(?:stroke|fill)='(?!none)([^']*)'", card)}
    themes = {
        paint: re.fullmatch(r"light-dark\((#\w+|rgba\([^)]*\)), (#\w+|rgba\([^)]*\))\)", paint) for paint in paints
    }
    assert all(themes.values()), "every colour has its partner"
    lines = {paint for card in cards for paint in re.findall(r"<polyline[^>]*stroke='([^']*)'", card)}
    assert len(lines) >= 3
    for line in lines:
        for shown, ground in zip(themes[line].groups(), grounds.groups(), strict=True):
            assert contrast(shown, ground) >= 3, line


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_a_card_can_be_read_in_both_themes(theme: int) -> None:
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\);", CSS)
    colour = {name: themes[theme] for name, *themes in pairs}
    for text in ("ink", "quiet", "accent"):
        assert contrast(colour[text], colour["paper"]) >= 4.5
    assert contrast(colour["edge"], colour["paper"]) >= 3
