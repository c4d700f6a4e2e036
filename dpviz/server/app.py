"""The server: Voilà's app with a short list of addresses, told by one settings object."""

import asyncio
import logging
import os
import re
import shutil
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from jupyter_server.auth.identity import IdentityProvider, User
from tornado.httpserver import HTTPServer
from tornado.ioloop import PeriodicCallback
from tornado.web import Application, RequestHandler
from traitlets.config import Config
from voila.app import Voila

from dpviz.server.assets import Assets, template_paths
from dpviz.server.channels import ChannelsHandler, PageChannels
from dpviz.server.handlers import HomeHandler, NotFound, PageHandler, StaticHandler
from dpviz.server.kernels import PageKernels, ThisPython, private_folder
from dpviz.server.languages import served_languages, surroundings
from dpviz.server.notebooks import NotebookFolder
from dpviz.server.pages import Page, Pages
from dpviz.server.renderer import PageRenderer
from dpviz.server.settings import ServerSettings

log = logging.getLogger("dpviz.server")

LARGEST_REQUEST = 64 * 1024
LARGEST_MESSAGE = 1024 * 1024
BODY_TIMEOUT = 30
IDLE_TIMEOUT = 120
"""Seconds that a connection may take over a request's body, and stay open between two requests."""

CELL_TIMEOUT = 60
"""Seconds that one cell of a page may take before the page says that it could not be computed."""


class Reader(IdentityProvider):
    """Takes everybody for the same reader: no name, no cookie, no log-in."""

    def get_user(self, handler: Any) -> User:  # noqa: ARG002
        """Return the reader."""
        return User("reader")

    def is_token_authenticated(self, handler: Any) -> bool:  # noqa: ARG002
        """Say no: there is no token, so the origin is always checked."""
        return False

    def should_check_origin(self, handler: Any) -> bool:  # noqa: ARG002
        """Say yes, always."""
        return True

    def get_handlers(self) -> list[tuple[str, object]]:
        """Add no address."""
        return []


def configuration() -> Config:
    """Return what Voilà, its kernels and its renderer are told."""
    config = Config()
    config.VoilaConfiguration.template = "dpviz"
    config.VoilaConfiguration.allow_template_override = "NO"
    config.VoilaConfiguration.allow_theme_override = "NO"
    config.VoilaConfiguration.attempt_fix_notebook = False
    config.VoilaConfiguration.show_tracebacks = False
    config.VoilaConfiguration.strip_sources = True
    config.VoilaConfiguration.multi_kernel_manager_class = PageKernels
    config.VoilaConfiguration.kernel_spec_manager_class = ThisPython
    config.VoilaExecutor.timeout = CELL_TIMEOUT
    config.VoilaExecutor.startup_timeout = CELL_TIMEOUT
    config.KernelManager.transport = "ipc" if os.name == "posix" else "tcp"
    config.KernelManager.shutdown_wait_time = 1.0
    config.KernelRestarter.restart_limit = 0  # a kernel that died has lost its page: it is not replaced
    config.PageKernels.buffer_offline_messages = False
    config.PageKernels.cull_idle_timeout = 0  # `Pages` ends them, counting from when the browser left
    return config


