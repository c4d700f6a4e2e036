"""The pairs of coins that cost most privacy for a given Rényi divergence: what the sharpest conversion rests on.

Deciding by one test turns any pair of laws into two coins, P = (p, 1 − p) and Q = (q, 1 − q), without changing the
test's p − e^ε q and without raising the divergence; so coins are the worst case. With t = log(p/q) − log((1 − p)/(1 − q))
the extreme coins are one curve, s = α − 1 and

    κ(t) = −log[(s/α)(1 − e^{−αt})/(1 − e^{−st})],   δ = p(1 − e^{−κ}),   ε = log(p/q) − κ,

on which the divergence rises with t, both for a fixed δ (then p = δ/(1 − e^{−κ})) and for a fixed ε (then
log((1 − q)/(1 − p)) = t − ε − κ). All functions take flat arrays, with s > 0, and 0 < ρ < ∞.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._subsampled_panels import excess

_HALVINGS = 64
_NEAR = 0.05
_LEAST, _GREATEST = -744.0, 709.0  # logs of the least and the greatest float64


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
        t = start + beyond
        with np.errstate(invalid="ignore", over="ignore"):  # by how much κ is greater than at the start
            rise = np.log1p(-np.expm1(-order * beyond) * odds) - np.log1p(-np.expm1(-(order + 1) * beyond) * power_odds)
            is_near = (t * (order + 1) < _NEAR) | (start == 0)
            rise = np.where(is_near, _kappa(t, order) - np.where(start == 0, 0.0, _kappa(start, order)), rise)
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
    low, high = epsilon, np.minimum(2 * epsilon, epsilon + np.log1p(1 / s))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_above = middle - _kappa(middle, s) >= epsilon
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return high


def _kappa(t: FloatArray, s: FloatArray) -> FloatArray:
    """Return κ(t), which rises from t/2 to log(1 + 1/s)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        small = np.minimum(t * (s + 1), 1.0)
        direct = np.log1p(1 / s) - np.log1p(-np.expm1(-t) / np.expm1(s * t))
    # log((1 − e^{−u})/u) is −u/2 + u²/24 − u⁴/2880 + u⁶/181440 − …: its difference, where the logs would cancel
    u, v = small, small * (s / (s + 1))
    series = (u - v) / 2 - (u - v) * (u + v) * (1 / 24 - (u * u + v * v) * (1 / 2880 - _rest(u, v)))
    return np.where(small < _NEAR, series, direct)


def _rest(u: FloatArray, v: FloatArray) -> FloatArray:
    square, other = u * u, v * v
    return (square * square + square * other + other * other) / (square + other + 1e-300) / 181440


def _solve(
    coins: Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]], rho: FloatArray, s: FloatArray
) -> FloatArray:
    """Return the t at which the coins' divergence is rho, the upper end of the last halving."""
    low, high = np.full(rho.shape, _LEAST), np.full(rho.shape, _GREATEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_above = _divergence(*coins(np.exp(middle)), s) >= rho
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.exp(high)


def _divergence(p: FloatArray, gained: FloatArray, lost: FloatArray, s: FloatArray) -> FloatArray:
    """Return the Rényi divergence of order 1 + s of coins with log(p/q) = gained, log((1 − q)/(1 − p)) = lost."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        heads, tails = np.log(p), np.log1p(-p)
        far = np.logaddexp(heads + s * gained, tails - s * lost) / s
        total = np.zeros_like(p)
        for log_mass, loss in ((heads, np.minimum(gained, 1 / s)), (tails, -lost)):
            shift, rest = excess(loss, s)
            total += np.exp(log_mass + np.minimum(shift, -log_mass)) * rest
        near = np.log1p(s * total) / s
    return np.where(s * gained < 1, near, far)
