"""How many kernels fit into the memory that is left."""

from pathlib import Path

MEGABYTE = 1 << 20
KERNEL_SIZE = 80 * MEGABYTE
"""Memory of one page's kernel, rounded up from what was measured (51 to 66 MB)."""

LEAST_KERNELS = 4
_CGROUPS = Path("/sys/fs/cgroup")


def default_max_kernels() -> int:
    """Return how many kernels fill half of the available memory, at least 4.

    A control group's limit counts like the machine's own memory.
    """
    return kernels_in(available_memory())


def kernels_in(available: int) -> int:
    """Return how many kernels of 80 MB fill half of `available` bytes, at least 4.

    Examples
    --------
    >>> kernels_in(16 << 30), kernels_in(0)
    (102, 4)
    """
    return max(LEAST_KERNELS, available // 2 // KERNEL_SIZE)


def available_memory(cgroups: Path = _CGROUPS) -> int:
    """Return the bytes that this process may still use: the machine's, or less if a control group says so."""
    import psutil

    rooms = [psutil.virtual_memory().available]
    for limit, usage, statistics in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        room = _room_in_group(cgroups / limit, cgroups / usage, cgroups / statistics)
        if room is not None:
            rooms.append(room)
    return int(min(rooms))


def _room_in_group(limit: Path, usage: Path, statistics: Path) -> int | None:
    """Return the bytes left in a control group, or None where no limit is set."""
    if not (limit.is_file() and usage.is_file()):
        return None
    most = limit.read_text().strip()
    if most == "max":
        return None
    used = int(usage.read_text()) - _reclaimable(statistics)
    return max(0, int(most) - used)


def _reclaimable(statistics: Path) -> int:
    """Return the bytes of cached files, which count as used but are given back when needed."""
    if not statistics.is_file():
        return 0
    lines = dict(line.split(maxsplit=1) for line in statistics.read_text().splitlines() if " " in line)
    return int(lines.get("total_inactive_file", lines.get("inactive_file", 0)))
