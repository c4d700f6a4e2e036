"""Every explainer, found by folder: what moves, what is said, and that a live picture is a fresh one."""

import json
import logging
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from dpviz.accounting.curves.averaging import RepeatedAnswer, averaging_curves
from dpviz.accounting.curves.composition import ReleaseHistory, composition_curves
from dpviz.accounting.curves.laplace import LaplaceClaim, laplace_curves
from dpviz.accounting.curves.tradeoff import Attack, tradeoff_curves
from dpviz.explainers import find_explainers, gallery
from dpviz.explainers._controls import Choice, Seed
from dpviz.explainers._live_figure import LiveFigure, differences, encode
from dpviz.explainers._panel import Request
from dpviz.explainers._settings import first_settings
from dpviz.locale.numbers import rounded, rounded_up

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
TRANSLATED = {"zh-Hans": "zh", "ja": "ja"}
PAGES = find_explainers()
MOST_BYTES = 10_000


def ends(control):
    """The default and the far ends of a control, and a step beside the default."""
    match control:
        case Choice():
            return list(control.options)
        case Seed():
            return ["1", "2", "3"]
        case _:
            at = control.stops.index(control.default)
            return [control.default, control.stops[at + 1], control.stops[0], control.stops[-1]]


def each_control():
    return [(name, control) for name, page in PAGES.items() for control in page().controls()]


class Reader:
    """A page with its browser replaced by a list of what was sent."""

    def __init__(self, page, monkeypatch):
        self.sent = []
        monkeypatch.setattr(LiveFigure, "send", lambda _, content, buffers=None: self.sent.append((content, buffers)))
        self.explainer = page()
        self.explainer.show()
        self.count = 0

    def ask(self, kind="move", gesture=1, search="", value="", **texts):
        self.count += 1
        self.explainer._follow(Request(kind, self.count, gesture, texts, search, value))
        return self.explainer._panel._reply


@pytest.fixture(params=PAGES)
def reader(request, monkeypatch):
    return Reader(PAGES[request.param], monkeypatch)


def test_all_pages_of_the_first_floor_are_found():
    assert set(PAGES) >= {"composition", "laplace", "averaging", "tradeoff"}
    for folder in (NOTEBOOKS, *(NOTEBOOKS / name for name in TRANSLATED.values())):
        assert {path.stem for path in folder.glob("*.ipynb")} == {*PAGES, "index"}


@pytest.mark.parametrize(("name", "control"), each_control())
def test_every_control_moves_the_picture(name, control):
    page = PAGES[name]()
    first = page.current
    texts = ends(page.controls()[control])
    others = {
        text: page.picture({**first.settings, control: page.controls()[control].read(text)}) for text in texts[1:]
    }
    for text, picture in others.items():
        changed = [
            path
            for path, _ in differences(first.specs, picture.specs)
            if "meta" not in path and picture.settings != first.settings
        ]
        assert changed or picture.settings == first.settings, f"{control} = {text} draws the same"


def test_live_picture_equals_a_fresh_one(reader):
    page = reader.explainer
    for control, texts in ((c, ends(page.controls()[c])) for c in page.controls()):
        for text in texts[1:]:
            before = dict(page.current.settings)
            reply = reader.ask(**{control: text})
            assert reply["fault"] == ""
            fresh = type(page)().picture(page.current.settings)
            for name, live in page._live.items():
                assert list(differences(live.spec, fresh.specs[name])) == []
            reader.ask(**{control: page.controls()[control].write(before[control])})


def test_pictures_are_pure(reader):
    page = reader.explainer
    again = page.picture(page.current.settings)
    assert list(differences(page.current.specs, again.specs)) == []


def test_traces_stay_the_same_and_in_order(reader):
    """A figure that gains or loses a trace jumps; its lines are allocated once."""
    page = reader.explainer
    names = {name: [trace["type"] for trace in spec["data"]] for name, spec in page.current.specs.items()}
    for control in page.controls():
        for text in ends(page.controls()[control]):
            reader.ask(**{control: text})
            now = {name: [trace["type"] for trace in spec["data"]] for name, spec in page.current.specs.items()}
            assert now == names


def test_a_move_is_one_small_message_a_figure(reader):
    page = reader.explainer
    for control in page.controls():
        for text in ends(page.controls()[control])[1:]:
            reader.sent.clear()
            reader.ask(**{control: text})
            assert len(reader.sent) <= len(page.figures)
            for content, buffers in reader.sent:
                assert len(json.dumps(content)) + sum(buffer.nbytes for buffer in buffers) <= MOST_BYTES, control


