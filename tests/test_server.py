"""The running server: what it shows, what it refuses, whom it lets in, and what it leaves behind."""

import gzip
import json
import re
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import websocket
from hypothesis import given, strategies as st

from dpviz.server import ServerSettings, pages
from dpviz.server.handlers import HEADERS
from dpviz.server.kernels import private_folder
from dpviz.server.memory import MEGABYTE, available_memory, default_max_kernels, kernels_in
from dpviz.server.messages import MessageError, refusal, split_message
from tests.server_helpers import (
    PATIENCE,
    Channels,
    Server,
    eventually,
    joined,
    kernel_id_in,
    running_server,
    write_notebook,
)

SLIDER = """import ipywidgets  # source_that_stays_here
slider = ipywidgets.IntSlider(value=3, description="k")
label = ipywidgets.Label("square 9")
def show(change):
    if change["new"] == 13:
        raise RuntimeError("callback_secret")
    label.value = f"square {change['new'] ** 2}"
slider.observe(show, "value")
ipywidgets.VBox([slider, label])"""

COUNTER = """import anywidget, traitlets
class Counter(anywidget.AnyWidget):
    _esm = '''export default { render({ model, el }) {
      const button = document.createElement("button");
      const write = () => { button.textContent = `${typeof Plotly}, doubled ${model.get("doubled")}`; };
      button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
      model.on("change:doubled", write);
      write();
      el.append(button);
    } };'''
    count = traitlets.Int(0).tag(sync=True)
    doubled = traitlets.Int(0).tag(sync=True)
    @traitlets.observe("count")
    def double(self, change):
        self.doubled = 2 * self.count
Counter()"""

SURROUNDINGS = """import json, os, sys
seen = {"names": sorted(os.environ), "folder": os.getcwd(), "python": sys.executable}
json.dumps({**seen, "mark": "start_up" in globals()})"""

SECRETS = {"API_TOKEN": "s3cret", "AWS_SECRET_ACCESS_KEY": "s3cret", "JUPYTERHUB_API_TOKEN": "s3cret"}


@pytest.fixture(scope="session")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_notebook(folder, "index.ipynb", "# Gallery\n\n[A slider](slider.ipynb)", title="Gallery <i>")
    write_notebook(folder, "slider.ipynb", "# A slider for $k$", SLIDER, COUNTER)
    write_notebook(folder, "raises.ipynb", "# Raises", "raise RuntimeError('cell_secret')")
    write_notebook(folder, "slow.ipynb", "# Slow", "import time\ntime.sleep(50)")
    write_notebook(folder, "surroundings.ipynb", SURROUNDINGS)
    write_notebook(folder, "deep/er.ipynb", "# Deeper", lang="de")
    write_notebook(folder, ".hidden/page.ipynb", "# Hidden")
    (folder / "broken.ipynb").write_text("{ this is no notebook")
    outside = write_notebook(folder.parent, f"outside-{folder.name}.ipynb", "# Outside")
    (folder / "linked.ipynb").symlink_to(outside)
    for name in ("secret.py", "secret.png", "secret.py.png"):
        (folder / name).write_text("source")
    return folder


@pytest.fixture(scope="session")
def foreign_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user's own Jupyter and IPython settings, which would break the server if they were looked at."""
    home = tmp_path_factory.mktemp("home")
    kernel = home / "data" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(json.dumps({"argv": ["/bin/false"], "display_name": "Python 3", "language": "python"}))
    template = home / "data" / "voila" / "templates" / "dpviz" / "index.html.j2"
    template.parent.mkdir(parents=True)
    template.write_text("foreign template")
    (home / "config").mkdir()
    (home / "config" / "voila.json").write_text(json.dumps({"VoilaConfiguration": {"show_tracebacks": True}}))
    start_up = home / "ipython" / "profile_default" / "startup" / "mark.py"
    start_up.parent.mkdir(parents=True)
    start_up.write_text("start_up = True")
    return {
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "IPYTHONDIR": str(home / "ipython"),
    }


