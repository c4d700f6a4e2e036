"""Quantiles of the mixture (1 − p) N(0, 1) + p N(mu, 1), which is what an attacker sees of a random sample.

All functions here take flat arrays of one shape, with 0 < level < 1, 0 < rate <= 1 and 0 < mu < inf.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._mills import log_normal_density
from dpviz.accounting._terms import rest_of_one

_MOST_STEPS = 100
_SETTLED = 1e-9  # of t: what a Newton step of that size leaves is below its last digit


def mixture_quantile(level: FloatArray, rate: FloatArray, mu: FloatArray) -> FloatArray:
    """Return t with p Φ(t − mu) + (1 − p) Φ(t) = level.

    Each third of the line has the form in which nothing cancels: both tails beyond mu, both heads below 0, and
    between them p Φ(t − mu) = (level − 1 + p) + (1 − p) Φ(−t), its constant moved to the side where it is positive.
    """
    with np.errstate(under="ignore"):
        far = level >= rate / 2 + (1 - rate) * ndtr(mu)
        low = ~far & (level < (1 - rate) / 2 + rate * ndtr(-mu))
    near = ~(far | low)
    t = np.empty_like(level)
    for part, solve in ((far, _far_quantile), (near, _near_quantile), (low, _low_quantile)):
        if part.any():
            with np.errstate(under="ignore", over="ignore", divide="ignore"):
                t[part] = solve(level[part], rate[part], mu[part])
    return t


def _far_quantile(level: FloatArray, rate: FloatArray, mu: FloatArray) -> FloatArray:
    """Return t >= mu with log[p Φ(mu − t) + (1 − p) Φ(−t)] = log(1 − level)."""

    def excess(t: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
        weight, rest, target, shift = parts
        total, slope = _log_sum(weight, shift - t, rest, -t)
        return target - total, slope

    tail = 1 - level
    start = np.maximum(mu - ndtri(np.minimum(tail / rate, 1)), -ndtri(np.minimum(tail / (1 - rate), 1)))
    end = np.maximum(mu - ndtri(np.minimum(tail / 2 / rate, 1)), -ndtri(np.minimum(tail / 2 / (1 - rate), 1)))
    parts = np.stack([np.log(rate), np.log1p(-rate), np.log1p(-level), mu])
    return _increasing_root(excess, parts, np.maximum(start, mu), np.maximum(end, mu))


def _low_quantile(level: FloatArray, rate: FloatArray, mu: FloatArray) -> FloatArray:
    """Return t <= 0 with log[p Φ(t − mu) + (1 − p) Φ(t)] = log(level)."""

    def excess(t: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
        weight, rest, target, shift = parts
        total, slope = _log_sum(weight, t - shift, rest, t)
        return total - target, slope

    end = np.minimum(mu + ndtri(np.minimum(level / rate, 1)), ndtri(np.minimum(level / (1 - rate), 1)))
    parts = np.stack([np.log(rate), np.log1p(-rate), np.log(level), mu])
    return _increasing_root(excess, parts, np.minimum(ndtri(level), 0.0), np.minimum(end, 0.0))


def _near_quantile(level: FloatArray, rate: FloatArray, mu: FloatArray) -> FloatArray:
    """Return t in [0, mu] where the logs of both sides of the middle form are equal."""

    def excess(t: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
        weight, rest, left, right, shift = parts
        rising, falling = weight + log_ndtr(t - shift), rest + log_ndtr(-t)
        up, down = np.logaddexp(rising, left), np.logaddexp(falling, right)
        slope = np.exp(weight + log_normal_density(t - shift) - up) + np.exp(rest + log_normal_density(t) - down)
        return up - down, slope

    surplus = -rest_of_one(rate, level)
    left, right = np.log(np.maximum(-surplus, 0.0)), np.log(np.maximum(surplus, 0.0))
    start = np.maximum(mu + ndtri(np.clip(surplus / rate, 0.0, 0.5)), 0.0)
    return _increasing_root(excess, np.stack([np.log(rate), np.log1p(-rate), left, right, mu]), start, mu)


def _log_sum(weight: FloatArray, x: FloatArray, rest: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(e^weight Φ(x) + e^rest Φ(y)) and its slope when x and y move together."""
    total = np.logaddexp(weight + log_ndtr(x), rest + log_ndtr(y))
    slope = np.exp(weight + log_normal_density(x) - total) + np.exp(rest + log_normal_density(y) - total)
    return total, slope


def _increasing_root(
    excess: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    parts: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    """Return the root of excess(t, parts), which rises in t, in [low, high] or a rounding outside.

    Newton steps, with halving where one would leave; a column of `parts` belongs to each root, and what has
    settled is left out.
    """
    root, active, t = np.empty_like(low), np.arange(low.size), low
    low, high = low - _SETTLED * (1 + np.abs(low)), high + _SETTLED * (1 + np.abs(high))
    for _ in range(_MOST_STEPS):
        value, slope = excess(t, parts)
        low, high = np.where(value < 0, t, low), np.where(value < 0, high, t)
        newton = t - value / slope
        is_inside = (newton >= low) & (newton <= high)
        moved = np.where(is_inside, newton, low + (high - low) / 2)
        is_done = (np.abs(moved - t) <= _SETTLED * np.maximum(np.abs(moved), 1e-3)) & is_inside
        is_done |= high - low <= 4 * np.spacing(np.abs(high))
        root[active[is_done]] = moved[is_done]
        if is_done.all():
            return root
        active, parts = active[~is_done], parts[:, ~is_done]
        t, low, high = moved[~is_done], low[~is_done], high[~is_done]
    raise ArithmeticError("a quantile of the mixture did not settle")
