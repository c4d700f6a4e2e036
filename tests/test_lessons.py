"""What every page teaches besides its figures: a question, scenarios, a pin, and assumptions that can be broken."""

import json
import re
import string

import numpy as np
import pytest

from dpviz.explainers import find_explainers
from dpviz.explainers._controls import Choice, Seed
from dpviz.explainers._lesson import BROKEN, CONTRACT
from dpviz.explainers._live_figure import differences, encode
from dpviz.explainers._settings import State, from_query, to_query
from dpviz.figures import _style as style
from dpviz.locale import languages
from tests.test_explainers import PAGES, Reader, ends

VERDICTS = re.compile(r"\b(strong|weak|safe|unsafe|good|bad|dangerous|acceptable)\b", re.IGNORECASE)


@pytest.fixture(params=PAGES)
def reader(request, monkeypatch):
    return Reader(PAGES[request.param], monkeypatch)


def each(part):
    return [(name, key) for name, page in PAGES.items() for key in getattr(page, part)]


def visible(spec):
    return [trace for trace in spec["data"] if trace.get("visible", True) is not False]


def drawn_in(spec, color):
    """Names of the traces that are drawn in one colour."""
    looks = {trace["name"]: [trace.get("line"), trace.get("marker")] for trace in visible(spec) if trace.get("name")}
    return [name for name, look in looks.items() if f'"{color}"' in json.dumps(encode(look, []))]


def said(reply):
    return json.dumps({key: value for key, value in reply.items() if key != "texts"}, ensure_ascii=False)


# Declared ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_every_page_teaches(name):
    page = PAGES[name]
    assert page.prediction.figure in page.figures
    assert len(page.scenarios) >= 3
    assert len(page.breaches) >= 2
    assert {breach.item for breach in page.breaches.values()} <= set(CONTRACT)


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", PAGES)
def test_every_word_of_a_lesson_is_written_and_filled(name, language):
    page = PAGES[name](language)
    sheet = page._sheet()
    assert len(sheet) == 1 + len(page.scenarios) + len(page.breaches)
    text = json.dumps(
        [*sheet, page._speech.lesson(page.prediction, page.scenarios, page.breaches, page.question.words)],
        ensure_ascii=False,
    )
    assert not re.search(r"\{[a-z_]+\}", text)
    for item in sheet:
        assert item["title"]
        assert item["ask"]
        assert re.search(r"\d", item["answer"]) or isinstance(page.prediction.control, Choice)


def test_no_verdict_words():
    for page in PAGES.values():
        assert not VERDICTS.search(json.dumps(page()._sheet()))


def test_a_seed_is_kept_where_there_is_chance():
    assert any(isinstance(control, Seed) for page in PAGES.values() for control in page().controls().values())


# Predict first -----------------------------------------------------------------------------------------


def guess_of(page):
    """An answer that is not the true one."""
    control = page.prediction.control
    truth = page.prediction.answer(page.question.result)
    if isinstance(control, Choice):
        return next(option for option in control.options if option != truth)
    return next(stop for stop in control.stops if abs(float(stop) - truth) > 0.2 * truth)


def marks(spec):
    return [trace for trace in visible(spec) if style.GUESS in str(trace.get("marker", {}).get("color"))]


def test_an_answer_is_drawn_on_the_axes_and_then_beside_the_computed_one(reader):
    page, figure = reader.explainer, reader.explainer.prediction.figure
    reader.ask("guess", value=guess_of(page))
    reply = reader.ask("ask")
    assert reply["prediction"] == {"phase": "open", "line": "", "error": "", "guess": ""}
    assert marks(page.current.specs[figure]) == []
    reply = reader.ask("estimate", value=guess_of(page))
    (before,) = marks(page.current.specs[figure])
    assert len(before["x"]) == 1, "only the answer given"
    assert reply["prediction"]["line"] == ""
    reply = reader.ask("guess", value=guess_of(page))
    assert reply["prediction"]["phase"] == "locked"
    assert reply["prediction"]["line"]
    spec = page.current.specs[figure]
    (after,) = marks(spec)
    assert len(after["x"]) == 2
    for side in ("x", "y"):
        axis = spec["layout"][f"{side}axis"]
        low, high = sorted(axis["range"])
        at = np.log10(after[side]) if axis["type"] == "log" else after[side]
        assert np.all((low <= at) & (at <= high)), f"the marks are off the {side} axis"
    assert any(trace.get("name") == page.text("overlay.gap") for trace in visible(spec))


