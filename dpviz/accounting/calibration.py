"""The least noise that meets a target, and the most releases that do: answers that account for themselves.

Each answer is settled to the last float64 (or whole number) by the very function that would be asked whether it
is private enough, so it never exceeds its target. Sensitivities are L2 sensitivities under the neighbouring
relation that the caller declares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import LARGEST_COUNT, BoolArray, DomainError, FloatArray, Numbers, plain
from dpviz.accounting._gaussian_profile import is_delta_above
from dpviz.accounting._inverse import solve_mu
from dpviz.accounting._search import IntArray, least_float, least_whole
from dpviz.accounting.composition import exact_epsilon
from dpviz.accounting.gaussian_mu import root_ratio

_LEAST = float(np.finfo(np.float64).smallest_subnormal)
_SECANTS = 12

Bound = Callable[..., Numbers]
"""A bound for Gaussian releases: takes count, sigma, sensitivity and delta by keyword, and returns epsilon."""


def calibrate_gaussian(
    epsilon: npt.ArrayLike, *, delta: npt.ArrayLike, count: npt.ArrayLike = 1, sensitivity: npt.ArrayLike = 1.0
) -> Numbers:
    r"""Return the least sigma with which `count` Gaussian releases are (epsilon, delta)-DP together; exact.

    .. math:: \sigma = \sqrt{k}\,\Delta/\mu, \qquad \delta(\varepsilon; \mu) = \delta

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound of all releases, nats, finite and >= 0.
    delta : array_like
        Additive slack, in (0, 1]: no Gaussian noise is pure DP. 1 asks for nothing, and gets sigma 0.
    count : array_like
        Number of fresh releases, a whole number >= 0.
    sensitivity : array_like
        L2 sensitivity under the declared neighbouring relation, query units, >= 0.

    Returns
    -------
    float or ndarray
        Sigma of each release, query units: `gaussian_delta` at its `composed_mu` is at most `delta`, and at the
        float64 below it is not (where delta is above 1/2, its complement is compared, which has more digits). Where
        rounding makes the computed delta unsteady by a last bit, only the first is promised. 0 where no noise is
        needed.

    Raises
    ------
    DomainError
        If an argument is out of its range, or sigma is not a finite float64 > 0.

    References
    ----------
    Balle and Wang (2018), Theorem 8 and Algorithm 1. https://arxiv.org/abs/1805.06530

    Examples
    --------
    >>> round(calibrate_gaussian(1.0, delta=1e-5), 4)
    3.7306
    >>> round(calibrate_gaussian(0.1, delta=1e-5, count=60), 3)
    238.185
    """
    loss, slack, releases, change = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta, open_low=True),
        check.whole("count", count, 0),
        check.at_least("sensitivity", sensitivity, 0),
    )
    sigma = np.zeros(loss.shape)
    wanted = (slack < 1) & (releases > 0) & (change > 0)
    sigma[wanted] = _settled_sigma(loss[wanted], slack[wanted], releases[wanted], change[wanted])
    return plain(sigma)


def calibrate_gaussian_with(
    bound: Bound,
    *,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike,
    count: npt.ArrayLike = 1,
    sensitivity: npt.ArrayLike = 1.0,
) -> Numbers:
    """Return the least sigma that a given bound accepts for `count` Gaussian releases; as exact as the bound.

    Parameters
    ----------
    bound : callable
        Takes `count`, `sigma`, `sensitivity` and `delta` by keyword and returns epsilon, falling in sigma:
        `exact_epsilon`, `rdp_bound`, `improved_bound`, `basic_bound`, `advanced_bound` and the like.
    epsilon : array_like
        Privacy loss bound of all releases, nats, finite and >= 0.
    delta : array_like
        Additive slack, in [0, 1].
    count : array_like
        Number of fresh releases, a whole number >= 0.
    sensitivity : array_like
        L2 sensitivity under the declared neighbouring relation, query units, >= 0.

    Returns
    -------
    float or ndarray
        Sigma of each release, query units: the bound is at most `epsilon` at it, and not at the float64 below.
        0 where no noise is needed.

    Raises
    ------
    DomainError
        If an argument is out of its range, or no finite sigma meets the target: at delta = 0, or at epsilon = 0 by
        a bound that is never 0.

    References
    ----------
    Those of the bound; beyond it elementary, by bisection.

    Examples
    --------
    >>> from dpviz.accounting.composition import rdp_bound
    >>> round(calibrate_gaussian_with(rdp_bound, epsilon=1.0, delta=1e-5), 4)
    4.9006
    """
    loss, slack, releases, change = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta),
        check.whole("count", count, 0),
        check.at_least("sensitivity", sensitivity, 0),
    )
    start = np.ones(loss.shape)
    wanted = (slack > 0) & (slack < 1) & (releases > 0) & (change > 0)
    start[wanted] = _first_sigma(loss[wanted], slack[wanted], releases[wanted], change[wanted])

    def cost(sigma: FloatArray) -> Numbers:
        return bound(count=releases, sigma=sigma, sensitivity=change, delta=slack)

    return least_noise(cost, target=loss, start=np.where(np.isfinite(start) & (start > 0), start, 1.0))


def least_noise(cost: Callable[[FloatArray], Numbers], *, target: npt.ArrayLike, start: npt.ArrayLike = 1.0) -> Numbers:
    """Return the least noise whose cost is at most the target; exact to the last float64.

    Parameters
    ----------
    cost : callable
        Takes an array of positive noises and returns their costs, of the same shape; falling, where it is not level.
    target : array_like
        The greatest cost allowed, >= 0.
    start : array_like
        A guess, finite and > 0, of any quality; the shape of it and the target together is what `cost` gets.

    Returns
    -------
    float or ndarray
        The least float64 with cost <= target; 0 where even the least positive float64 is enough.

    Raises
    ------
    DomainError
        If an argument is out of its range, or no finite noise meets the target.

    References
    ----------
    Elementary: secants in the logs, then bisection of what float64 numbers lie between.

    Examples
    --------
    >>> least_noise(lambda sigma: 1 / sigma**2, target=[4.0, 0.25])
    array([0.5, 2. ])
    """
    goal, guess = np.broadcast_arrays(check.at_least("target", target, 0), check.positive("start", start))
    near = _near(cost, goal, guess)
    asked = near.ravel().copy()

    def is_met(noise: FloatArray, which: IntArray) -> BoolArray:
        asked[which] = noise
        is_low: BoolArray = np.ravel(np.asarray(cost(asked.reshape(goal.shape))) <= goal)
        return is_low[which]

    found = least_float(is_met, near.ravel()).reshape(goal.shape)
    _refuse_unmet("noise", found)
    return plain(np.where(found == _LEAST, 0.0, found))


def largest_count(
    *,
    sigma: npt.ArrayLike,
    sensitivity: npt.ArrayLike = 1.0,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike,
    bound: Bound = exact_epsilon,
) -> Numbers:
    """Return how many Gaussian releases a budget allows, by a given bound; exact with the default one.

    Parameters
    ----------
    sigma : array_like
        Standard deviation of the noise in each release, query units, > 0.
    sensitivity : array_like
        L2 sensitivity under the declared neighbouring relation, query units, >= 0.
    epsilon : array_like
        Privacy loss bound of all releases, nats, finite and >= 0.
    delta : array_like
        Additive slack, in [0, 1].
    bound : callable
        Takes `count`, `sigma`, `sensitivity` and `delta` by keyword and returns epsilon, rising in the count.

    Returns
    -------
    float or ndarray
        The largest whole number from 0 to 2**53 (the largest count there is here) whose cost is at most `epsilon`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Those of the bound; beyond it elementary, by bisection.

    Examples
    --------
    >>> largest_count(sigma=16.0, epsilon=2.0, delta=1e-6)
    51.0
    """
    noise, change, loss, slack = np.broadcast_arrays(
        check.positive("sigma", sigma),
        check.at_least("sensitivity", sensitivity, 0),
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta),
    )
    asked = _first_count(noise, change, loss, slack).ravel()

    def is_above(count: IntArray, which: IntArray) -> BoolArray:
        asked[which] = count
        costs = bound(count=asked.reshape(loss.shape), sigma=noise, sensitivity=change, delta=slack)
        is_high: BoolArray = np.ravel(np.asarray(costs) > loss)
        return is_high[which]

    first = least_whole(is_above, asked.astype(np.int64), low=1, high=LARGEST_COUNT)
    return plain((first - 1).reshape(loss.shape).astype(np.float64))


def _first_sigma(epsilon: FloatArray, delta: FloatArray, count: FloatArray, sensitivity: FloatArray) -> FloatArray:
    """Return the exact answer but for its last digits, for flat arrays with 0 < delta < 1."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        mu = solve_mu(epsilon, delta)
        return root_ratio(count, sensitivity, mu)


