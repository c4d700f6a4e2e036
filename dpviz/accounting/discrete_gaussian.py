"""The discrete Gaussian mechanism: Gaussian noise on whole numbers, with nothing in low digits.

P(Z = z) ∝ e^{−z²/(2σ²)}. The query is whole-valued; its sensitivity is a whole number, the most it changes under
the declared neighbouring relation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._half_sums import half_sum
from dpviz.accounting._settle import settle_epsilon
from dpviz.accounting._twofold import two_product, two_sum
from dpviz.accounting.gaussian import gaussian_epsilon

_SMOOTH = 1.5  # from here on e^{−2π²σ²} is below 1e-19: the sums over whole numbers are their integrals
_NEAR = np.arange(1.0, 17.0)
_MOST_STEPS, _HASTY_STEPS = 400, 24
_NOISE = 3e-15  # of a delta, relative


def discrete_gaussian_normalizer(sigma: npt.ArrayLike) -> Numbers:
    r"""Return the sum over all whole numbers that the discrete Gaussian is divided by; exact.

    .. math:: \sum_{z} e^{-z^2/(2\sigma^2)} = \sigma\sqrt{2\pi}\,\Bigl(1 + 2\sum_{k \ge 1} e^{-2\pi^2\sigma^2k^2}\Bigr)

    Parameters
    ----------
    sigma : array_like
        Parameter of the noise, query units, finite and > 0.

    Returns
    -------
    float or ndarray
        The sum, > 1.

    Raises
    ------
    DomainError
        If a sigma is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Definition 1, and Poisson's summation. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(discrete_gaussian_normalizer(0.3), 6), round(discrete_gaussian_normalizer(1.0), 6)
    (1.007732, 2.506628)
    """
    return plain(normalizer(check.positive("sigma", sigma)))


def discrete_gaussian_variance(sigma: npt.ArrayLike) -> Numbers:
    r"""Return the variance of discrete Gaussian noise; exact, at most σ².

    .. math:: \frac{\sum_z z^2 e^{-z^2/(2\sigma^2)}}{\sum_z e^{-z^2/(2\sigma^2)}}

    Parameters
    ----------
    sigma : array_like
        Parameter of the noise, query units, finite and > 0.

    Returns
    -------
    float or ndarray
        Variance, squared query units.

    Raises
    ------
    DomainError
        If a sigma is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Corollary 9. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(discrete_gaussian_variance(0.3), 8), discrete_gaussian_variance(5.0)
    (0.00767252, 25.0)
    """
    spread = check.positive("sigma", sigma)
    is_small = spread < _SMOOTH
    near = np.where(is_small, spread, 1.0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        moment = 2 * (_NEAR**2 * np.exp(-((_NEAR / near[..., None]) ** 2) / 2)).sum(axis=-1)
        return plain(np.where(is_small, moment / normalizer(near), spread * spread))


def discrete_gaussian_delta(epsilon: npt.ArrayLike, *, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1) -> Numbers:
    r"""Return the privacy profile, the least delta for each epsilon; exact.

    .. math:: \delta(\varepsilon) = P\Bigl[Z > \frac{\varepsilon\sigma^2}{\Delta} - \frac{\Delta}{2}\Bigr]
              - e^{\varepsilon}\,P\Bigl[Z > \frac{\varepsilon\sigma^2}{\Delta} + \frac{\Delta}{2}\Bigr]

    It is summed as differences that are all positive, so it keeps its digits down to the least float64.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, >= 0; inf gives 0.
    sigma : array_like
        Parameter of the noise, query units, finite and > 0.
    sensitivity : array_like
        Sensitivity of the query under the declared neighbouring relation, a whole number >= 0; 0 gives 0.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], falling as `epsilon` grows.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(discrete_gaussian_delta(0.5, sigma=1.0), 6), round(discrete_gaussian_delta(1.0, sigma=4.0), 12)
    (0.203983, 3.055455e-06)
    """
    loss, spread, change = _checked(epsilon, sigma, sensitivity)
    return plain(_delta(loss, spread, change))


def discrete_gaussian_log_delta(
    epsilon: npt.ArrayLike, *, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1
) -> Numbers:
    """Return the natural log of the privacy profile, also where delta itself is too small for a float64; exact.

    Parameters
    ----------
    epsilon, sigma, sensitivity : array_like
        As for `discrete_gaussian_delta`.

    Returns
    -------
    float or ndarray
        Log delta <= 0; -inf where delta is 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(discrete_gaussian_log_delta(10_000.0, sigma=1.0), 4)
    -50000001.8517
    """
    exponent, factor = _parts(*_checked(epsilon, sigma, sensitivity))
    with np.errstate(divide="ignore", over="ignore"):
        return plain(np.minimum(np.log(factor) - exponent, 0.0))


def discrete_gaussian_epsilon(delta: npt.ArrayLike, *, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1) -> Numbers:
    """Return the least epsilon >= 0 for each delta; exact, the inverse of `discrete_gaussian_delta`.

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1].
    sigma : array_like
        Parameter of the noise, query units, finite and > 0.
    sensitivity : array_like
        Sensitivity of the query under the declared neighbouring relation, a whole number >= 0; 0 gives 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats; inf where delta = 0 < sensitivity, and where it exceeds float64.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7; solved by bracketed Newton steps on log delta.

    Examples
    --------
    >>> round(discrete_gaussian_epsilon(1e-6, sigma=4.0), 6)
    1.063436
    """
    slack = check.probability("delta", delta)
    _, spread, change = _checked(np.zeros(()), sigma, sensitivity)
    slack, spread, change = np.broadcast_arrays(slack, spread, change)
    epsilon = np.zeros(slack.shape)
    with np.errstate(over="ignore", under="ignore"):
        mu = np.minimum(change / spread, 1e200)
        limit = mu * mu / 2 + mu * np.sqrt(-2 * np.log(np.where(slack > 0, slack, 1.0)))
    wanted = (change > 0) & ((slack == 0) | (slack < _delta(np.zeros(slack.shape), spread, change)))
    solvable = wanted & (slack > 0) & np.isfinite(limit)
    epsilon[wanted & ~solvable] = np.inf
    if solvable.any():
        epsilon[solvable] = _solve(slack[solvable], spread[solvable], change[solvable], limit[solvable])
    return plain(epsilon)


def normalizer(sigma: FloatArray) -> FloatArray:
    """Return Σ e^{−z²/(2σ²)} of checked sigmas."""
    is_small = sigma < _SMOOTH
    with np.errstate(over="ignore", under="ignore"):
        near = (_NEAR / np.where(is_small, sigma, 1.0)[..., None]) ** 2
        return np.asarray(np.where(is_small, 1 + 2 * np.exp(-near / 2).sum(axis=-1), sigma * np.sqrt(2 * np.pi)))


def upper_tail(first: FloatArray, sigma: float) -> FloatArray:
    """Return P(Z >= first) for whole first >= 1 and one sigma."""
    spread = np.full(first.size, sigma)
    with np.errstate(over="ignore", under="ignore"):
        exponent, factor = half_sum(first.ravel(), np.ones(first.size), spread, np.full(first.size, -np.inf))
        return np.asarray(np.exp(-exponent) * (factor / normalizer(spread))).reshape(first.shape)


def _checked(
    epsilon: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    loss = check.at_least("epsilon", epsilon, 0, infinite=True)
    all_three = np.broadcast_arrays(loss, check.positive("sigma", sigma), check.whole("sensitivity", sensitivity, 0))
    return all_three[0], all_three[1], all_three[2]


def _delta(epsilon: FloatArray, sigma: FloatArray, sensitivity: FloatArray) -> FloatArray:
    exponent, factor = _parts(epsilon, sigma, sensitivity)
    with np.errstate(under="ignore", over="ignore"):
        return np.asarray(np.minimum(np.exp(-exponent) * factor, 1.0))


def _parts(epsilon: FloatArray, sigma: FloatArray, sensitivity: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (exponent, factor) with delta = e^{−exponent} · factor."""
    exponent, factor = np.zeros(epsilon.shape), np.zeros(epsilon.shape)
    inner = np.isfinite(epsilon) & (sensitivity > 0)
    with np.errstate(over="ignore", under="ignore"):
        loss, spread, change = epsilon[inner], sigma[inner], sensitivity[inner]
        first = _first(loss, spread, change)
        kappa = np.minimum(_kappa(first, loss, spread, change), 0.0)
        exponent[inner], total = half_sum(first, change, spread, kappa)
        factor[inner] = total / normalizer(spread)
    return exponent, factor


