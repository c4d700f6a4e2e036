"""The languages of the server: found by folder, asked for by the browser, spoken on every page and in every error."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dpviz.locale import languages
from dpviz.server import languages as spoken, pages
from dpviz.server.assets import OWN_FILES
from dpviz.server.handlers import OPEN_POLICY, POLICY
from dpviz.server.languages import ENGLISH, Language, language_of, preferred_language, served_languages, surroundings
from tests.server_helpers import Server, eventually, running_server, write_notebook

CHINESE, JAPANESE = Language("zh-Hans", "zh"), Language("ja", "ja")
ALL = (ENGLISH, JAPANESE, CHINESE)
NAMES = ("a.ipynb", "index.ipynb", "ja/index.ipynb", "zh/a.ipynb", "zh/index.ipynb")


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    for name in NAMES:
        write_notebook(folder, name, f"# {name}", "1 + 1", lang=language_of(name).code)
    (folder / "zh" / "broken.ipynb").write_text("{ this is no notebook")
    write_notebook(folder, "zh/raises.ipynb", "# Raises", "raise RuntimeError")
    return folder


@pytest.fixture(scope="module")
def server(notebooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("log") / "server.txt"
    with running_server(notebooks, log, warm=0, max_kernels=30) as started:
        yield started


# ------------------------------------------------------------------------------------------- which one


def test_every_catalogue_has_a_folder_of_its_own() -> None:
    known = spoken.known_languages()
    assert {language.code for language in known} == set(languages())
    assert len({language.folder for language in known}) == len(known)
    assert known[0] == ENGLISH


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "en"),
        ("ja", "ja"),
        ("JA-jp", "ja"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("fr, ja;q=0.8, en;q=0.9", "en"),
        ("fr;q=0.9, de", "en"),
        ("en;q=0.2, ja;q=0.7", "ja"),
        ("ja;q=0, zh", "zh-Hans"),
        ("ja;q=0", "en"),
        ("*", "en"),
        ("ja;q=2, zh;q=x, zh;q=nan", "en"),
        (" ; , ;q=1,,", "en"),
        ("javanese", "en"),
    ],
)
def test_the_browser_says_which_language_it_wants(header: str, code: str) -> None:
    assert preferred_language(header, ALL).code == code


@given(st.text(max_size=200))
def test_no_header_breaks_the_choice(header: str) -> None:
    assert preferred_language(header, ALL) in ALL


def test_a_language_is_served_where_its_gallery_lies() -> None:
    assert served_languages(["index.ipynb", "a.ipynb", "ja/a.ipynb"]) == (ENGLISH,)
    assert served_languages(NAMES) == tuple(language for language in spoken.known_languages() if language in ALL)


def test_links_lead_to_the_versions_that_are_there() -> None:
    def addresses(name: str) -> dict[str, str]:
        return {version["code"]: version["address"] for version in surroundings(name, NAMES, "/p/")["versions"]}

    assert addresses("zh/a.ipynb") == {"en": "/p/voila/render/a.ipynb", "zh-Hans": "/p/voila/render/zh/a.ipynb"}
    assert addresses("index.ipynb").keys() == {"en", "ja", "zh-Hans"}
    assert addresses("elsewhere/a.ipynb") == {}


def test_home_is_the_gallery_of_the_language_or_else_the_english_one() -> None:
    assert surroundings("zh/a.ipynb", NAMES, "/")["home"] == "/voila/render/zh/index.ipynb"
    assert surroundings("zh/a.ipynb", ["index.ipynb", "zh/a.ipynb"], "/")["home"] == "/voila/render/index.ipynb"


# ------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize(
    ("header", "name"), [("ja", "ja/index.ipynb"), ("zh-TW", "zh/index.ipynb"), ("fr", "index.ipynb")]
)
def test_the_address_leads_to_the_gallery_in_the_browsers_language(server: Server, header: str, name: str) -> None:
    answer = server.ask("?theme=dark&k=1", Accept_Language=header)
    assert answer.headers["location"] == f"/voila/render/{name}?theme=dark&k=1"
    assert "Accept-Language" in answer.headers["vary"]


def links(page: str, pattern: str) -> list[dict[str, str]]:
    return [dict(re.findall(r'([a-z-]+)="([^"]*)"', tag)) for tag in re.findall(pattern, page)]


def test_a_page_names_itself_in_the_other_languages(server: Server) -> None:
    page, _ = server.open_page("zh/a.ipynb")
    assert '<html lang="zh-Hans"' in page
    inside = page[page.index("<nav") : page.index("</nav>")]
    shown = links(inside, r"<a [^>]*>")
    assert [link["href"] for link in shown] == ["/voila/render/a.ipynb", "/voila/render/zh/a.ipynb"]
    assert all(link["lang"] == link["hreflang"] for link in shown)
    assert [link["lang"] for link in shown if link.get("aria-current") == "page"] == ["zh-Hans"]
    assert re.search(r'<nav [^>]*aria-label="[^"]+"', page)
    alternates = links(page, r'<link rel="alternate"[^>]*>')
    assert {(one["hreflang"], one["href"]) for one in alternates} == {(one["hreflang"], one["href"]) for one in shown}
    assert 'class="page-home" href="/voila/render/zh/index.ipynb"' in page


def test_a_page_in_one_language_offers_no_choice(tmp_path: Path) -> None:
    write_notebook(tmp_path, "index.ipynb", "# One")
    with running_server(tmp_path, tmp_path / "log", warm=0, max_kernels=4) as server:
        page, _ = server.open_page("index.ipynb")
        assert "<nav" not in page
        assert server.ask("", Accept_Language="ja").headers["location"] == "/voila/render/index.ipynb"


def test_the_page_around_a_notebook_is_in_order(server: Server) -> None:
    """One of each landmark, no id twice, and the first thing to reach by keyboard leads to the explainer."""
    page, _ = server.open_page("a.ipynb")
    body = page[page.index("<body") :]
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(re.findall(rf"<{landmark}[ >]", body)) == 1, landmark
    found = re.findall(r'\sid="([^"]+)"', page)
    assert len(found) == len(set(found))
    first = re.search(r"<(?:a|button|input)\b[^>]*>", body)
    assert first
    assert 'class="page-skip" href="#page-explainer"' in first[0]
    assert re.search(r'class="page-cell page-code" id="page-explainer" tabindex="-1"', body)
    assert '<p id="page-starting" role="status">' in body
    for theme in ("system", "light", "dark"):
        assert spoken.catalogue("en")(f"server.page.theme_{theme}") in body


def test_faults_are_told_in_the_language_of_the_page(server: Server) -> None:
    assert CHINESE.text("server.page.fault") in server.ask("voila/render/zh/broken.ipynb").text
    assert CHINESE.text("server.page.cell_fault") in server.ask("voila/render/zh/raises.ipynb").text


@pytest.mark.parametrize(
    ("path", "header", "language", "home"),
    [
        ("voila/render/zh/none.ipynb", "ja", CHINESE, "/voila/render/zh/index.ipynb"),
        ("voila/render/none.ipynb", "ja", JAPANESE, "/"),
        ("nothing", "zh", CHINESE, "/"),
        ("nothing", "", ENGLISH, "/"),
    ],
)
def test_an_error_speaks_the_language_of_the_folder_else_the_browsers(
    server: Server, path: str, header: str, language: Language, home: str
) -> None:
    answer = server.ask(path, Accept_Language=header)
    assert answer.status == 404
    assert f'<html lang="{language.code}">' in answer.text
    assert language.text("server.error.404.sentence") in answer.text
    assert f'<a href="{home}">{language.text("server.error.home")}</a>' in answer.text


def test_an_error_has_the_theme_of_its_address(server: Server) -> None:
    assert '<html lang="en" data-theme="dark">' in server.ask("nothing?theme=dark").text
    for theme in ("", "blue", "%22onload=", "light%22"):
        assert '<html lang="en">' in server.ask(f"nothing?theme={theme}").text


# ------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize(
    ("query", "policy"),
    [
        ("?embed=1&k=100", OPEN_POLICY),
        ("?k=100&embed=1", OPEN_POLICY),
        ("", POLICY),
        ("?embed=0", POLICY),
        ("?embed", POLICY),
        ("?embed=0&embed=1", POLICY),
        ("?embed=%ff", POLICY),
        ("?teach=1", POLICY),
    ],
)
def test_only_a_page_asked_for_as_embedded_may_be_framed_by_others(server: Server, query: str, policy: str) -> None:
    assert server.ask(f"voila/render/a.ipynb{query}").headers["content-security-policy"] == policy
    assert server.ask(f"voila/render/none.ipynb{query}").headers["content-security-policy"] == policy
    assert server.ask(f"nothing{query}").headers["content-security-policy"] == POLICY


def test_the_open_policy_opens_the_frame_and_nothing_else() -> None:
    assert OPEN_POLICY.replace("frame-ancestors *", "frame-ancestors 'self'") == POLICY
    assert OPEN_POLICY.count("*") == 1


# ------------------------------------------------------------------------------------------- the look


def own(name: str) -> str:
    return next(path for path in OWN_FILES if path.name == name).read_text(encoding="utf-8")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_the_page_can_be_read_in_both_themes(theme: int) -> None:
    pairs = re.findall(r"--page-(\w[\w-]*): light-dark\((#\w{6}), (#\w{6})\);", own("page.css"))
    colour = {name: themes[theme] for name, *themes in pairs}
    for ground in ("paper", "raised"):
        for text in ("ink", "quiet", "link", "fault"):
            assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
        assert contrast(colour["border"], colour[ground]) >= 3
    assert contrast(colour["on-link"], colour["link"]) >= 4.5


def test_the_look_is_set_before_the_first_paint(server: Server) -> None:
    """The script that reads the address stands in the head and holds the parser up."""
    page, _ = server.open_page("a.ipynb")
    head = page[: page.index("</head>")]
    assert re.search(r'<script src="[^"]*/page\.js"></script>', head)
    assert "color-scheme" not in page


# ------------------------------------------------------------------------------------------- warm pages


class Kernels:
    """Stands in for the kernels where only the warm pages are counted."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.ended: Any = None

    def seconds_alone(self, kernel_id: str, opened: float) -> float:
        return 0.0

    def __contains__(self, kernel_id: str) -> bool:
        return kernel_id in self.running

    async def start_page_kernel(self, kernel_id: str, folder: str) -> None:
        self.running.add(kernel_id)

    async def shutdown_kernel(self, kernel_id: str, now: bool) -> None:
        self.running.discard(kernel_id)

    def list_kernel_ids(self) -> set[str]:
        return self.running


