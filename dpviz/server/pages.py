"""The pages that are open: who may come in, which are kept warm, and when each one ends."""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from html import escape
from pathlib import PurePosixPath
from typing import Any

from dpviz.server.kernels import PageKernels
from dpviz.server.languages import language_of

log = logging.getLogger("dpviz.server")

GRACE = 20.0
"""Seconds alone after which a page gives its place to a new reader, if all places are taken."""

PAUSE = 0.5
"""Seconds between two looks whether the warm pages may be filled up without slowing a reader."""


class RoomFullError(Exception):
    """All places are taken."""


class Page:
    """A notebook as it is being written into a page, by a kernel of its own."""

    def __init__(self, notebook: str) -> None:
        self.notebook = notebook
        self.kernel_id = str(uuid.uuid4())
        self.started: asyncio.Task[Any]  # its kernel
        self.is_written = False
        self.is_failed = False
        self.opened = time.monotonic()
        self._text: list[str] = []
        self._grown = asyncio.Event()

    def write(self, text: str) -> None:
        """Add text to the page."""
        self._text.append(text)
        self._grown.set()

    def close(self) -> None:
        """Say that nothing more comes; its reader's browser is waited for from now on."""
        self.is_written = True
        self.opened = time.monotonic()
        self._grown.set()

    async def follow(self) -> AsyncIterator[str]:
        """Yield the text of the page as it grows; one reader follows one page."""
        while True:
            self._grown.clear()
            text, self._text = "".join(self._text), []
            if text:
                yield text
            elif self.is_written:
                return
            else:
                await self._grown.wait()


