"""The porch: what ``dpviz`` starts. It serves notebooks as live pages and knows none of them."""

from collections.abc import Callable

from dpviz.server.settings import ServerSettings

__all__ = ["ServerSettings", "serve"]


def serve(settings: ServerSettings, announce: Callable[[str], object] | None = None) -> None:
    """Serve the gallery until SIGINT or SIGTERM.

    Parameters
    ----------
    settings : ServerSettings
        Where to listen, and what to show.
    announce : callable, optional
        Called once with the gallery's address, when the server answers there.

    Raises
    ------
    ModuleNotFoundError
        If the ``app`` extra is not installed.
    OSError
        If the address cannot be listened on, or no folder is short enough for the kernels' sockets.
    """
    from tornado.netutil import bind_sockets

    sockets = bind_sockets(settings.port, settings.ip)  # first: what is wrong with the address shows at once
    try:
        from dpviz.server.app import Gallery

        Gallery.of(settings).run(sockets, announce)
    finally:
        for listening in sockets:
            listening.close()
