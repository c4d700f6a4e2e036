"""The house rule: imports point down, and each library stays in its rooms."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "dpviz"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each room may import of the house, and of the libraries that are not everyone's.
ROOMS = {
    "accounting": ({"accounting"}, set()),
    "locale": ({"locale"}, set()),
    "figures": ({"accounting", "locale", "figures"}, {"plotly"}),
    "explainers": (
        {"accounting", "locale", "figures", "explainers"},
        {"ipywidgets", "anywidget", "traitlets"},
    ),
    "server": (
        {"locale", "server"},
        {"voila", "tornado", "jupyter_client", "jupyter_server", "traitlets", "psutil", "nbformat"},
    ),
    "cli": ({"accounting", "server"}, set()),
    "__main__": ({"cli"}, set()),
    "__init__": ({"accounting"}, set()),
}
KEPT = {name for _, libraries in ROOMS.values() for name in libraries} | {"IPython", "jupyterlab", "babel"}


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            if node.module == "dpviz":
                yield from (f"dpviz.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    rooms, libraries = ROOMS[room_of(path)]
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "dpviz" and rest and (PACKAGE / rest.split(".")[0]).exists():
            assert rest.split(".")[0] in rooms, f"{path} may not import {name}"
        assert top not in KEPT - libraries, f"{path} may not import {name}"


def test_the_rule_sees_a_wrong_import(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import plotly.graph_objects as go\nfrom dpviz.figures import history_figure\n")
    assert list(imported(wrong)) == ["plotly.graph_objects", "dpviz.figures"]


def test_no_default_by_truth_of_a_number():
    """`x or default` turns a 0 that was meant into the default."""
    for path in sorted((PACKAGE / "accounting").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                assert not isinstance(node.values[-1], ast.Constant), f"{path}:{node.lineno}"


def test_no_text_speaks_of_the_workshop():
    """The project speaks of itself alone: no path of a machine, nothing from beside the clone."""
    places = {str(ROOT), str(Path.home()), sys.prefix} - {"/"}
    suspicious = re.compile("|".join(re.escape(f"{place}/") for place in places))
    files = [path for folder in ("dpviz", "tests", "notebooks", "binder", ".ci") for path in (ROOT / folder).rglob("*")]
    files += [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "dev.py")]
    for path in files:
        if path == Path(__file__) or path.suffix not in {
            ".py",
            ".md",
            ".toml",
            ".ipynb",
            ".js",
            ".css",
            ".txt",
            "",
        }:
            continue
        if path.is_file() and "plotly-basic" not in path.name:
            assert not suspicious.search(path.read_text(encoding="utf-8")), path


def test_only_the_accounting_is_loaded_by_the_package():
    import subprocess

    code = "import sys, dpviz; print(' '.join(m for m in ('plotly','ipywidgets','anywidget','voila','scipy.stats','scipy.optimize') if m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