def _first(epsilon: FloatArray, sigma: FloatArray, change: FloatArray) -> FloatArray:
    """Return the least whole y with κ < 0, also where rounding would put the threshold on its other side."""
    near = np.minimum(np.floor(epsilon / change * sigma * sigma - change / 2) + 1, 1e300)
    below = _kappa(near - 1, epsilon, sigma, change) < 0
    beyond = _kappa(near, epsilon, sigma, change) >= 0
    return np.asarray(near - below + beyond)


def _kappa(first: FloatArray, epsilon: FloatArray, sigma: FloatArray, change: FloatArray) -> FloatArray:
    """Return ε − (2yΔ + Δ²)/(2σ²) at an output y, from products that are not rounded."""
    ends = 2 * first + change
    is_middling = (sigma > 1e-60) & (sigma < 1e60) & (epsilon < 1e60) & (epsilon > 1e-100) & (np.abs(ends) < 1e100)
    width, loss = np.where(is_middling, sigma, 1.0), np.where(is_middling, epsilon, 0.0)
    square, square_rest = two_product(width, width)
    asked, asked_rest = two_product(square, 2 * loss)
    given, given_rest = two_product(np.where(is_middling, ends, 0.0), change)
    gap, gap_rest = two_sum(asked, -given)
    exact = (gap + (gap_rest + asked_rest + 2 * loss * square_rest - given_rest)) / (2 * square)
    return np.asarray(np.where(is_middling, exact, epsilon - ends / sigma * change / sigma / 2))


