"""Every page, in a real browser, through Voilà."""

import csv
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from dpviz.accounting.curves.composition import ReleaseHistory, composition_curves
from dpviz.explainers import find_explainers
from dpviz.locale import catalogue
from dpviz.locale.numbers import given, rounded

PAGES = sorted(find_explainers())
SLIDERS = ".dpviz-controls [type=range]"


def control(page, key):
    return page.locator(f".dpviz-control[data-control='{key}']")


def plain(page):
    return page.locator(".dpviz-plain").inner_text()


def saved(page, figure, kind):
    """Press a button under a figure; return the name and the content of the file that it saves."""
    with page.expect_download() as download:
        page.locator(".dpviz-figure").nth(figure).get_by_role("button", name=kind, exact=True).click()
    return download.value.suggested_filename, download.value.path().read_bytes()


@pytest.mark.parametrize("name", PAGES)
def test_a_keyboard_step_on_each_slider_moves_the_plot(visit, name):
    page = visit.open(name)
    sliders = page.locator(SLIDERS)
    assert sliders.count() == sum(hasattr(c, "stops") for c in find_explainers()[name]().controls().values())
    for index in range(sliders.count()):
        before = visit.picture()
        text = sliders.nth(index).get_attribute("aria-valuetext")
        sliders.nth(index).press("ArrowRight")
        page.wait_for_function(
            "n => document.querySelectorAll('.dpviz-controls [type=range]')[n.index].getAttribute('aria-valuetext') !== n.text",
            arg={"index": index, "text": text},
        )
        visit.settle()
        assert visit.picture() != before, f"slider {index} moves nothing"


@pytest.mark.parametrize("name", ["composition", "laplace", "tradeoff"])
def test_the_live_picture_equals_that_of_a_fresh_page(visit, name):
    page = visit.open(name)
    for index in range(page.locator(SLIDERS).count()):
        for _ in range(3):
            page.locator(SLIDERS).nth(index).press("ArrowLeft")
    visit.settle()
    page.wait_for_function("() => location.search.length > 1")
    page.wait_for_timeout(500)
    moved, address = visit.picture(), page.url
    page.goto(address)
    visit.wait_drawn()
    visit.settle()
    assert visit.picture() == moved


def test_typed_values_take_effect(visit):
    page = visit.open("composition")
    for typed, shown in (("1e-9", "1e-9"), ("10^-3", "0.001"), ("１e-6", "1e-6")):
        box = control(page, "delta").locator(".dpviz-box")
        box.fill(typed)
        box.press("Enter")
        expect(box).to_have_value(shown)
        visit.settle()
        delta = float(shown)
        exact = composition_curves(ReleaseHistory(100, 16.0, 1.0, delta)).ladder["exact"]
        assert f"exact ε = {rounded(exact, 7)}" in page.locator(".dpviz-technical").inner_text()


def test_a_bad_value_shows_its_sentence_and_the_picture_stays(visit):
    page = visit.open("composition")
    before = visit.picture()
    box = control(page, "sigma").locator(".dpviz-box")
    error = control(page, "sigma").locator(".dpviz-error")
    for typed in ("-1", "abc", "", "1,5", "nan", "1e999", "0"):
        box.fill(typed)
        box.press("Enter")
        error.filter(has_text=f"“{typed}”").wait_for()
        assert box.get_attribute("aria-invalid") == "true"
        assert visit.picture() == before
    box.fill("8")
    box.press("Enter")
    visit.settle()
    assert error.inner_text() == ""
    assert visit.picture() != before


def test_a_link_restores_the_state(visit):
    page = visit.open("composition", "?k=1000&sigma=8&delta=1e-6")
    visit.settle()
    assert "28.59073" in page.locator(".dpviz-technical").inner_text()
    assert "25.94773" in page.locator(".dpviz-technical").inner_text()
    assert control(page, "count").locator(".dpviz-box").input_value() == "1000"
    assert page.locator(".dpviz-notes").inner_text() == ""


def test_two_visitors_with_different_links_do_not_mix(visit, browser, gallery):
    from tests.browser.conftest import Visit

    other = Visit(browser, gallery)
    first = visit.open("composition", "?k=7")
    second = other.open("composition", "?k=70")
    for tab, page, value in ((visit, first, "7"), (other, second, "70")):
        tab.settle()
        assert control(page, "count").locator(".dpviz-box").input_value() == value
    other.context.close()


