"""Tails of many Laplace releases' loss, and their inverses, read off the windows of `_laplace_cells`.

All functions take flat arrays of losses or of logs, for one pure epsilon s > 0 and one count k >= 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np

from dpviz.accounting import _laplace_cells as cells
from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._laplace_cells import IntArray, Window

_SPLIT = 2.0**27 + 1
_MOST_STEPS = 100
_NOWHERE = 1e-290  # so far down a cell is its start
_ROUNDING = 2.0**-53


class Tail(Enum):
    """What is summed over the losses above a place."""

    DELTA = "P(L > loss) − e^loss Q(L > loss)"
    UPPER = "P(L > loss)"
    LOWER = "Q(L > loss)"


@dataclass(frozen=True, eq=False)
class Reading:
    """A tail at some losses: its log, the slope of that log along a cell downward, and the bound of its error."""

    log_value: FloatArray
    slope: FloatArray
    error: FloatArray


def read(tail: Tail, loss: FloatArray, pure_epsilon: float, count: int, *, is_closed: bool = False) -> Reading:
    """Return the tail at each loss in [−ks, ks]; a closed tail includes the loss itself."""
    return read_at(tail, *locate(loss, pure_epsilon, count, is_closed=is_closed), pure_epsilon, count)


def read_at(tail: Tail, cell: IntArray, down: FloatArray, pure_epsilon: float, count: int) -> Reading:
    """Return the tail at places so far down in a cell; the atom at the cell's start is above all of them."""
    place = count / 2 - cell - down
    index = cells.window_index(np.maximum(place, _mean_place(tail, pure_epsilon, count)), count)
    result = np.empty((3, place.size))
    for number in np.unique(index):
        chosen = index == number
        held = cells.window(pure_epsilon, count, int(number), tail is not Tail.LOWER)
        found = _read_window(tail, held, cell[chosen], down[chosen])
        result[:, chosen] = found.log_value, found.slope, found.error
    return Reading(*result)


def solve(tail: Tail, log_value: FloatArray, pure_epsilon: float, count: int) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return the least place whose tail is e^log_value, and whether part of the atom at its cell's start makes it up.

    What is asked for is finite and at most the closed tail at 0; for `Tail.LOWER` at most 1.
    """
    index = _window_of(tail, log_value, pure_epsilon, count)
    cell, down = np.zeros(log_value.shape, dtype=np.intp), np.empty(log_value.shape)
    is_atom = np.zeros(log_value.shape, dtype=bool)
    for number in np.unique(index):
        chosen = index == number
        held = cells.window(pure_epsilon, count, int(number), tail is not Tail.LOWER)
        cell[chosen], down[chosen], is_atom[chosen] = _solve_window(tail, held, log_value[chosen])
    return cell, down, is_atom


def loss_at(cell: IntArray, down: FloatArray, pure_epsilon: float, count: int) -> FloatArray:
    """Return the loss of a place."""
    loss: FloatArray = (count - 2.0 * cell) * pure_epsilon - 2 * pure_epsilon * down
    return loss


def locate(loss: FloatArray, pure_epsilon: float, count: int, *, is_closed: bool) -> tuple[IntArray, FloatArray]:
    """Return the cell of each loss, and how far down in it the loss lies, in (0, 1]; closed: in [0, 1)."""
    cell = np.floor((count - loss / pure_epsilon) / 2).astype(np.intp)
    down = _below(cell, loss, pure_epsilon, count)
    cell += (down >= 1) if is_closed else (down > 1)
    cell -= (down < 0) if is_closed else (down <= 0)
    cell = np.clip(cell, 0, count - (not is_closed))
    return cell, np.clip(_below(cell, loss, pure_epsilon, count), 0.0, 1.0)


def _below(cell: IntArray, loss: FloatArray, pure_epsilon: float, count: int) -> FloatArray:
    """Return ((k − 2 cell) s − loss)/(2s), s split in halves whose products are exact."""
    high = pure_epsilon * _SPLIT
    high = high - (high - pure_epsilon)
    multiple = count - 2.0 * cell
    distance: FloatArray = ((multiple * high - loss) + multiple * (pure_epsilon - high)) / pure_epsilon / 2
    return distance


def _pull(tail: Tail, pure_epsilon: float) -> float:
    return -pure_epsilon if tail is Tail.LOWER else pure_epsilon


def _mean_place(tail: Tail, pure_epsilon: float, count: int) -> float:
    """Return the mean of loss/(2s) under the law that is summed; a tail below it is nearly all."""
    return count * cells.mean_loss(_pull(tail, pure_epsilon), pure_epsilon)


def _read_window(tail: Tail, held: Window, cell: IntArray, down: FloatArray) -> Reading:
    """Return the tail from one window; below it lies no mass that matters, so there only e^loss moves on."""
    s, bottom = held.kernel.pure_epsilon, held.first + len(held.fall)
    place = held.count / 2 - cell - down
    beyond = np.maximum(cell + down - bottom, 0.0)
    fall, excess, density = _tails(held, np.minimum(cell, bottom - 1), np.where(beyond > 0, 1.0, down))
    with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
        if tail is Tail.DELTA:
            value = excess - np.expm1(-2 * s * beyond) * fall
            slope = 2 * s * fall / value
        else:
            value = fall if tail is Tail.LOWER else excess + fall
            slope = density / value
        exponent = (_pull(tail, s) - held.kernel.tilt) * (place + beyond)
        scale = held.count * (cells.rise(held.kernel.tilt, s) + s / 2) + (s + abs(held.kernel.tilt)) * np.abs(place)
        error = _ROUNDING * (10 * held.steps + 8 * scale)
        return Reading(held.log_weight + exponent + np.log(value), slope, error)


def _tails(held: Window, cell: IntArray, down: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return fall, excess and density at places inside the window."""
    at = cell - held.first
    panel = np.clip(np.searchsorted(held.cuts, down, side="left") - 1, 0, len(held.cuts) - 2)
    distance = down - held.cuts[panel]
    where = np.append(distance[:, None] * cells.POINTS, distance[:, None], axis=1) / np.diff(held.cuts)[panel, None]
    density = cells.interpolate(held.density[at, panel], where)
    steps = distance[:, None] * (1 - cells.POINTS)
    with np.errstate(under="ignore"):
        fall, excess = held.kernel.moved(distance, np.stack([held.fall[at, panel], held.excess[at, panel]]))
        added = held.kernel.integrals(density[:, :-1], steps, cells.WEIGHTS * distance[:, None])
    return fall + added[0], excess + added[1], density[:, -1]