class Gallery(Voila):  # type: ignore[misc]
    """Serves a folder of notebooks as live pages."""

    name = "dpviz"
    settings: ServerSettings

    @classmethod
    def of(cls, settings: ServerSettings) -> "Gallery":
        """Return the server that the settings describe, not yet listening."""
        gallery: Gallery = cls.instance(config=configuration(), log_level=logging.WARNING, config_file_paths=[])
        gallery.settings = settings
        gallery.root_dir = str(settings.notebooks.resolve())
        gallery.base_url = gallery.server_url = settings.base_url
        gallery.identity_provider_class = Reader
        gallery.kernel_websocket_connection_class = PageChannels
        gallery.initialize([])
        return gallery

    def initialize(self, argv: list[str] | None = None) -> None:
        """Take the configuration as it is: no file and no variable of a user changes it."""
        super().initialize(argv)
        logging.getLogger("tornado.general").setLevel(logging.ERROR)  # not for what askers get wrong
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def setup_template_dirs(self) -> None:
        """Name the folders of templates outright, whatever Jupyter's search path is."""
        self.template_paths = template_paths()

    def run(self, sockets: list[socket.socket], announce: Callable[[str], object] | None = None) -> None:
        """Serve at the sockets until SIGINT or SIGTERM, and leave nothing behind."""
        folder = private_folder()
        self.connection_dir = str(folder)
        try:
            asyncio.run(self._serve(sockets, announce))
        finally:
            shutil.rmtree(folder)

    async def _serve(self, sockets: list[socket.socket], announce: Callable[[str], object] | None) -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        self.port = sockets[0].getsockname()[1]
        self.assets = Assets.collect()
        self.folder = NotebookFolder(self.settings.notebooks)
        self.notebooks = tuple(self.folder.names())
        self.app = Application(**{**self.init_settings(), **self._limits()})
        self.app.add_handlers(".*$", self.init_handlers())
        server = HTTPServer(
            self.app, max_body_size=LARGEST_REQUEST, body_timeout=BODY_TIMEOUT, idle_connection_timeout=IDLE_TIMEOUT
        )
        server.add_sockets(sockets)
        culling = PeriodicCallback(self.pages.end_abandoned, 1000 * self.settings.cull_interval)
        culling.start()
        packing = asyncio.create_task(asyncio.to_thread(self.assets.pack))
        self.pages.keep_warm([name for name in self.notebooks if "/" not in name])
        if announce:
            announce(self.display_address)
        if self.settings.open_browser:
            threading.Thread(target=webbrowser.open, args=(self.display_address,), daemon=True).start()
        await stop.wait()
        await packing
        culling.stop()
        server.stop()
        await self.pages.close()

    @property
    def display_address(self) -> str:
        """The gallery's address, as a browser takes it."""
        ip = self.settings.ip
        host = socket.gethostname() if ip in ("0.0.0.0", "::", "") else f"[{ip}]" if ":" in ip else ip
        return f"http://{host}:{self.port}{self.settings.base_url}"

    def init_settings(self) -> dict[str, Any]:
        """Add the pages to what Voilà sets up."""
        settings: dict[str, Any] = super().init_settings()
        self.kernel_manager.new_folder_for_ipython()
        chosen = self.settings
        self.pages = Pages(
            self.kernel_manager, self._renderer, chosen.max_kernels, chosen.warm, chosen.cull_idle_timeout
        )
        return settings

    def _limits(self) -> dict[str, Any]:
        return {
            "compress_response": True,
            "default_handler_class": NotFound,
            "log_function": _log_faults,
            "serve_traceback": False,
            "served_languages": served_languages(self.notebooks),
            "websocket_max_message_size": LARGEST_MESSAGE,
        }

    def init_handlers(self) -> list[tuple[Any, ...]]:
        """Return all addresses that are answered."""
        base = re.escape(self.settings.base_url)
        notebooks = frozenset(self.notebooks)
        pages = {"pages": self.pages}
        return [
            (base, HomeHandler),
            (f"{base}voila/render/(.*)", PageHandler, {**pages, "notebooks": notebooks}),
            (f"{base}api/kernels/([0-9a-f-]{{36}})/channels", ChannelsHandler, pages),
            (f"{base}static/([0-9a-f]+)/(.*)", StaticHandler, {"assets": self.assets}),
            (r".*", NotFound),
        ]

    def _renderer(self, page: Page) -> PageRenderer:
        """Return what writes a page."""
        return PageRenderer(
            voila_configuration=self.voila_configuration,
            traitlet_config=self.config,
            notebook_path=page.notebook,
            template_paths=self.template_paths,
            contents_manager=self.folder,
            base_url=self.settings.base_url,
            kernel_spec_manager=self.kernel_spec_manager,
            page_config={**self._page_config(), "kernelId": page.kernel_id},
            surroundings=surroundings(page.notebook, self.notebooks, self.settings.base_url),
        )

    def _page_config(self) -> dict[str, Any]:
        """Return what the front end in the browser is told."""
        static = f"{self.settings.base_url}static/{self.assets.tag}"
        return {
            "appUrl": "voila/",
            "baseUrl": self.settings.base_url,
            "extensionConfig": {},
            "federated_extensions": list(self.assets.extensions),
            "fullLabextensionsUrl": f"{static}/lab",
            "fullMathjaxUrl": None,  # both None: the formulas' typesetter that the front end brings along
            "fullStaticUrl": f"{static}/voila",
            "mathjaxConfig": None,
            "pageStaticUrl": f"{static}/page",
            "progressiveRendering": False,
            "terminalsAvailable": False,
        }


def _log_faults(handler: RequestHandler) -> None:
    """Log the requests that the server failed at; a wrong address is the asker's affair."""
    if handler.get_status() >= 500 and handler.get_status() != 503:
        log.error("%s %s: %d", handler.request.method, handler.request.path, handler.get_status())