@pytest.mark.parametrize(
    "query",
    [
        "?sigma=<script>alert(1)</script>&pin=<img>&breach=%3Cb%3E",
        "?k=" + "9" * 3000,
        "?%00=%ff&&=",
        "?k=1&k=2&k=x",
    ],
)
def test_a_hostile_address_gives_the_page_and_a_note(visit, query):
    page = visit.open("composition", query)
    page.locator(".dpviz-notes p").first.wait_for()
    assert page.locator(".dpviz-notes script").count() == 0
    assert re.search(r"\d", plain(page))
    assert page.locator(".dpviz-fault").inner_text() == ""


def test_the_address_follows_the_controls(visit):
    page = visit.open("composition")
    box = control(page, "count").locator(".dpviz-box")
    box.fill("1000")
    box.press("Enter")
    page.wait_for_function("() => location.search.includes('k=1000')")
    assert "sigma=16" in page.url


def test_undo_and_reset(visit):
    page = visit.open("composition")
    undo, reset = (page.get_by_role("button", name=word, exact=True) for word in ("Undo", "Reset"))
    fresh = visit.picture()
    assert undo.is_disabled()
    slider = control(page, "sigma").get_by_role("slider")
    for _ in range(4):
        slider.press("ArrowRight")
    visit.settle()
    moved = visit.picture()
    reset.click()
    visit.settle()
    assert visit.picture() == fresh
    undo.click()
    visit.settle()
    assert visit.picture() == moved
    undo.click()
    visit.settle()
    assert visit.picture() == fresh, "four quick steps are one gesture"


def test_a_fast_drag_rests_at_the_last_value(visit):
    page = visit.open("composition")
    slider = control(page, "sigma").get_by_role("slider")
    bounds = slider.bounding_box()
    y = bounds["y"] + bounds["height"] / 2
    page.mouse.move(bounds["x"] + bounds["width"] * 0.55, y)
    page.mouse.down()
    for step in range(100):
        page.mouse.move(bounds["x"] + bounds["width"] * (0.55 - 0.5 * abs(50 - step) / 100), y)
    page.mouse.up()
    visit.settle()
    sigma = float(control(page, "sigma").locator(".dpviz-box").input_value())
    exact = composition_curves(ReleaseHistory(100, sigma, 1.0, 1e-6)).ladder["exact"]
    assert f"exact ε = {rounded(exact, 7)}" in page.locator(".dpviz-technical").inner_text()
    page.get_by_role("button", name="Undo", exact=True).click()
    visit.settle()
    assert control(page, "sigma").locator(".dpviz-box").input_value() == "16", "a drag is one gesture"


