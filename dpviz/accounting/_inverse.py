"""The inverse of the Gaussian privacy profile: epsilon from log delta, for whole arrays at once."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._mills import log_normal_density, mills, profile

_MOST_STEPS = 60


def solve_epsilon(delta: FloatArray, mu: FloatArray) -> FloatArray:
    """Solve log delta(epsilon) = log delta for 0 < delta < erf(mu/√8).

    What is sought is u = epsilon/mu − mu/2, by Halley steps: log delta is concave in it.
    """
    target = np.log(delta)
    u = np.maximum(_start(delta, target, mu), -mu / 2)
    active = np.arange(u.size)
    for _ in range(_MOST_STEPS):
        u[active], is_done = _step(u[active], mu[active], target[active])
        active = active[~is_done]
        if not active.size:
            return mu * (mu / 2 + u)
    raise ArithmeticError(f"epsilon did not settle for delta={delta[active]!r}, mu={mu[active]!r}")


def _start(delta: FloatArray, log_delta: FloatArray, mu: FloatArray) -> FloatArray:
    """Return a u at or beyond the root: the lesser of two upper bounds.

    P(loss > epsilon) = Φ(−u) exceeds delta(epsilon); and for u >= 0 so does mu φ(u)/(1 + u²), whose own root
    is closed in on from both sides.
    """
    room = 2 * (np.log(mu / np.sqrt(2 * np.pi)) - log_delta)
    beyond = np.maximum(room, 0.0)
    for _ in range(2):
        beyond = np.maximum(room - 2 * np.log1p(beyond), 0.0)
    u: FloatArray = np.minimum(-ndtri(delta), np.sqrt(beyond))
    return u


def _step(u: FloatArray, mu: FloatArray, target: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return u after one Halley step, and where that step was already too small to matter."""
    log_weight, factor = profile(u, mu)
    log_delta = log_weight + np.log(factor)
    v = u + mu
    ratio = mills(v)
    fall = mu * ratio * np.exp(log_normal_density(u) - log_delta)  # −d log delta/du
    newton = (log_delta - target) / fall
    bend = fall - u - np.where(v < 1e4, 1 / ratio - v, 1 / v)  # d log(fall)/du
    moved = np.maximum(u + newton / np.maximum(1 + newton * bend / 2, 0.5), -mu / 2)
    tolerance = 1e-6 * np.minimum(u + mu / 2, 1.0) + 4 * np.spacing(np.abs(u)) + 1e-15 * (1 - target)
    return moved, np.abs(moved - u) <= tolerance
