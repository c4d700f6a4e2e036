"""The teaching kit in a real browser: every page as a lesson, by mouse and by keyboard, and as paper."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from dpviz.explainers import find_explainers
from dpviz.explainers._controls import Choice
from dpviz.locale import catalogue
from tests.browser.test_pages import control

PAGES = find_explainers()
TEXT = catalogue("en")


def button(page, word):
    return page.get_by_role("button", name=TEXT(f"panel.{word}"), exact=True)


def choose(page, scenario):
    page.locator(".dpviz-scenario").select_option(scenario)
    page.locator(".dpviz-story:not([hidden])").wait_for()


def guess(page, prediction):
    """Put an answer into the question, by keyboard."""
    question = page.locator(".dpviz-question")
    if isinstance(prediction.control, Choice):
        question.get_by_role("radio").first.focus()
        page.keyboard.press("Space")
    elif prediction.is_on_axis:
        question.get_by_role("slider").press("ArrowRight")
    else:
        question.locator(".dpviz-box").fill("3")


def words(page):
    """What is said, without what plotly.js measures: the room it leaves for the labels of an axis may stay."""
    return page.locator(".dpviz-title, .dpviz-plain, .dpviz-technical, .dpviz-strip").all_inner_texts()


def focused(page):
    return page.evaluate("() => document.activeElement?.outerHTML.slice(0, 200)")


@pytest.mark.parametrize("name", PAGES)
def test_a_reader_predicts_and_sees_the_gap(visit, name):
    page = visit.open(name)
    question = page.locator(".dpviz-question")
    explainer = PAGES[name]()
    guess(page, explainer.prediction)
    assert page.locator(".dpviz-answer-line").inner_text() == ""
    button(page, "lock").press("Enter")
    line = page.locator(".dpviz-answer-line")
    line.filter(has_text=re.compile(r"\w")).wait_for()
    visit.settle()
    figure = page.locator(".dpviz-figure").nth(list(explainer.figures).index(explainer.prediction.figure))
    assert TEXT("overlay.answer_label") in figure.locator(".dpviz-plot").text_content()
    assert TEXT("overlay.guess_label") in figure.locator(".dpviz-plot").text_content()
    assert question.locator("input").first.is_disabled(), "an answer is locked"
    assert "guess" not in page.url
    assert page.evaluate("() => localStorage.length + sessionStorage.length + document.cookie.length") == 0
    button(page, "ask_again").press("Enter")
    visit.settle()
    assert line.inner_text() == ""
    button(page, "skip").press("Enter")
    button(page, "answer_question").wait_for()
    assert page.evaluate("() => document.activeElement !== document.body"), "focus is not lost"


@pytest.mark.parametrize("name", PAGES)
def test_scenarios_pin_and_broken_assumptions(visit, name):
    page = visit.open(name)
    explainer = PAGES[name]()
    fresh, said = visit.picture(), words(page)
    for scenario in explainer.scenarios:
        choose(page, scenario)
        visit.settle()
        assert page.locator(".dpviz-story-title").inner_text() == TEXT(f"{name}.scenario.{scenario}.title")
        for part in (".dpviz-story-text", ".dpviz-lesson"):
            assert page.locator(part).inner_text()
    button(page, "reset").click()
    visit.settle()
    assert words(page) == said

    button(page, "pin").click()
    choose(page, next(iter(explainer.scenarios)))
    visit.settle()
    if TEXT("overlay.pinned_label") not in page.locator(".dpviz-figures").text_content():
        choose(page, list(explainer.scenarios)[-1])
        visit.settle()
    assert TEXT("overlay.pinned_label") in page.locator(".dpviz-figures").text_content()
    assert "pin=" in page.url or page.wait_for_function("() => location.search.includes('pin=')")
    button(page, "unpin").click()
    button(page, "reset").click()
    visit.settle()
    assert words(page) == said

    for breach in explainer.breaches:
        title = TEXT(f"{name}.breach.{breach}.title")
        page.get_by_role("button", name=title, exact=True).click()
        page.locator(".dpviz-breach-line:not([hidden])").filter(has_text=re.compile(r"\d")).wait_for()
        visit.settle()
        assert page.locator(".dpviz-caveat").count() >= 1
        assert visit.picture() != fresh
        page.get_by_role("button", name=title, exact=True).click()
        visit.settle()
    assert words(page) == said
    assert TEXT("overlay.really_label") not in page.locator(".dpviz-figures").text_content()


@pytest.mark.parametrize("name", PAGES)
def test_everything_has_a_name_is_reached_by_keyboard_and_nothing_is_a_trap(visit, name):
    page = visit.open(name)
    for key, one in PAGES[name]().controls().items():
        look = one.look(TEXT)
        if look["kind"] == "slider":
            slider = control(page, key).get_by_role("slider")
            expect(slider).to_have_accessible_name(re.compile(re.escape(look["word"])))
            expect(slider).to_have_accessible_name(re.compile(re.escape(look["symbol"])))
            assert slider.get_attribute("aria-valuetext").startswith(one.default)
    for plot in page.locator(".dpviz-plot").all():
        assert re.search(r"\d", plot.get_attribute("aria-label")), "the plot's name says its numbers"
    slider = page.locator(".dpviz-controls [type=range]").first
    slider.press("ArrowRight")
    visit.settle()
    wanted = page.evaluate(
        "() => { const all = [...document.querySelectorAll('main a, main button, main input, main select, main summary')];"
        " const seen = all.filter(n => !n.disabled && n.getClientRects().length && n.type !== 'radio');"
        " seen.forEach((n, i) => n.dataset.at = i); return seen.length; }"
    )
    page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
    reached, hidden = set(), []
    for _ in range(wanted + 40):
        page.keyboard.press("Tab")
        at, is_seen = page.evaluate(
            "() => { const n = document.activeElement, b = n.getBoundingClientRect();"
            " const x = b.left + Math.min(b.width / 2, 40), y = b.top + b.height / 2;"
            " const top = document.elementFromPoint(x, y);"
            " const near = top && (n.contains(top) || top.contains(n) || top.closest('label')?.htmlFor === n.id);"
            " return [n.dataset.at ?? null, Boolean(near) || n.type === 'radio' || n === document.body]; }"
        )
        if at is not None:
            reached.add(int(at))
        if not is_seen:
            hidden.append(focused(page))
    assert reached == set(range(wanted))
    assert hidden == [], "what has the focus is covered"


def test_a_link_a_receipt_and_a_frame_are_offered(visit):
    page = visit.open("averaging")
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button(page, "pin").click()
    choose(page, next(iter(PAGES["averaging"].scenarios)))
    visit.settle()
    button(page, "copy_link").click()
    page.get_by_text(TEXT("panel.copied")).wait_for()
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert "pin=" in link
    with page.expect_download() as download:
        button(page, "receipt").click()
    receipt = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename.startswith("dpviz_averaging_r")
    assert TEXT("averaging.source") in receipt
    button(page, "embed").click()
    page.wait_for_function("() => navigator.clipboard.readText().then(text => text.startsWith('<iframe'))")
    frame = page.evaluate("() => navigator.clipboard.readText()")
    assert "embed=1" in frame
    drawn = visit.picture()
    page.goto(link)
    visit.wait_drawn()
    visit.settle()
    assert visit.picture() == drawn


@pytest.mark.parametrize("name", ["composition", "profile"])
def test_an_embedded_page_is_the_explainer_alone(visit, name):
    page = visit.open(name, "?embed=1")
    assert page.locator("header").is_hidden()
    assert page.locator("footer").is_hidden()
    assert page.locator("main h1").is_hidden()
    assert page.locator(".dpviz-check").is_hidden()
    assert page.locator(".dpviz-plot").first.is_visible()
    assert page.get_by_role("link", name=TEXT("panel.open_full")).get_attribute("href").endswith(f"{name}.ipynb") or (
        "embed" not in page.get_by_role("link", name=TEXT("panel.open_full")).get_attribute("href")
    )


@pytest.mark.parametrize("name", ["composition", "profile"])
def test_a_lecturer_steps_through_by_keyboard(visit, name):
    page = visit.open(name, "?teach=1")
    explainer = PAGES[name]()
    plain = page.locator(".dpviz-plain")
    assert plain.is_hidden(), "answers are hidden until asked"
    assert page.locator(".dpviz-title").first.is_hidden()
    size = page.locator(".dpviz-asked").evaluate("n => parseFloat(getComputedStyle(n).fontSize)")
    assert size >= 19, "larger type for a projector"
    page.keyboard.press("PageDown")
    page.locator(".dpviz-answer-line").filter(has_text=re.compile(r"\d")).wait_for()
    assert plain.is_visible()
    page.keyboard.press("PageDown")
    visit.settle()
    assert page.locator(".dpviz-question .dpviz-control").is_hidden(), "a question folds"
    first = next(iter(explainer.scenarios))
    page.locator(".dpviz-story-title").filter(has_text=TEXT(f"{name}.scenario.{first}.title")).wait_for()
    assert plain.is_hidden()
    assert page.locator(".dpviz-lesson").is_hidden()
    page.keyboard.press("PageDown")
    visit.settle()
    assert plain.is_visible()
    assert page.locator(".dpviz-lesson").is_visible()
    for _ in range(2 * (len(explainer.scenarios) + len(explainer.breaches))):
        page.keyboard.press("PageDown")
        visit.settle()
    assert page.locator(".dpviz-breach-line").is_visible()
    assert page.locator(".dpviz-story").is_hidden()
    for key, one in explainer.controls().items():
        if not isinstance(one, Choice):
            assert control(page, key).locator(".dpviz-box").input_value() == one.default, "as worksheet and key have it"
    page.keyboard.press("PageUp")
    visit.settle()
    assert page.locator(".dpviz-breach-line").is_hidden()
    page.locator(".dpviz-scenario").select_option(first)
    page.locator(".dpviz-scenario").press("PageDown")
    visit.settle()
    assert page.locator(".dpviz-scenario").input_value() == first, "the lecture steps, not the choice"
    assert page.locator(".dpviz-lesson").is_visible()
    button(page, "lock_controls").click()
    assert page.locator(".dpviz-controls [type=range]").first.is_disabled()
    assert "lock=1" in page.url
    button(page, "unlock_controls").click()
    assert page.locator(".dpviz-controls [type=range]").first.is_enabled()
    for kind in ("worksheet", "key"):
        button(page, kind).click()
        sheet = page.locator(".dpviz-sheet")
        sheet.wait_for()
        assert sheet.locator("li").count() == 1 + len(explainer.scenarios) + len(explainer.breaches)
        assert sheet.locator(".dpviz-item-answer").count() == (
            0 if kind == "worksheet" else sheet.locator("li").count()
        )
        button(page, "close").click()
        expect(button(page, kind)).to_be_focused()


@pytest.mark.parametrize("name", ["composition"])
def test_a_lecture_keeps_story_sentence_and_figure_together(visit, name):
    page = visit.open(name, "?teach=1")
    page.emulate_media(reduced_motion="reduce")
    for _ in range(3):
        page.keyboard.press("PageDown")
        visit.settle()
    bar = page.locator(".dpviz-teach").bounding_box()
    assert bar["y"] == pytest.approx(0, abs=1)
    for part in (".dpviz-story", ".dpviz-plain", ".dpviz-strip"):
        bounds = page.locator(part).bounding_box()
        assert bar["height"] <= bounds["y"], part
        assert bounds["y"] + bounds["height"] <= page.viewport_size["height"], part
    plot = page.locator(".dpviz-plot").first.bounding_box()
    assert plot["y"] + plot["height"] / 2 <= page.viewport_size["height"]


@pytest.mark.parametrize("name", ["averaging", "tradeoff"])
def test_a_lecture_locks_a_guess_and_keeps_the_answer_back(visit, name):
    page = visit.open(name, "?teach=1")
    question = page.locator(".dpviz-question")
    explainer = PAGES[name]()
    guess(page, explainer.prediction)
    button(page, "lock").press("Enter")
    button(page, "ask_again").wait_for()
    visit.settle()
    plots = page.locator(".dpviz-figures")
    assert question.locator("input").first.is_disabled()
    assert page.locator(".dpviz-answer-line").text_content() == ""
    assert TEXT("overlay.answer_label") not in plots.text_content()
    page.keyboard.press("PageDown")
    line = page.locator(".dpviz-answer-line")
    line.filter(has_text=re.compile(r"\w")).wait_for()
    visit.settle()
    assert TEXT("overlay.answer_label") in plots.text_content()
    said = line.inner_text()
    page.keyboard.press("PageDown")
    visit.settle()
    page.keyboard.press("PageUp")
    line.filter(has_text=re.compile(r"\w")).wait_for()
    visit.settle()
    assert line.inner_text() == said, "the guess stays"
    page.keyboard.press("PageUp")
    visit.settle()
    assert TEXT("overlay.answer_label") not in plots.text_content()
    assert question.locator("input").first.is_disabled()


@pytest.mark.parametrize("name", ["averaging", "tradeoff"])
def test_a_page_prints_with_its_state_figure_and_sentence(visit, name):
    page = visit.open(name)
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_timeout(400)
    assert page.locator(".dpviz-plain").is_visible()
    assert page.locator(".dpviz-strip").is_visible()
    assert page.locator(".dpviz-plot .main-svg").first.is_visible()
    for hidden in (".dpviz-buttons", ".dpviz-tools", ".page-header"):
        assert not any(one.is_visible() for one in page.locator(hidden).all()), hidden
    color = page.locator(".dpviz-plain").evaluate("n => getComputedStyle(n).color")
    assert max(map(int, re.findall(r"\d+", color)[:3])) < 100, "dark ink on paper, whatever the theme"
    state = page.locator(".dpviz-panel").inner_text()
    for one in PAGES[name]().controls().values():
        assert one.default in state or isinstance(one, Choice)


def test_the_sentence_is_spoken_once_it_has_settled(visit):
    page = visit.open("laplace")
    page.wait_for_timeout(900)
    page.evaluate(
        "() => { window.spoken = []; new MutationObserver(() => window.spoken.push(performance.now()))"
        ".observe(document.querySelector('.dpviz-spoken'), {childList: true, characterData: true, subtree: true}); }"
    )
    slider = control(page, "epsilon").get_by_role("slider")
    for _ in range(40):
        slider.press("ArrowRight")
        page.wait_for_timeout(40)
    page.wait_for_timeout(1000)
    spoken = page.evaluate("() => window.spoken")
    assert spoken
    assert all(later - earlier > 500 for earlier, later in pairwise(spoken))
    assert page.locator(".dpviz-plain").inner_text() in page.locator(".dpviz-spoken").text_content()
    assert page.locator(".dpviz-spoken").get_attribute("role") == "status"


def test_nothing_moves_for_those_who_want_less_motion(visit):
    visit.page.emulate_media(reduced_motion="reduce")
    page = visit.open("composition")
    choose(page, next(iter(PAGES["composition"].scenarios)))
    assert page.evaluate("() => document.getAnimations().length") == 0


def test_a_locked_page_takes_no_setting(visit):
    page = visit.open("composition", "?lock=1&k=10")
    visit.settle()
    for one in page.locator(".dpviz-controls input").all():
        assert one.is_disabled()
    for free in ("copy_link", "receipt", "print", "embed"):
        assert button(page, free).is_enabled(), free
    for one in page.locator(":is(.dpviz-lead, .dpviz-panel, .dpviz-breaches) :is(button, input, select)").all():
        assert one.is_disabled()
    assert page.locator(".dpviz-tools button").first.is_enabled()


@pytest.mark.parametrize("name", ["averaging", "profile"])
def test_the_assumptions_stand_beside_the_figures(visit, phone, name):
    page = visit.open(name)
    page.evaluate("() => document.querySelector('.dpviz').scrollIntoView()")
    strip = page.locator(".dpviz-strip").bounding_box()
    assert strip["y"] + strip["height"] <= page.viewport_size["height"]
    page = phone.open(name)
    panel = page.locator(".dpviz-panel").bounding_box()
    assert panel["height"] <= 0.45 * page.viewport_size["height"] + 1
    assert page.locator(".dpviz-strip").is_visible()
