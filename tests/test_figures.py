"""What holds of every figure: readable in both themes and in grey, still axes, hidden traces left out of pictures."""

import itertools
import re

import numpy as np
import pytest

from dpviz.explainers import find_explainers
from dpviz.explainers._overlay import Marks, overlaid
from dpviz.figures import DARK, GUESS, PINNED, REALLY, _style as style
from dpviz.figures._thumbnail import thumbnail
from dpviz.locale import catalogue
from tests.figure_specs import PAGES, corners, fresh_specs, specs

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


def test_overlays_have_colours_of_their_own():
    meanings = {style.EXACT, style.BOUND, style.ACCURACY, style.PERSON, style.CONTEXT, style.INK, style.QUIET}
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
            is_one_thing = one["meta"]["card"] == other["meta"]["card"] and one["line"]["color"] != style.CONTEXT
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


@pytest.mark.parametrize(("low", "high"), [(1, 512), (0.5, 20), (2, 5), (0.001, 0.9), (3, 3000)])
def test_a_short_log_axis_says_whole_numbers_in_order(low, high):
    axis = style.axis("", low=low, high=high, is_log=True)
    said = [float(text.replace(",", "")) for text in axis["ticktext"]]
    assert said == axis["tickvals"] == sorted(said)
    assert 3 <= len(said) <= 10
    assert all(low <= value <= high for value in said)


def test_a_long_log_axis_says_powers_of_ten_alone():
    for decades in range(4, 16):
        axis = style.axis("", low=10.0**-decades, high=1, is_log=True)
        assert isinstance(axis["dtick"], int)
        assert 3 <= decades / axis["dtick"] <= 6


def test_each_overlay_is_named_once_above_its_axes():
    text = catalogue()
    for spec in fresh_specs("tradeoff").values():
        same = overlaid(spec, pinned=spec, real=spec, marks=None, text=text)
        assert same["layout"] == spec["layout"]
        over = with_overlays(spec)
        keys = [trace for trace in over["data"] if any("━" in said for said in trace.get("text", []))]
        ends = [over["layout"][side]["range"] for side in ("xaxis", "yaxis")]
        assert [trace["text"][0].strip("━ \N{NO-BREAK SPACE}") for trace in keys] == ["pinned", "really"]
        assert [(trace["x"][0], trace["y"][0]) for trace in keys] == [(end, ends[1][1]) for end in ends[0]]
        assert all(trace["textposition"][0].startswith("top") for trace in keys)


def test_curves_keep_their_horizontal_axis_beside_others():
    text = catalogue()
    before, after = (find_explainers()["laplace"].figures["density"].spec(result, text) for result in two_laplaces())
    axes = {}
    for name, own, other in (("wide", before, after), ("narrow", after, before)):
        over = overlaid(own, pinned=other, real=None, marks=None, text=text)["layout"]
        assert over["xaxis"]["range"] == own["layout"]["xaxis"]["range"]
        axes[name] = over["yaxis"]["range"]
    assert axes["wide"] == axes["narrow"]


def two_laplaces():
    """Results whose axes differ on both sides."""
    page = find_explainers()["laplace"]
    settings = next(corners("laplace"))
    return [page.compute(page.params(**{**settings, "epsilon": epsilon})) for epsilon in (0.5, 5.0)]


def test_words_of_an_answer_stand_clear_of_others():
    spec = fresh_specs("composition")["history"]
    exact = next(trace for trace in spec["data"] if trace["name"] == catalogue()("composition.exact_here"))
    place = (float(exact["x"][0]), float(exact["y"][0]))
    marks = Marks((place[0], 10 * place[1]), place)
    over = overlaid(spec, pinned=None, real=None, marks=marks, text=catalogue())["data"][-1]
    assert over["textposition"][1] != "bottom right", "there the figure says its own value"


def test_misses_have_one_colour():
    """The area of the misses under the bells and their bar."""
    specs = fresh_specs("tradeoff")
    wrong = next(trace for trace in specs["people"]["data"] if trace["type"] == "bar")
    assert wrong["marker"]["color"][0] == style.PERSON
    assert channels(specs["bells"]["data"][1]["fillcolor"]) == pytest.approx(channels(style.PERSON))


def test_an_order_is_never_said_to_be_one():
    from dpviz.locale.numbers import above_one

    assert [above_one(order) for order in (9.41, 1.0004, 1.0000003)] == ["9.41", "1.0004", "1.0000003"]


def test_equal_densities_are_said_to_be_equal():
    page = find_explainers()["laplace"]
    settings = {**next(corners("laplace")), "change": 1.0, "output": 0.5}
    title = page.figures["density"].spec(page.compute(page.params(**settings)), catalogue())["layout"]["title"]["text"]
    assert "equal" in title
    assert "fold" not in title


@pytest.mark.parametrize("name", PAGES)
def test_bounds_say_which_way_they_may_be_rounded(name):
    """A dashed line or an open dot is a bound."""
    for figure, spec in fresh_specs(name).items():
        for trace in spec["data"]:
            if trace.get("name") and trace["type"] == "scatter":
                is_bound = (
                    trace["line"]["dash"] != "solid"
                    if trace["mode"] == "lines"
                    else trace["marker"]["color"] == style.PAPER
                )
                assert (trace["meta"].get("bound") in {"upper", "lower"}) >= is_bound, (figure, trace["name"])


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
