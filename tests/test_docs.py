"""What the documentation says is run: every example of a docstring, and the README's."""

import doctest
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import dpviz
from dpviz import cli

ROOT = Path(__file__).parent.parent
MODULES = [
    module.name for module in pkgutil.walk_packages(dpviz.__path__, "dpviz.") if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_enough_examples_are_found():
    examples = sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES)
    assert examples > 40


def test_the_readme_says_what_its_code_gives():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)
    names = {}
    claims = 0
    for line in filter(None, code.splitlines()):
        call, _, claim = line.partition("#")
        if not claim:
            exec(call, names)
            continue
        shown = re.match(r"\s*([\d.]+)…", claim).group(1)
        assert str(eval(call, names)).startswith(shown), line
        claims += 1
    assert claims == 5


def test_the_readme_names_what_the_command_line_offers():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for option in ("--port", "--ip", "--no-browser", "--max-kernels", "dpviz check --json"):
        assert option in readme
    assert callable(cli.main)


def test_every_public_name_has_a_source_or_is_elementary():
    """A formula without its source cannot be checked by a reader."""
    for name in dpviz.__all__:
        thing = getattr(dpviz, name)
        if callable(thing) and not isinstance(thing, type) and "elementary" not in (thing.__doc__ or "").lower():
            assert re.search(r"\((?:19|20)\d\d\)|med in each witness", thing.__doc__ or ""), f"{name} names no source"


NO_NUMBERS_OF_OURS = {"attainable_fraction", "compare_reference", "naive_laplace", "read_reference", "verify"}


def test_every_public_function_says_whether_it_is_exact_or_a_bound():
    for name in set(dpviz.__all__) - NO_NUMBERS_OF_OURS:
        thing = getattr(dpviz, name)
        if inspect.isfunction(thing):
            said = thing.__doc__.split("\n\n")[0] + (sys.modules[thing.__module__].__doc__ or "")
            assert re.search(r"exact|bound|estimate|approximation|not a guarantee", said, re.IGNORECASE), name


def test_the_changelog_and_the_citation_know_the_version():
    assert f"## {dpviz.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {dpviz.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace('"', "")


def test_readme_links_and_pictures_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", readme):
        assert (ROOT / target).exists(), target
