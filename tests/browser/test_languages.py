"""Each page in each language: words, widths, themes, and WCAG by axe-core, in one visit a page."""

import re
from pathlib import Path

import pytest

from dpviz.explainers import find_explainers
from dpviz.locale import catalogue, languages
from tests.browser.test_pages import control

AXE = Path(__file__).parent / "axe" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
FOLDERS = {"en": "", "zh-Hans": "zh/", "ja": "ja/"}
PAGES = ["index", *sorted(find_explainers())]
OWN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
ENGLISH = re.compile(r"[A-Za-z]{2,} [a-z]{3,}|\b[a-z]{5,}\b")
WORDS = """() => {
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const skipped = "em, i, code, script, style, noscript, mjx-container, .MathJax, [lang='en'], .dpviz-source";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest(skipped) && node.textContent.trim()) seen.add(node.textContent.trim());
  }
  for (const node of document.querySelectorAll("[aria-label], [title], [placeholder], [aria-valuetext]")) {
    if (node.closest(skipped)) continue;
    for (const name of ["aria-label", "title", "placeholder", "aria-valuetext"]) {
      if (node.getAttribute(name)) seen.add(node.getAttribute(name));
    }
  }
  return [...seen];
}"""


def open_page(visit, language, name, query=""):
    if name == "index":
        visit.page.goto(f"{visit.url}voila/render/{FOLDERS[language]}index.ipynb{query}")
        visit.page.locator(".dpviz-card").first.wait_for()
        visit.page.wait_for_function("() => document.documentElement.dataset.page === 'ready'")
    else:
        visit.open(f"{FOLDERS[language]}{name}", query)
    return visit.page


def violations(page):
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(f"() => axe.run(document, {{runOnly: {RULES!r}, resultTypes: ['violations']}})")
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", PAGES)
def test_a_page_in_its_language(visit, name, language):
    page = open_page(visit, language, name)
    assert page.locator("html").get_attribute("lang") == language
    assert page.locator("h1").count() == 1
    assert page.locator(".page-fault").count() == 0
    assert "Traceback" not in page.content()
    assert "from dpviz" not in page.content(), "sources are stripped"
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)), "no id stands twice"
    for opener in page.locator(".dpviz-tools button[aria-expanded]").all():
        opener.click()
    for details in page.locator("main details").all():
        details.evaluate("n => { n.open = true; }")

    if language != "en":
        said = [text for text in page.evaluate(WORDS) if text != "dpviz" and not text.startswith("http")]
        assert [text for text in said if ENGLISH.search(text) and not OWN.search(text)] == []

    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(150)
        if scheme == "light" or language == "en":  # the dark colours are the same in each language
            assert violations(page) == [], scheme
        paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 384) == (scheme == "light")

    for width, height in ((320, 640), (390, 844), (640, 400), (768, 1024), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(250)
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} px at {width}"


@pytest.mark.parametrize("language", ["ja", "zh-Hans"])
def test_the_table_of_a_figure_and_its_csv_speak_the_language(visit, language):
    page = open_page(visit, language, "composition")
    text = catalogue(language)
    figure = page.locator(".dpviz-figure").first
    figure.get_by_role("button", name=text("figure.table"), exact=True).click()
    assert text("composition.exact_name") in figure.locator(".dpviz-table").inner_text()
    assert figure.locator(".dpviz-table tbody tr").count() <= 25
    with page.expect_download() as download:
        figure.get_by_role("button", name=text("figure.csv"), exact=True).click()
    saved = download.value.path().read_text(encoding="utf-8")
    assert text("composition.exact_name") in saved
    assert text("composition.source") in saved


@pytest.mark.parametrize("language", [code for code in languages() if code != "en"])
def test_switching_the_language_keeps_the_state(visit, language):
    page = open_page(visit, "en", "composition", "?theme=dark")
    box = control(page, "count").locator(".dpviz-box")
    box.fill("1000")
    box.press("Enter")
    visit.settle()
    page.get_by_role("button", name=catalogue("en")("panel.pin"), exact=True).click()
    visit.settle()
    page.wait_for_function("() => location.search.includes('pin=')")
    numbers = re.findall(r"\d[\d.,]*\d", page.locator(".dpviz-technical").inner_text())
    page.locator(f"a[hreflang='{language}']").first.click()
    page.wait_for_url(f"**/{FOLDERS[language]}composition.ipynb?**")
    visit.wait_drawn()
    visit.settle()
    assert page.locator("html").get_attribute("lang") == language
    assert control(page, "count").locator(".dpviz-box").input_value() == "1000"
    assert "pin=k:1000" in page.url
    assert "theme=dark" in page.url
    assert re.findall(r"\d[\d.,]*\d", page.locator(".dpviz-technical").inner_text()) == numbers
    page.locator("a[hreflang='en']").first.click()
    visit.wait_drawn()
    visit.settle()
    assert control(page, "count").locator(".dpviz-box").input_value() == "1000"


@pytest.mark.parametrize("language", ["ja", "zh-Hans"])
def test_errors_speak_the_language(visit, language):
    page = open_page(visit, language, "composition", "?nonsense=1")
    text = catalogue(language)
    known = ", ".join(one.key for one in find_explainers()["composition"]().controls().values())
    page.get_by_text(text("input.unknown_key", key="nonsense", known=known)).wait_for()
    box = control(page, "sigma").locator(".dpviz-box")
    box.fill("abc")
    box.press("Enter")
    symbol = text("control.sigma.symbol")
    control(page, "sigma").get_by_text(text("input.not_a_number", given="abc", symbol=symbol)).wait_for()


def test_a_reader_is_led_to_the_gallery_in_their_language(browser, gallery):
    from tests.browser.conftest import Visit

    for locale, language in (("ja-JP", "ja"), ("zh-CN", "zh-Hans"), ("de-DE", "en")):
        tab = Visit(browser, gallery, locale=locale)
        tab.page.goto(gallery)
        assert tab.page.locator("html").get_attribute("lang") == language
        tab.context.close()
