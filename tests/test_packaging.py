"""What is shipped: the version said once, and a wheel that serves the gallery by itself."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest

import dpviz
from tests.serving import fetch, free_port, serving

ROOT = Path(__file__).resolve().parents[1]


def build(source: Path, folder: Path, kind: str) -> Path:
    """Build a wheel or an sdist of `source` with the tools of this environment."""
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        f"--{kind}",
        "--outdir",
        str(folder),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_of(folder: Path) -> Iterator[str]:
    """Yield the paths, below the clone, of a folder's files, without what Python and Jupyter leave."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts):
            yield path.relative_to(ROOT).as_posix()


def test_citation_says_the_version_and_the_licence() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", citation, flags=re.MULTILINE))
    assert fields["cff-version"] == "1.2.0"
    assert fields["title"] == "dpviz"
    assert fields["version"] == dpviz.__version__
    assert fields["license"] == "Apache-2.0"
    assert "  - name: The dpviz developers\n" in citation


@pytest.mark.slow
def test_the_wheel_holds_all_that_runs_and_nothing_else(wheel: Path) -> None:
    held = set(contents(wheel))
    meta = f"dpviz-{dpviz.__version__}.dist-info"
    package = set(files_of(ROOT / "dpviz"))
    pages = {f"dpviz/{name}" for name in files_of(ROOT / "notebooks")}
    licences = {"LICENSE", "dpviz/assets/plotly-basic.LICENSE.txt"}
    about = {f"{meta}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    assert held == package | pages | about | {f"{meta}/licenses/{name}" for name in licences}
    assert {"dpviz/py.typed", "dpviz/notebooks/index.ipynb"} <= held
    for folder in ("dpviz/assets/", "dpviz/locale/", "dpviz/server/templates/", "dpviz/server/static/"):
        assert any(name.startswith(folder) for name in held), folder


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # not in every 3.11
        archive.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    again = build(source, tmp_path / "again", "wheel")
    assert contents(again) == contents(wheel)
    for name in (
        "dev.py",
        "constraints.txt",
        "binder/requirements.txt",
        "tests/test_packaging.py",
        "LICENSE",
    ):
        assert (source / name).is_file(), name


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment where dpviz comes from the wheel, what it needs from this one."""
    venv = tmp_path_factory.mktemp("elsewhere") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    scheme = {"base": str(venv), "platbase": str(venv)}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    into = ["--python", str(venv), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *into], check=True)
    (site / "at_hand.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return Path(sysconfig.get_path("scripts", "venv", scheme))


def outside(scripts: Path) -> dict[str, str]:
    """Return the environment variables of a reader who has no clone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    return {**kept, "PATH": f"{scripts}{os.pathsep}{kept['PATH']}"}


@pytest.mark.slow
def test_the_wheel_alone_serves_the_gallery(installed: Path, tmp_path: Path) -> None:
    port = free_port()
    home = f"http://127.0.0.1:{port}/"
    command = [str(installed / "dpviz"), "--port", str(port), "--no-browser"]
    with serving(command, home, tmp_path / "log", env=outside(installed), cwd=tmp_path):
        status, headers, _ = fetch(home)
        assert status == 302
        status, _, index = fetch(urljoin(home, headers["location"]))
        assert status == 200
        assert "</html>" in index
        page = next(path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.stem != "index")
        status, _, text = fetch(f"{home}voila/render/{page.name}")
        assert status == 200
        assert "Traceback" not in text
        assert "application/vnd.jupyter.widget-view+json" in text, "the page shows its explainer"


@pytest.mark.slow
def test_the_wheel_alone_checks_itself(installed: Path, tmp_path: Path) -> None:
    def run(program: str, *arguments: str) -> str:
        command, env = [str(installed / program), *arguments], outside(installed)
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    place = run("python", "-c", "import dpviz; print(dpviz.__file__)").strip()
    assert Path(place).is_relative_to(installed.parent), "not from the clone"
    assert " hold" in run("dpviz", "check")
