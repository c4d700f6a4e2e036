"""What a browser may say to its kernel: read strictly, allowed by name."""

import json
from itertools import pairwise
from typing import Any

TYPES = frozenset({"comm_open", "comm_msg", "comm_close", "comm_info_request", "kernel_info_request"})
"""Move a control, and ask who is there. Nothing here runs, interrupts or ends code."""

CONTROL = "jupyter.widget.control"
"""The one comm that a browser opens itself, to ask for the widgets' state."""

MOST_PARTS = 1024
_HEADER, _CONTENT, _LEAST_PARTS = 0, 3, 4


class MessageError(ValueError):
    """The bytes are no message of the websocket protocol ``v1.kernel.websocket.jupyter.org``."""


def split_message(raw: object) -> tuple[str, list[bytes]]:
    """Return the channel of a message and its parts: header, parent, metadata, content, buffers.

    The message starts with how many offsets follow, eight bytes each, least first; no number in it
    is trusted.

    Raises
    ------
    MessageError
        If the offsets do not cut the bytes into a channel and at least four parts.
    """
    if not isinstance(raw, bytes) or len(raw) < 8:
        raise MessageError("not binary, or too short")
    count = int.from_bytes(raw[:8], "little")
    if not _LEAST_PARTS + 2 <= count <= MOST_PARTS or 8 * (count + 1) > len(raw):
        raise MessageError(f"{count} parts")
    offsets = [int.from_bytes(raw[8 * i : 8 * (i + 1)], "little") for i in range(1, count + 1)]
    if offsets[0] != 8 * (count + 1) or offsets[-1] > len(raw) or offsets != sorted(offsets):
        raise MessageError("offsets out of order")
    cuts = [raw[start:end] for start, end in pairwise(offsets)]
    return cuts[0].decode("utf-8", "replace"), cuts[1:]


def refusal(channel: str, parts: list[bytes]) -> str | None:
    """Return why a message must not reach the kernel, or None if it may.

    Raises
    ------
    MessageError
        If its header or content is not a JSON object.
    """
    kind = _object(parts[_HEADER]).get("msg_type")
    if channel != "shell":
        return f"the channel {channel!r}"
    if kind not in TYPES:
        return f"the type {kind!r}"
    target = _object(parts[_CONTENT]).get("target_name")
    if kind == "comm_open" and target != CONTROL:
        return f"the comm target {target!r}"
    return None


def _object(part: bytes) -> dict[str, Any]:
    try:
        found = json.loads(part)
    except (ValueError, RecursionError) as fault:
        raise MessageError("not JSON") from fault
    if not isinstance(found, dict):
        raise MessageError("not a JSON object")
    return found
