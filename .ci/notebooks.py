"""Run notebooks and store their outputs: ``python3 dev.py notebooks [page …]``, after a page has changed.

A page is run in all its languages; without a name all are.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def renew(path: Path) -> None:
    """Run one notebook in place; what differs from run to run is left out."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, store_widget_state=False, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for path in sorted(FOLDER.rglob("[!.]*.ipynb")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        renew(path)
        print(path.relative_to(FOLDER))