def test_no_corner_breaks_a_page(reader):
    """All controls at their ends together: a picture, finite where drawn, nothing on a log axis at or below 0."""
    page = reader.explainer
    names = list(page.controls())
    corners = np.array(np.meshgrid(*[[2, 3] if hasattr(page.controls()[n], "stops") else [0, 1] for n in names]))
    for corner in corners.reshape(len(names), -1).T:
        texts = {name: ends(page.controls()[name])[at] for name, at in zip(names, corner, strict=True)}
        reply = reader.ask(**texts)
        assert reply["fault"] == "", texts
        assert reply["errors"] == {}
        assert "nan" not in (reply["plain"] + reply["technical"]).lower()
        for spec in page.current.specs.values():
            json.dumps(encode(spec, []), allow_nan=False)
            for side in ("x", "y"):
                axis = spec["layout"][f"{side}axis"]
                assert np.all(np.isfinite(axis["range"])), (texts, axis["title"])
                for trace in spec["data"]:
                    if axis["type"] == "log" and isinstance(trace[side], np.ndarray):
                        assert not np.any(trace[side] <= 0), (texts, trace["name"])
                        assert not np.any(np.isinf(trace[side])), (texts, trace["name"])


def test_bad_text_keeps_the_picture_and_says_why(reader):
    page = reader.explainer
    name = next(iter(page.controls()))
    before = page.current
    reply = reader.ask(**{name: "a lot"})
    assert "a lot" in reply["errors"][name]
    assert page.current is before
    assert reader.sent == []


def test_a_fault_is_seen_and_logged_and_the_last_picture_stays(reader, monkeypatch, caplog):
    page = reader.explainer
    before = page.current

    def broken(_params):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(page), "compute", staticmethod(broken))
    name = next(iter(page.controls()))
    with caplog.at_level(logging.ERROR, logger="dpviz"):
        reply = reader.ask(**{name: ends(page.controls()[name])[1]})
    assert "RuntimeError" in reply["fault"]
    assert "secret detail" not in str(reply)
    assert "secret detail" in caplog.text
    assert page.current is before
    monkeypatch.undo()


def test_settings_that_do_not_go_together_get_a_sentence(reader, monkeypatch):
    from dpviz.accounting import DomainError

    page = reader.explainer

    def refusing(_params):
        raise DomainError("sigma", "larger than that", 1.0)

    monkeypatch.setattr(type(page), "compute", staticmethod(refusing))
    name = next(iter(page.controls()))
    reply = reader.ask(**{name: ends(page.controls()[name])[1]})
    assert reply["notes"] == [page.text("input.domain", symbol=page._symbol("sigma"), given=1.0)]
    assert reply["fault"] == ""


def test_undo_takes_back_one_gesture_and_reset_can_be_undone(reader):
    page = reader.explainer
    name = next(iter(page.controls()))
    first = page.current.settings
    texts = ends(page.controls()[name])
    reader.ask(gesture=1, **{name: texts[1]})
    reader.ask(gesture=1, **{name: texts[2]})
    reader.ask(gesture=2, **{name: texts[3]})
    moved = page.current.settings
    assert reader.ask("reset", gesture=2)["can_undo"]
    assert page.current.settings == first
    reader.ask("undo", gesture=2)
    assert page.current.settings == moved
    reader.ask("undo", gesture=2)
    assert page.current.settings[name] == page.controls()[name].read(texts[2])
    reply = reader.ask("undo", gesture=2)
    assert page.current.settings == first
    assert not reply["can_undo"]
    assert reader.ask("undo", gesture=2)["fault"] == ""


def test_a_gesture_that_ends_where_it_began_does_not_jam_undo(reader):
    page = reader.explainer
    name = next(iter(page.controls()))
    first, other, third = (text for text in ends(page.controls()[name])[:3])
    reader.ask(gesture=1, **{name: third})
    reader.ask(gesture=2, **{name: other})
    reader.ask(gesture=2, **{name: third})
    reply = reader.ask("undo", gesture=3)
    assert page.current.settings[name] == page.controls()[name].read(first)
    assert not reply["can_undo"]