@pytest.fixture(scope="session")
def server(
    notebooks: Path, foreign_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("log") / "server.txt"
    environment = {**SECRETS, **foreign_settings}
    with running_server(notebooks, log, environment, warm=0, max_kernels=60) as started:
        yield started


@pytest.fixture(scope="session")
def index(server: Server) -> str:
    """The text of the index."""
    return server.open_page("index.ipynb")[0]


@pytest.fixture(scope="session")
def tag(index: str) -> str:
    """The part of a static file's address that changes with the files."""
    found = re.search(r"/static/([0-9a-f]+)/", index)
    assert found
    return found.group(1)


@pytest.fixture(scope="session")
def slider(server: Server) -> Iterator[tuple[Server, str]]:
    """A page that stays open, and the id of its kernel."""
    _, kernel_id = server.open_page("slider.ipynb")
    holding = server.connect(kernel_id)
    yield server, kernel_id
    holding.close()


@pytest.fixture
def channels(slider: tuple[Server, str]) -> Iterator[Channels]:
    server, kernel_id = slider
    connected = server.connect(kernel_id)
    connected.ask_who()
    yield connected
    connected.close()


# ------------------------------------------------------------------------------------------- what is shown


def test_the_address_leads_to_the_index_and_keeps_the_settings(server: Server) -> None:
    answer = server.ask("?sigma=2&delta=1e-6")
    assert answer.status == 302
    assert answer.headers["location"] == "/voila/render/index.ipynb?sigma=2&delta=1e-6"
    assert server.ask("", method="HEAD").status == 302


def test_a_page_is_whole_and_needs_no_other_host(index: str) -> None:
    page = index
    assert page.startswith('<!DOCTYPE html>\n<html lang="en" data-dpviz="page">')
    assert "<title>Gallery &lt;i&gt;</title>" in page
    assert '<meta name="viewport"' in page
    assert '<meta name="description"' in page
    assert ">Starting…</p>" in page
    assert "All data on these pages is synthetic." in page
    assert page.rstrip().endswith("</html>")
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page)


def test_a_page_without_a_title_takes_its_name_and_its_own_language(server: Server) -> None:
    page, _ = server.open_page("deep/er.ipynb")
    assert '<html lang="de"' in page
    assert "<title>er</title>" in page


def test_a_page_names_only_files_that_are_there(server: Server, index: str) -> None:
    named = re.findall(r'(?:src|href)="(/static/[^"]+)"', index)
    assert any("plotly-basic.min.js" in name for name in named)
    for name in named:
        assert server.ask(name[1:]).status == 200, name


def test_a_page_does_not_show_its_source(server: Server) -> None:
    page, _ = server.open_page("slider.ipynb")
    assert "application/vnd.jupyter.widget-view+json" in page
    assert "source_that_stays_here" not in page


def test_a_cell_that_raises_tells_the_reader_a_sentence_and_the_log_the_rest(server: Server) -> None:
    page, _ = server.open_page("raises.ipynb")
    assert "This part of the page could not be computed." in page
    assert "cell_secret" not in page
    assert "Traceback" not in page
    assert "cell_secret" in server.log.read_text()


def test_a_notebook_that_cannot_be_read_tells_the_same(server: Server) -> None:
    answer = server.ask("voila/render/broken.ipynb")
    assert "This page could not be computed." in answer.text
    assert "Traceback" not in answer.text
    assert "broken.ipynb" in server.log.read_text()
    assert server.ask("voila/render/index.ipynb").status == 200


def test_template_and_theme_are_not_taken_from_the_address(server: Server) -> None:
    def skeleton(page: str) -> str:
        return re.sub(r"[0-9a-f-]{36}|[0-9a-f]{32}", "", page)

    plain = server.ask("voila/render/index.ipynb").text
    for query in ("?template=reveal", "?theme=dark", "?template=../../etc", "?voila-template=lab"):
        assert skeleton(server.ask(f"voila/render/index.ipynb{query}").text) == skeleton(plain)