def test_the_threshold_can_be_dragged_in_the_figure(visit):
    page = visit.open("tradeoff")
    plot = page.locator(".dpviz-plot").first.bounding_box()
    y = plot["y"] + plot["height"] / 2
    before = control(page, "threshold").locator(".dpviz-box").input_value()
    page.mouse.move(plot["x"] + plot["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] * 0.7, y, steps=10)
    page.mouse.up()
    visit.settle()
    after = control(page, "threshold").locator(".dpviz-box").input_value()
    assert float(after) > float(before)
    assert f"t = {given(float(after))}" in page.locator(".dpviz-technical").inner_text()


def test_the_readers_zoom_stays_while_values_move(visit):
    page = visit.open("composition")
    plot = page.locator(".dpviz-plot").first
    bounds = plot.bounding_box()
    page.mouse.move(bounds["x"] + 200, bounds["y"] + 80)
    page.mouse.down()
    page.mouse.move(bounds["x"] + 400, bounds["y"] + 200, steps=5)
    page.mouse.up()
    ranges = "n => [n._fullLayout.xaxis.range, n._fullLayout.yaxis.range].flat()"
    zoomed = plot.evaluate(ranges)
    assert zoomed[0] > 0.1
    control(page, "sigma").get_by_role("slider").press("ArrowRight")
    visit.settle()
    assert plot.evaluate(ranges) == zoomed


def test_the_readers_hover_stays_while_values_move(visit):
    page = visit.open("composition")
    control(page, "sigma").get_by_role("slider").focus()
    bounds = page.locator(".dpviz-plot").first.bounding_box()
    exact = page.locator(".dpviz-plot").first.evaluate(
        "n => { const f = n._fullLayout, t = n.data.find(d => d.name === 'exact ε');"
        " const i = 60; return [f.xaxis._offset + f.xaxis.d2p(t.x[i]), f.yaxis._offset + f.yaxis.d2p(t.y[i])]; }"
    )
    page.mouse.move(bounds["x"] + exact[0], bounds["y"] + exact[1])
    label = page.locator(".dpviz-plot").first.locator(".hoverlayer .hovertext")
    label.first.wait_for()
    page.keyboard.press("ArrowRight")
    visit.settle()
    assert label.count() > 0


@pytest.mark.parametrize("name", ["averaging", "composition", "tradeoff"])
def test_controls_and_sentence_stay_in_view_while_figures_move(visit, phone, name):
    for tab in (visit, phone):
        page = tab.open(name)
        page.locator(".dpviz-figure").last.scroll_into_view_if_needed()
        page.evaluate("() => document.querySelector('.dpviz-figures').lastElementChild.scrollIntoView({block: 'end'})")
        page.wait_for_timeout(200)
        height = page.viewport_size["height"]
        for part in (".dpviz-plain", ".dpviz-controls .dpviz-slider >> nth=0"):
            bounds = page.locator(part).bounding_box()
            assert bounds["y"] >= 0, part
            assert bounds["y"] + bounds["height"] <= height, part


def test_a_finger_drags_a_slider_and_not_the_page(phone):
    page = phone.open("composition")
    session = page.context.new_cdp_session(page)
    slider, box = control(page, "sigma").get_by_role("slider"), control(page, "sigma").locator(".dpviz-box")
    slider.scroll_into_view_if_needed()
    bounds = slider.bounding_box()
    y = bounds["y"] + bounds["height"] / 2
    start = bounds["x"] + 10 + slider.evaluate("n => n.value / n.max") * (bounds["width"] - 20)
    before, scrolled = float(box.input_value()), page.evaluate("() => scrollY")

    def touch(kind, *points):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x in points]})

    touch("touchStart", start)
    for step in range(1, 11):
        touch("touchMove", start - 4 * step)
    touch("touchEnd")
    phone.settle()
    assert float(box.input_value()) < before
    assert page.evaluate("() => scrollY") == scrolled