def _window_of(tail: Tail, log_value: FloatArray, pure_epsilon: float, count: int) -> IntArray:
    """Return the index of the window where the Chernoff bound of the tail comes down to each value."""
    first, bounds = _chernoff(tail, pure_epsilon, count)
    lift = 0.0
    if tail is Tail.DELTA:  # 1 − e^(loss − L) is about this small above a loss
        lift = min(0.0, float(np.log(-np.expm1(-pure_epsilon * np.sqrt(count)))))
    index: IntArray = first + np.searchsorted(-bounds, lift - log_value)
    return index


@lru_cache(maxsize=32)
def _chernoff(tail: Tail, pure_epsilon: float, count: int) -> tuple[int, FloatArray]:
    """Return the window of the mean, and the log of the Chernoff bound at the upper end of it and of each later one."""
    s, k = pure_epsilon, count
    pull, mean = _pull(tail, s), _mean_place(tail, s, k)
    first, last = cells.window_index(np.array([mean, k / 2]), k)
    bounds = []
    for index in range(int(first), int(last)):
        end = cells.window_end(index, k)
        tilt = cells.tilt_for(end / k, s)
        bounds.append(k * (cells.rise(tilt, s) - s / 2) + (pull - tilt) * end)
    return int(first), np.array(bounds)


def _solve_window(tail: Tail, held: Window, target: FloatArray) -> tuple[IntArray, FloatArray, BoolArray]:
    """Find each target's panel among the tails at the panels' ends, then its place there."""
    panels = len(held.cuts) - 1
    start, end = _edges(tail, held)
    panel = np.minimum(np.searchsorted(end, target), len(end) - 1)
    cell, low = panel // panels + held.first, held.cuts[panel % panels]
    width = held.cuts[panel % panels + 1] - low
    is_start = target <= start[panel]
    down = np.where(is_start, 0.0, width)
    inner = np.flatnonzero(~is_start & (target < end[panel]))
    if inner.size:
        ends = np.stack([start, end])[:, panel[inner]]
        down[inner] = _find(tail, held, cell[inner], low[inner], width[inner], target[inner], ends)
    return cell, low + down, is_start & (low == 0)


def _edges(tail: Tail, held: Window) -> tuple[FloatArray, FloatArray]:
    """Return the log tails at each panel's start and at its end."""
    fall = held.fall if tail is not Tail.DELTA else np.zeros_like(held.fall)
    value = fall if tail is Tail.LOWER else held.excess + fall
    deficit = held.first + np.arange(len(value))[:, None] + held.cuts
    pull = _pull(tail, held.kernel.pure_epsilon) - held.kernel.tilt
    with np.errstate(divide="ignore"):
        logs = held.log_weight + pull * (held.count / 2 - deficit) + np.log(value)
    return logs[:, :-1].ravel(), logs[:, 1:].ravel()


def _find(
    tail: Tail, held: Window, cell: IntArray, low: FloatArray, width: FloatArray, target: FloatArray, ends: FloatArray
) -> FloatArray:
    """Return how far into its panel each tail reaches its target, by Newton steps kept between two sides.

    Delta grows from nothing in the first cell, and there the steps are in the log of the distance.
    """
    below, above = np.zeros_like(width), width.copy()
    is_first = np.isneginf(ends[0])
    with np.errstate(invalid="ignore"):
        part = np.where(is_first, np.exp(target - ends[1]), (target - ends[0]) / (ends[1] - ends[0]))
    down = width * np.clip(part, _NOWHERE / 2, 1.0)
    for _ in range(_MOST_STEPS):
        reading = _read_window(tail, held, cell, low + down)
        gap = reading.log_value - target
        below, above = np.where(gap < 0, down, below), np.where(gap < 0, above, down)
        with np.errstate(all="ignore"):
            step = gap / reading.slope
            moved = np.where(is_first, down * np.exp(-np.maximum(step / down, -1e3)), down - step)
        is_kept = (moved >= below) & (moved <= above)
        moved = np.where(is_kept, moved, np.where(is_first & (below == 0), above / 16, (below + above) / 2))
        is_done = (np.abs(moved - down) <= 1e-9 * moved) | (np.abs(gap) <= 1e-12)  # and this step squares either
        is_done |= moved < _NOWHERE
        down = moved
        if is_done.all():
            return down
    raise ArithmeticError(f"a loss did not settle for log tails {target[~is_done]!r}")