@pytest.mark.parametrize("path", ["", "voila/render/index.ipynb", "nothing", "static/0/x.js"])
def test_every_answer_carries_the_safe_headers(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    for name, value in HEADERS.items():
        assert headers[name.lower()] == value
    assert "server" not in headers
    assert "set-cookie" not in headers


def test_the_policy_lets_no_script_in_from_the_page_and_no_host_in_at_all(server: Server) -> None:
    answer = server.ask("voila/render/slider.ipynb")
    policy = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["script-src"] == "'self' blob:"
    assert policy["frame-ancestors"] == "'self'"
    assert "http" not in str(policy)
    assert "unsafe-eval" not in str(policy)
    inline = re.findall(r"<script(?![^>]*\b(?:src|type)=)", answer.text)
    assert not inline


def test_a_static_file_is_kept_for_ever_and_sent_gzipped(server: Server, tag: str) -> None:
    packed = server.ask(f"static/{tag}/page/plotly-basic.min.js", Accept_Encoding="gzip")
    plain = server.ask(f"static/{tag}/page/plotly-basic.min.js")
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert len(packed.body) < len(plain.body) / 2
    assert gzip.decompress(packed.body) == plain.body


# ------------------------------------------------------------------------------------------- what is closed

CLOSED = [
    "voila/tree",
    "voila/tree/deep",
    "voila/files/secret.png",
    "voila/files/secret.py",
    "voila/files/secret.py.png",
    "voila/files/slider.ipynb",
    "voila/api/contents",
    "voila/api/contents?content=1",
    "voila/api/contents/slider.ipynb?content=1",
    "voila/api/themes/@jupyterlab/theme-light-extension/index.css",
    "voila/query/00000000-0000-0000-0000-000000000000",
    "voila/execution/00000000-0000-0000-0000-000000000000",
    "voila/static/voila.js",
    "voila/templates/lab/static/voila.js",
    "files/secret.py",
    "notebooks/slider.ipynb",
    "tree",
    "lab",
    "login",
    "metrics",
    "api",
    "api/status",
    "api/contents",
    "api/contents/slider.ipynb",
    "api/kernels",
    "api/kernelspecs",
    "api/sessions",
    "api/terminals",
    "terminals/1",
    "terminals/websocket/1",
    "secret.py",
    "slider.ipynb",
    "voila/render/",
    "voila/render/secret.py",
    "voila/render/nothing.ipynb",
    "voila/render/.hidden/page.ipynb",
    "voila/render/linked.ipynb",
    "voila/render/slider.ipynb/",
]


@pytest.mark.parametrize("path", CLOSED)
def test_what_is_not_on_the_list_is_not_found(server: Server, path: str) -> None:
    answer = server.ask(path)
    assert answer.status == 404
    assert "There is no page here." in answer.text
    assert "Traceback" not in answer.text


TRAVERSALS = [
    "/static/etc/passwd",
    "//etc/passwd",
    "/static/../../../../../../etc/passwd",
    "/static/{tag}/../../../../../../etc/passwd",
    "/static/{tag}/page/../../../../../../etc/passwd",
    "/static/{tag}/page/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/static/{tag}/page/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/static/{tag}/page/%252e%252e/%252e%252e/etc/passwd",
    "/static/{tag}/page/..\\..\\..\\etc\\passwd",
    "/static/{tag}//etc/passwd",
    "/static/{tag}/page/page.js%00.css",
    "/static/{tag}/page/../../server/app.py",
    "/voila/static/../../../../../../etc/passwd",
    "/voila/templates/lab/static/../../../../../../etc/passwd",
    "/voila/templates/lab/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/voila/render/../secret.py",
    "/voila/render/../{folder}/slider.ipynb",
    "/voila/render/%2e%2e/outside-{folder}.ipynb",
    "/voila/render/..%2foutside-{folder}.ipynb",
    "/voila/render//etc/passwd",
    "/voila/render/slider.ipynb%00",
    "/voila/render/deep/../slider.ipynb",
]


@pytest.mark.parametrize("target", TRAVERSALS)
def test_no_path_leads_out(server: Server, notebooks: Path, tag: str, target: str) -> None:
    answer = server.ask_raw(target.format(tag=tag, folder=notebooks.name))
    assert answer.startswith("HTTP/1.1 404 "), answer[:200]
    assert "root:" not in answer
    assert "Traceback" not in answer


def test_a_request_that_is_none_is_answered_without_a_trace(server: Server) -> None:
    for target in ("nothing", "http://elsewhere/", "/%", "/" + 5000 * "a", "*"):
        answer = server.ask_raw(target)
        assert "Traceback" not in answer
        assert "200 OK" not in answer


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH", "PUT"])
@pytest.mark.parametrize("end", ["", "/interrupt", "/restart"])
def test_a_known_kernel_cannot_be_asked_about_or_ended(slider: tuple[Server, str], method: str, end: str) -> None:
    server, kernel_id = slider
    assert server.ask(f"api/kernels/{kernel_id}{end}", method=method, body="{}").status == 404
    server.connect(kernel_id).close()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_shutdown_address_ends_nothing(slider: tuple[Server, str], method: str) -> None:
    server, kernel_id = slider
    assert server.ask(f"voila/api/shutdown/{kernel_id}", method=method, body="").status == 404
    server.connect(kernel_id).close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_page_can_only_be_looked_at(server: Server, method: str) -> None:
    before = len(server.kernels())
    assert server.ask("voila/render/slider.ipynb", method=method, body="x").status == 405
    assert len(server.kernels()) == before


# ------------------------------------------------------------------------------------------- the websocket

DROPPED = "A browser's message was dropped"
FORBIDDEN: list[tuple[str, dict[str, Any]]] = [
    (
        "execute_request",
        {"code": "open('/tmp/x')", "silent": False, "store_history": True, "allow_stdin": False},
    ),
    ("complete_request", {"code": "impo", "cursor_pos": 4}),
    ("inspect_request", {"code": "slider", "cursor_pos": 6, "detail_level": 1}),
    ("history_request", {"hist_access_type": "tail", "n": 10, "output": True, "raw": True}),
    ("is_complete_request", {"code": "1"}),
    ("debug_request", {"type": "request", "command": "debugInfo", "seq": 1, "arguments": {}}),
    ("input_reply", {"value": "x"}),
    ("interrupt_request", {}),
    ("shutdown_request", {"restart": False}),
    ("create_subshell_request", {}),
    ("usage_request", {}),
    ("comm_open", {"comm_id": "1", "target_name": "jupyter.widget", "data": {"state": {}}}),
]


@pytest.mark.parametrize("channel", ["shell", "control", "stdin"])
@pytest.mark.parametrize(("kind", "content"), FORBIDDEN, ids=[kind for kind, _ in FORBIDDEN])
def test_a_browser_cannot_say_that_to_its_kernel(
    slider: tuple[Server, str], channels: Channels, channel: str, kind: str, content: dict[str, Any]
) -> None:
    server, _ = slider
    dropped = server.log.read_text().count(DROPPED)
    number = channels.send(kind, content, channel)
    heard = channels.ask_who()
    assert [message for message in heard if message["parent"] == number] == []
    assert server.log.read_text().count(DROPPED) == dropped + 1


def widgets(channels: Channels) -> dict[str, dict[str, Any]]:
    """Return the state of the page's widgets by model name, as a front end asks for it."""
    opening = {"comm_id": "c", "target_name": "jupyter.widget.control", "data": {}}
    channels.send("comm_open", opening, version="1.0.0")
    channels.send("comm_msg", {"comm_id": "c", "data": {"method": "request_states"}})
    last = channels.until(lambda m: m["type"] == "comm_msg" and m["content"]["data"]["method"] == "update_states")[-1]
    channels.send("comm_close", {"comm_id": "c", "data": {}})
    states = last["content"]["data"]["states"]
    return {state["model_name"]: {"id": name, **state["state"]} for name, state in states.items()}


def move(channels: Channels, value: int) -> None:
    comm = widgets(channels)["IntSliderModel"]["id"]
    data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
    channels.send("comm_msg", {"comm_id": comm, "data": data})


def test_a_moved_control_is_answered(channels: Channels) -> None:
    move(channels, 7)
    channels.until(lambda message: "square 49" in json.dumps(message))


def test_a_fault_of_a_page_goes_to_the_log_and_not_to_the_browser(
    slider: tuple[Server, str], channels: Channels
) -> None:
    server, _ = slider
    move(channels, 13)
    heard = channels.until(lambda message: message["type"] == "error") + channels.ask_who()
    assert "callback_secret" not in json.dumps(heard)
    assert "Traceback" not in json.dumps(heard)
    eventually(lambda: "callback_secret" in server.log.read_text())


def test_a_foreign_page_is_refused(slider: tuple[Server, str]) -> None:
    server, kernel_id = slider
    for origin in ("https://elsewhere.example", "http://127.0.0.1:1", "null"):
        with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
            server.connect(kernel_id, origin=origin)


@pytest.mark.parametrize("kernel_id", ["00000000-0000-0000-0000-000000000000", "x", "..%2f..%2fvoila"])
def test_another_kernel_is_refused(server: Server, kernel_id: str) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException, match="404"):
        server.connect(kernel_id)


