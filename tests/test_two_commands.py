"""dev.py: what it sets up, when it does not, and what it says when it cannot."""

import ast
import ensurepip
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("dev.py", "pyproject.toml", "constraints.txt", "README.md", "LICENSE", "dpviz", "notebooks")


@pytest.fixture
def dev() -> ModuleType:
    """A fresh dev.py, to be patched at will."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the files that an install depends on."""
    (tmp_path / "clone" / "dpviz").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt", "dpviz/__init__.py"):
        (tmp_path / "clone" / name).write_text(f"# {name}\n")
    return tmp_path / "clone"


@pytest.fixture
def installed(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for pip: the extras that were asked for. Environments are real, but hold no pip."""
    extras: list[str] = []
    monkeypatch.setattr(dev, "install", lambda root, venv, extra: extras.append(extra))
    monkeypatch.setattr(dev, "has_pip", dev.is_working)
    monkeypatch.setattr(dev, "makers", lambda venv: iter([[bare(venv)]]))
    return extras


def bare(venv: Path) -> list[str]:
    """Return the command that makes an environment fast."""
    return [sys.executable, "-m", "venv", "--without-pip", str(venv)]


def set_up(dev: ModuleType, clone: Path, extra: str = "dev") -> Path:
    dev.set_up(clone, clone / ".venv", extra)
    return clone / ".venv"


def test_old_python_reads_the_file_and_gets_one_sentence() -> None:
    ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))
    pretend = "import runpy, sys; sys.version_info = (3, 9, 2); runpy.run_path('dev.py', run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("dpviz needs Python 3.11 or newer; this is ")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_second_set_up_installs_nothing(dev: ModuleType, clone: Path, installed: list[str]) -> None:
    venv = set_up(dev, clone)
    assert dev.is_ready(clone, venv, "dev")
    set_up(dev, clone)
    set_up(dev, clone, "app")
    assert installed == ["dev"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "dpviz/__init__.py"])
def test_a_changed_input_installs_on_top(dev: ModuleType, clone: Path, installed: list[str], name: str) -> None:
    kept = set_up(dev, clone) / "kept"
    kept.touch()
    (clone / name).write_text("changed\n")
    set_up(dev, clone, "app")
    assert installed == ["dev", "dev"], "what the tests need stays installed"
    assert kept.exists()


def test_tests_after_the_gallery_add_to_it(dev: ModuleType, clone: Path, installed: list[str]) -> None:
    set_up(dev, clone, "app")
    set_up(dev, clone, "dev")
    assert installed == ["app", "dev"]


def test_an_interrupted_set_up_is_made_anew(
    dev: ModuleType, clone: Path, installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(root: Path, venv: Path, extra: str) -> None:
        (venv / "half").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(dev, "install", interrupt)
    with pytest.raises(KeyboardInterrupt):
        set_up(dev, clone)
    monkeypatch.setattr(dev, "install", lambda root, venv, extra: None)
    assert not (set_up(dev, clone) / "half").exists()


def test_a_moved_clone_is_made_anew(dev: ModuleType, clone: Path, installed: list[str]) -> None:
    (set_up(dev, clone) / "old").touch()
    moved = clone.rename(clone.with_name("moved"))
    assert not (set_up(dev, moved) / "old").exists()
    assert dev.is_working(moved / ".venv")
    assert installed == ["dev", "dev"]


def test_a_lost_interpreter_is_made_anew(dev: ModuleType, clone: Path, installed: list[str]) -> None:
    venv = set_up(dev, clone)
    dev.python_of(venv).unlink()
    dev.python_of(venv).symlink_to(clone / "gone")
    set_up(dev, clone)
    assert dev.is_working(venv)


def test_another_python_is_made_anew(dev: ModuleType, clone: Path, installed: list[str]) -> None:
    venv = set_up(dev, clone)
    text = dev.stamp_of(venv).read_text()
    dev.stamp_of(venv).write_text(text.replace(f"python {dev.python_version()}", "python 3.99"))
    assert not dev.is_ready(clone, venv, "dev")
    assert not dev.is_usable(clone, venv)


def test_a_file_in_the_place_of_the_environment_gives_way(dev: ModuleType, clone: Path, installed: list[str]) -> None:
    (clone / "elsewhere").mkdir()
    (clone / ".venv").symlink_to(clone / "elsewhere")
    assert not set_up(dev, clone).is_symlink()
    assert list((clone / "elsewhere").iterdir()) == [], "what the link led to is left alone"


def machine(dev: ModuleType, monkeypatch: pytest.MonkeyPatch, modules: str = "", programs: str = "") -> None:
    """Make dev.py see only these modules and programs."""
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: name if name in modules.split() else None)
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/opt/{name}" if name in programs.split() else None)


@pytest.mark.parametrize(
    ("modules", "programs", "expected"),
    [
        ("venv ensurepip pip", "uv virtualenv", ["venv", "uv", "virtualenv", "without-pip"]),
        ("venv pip", "uv virtualenv", ["uv", "virtualenv", "without-pip"]),
        ("venv", "virtualenv", ["virtualenv"]),
        ("venv pip", "", ["without-pip"]),
        ("venv", "", []),
        ("ensurepip pip", "", []),
    ],
)
def test_ways_to_make_an_environment(
    dev: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    modules: str,
    programs: str,
    expected: list[str],
) -> None:
    machine(dev, monkeypatch, modules, programs)

    def kind(commands: list[list[str]]) -> str:
        words = [word for command in commands for word in command]
        found = [
            name for name in ("without-pip", "virtualenv", "uv") if f"--{name}" in words or f"/opt/{name}" in words
        ]
        return found[0] if found else "venv"

    assert [kind(commands) for commands in dev.makers(tmp_path)] == expected


def test_no_way_to_make_an_environment_is_one_sentence(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, clone: Path
) -> None:
    machine(dev, monkeypatch, "venv", "")
    with pytest.raises(dev.SetupError) as caught:
        set_up(dev, clone)
    assert str(caught.value) == dev.NO_VENV
    assert not (clone / ".venv").exists()


def test_a_way_that_fails_is_followed_by_the_next(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, clone: Path, installed: list[str]
) -> None:
    venv = clone / ".venv"
    fails = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr(dev, "makers", lambda venv: iter([[fails], [bare(venv), fails], [bare(venv)]]))
    set_up(dev, clone)
    assert dev.is_ready(clone, venv, "dev")


def test_python_without_ensurepip_gets_pip_from_outside(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheels = [Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels")]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", " ".join(str(folder) for folder in wheels if folder.is_dir()))
    *_, commands = dev.makers(tmp_path / ".venv")
    assert "--without-pip" in commands[0]
    monkeypatch.setattr(dev, "makers", lambda venv: iter([commands]))
    dev.make(tmp_path, tmp_path / ".venv")
    assert dev.has_pip(tmp_path / ".venv")


def test_a_failed_install_is_one_sentence_after_what_pip_said(
    dev: ModuleType, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(dev.SetupError) as caught:
        set_up(dev, clone)
    assert "hatchling" in str(caught.value)
    assert str(caught.value).endswith(f"\n{dev.NO_INSTALL}")
    assert not dev.is_ready(clone, clone / ".venv", "dev")


def test_children_see_the_environment_and_nothing_else(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in dev.MISLEADING:
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("VIRTUAL_ENV", "elsewhere")
    monkeypatch.setenv("HOME_OF_THE_READER", "kept")
    environment = dev.clean_environment(Path("here") / ".venv")
    assert "elsewhere" not in environment.values()
    assert environment["HOME_OF_THE_READER"] == "kept"
    assert environment["PATH"].split(os.pathsep)[0] == str(dev.scripts_folder(Path("here") / ".venv"))


def test_programs_of_windows(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    venv = Path("clone") / ".venv"
    monkeypatch.setattr(dev.os, "name", "nt")
    python = dev.python_of(venv)
    monkeypatch.undo()
    assert python.parts == ("clone", ".venv", "Scripts", "python.exe")


@pytest.mark.parametrize(
    ("arguments", "extra", "expected"),
    [
        (["gallery"], "app", ["dpviz"]),
        (["gallery", "--", "--port", "9000"], "app", ["dpviz", "--port", "9000"]),
        (["gallery", "--port", "9000"], "app", ["dpviz", "--port", "9000"]),
        (["test", "-k", "laplace"], "dev", ["pytest", "-k", "laplace"]),
    ],
)
def test_what_each_command_runs(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, arguments: list[str], extra: str, expected: list[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(dev, "set_up", lambda root, venv, extra: asked.append(extra))
    monkeypatch.setattr(dev, "become", asked.extend)
    dev.main(arguments)
    assert asked == [extra, str(dev.python_of(ROOT / ".venv")), "-m", *expected]


def test_the_whole_suite_is_run_in_parts_and_one_failure_counts(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[list[str]] = []

    def pretend(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        run.append(command[3:])
        return subprocess.CompletedProcess(command, 0 if "not browser" in command else 2)

    monkeypatch.setattr(dev, "set_up", lambda root, venv, extra: None)
    monkeypatch.setattr(dev.subprocess, "run", pretend)
    assert dev.main(["test"]) == 1
    assert [part[:2] for part in run] == [["-m", "not browser"], ["-m", "browser"]]


@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["--help"], 0), (["galery"], 2)])
def test_usage(dev: ModuleType, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int) -> None:
    assert dev.main(arguments) == status
    shown = capsys.readouterr().out
    for name in ("gallery", "test", "check", "setup", "lock"):
        assert f"python3 dev.py {name}" in shown


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "python3 dev.py gallery" in readme
    assert "python3 dev.py test" in readme


@pytest.mark.slow
def test_a_clone_is_set_up_without_a_network_when_all_is_at_hand(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    for name in SHIPPED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, clone / name)
    subprocess.run([sys.executable, "-m", "venv", str(clone / ".venv")], check=True)
    site = next((clone / ".venv").glob("[Ll]ib/**/site-packages"))
    (site / "at_hand.pth").write_text(sysconfig.get_path("purelib"))
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PYTHONPATH": "/nowhere", "VIRTUAL_ENV": "/nowhere"}

    def run(*arguments: str) -> str:
        command = [sys.executable, str(clone / "dev.py"), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "bringing .venv up to date" in run("setup")
    shutil.rmtree(site / "pip")  # from here on a call of pip would fail
    assert run("setup") == ""
    assert run("test", "--version").startswith("pytest ")
