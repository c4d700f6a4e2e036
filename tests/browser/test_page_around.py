"""How a page stands in its frame: theme, language, room, embedding, paper; and faults of other servers in a browser."""

import http.server
import threading
from urllib.parse import urlsplit

import pytest

LUMA = (
    "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((sum, part) => sum + Number(part), 0)"
)


def is_dark(page):
    return page.evaluate(LUMA) < 3 * 64


def test_the_theme_button_goes_round_and_keeps_the_address(visit):
    page = visit.open("composition", "?k=10&teach=1")
    visit.settle()
    before = page.url
    for name, theme in (("as the system", None), ("light", "light"), ("dark", "dark")):
        button = page.get_by_role("button", name="Theme: " + name)
        button.wait_for()
        assert page.evaluate("() => document.documentElement.dataset.theme ?? null") == theme
        assert is_dark(page) == (theme == "dark")
        assert page.url == (f"{before}&theme={theme}" if theme else before)
        button.click()
    assert page.url == before


@pytest.mark.parametrize("how", ["system", "address"])
def test_a_dark_page_stays_dark_when_all_widgets_are_there(visit, how):
    if how == "system":
        visit.page.emulate_media(color_scheme="dark")
    page = visit.open("composition", "?theme=dark" if how == "address" else "")
    visit.settle()
    assert is_dark(page)


def test_a_page_says_that_it_starts_until_it_is_there(visit):
    visit.page.goto(f"{visit.url}voila/render/tradeoff.ipynb", wait_until="commit")
    assert visit.page.locator("#page-starting").count() == 1
    visit.wait_drawn()
    assert visit.page.locator("#page-starting").is_hidden()


def test_another_site_frames_the_explainer_alone_and_only_if_asked(browser, gallery):
    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            query = self.path.partition("?")[2]
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe src="{gallery}voila/render/composition.ipynb?{query}">'.encode())

        def log_message(self, *_):
            pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    page = browser.new_page()
    try:
        page.goto(f"http://localhost:{site.server_port}/?embed=1&k=100")
        inside = page.frame_locator("iframe")
        inside.locator(".dpviz-plot svg").first.wait_for(timeout=60_000)
        for hidden in (".page-header", ".page-footer", ".page-markdown"):
            assert not inside.locator(hidden).first.is_visible()
        page.goto(f"http://localhost:{site.server_port}/?k=100")
        assert urlsplit(gallery).netloc not in page.frames[-1].url
    finally:
        page.close()
        site.shutdown()
        site.server_close()


def test_the_first_key_leads_to_the_explainer(visit):
    page = visit.open("composition")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "page-skip"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "page-explainer"


def test_a_link_takes_theme_and_size_along(visit):
    page = visit.open("composition", "?theme=dark&teach=1")
    page.locator(".page-home").click()
    page.get_by_role("link", name="Laplace").click()
    visit.wait_drawn()
    assert "theme=dark" in page.url
    assert "teach=1" in page.url
    assert is_dark(page)


def test_a_dark_page_is_printed_black_on_white_with_its_address(visit):
    page = visit.open("composition", "?k=10&theme=dark")
    page.emulate_media(media="print")
    assert not is_dark(page)
    for hidden in (".page-header", ".page-footer", "#page-starting", "#page-lost"):
        assert not page.locator(hidden).is_visible()
    assert "k=10" in page.locator("#page-address").inner_text()
