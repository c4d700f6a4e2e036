"""What holds of every figure: readable in both themes and in grey, still axes, hidden traces left out of pictures."""

import itertools
import re

import numpy as np
import pytest

from dpviz.explainers._overlay import Marks, overlaid
from dpviz.figures import DARK, GUESS, PINNED, REALLY, _style as style
from dpviz.figures._thumbnail import thumbnail
from dpviz.locale import catalogue
from tests.figure_specs import PAGES, fresh_specs, specs

PAPER = {"light": "#ffffff", "dark": "#16171a"}
COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|rgba?\(.*\)|white|black|gr[ae]y")
STEP = 20.0  # of lightness, from 0 to 100


def channels(color):
    if color.startswith("#"):
        return [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [float(part) / 255 for part in re.findall(r"[\d.]+", color)[:3]]


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(color)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def lightness(color):
    return 116 * max(luminance(color), 0.01) ** (1 / 3) - 16


def colors(value, path=()):
    """Yield (path, colour) of every colour in a spec, and of any that stands where no colour is expected."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from colors(item, (*path, key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from colors(item, path)
    elif isinstance(value, str) and (path[-1].endswith("color") or COLOR.fullmatch(value)):
        yield path, value


def with_overlays(spec):
    """Return `spec` as a page shows it with a pinned setting, a breach and an answer."""
    other = {**spec, "data": [{**trace, "x": np.asarray(trace["x"], dtype=float) + 1.0} for trace in spec["data"]]}
    marks = Marks((1.0, 1.0), (2.0, 2.0))
    return overlaid(spec, pinned=other, real=other, marks=marks, text=catalogue())


@pytest.mark.parametrize("name", PAGES)
def test_every_colour_has_a_dark_partner(name):
    for figure, spec in specs(name):
        for path, color in colors(with_overlays(spec)):
            assert path[-1].endswith("color"), f"{figure}: {path} holds a colour where the page looks for none"
            assert color in DARK, f"{figure}: {path} is {color}"


@pytest.mark.parametrize("name", PAGES)
def test_lines_and_words_are_readable_in_both_themes(name):
    for figure, spec in specs(name):
        for trace in with_overlays(spec)["data"]:
            words = [color for path, color in colors(trace) if path[0] == "textfont"]
            lines = [color for path, color in colors(trace) if path == ("line", "color")]
            lines += [color for path, color in colors(trace) if path == ("marker", "line", "color")]
            is_solid = trace["type"] == "scatter" and trace.get("line", {}).get("width", 1) != 0
            for color in {*words, *lines} - {style.PAPER, style.CLEAR, style.SLACK_BAR}:
                least = 4.5 if color in words else 3.0
                if color in words or is_solid:
                    assert contrast(color, PAPER["light"]) >= least, (figure, color)
                    assert contrast(DARK[color], PAPER["dark"]) >= least, (figure, color)
        for path, color in colors(spec["layout"]):
            if "font" in path or "tickfont" in path:
                assert contrast(color, PAPER["light"]) >= 4.5, path
                assert contrast(DARK[color], PAPER["dark"]) >= 4.5, path
            elif path[-1] in {"linecolor", "tickcolor"}:
                assert contrast(color, PAPER["light"]) >= 3, path
                assert contrast(DARK[color], PAPER["dark"]) >= 3, path


def test_words_on_a_bar_are_readable():
    assert contrast(style.PAPER, style.EXACT) >= 4.5
    assert contrast(DARK[style.PAPER], DARK[style.EXACT]) >= 4.5


def test_overlays_have_colours_of_their_own():
    meanings = {style.EXACT, style.BOUND, style.ACCURACY, style.PERSON, style.CONTEXT}
    assert not {PINNED, GUESS, REALLY} & meanings
    assert len({DARK[color] for color in {PINNED, GUESS, REALLY, *meanings}}) == len({PINNED, GUESS, REALLY, *meanings})


def named_lines(spec):
    return [
        trace
        for trace in spec["data"]
        if trace["type"] == "scatter" and trace["mode"] == "lines" and trace["name"] and trace["line"]["width"] > 0
    ]


def labels_in(spec, color):
    """Return how many texts of a figure stand in the colour of words about `color`."""
    count = 0
    for trace in spec["data"]:
        if trace.get("mode") == "text":
            inks = trace["textfont"]["color"]
            inks = [inks] * len(trace["text"]) if isinstance(inks, str) else inks
            count += sum(bool(said) and ink == style.word(color) for said, ink in zip(trace["text"], inks, strict=True))
    return count


@pytest.mark.parametrize("name", PAGES)
def test_lines_are_told_apart_without_colour(name):
    """By dash, by a visible step of grey, or by a label of their own."""
    for figure, spec in fresh_specs(name).items():
        for one, other in itertools.combinations(named_lines(spec), 2):
            alike = [line for line in named_lines(spec) if line["line"]["dash"] == one["line"]["dash"]]
            is_one_thing = one["meta"] == other["meta"] and one["line"]["color"] != style.CONTEXT
            if not any(line is other for line in alike) or is_one_thing:
                continue
            pair = [one["line"]["color"], other["line"]["color"]]
            has_step = abs(lightness(pair[0]) - lightness(pair[1])) >= STEP
            is_labelled = all(
                labels_in(spec, color) >= sum(line["line"]["color"] == color for line in alike) for color in pair
            )
            assert has_step or is_labelled, f"{figure}: {one['name']!r} and {other['name']!r} look alike in grey"


@pytest.mark.parametrize("name", PAGES)
def test_specs_keep_their_traces(name):
    """Traces are allocated once and moved: every setting has the same ones, in the same order."""
    shapes = {}
    for figure, spec in specs(name):
        shape = [(trace["type"], trace.get("mode"), trace.get("meta")) for trace in spec["data"]]
        assert shapes.setdefault(figure, shape) == shape


def test_a_value_off_its_axis_is_shown_at_the_end_with_an_arrow():
    axis = style.axis("", low=0.01, high=1000, is_log=True)
    assert style.on_axis([0.0, 0.001, 2.0, 5000.0], axis) == ([0.01, 0.01, 2.0, 1000.0], [" ↓", " ↓", "", " ↑"])
    along = style.axis("", low=1, high=5)
    assert style.on_axis([7.0], along, arrows=(" ←", " →")) == ([5.0], [" →"])


def test_a_pale_bar_has_an_edge():
    rows = np.arange(2.0)
    assert style.bars(rows, rows, name="a", color=style.REST, card="best_rates")["marker"]["line"]["width"] == 1
    assert style.bars(rows, rows, name="a", color=style.PERSON, card="best_rates")["marker"]["line"]["width"] == 0


@pytest.mark.parametrize("name", PAGES)
def test_thumbnails_leave_out_what_is_hidden(name):
    text = catalogue()
    for spec in fresh_specs(name).values():
        hidden = overlaid(spec, pinned=None, real=None, marks=None, text=text)
        assert thumbnail(hidden, label="a") == thumbnail(spec, label="a")


def test_thumbnails_follow_the_theme():
    picture = thumbnail(fresh_specs("composition")["history"], label="a < b")
    assert f"light-dark({style.EXACT}, {DARK[style.EXACT]})" in picture
    assert "a &lt; b" in picture
    assert "stroke-dasharray" in picture