def test_figures_follow_the_window(visit):
    page = visit.open("composition")
    for width in (1280, 400, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(400)
        for plot in page.locator(".dpviz-plot").all():
            assert plot.evaluate("n => Math.abs(n.querySelector('svg').clientWidth - n.clientWidth)") <= 1


def test_csv_holds_what_is_drawn_and_says_what_it_assumes(visit):
    page = visit.open("composition", "?k=10&sigma=8&delta=1e-6")
    visit.settle()
    name, content = saved(page, 0, "CSV")
    assert name == "dpviz_composition_history_k10_sigma8_sensitivity1_delta1e-6.csv"
    lines = content.decode("utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    assert any("Assumes" in line for line in head)
    assert any("dpviz 0." in line for line in head)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    exact = {
        int(row["number of fresh releases, k"]): row["ε at this δ (nats)"] for row in rows if row["curve"] == "exact ε"
    }
    assert len(exact) > 100
    assert float(exact[10]) == pytest.approx(1.7429643619801375, rel=1e-12)


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_has_a_table_of_at_most_25_rows_and_cards(visit, name):
    page = visit.open(name)
    text = catalogue("en")
    for figure in page.locator(".dpviz-figure").all():
        figure.get_by_role("button", name="Table", exact=True).click()
        assert 2 <= figure.locator("tbody tr").count() <= 25
        assert figure.locator("th").first.inner_text() != ""
        opener = figure.get_by_role("button", name=text("figure.cards"), exact=True)
        opener.press("Enter")
        assert opener.get_attribute("aria-expanded") == "true"
        for part in ("theorem", "status", "assumes", "fails", "source"):
            assert text(f"card.part.{part}") in figure.locator(".dpviz-cards").inner_text()


def test_table_is_the_twin_of_the_figure(visit):
    page = visit.open("composition")
    figure = page.locator(".dpviz-figure").first
    button = figure.get_by_role("button", name="Table", exact=True)
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    rows = figure.locator("tbody tr")
    assert 20 <= rows.count() <= 25
    first = rows.first.inner_text()
    control(page, "sigma").get_by_role("slider").press("ArrowLeft")
    visit.settle()
    assert rows.first.inner_text() != first
    button.click()
    assert rows.count() == 0 or not rows.first.is_visible()


@pytest.mark.parametrize("name", ["composition", "profile", "tradeoff"])
def test_images_of_every_figure_can_be_saved(visit, name):
    page = visit.open(name)
    for index in range(page.locator(".dpviz-figure").count()):
        title = page.locator(".dpviz-title").nth(index).inner_text()
        file, content = saved(page, index, "SVG")
        assert file.startswith(f"dpviz_{name}_")
        assert content.startswith(b"<svg")
        assert title.split()[0].encode() in content
        assert b"Assumes" in content
    _, content = saved(page, 0, "PNG")
    assert content.startswith(b"\x89PNG")


def test_a_slow_plotting_script_is_waited_for(visit):
    def slowly(route):
        visit.page.wait_for_timeout(2500)
        route.continue_()

    visit.page.route("**/plotly-basic*", slowly)
    page = visit.open("laplace")
    assert page.locator(".dpviz-plot svg").count() > 0


def test_back_gives_a_living_page(visit):
    page = visit.open("laplace")
    page.goto("about:blank")
    page.go_back()
    visit.wait_drawn()
    before = visit.picture()
    page.locator(SLIDERS).first.press("ArrowRight")
    visit.settle()
    assert visit.picture() != before


def test_a_drag_leaves_the_nodes_in_place(visit):
    """Clearing and refilling flickers; here the same nodes are moved."""
    page = visit.open("averaging")
    page.evaluate(
        "() => { window.kept = [...document.querySelectorAll('.dpviz-plot, .dpviz-plot > *, .dpviz-label')];"
        " window.flat = 0; new ResizeObserver(es => es.forEach(e => { if (e.contentRect.height === 0) window.flat += 1; }))"
        ".observe(document.querySelector('.dpviz-plot')); }"
    )
    for _ in range(10):
        page.locator(SLIDERS).first.press("ArrowRight")
    visit.settle()
    assert page.evaluate("() => window.kept.every(n => n.isConnected)")
    assert page.evaluate("() => window.flat") == 0


def test_memory_stays_flat_over_many_moves(visit):
    page = visit.open("averaging")
    session = visit.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    slider = page.locator(SLIDERS).first

    def used(moves):
        for step in range(moves):
            slider.press("ArrowRight" if step % 2 else "ArrowLeft")
        visit.settle()
        session.send("HeapProfiler.collectGarbage")
        return page.evaluate("() => performance.memory.usedJSHeapSize")

    before = used(20)
    assert used(300) - before < 20_000_000


def test_the_gallery_shows_a_card_with_a_picture_for_every_page(visit):
    page = visit.page
    page.goto(visit.url)
    page.locator(".dpviz-card").first.wait_for()
    assert page.locator(".dpviz-card").count() == len(PAGES)
    for card in page.locator(".dpviz-card").all():
        assert card.locator("svg :is(polyline, circle, polygon)").count() >= 3
        assert re.search(r"\d", card.locator(".dpviz-caption").inner_text())
    page.locator(".dpviz-card").first.click()
    visit.wait_drawn()


def test_numbers_in_the_plot_are_those_of_the_core(visit):
    """The drawn points, read back from the browser, are the core's values to the last bit."""
    page = visit.open("composition", "?k=1000&sigma=8")
    visit.settle()
    drawn = page.locator(".dpviz-plot").first.evaluate("n => [...n.data.find(d => d.name === 'exact ε').y]")
    core = composition_curves(ReleaseHistory(1000, 8.0, 1.0, 1e-6)).exact
    assert np.array_equal(np.array(drawn, dtype=float), np.where(core > 0, core, np.nan), equal_nan=True)


@pytest.mark.parametrize("name", ["composition", "laplace", "averaging", "tradeoff"])
def test_no_control_is_cut_off_on_a_phone(phone, name):
    page = phone.open(name)
    ends = page.evaluate(
        "() => [...document.querySelectorAll('.dpviz-panel input, .dpviz-panel button, .dpviz-panel label')].map((part) =>"
        " part.getBoundingClientRect().right - part.closest('.dpviz-panel').getBoundingClientRect().right)"
    )
    assert max(ends) <= 0
