"""The commands of a clone: ``python3 dev.py gallery`` opens dpviz, ``python3 dev.py test`` tests it.

Standard library only. Everything is installed into ``.venv`` beside this file and nowhere else, at the
versions of ``constraints.txt``. The first run takes minutes; a later one installs nothing until
``pyproject.toml``, ``constraints.txt``, the version of dpviz or the Python changes.

The syntax is kept to what Python 3.6 can read, so that an old Python says what it lacks in one sentence.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

OLDEST = (3, 11)
if sys.version_info[:2] < OLDEST:
    sys.exit(f"dpviz needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {sys.version.split()[0]}.")

USAGE = """\
python3 dev.py gallery [-- options of dpviz]   open the gallery in the browser
python3 dev.py test [options of pytest]        run the tests, all of them when no option is given
python3 dev.py check                           ruff, ruff format and mypy
python3 dev.py setup                           only make .venv ready for the tests
python3 dev.py texts                           compile the text catalogues
python3 dev.py notebooks [page ...]            run the notebooks, all of them when no page is named, store outputs
python3 dev.py lock                            renew constraints.txt and binder/requirements.txt
"""
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
INPUTS = ("pyproject.toml", "constraints.txt", "dpviz/__init__.py")
# The tests in the browser apart from the others, and never more than two at once: each fills a small machine.
WHOLE_SUITE = (
    ("-m", "not browser", "--numprocesses=logical", "--maxprocesses=2", "--dist=loadfile"),
    ("-m", "browser", "--numprocesses=logical", "--maxprocesses=2", "--dist=worksteal"),
)
CHECKS = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",))
TASKS = {
    "texts": ("-m", "babel.messages.frontend", "compile", "--directory", "dpviz/locale", "--domain", "dpviz"),
    "notebooks": (".ci/notebooks.py",),
    "lock": (".ci/lock.py",),
}
UNFINISHED = "unfinished"
# Settings that would send an import or an install somewhere else than into .venv.
MISLEADING = (
    *("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "__PYVENV_LAUNCHER__", "CONDA_PREFIX", "UV_PYTHON"),
    *("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON"),
)
NO_VENV = (
    "This Python cannot make a virtual environment. Install venv (Debian, Ubuntu: apt install python3-venv),"
    " uv or virtualenv, and run the same command again."
)
NO_INSTALL = (
    "The packages could not be installed; pip says why above. Is there a network? Nothing outside .venv was touched."
)


class SetupError(Exception):
    """A set-up that cannot go on; its text is the sentence for the person at the keyboard."""


def scripts_folder(venv: Path) -> Path:
    """Return the folder of the environment's programs."""
    return venv / ("Scripts" if os.name == "nt" else "bin")


def python_of(venv: Path) -> Path:
    """Return the environment's interpreter."""
    return scripts_folder(venv) / ("python.exe" if os.name == "nt" else "python")


def stamp_of(venv: Path) -> Path:
    """Return the file that says what the environment was set up for."""
    return venv / "dpviz-setup.txt"


def python_version() -> str:
    """Return major and minor version of the Python that runs this."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def clean_environment(venv: Path) -> "dict[str, str]":
    """Return the environment variables for a child that must see `venv` and nothing else."""
    kept = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    path = str(scripts_folder(venv)) + os.pathsep + kept.get("PATH", os.defpath)
    ours = {"PATH": path, "VIRTUAL_ENV": str(venv), "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**kept, **ours}


def stamp(root: Path, extra: str) -> str:
    """Return the text that holds while nothing has changed that an install depends on."""
    digests = [f"{name} {hashlib.sha256((root / name).read_bytes()).hexdigest()}" for name in INPUTS]
    return "\n".join([f"python {python_version()}", f"place {root}", f"extra {extra}", *digests, ""])


def written_stamp(venv: Path) -> str:
    """Return the stamp that the last set-up wrote, "" when there is none."""
    path = stamp_of(venv)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def is_ready(root: Path, venv: Path, extra: str) -> bool:
    """Whether `venv` was set up in full for just this state; ``dev`` holds ``app`` too."""
    return written_stamp(venv) in {stamp(root, extra), stamp(root, "dev")} and is_working(venv)


def is_working(venv: Path) -> bool:
    """Whether the environment's interpreter runs, is of this version, and has its home here."""
    question = "import sys; print(sys.prefix); print('%d.%d' % sys.version_info[:2])"
    command = [str(python_of(venv)), "-I", "-c", question]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    prefix, version = answer.splitlines()
    return Path(prefix).resolve() == venv.resolve() and version == python_version()


def is_usable(root: Path, venv: Path) -> bool:
    """Whether packages may be installed on top of what `venv` holds, or it is better made anew."""
    written = written_stamp(venv)
    is_ours = written.startswith(f"python {python_version()}\nplace {root}\n")
    return (is_ours or not written) and is_working(venv) and has_pip(venv)


