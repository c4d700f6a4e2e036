"""What the server is told: one frozen object, the same for the command, the tests and Binder."""

from dataclasses import dataclass, field
from pathlib import Path

from dpviz.server.memory import default_max_kernels

INDEX = "index.ipynb"


def find_notebooks() -> Path:
    """Return the folder of pages: inside the installed package, else beside it in a clone.

    Raises
    ------
    FileNotFoundError
        If neither holds ``index.ipynb``.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / INDEX).is_file():
            return folder
    raise FileNotFoundError(f"no folder of notebooks with an {INDEX} was found in or beside {package}")


@dataclass(frozen=True)
class ServerSettings:
    """Where the server listens, what it shows and how many readers it takes.

    Parameters
    ----------
    ip : str
        Address to listen on; the default is reached from this machine only.
    port : int
        Port, 0 to 65535; 0 takes a free one.
    base_url : str
        Path of the gallery, from ``/`` to ``/``, as a proxy in front of it needs.
    open_browser : bool
        Whether to open the gallery in a browser.
    max_kernels : int
        Readers' pages open at once, at least 1. Default: see `default_max_kernels`.
    warm : int
        Pages of a notebook kept ready for the next reader, at least 0. They do not count as readers. Kept so
        are as many notebooks as lie in the top folder: those, until others are read.
    notebooks : Path
        Folder of the pages; must hold ``index.ipynb``. Default: see `find_notebooks`.
    cull_idle_timeout : int
        Seconds after which a page that no browser is connected to ends; a connected one never does.
    cull_interval : int
        Seconds between two looks for such pages.

    Raises
    ------
    ValueError
        If a number or the path is out of range.
    FileNotFoundError
        If `notebooks` has no ``index.ipynb``.

    Examples
    --------
    >>> ServerSettings(port=70000)
    Traceback (most recent call last):
    ...
    ValueError: port must be in [0, 65535], got 70000
    """

    ip: str = "127.0.0.1"
    port: int = 8866
    base_url: str = "/"
    open_browser: bool = True
    max_kernels: int = field(default_factory=default_max_kernels)
    warm: int = 1
    notebooks: Path = field(default_factory=find_notebooks)
    cull_idle_timeout: int = 150
    cull_interval: int = 30

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port must be in [0, 65535], got {self.port}")
        if not (self.base_url.startswith("/") and self.base_url.endswith("/")) or "//" in self.base_url:
            raise ValueError(f"base_url must be a path that starts and ends with /, got {self.base_url!r}")
        for name, least in (("max_kernels", 1), ("warm", 0), ("cull_idle_timeout", 1), ("cull_interval", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not (self.notebooks / INDEX).is_file():
            raise FileNotFoundError(f"the folder of notebooks {self.notebooks} has no {INDEX}")