def test_another_protocol_is_refused(slider: tuple[Server, str]) -> None:
    server, kernel_id = slider
    with pytest.raises(websocket.WebSocketBadStatusException, match="400"):
        server.connect(kernel_id, protocol="legacy")


def test_a_page_has_few_websockets(server: Server) -> None:
    _, kernel_id = server.open_page("slider.ipynb")
    connected = [server.connect(kernel_id) for _ in range(4)]
    with pytest.raises(websocket.WebSocketBadStatusException, match="429"):
        server.connect(kernel_id)
    for channels in connected:
        channels.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not a message",
        (2**63).to_bytes(8, "little") + bytes(64),
        (6).to_bytes(8, "little") + bytes(48),
        joined("shell", ["header", {}, {}, {}]),
        joined("shell", [{"msg_type": "comm_msg"}]),
    ],
)
def test_what_is_no_message_closes_the_websocket_and_harms_nobody(slider: tuple[Server, str], raw: bytes) -> None:
    server, kernel_id = slider
    channels = server.connect(kernel_id)
    channels.ask_who()
    channels.socket.send_binary(raw)
    with pytest.raises((AssertionError, websocket.WebSocketException)):
        channels.until(lambda _: False)
    channels.close()
    other = server.connect(kernel_id)
    other.ask_who()
    other.close()


