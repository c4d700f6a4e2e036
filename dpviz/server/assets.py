"""The static files of a page: listed once at the start, served by name, so that no path is ever opened."""

import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
TEMPLATES = PACKAGE / "server" / "templates"
OWN_FILES = (
    PACKAGE / "assets" / "plotly-basic.min.js",
    PACKAGE / "assets" / "page.css",
    PACKAGE / "server" / "static" / "page.js",
    PACKAGE / "server" / "static" / "favicon.svg",
)
EXTENSIONS = {
    "@jupyter-widgets/jupyterlab-manager": ("jupyterlab_widgets", "labextensions"),
    "@voila-dashboards/widgets-manager8": ("voila", "voila/labextensions"),
    "anywidget": ("anywidget", "labextensions"),
}
"""The front end's extensions that the pages need: the distribution of each, and where it keeps it."""

PACKED = frozenset({".css", ".eot", ".js", ".svg", ".ttf"})
_SERVED = {".js", ".css", ".svg", ".woff", ".woff2", ".ttf", ".eot", ".png"}


def shared_folder(package: str, folder: str) -> Path:
    """Return a folder below ``share/jupyter`` as `package` installed it, wherever Jupyter would look.

    Raises
    ------
    FileNotFoundError
        If the distribution has no such folder.
    """
    marker = f"share/jupyter/{folder}/"
    installed = distribution(package)
    for file in installed.files or ():
        head, found, _ = file.as_posix().partition(marker)
        if found:
            return Path(str(installed.locate_file(head + marker))).resolve()
    raise FileNotFoundError(f"the distribution {package} has no folder share/jupyter/{folder}")


def template_paths() -> list[str]:
    """Return the folders of page templates: our own, then nbconvert's that it extends."""
    nbconvert = shared_folder("nbconvert", "nbconvert/templates")
    return [str(TEMPLATES / "dpviz"), str(nbconvert / "lab"), str(nbconvert / "base"), str(nbconvert)]


@dataclass(frozen=True)
class Assets:
    """All static files by their name in an address, and a tag that changes when one of them does."""

    files: dict[str, Path]
    extensions: tuple[dict[str, Any], ...]
    tag: str

    def pack(self) -> None:
        """Gzip what is sent gzipped, so that no reader waits for it."""
        for path in self.files.values():
            if path.suffix in PACKED:
                packed(path)

    @classmethod
    def collect(cls) -> "Assets":
        """List the files of the front end, its extensions, the theme and the page."""
        files = {f"page/{path.name}": path for path in OWN_FILES}
        files["page/theme.css"] = shared_folder("nbconvert", "nbconvert/templates/lab") / "static/theme-light.css"
        files |= _below("voila", shared_folder("voila", "voila/templates/base/static"))
        extensions = []
        for name, (package, folder) in EXTENSIONS.items():
            root = shared_folder(package, folder) / name
            files |= _below(f"lab/{name}/static", root / "static")
            extensions.append(_extension(root))
        return cls(files, tuple(extensions), _tag(files))


def _below(prefix: str, folder: Path) -> dict[str, Path]:
    """Return the files that a browser may ask for in a folder, by address."""
    found = (path for path in folder.rglob("*") if path.suffix in _SERVED and path.is_file())
    return {f"{prefix}/{path.relative_to(folder).as_posix()}": path for path in found}


def _extension(root: Path) -> dict[str, Any]:
    """Return what the front end needs to know of an extension."""
    package = json.loads((root / "package.json").read_text(encoding="utf-8"))
    build = package["jupyterlab"]["_build"]
    return {"name": package["name"], **{k: build[k] for k in ("load", "extension", "style") if k in build}}


def _tag(files: dict[str, Path]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode())
        digest.update(files[name].read_bytes())
    return digest.hexdigest()[:16]


@cache
def packed(path: Path) -> bytes:
    """Return the gzipped bytes of a file, packed once: a file listed by `Assets` does not change."""
    return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)


@cache
def plain(path: Path) -> bytes:
    """Return the bytes of a file, read once."""
    return path.read_bytes()
