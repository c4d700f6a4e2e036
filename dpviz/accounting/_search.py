"""The least number at which something holds that holds from there on: to the last whole number, or float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpviz.accounting._checks import BoolArray, FloatArray

IntArray: TypeAlias = npt.NDArray[np.int64]

_INFINITY = int(np.float64(np.inf).view(np.int64))


def least_whole(is_met: Callable[[IntArray, IntArray], BoolArray], start: IntArray, *, low: int, high: int) -> IntArray:
    """Return the least whole numbers from low to high at which `is_met`, or high + 1 where it never is.

    Takes flat arrays. `is_met(numbers, which)` is asked about the points at the positions `which`, and must hold from
    some number on. The nearer the start, the fewer questions: outward by 1, 2, 4 …, then by halves.
    """
    lower, upper = np.full(start.shape, low - 1), np.full(start.shape, high + 1)
    probe = np.clip(start, low, high)
    which = np.arange(start.size)
    stride = 1
    while which.size:
        holds = is_met(probe[which], which)
        upper[which] = np.where(holds, probe[which], upper[which])
        lower[which] = np.where(holds, lower[which], probe[which])
        which = which[upper[which] - lower[which] > 1]
        least, most = lower[which], upper[which]
        room = most - least
        outward = np.where(least < low, most - np.minimum(stride, room - 1), least + np.minimum(stride, room - 1))
        is_between = (least >= low) & (most <= high)
        probe[which] = np.where(is_between, least + room // 2, outward)
        stride = min(2 * stride, 2**62)
    return upper


def least_float(is_met: Callable[[FloatArray, IntArray], BoolArray], start: FloatArray) -> FloatArray:
    """Return the least float64 > 0 at which `is_met`, as `least_whole` does; inf where no finite one meets it.

    The bits of a positive float64, read as a whole number, are its place among them all.
    """
    places = least_whole(
        lambda place, which: is_met(place.view(np.float64), which), start.view(np.int64), low=1, high=_INFINITY - 1
    )
    return places.view(np.float64)