class Renderer:
    """Writes one word, or fails."""

    def __init__(self, page: pages.Page) -> None:
        self.page = page

    async def initialize(self) -> None:
        if "broken" in self.page.notebook:
            raise RuntimeError

    async def generate_content_generator(self, kernel_id: str, kernel: Any) -> Any:
        await kernel
        yield "word", {}


async def until(look: Any) -> None:
    for _ in range(400):
        if look():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen in time")


def play(scene: Any) -> None:
    with ThreadPoolExecutor(1) as aside:  # the browser tests have a loop in this thread
        aside.submit(asyncio.run, scene()).result()


def test_a_translated_page_is_warm_after_its_first_reader_and_no_more_are_warm_than_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "PAUSE", 0.02)

    async def scene() -> None:
        kernels = Kernels()
        opened = pages.Pages(kernels, Renderer, most=9, warm=1, idle=100)  # type: ignore[arg-type]

        def warm() -> set[str]:
            return {name for name, waiting in opened._waiting.items() if waiting}

        opened.keep_warm(["a.ipynb", "b.ipynb"])
        await until(lambda: warm() == {"a.ipynb", "b.ipynb"})
        reading = opened.enter("zh/a.ipynb")
        assert reading.kernel_id not in {page.kernel_id for pages in opened._waiting.values() for page in pages}
        await until(lambda: warm() == {"b.ipynb", "zh/a.ipynb"})
        opened.enter("b.ipynb")
        opened.enter("zh/b.ipynb")
        await until(lambda: warm() == {"b.ipynb", "zh/b.ipynb"})
        await until(lambda: len(kernels.running) == len(opened.readers) + 2)
        await opened.close()
        assert kernels.running == set()

    play(scene)


