"""Renew the lock: every package of the pages and the tests, at one version for all Pythons we support.

``python3 dev.py lock`` runs this in ``.venv``. pip says which newest releases satisfy ``pyproject.toml``
together on the oldest Python; the same releases must then do for each newer one. Nothing is installed.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11.0", "3.12.0", "3.13.0", "3.14.0")
BINDER_TOOLS = ("hatchling", "jupyter-server-proxy")
HEADER = "# Written by `python3 dev.py lock`; change pyproject.toml and run it again.\n"

Needs = Mapping[str, Iterable[str]]  # a release's canonical name -> the requirements in its metadata
Pins = dict[str, str]  # canonical name -> version


def project() -> dict[str, list[str]]:
    """Return the requirements of pyproject.toml: "" for the base, and each extra by its name."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": table["dependencies"], **table["optional-dependencies"]}


def requirements(extra: str) -> list[Requirement]:
    """Return what dpviz with `extra` asks for directly, its other extras followed."""
    asked = [Requirement(text) for text in [*project()[""], *project().get(extra, [])]]
    inner = [name for one in asked if one.name == "dpviz" for name in one.extras]
    return [one for one in asked if one.name != "dpviz"] + [one for name in inner for one in requirements(name)]


def applies(requirement: Requirement, python: str, extras: Iterable[str]) -> bool:
    """Whether the requirement's marker holds on `python` for one of `extras` (or for none)."""
    if requirement.marker is None:
        return True
    environment = {key: str(value) for key, value in default_environment().items()}
    environment |= {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    return any(requirement.marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras))


def closure(roots: Iterable[Requirement], needs: Needs, python: str) -> set[str]:
    """Return the canonical names of all that `roots` bring along on `python`, themselves included.

    A name that `needs` does not know is returned too, so that a hole in a lock is seen.
    """
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [(canonicalize_name(root.name), frozenset(root.extras)) for root in roots]
    while waiting:
        name, extras = item = waiting.pop()
        if item in found:
            continue
        found.add(item)
        asked = [one for one in map(Requirement, needs.get(name, ())) if applies(one, python, extras)]
        waiting += [(canonicalize_name(one.name), frozenset(one.extras)) for one in asked]
    return {name for name, _ in found}


def resolve(wanted: Iterable[str], pins: Pins, python: str) -> tuple[Pins, dict[str, list[str]]]:
    """Return what pip would install for `wanted` on `python` under `pins`, and what each release needs."""
    with tempfile.TemporaryDirectory() as folder:
        report, held = Path(folder, "report.json"), Path(folder, "pins.txt")
        held.write_text(lines(pins, pins), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        files = ["--report", str(report), "--constraint", str(held), "--target", str(Path(folder, "never"))]
        subprocess.run([*pip, *files, "--python-version", python, "--only-binary=:all:", *wanted], check=True)
        said = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    releases = {str(canonicalize_name(one["name"])): one for one in said}
    versions = {name: str(one["version"]) for name, one in releases.items()}
    return versions, {name: list(one.get("requires_dist", [])) for name, one in releases.items()}


def lock(roots: list[Requirement]) -> tuple[Pins, dict[str, list[str]]]:
    """Return one version of each package that does for every Python, and what each needs.

    pip reads markers as of the Python it runs on, so what only another Python asks for is added by name.
    """
    pins, needs = resolve(map(str, roots), {}, PYTHONS[0])
    for python in PYTHONS:
        while missing := closure(roots, needs, python) - needs.keys():
            found, their_needs = resolve([*map(str, roots), *missing], pins, python)
            pins, needs = pins | found, needs | their_needs
        resolve(lines(closure(roots, needs, python), pins).split(), pins, python)
    return pins, needs


def lines(names: Iterable[str], pins: Pins) -> str:
    """Return the pins of `names` as the lines of a requirements file."""
    return "".join(f"{name}=={pins[name]}\n" for name in sorted(names))


def binder_roots() -> list[Requirement]:
    """Return what the Binder image needs: the pages, the proxy that shows them, the build tool of dpviz."""
    return requirements("app") + [one for one in requirements("dev") if one.name in BINDER_TOOLS]


def binder_python() -> str:
    """Return the Python of the Binder image, as X.Y.0."""
    runtime = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    return runtime.removeprefix("python-") + ".0"


def main() -> None:
    """Write both files."""
    roots = requirements("dev")
    pins, needs = lock(roots)
    everything = set().union(*(closure(roots, needs, python) for python in PYTHONS))
    (ROOT / "constraints.txt").write_text(HEADER + lines(everything, pins), encoding="utf-8")
    binder = closure(binder_roots(), needs, binder_python())
    (ROOT / "binder" / "requirements.txt").write_text(HEADER + lines(binder, pins), encoding="utf-8")


if __name__ == "__main__":
    main()
