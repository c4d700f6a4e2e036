"""What is answered: the gallery's address, pages, static files. Anything else is not found."""

import email.utils
from html import escape
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from dpviz.server.assets import PACKED, TEMPLATES, Assets, packed, plain
from dpviz.server.languages import Language, language_of, page_address, preferred_language
from dpviz.server.pages import Page, Pages, RoomFullError

_RULES = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' blob:",  # blob: the widgets' modules, which come from the kernel
        "style-src 'self' 'unsafe-inline'",  # the front end adds style elements; they can run nothing
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
POLICY = f"{_RULES}; frame-ancestors 'self'"
OPEN_POLICY = f"{_RULES}; frame-ancestors *"
"""The policy of a page that was asked for with ``embed=1``: any site may frame it.

That is safe here. A frame is dangerous where a click in it does something in its reader's name: there is no log-in, no
cookie and nothing that a page could change but its own picture. Everybody who frames a page could open it just as well.
"""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
TOLD = frozenset({403, 404, 405, 503})
"""The errors that have a name and a sentence of their own."""

RETRY_AFTER = 60
FOREVER = "public, max-age=31536000, immutable"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".eot": "application/vnd.ms-fontobject",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
_MESSAGE = (TEMPLATES / "message.html").read_text(encoding="utf-8")


class PlainErrors(RequestHandler):
    """Sets the safe headers, and tells an error in one sentence."""

    def set_default_headers(self) -> None:
        """Set what every answer carries, and take the server's name away."""
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def write_error(self, status_code: int, **_: Any) -> None:
        """Write the page of an error: its number, its name, a sentence."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        if status_code == 503:
            self.set_header("Retry-After", str(RETRY_AFTER))
        language, home = self._language_and_home()
        kind = status_code if status_code in TOLD else "other"
        theme = _first(self, "theme")
        words = {
            "code": str(status_code),
            "lang": language.code,
            "name": language.text(f"server.error.{kind}.name"),
            "sentence": language.text(f"server.error.{kind}.sentence"),
            "to_gallery": language.text("server.error.home"),
            "home": home,
        }
        attribute = f' data-theme="{theme}"' if theme in ("light", "dark") else ""
        self.finish(_MESSAGE.format(theme=attribute, **{part: escape(word) for part, word in words.items()}))

    def _language_and_home(self) -> tuple[Language, str]:
        """Return the language of the address's folder, else the one the browser asks for, and its gallery."""
        base_url, served = self.settings.get("base_url", "/"), self.settings.get("served_languages", ())
        language = language_of(self.request.path.removeprefix(page_address("", base_url)))
        if language.folder:
            return language, page_address(language.index, base_url) if language in served else base_url
        return preferred_language(self.request.headers.get("Accept-Language", ""), served), base_url


def _first(handler: RequestHandler, word: str) -> str:
    """Return the first value that the address gives a word, as the page's script reads it; "" if there is none."""
    return handler.request.query_arguments.get(word, [b""])[0].decode("utf-8", "replace")


class NotFound(PlainErrors):
    """Answers every address that is not on the list."""

    def prepare(self) -> None:
        """Say that nothing is here, whatever was asked."""
        raise HTTPError(404)


class HomeHandler(PlainErrors):
    """Leads from the gallery's address to its page in the browser's language; the settings go with it."""

    def get(self) -> None:
        """Redirect to the index."""
        query = f"?{self.request.query}" if self.request.query else ""
        wanted = self.request.headers.get("Accept-Language", "")
        language = preferred_language(wanted, self.settings["served_languages"])
        self.set_header("Cache-Control", "no-store")
        self.set_header("Vary", "Accept-Language")
        self.redirect(f"{page_address(language.index, self.settings['base_url'])}{query}")

    head = get


class PageHandler(PlainErrors):
    """Shows a notebook as a page with a kernel of its own, if there is room."""

    def initialize(self, pages: Pages, notebooks: frozenset[str]) -> None:
        """Take the open pages and the names of the notebooks."""
        self.pages = pages
        self.notebooks = notebooks
        self.page: Page | None = None

    def set_default_headers(self) -> None:
        """Set the safe headers; a page that was asked for as embedded may stand in any frame."""
        super().set_default_headers()
        if _first(self, "embed") == "1":
            self.set_header("Content-Security-Policy", OPEN_POLICY)

    async def get(self, name: str) -> None:
        """Send the page as it is being written, so that its first words show at once."""
        if name not in self.notebooks:
            raise HTTPError(404)
        try:
            self.page = self.pages.enter(name)
        except RoomFullError:
            raise HTTPError(503) from None
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        try:
            async for text in self.page.follow():
                self.write(text)
                await self.flush()
        except StreamClosedError:
            self.on_connection_close()

    def on_connection_close(self) -> None:
        """End the page of a reader who left before it was all sent."""
        if self.page:
            self.pages.end(self.page.kernel_id)


class StaticHandler(PlainErrors):
    """Sends a static file by its name in the list; a browser keeps it until the list's tag changes."""

    def initialize(self, assets: Assets) -> None:
        """Take the list."""
        self.assets = assets

    def get(self, tag: str, name: str) -> None:
        """Send the file, gzipped where that helps and the browser takes it."""
        path = self.assets.files.get(name)
        if path is None or tag != self.assets.tag:
            raise HTTPError(404)
        self.set_header("Content-Type", TYPES[path.suffix])
        self.set_header("Cache-Control", FOREVER)
        self.set_header("Vary", "Accept-Encoding")
        self.set_header("Last-Modified", email.utils.formatdate(path.stat().st_mtime, usegmt=True))
        if path.suffix in PACKED and "gzip" in self.request.headers.get("Accept-Encoding", ""):
            self.set_header("Content-Encoding", "gzip")
            self.finish(packed(path))
        else:
            self.finish(plain(path))

    head = get
