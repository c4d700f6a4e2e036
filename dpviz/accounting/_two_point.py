"""The pairs of coins that cost most privacy for a given Rényi divergence: what the sharpest conversion rests on.

Deciding by one test turns any pair of laws into two coins, P = (p, 1 − p) and Q = (q, 1 − q), without changing the
test's p − e^ε q and without raising the divergence; so coins are the worst case. The extreme coins are one curve in
t = log(p/q) − log((1 − p)/(1 − q)), with s = α − 1 and

    κ(t) = −log[(s/α)(1 − e^{−αt})/(1 − e^{−st})],   δ = p(1 − e^{−κ}),   ε = log(p/q) − κ,

on which the divergence rises with t, both for a fixed δ (then p = δ/(1 − e^{−κ})) and for a fixed ε (then
log((1 − q)/(1 − p)) = t − ε − κ). Where δ > 0.97 and s < 0.03, 1 − p is lost in rounding and epsilon comes out too
great, never too small. All functions take flat arrays, with s > 0, and 0 < ρ < ∞.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._subsampled_panels import excess

_HALVINGS, _COARSE, _MOST_STEPS = 64, 16, 40
_NEAR, _AT_ZERO = 0.05, 1e-200
_LEAST, _FAR = -744.0, 750.0  # e^-744 is the least float64, e^-750 none


def worst_epsilon(divergence: FloatArray, s: FloatArray, delta: FloatArray) -> FloatArray:
    """Return the greatest epsilon, of either sign, that a pair of the divergence can have at 0 < delta < 1."""
    none = np.log1p(-delta)
    is_coin = delta * (s + 1) < 1  # else the worst P has p = 1
    epsilon = divergence + none
    rho, order, slack = divergence[is_coin], s[is_coin], delta[is_coin]

    def coins(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        kappa = _kappa(t, order)
        p = slack / -np.expm1(-kappa)
        lost = np.where(p < 1, -np.log1p(np.where(p < 1, p, 0.0) * np.expm1(-t)), t)
        return np.minimum(p, 1.0), t - lost, lost

    if is_coin.any():
        t = _solve(coins, rho, order)
        epsilon[is_coin] = coins(t)[1] - _kappa(t, order)
    return epsilon


def worst_log_delta(divergence: FloatArray, s: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Return the log of the greatest delta that a pair of the divergence can have at an epsilon >= 0."""
    gap = epsilon - divergence
    is_coin = gap > -np.log1p(1 / s)  # else the worst P has p = 1
    log_delta = np.log(-np.expm1(np.minimum(gap, -1e-300)))
    rho, order, loss = divergence[is_coin], s[is_coin], epsilon[is_coin]

    start = _start(loss, order)
    with np.errstate(over="ignore", divide="ignore"):
        odds, power_odds = 1 / np.expm1(order * start), 1 / np.expm1((order + 1) * start)

    def coins(beyond: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with np.errstate(invalid="ignore", over="ignore"):
            t = start + beyond
            rise = np.log1p(-np.expm1(-order * beyond) * odds) - np.log1p(-np.expm1(-(order + 1) * beyond) * power_odds)
            rise = np.where(start < _AT_ZERO, _kappa(t, order), rise)
            rise = np.where(t * (order + 1) < _NEAR, _near_rise(start, beyond, order), rise)
        lost = np.maximum(beyond - rise, 0.0)
        return np.expm1(-lost) / np.expm1(-t), start + rise, lost

    if is_coin.any():
        beyond = _solve(coins, rho, order)
        with np.errstate(divide="ignore"):
            share = np.log(-np.expm1(-_kappa(start + beyond, order)))
            log_delta[is_coin] = np.log(coins(beyond)[0]) + share
    return log_delta


def _start(epsilon: FloatArray, s: FloatArray) -> FloatArray:
    """Return the t with t − κ(t) = epsilon."""
    with np.errstate(over="ignore"):
        low, high = epsilon, np.minimum(2 * epsilon, epsilon + np.log1p(1 / s))
    for _ in range(_HALVINGS):
        middle = low / 2 + high / 2
        is_above = middle - _kappa(middle, s) >= epsilon
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return high


def _kappa(t: FloatArray, s: FloatArray) -> FloatArray:
    """Return κ(t), which rises from t/2 to log(1 + 1/s)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        direct = np.log1p(1 / s) - np.log1p(-np.expm1(-t) / np.expm1(s * t))
        is_near = t * (s + 1) < _NEAR
    kappa: FloatArray = np.where(is_near, _near_rise(np.zeros_like(t), np.where(is_near, t, 0.0), s), direct)
    return kappa


def _near_rise(start: FloatArray, beyond: FloatArray, s: FloatArray) -> FloatArray:
    """Return κ(start + beyond) − κ(start) by the series of κ, for (s + 1) t < 0.05.

    log((1 − e^{−u})/u) is −u/2 + u²/24 − u⁴/2880 + u⁶/181440 − …, and κ what it falls by from u = st to u = αt.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        top = np.minimum((s + 1) * (start + beyond), _NEAR)
        low, ratio = np.minimum((s + 1) * start, top), np.square(s / (s + 1))
        fourth = (low * low + top * top) * (1 + ratio) / 2880
        sixth = (low**4 + (low * top) ** 2 + top**4) * (1 + ratio + ratio * ratio) / 181440
        slope = 0.5 - (low + top) * (1 + s / (s + 1)) * (1 / 24 - fourth + sixth)
        rise: FloatArray = beyond * slope
    return rise


def _solve(
    coins: Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]], rho: FloatArray, s: FloatArray
) -> FloatArray:
    """Return the t at which the coins' divergence is rho: halvings in log t, then the Illinois rule."""

    def height(log_t: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            excess_of = np.log(_divergence(*coins(np.exp(log_t)), s)) - np.log(rho)
        clipped: FloatArray = np.clip(excess_of, -1e3, 1e3)
        return clipped

    low, high = np.full(rho.shape, _LEAST), np.log(rho + _FAR / s + _FAR) + 1
    for _ in range(_COARSE):
        middle = (low + high) / 2
        is_above = height(middle) >= 0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    below, above = height(low), height(high)
    was_above = np.full(rho.shape, -1)
    for _ in range(_MOST_STEPS):
        between = np.clip((low * above - high * below) / np.maximum(above - below, 1e-300), low, high)
        found = height(between)
        is_above = found >= 0
        above = np.where(is_above, found, np.where(was_above == 0, above / 2, above))
        below = np.where(is_above, np.where(was_above == 1, below / 2, below), found)
        low, high = np.where(is_above, low, between), np.where(is_above, between, high)
        was_above = is_above.astype(np.int64)
        if np.all((np.abs(found) <= 4e-16) | (high - low <= 4e-16 * np.abs(high))):
            break
    return np.exp(between)


def _divergence(p: FloatArray, gained: FloatArray, lost: FloatArray, s: FloatArray) -> FloatArray:
    """Return the Rényi divergence of order 1 + s of coins with log(p/q) = gained, log((1 − q)/(1 − p)) = lost."""
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        heads, tails = np.log(p), np.log1p(-p)
        far = np.logaddexp(heads + s * gained, tails - s * lost) / s
        total = np.zeros_like(p)
        for log_mass, loss in ((heads, np.minimum(gained, 1 / s)), (tails, -lost)):
            shift, rest = excess(loss, s)
            total += np.exp(log_mass + np.minimum(shift, -log_mass)) * rest
        near = np.where(s * total < 1e-300, total, np.log1p(s * total) / s)
        return np.where(s * gained < 1, near, far)
