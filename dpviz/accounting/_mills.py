"""The Gaussian privacy profile from Mills ratios: delta and log delta without ever forming exp(epsilon).

With u = epsilon/mu − mu/2, v = u + mu and R(x) = Φ(−x)/φ(x), the identity exp(epsilon) φ(v) = φ(u) gives
delta = φ(u) D with D = R(u) − R(v). All functions here take flat arrays, with 0 < mu < inf; `rest` is what
the rounding of u left out.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._twofold import two_product, two_sum

_LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)
_TERMS = 25  # odd: the last Taylor term kept; at half <= max(1/2, x/5) the rest is below 1e-17
_SMALL = 3.0  # up to here the forward recurrence keeps its digits; beyond, the fraction has them from 48 on
_RATIOS = 48
_LARGEST_SQUARE = 1e300  # where half is beyond 1e150, delta is 0
_BEYOND = 64.0  # φ is 0 in a float64 from 39 on
_NO_REST = 1e150  # from here on u² is above every float64


def mills(x: FloatArray) -> FloatArray:
    """Return R(x) = Φ(−x)/φ(x)."""
    ratio: FloatArray = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    return ratio


def threshold(epsilon: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return u = (epsilon − mu²/2)/mu to twice the digits, as u and its rest: the two terms can cancel.

    All is scaled by the power of two of mu, so that no product leaves the range of a float64.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        fraction, power = np.frexp(mu)
        square, square_rest = two_product(fraction, fraction)
        gap, gap_rest = two_sum(np.ldexp(epsilon, -power), -np.ldexp(square, power - 1))
        rough = gap / fraction
        again, again_rest = two_product(rough, fraction)
        left = ((gap - again) - again_rest) + (gap_rest - np.ldexp(square_rest, power - 1))
        u, rest = two_sum(rough, left / fraction)
        is_middling = np.abs(rough) < _NO_REST
    return np.where(is_middling, u, rough), np.where(is_middling, rest, 0.0)


def log_normal_density(u: FloatArray) -> FloatArray:
    """Return log φ(u)."""
    density: FloatArray = -0.5 * u * u - _LOG_ROOT_TWO_PI
    return density


def profile(u: FloatArray, mu: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return delta/φ(u), or (1 − delta)/φ(u) where delta is near 1, and where that is.

    Both keep all digits: D without cancelling, and a sum of two Mills ratios. Takes u >= −mu/2.
    """
    near_one = (u < 0) & (mu > 1)
    close = ~near_one & (mu <= np.maximum(1, u / 2))
    second = mills(u + mu)
    factor = mills(np.abs(u)) + np.where(near_one, second, -second)
    if close.any():
        factor[close] = mills_drop(u[close] + mu[close] / 2, mu[close])
    return factor, near_one


def evaluate(u: FloatArray, rest: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return delta, 1 − delta and log delta, with all their digits (of the first two, the lesser has them)."""
    factor, near_one = profile(u, mu)
    lesser = _times_density(u, rest, factor)
    log_lesser = log_normal_density(u) - np.where(rest == 0, 0.0, u) * rest + np.log(factor)
    log_delta = np.where(near_one, np.log1p(-np.where(near_one, lesser, 0.0)), log_lesser)
    return np.where(near_one, 1 - lesser, lesser), np.where(near_one, lesser, 1 - lesser), log_delta


def rough_log_delta(u: FloatArray, mu: FloatArray) -> FloatArray:
    """Return log delta to about 1e-6, far cheaper than `evaluate`: enough to come near a root of it."""
    near_one = (u < 0) & (mu > 1)
    second = mills(u + mu)
    factor = mills(np.where(near_one, -u, u)) + np.where(near_one, second, -second)
    middle = u + mu / 2
    slope = np.where(middle < 200, 1 - middle * mills(middle), 1 / (middle * middle + 3))
    is_narrow = ~near_one & (mu < 1e-3 * np.maximum(1, u))
    log_lesser = log_normal_density(u) + np.log(np.where(is_narrow, mu * slope, factor))
    return np.where(near_one, np.log1p(-np.exp(np.minimum(log_lesser, -1e-9))), log_lesser)


def _times_density(u: FloatArray, rest: FloatArray, factor: FloatArray) -> FloatArray:
    """Return φ(u + rest) · factor.

    The large part of the exponent is the square of a u of few binary places, which is exact; its exponential is
    taken in two equal factors, so that nothing but the last product can be subnormal.
    """
    near = np.clip(u, -_BEYOND, _BEYOND)
    short = np.round(16 * near) / 16
    exponent = (near - short) * (near + short) / 2 + near * np.where(near == u, rest, 0.0)
    root = np.exp(-short * short / 4)
    weighted: FloatArray = (root * (np.exp(-exponent - _LOG_ROOT_TWO_PI) * factor)) * root
    return weighted


def mills_drop(x: FloatArray, width: FloatArray) -> FloatArray:
    """Return R(x − width/2) − R(x + width/2) for x >= 0 and a width that is small or small beside x.

    It is the odd part of R's Taylor series at x, where Y_j = (−1)^j R^(j)(x) > 0, so that nothing cancels:
    2 Σ_{odd j} Y_j (width/2)^j / j!, with Y_1 = 1 − x Y_0 and Y_{j+1} = j Y_{j−1} − x Y_j.
    """
    result = np.empty_like(x)
    small = x <= _SMALL
    for part, series in ((small, _forward), (~small, _backward)):
        if part.any():
            result[part] = width[part] * series(x[part], width[part] / 2)
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


def _backward(x: FloatArray, half: FloatArray) -> FloatArray:
    """Sum the series from ρ_j = Y_j/Y_{j−1} = j/(x + ρ_{j+1}), a continued fraction run downward."""
    ratio = 2 * _RATIOS / (x + np.sqrt(x * x + 4 * _RATIOS))
    total, square = np.ones_like(x), np.minimum(half * half, _LARGEST_SQUARE)
    for j in range(_RATIOS, 1, -1):
        above, ratio = ratio, j / (x + ratio)
        if j % 2 == 0 and j < _TERMS:
            total = 1 + above * ratio * square * (total / (j * (j + 1)))
    first = 1 / (x + ratio)
    return first / (x + first) * total
