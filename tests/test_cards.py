"""Every named line says what it is: by which theorem, under which assumptions, and when it fails."""

import json

import pytest

from dpviz.explainers import find_explainers
from dpviz.explainers._overlay import Marks, overlaid
from dpviz.figures import DARK, figure_cards
from dpviz.figures._cards import STATUS
from dpviz.locale import catalogue, languages
from tests.figure_specs import PAGES, fresh_specs, results, specs

PARTS = 5


def cards_of(trace):
    card = trace.get("meta", {}).get("card", [])
    return [card] if isinstance(card, str) else card


@pytest.mark.parametrize("name", PAGES)
def test_every_named_trace_has_a_card(name):
    for figure, spec in specs(name):
        for trace in spec["data"]:
            if trace.get("name"):
                assert cards_of(trace), f"{figure}: what is {trace['name']!r}?"
            assert set(cards_of(trace)) <= STATUS.keys(), figure


def test_every_card_is_of_some_line():
    used = {card for name in PAGES for _, spec in specs(name) for trace in spec["data"] for card in cards_of(trace)}
    assert used == STATUS.keys()


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", PAGES)
def test_cards_are_whole_in_every_language(name, language):
    for figure, spec in fresh_specs(name, language).items():
        cards = figure_cards(spec, catalogue(language))
        assert cards, figure
        assert len({card["name"] for card in cards}) == len(cards)
        for card in cards:
            assert card["title"].strip()
            assert len(card["parts"]) == PARTS
            assert all(label.strip() and text.strip() for label, text in card["parts"])
            assert card["status"] in [text for _, text in card["parts"]]
            assert card["color"] in DARK
            assert card["mark"] in {"line", "dot", "open", "tick", "bar"}
        json.dumps(cards)


def test_a_shared_line_has_the_same_card_on_every_page():
    said = {}
    for name in PAGES:
        for spec in fresh_specs(name).values():
            for card in figure_cards(spec, catalogue()):
                assert said.setdefault(card["name"], card["parts"]) == card["parts"]
    history, price = fresh_specs("composition")["history"], fresh_specs("averaging")["price"]
    shared = {card["name"] for card in figure_cards(history, catalogue())} & {
        card["name"] for card in figure_cards(price, catalogue())
    }
    assert shared == {"gaussian_exact", "rdp_bound"}


def test_cards_show_the_line_as_it_is_drawn():
    cards = {card["name"]: card for card in figure_cards(fresh_specs("composition")["orders"], catalogue())}
    assert [cards[name]["dash"] for name in ("rdp_by_order", "improved_by_order")] == ["dash", "dot"]
    assert [cards[name]["mark"] for name in ("rdp_grid", "rdp_bound")] == ["tick", "open"]


def test_bounds_are_dashed_and_exact_lines_solid():
    """The status of a card and the look of its line say the same."""
    for name in PAGES:
        for figure, spec in fresh_specs(name).items():
            for trace in spec["data"]:
                for card in cards_of(trace):
                    if trace["type"] == "scatter" and trace["mode"] == "lines":
                        is_solid = trace["line"]["dash"] == "solid"
                        assert is_solid or STATUS[card] != "exact", (figure, card)
                        assert not is_solid or STATUS[card] != "upper", (figure, card)


@pytest.mark.parametrize("name", PAGES)
def test_hidden_traces_bring_no_card(name):
    text = catalogue()
    for spec in fresh_specs(name).values():
        over = overlaid(spec, pinned=None, real=None, marks=None, text=text)
        assert figure_cards(over, text) == figure_cards(spec, text)
        marked = overlaid(spec, pinned=None, real=None, marks=Marks((1.0, 1.0)), text=text)
        assert figure_cards(marked, text) == figure_cards(spec, text)


@pytest.mark.parametrize("name", PAGES)
def test_a_plotly_figure_takes_the_cards(name):
    for function in find_explainers()[name].figures.values():
        figure = function(results(name)[0])
        assert any(trace.meta for trace in figure.data)