def test_the_answer_is_computed(reader):
    page = reader.explainer
    truth = page.prediction.answer(page.question.result)
    page.prediction.control.read(page.prediction.control.write(truth))
    reply = reader.ask("guess", value=page.prediction.control.write(truth))
    assert reply["prediction"]["phase"] == "locked"


def test_an_answer_that_cannot_be_read_gets_a_sentence_and_is_not_locked(reader):
    page = reader.explainer
    before = page.current.specs
    for value in ("abc", "", "nan", "-1", "<b>"):
        reply = reader.ask("guess", value=value)
        assert reply["prediction"]["phase"] == "open"
        assert reply["prediction"]["error"]
        assert reply["fault"] == ""
    assert all(list(differences(before[name], spec)) == [] for name, spec in page.current.specs.items())


def test_the_question_can_be_skipped_and_asked_again(reader):
    assert reader.ask("skip")["prediction"]["phase"] == "skipped"
    assert reader.ask("ask")["prediction"]["phase"] == "open"


def test_an_answer_is_kept_nowhere(reader):
    page = reader.explainer
    reply = reader.ask("guess", value=guess_of(page))
    assert "guess" not in reply["query"]
    assert type(page)()._reply(0).prediction["phase"] == "open"


def test_marks_stand_only_beside_the_settings_they_are_about(reader):
    page, figure = reader.explainer, reader.explainer.prediction.figure
    reader.ask("guess", value=guess_of(page))
    name = next(iter(page.controls()))
    texts = ends(page.controls()[name])
    kept = page.controls()[name].write(page.current.settings[name])
    reader.ask(**{name: next(text for text in texts if text != kept)})
    assert marks(page.current.specs[figure]) == []
    reader.ask(**{name: kept})
    assert marks(page.current.specs[figure]) != []


# Scenarios ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "scenario"), each("scenarios"))
def test_a_scenario_is_one_step_that_can_be_undone(name, scenario, monkeypatch):
    reader = Reader(PAGES[name], monkeypatch)
    page = reader.explainer
    control = next(iter(page.controls()))
    reader.ask(**{control: ends(page.controls()[control])[1]})
    before = page.current.settings
    reply = reader.ask("scenario", value=scenario, gesture=2)
    wanted = page.setting_of(page.scenarios[scenario])
    assert page.current.settings == wanted
    assert set(page.scenarios[scenario]) <= set(wanted), "a scenario sets only what the page has"
    assert reply["scenario"] == scenario
    assert all(reply["story"].values())
    for key, item in page.controls().items():
        assert item.read(item.write(wanted[key])) == wanted[key], "a scenario stays within the controls"
    if before != wanted:
        reader.ask("undo", gesture=3)
        assert page.current.settings == before


def test_scenarios_of_a_page_differ(reader):
    page = reader.explainer
    settings = [tuple(page.setting_of(declared).items()) for declared in page.scenarios.values()]
    assert len(set(settings)) == len(settings)


def test_a_scenario_that_is_not_there_is_a_fault(reader):
    assert "KeyError" in reader.ask("scenario", value="nonsense")["fault"]


# Pin ---------------------------------------------------------------------------------------------------


def test_a_pin_stays_in_grey_while_the_page_moves(reader):
    page = reader.explainer
    assert reader.ask("pin")["pin"]
    assert all(drawn_in(spec, style.PINNED) == [] for spec in page.current.specs.values()), "nothing to compare yet"
    pinned = page.current
    name = next(iter(page.controls()))
    reply = reader.ask(**{name: ends(page.controls()[name])[1]})
    copies = {figure: drawn_in(spec, style.PINNED) for figure, spec in page.current.specs.items()}
    assert any(copies.values())
    for figure, spec in page.current.specs.items():
        for trace in visible(spec):
            if trace.get("name") in copies[figure]:
                assert any(
                    page.text("overlay.pinned", name=other.get("name")) == trace["name"]
                    and np.array_equal(other["x"], trace["x"], equal_nan=True)
                    and np.array_equal(other["y"], trace["y"], equal_nan=True)
                    for other in pinned.specs[figure]["data"]
                ), "a pinned line is the line that was pinned"
    assert "pin=" in reply["query"]
    assert reader.ask("unpin")["pin"] == ""
    assert all(drawn_in(spec, style.PINNED) == [] for spec in page.current.specs.values())