def has_pip(venv: Path) -> bool:
    """Whether the environment has its own pip."""
    command = [str(python_of(venv)), "-I", "-m", "pip", "--version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def remove(path: Path) -> None:
    """Remove a folder, or the link or file that stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()


def makers(venv: Path) -> "Iterator[list[list[str]]]":
    """Yield the ways to make an environment with pip on this machine, best first, each as its commands."""
    place, base = str(venv), getattr(sys, "_base_executable", sys.executable)
    uv, virtualenv = shutil.which("uv"), shutil.which("virtualenv")
    has_venv = importlib.util.find_spec("venv")
    if has_venv and importlib.util.find_spec("ensurepip"):
        yield [[base, "-m", "venv", place]]
    if uv:
        yield [[uv, "venv", "--quiet", "--seed", "--python", base, place]]
    if virtualenv:
        yield [[virtualenv, "--quiet", "--python", base, place]]
    if has_venv and importlib.util.find_spec("pip"):
        into = ["--python", str(python_of(venv)), "install", "--quiet", "pip"]
        yield [[base, "-m", "venv", "--without-pip", place], [sys.executable, "-m", "pip", *into]]


def run_step(command: "Sequence[str]", root: Path, venv: Path) -> str:
    """Run one command of the set-up in silence; return "" or, when it fails, what it said."""
    environment, pipe = clean_environment(venv), subprocess.PIPE
    run = subprocess.run(command, cwd=root, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    return "" if run.returncode == 0 else f"{' '.join(command)}\n{run.stdout}\n"


def make(root: Path, venv: Path) -> None:
    """Make the environment in the first way that works."""
    said = ""
    for commands in makers(venv):
        remove(venv)
        fault = next(filter(None, (run_step(command, root, venv) for command in commands)), "")
        if not fault:
            return
        said += fault
    remove(venv)
    raise SetupError(said + NO_VENV)


def install(root: Path, venv: Path, extra: str) -> None:
    """Install dpviz as editable with `extra`, at the versions of constraints.txt, its build tool first."""
    pip = [str(python_of(venv)), "-m", "pip", "install", "--quiet", "--no-input", "-c", "constraints.txt"]
    for what in (("hatchling",), ("--no-build-isolation", "--editable", f".[{extra}]")):
        fault = run_step([*pip, *what], root, venv)
        if fault:
            raise SetupError(fault + NO_INSTALL)


def set_up(root: Path, venv: Path, extra: str) -> None:
    """Make `venv` hold dpviz with `extra`; do nothing when it already does."""
    if is_ready(root, venv, extra):
        return
    if is_usable(root, venv):
        say("bringing .venv up to date; about a minute.")
        extra = "dev" if "\nextra dev\n" in written_stamp(venv) else extra
    else:
        verb = "remaking" if venv.exists() else "making"
        say(f"{verb} .venv for Python {python_version()}; one to five minutes.")
        make(root, venv)
    stamp_of(venv).write_text(UNFINISHED, encoding="utf-8")
    install(root, venv, extra)
    stamp_of(venv).write_text(stamp(root, extra), encoding="utf-8")


def say(text: str) -> None:
    """Print one line of ours, at once."""
    print(f"dpviz: {text}", flush=True)


def become(command: "Sequence[str]") -> int:
    """Run `command` in the clone in place of this process (Windows: as its child), so signals reach it."""
    os.chdir(ROOT)
    environment = clean_environment(VENV)
    if os.name == "posix":
        os.execve(command[0], list(command), environment)
    return subprocess.run(command, env=environment, check=False).returncode


def check(python: str) -> int:
    """Run lint, format and types, all of them, and return 1 if one of them found something."""
    return run_all([[python, "-m", *step] for step in CHECKS])


def run_all(commands: "Sequence[Sequence[str]]") -> int:
    """Run all commands in the clone, and return 1 if one of them failed."""
    environment = clean_environment(VENV)
    runs = [subprocess.run(command, cwd=ROOT, env=environment, check=False) for command in commands]
    return max(min(abs(run.returncode), 1) for run in runs)


def main(arguments: "Sequence[str]") -> int:
    """Do what the command line asks and return the exit status."""
    name, rest = (arguments[0] if arguments else "--help"), list(arguments[1:])
    if name not in {"gallery", "test", "check", "setup", *TASKS}:
        print(USAGE, end="")
        return 0 if name in {"-h", "--help", "help"} else 2
    set_up(ROOT, VENV, "app" if name == "gallery" else "dev")
    python = str(python_of(VENV))
    if name == "gallery":
        return become([python, "-m", "dpviz", *(rest[1:] if rest[:1] == ["--"] else rest)])
    if name == "test" and rest:
        return become([python, "-m", "pytest", *rest])
    if name == "test":
        return run_all([[python, "-m", "pytest", *part] for part in WHOLE_SUITE])
    if name in TASKS:
        return become([python, *TASKS[name], *rest])
    return check(python) if name == "check" else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SetupError as error:
        sys.exit(f"dpviz: {error}")
    except KeyboardInterrupt:
        sys.exit("dpviz: stopped; the next run goes on from the start.")
