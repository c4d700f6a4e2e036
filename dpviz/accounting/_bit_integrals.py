"""The integrals behind the mutual information of a bit with a noisy answer, for whole arrays of points.

Points that need about as many nodes are done together, so that no work is wasted and no loop runs over points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._divergence import bit_information

_REACH = 9.6  # of a standard normal: e^{−46} is beyond
_DIGITS = 38.0
_AT_ONCE = 2**19
_PANEL_NODES, _PANEL_WEIGHTS = np.polynomial.legendre.leggauss(14)


def gaussian_bit(mu: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the information for flat 0 < mu < 60 and 0 < prior <= 1/2, by the trapezoidal rule.

    The integrand is analytic up to π/mu off the real line, which sets the step.
    """
    strip = np.minimum(0.97 * np.pi / mu, 6.0)
    step = 2 * np.pi * strip / (_DIGITS + strip * strip / 2)
    crossing = mu / 2 + (np.log1p(-prior) - np.log(prior)) / mu
    width = np.maximum(mu, np.minimum(2 * mu, crossing)) + 2 * _REACH

    def rule(at: FloatArray, count: int) -> FloatArray:
        node = -_REACH + width[at] * (np.arange(count + 1.0) / count)[:, None]
        log_ratio = mu[at] * (node - mu[at] / 2)
        second = np.exp(-node * node / 2)
        first = np.exp(-((node - mu[at]) ** 2) / 2)
        difference = np.where(log_ratio < 0, second * np.expm1(np.minimum(log_ratio, 0.0)), 0.0)
        difference = np.where(log_ratio > 0, -first * np.expm1(-np.maximum(log_ratio, 0.0)), difference)
        total = bit_information(prior[at], 1 - prior[at], first, second, difference).sum(axis=0)
        return np.asarray(total * width[at] / count / np.sqrt(2 * np.pi))

    return _by_size(width / step, rule)


def laplace_bit(gap: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the information for flat 0 < gap <= 1500 and 0 < prior <= 1/2.

    Outside the two answers the ratio is constant; between them Gauss and Legendre's rule runs over short panels.
    """
    fall = np.exp(-gap)
    below = bit_information(prior, 1 - prior, fall / 2, np.full_like(gap, 0.5), np.expm1(-gap) / 2)
    above = bit_information(prior, 1 - prior, np.full_like(gap, 0.5), fall / 2, -np.expm1(-gap) / 2)

    def rule(at: FloatArray, count: int) -> FloatArray:
        start = np.arange(count)[:, None] + (_PANEL_NODES + 1) / 2
        node = gap[at] * (start.reshape(-1, 1) / count)
        first, second = np.exp(node - gap[at]) / 2, np.exp(-node) / 2
        lean = 2 * node - gap[at]
        difference = np.where(lean < 0, second * np.expm1(np.minimum(lean, 0.0)), 0.0)
        difference = np.where(lean > 0, -first * np.expm1(-np.maximum(lean, 0.0)), difference)
        weight = np.tile(_PANEL_WEIGHTS, count)[:, None] / 2
        total = (weight * bit_information(prior[at], 1 - prior[at], first, second, difference)).sum(axis=0)
        return np.asarray(total * gap[at] / count)

    return np.asarray(below + above + _by_size(gap, rule))


def _by_size(needed: FloatArray, rule: Callable[..., FloatArray]) -> FloatArray:
    """Apply the rule with a power of two of pieces, at least as many as each point needs."""
    power = np.ceil(np.log2(np.maximum(needed, 1.0))).astype(np.int64)
    result = np.empty_like(needed)
    for each in np.unique(power):
        members, count = np.flatnonzero(power == each), 2 ** int(each)
        for at in np.array_split(members, 1 + members.size * count // _AT_ONCE):
            result[at] = rule(at, count)
    return result
