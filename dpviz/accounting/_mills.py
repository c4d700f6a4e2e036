"""The Gaussian privacy profile from Mills ratios: log delta without ever forming exp(epsilon).

With u = epsilon/mu − mu/2, v = u + mu and R(x) = Φ(−x)/φ(x), the identity exp(epsilon) φ(v) = φ(u) gives
delta = φ(u) D with D = R(u) − R(v). All functions here take flat arrays, with 0 < mu < inf.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

from dpviz.accounting._checks import FloatArray

_LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)
_SPLIT = 2.0**27 + 1
_TERMS = 25  # odd: the last Taylor term kept; at half <= max(1/2, x/5) the rest is below 1e-17
_SMALL, _LARGE = 3.0, 6.0  # the forward recurrence keeps its digits up to 3; 24 ratios do beyond 6


def mills(x: FloatArray) -> FloatArray:
    """Return R(x) = Φ(−x)/φ(x)."""
    ratio: FloatArray = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    return ratio


def threshold(epsilon: FloatArray, mu: FloatArray) -> FloatArray:
    """Return u = (epsilon − mu²/2)/mu, with mu² exact (Dekker's product) wherever it can cancel."""
    is_plain = (mu < 1e-100) | (mu > 1e100)  # there the product would leave the range of a float64
    factor = np.where(is_plain, 1.0, mu)
    square = factor * factor
    high = factor * _SPLIT
    high = high - (high - factor)
    low = factor - high
    rest = ((high * high - square) + 2 * high * low) + low * low
    exact = ((epsilon - square / 2) - rest / 2) / mu
    u: FloatArray = np.where(is_plain, epsilon / mu - mu / 2, exact)
    return u


def log_normal_density(u: FloatArray) -> FloatArray:
    """Return log φ(u)."""
    density: FloatArray = -0.5 * u * u - _LOG_ROOT_TWO_PI
    return density


def profile(u: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log of a weight, and a factor, with delta = weight · factor.

    Takes u >= −mu/2 from `threshold`, so that a solver may seek u itself.
    """
    v = u + mu
    log_weight, factor = log_normal_density(u), np.ones_like(u)
    near_one = (u < 0) & (mu > 1)
    close = ~near_one & (mu <= np.maximum(1, u / 2))
    apart = ~(near_one | close)
    if near_one.any():
        complement = ndtr(u[near_one]) + np.exp(log_weight[near_one]) * mills(v[near_one])
        log_weight[near_one] = np.log1p(-complement)
    if close.any():
        factor[close] = mills_drop(u[close] + mu[close] / 2, mu[close])
    if apart.any():
        factor[apart] = mills(u[apart]) - mills(v[apart])
    return log_weight, factor


def mills_drop(x: FloatArray, width: FloatArray) -> FloatArray:
    """Return R(x − width/2) − R(x + width/2) for x >= 0 and a width that is small or small beside x.

    It is the odd part of R's Taylor series at x, where Y_j = (−1)^j R^(j)(x) > 0, so that nothing cancels:
    2 Σ_{odd j} Y_j (width/2)^j / j!, with Y_1 = 1 − x Y_0 and Y_{j+1} = j Y_{j−1} − x Y_j.
    """
    result = np.empty_like(x)
    small, large = x <= _SMALL, x > _LARGE
    for part, start in ((small, 0), (~(small | large), 48), (large, 24)):
        if part.any():
            at, half = x[part], width[part] / 2
            result[part] = width[part] * (_backward(at, half, start) if start else _forward(at, half))
    return result


def _forward(x: FloatArray, half: FloatArray) -> FloatArray:
    """Sum the series from Y_0 upward; what rounding the recurrence magnifies, half^j/j! makes small again."""
    before = mills(x)
    now = 1 - x * before
    total, weight, square = now.copy(), np.ones_like(x), half * half
    for j in range(1, _TERMS - 2, 2):
        before, now = now, j * before - x * now
        before, now = now, (j + 1) * before - x * now
        weight = weight * square / ((j + 1) * (j + 2))
        total += now * weight
    return total


def _backward(x: FloatArray, half: FloatArray, start: int) -> FloatArray:
    """Sum the series from ρ_j = Y_j/Y_{j−1} = j/(x + ρ_{j+1}), a continued fraction run downward."""
    ratio = 2 * start / (x + np.sqrt(x * x + 4 * start))
    total = np.ones_like(x)
    for j in range(start, 1, -1):
        above, ratio = ratio, j / (x + ratio)
        if j % 2 == 0 and j < _TERMS:
            total = 1 + (half * above) * (half * ratio) / (j * (j + 1)) * total
    first = 1 / (x + ratio)
    return first / (x + first) * total