def _settled_sigma(epsilon: FloatArray, delta: FloatArray, count: FloatArray, sensitivity: FloatArray) -> FloatArray:
    """Return the least float64 that the public functions accept."""

    def is_met(sigma: FloatArray, which: IntArray) -> BoolArray:
        mu = root_ratio(count[which], sensitivity[which], sigma)
        return ~is_delta_above(delta[which], epsilon[which], mu)

    start = _first_sigma(epsilon, delta, count, sensitivity)
    sigma = least_float(is_met, np.where(np.isfinite(start), start, np.finfo(np.float64).max))
    _refuse_unmet("sigma", sigma)
    return sigma


def _first_count(sigma: FloatArray, sensitivity: FloatArray, epsilon: FloatArray, delta: FloatArray) -> FloatArray:
    """Return about how many releases the exact epsilon allows, at least 1 and at most the largest count."""
    count = np.ones(sigma.shape)
    wanted = (delta > 0) & (delta < 1) & (sensitivity > 0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        mu = solve_mu(epsilon[wanted], delta[wanted])
        count[wanted] = np.clip(np.floor((mu * (sigma[wanted] / sensitivity[wanted])) ** 2), 1.0, LARGEST_COUNT)
    return count


def _near(cost: Callable[[FloatArray], Numbers], target: FloatArray, start: FloatArray) -> FloatArray:
    """Return a noise near the least, by secants in the logs, as far as costs and target have finite logs."""
    with np.errstate(all="ignore"):
        log_target, at = np.log(target), np.log(start)
        height = np.log(np.asarray(cost(start), dtype=np.float64)) - log_target
        slope = np.full(at.shape, -1.0)
        for _ in range(_SECANTS):
            step = np.clip(-height / slope, -20.0, 20.0)
            step = np.where(np.isfinite(step), step, 0.0)
            if np.all(np.abs(step) <= 1e-15 * (1 + np.abs(at))):
                break
            moved = np.clip(at + step, -700.0, 700.0)
            new_height = np.log(np.asarray(cost(np.exp(moved)), dtype=np.float64)) - log_target
            new_slope = (new_height - height) / (moved - at)
            slope = np.where(np.isfinite(new_slope) & (new_slope < -1e-3), new_slope, slope)
            at, height = moved, new_height
        return np.where(np.abs(at - np.log(start)) > 0, np.exp(at), start)


def _refuse_unmet(name: str, found: Any) -> None:
    if not np.all(np.isfinite(found)):
        raise DomainError(f"the least {name} for the target", "a finite float64", np.inf)
