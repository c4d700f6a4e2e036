"""Two terms of trade-off curves that would lose digits, or overflow, if they were written plainly."""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import FloatArray

_LARGE = 700.0  # e^709 is the last that a float64 holds


def rest_of_one(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 − first − second with the rounding of 1 − first given back, for first in [0, 1]."""
    rest = 1 - first
    result: FloatArray = (rest - second) + ((1 - rest) - first)
    return result


def times_exp(factor: FloatArray, exponent: FloatArray) -> FloatArray:
    """Return factor · e^exponent for a factor in [0, 1], also where the exponential alone overflows; 0 · inf is 0."""
    at = np.where(factor == 0, 0.0, exponent)
    with np.errstate(over="ignore", under="ignore"):
        half = np.exp(np.where(at > _LARGE, at / 2, 0.0))
        result: FloatArray = half * (half * (factor * np.exp(np.where(at > _LARGE, 0.0, at))))
    return result
