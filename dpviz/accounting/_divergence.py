"""Relative entropies as sums of terms that are all >= 0, so that nothing cancels where two laws are close."""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import FloatArray

_TERMS = 11
_SMALL = 0.3
_LIFT = 2.0**900  # keeps a tiny prior times a density within the normal float64


def entropy_excess(density: FloatArray, mixture: FloatArray, gap: FloatArray) -> FloatArray:
    """Return density · ln(density/mixture) − gap, where gap = density − mixture is given without cancelling.

    A mixture of 0 needs a density of 0.
    """
    shared = np.where(mixture > 0, mixture, 1.0)
    excess, ratio = gap / shared, density / shared
    is_small = np.abs(excess) < _SMALL
    log_ratio = np.log(np.where((ratio > 0) & np.isfinite(ratio), ratio, 1.0))
    if np.isinf(ratio).any():
        log_ratio = np.where(np.isinf(ratio), np.log(np.maximum(density, shared)) - np.log(shared), log_ratio)
    near = shared * _small_excess(np.where(is_small, excess, 0.0))
    return np.asarray(np.where(is_small, near, density * log_ratio - gap))


def bit_information(
    prior: FloatArray, rest: FloatArray, first: FloatArray, second: FloatArray, difference: FloatArray
) -> FloatArray:
    """Return what outputs with these probabilities (densities) say of a bit: its two relative entropies, weighted.

    `first` is under the bit 1, of probability `prior`; `second` under 0, of probability `rest`; `difference` is
    first − second without cancelling.
    """
    high, low, apart = first * _LIFT, second * _LIFT, difference * _LIFT
    mixture = prior * high + rest * low
    up = prior * entropy_excess(high, mixture, rest * apart)
    down = rest * entropy_excess(low, mixture, -prior * apart)
    return np.asarray((up + down) / _LIFT)


def _small_excess(x: FloatArray) -> FloatArray:
    """Return (1 + x) ln(1 + x) − x for |x| < 0.3, by the series of ln(1 + x) = 2 artanh(t) at t = x/(2 + x)."""
    t = x / (2 + x)
    square = t * t
    series = np.zeros_like(t)
    for j in range(_TERMS, 0, -1):
        series = square * (1 / (2 * j + 1) + series)
    return np.asarray(x * t + (1 + x) * 2 * t * series)
