"""One-sided sums over the whole numbers of a discrete Gaussian, relative to themselves.

For a first term y and a change Δ, with u = y/σ, v = (y + Δ)/σ and κ = ε − (2yΔ + Δ²)/(2σ²) <= 0, what is wanted is

    Σ_{j >= 0} [e^{−(y+j)²/2σ²} − e^ε e^{−(y+Δ+j)²/2σ²}],    all terms >= 0, the first e^{−u²/2} (1 − e^κ).

Where few terms matter they are added up. Otherwise the sum is its integral and Euler and Maclaurin's corrections,
from Mills ratios and Hermite polynomials; nothing cancels. All functions take flat arrays.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._mills import mills, mills_drop
from dpviz.accounting._twofold import two_product

_MOST_TERMS = 160
_FALL = 40.0
_BLOCK = 2048
_EULER = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)
"""B_2/2!, B_4/4!, … B_12/12!."""


def half_sum(
    first: FloatArray, change: FloatArray, sigma: FloatArray, kappa: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (exponent, factor) with the sum = e^{−exponent} · factor; kappa = −inf leaves the second part out."""
    start = np.maximum(first, 0.0)
    exponent, rest = gaussian_exponent(start, sigma)
    factor = np.empty_like(sigma)
    short = _terms(first, sigma) <= _MOST_TERMS
    for part, rule in ((short, _added), (~short, _integrated)):
        for at in np.array_split(np.flatnonzero(part), 1 + part.sum() // _BLOCK):
            factor[at] = rule(first[at], change[at], sigma[at], kappa[at])
    return exponent, factor * np.exp(-rest)


def gaussian_exponent(place: FloatArray, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return place²/(2σ²) as a number and what its rounding left out."""
    ratio = place / sigma
    is_middling = (ratio > 1e-3) & (ratio < 1e3) & (sigma > 1e-100) & (sigma < 1e100)
    near, width = np.where(is_middling, ratio, 1.0), np.where(is_middling, sigma, 1.0)
    product, product_rest = two_product(near, width)
    slip = (np.where(is_middling, place, 1.0) - product - product_rest) / width
    square, square_rest = two_product(near, near)
    rest = square_rest / 2 + near * slip
    return np.where(is_middling, square / 2, ratio * ratio / 2), np.where(is_middling, rest, 0.0)


def _terms(first: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return how many terms reach down to e^{−40} of the greatest, those left of the centre included."""
    start, reach = np.maximum(first, 0.0), np.sqrt(2 * _FALL) * sigma
    with np.errstate(invalid="ignore"):
        right = reach * (reach / (start + np.hypot(start, reach)))
    return np.asarray(np.where(np.isfinite(reach), right, np.inf) + np.minimum(np.maximum(-first, 0.0), reach) + 2)


def _added(first: FloatArray, change: FloatArray, sigma: FloatArray, kappa: FloatArray) -> FloatArray:
    begin = np.maximum(first, -np.floor(np.sqrt(2 * _FALL) * sigma + 1))
    start = np.maximum(first, 0.0)
    place = begin + np.arange(np.ceil(_terms(first, sigma).max(initial=1.0)) + 1)[:, None]
    fallen = (place - start) * (place + start) / sigma / sigma / 2
    gap = np.where(np.isinf(kappa), -np.inf, kappa - (place - first) * change / sigma / sigma)
    return np.asarray((np.exp(-fallen) * -np.expm1(gap)).sum(axis=0))


def _integrated(first: FloatArray, change: FloatArray, sigma: FloatArray, kappa: FloatArray) -> FloatArray:
    u, v = first / sigma, (first + change) / sigma
    is_left = u < 0
    weight = np.where(is_left, np.exp(-(np.where(is_left, u, 0.0) ** 2) / 2), 1.0)
    share = -np.expm1(kappa)
    total = share / 2 + _corrections(u, v, sigma, share)
    inner = _mills_difference(np.maximum(u, -1.0), v, change / sigma) + share * mills(v)
    beyond = np.sqrt(2 * np.pi) * ndtr(-u) - weight * np.exp(kappa) * mills(v)
    return np.asarray(sigma * np.where(u < -1, beyond, weight * inner) + weight * total)


def _mills_difference(u: FloatArray, v: FloatArray, width: FloatArray) -> FloatArray:
    """Return R(u) − R(v) with v = u + width."""
    middle = u + width / 2
    is_close = (width <= np.maximum(1.0, 0.4 * middle)) & (middle >= 0)
    drop = mills(u) - mills(v)
    if is_close.any():
        drop[is_close] = mills_drop(middle[is_close], width[is_close])
    return drop


def _corrections(u: FloatArray, v: FloatArray, sigma: FloatArray, share: FloatArray) -> FloatArray:
    """Return Σ_k B_2k/(2k)! [h_{2k−1}(u) − e^κ h_{2k−1}(v)] with h_m(x) = He_m(x)/σ^m.

    They follow from h_{m+1} = (x/σ) h_m − (m/σ²) h_{m−1}; in the first the large parts of u and v are taken out.
    """
    kept, square = 1 - share, 1 / (sigma * sigma)
    here, there = (np.ones_like(u), u / sigma), (np.ones_like(v), v / sigma)
    total = _EULER[0] * (share * there[1] - (v - u) / sigma)
    for degree in range(1, 2 * len(_EULER) - 1):
        here = (here[1], here[1] * u / sigma - degree * square * here[0])
        there = (there[1], there[1] * v / sigma - degree * square * there[0])
        if degree % 2 == 0:
            total = total + _EULER[degree // 2] * (here[1] - kept * there[1])
    return total
