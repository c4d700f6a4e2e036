"""The inverses of the Gaussian privacy profile: epsilon or mu from delta, for whole arrays at once.

Both come near the root on a rough log delta, which is cheap, and then step on the exact one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfinv, ndtri

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._mills import evaluate, log_normal_density, mills, rough_log_delta, threshold

_ROUGH_STEPS, _MOST_STEPS = 3, 60
_TINY = np.finfo(np.float64).tiny


def solve_epsilon(delta: FloatArray, mu: FloatArray) -> FloatArray:
    """Solve delta(epsilon) = delta for 0 < delta < erf(mu/√8).

    What is sought is u = epsilon/mu − mu/2, by Halley steps: log delta is concave in it.
    """
    target = np.log(delta)
    u = np.maximum(_start_u(delta, target, mu), -mu / 2)
    for _ in range(_ROUGH_STEPS):
        log_now = rough_log_delta(u, mu)
        u = _step_u(u, mu, log_now, log_now - target)
    active = np.arange(u.size)
    for _ in range(_MOST_STEPS):
        at, spread = u[active], mu[active]
        log_now, excess = log_excess(at, np.zeros_like(at), spread, delta[active])
        u[active] = _step_u(at, spread, log_now, excess)
        active = active[~_is_settled(u[active] - at, at, spread, target[active])]
        if not active.size:
            return mu * (mu / 2 + u)
    raise ArithmeticError(f"epsilon did not settle for delta={delta[active]!r}, mu={mu[active]!r}")


def solve_mu(epsilon: FloatArray, delta: FloatArray) -> FloatArray:
    """Solve delta(mu) = delta for a finite epsilon >= 0 and 0 < delta < 1, nearly to the last digit.

    Halley steps on log mu, from below; log delta is concave in that too. Where epsilon is so large that no
    float64 mu meets delta, it ends at one that is a few units of the last place from where delta passes it.
    """
    target = np.log(delta)
    mu = _start_mu(epsilon, delta)
    for _ in range(_ROUGH_STEPS):
        u, _ = threshold(epsilon, mu)
        log_now = rough_log_delta(u, mu)
        mu = mu * np.exp(_step_log_mu(u, mu, log_now, log_now - target))
    active = np.arange(mu.size)
    for _ in range(_MOST_STEPS):
        at = mu[active]
        u, rest = threshold(epsilon[active], at)
        step = _step_log_mu(u, at, *log_excess(u, rest, at, delta[active]))
        mu[active] = at * np.exp(step)
        active = active[np.abs(step) > 1e-6]
        if not active.size:
            break
    return mu


def _start_u(delta: FloatArray, target: FloatArray, mu: FloatArray) -> FloatArray:
    """Return a u at or beyond the root: the lesser of two upper bounds.

    P(loss > epsilon) = Φ(−u) exceeds delta(epsilon); and for u >= 0 so does mu φ(u)/(1 + u²), whose own root
    is closed in on from both sides.
    """
    room = 2 * (np.log(mu / np.sqrt(2 * np.pi)) - target)
    beyond = np.maximum(room, 0.0)
    for _ in range(2):
        beyond = np.maximum(room - 2 * np.log1p(beyond), 0.0)
    u: FloatArray = np.minimum(-ndtri(delta), np.sqrt(beyond))
    return u


def _step_u(u: FloatArray, mu: FloatArray, log_now: FloatArray, excess: FloatArray) -> FloatArray:
    """Return u after one Halley step, where log delta is `log_now`, too much by `excess`."""
    v = u + mu
    ratio = mills(v)
    fall = ratio * np.exp(np.log(mu) + log_normal_density(u) - log_now)  # −d log delta/du
    newton = excess / fall
    bend = fall - u - np.where(v < 1e4, 1 / ratio - v, 1 / v)  # d log(fall)/du
    return np.maximum(u + newton / np.maximum(1 + newton * bend / 2, 0.5), -mu / 2)


def _is_settled(moved: FloatArray, u: FloatArray, mu: FloatArray, target: FloatArray) -> BoolArray:
    """Return where a step was already too small to matter, since the next is as its cube."""
    tolerance = 1e-6 * np.minimum(u + mu / 2, 1.0) + 4 * np.spacing(np.abs(u)) + 1e-15 * (1 - target)
    is_small: BoolArray = np.abs(moved) <= tolerance
    return is_small


def _start_mu(epsilon: FloatArray, delta: FloatArray) -> FloatArray:
    """Return a mu at or below the root: the greater of two lower bounds.

    Φ(−u) exceeds delta at the same u, and delta at epsilon = 0 exceeds delta.
    """
    u = np.where(delta < 0.5, -ndtri(np.minimum(delta, 0.5)), ndtri(1 - delta))
    reach = np.hypot(u, np.sqrt(2) * np.sqrt(epsilon))
    tail = np.where(u > 0, epsilon / np.where(u > 0, u + reach, 1.0) * 2, reach - u)
    advantage = np.where(delta < 0.5, np.sqrt(8) * erfinv(np.minimum(delta, 0.5)), -2 * ndtri((1 - delta) / 2))
    return np.maximum(np.maximum(tail, advantage), np.finfo(np.float64).smallest_subnormal)


def _step_log_mu(u: FloatArray, mu: FloatArray, log_now: FloatArray, excess: FloatArray) -> FloatArray:
    """Return the Halley step of log mu, kept within a factor of e."""
    rise = np.exp(np.minimum(np.log(mu) + log_normal_density(u) - log_now, 230.0))  # d log delta/d log mu
    newton = np.clip(-excess / np.maximum(rise, _TINY), -1e100, 1e100)
    bend = 1 + np.clip(u * (u + mu), -1e100, 1e100) - rise  # d log(rise)/d log mu
    return np.clip(newton / np.maximum(1 + newton * bend / 2, 0.5), -1.0, 1.0)


def log_excess(u: FloatArray, rest: FloatArray, mu: FloatArray, delta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log delta(u), and by how much it is above log delta: near a root from delta itself, not two logs."""
    now, complement, log_now = evaluate(u, rest, mu)
    gap = np.where(delta < 0.5, now - delta, (1 - delta) - complement)
    is_near = (np.abs(gap) < delta / 2) & (delta > 1e-290)
    near = np.log1p(np.where(is_near, gap, 0.0) / np.where(is_near, delta, 1.0))
    return log_now, np.where(is_near, near, log_now - np.log(delta))
