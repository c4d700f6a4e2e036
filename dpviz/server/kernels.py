"""The kernels: this very Python, a short list of its environment, a private folder for their sockets."""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyter_server.utils import ApiPath
from traitlets import default

log = logging.getLogger("dpviz.server")

PASSED_ON = frozenset(
    {
        *("HOME", "LANG", "LANGUAGE", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ", "USERPROFILE"),
        *("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH"),
        *("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"),
    }
)
"""Names of the server's environment that a kernel may see, besides ``LC_*``: none holds a secret."""

_LONGEST_PATH = 103  # of a socket, on the system that allows least
_SOCKET = "/dpviz-12345678/kernel-01234567-89ab-cdef-0123-456789abcdef-ipc-5"


def kernel_environment(environment: Mapping[str, str], ipython: Path) -> dict[str, str]:
    """Return the environment of a kernel: the names in `PASSED_ON`, and no start-up files of a user.

    Examples
    --------
    >>> sorted(kernel_environment({"PATH": "/bin", "API_TOKEN": "secret"}, Path("/tmp/p")))
    ['IPYTHONDIR', 'OPENBLAS_NUM_THREADS', 'PATH']
    """
    seen = {name: value for name, value in environment.items() if name in PASSED_ON or name.startswith("LC_")}
    return {**seen, "IPYTHONDIR": str(ipython), "OPENBLAS_NUM_THREADS": "1"}


def private_folder(candidates: tuple[str, ...] | None = None) -> Path:
    """Make a folder that only this user can open, with a name short enough for a kernel's sockets.

    Raises
    ------
    OSError
        If no candidate is short enough and writable.
    """
    folders = candidates or (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp")
    tried = [folder for folder in folders if folder]
    for parent in tried:
        is_short = len(os.fsencode(parent + _SOCKET)) <= _LONGEST_PATH
        if is_short and os.access(parent, os.W_OK):
            return Path(tempfile.mkdtemp(prefix="dpviz-", dir=parent))
    raise OSError(f"no folder is both writable and short enough for the kernels' sockets: {', '.join(tried)}")


class ThisPython(KernelSpecManager):
    """Knows one kernel: the Python that runs the server. No user's kernel is looked at."""

    @default("kernel_dirs")
    def _no_folders(self) -> list[str]:
        return []


class PageKernels(AsyncMappingKernelManager):
    """The kernels of the pages, and since when each one has been alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self.ended: Callable[[str], object] = log.debug
        self._alone_since: dict[str, float] = {}

    async def start_page_kernel(self, kernel_id: str, folder: str) -> Any:
        """Start the kernel of a page in a folder of the notebooks, and return its manager."""
        await self.start_kernel(
            kernel_id=kernel_id,
            path=ApiPath(folder),
            kernel_name="python3",
            env=kernel_environment(os.environ, Path(self.connection_dir) / "ipython"),
            extra_arguments=["--HistoryManager.enabled=False"],
        )
        return self.get_kernel(kernel_id)

    def connections(self, kernel_id: str) -> int:
        """Return how many websockets a kernel has."""
        return int(self._kernel_connections.get(kernel_id, 0))

    def seconds_alone(self, kernel_id: str, opened: float) -> float:
        """Return for how long no browser has been connected, counted from `opened` if none ever was."""
        if self.connections(kernel_id):
            return 0.0
        return time.monotonic() - max(opened, self._alone_since.get(kernel_id, 0.0))

    def notify_disconnect(self, kernel_id: str) -> None:
        """Note that a browser has gone."""
        super().notify_disconnect(kernel_id)  # type: ignore[no-untyped-call]
        self._alone_since[kernel_id] = time.monotonic()

    def remove_kernel(self, kernel_id: str) -> Any:
        """Forget a kernel that has ended, by itself or not, and tell who asked to know."""
        self._alone_since.pop(kernel_id, None)
        removed = super().remove_kernel(kernel_id)
        self.ended(kernel_id)
        return removed

    def new_folder_for_ipython(self) -> None:
        """Make the empty folder that stands in for the user's IPython settings."""
        (Path(self.connection_dir) / "ipython").mkdir(mode=0o700, exist_ok=True)