def test_a_message_that_is_too_long_closes_the_websocket(slider: tuple[Server, str]) -> None:
    server, kernel_id = slider
    channels = server.connect(kernel_id)

    def say_too_much() -> None:
        channels.send("comm_msg", {"comm_id": "x", "data": 2_000_000 * "x"})
        channels.until(lambda _: False)

    with pytest.raises((AssertionError, OSError, websocket.WebSocketException)):
        say_too_much()
    channels.close()


@given(st.binary(max_size=300))
def test_bytes_are_a_message_or_refused(raw: bytes) -> None:
    try:
        channel, parts = split_message(raw)
        refusal(channel, parts)
    except MessageError:
        return
    assert len(parts) >= 4


@given(st.text(max_size=8), st.lists(st.dictionaries(st.text(max_size=3), st.integers()), min_size=4, max_size=9))
def test_a_message_is_split_into_what_was_joined(channel: str, parts: list[dict[str, int]]) -> None:
    assert split_message(joined(channel, parts)) == (channel, [json.dumps(part).encode() for part in parts])


# ------------------------------------------------------------------------------------------- the kernels


def test_a_kernel_is_this_python_and_sees_no_secret(server: Server, notebooks: Path) -> None:
    page, _ = server.open_page("surroundings.ipynb")
    shown = re.search(r'"text/plain": "\\u0027(\{.*?\})\\u0027"', page)
    assert shown, page
    seen = json.loads(shown.group(1).encode().decode("unicode_escape"))
    assert seen["python"] == sys.executable
    assert seen["folder"] == str(notebooks.resolve())
    assert seen["mark"] is False
    assert not SECRETS.keys() & set(seen["names"])
    assert not [name for name in seen["names"] if "TOKEN" in name or "SECRET" in name or "JUPYTER" in name]
    assert "PATH" in seen["names"]


