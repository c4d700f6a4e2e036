"""The gallery behind a Jupyter server, as on Binder: what jupyter-server-proxy needs to know to start it."""

import sys
from typing import Any

from dpviz.server.assets import PACKAGE


def entry() -> dict[str, Any]:
    """Return the process that jupyter-server-proxy starts when somebody opens ``/dpviz/``.

    Examples
    --------
    >>> entry()["command"][1:3]
    ['-m', 'dpviz']
    """
    return {
        "command": [
            sys.executable, "-m", "dpviz", "--no-browser",
            "--port", "{port}", "--base-url", "{base_url}dpviz/",
        ],
        "absolute_url": True,
        "timeout": 60,
        "new_browser_tab": True,
        "launcher_entry": {
            "title": "dpviz",
            "icon_path": str(PACKAGE / "server" / "static" / "favicon.svg"),
        },
    }  # fmt: skip