def test_nothing_is_kept_warm_where_nothing_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAUSE", 0.02)

    async def scene() -> None:
        kernels = Kernels()
        opened = pages.Pages(kernels, Renderer, most=9, warm=0, idle=100)  # type: ignore[arg-type]
        opened.keep_warm(["a.ipynb"])
        opened.enter("a.ipynb")
        await asyncio.sleep(0.1)
        assert len(kernels.running) == 1
        await opened.close()

    play(scene)


def test_a_notebook_that_fails_is_tried_once_and_the_others_stay_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAUSE", 0.02)

    async def scene() -> None:
        kernels = Kernels()
        opened = pages.Pages(kernels, Renderer, most=9, warm=1, idle=100)  # type: ignore[arg-type]
        opened.keep_warm(["a.ipynb", "broken.ipynb"])
        await until(lambda: bool(opened._waiting.get("a.ipynb")))
        await asyncio.sleep(0.2)
        assert len(kernels.running) == 1
        await opened.close()

    play(scene)


def test_only_the_top_folder_is_warm_from_the_start(notebooks: Path, tmp_path: Path) -> None:
    with running_server(notebooks, tmp_path / "log", warm=1, max_kernels=9) as server:
        eventually(lambda: server.unread_kernels() == 2)
        _, first = server.open_page("zh/a.ipynb")
        holding = server.connect(first)
        eventually(lambda: server.ask("voila/render/zh/a.ipynb").status == 200)
        eventually(lambda: server.unread_kernels() == 2)
        holding.close()