def _solve(delta: FloatArray, sigma: FloatArray, change: FloatArray, limit: FloatArray) -> FloatArray:
    """Return epsilon with delta(epsilon) = delta, between 0 and the limit that zCDP gives; the Gaussian's is near.

    In e^ε delta is convex and made of straight lines, so a tangent never leads beyond the root; in between, Newton
    steps on log delta, which wide noise wants.
    """
    low, high = np.zeros_like(limit), limit * (1 + 1e-12)
    found = np.minimum(np.asarray(gaussian_epsilon(delta, mu=change / sigma)), high)
    found, active = np.where(found > 0, found, high), np.arange(delta.size)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        for step in range(_MOST_STEPS):
            here = found[active]
            excess, slope = _excess_and_slope(here, sigma[active], change[active], delta[active])
            tangent = here + np.log1p(np.maximum(np.expm1(-excess) / slope, -1.0))
            high[active] = np.where(excess > 0, high[active], here)
            is_bound = (tangent > low[active]) & (tangent <= high[active])
            least = np.where(excess > 0, here, low[active])
            low[active] = np.where(is_bound, np.maximum(tangent, least), least)
            move, middle = excess / slope, low[active] + (high[active] - low[active]) / 2
            inside = (here - move >= low[active]) & (here - move <= high[active])
            onward, careful = np.where(inside, here - move, middle), low[active]
            if step >= _HASTY_STEPS:
                is_bound, careful = np.ones_like(is_bound), middle
            found[active] = np.where(is_bound & (step % 2 == 1), careful, onward)
            room = np.minimum(high[active] - low[active], np.where(np.abs(excess) < 0.5, np.abs(move), np.inf))
            is_done = (np.abs(excess) <= _NOISE) | (room <= 2 * np.spacing(here))
            found[active] = np.where(is_done, here, found[active])
            active = active[~is_done]
            if not active.size:
                break
    return settle_epsilon(found, delta, lambda near, at: _delta(near, sigma[at], change[at]))


def _excess_and_slope(
    epsilon: FloatArray, sigma: FloatArray, change: FloatArray, delta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log(delta(epsilon)/delta), and its derivative in epsilon."""
    exponent, factor = _parts(epsilon, sigma, change)
    first = _first(epsilon, sigma, change)
    other, other_factor = half_sum(first + change, change, sigma, np.full(sigma.shape, -np.inf))
    weight = np.exp(epsilon - other + exponent) * (other_factor / normalizer(sigma)) / factor
    rest = np.exp(-exponent) * factor / delta - 1
    return np.where(np.abs(rest) < 0.5, np.log1p(rest), np.log(factor) - exponent - np.log(delta)), -weight