def test_a_move_held_back_does_not_overtake_a_button(reader):
    """The browser holds a move back while the kernel is busy, and a button not."""
    page = reader.explainer
    name = next(iter(page.controls()))
    reader.ask(**{name: ends(page.controls()[name])[1]})
    reader.count += 2
    page._follow(Request("reset", reader.count, 2, {}))
    page._follow(Request("move", reader.count - 1, 1, {name: ends(page.controls()[name])[2]}))
    assert page.current.settings == first_settings(page.controls())


def test_an_address_opens_the_page_in_its_state(reader):
    page = reader.explainer
    name, control = next((n, c) for n, c in page.controls().items() if hasattr(c, "stops"))
    reply = reader.ask("open", search=f"?{control.key}={control.stops[1]}&nonsense=1")
    assert page.current.settings[name] == control.read(control.stops[1])
    assert len(reply["notes"]) == 1
    assert not reply["can_undo"]


def test_a_request_of_no_known_kind_is_a_fault(reader):
    assert "LookupError" in reader.ask("dance")["fault"]


def test_drawing_again_changes_only_the_seed(monkeypatch):
    reader = Reader(PAGES["averaging"], monkeypatch)
    before = dict(reader.explainer.current.settings)
    reader.ask("draw")
    after = reader.explainer.current.settings
    assert after == {**before, "seed": before["seed"] + 1}


def test_running_a_cell_again_adds_no_second_listener(monkeypatch):
    reader = Reader(PAGES["laplace"], monkeypatch)
    for _ in range(4):
        PAGES["laplace"]().show()
    reader.sent.clear()
    reader.ask(epsilon="2")
    assert len(reader.sent) <= len(reader.explainer.figures)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_agrees_with_its_own_check(name):
    check = PAGES[name]().check()
    assert check.holds
    assert len(check.checks) >= 2
    assert "NO" not in repr(check)


@pytest.mark.parametrize("name", PAGES)
def test_figures_are_valid_plotly_figures(name):
    page = PAGES[name]()
    for figure in page.figures.values():
        drawn = figure(page.current.result)
        assert len(drawn.data) == len(figure.spec(page.current.result, page.text)["data"])
        assert drawn.layout.title.text


@pytest.mark.parametrize("name", PAGES)
def test_what_a_reader_sees_has_no_open_placeholder_and_no_tex(name):
    page = PAGES[name]()
    said = json.dumps(encode(page.current.specs, []), ensure_ascii=False) + str(page._reply(0))
    texts = re.sub(r"%\{[^}]*\}", "", said)
    assert not re.search(r"\{[a-z_]+\}", texts)
    assert "$" not in texts.replace('"$array"', "")


@pytest.mark.parametrize("name", PAGES)
def test_every_drawn_curve_says_bound_or_exact(name):
    """Broken lines, dashed or dotted, are bounds and are named so; no other line is broken."""
    page = PAGES[name]()
    for spec in page.current.specs.values():
        for trace in spec["data"]:
            if trace["type"] == "scatter" and "lines" in trace["mode"] and trace["name"]:
                is_bound = bool(re.search(r"bound|limit|belief after$|claimed", trace["name"]))
                is_dashed = trace["line"]["dash"] != "solid"
                assert is_dashed == (is_bound and "exact" not in trace["name"]), trace["name"]


def test_the_gallery_links_to_every_page_and_draws_it():
    html = gallery()._repr_html_()
    for name in PAGES:
        assert f"href='{name}.ipynb'" in html
    assert html.count("<svg") == len(PAGES)
    assert re.fullmatch(r".*: (\d+) of \1 hold\.", repr(gallery().check()))


# The words of the pages, against the core ------------------------------------------------------------


