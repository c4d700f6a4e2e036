"""What the exponential mechanism's numbers share: its rate, and its Rényi divergence in terms that are all positive.

Its log odds move by at most epsilon. With h = epsilon/2, a = order − 1 and S(x) = ln(sinh x/x), the divergence is
[(a+1) S((a+1)h) − a S(ah) − S(h)]/a, that is [S((a+1)h) − S(ah)] + [S((a+1)h) − S(h)]/a; each bracket is a log1p
by the addition theorem of sinh.
"""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import FloatArray

_FAR = 300.0


def scaled(epsilon: FloatArray | np.float64, distance: FloatArray, divisor: FloatArray | np.float64) -> FloatArray:
    """Return epsilon · distance/divisor, not leaving the range on the way where the result does not."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        quotient = distance / divisor
        is_safe = np.isfinite(quotient) & ((np.abs(quotient) > 1e-300) | (distance == 0))
        other = np.where((epsilon == 0) | is_safe, 0.0, epsilon * distance / divisor)
        return np.asarray(np.where(is_safe, epsilon * np.where(is_safe, quotient, 0.0), other))


def bounded_range_rdp(order: FloatArray, half: float) -> FloatArray:
    """Return the divergence at orders >= 1 for a finite half range h >= 0."""
    excess, width = order - 1, np.asarray(half)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(_rise_of_order(excess, width) + rise_of_range(excess, width))


def _rise_of_order(a: FloatArray, h: FloatArray) -> FloatArray:
    """Return S((a+1)h) − S(ah)."""
    is_near, is_slow = h < _FAR, a * h < 1
    near = np.where(is_near, h, 0.0)
    excess = (a * 2 * np.sinh(near / 2) ** 2 + _joined(coth_rest(a * near), _sinhc_rest(near))) / (1 + a)
    far, step = np.where(is_near, _FAR, h), np.where(a > 0, a, 1.0)
    slow = (a + 1) * far - np.log(2 * far) - np.log1p(a) - np.log1p(_sinhc_rest(np.where(is_slow, a * far, 0.0)))
    fast = far - np.log1p(1 / step) - np.log1p(-np.exp(-2 * np.where(is_slow, 1.0, a * far)))
    return np.asarray(np.where(is_near, np.log1p(excess), np.where(is_slow, slow, fast)))


def rise_of_range(a: FloatArray, h: FloatArray) -> FloatArray:
    """Return [S((a+1)h) − S(h)]/a, and its limit h coth h − 1 at a = 0."""
    is_near = a * h < _FAR
    width, step = np.where(is_near, a * h, 0.0), np.where(a > 0, a, 1.0)
    excess = (2 * np.sinh(width / 2) ** 2 + a * _joined(coth_rest(h), _sinhc_rest(width))) / (1 + a)
    near = np.where(a > 0, np.log1p(excess) / step, coth_rest(h))
    return np.where(is_near, near, h - (np.log1p(a) + np.log(-np.expm1(-2 * np.where(is_near, 1.0, h)))) / step)


def _joined(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (1 + first)(1 + second) − 1."""
    return first + second + first * second


def _sinhc_rest(x: FloatArray) -> FloatArray:
    """Return sinh x/x − 1 for 0 <= x <= 700."""
    small = np.minimum(x, 1.0) ** 2
    series = np.zeros_like(x)
    for j in range(10, 0, -1):
        series = small / (2 * j * (2 * j + 1)) * (1 + series)
    large = np.maximum(x, 1.0)
    return np.where(x < 1, series, np.sinh(large) / large - 1)


def coth_rest(x: FloatArray) -> FloatArray:
    """Return x coth x − 1 = x/tanh x − 1 for x >= 0, by its continued fraction x²/(3 + x²/(5 + …)) up to 1."""
    square = np.minimum(x, 1.0) ** 2
    fraction = np.zeros_like(square)
    for odd in range(21, 1, -2):
        fraction = square / (odd + fraction)
    large = np.maximum(x, 1.0)
    return np.where(x < 1, fraction, large / np.tanh(large) - 1)
