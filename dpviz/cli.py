"""The command line: serve the gallery, or check the numbers."""

import argparse
import errno
import json
import math
import socket
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

import dpviz

if TYPE_CHECKING:
    from dpviz.accounting.reference import Comparison
    from dpviz.accounting.verification import Witness

FAILED = 1
REFUSED = 2
APP_PACKAGES = frozenset({"ipykernel", "jupyter_client", "jupyter_server", "nbformat", "psutil", "tornado", "voila"})


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv : list of str, optional
        The arguments after ``dpviz``; the process's own by default.

    Returns
    -------
    int
        0: done; 1: a number does not hold; 2: the command could not be carried out, said in one sentence.
    """
    options = _parser().parse_args(argv)
    if options.command == "check" and options.file is not None:
        return check_file(options.file, tolerance=options.tolerance, as_json=options.json)
    if options.command == "check":
        if options.tolerance is not None:
            return _refuse("--tolerance is for a FILE of reference values; each witness has its own")
        return check(as_json=options.json)
    return run(options)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"dpviz: {message} (see dpviz --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dpviz", description="Open the gallery of live pages on differential privacy.")
    parser.add_argument("--version", action="version", version=f"dpviz {dpviz.__version__}")
    parser.add_argument("--port", type=int, help="port to listen on; 0 takes a free one (default: 8866)")
    parser.add_argument("--ip", help="address to listen on (default: 127.0.0.1, this machine only)")
    parser.add_argument("--base-url", help="path of the gallery behind a proxy, from / to / (default: /)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--max-kernels",
        type=int,
        help="pages open at once; one more reader is asked to come back later "
        "(default: what fills half of the available memory at 80 MB a page, at least 4)",
    )
    parser.add_argument(
        "--warm",
        type=int,
        help="pages kept ready of a notebook, for as many notebooks as lie in the top folder (default: 1; 0: none)",
    )
    commands = parser.add_subparsers(dest="command", metavar="")
    checking = commands.add_parser(
        "check",
        help="recompute published numbers and say which hold",
        description="Recompute the numbers that this project vouches for, or the reference values in FILE.",
    )
    checking.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a JSON list of reference values of your own, each with quantity, inputs and value",
    )
    checking.add_argument(
        "--tolerance",
        type=float,
        help="largest relative error in FILE (default: 1e-12, and 1e-9 for what only numeric composition can give)",
    )
    checking.add_argument("--json", action="store_true", help="print the record as JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve the gallery until it is stopped."""
    given = ("port", "ip", "base_url", "max_kernels", "warm")
    chosen = {name: getattr(options, name) for name in given if getattr(options, name) is not None}
    try:
        from dpviz.server import ServerSettings, serve

        settings = ServerSettings(**chosen, open_browser=not options.no_browser)
    except (FileNotFoundError, ValueError) as fault:
        return _refuse(str(fault))
    except ModuleNotFoundError as fault:
        return _refuse_without(fault)
    try:
        serve(settings, announce=lambda address: print(f"Gallery at {address}", flush=True))
    except ModuleNotFoundError as fault:
        return _refuse_without(fault)
    except KeyboardInterrupt:  # before the server had taken the signal over
        return 0
    except (OSError, UnicodeError) as fault:
        return _refuse(_why_not(fault, settings.ip, settings.port))
    return 0


def _refuse_without(fault: ModuleNotFoundError) -> int:
    """Refuse for want of a package of the ``app`` extra; any other one that is missing is a fault of ours."""
    package = (fault.name or "").partition(".")[0]
    if package not in APP_PACKAGES:
        raise fault
    return _refuse(f"the pages need the package {package}: install it with pip install 'dpviz[app]'")


def _why_not(fault: OSError | UnicodeError, ip: str, port: int) -> str:
    """Say in a sentence why the server cannot listen; raise the fault again if it is about something else."""
    number = getattr(fault, "errno", None)
    if number == errno.EADDRINUSE:
        return f"port {port} is in use: choose another one with --port"
    if number in (errno.EACCES, errno.EPERM):
        return f"port {port} may not be used by this user: choose one above 1023 with --port"
    if number == errno.EADDRNOTAVAIL or isinstance(fault, socket.gaierror | UnicodeError):
        return f"{ip!r} is not an address of this machine"
    if number is None:
        return str(fault)
    raise fault


def _refuse(sentence: str) -> int:
    print(f"dpviz: {sentence}", file=sys.stderr)
    return REFUSED


def check(*, as_json: bool) -> int:
    """Recompute the verification record, print each number, and fail if one does not hold."""
    from dpviz.accounting.verification import verify

    witnesses = verify()
    held = sum(witness.holds for witness in witnesses)
    if as_json:
        print(json.dumps([asdict(witness) for witness in witnesses], indent=2))
    else:
        for witness in witnesses:
            print(_line(witness))
        print(f"{held} of {len(witnesses)} hold")
    return 0 if held == len(witnesses) else FAILED


def check_file(path: str, *, tolerance: float | None, as_json: bool) -> int:
    """Recompute the reference values in a file, print each relative error, and fail if one is too large."""
    from dpviz.accounting.reference import ReferenceFileError, compare_reference, read_reference

    try:
        comparisons = compare_reference(read_reference(path), tolerance=tolerance)
    except (ReferenceFileError, dpviz.DomainError) as fault:
        return _refuse(str(fault))
    within = sum(one.is_within for one in comparisons)
    if as_json:
        print(json.dumps([_record(one) for one in comparisons], indent=2))
    else:
        for one in comparisons:
            print(_entry(one))
        print(f"{within} of {len(comparisons)} within tolerance")
    return 0 if within == len(comparisons) else FAILED


def _record(one: "Comparison") -> dict[str, object]:
    """Return an entry for JSON, which knows no infinity: an error that is none is null."""
    record = {**asdict(one), "is_within": one.is_within}
    return {name: None if value in (math.inf, -math.inf) else value for name, value in record.items()}


def _entry(one: "Comparison") -> str:
    """Return what one entry of a file says."""
    verdict = "within " if one.is_within else "NOT WITHIN"
    found = f"cannot be computed: {one.fault}" if one.computed is None else f"relative error {one.error:.1e}"
    if one.computed is not None:
        found += f" (at most {one.tolerance:g}); {one.computed!r}, reference {one.reference}"
    return f"{verdict}  {one.name}  {one.quantity} {one.inputs}: {found}"


def _line(witness: "Witness") -> str:
    """Return what one witness says."""
    verdict = "holds" if witness.holds else "FAILS"
    given = ", ".join(f"{name}={value}" for name, value in witness.inputs)
    wanted = witness.reference if witness.relation == "equal" else f"{witness.relation} {witness.reference}"
    return (
        f"{verdict}  {witness.name}\n"
        f"       {witness.quantity}({given}) = {witness.computed!r}\n"
        f"       reference {wanted}, within {witness.tolerance:g}; {witness.source}"
    )
