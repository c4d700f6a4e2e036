"""Sums and products of two float64 with their rounding errors, so that what cancels keeps its digits."""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import FloatArray

_SPLITTER = 2.0**27 + 1


def two_sum(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded sum and its exact error (Knuth); both finite."""
    total = first + second
    kept = total - first
    return total, (first - (total - kept)) + (second - kept)


def two_product(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded product and its exact error (Dekker); factors from 1e-140 to 1e140, or 0."""
    product = first * second
    first_high, second_high = _high(first), _high(second)
    first_low, second_low = first - first_high, second - second_high
    rest = ((first_high * second_high - product) + first_high * second_low) + first_low * second_high
    return product, rest + first_low * second_low


def _high(number: FloatArray) -> FloatArray:
    """Return the upper 26 bits."""
    scaled = number * _SPLITTER
    high: FloatArray = scaled - (scaled - number)
    return np.asarray(high)