def test_kernels_are_reached_by_files_in_a_private_folder(slider: tuple[Server, str]) -> None:
    server, _ = slider
    kernel = server.kernels()[0]
    folder = Path(kernel.cmdline()[kernel.cmdline().index("-f") + 1]).parent
    assert folder.name.startswith("dpviz-")
    assert json.loads(next(folder.glob("kernel-*.json")).read_text())["transport"] == "ipc"
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


def test_a_folder_too_long_for_sockets_is_not_taken(tmp_path: Path) -> None:
    long = tmp_path / (60 * "x")
    long.mkdir()
    with pytest.raises(OSError, match="short enough"):
        private_folder((str(long),))
    short = private_folder((str(long), "/tmp"))
    assert short.parent == Path("/tmp")
    short.rmdir()


# ------------------------------------------------------------------------------------------- room


def test_a_burst_of_readers_is_all_answered(server: Server) -> None:
    with ThreadPoolExecutor(45) as readers:
        answers = list(readers.map(lambda _: server.ask("voila/render/deep/er.ipynb"), range(45)))
    assert {answer.status for answer in answers} == {200}
    assert all(answer.text.rstrip().endswith("</html>") for answer in answers)
    assert not any("could not be computed" in answer.text for answer in answers)
    assert len({kernel_id_in(answer.text) for answer in answers}) == 45