def test_undo_takes_back_pin_and_breach(reader):
    page = reader.explainer
    breach = next(iter(page.breaches))
    reader.ask("pin")
    reader.ask("breach", value=breach)
    assert reader.ask("undo")["breach"] == ""
    reply = reader.ask("undo")
    assert reply["pin"] == ""
    assert not reply["can_undo"]


# Negative controls -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "breach"), each("breaches"))
def test_a_broken_assumption_is_a_caveat_and_what_really_holds_is_drawn(name, breach, monkeypatch):
    reader = Reader(PAGES[name], monkeypatch)
    page = reader.explainer
    settings, plain = page.current.settings, page._reply(0).plain
    reply = reader.ask("breach", value=breach)
    assert page.current.settings == settings, "what is claimed stays"
    assert reply["plain"] == plain
    item = CONTRACT.index(page.breaches[breach].item)
    assert reply["strip"][item][2] is True
    assert reply["breach_line"]
    assert any(drawn_in(spec, style.REALLY) for spec in page.current.specs.values())
    for spec in page.current.specs.values():
        assert reply["breach_line"] in spec["layout"]["meta"]["receipt"], "a file says it too"
    reply = reader.ask("breach", value="")
    assert reply["breach_line"] == ""
    assert [caveat for *_, caveat in reply["strip"]] == [
        caveat.startswith(BROKEN) for caveat in page.contract(page.current.params, page.current.result).values()
    ]


# The strip ---------------------------------------------------------------------------------------------


def test_the_strip_says_the_whole_contract(reader):
    reply = reader.explainer._reply(0)
    assert len(reply.strip) == len(CONTRACT)
    assert all(label and value for label, value, _ in reply.strip)
    assert not any(caveat for *_, caveat in reply.strip), "a fresh page breaks nothing"


# The address -------------------------------------------------------------------------------------------


def test_the_address_holds_the_whole_state(reader):
    page = reader.explainer
    name = next(iter(page.controls()))
    reader.ask("pin")
    reader.ask(**{name: ends(page.controls()[name])[1]})
    reply = reader.ask("breach", value=next(iter(page.breaches)))
    shown = dict(page.current.specs)
    other = Reader(type(page), pytest.MonkeyPatch())
    opened = other.ask("open", search=f"?{reply['query']}&teach=1&embed=1&theme=dark&lock=1")
    assert opened["notes"] == []
    assert opened["query"] == reply["query"]
    for figure, spec in other.explainer.current.specs.items():
        assert list(differences(shown[figure], spec)) == []


@pytest.mark.parametrize(
    "search",
    ["?pin=k:abc", "?pin=", "?pin=nonsense:1", "?pin=::,,", "?breach=<script>", "?pin=" + "k:1," * 300, "?pin=k:1e999"],
)
def test_a_wrong_pin_or_breach_is_named_and_the_page_opens(reader, search):
    reply = reader.ask("open", search=search)
    assert reply["notes"]
    assert reply["fault"] == ""
    assert reply["breach"] == ""


@pytest.mark.parametrize("name", PAGES)
def test_addresses_read_back(name):
    page = PAGES[name]()
    controls = page.controls()
    for declared in page.scenarios.values():
        for breach in ("", *page.breaches):
            state = State(page.setting_of(declared), page.setting_of({}), breach)
            assert from_query(controls, page.breaches, to_query(controls, state), page.text) == (state, ())


# Files -------------------------------------------------------------------------------------------------


def test_a_receipt_says_settings_source_and_version(reader):
    import dpviz

    page = reader.explainer
    receipt = "\n".join(page._reply(0).receipt)
    assert dpviz.__version__ in receipt
    assert page.text(f"{page.name}.source") in receipt
    for control in page.controls().values():
        if not isinstance(control, Choice):
            assert f"{page.text(f'control.{control.texts}.symbol')} = {control.default}" in receipt


def test_file_names_say_the_state_and_are_safe(reader):
    page = reader.explainer
    name = page._reply(0).file
    assert name.startswith(f"dpviz_{page.name}_")
    assert set(name) <= set(string.ascii_letters + string.digits + "_-.")


def test_nothing_of_a_lesson_is_said_twice_to_the_screen_reader(reader):
    """The live sentence is the same while only an answer is marked."""
    page = reader.explainer
    before = page._reply(0).plain
    assert reader.ask("estimate", value=guess_of(page))["plain"] == before


def test_pages_are_found_in_every_language():
    assert set(languages()) == {"en", "ja", "zh-Hans"}
    assert set(find_explainers()) == set(PAGES)
