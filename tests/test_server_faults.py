"""Kinds of fault that other servers of live notebooks were reported for; each test is named after its fault."""

import http.client
import json
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from dpviz.server.assets import Assets
from tests.server_helpers import PATIENCE, Channels, Server, eventually, kernel_id_in, running_server, write_notebook

ROOT = Path(__file__).parent.parent
BUSY = """import ipywidgets, time  # busy
slider = ipywidgets.IntSlider()
slider.observe(lambda change: time.sleep(600), "value")
slider"""
OUTPUT = """import ipywidgets
out = ipywidgets.Output()
slider = ipywidgets.IntSlider()
def show(change):
    with out:
        raise RuntimeError("output_secret")
slider.observe(show, "value")
ipywidgets.VBox([slider, out])"""
AT_START = """import ipywidgets
out = ipywidgets.Output()
with out:
    raise RuntimeError("start_secret")
out"""
SURROUNDINGS = "import json, os\njson.dumps(sorted(f'{k}={v}' for k, v in os.environ.items()))"
HOSTILE = (
    "sigma=nan",
    "k=1e999",
    "k=-1",
    "sigma=__import__('os')",
    "k=<script>alert(1)</script>",
    "k=%3Cscript%3Ealert(1)%3C/script%3E",
    "theme=%22%3E%3Cscript%3E",
    "embed=1&k=%0d%0aSet-Cookie:%20x=1",
    f"k={10_000 * '9'}",
)


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    write_notebook(folder, "index.ipynb", "# A page", "1 + 1")
    write_notebook(folder, "busy.ipynb", "# Busy", BUSY)
    write_notebook(folder, "output.ipynb", "# An output", OUTPUT)
    write_notebook(folder, "start.ipynb", "# An output at the start", AT_START)
    write_notebook(folder, "slow.ipynb", "# Slow", "import time\ntime.sleep(50)")
    write_notebook(folder, "surroundings.ipynb", SURROUNDINGS)
    write_notebook(folder, "missing.ipynb", "# Missing", "import no_such_package_here", title="A page that lacks")
    return folder