class Pages:
    """Every open page: the readers', at most `most`, and the warm ones that wait for a reader.

    Parameters
    ----------
    kernels : PageKernels
        Starts and ends the kernels.
    renderer : callable
        Makes what writes a page.
    most : int
        Places for readers.
    warm : int
        Pages of each notebook that is kept warm to keep ready.
    idle : float
        Seconds alone after which a reader's page ends.
    """

    def __init__(
        self, kernels: PageKernels, renderer: Callable[[Page], Any], most: int, warm: int, idle: float
    ) -> None:
        self.readers: dict[str, Page] = {}
        self._kernels = kernels
        self._renderer = renderer
        self._most = most
        self._warm = warm
        self._idle = idle
        self._waiting: dict[str, list[Page]] = {}
        self._kept_warm: list[str] = []  # the notebooks, the one that was read last at the end
        self._unable: set[str] = set()
        self._writing: set[asyncio.Task[Any]] = set()
        self._starting_or_ending: set[asyncio.Task[Any]] = set()
        self._is_closed = False
        kernels.ended = self._forget

    def enter(self, notebook: str) -> Page:
        """Give a reader a page of the notebook, a warm one if there is one.

        No other request runs between the count and the taking of the place, so no burst overshoots.

        Raises
        ------
        RoomFullError
            If every place is taken by a page that is being read.
        """
        if self._is_closed:
            raise RoomFullError
        if len(self.readers) >= self._most:
            self._end_loneliest()
        self._prefer(notebook)
        waiting = self._waiting.get(notebook)
        page = waiting.pop(0) if waiting else self._open(notebook)
        page.opened = time.monotonic()
        self.readers[page.kernel_id] = page
        return page

    def _end_loneliest(self) -> None:
        alone = {page.kernel_id: self._seconds_alone(page) for page in self.readers.values()}
        loneliest = max(alone, key=lambda kernel_id: alone[kernel_id])
        if alone[loneliest] < GRACE:
            raise RoomFullError
        self.end(loneliest)

    def _seconds_alone(self, page: Page) -> float:
        return self._kernels.seconds_alone(page.kernel_id, page.opened) if page.is_written else 0.0

    def end(self, kernel_id: str) -> None:
        """End a reader's page and its kernel, if it is still open."""
        page = self.readers.pop(kernel_id, None)
        if page:
            self._do(self._end_page(page), self._starting_or_ending)

    async def end_abandoned(self) -> None:
        """End the pages that no browser has been connected to for too long."""
        for page in list(self.readers.values()):
            if self._seconds_alone(page) > self._idle:
                self.end(page.kernel_id)

    def keep_warm(self, notebooks: list[str]) -> None:
        """Keep pages of the notebooks ready from now on, as many of each as was asked for.

        A notebook that is read later takes the place of the one that was not read for the longest time: so many
        notebooks are warm as are named here, however many there are.
        """
        self._kept_warm = list(notebooks)
        self._do(self._keep_warm(), self._writing)

    def _prefer(self, notebook: str) -> None:
        """Count a notebook as read last among those that are kept warm; the one not read for longest gives way."""
        others = [name for name in self._kept_warm if name != notebook]
        self._kept_warm = [*others, notebook][-len(self._kept_warm) :] if self._kept_warm else []

    async def _keep_warm(self) -> None:
        """Keep pages ready, one after the other, never while a reader's is written.

        A notebook whose page failed is left alone from then on: its readers are told.
        """
        while self._warm:
            self._end_unused()
            missing = [
                name
                for name in reversed(self._kept_warm)
                if name not in self._unable and len(self._waiting.get(name, ())) < self._warm
            ]
            if missing and all(page.is_written for page in self.readers.values()):
                page = self._open(missing[0])
                self._waiting.setdefault(page.notebook, []).append(page)
                while not page.is_written:
                    await asyncio.sleep(PAUSE / 10)
                if page.is_failed:
                    self._unable.add(page.notebook)
            else:
                await asyncio.sleep(PAUSE)

    def _end_unused(self) -> None:
        """End the waiting pages of notebooks that are not kept warm any more."""
        for name in self._waiting.keys() - set(self._kept_warm):
            for page in self._waiting.pop(name):
                self._do(self._end_page(page), self._starting_or_ending)

    def _open(self, notebook: str) -> Page:
        page = Page(notebook)
        start = self._kernels.start_page_kernel(page.kernel_id, str(PurePosixPath(notebook).parent))
        page.started = self._do(start, self._starting_or_ending)
        self._do(self._write(page), self._writing)
        return page

    async def _write(self, page: Page) -> None:
        """Write the page; a fault of a cell is told there by the template, any other one here."""
        kernel = asyncio.shield(page.started)
        try:
            renderer = self._renderer(page)
            await renderer.initialize()
            async for text, _ in renderer.generate_content_generator(page.kernel_id, kernel):
                page.write(text)
        except Exception:
            log.exception("The page of %s could not be written.", page.notebook)
            page.write(_fault(page.notebook))
            await self._give_up(page)
        finally:
            page.close()

    async def _give_up(self, page: Page) -> None:
        """End what a page that failed has started, and keep it from being handed out."""
        page.is_failed = True
        self._forget(page.kernel_id)
        await self._end_page(page)

    async def _end_page(self, page: Page) -> None:
        """End a page's kernel; one that is just starting is waited for, or it would be left behind."""
        await asyncio.gather(asyncio.shield(page.started), return_exceptions=True)
        await self._end_kernel(page.kernel_id)

    async def _end_kernel(self, kernel_id: str) -> None:
        if kernel_id in self._kernels:
            await self._kernels.shutdown_kernel(kernel_id, now=True)  # type: ignore[no-untyped-call]

    def _forget(self, kernel_id: str) -> None:
        """Take away the page of a kernel that has ended."""
        self.readers.pop(kernel_id, None)
        for pages in self._waiting.values():
            pages[:] = [page for page in pages if page.kernel_id != kernel_id]

    def _do(self, work: Coroutine[Any, Any, Any], group: set[asyncio.Task[Any]]) -> asyncio.Task[Any]:
        """Do some work in the background, as one of a group of tasks."""
        task = asyncio.create_task(work)
        group.add(task)
        task.add_done_callback(lambda done: self._done(done, group))
        return task

    def _done(self, task: asyncio.Task[Any], group: set[asyncio.Task[Any]]) -> None:
        group.discard(task)
        if not task.cancelled() and task.exception():
            log.error("A task of the pages failed.", exc_info=task.exception())

    async def close(self) -> None:
        """Let nobody in, stop writing, and end every kernel, those that are just starting as well."""
        self._is_closed = True
        for task in list(self._writing):
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)
        await asyncio.gather(*self._starting_or_ending, return_exceptions=True)
        for kernel_id in list(self._kernels.list_kernel_ids()):
            self._do(self._end_kernel(kernel_id), self._starting_or_ending)
        await asyncio.gather(*self._starting_or_ending, return_exceptions=True)


def _fault(notebook: str) -> str:
    """Return what a page says that could not be written."""
    sentence = language_of(notebook).text("server.page.fault")
    return f'<p class="page-fault" role="alert">{escape(sentence)}</p>'
