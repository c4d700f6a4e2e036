"""The Gaussian profile with its ends, and what is read off it inside this package; arrays of one shape."""

from __future__ import annotations

import numpy as np
from scipy.special import erf

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._mills import evaluate, threshold

_TINIEST = np.finfo(np.float64).smallest_subnormal


def profile_at(epsilon: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return delta, 1 − delta and log delta; delta is 0 where epsilon is inf or mu is 0, 1 where mu alone is inf."""
    delta, complement, log_delta = np.zeros(epsilon.shape), np.ones(epsilon.shape), np.full(epsilon.shape, -np.inf)
    is_open = np.isfinite(epsilon) & np.isinf(mu)
    delta[is_open], complement[is_open], log_delta[is_open] = 1.0, 0.0, 0.0
    inner = np.isfinite(epsilon) & np.isfinite(mu) & (mu > 0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        u, rest = threshold(epsilon[inner], mu[inner])
        delta[inner], complement[inner], log_delta[inner] = evaluate(u, rest, mu[inner])
        advantage = erf(mu / np.sqrt(8))
    return np.where(epsilon == 0, advantage, delta), complement, log_delta


def signed_log_delta(epsilon: FloatArray, mu: FloatArray) -> FloatArray:
    r"""Return log delta at losses of either sign, for arrays of one shape and 0 < mu < inf; exact.

    .. math:: \delta(-\varepsilon) = 1 - e^{-\varepsilon} + e^{-\varepsilon}\,\delta(\varepsilon)

    References
    ----------
    Elementary: the hockey-stick divergence of the reversed pair, which is a mirror image.

    Examples
    --------
    >>> signed_log_delta(np.array([-1.0, 1.0]), np.ones(2)).round(4)
    array([-0.3874, -2.0641])
    """
    size = np.abs(epsilon)
    delta, complement, log_delta = profile_at(size, mu)
    with np.errstate(under="ignore"):
        log_sum = np.log(np.maximum(-np.expm1(-size) + np.exp(-size) * delta, _TINIEST))
        reversed_log = np.where(log_sum > -0.5, np.log1p(-np.exp(-size) * complement), log_sum)
    return np.where(epsilon < 0, reversed_log, log_delta)


def is_delta_above(delta: FloatArray, epsilon: FloatArray, mu: FloatArray) -> BoolArray:
    """Return where `gaussian_delta` is above a delta in (0, 1); decided as finely as the numbers allow.

    Near 1 the complements are compared too, and near the least float64 the logs, where the steps of delta itself are
    coarse. Takes arrays of one shape.
    """
    now, complement, log_now = profile_at(epsilon, mu)
    is_high = (delta > 0.5) & (complement < 1 - delta)
    is_low = (delta < 1e-300) & (log_now > np.log(delta))
    return (now > delta) | is_high | is_low