@pytest.fixture(scope="module")
def server(notebooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that ends left pages after a second."""
    log = tmp_path_factory.mktemp("log") / "server.txt"
    with running_server(notebooks, log, warm=0, max_kernels=30, cull_idle_timeout=1, cull_interval=1) as started:
        yield started


@pytest.fixture(scope="module")
def warm(notebooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a page of each notebook ready."""
    log = tmp_path_factory.mktemp("log") / "server.txt"
    with running_server(notebooks, log, warm=1, max_kernels=30) as started:
        yield started


def move_slider(channels: Channels) -> None:
    """Move the page's slider, as its browser does."""
    channels.send("comm_open", {"comm_id": "c", "target_name": "jupyter.widget.control", "data": {}}, version="1.0.0")
    channels.send("comm_msg", {"comm_id": "c", "data": {"method": "request_states"}})
    last = channels.until(lambda m: m["type"] == "comm_msg" and m["content"]["data"]["method"] == "update_states")[-1]
    states = last["content"]["data"]["states"]
    slider = next(name for name, state in states.items() if state["model_name"] == "IntSliderModel")
    data = {"method": "update", "state": {"value": 5}, "buffer_paths": []}
    channels.send("comm_msg", {"comm_id": slider, "data": data})


def kernels_of(server: Server, kernel_id: str) -> bool:
    return any(kernel_id in " ".join(server.command_of(kernel)) for kernel in server.kernels())


# ------------------------------------------------------------------------------------------- disclosure


def test_an_error_inside_an_output_shows_its_trace(server: Server) -> None:
    _, kernel_id = server.open_page("output.ipynb")
    channels = server.connect(kernel_id)
    move_slider(channels)
    heard = channels.until(lambda message: message["type"] == "error") + channels.ask_who()
    channels.close()
    assert "output_secret" not in json.dumps(heard)
    assert "Traceback" not in json.dumps(heard)
    eventually(lambda: "output_secret" in server.log.read_text())


def test_an_error_inside_an_output_at_the_start_shows_its_trace(server: Server) -> None:
    page, kernel_id = server.open_page("start.ipynb")
    channels = server.connect(kernel_id)
    channels.send("comm_open", {"comm_id": "c", "target_name": "jupyter.widget.control", "data": {}}, version="1.0.0")
    channels.send("comm_msg", {"comm_id": "c", "data": {"method": "request_states"}})
    heard = channels.until(lambda m: m["type"] == "comm_msg" and m["content"]["data"]["method"] == "update_states")
    channels.close()
    for text in (page, json.dumps(heard)):
        assert "start_secret" not in text
        assert "Traceback" not in text


def test_a_page_whose_import_fails_names_a_flag_of_the_server_only(server: Server) -> None:
    page, _ = server.open_page("missing.ipynb")
    assert "<title>A page that lacks</title>" in page
    assert "Please report it; reload to try again." in page
    for inner in ("no_such_package_here", "show_tracebacks", "Traceback"):
        assert inner not in page
    assert "no_such_package_here" in server.log.read_text()


# ------------------------------------------------------------------------------------------- lifetime


def test_the_kernel_of_a_closed_tab_goes_on_because_it_is_busy(server: Server) -> None:
    _, kernel_id = server.open_page("busy.ipynb")
    channels = server.connect(kernel_id)
    move_slider(channels)
    channels.until(lambda m: m["type"] == "status" and m["content"]["execution_state"] == "busy")
    channels.close()
    eventually(lambda: not kernels_of(server, kernel_id))


def test_kernels_of_many_visits_pile_up(server: Server) -> None:
    visited = []
    for _ in range(12):
        _, kernel_id = server.open_page("index.ipynb")
        server.connect(kernel_id).close()
        visited.append(kernel_id)
    eventually(lambda: not any(kernels_of(server, kernel_id) for kernel_id in visited))


def test_a_reader_waits_before_an_empty_window(server: Server) -> None:
    """The head and the line that says that the page starts come before the first cell has run."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
    asked = time.monotonic()
    connection.request("GET", "/voila/render/slow.ipynb")
    answer = connection.getresponse()
    seen = b""
    while b'id="page-starting"' not in seen:
        part = answer.read1(65536)
        assert part, seen
        seen += part
    assert time.monotonic() - asked < 15
    assert b"</html>" not in seen
    connection.close()


# ------------------------------------------------------------------------------------------- addresses


def test_a_warm_page_shows_the_address_of_another_visitor(warm: Server) -> None:
    eventually(lambda: warm.unread_kernels() >= 6)
    pages = [warm.ask(f"voila/render/surroundings.ipynb?sigma={sigma}&mark=visitor") for sigma in ("2", "7")]
    assert len({kernel_id_in(page.text) for page in pages}) == 2
    for page in pages:
        assert "mark=visitor" not in page.text
        assert "QUERY_STRING=" not in page.text
        assert "VOILA_REQUEST_URL" not in page.text


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_what_stands_in_the_address_is_written_into_the_page(server: Server, query: str) -> None:
    asked = quote(query, safe="=&%()/:'")
    mark = query.partition("=")[2]
    for path in ("voila/render/index.ipynb", "voila/render/none.ipynb", "nothing", ""):
        answer = server.ask(f"{path}?{asked}")
        assert answer.status in (200, 302, 404)
        assert mark not in answer.text.replace("&amp;", "&") or len(mark) < 4
        assert "<script>" not in answer.text
        assert "alert(1)" not in answer.text
        assert "set-cookie" not in answer.headers
        if answer.status == 302:
            assert answer.headers["location"] == f"/voila/render/index.ipynb?{asked}"


# ------------------------------------------------------------------------------------------- closed networks


def test_a_release_that_reads_any_file_can_be_installed() -> None:
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["app"]
    floor = re.search(r"^voila>=([\d.]+)", "\n".join(needs), re.MULTILINE)
    assert floor
    assert tuple(map(int, floor[1].split("."))) >= (0, 5, 6)


def test_a_style_sheet_fetches_from_elsewhere() -> None:
    """Fonts and icons come from here, or as data."""
    sheets = {name: path for name, path in Assets.collect().files.items() if name.endswith(".css")}
    assert {"page/page.css", "page/theme.css"} <= sheets.keys()
    for name, path in sheets.items():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""(?:@import|url\()\s*(?:url\()?["']?(?:https?:)?//""", text), name


def test_a_figure_is_drawn_before_its_library_is_there(server: Server) -> None:
    """The drawing library is a script of this very page, run before the page counts as read."""
    page, _ = server.open_page("index.ipynb")
    assert re.search(r'<script src="/static/[^"]*/plotly-basic\.min\.js" defer></script>', page)
    assert page.index("plotly-basic.min.js") < page.index("</head>")
