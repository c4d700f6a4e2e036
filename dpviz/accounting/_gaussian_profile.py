"""The Gaussian profile with its ends, and what is read off it inside this package; arrays of one shape."""

from __future__ import annotations

import numpy as np
from scipy.special import erf

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._mills import evaluate, threshold


def profile_at(epsilon: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return delta, 1 − delta and log delta; delta is 0 where epsilon is inf or mu is 0, 1 where mu alone is inf.

    At a loss below 0 it is the divergence of the reversed pair, a mirror image: 1 − e^−ε + e^−ε delta(ε).
    """
    size = np.abs(epsilon)
    delta, complement, log_delta = np.zeros(size.shape), np.ones(size.shape), np.full(size.shape, -np.inf)
    is_open = np.isfinite(size) & np.isinf(mu)
    delta[is_open], complement[is_open], log_delta[is_open] = 1.0, 0.0, 0.0
    inner = np.isfinite(size) & np.isfinite(mu) & (mu > 0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        u, rest = threshold(size[inner], mu[inner])
        delta[inner], complement[inner], log_delta[inner] = evaluate(u, rest, mu[inner])
        delta = np.where(size == 0, erf(mu / np.sqrt(8)), delta)
        below = epsilon < 0
        if below.any():
            fade = np.exp(-size[below])
            delta[below] = -np.expm1(-size[below]) + fade * delta[below]
            complement[below] *= fade
            is_high = complement[below] < 0.4
            log_delta[below] = np.where(is_high, np.log1p(-complement[below]), np.log(delta[below]))
    return delta, complement, log_delta


def is_delta_above(delta: FloatArray, epsilon: FloatArray, mu: FloatArray) -> BoolArray:
    """Return where `gaussian_delta` is above a delta in (0, 1); decided as finely as the numbers allow.

    Near 1 the complements are compared too, and near the least float64 the logs, where the steps of delta itself are
    coarse. Takes arrays of one shape.
    """
    now, complement, log_now = profile_at(epsilon, mu)
    is_high = (delta > 0.5) & (complement < 1 - delta)
    is_low = (delta < 1e-300) & (log_now > np.log(delta))
    return (now > delta) | is_high | is_low
