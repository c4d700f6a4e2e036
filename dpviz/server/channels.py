"""The websocket between a page and its kernel."""

from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from tornado.web import HTTPError
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from dpviz.server.handlers import PlainErrors
from dpviz.server.messages import MessageError, refusal, split_message
from dpviz.server.pages import Pages

MOST_CONNECTIONS = 4
"""Websockets of one page: its own, and some that were lost and not yet given up."""


CLOSED_TWICE = "No such comm:"
"""How a kernel remarks that the front end closes a comm after the kernel did; it happens on most pages."""


HIDDEN_FAULT = {"ename": "Error", "evalue": "The page met a fault; the server's log says which.", "traceback": []}


class PageChannels(ZMQChannelsWebsocketConnection):
    """Lets the messages of a page through, and tells faults and warnings to the server's log only."""

    def handle_incoming_message(self, incoming_msg: Any) -> None:
        """Pass a browser's message on to the kernel if it may say that."""
        if not self.channels:
            return
        try:
            channel, parts = split_message(incoming_msg)
            reason = refusal(channel, parts)
        except MessageError as fault:
            self.log.warning("A browser sent what is no message: %s", fault)
            self.websocket_handler.close(1008, "not a message of a page")
            return
        if reason:
            self.log.warning("A browser's message was dropped: %s is not allowed.", reason)
            return
        self.session.send_raw(self.channels[channel], parts)

    def handle_outgoing_message(self, stream: Any, outgoing_msg: list[Any]) -> None:
        """Pass a kernel's message on to the browser, unless it is a warning."""
        _, parts = self.session.feed_identities(outgoing_msg, copy=True)
        if self.session.unpack(parts[1])["msg_type"] == "stream":
            content = self.session.unpack(parts[4])
            if content["name"] == "stderr":
                if not content["text"].startswith(CLOSED_TWICE):
                    self.log.warning("A kernel wrote: %s", content["text"])
                return
        super().handle_outgoing_message(stream, outgoing_msg)

    def _on_error(self, channel: str, msg: dict[str, Any], msg_list: list[Any]) -> None:  # noqa: ARG002
        """Log a fault of a kernel and leave the browser only the word that there was one.

        A fault comes as a message of its own, or kept in the state of an output widget that caught it.
        """
        if channel != "iopub":
            return
        kind = self.session.unpack(msg_list[0])["msg_type"]
        if kind == "error":
            self._log_fault(self.session.unpack(msg_list[3]))
            msg_list[3] = self.session.pack(HIDDEN_FAULT)
        elif kind == "comm_msg" and b'"traceback"' in bytes(msg_list[3]):
            msg_list[3] = self.session.pack(self._without_faults(self.session.unpack(msg_list[3])))

    def _without_faults(self, value: Any) -> Any:
        """Return a widget's state with every fault in it replaced, and log the fault."""
        if isinstance(value, list):
            return [self._without_faults(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("output_type") == "error":
            self._log_fault(value)
            return {"output_type": "error", **HIDDEN_FAULT}
        return {name: self._without_faults(item) for name, item in value.items()}

    def _log_fault(self, fault: dict[str, Any]) -> None:
        self.log.error("A kernel met a fault:\n%s", "\n".join(fault.get("traceback", [])))


class ChannelsHandler(PlainErrors, VoilaKernelWebsocketHandler):  # type: ignore[misc]
    """Connects a browser to the kernel of its page: of an open page, from the page's own origin."""

    def initialize(self, pages: Pages) -> None:
        """Take the open pages."""
        self.pages = pages

    async def prepare(self) -> None:
        """Refuse a foreign origin first, then a kernel that no reader has."""
        if not self.check_origin():
            raise HTTPError(403)
        kernel_id = self.path_args[0]
        if kernel_id not in self.pages.readers or kernel_id not in self.kernel_manager:
            raise HTTPError(404)
        if self.kernel_manager.connections(kernel_id) >= MOST_CONNECTIONS:
            raise HTTPError(429)
        if "v1.kernel.websocket.jupyter.org" not in self.request.headers.get("Sec-WebSocket-Protocol", ""):
            raise HTTPError(400)
        await super().prepare()  # type: ignore[misc]
