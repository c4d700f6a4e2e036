"""Controls: what a reader can set, type and link to."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from dpviz.explainers._controls import (
    Choice,
    InputError,
    Seed,
    linear_slider,
    log_integer_slider,
    log_slider,
    shortened,
)
from dpviz.explainers._settings import State, first_settings, from_query, from_texts, to_query, to_texts
from dpviz.locale import catalogue

TEXT = catalogue("en")
CONTROLS = {
    "count": log_integer_slider("k", value=100, low=1, high=1_000_000),
    "sigma": log_slider("sigma", value=16.0, low=0.1, high=1000.0),
    "delta": log_slider("delta", value=1e-6, low=1e-12, high=0.1, coarse=True),
    "threshold": linear_slider("threshold", value=1.0, low=-4.0, high=8.0, step=0.05),
    "noise": Choice("noise", "fresh", ("fresh", "cached")),
    "seed": Seed(),
}
SLIDERS = {name: control for name, control in CONTROLS.items() if hasattr(control, "stops")}
FRESH = first_settings(CONTROLS)


@pytest.mark.parametrize("slider", SLIDERS.values(), ids=SLIDERS)
def test_stops_rise_and_read_back(slider):
    values = [slider.read(stop) for stop in slider.stops]
    assert values == sorted(set(values))
    assert [slider.write(value) for value in values] == list(slider.stops)


@pytest.mark.parametrize("slider", SLIDERS.values(), ids=SLIDERS)
def test_no_slider_reads_as_zero(slider):
    """A readout of two decimals hides 1e-6; ours is the shortest text that reads back."""
    assert all(float(stop) != 0 or stop == "0" for stop in slider.stops)


def test_a_slider_over_eleven_decades_travels_smoothly():
    """A linear slider over tiny values only reaches its ends; ours has nine stops in each decade."""
    stops = CONTROLS["delta"].stops
    assert len(stops) == 9 * 11 + 1
    assert max(float(b) / float(a) for a, b in pairwise(stops)) <= 2.0000001


def test_fine_stops_are_at_most_five_percent_apart_and_short():
    stops = CONTROLS["sigma"].stops
    assert max(float(b) / float(a) for a, b in pairwise(stops)) <= 1.0500001
    assert max(len(stop) for stop in stops) <= 5


def test_whole_stops_count_one_by_one_at_first():
    assert CONTROLS["count"].stops[:12] == tuple(str(number) for number in range(1, 13))


def test_defaults_are_stops_where_a_slider_has_them():
    assert all(slider.default in slider.stops for slider in SLIDERS.values())


@pytest.mark.parametrize(
    ("name", "typed", "key"),
    [
        ("sigma", "-1", "input.out_of_range"),
        ("sigma", "0", "input.out_of_range"),
        ("sigma", "1e999", "input.out_of_range"),
        ("sigma", "abc", "input.not_a_number"),
        ("sigma", "", "input.not_a_number"),
        ("sigma", "1,5", "input.not_a_number"),
        ("sigma", "nan", "input.not_a_number"),
        ("delta", "0", "input.out_of_range"),
        ("count", "2.5", "input.not_whole"),
        ("count", "0", "input.out_of_range"),
        ("noise", "stale", "input.not_an_option"),
        ("seed", "-1", "input.out_of_range"),
    ],
)
def test_bad_text_gets_a_sentence_and_loses_nothing(name, typed, key):
    with pytest.raises(InputError) as caught:
        CONTROLS[name].read(typed)
    assert caught.value.key == key
    texts = {
        **to_texts(CONTROLS, FRESH),
        name: typed,
        "sigma" if name != "sigma" else "delta": "1e-3" if name == "sigma" else "8",
    }
    settings, errors = from_texts(CONTROLS, texts, FRESH, TEXT)
    assert list(errors) == [name]
    assert typed in errors[name]
    assert settings[name] == FRESH[name]
    assert settings != FRESH, "the good part of the same move takes effect"


@given(st.sampled_from(sorted(SLIDERS)), st.floats(0, 1))
def test_every_value_survives_its_address(name, share):
    slider = SLIDERS[name]
    value = slider.low + share * (slider.high - slider.low)
    settings = {**FRESH, name: round(value) if slider.is_whole else value}
    state = State(settings, FRESH)
    assert from_query(CONTROLS, (), "?" + to_query(CONTROLS, state), TEXT) == (state, ())


def test_the_address_uses_the_symbols_and_takes_the_names_too():
    assert to_query(CONTROLS, State(FRESH)).startswith("k=100&sigma=16&delta=1e-6")
    state, notes = from_query(CONTROLS, (), "?count=7&sigma=8", TEXT)
    assert (state.settings["count"], state.settings["sigma"], notes) == (7, 8.0, ())


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ("?sigma=nan", "“nan” is not a number"),
        ("?sigma=1e999", "“1e999” is outside"),
        ("?sigma=-1", "“-1” is outside"),
        ("?k=1.5", "“1.5” is not a whole number"),
        ("?mystery=1", "names “mystery”"),
        ("?sigma=__import__('os')", "“__import__('os')” is not a number"),
        ("?sigma=%3Cscript%3Ealert(1)%3C/script%3E", "“<script>alert(1)</script>” is not a number"),
        ("?sigma=", "“” is not a number"),
        ("?" + "a" * 10_000, "longer than 2000 characters"),
        ("?noise=cold", "no choice for"),
        ("?breach=nonsense", "asks to break “nonsense”"),
    ],
)
def test_what_an_address_asks_wrongly_is_named_and_replaced(search, said):
    state, notes = from_query(CONTROLS, ("omit",), search, TEXT)
    assert state == State(FRESH)
    assert len(notes) == 1
    assert said in notes[0]


@given(st.text(max_size=300))
def test_no_address_breaks_a_page(search):
    state, _ = from_query(CONTROLS, (), search, TEXT)
    assert set(state.settings) == set(FRESH)
    assert to_texts(CONTROLS, state.settings)


def test_words_about_the_page_around_are_nobodys_fault():
    assert from_query(CONTROLS, (), "?teach=1&embed=1&theme=dark&lock=1", TEXT) == (State(FRESH), ())


def test_a_pin_in_the_address_is_read_as_strictly():
    state, notes = from_query(CONTROLS, (), "?k=7&pin=k:10,sigma:nan,mystery:1", TEXT)
    assert state.settings == {**FRESH, "count": 7}
    assert state.pin == {**FRESH, "count": 10}
    assert len(notes) == 2


@given(st.text(max_size=200))
def test_a_quoted_text_is_short_and_on_one_line(text):
    quoted = shortened(text)
    assert len(quoted) <= 40
    assert not re.search(r"[\n\r\t]", quoted)


def test_labels_are_plain_unicode():
    """TeX in a label is raw text in some hosts and flickers in others."""
    for control in CONTROLS.values():
        assert "$" not in str(control.look(TEXT))


def test_ends_of_a_slider_must_be_in_order():
    with pytest.raises(ValueError, match="low must be a number > 0 and below high"):
        log_slider("sigma", value=1.0, low=10.0, high=1.0)
