"""The least noise with which many Poisson-subsampled Gaussian releases meet a target, by numeric composition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpviz.accounting import _checks as check
from dpviz.accounting.calibration import calibrate_gaussian
from dpviz.accounting.privacy_loss import Composition
from dpviz.accounting.subsampled import SubsampledGaussian

_WIDEN = 1.3
_MOST_STEPS = 60
_CLOSE = 4e-16  # of log noise: closer than a few last bits
_MET = 4e-15  # an excess that is rounding
_EPS = float(np.finfo(np.float64).eps)


def calibrate_subsampled_gaussian(epsilon: float, *, delta: float, sampling_probability: float, count: int) -> float:
    r"""Return the least noise multiplier for `count` subsampled releases to meet (epsilon, delta); an estimate.

    Each release samples every record on its own with `sampling_probability` and adds Gaussian noise to the sum, as a
    step of DP-SGD does; the neighbouring relation is to add or remove one record. Each step of the search is a
    numeric composition, so all arguments are single numbers. The answer is as good as `Composition.delta`: usually
    to 1e-13, an estimate; where that gives a bound (few releases, rarely sampled), a bound.

    Parameters
    ----------
    epsilon : float
        Privacy loss bound of all releases, nats, finite and >= 0.
    delta : float
        Additive slack, in (0, 1]: no Gaussian noise is pure DP.
    sampling_probability : float
        In [0, 1]; 0 needs no noise, and 1 is the Gaussian mechanism.
    count : int
        Number of releases, a whole number >= 0.

    Returns
    -------
    float
        Noise over L2 sensitivity. `Composition.delta` there is at most `delta`, and exceeds it at a noise smaller by
        1e-13 of itself (if it is an estimate). 0 where no noise is needed, since the chance that a record is ever
        sampled, 1 − (1 − q)^count, is at most `delta`.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If an argument is not one number.

    References
    ----------
    Mironov, Talwar and Zhang (2019), Section 3.3; Zhu, Dong and Wang (2022), Theorem 10 (the pair that dominates).

    Examples
    --------
    >>> round(calibrate_subsampled_gaussian(2.0, delta=1e-5, sampling_probability=0.01, count=1000), 6)
    0.959102
    """
    loss = check.scalar("epsilon", check.at_least("epsilon", epsilon, 0))
    slack = check.scalar("delta", check.probability("delta", delta, open_low=True))
    rate = check.scalar("sampling_probability", check.probability("sampling_probability", sampling_probability))
    releases = int(check.scalar("count", check.whole("count", count, 0)))
    if rate == 1:
        return float(calibrate_gaussian(loss, delta=slack, count=releases))
    if -np.expm1(releases * np.log1p(-rate)) <= slack:
        return 0.0

    def excess(noise: float) -> float:
        ledger = Composition(((SubsampledGaussian(noise, sampling_probability=rate), releases),))
        return float(ledger.log_delta(loss)) - float(np.log(slack))

    noise = _least(excess, _guess(loss, slack, rate, releases))
    step = _EPS
    while _is_over(Composition(((SubsampledGaussian(noise, sampling_probability=rate), releases),)), loss, slack):
        noise, step = noise * (1 + step), 2 * step
    return noise


def _is_over(ledger: Composition, epsilon: float, delta: float) -> bool:
    """Return whether the ledger's own account, read either way, exceeds the target."""
    return bool(ledger.delta(epsilon) > delta or ledger.epsilon(delta) > epsilon)


def _guess(epsilon: float, delta: float, rate: float, count: int) -> float:
    """Return the noise at which the central limit, mu = q √(k (e^{1/σ²} − 1)), meets the target."""
    mu = 1 / float(calibrate_gaussian(epsilon, delta=delta))
    return float(1 / np.sqrt(np.log1p((mu / rate) ** 2 / count)))


def _least(excess: Callable[[float], float], start: float) -> float:
    """Return a noise next to the root of a falling function, where that is <= 0 but for rounding.

    The bracket is widened from the start, and closed by the Illinois form of false position in log noise.
    """
    value = excess(start)
    step = _WIDEN if value > 0 else 1 / _WIDEN
    near, far = (start, value), (start, value)
    while (far[1] > 0) == (value > 0):
        near, far = far, (far[0] * step, excess(far[0] * step))
        step *= step
    (low, above), (high, below) = (near, far) if value > 0 else (far, near)
    side = 0
    for _ in range(_MOST_STEPS):
        width = np.log(high / low)
        share = above / (above - below) if np.isfinite(below) and np.isfinite(above) else 0.5
        middle = low * float(np.exp(width * share))
        if width <= _CLOSE or not low < middle < high:
            break
        found, before = excess(middle), side
        if abs(found) <= _MET:
            return middle
        side = 1 if found > 0 else -1
        if side > 0:
            low, above, below = middle, found, below / 2 if before == side else below
        else:
            high, below, above = middle, found, above / 2 if before == side else above
    return high
