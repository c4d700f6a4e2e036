"""The folder of notebooks: which pages there are, and what they say."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat

KERNELSPEC = {"name": "python3", "language": "python", "display_name": "Python 3"}
"""Every page runs in the Python that serves it, whatever its notebook was written with."""


class NotebookFolder:
    """The notebooks that lie in a folder, and nothing else in it.

    It stands in for a contents manager: the page renderer asks it for notebooks by name.

    Parameters
    ----------
    folder : Path
        The folder. Hidden files and what a link leads out of it do not count.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._read: dict[Path, tuple[int, Any]] = {}

    def names(self) -> list[str]:
        """Return the names of the pages, as paths below the folder."""
        found = sorted(self.folder.rglob("*.ipynb"))
        return [path.relative_to(self.folder).as_posix() for path in found if self._is_page(path)]

    def _is_page(self, path: Path) -> bool:
        parts = path.relative_to(self.folder).parts
        return (
            path.is_file()
            and not any(part.startswith(".") for part in parts)
            and path.resolve().is_relative_to(self.folder)
        )

    def notebook(self, name: str) -> Any:
        """Return a copy of the notebook of that name, read again when its file has changed."""
        path = self.folder / name
        changed = path.stat().st_mtime_ns
        if path not in self._read or self._read[path][0] != changed:
            notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
            notebook.metadata.kernelspec = nbformat.from_dict(KERNELSPEC)  # type: ignore[no-untyped-call]
            self._read[path] = (changed, notebook)
        return deepcopy(self._read[path][1])

    def get(self, path: str) -> dict[str, Any]:
        """Return the model of a notebook, as a contents manager does."""
        return {"type": "notebook", "path": path, "content": self.notebook(path)}

    def file_exists(self, path: str) -> bool:  # noqa: ARG002
        """Say that there is no other file: a page brings its pictures as attachments."""
        return False