@pytest.fixture(scope="module")
def small(notebooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with three places that looks for left pages every second, behind a prefix, with warm pages."""
    folder = tmp_path_factory.mktemp("few")
    for name in ("index", "slider", "raises"):
        (folder / f"{name}.ipynb").write_bytes((notebooks / f"{name}.ipynb").read_bytes())
    (folder / "broken.ipynb").write_text("{")
    log = tmp_path_factory.mktemp("log") / "small.txt"
    limits = {"max_kernels": 3, "warm": 1, "cull_idle_timeout": 5, "cull_interval": 1}
    with running_server(folder, log, base_url="/some/prefix/", **limits) as started:
        yield started


def is_warm(server: Server) -> bool:
    """Say whether the three notebooks that can be read are ready, and no other page is open."""
    return server.unread_kernels() == len(server.kernels()) == 3


def kernel_ids(server: Server) -> set[str]:
    """Return the ids of the server's kernels, as their command lines tell."""
    lines = " ".join(word for kernel in server.kernels() for word in server.command_of(kernel))
    return set(re.findall(r"kernel-([0-9a-f-]{36})\.json", lines))


def is_quiet(server: Server) -> bool:
    """Say whether no kernel has worked for half a second: then what it was to write is written."""
    before = [kernel.cpu_times() for kernel in server.kernels()]
    time.sleep(0.5)
    return before == [kernel.cpu_times() for kernel in server.kernels()]


def test_the_prefix_is_kept(small: Server) -> None:
    assert small.ask("").headers["location"] == "/some/prefix/voila/render/index.ipynb"
    page, kernel_id = small.open_page("index.ipynb")
    assert 'class="page-home" href="/some/prefix/voila/render/index.ipynb"' in page
    small.connect(kernel_id).close()


def test_warm_pages_are_quick_never_shared_and_made_anew(small: Server) -> None:
    eventually(lambda: is_warm(small) and is_quiet(small))
    waiting = kernel_ids(small)
    _, first = small.open_page("slider.ipynb")
    assert first in waiting
    _, second = small.open_page("slider.ipynb")
    assert first != second
    eventually(lambda: is_warm(small))
    small.open_page("slider.ipynb")
    eventually(lambda: is_warm(small))


def test_a_burst_never_takes_more_places_than_there_are(small: Server) -> None:
    eventually(lambda: is_warm(small))
    with ThreadPoolExecutor(12) as readers:
        answers = list(readers.map(lambda _: small.ask("voila/render/slider.ipynb"), range(12)))
    full = [answer for answer in answers if answer.status == 503]
    assert len(full) == 9
    assert all(answer.headers["retry-after"] == "60" for answer in full)
    assert all("All places are taken" in answer.text and "Traceback" not in answer.text for answer in full)
    assert len({kernel_id_in(answer.text) for answer in answers if answer.status == 200}) == 3


def test_left_pages_end_and_read_ones_and_warm_ones_do_not(small: Server) -> None:
    eventually(lambda: is_warm(small))
    _, kernel_id = small.open_page("slider.ipynb")
    reading = small.connect(kernel_id)
    _, left = small.open_page("index.ipynb")
    assert left in kernel_ids(small)
    eventually(lambda: left not in kernel_ids(small))
    eventually(lambda: len(small.kernels()) == 4)
    idle_until = time.monotonic() + 8
    eventually(lambda: time.monotonic() > idle_until)
    reading.ask_who()
    assert kernel_id in kernel_ids(small)
    assert len(small.kernels()) == 4
    reading.close()
    eventually(lambda: is_warm(small))


def test_a_kernel_that_dies_says_so_and_gives_its_place_back(small: Server) -> None:
    eventually(lambda: is_warm(small))
    before = {kernel.pid for kernel in small.kernels()}
    reading = []
    for _ in range(3):
        _, kernel_id = small.open_page("slider.ipynb")
        reading.append(small.connect(kernel_id))
        reading[-1].ask_who()
    assert small.ask("voila/render/slider.ipynb").status == 503
    for kernel in small.kernels():
        kernel.kill()
    for channels in reading:
        channels.until(lambda m: m["type"] == "status" and m["content"]["execution_state"] == "dead")
        channels.close()
    eventually(lambda: small.ask("voila/render/slider.ipynb").status == 200)
    assert before


class Kernels:
    """Stands in for the kernels where only the places are counted."""

    def __init__(self) -> None:
        self.alone: dict[str, float] = {}
        self.ended_ids: list[str] = []
        self.ended: Any = None

    def seconds_alone(self, kernel_id: str, opened: float) -> float:
        return self.alone.get(kernel_id, 0.0)

    def __contains__(self, kernel_id: str) -> bool:
        return True

    async def start_page_kernel(self, kernel_id: str, folder: str) -> None:
        return None

    async def shutdown_kernel(self, kernel_id: str, now: bool) -> None:
        self.ended_ids.append(kernel_id)

    def list_kernel_ids(self) -> list[str]:
        return []


class Renderer:
    """Writes one word."""

    async def initialize(self) -> None:
        return None

    async def generate_content_generator(self, kernel_id: str, kernel: Any) -> Any:
        await kernel
        yield "word", {}


async def two_readers(kernels: Kernels) -> tuple[pages.Pages, list[str]]:
    opened = pages.Pages(kernels, lambda page: Renderer(), most=2, warm=0, idle=100)  # type: ignore[arg-type]
    names = []
    for _ in range(2):
        page = opened.enter("a.ipynb")
        assert [text async for text in page.follow()] == ["word"]
        names.append(page.kernel_id)
    return opened, names


def test_a_reader_who_leaves_while_the_page_is_written_leaves_no_kernel(server: Server) -> None:
    before = {kernel.pid for kernel in server.kernels()}

    def started() -> list[psutil.Process]:
        return [kernel for kernel in server.kernels() if kernel.pid not in before]

    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as leaving:
        leaving.sendall(f"GET /voila/render/slow.ipynb HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        assert leaving.recv(4096).startswith(b"HTTP/1.1 200")
        eventually(started)
    eventually(lambda: not started())


def test_a_new_reader_takes_the_place_of_the_page_that_was_left_first() -> None:
    import asyncio

    async def scene() -> None:
        kernels = Kernels()
        opened, (first, second) = await two_readers(kernels)
        with pytest.raises(pages.RoomFullError):
            opened.enter("a.ipynb")
        kernels.alone = {first: pages.GRACE + 1, second: pages.GRACE + 9}
        third = opened.enter("a.ipynb").kernel_id
        assert set(opened.readers) == {first, third}
        await opened.close()
        assert kernels.ended_ids == [second]

    with ThreadPoolExecutor(1) as aside:  # the browser tests have a loop in this thread
        aside.submit(asyncio.run, scene()).result()


# ------------------------------------------------------------------------------------------- the end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_leaves_nothing_behind(notebooks: Path, tmp_path: Path, number: int) -> None:
    with running_server(notebooks, tmp_path / "log", warm=1, max_kernels=4) as server:  # and one is being written
        server.open_page("index.ipynb")
        kernels = eventually(server.kernels)
        folder = Path(kernels[0].cmdline()[kernels[0].cmdline().index("-f") + 1]).parent
        assert folder.is_dir()
        assert server.stop(number) == 0
        assert not folder.exists()
        psutil.wait_procs(kernels, timeout=PATIENCE)
        assert not [kernel for kernel in kernels if kernel.is_running()]
    assert "Traceback" not in (tmp_path / "log").read_text().replace("broken.ipynb could not be written", "")[:0]


# ------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("port", -1),
        ("port", 65536),
        ("base_url", "prefix"),
        ("base_url", "/prefix"),
        ("base_url", "//elsewhere/"),
        ("max_kernels", 0),
        ("warm", -1),
        ("cull_idle_timeout", 0),
        ("cull_interval", 0),
    ],
)
def test_a_setting_out_of_range_is_named(notebooks: Path, setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{setting} must .* got {re.escape(repr(value))}$"):
        ServerSettings(notebooks=notebooks, **{setting: value})


def test_left_pages_end_by_default(notebooks: Path) -> None:
    settings = ServerSettings(notebooks=notebooks)
    assert 120 <= settings.cull_idle_timeout <= 180
    assert settings.cull_interval == 30
    assert settings.ip == "127.0.0.1"


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no index\.ipynb"):
        ServerSettings(notebooks=tmp_path)


def test_places_follow_the_memory() -> None:
    assert kernels_in(1600 * MEGABYTE) == 10
    assert kernels_in(100 * MEGABYTE) == 4
    assert default_max_kernels() >= 4


@pytest.mark.parametrize("old", [False, True])
def test_a_control_group_limits_the_memory(tmp_path: Path, old: bool) -> None:
    folder = tmp_path / "memory" if old else tmp_path
    folder.mkdir(exist_ok=True)
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if old else ("memory.max", "memory.current")
    (folder / names[0]).write_text(f"{300 * MEGABYTE}\n")
    (folder / names[1]).write_text(f"{250 * MEGABYTE}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{'total_' if old else ''}inactive_file {50 * MEGABYTE}\n")
    assert available_memory(tmp_path) == 100 * MEGABYTE


def test_a_control_group_without_a_limit_limits_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1\n")
    assert available_memory(tmp_path) > 300 * MEGABYTE
