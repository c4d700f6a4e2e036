"""What is left of the exponential after its first two terms; what cancels in small privacy losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expm1

_TERMS = 20  # of the series; at |x| <= 1 the rest is below 1e-19


def exp_rest(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return e^x − 1 − x, real or complex, by its series where the difference would cancel."""
    is_small = np.abs(x) < 1
    small = np.where(is_small, x, 0)
    series = np.zeros_like(small)
    for j in range(_TERMS, 2, -1):
        series = small / j * (1 + series)
    rest: npt.NDArray[Any] = np.where(is_small, small * small / 2 * (1 + series), expm1(np.where(is_small, 1, x)) - x)
    return rest