def prose(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_prose_of_the_averaging_page():
    day = averaging_curves(RepeatedAnswer(1440, 50.0, 1.0, 1e-6, "fresh", 1))
    kept = averaging_curves(RepeatedAnswer(1440, 50.0, 1.0, 1e-6, "cached", 1))
    text = prose("averaging")
    assert (
        f"SD {day.spread_here:.2f} and $\\varepsilon = {day.exact_here:.2f}$ (bound {rounded_up(day.bound_here)})"
        in text
    )
    assert f"costs {rounded(kept.exact_here)} (bound {rounded_up(kept.bound_here, 4)})" in text


def test_prose_of_the_laplace_page():
    def ratio(change):
        return np.exp(laplace_curves(LaplaceClaim(1.0, 1.0, change, 0.0)).real_epsilon)

    text = prose("laplace")
    assert f"is {ratio(2.0):.2f} against the claimed {ratio(1.0):.2f}" in text
    assert f"it is {ratio(5.0):.0f}." in text


def test_prose_of_the_tradeoff_page():
    from dpviz.accounting import gaussian_delta

    curves = tradeoff_curves(Attack(100, 16.0, 1.0, 1.0, 1.0, 1e-6))
    text = prose("tradeoff")
    assert f"finds {100 * curves.tpr_at[0.05]:.1f} % of those" in text
    assert f"largest advantage is {curves.advantage:.3f}" in text
    for epsilon, delta, mu in ((6, 1e-5, 1.310), (8, 1e-9, 1.262)):
        assert f"\\mu = {mu:.3f}" in text
        assert gaussian_delta(epsilon, mu=mu - 5e-4) < delta < gaussian_delta(epsilon, mu=mu + 5e-4)


@pytest.mark.parametrize(
    ("count", "sigma", "bound", "order", "improved", "exact"),
    [
        (1, 4.0, 1.34538, 22.03, 1.14293, 1.06070),
        (10, 8.0, 2.15595, 14.30, 1.87313, 1.74296),
        (100, 16.0, 3.48064, 9.41, 3.09037, 2.88343),
        (1000, 8.0, 28.59073, 2.33, 27.38412, 25.94773),
    ],
)
def test_the_golden_table_is_what_the_composition_page_says(count, sigma, bound, order, improved, exact):
    page = PAGES["composition"]()
    picture = page.picture({**page.current.settings, "count": count, "sigma": sigma})
    words = page.words(picture.params, picture.result)
    assert float(words["bound"]) == pytest.approx(bound, rel=2e-6)
    assert float(words["order"]) == pytest.approx(order, abs=0.006)
    assert float(words["improved"]) == pytest.approx(improved, rel=5e-6)
    assert float(words["exact"]) == pytest.approx(exact, rel=5e-6)


def test_default_states_already_make_the_point():
    curves = composition_curves(ReleaseHistory(100, 16.0, 1.0, 1e-6))
    assert PAGES["composition"]().current.result.ladder == curves.ladder
    assert "2.88" in PAGES["composition"]().current.specs["history"]["layout"]["title"]["text"]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_says_what_it_assumes(name):
    page = PAGES[name]()
    assumes = page._reply(0).assumes
    for word in ("record added or removed", "Δ"):
        assert word in assumes


def every_notebook():
    return sorted(NOTEBOOKS.rglob("[!.]*.ipynb"))


@pytest.mark.parametrize("path", every_notebook(), ids=lambda path: str(path.relative_to(NOTEBOOKS)))
def test_notebooks_are_front_doors(path):
    """At most six cells and six lines of code; one import, and a last cell that checks the page's numbers."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(notebook.cells) <= 6
    lines = [line for cell in code for line in cell.source.splitlines() if line]
    assert len(lines) <= 6
    assert sum(line.startswith(("import", "from")) for line in lines) == 1
    assert code[-1].source.endswith(".check()")
    assert code[-1].outputs, "no stored outputs; run it and save: python3 dev.py notebooks"
    assert notebook.metadata.title
    assert notebook.metadata.description


@pytest.mark.parametrize(("language", "folder"), TRANSLATED.items())
@pytest.mark.parametrize("name", ["index", *PAGES])
def test_a_translated_notebook_is_the_same_page_with_the_same_numbers(name, language, folder):
    english, other = (nbformat.read(place / f"{name}.ipynb", as_version=4) for place in (NOTEBOOKS, NOTEBOOKS / folder))
    assert other.metadata.lang == language
    assert [cell.cell_type for cell in other.cells] == [cell.cell_type for cell in english.cells]
    assert any(f'("{language}")' in cell.source for cell in other.cells if cell.cell_type == "code")
    for here, there in zip(english.cells, other.cells, strict=True):
        if here.cell_type == "markdown":
            assert numbers_in(there.source) == numbers_in(here.source)
            assert there.source.count("$") == here.source.count("$")
            assert not re.search(r"[A-Za-z]{4,} [a-z]{3,} [a-z]{3,}", without_names(there.source)), "English prose"
        else:
            assert there.source.replace(f'"{language}"', "") == here.source


def numbers_in(prose):
    """The numbers in prose, in whatever order a language puts them."""
    return sorted(re.findall(r"\d+(?:[.,]\d+)*", prose))


def without_names(prose):
    """Prose without titles of papers, addresses and code."""
    return re.sub(r"\*[^*]+\*|`[^`]+`|<[^>]+>|\([^)]*\)|https?://\S+", "", prose.replace("**", ""))
