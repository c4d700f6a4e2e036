"""What is answered: the gallery's address, pages, static files. Anything else is not found."""

import email.utils
from http.client import responses
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from dpviz.server.assets import PACKED, TEMPLATES, Assets, packed, plain
from dpviz.server.pages import Page, Pages, RoomFullError

POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' blob:",  # blob: the widgets' modules, which come from the kernel
        "style-src 'self' 'unsafe-inline'",  # the front end adds style elements; they can run nothing
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
SENTENCES = {
    403: "This address is answered only to the page it belongs to.",
    404: "There is no page here.",
    405: "This page can only be looked at.",
    503: "All places are taken just now. Please try again in a minute.",
}
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
        home = str(self.settings.get("base_url", "/"))
        sentence = SENTENCES.get(status_code, "This could not be answered.")
        name = responses.get(status_code, "Error")
        self.finish(_MESSAGE.format(code=status_code, name=name, sentence=sentence, home=home))


class NotFound(PlainErrors):
    """Answers every address that is not on the list."""

    def prepare(self) -> None:
        """Say that nothing is here, whatever was asked."""
        raise HTTPError(404)


class HomeHandler(PlainErrors):
    """Leads from the gallery's address to its page; the settings in the address go with it."""

    def get(self) -> None:
        """Redirect to the index."""
        query = f"?{self.request.query}" if self.request.query else ""
        self.set_header("Cache-Control", "no-store")
        self.redirect(f"{self.settings['base_url']}voila/render/index.ipynb{query}")

    head = get


class PageHandler(PlainErrors):
    """Shows a notebook as a page with a kernel of its own, if there is room."""

    def initialize(self, pages: Pages, notebooks: frozenset[str]) -> None:
        """Take the open pages and the names of the notebooks."""
        self.pages = pages
        self.notebooks = notebooks
        self.page: Page | None = None

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
