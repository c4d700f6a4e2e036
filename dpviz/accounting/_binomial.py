"""Binomial log weights that keep their digits at any count, and what is built on the same series.

The saddle-point form of Loader (2000): with m = count·q the mean, log P(X = x) is a Stirling remainder minus the
two deviances D(x; m) and D(count − x; count − m), where D(x; m) = x log(x/m) − x + m. Nothing large cancels, provided
that the gap x − m is accurate; `mean_of_hits` and `gap_to` see to that with decimals.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._twofold import two_product

_DIGITS = Context(prec=45)
_TABLE = np.array([0.0] + [math.log(math.factorial(n) * (math.e / n) ** n) for n in range(1, 16)])
_CLOSE = 0.25  # up to this |v| logs are summed as series in v²
_MOST_TERMS = 14
_FURTHEST = 746.0  # exp(-x) is 0 beyond


def log_pmf(hits: FloatArray, gap: FloatArray, count: FloatArray, mean: FloatArray) -> FloatArray:
    """Return log P(X = hits) for X ~ Bin(count, mean/count), gap = hits − mean; hits beyond 16 need not be whole."""
    misses = count - hits
    stirling = stirling_remainder(count) - stirling_remainder(hits) - stirling_remainder(misses)
    return stirling - deviance(hits, gap, mean) - deviance(misses, -gap, count - mean)


def deviance(value: FloatArray, gap: FloatArray, mean: FloatArray) -> FloatArray:
    """Return x log(x/m) − x + m >= 0 from x, x − m and m > 0."""
    v = gap / (value + mean)
    near, is_far = _near(v)
    square = near * near
    series: FloatArray = near * (gap + 2 * value * square * atanh_rest(square, float(np.max(square, initial=0.0))))
    if is_far.any():
        ratio = np.where(is_far & (value > 0), value / mean, 1.0)
        return np.where(is_far, value * np.log(ratio) - gap, series)
    return series


def log1p_rest(x: FloatArray) -> FloatArray:
    """Return log(1 + x) − x for x > −1, without cancellation where x is small."""
    near, is_far = _near(x / (2 + x))
    series = near * (2 * near * near * atanh_rest(near * near) - x)
    with np.errstate(divide="ignore"):
        return np.where(is_far, np.log1p(x) - x, series)


def atanh_rest(square: FloatArray, largest: float = _CLOSE**2) -> FloatArray:
    """Return 1/3 + y/5 + y²/7 + … for 0 <= y <= largest <= 1/16: atanh(v) = v + v³ times it at y = v²."""
    terms = next(j for j in range(1, _MOST_TERMS + 1) if largest**j < 1e-17 or j == _MOST_TERMS)
    total = np.full_like(square, 1 / (2 * terms + 1))
    for j in range(terms - 1, 0, -1):
        total = total * square + 1 / (2 * j + 1)
    return total


def _near(v: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return v where the series in v² is good and 0 elsewhere, and where that is."""
    is_far = np.abs(v) > _CLOSE
    return np.where(is_far, 0.0, v) if is_far.any() else v, is_far


def stirling_remainder(n: FloatArray) -> FloatArray:
    """Return log n! − n log n + n for whole n >= 0, or any n >= 16."""
    large = np.maximum(n, 16.0)
    y = 1 / (large * large)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - y / 1188) * y) * y) * y) / large
    result: FloatArray = series + 0.5 * np.log(2 * np.pi * large)
    is_small = n < 16
    if is_small.any():
        result[is_small] = _TABLE[n[is_small].astype(np.intp)]
    return result


def mean_of_hits(epsilon: float, count: float) -> Decimal:
    """Return count/(1 + e^epsilon) to 40 digits: the mean number of lies in so many randomised responses."""
    if epsilon > _FURTHEST:
        return Decimal(0)
    tail = _DIGITS.exp(-Decimal(epsilon))
    return _DIGITS.divide(_DIGITS.multiply(Decimal(count), tail), _DIGITS.add(tail, Decimal(1)))


def gap_to(hits: float, mean: Decimal) -> float:
    """Return hits − mean, rounded once."""
    return float(_DIGITS.subtract(Decimal(hits), mean))


def product(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return left·right and what rounding took from it (Dekker's product; the rest is 0 where it might overflow)."""
    result = left * right
    is_safe = (np.abs(left) < 1e100) & (np.abs(right) < 1e100) & (np.abs(result) > 1e-250)
    return result, two_product(np.where(is_safe, left, 0.0), np.where(is_safe, right, 0.0))[1]


def difference_up(left: FloatArray, right: FloatArray, rest: FloatArray | float = 0.0) -> FloatArray:
    """Return left − right + rest for a tiny rest, rounded up: what is too low would promise too much."""
    near = left - right
    with np.errstate(invalid="ignore"):
        back = left - near
        lost = (left - (near + back)) + (back - right) + rest
        is_low = (near - (near + lost)) + lost > 0
    result = np.where(np.isfinite(lost), near + lost, near)
    return np.where(is_low, np.nextafter(result, np.inf), result)
