"""What k fresh Gaussian releases cost: one exact epsilon, and the bounds that people use for it.

All take the same keywords: `count` releases (a whole number >= 0; 0 costs nothing), each with noise of
standard deviation `sigma` (> 0), a query of L2 `sensitivity` (>= 0) under the declared neighbouring
relation, and the `delta` (in [0, 1]) at which epsilon is read. Each raises `DomainError` for a number out of
its range.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.gaussian import composed_mu, gaussian_epsilon

_MOST_STEPS = 60
_SEARCH = np.geomspace(2.0**-52, 1e160, 20_001)  # order - 1, from the least that a float64 order can have


def exact_epsilon(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    """Return the least epsilon of the releases; exact, since they are one with mu = √count Δ/sigma.

    Returns
    -------
    float or ndarray
        Epsilon in nats, >= 0; 0 once delta reaches the total variation; inf at delta = 0.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 3.3; Balle and Wang (2018), Theorem 8.

    Examples
    --------
    >>> round(exact_epsilon(count=100, sigma=16.0, delta=1e-6), 5)
    2.88343
    """
    return gaussian_epsilon(delta, mu=composed_mu(sigma=sigma, sensitivity=sensitivity, count=count))


def rdp_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the classic conversion of the Rényi guarantee at its best order, in closed form; a bound.

    .. math:: a + 2\sqrt{a\ln(1/\delta)}, \qquad a = k\Delta^2/(2\sigma^2)

    Returns
    -------
    float or ndarray
        Epsilon in nats, above the exact one; never 0 for count > 0.

    References
    ----------
    Mironov (2017), Propositions 3 and 7; Bun and Steinke (2016), Proposition 1.3.

    Examples
    --------
    >>> round(rdp_bound(count=100, sigma=16.0, delta=1e-6), 5)
    3.48064
    """
    mu, log_inverse = _mu_and_log(count, sigma, sensitivity, delta)
    with np.errstate(over="ignore", under="ignore"):
        return plain(np.where(mu == 0, 0.0, mu * mu / 2 + _times(mu, np.sqrt(2 * log_inverse))))


def rdp_best_order(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the Rényi order at which `rdp_bound` is reached.

    .. math:: \alpha^* = 1 + \sqrt{\ln(1/\delta)/a}, \qquad a = k\Delta^2/(2\sigma^2)

    Returns
    -------
    float or ndarray
        Order >= 1; inf where nothing is released (or delta = 0), 1 as the limit at delta = 1.

    References
    ----------
    The stationary point of Mironov (2017), Proposition 3, for a divergence linear in the order.

    Examples
    --------
    >>> round(rdp_best_order(count=100, sigma=16.0, delta=1e-6), 4)
    9.4104
    """
    mu, log_inverse = _mu_and_log(count, sigma, sensitivity, delta)
    is_unbounded = (mu == 0) | np.isinf(log_inverse)
    with np.errstate(over="ignore", under="ignore"):
        order = 1 + np.sqrt(2 * log_inverse) / np.where(is_unbounded, 1.0, mu)
    return plain(np.where(is_unbounded, np.inf, order))


def rdp_bound_search(*, count: float, sigma: float, sensitivity: float = 1.0, delta: float) -> tuple[float, float]:
    """Return the classic conversion minimised by a dense search over orders, and the order found.

    It never uses the closed form, so that it is a check of it: at most 1e-7 (relative) above `rdp_bound`, and
    below it by no more than rounding. Takes scalars only.

    Returns
    -------
    epsilon, order : float
        Both inf at delta = 0; (0, inf) where nothing is released.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If an argument is an array.

    References
    ----------
    Mironov (2017), Proposition 3, at each order.

    Examples
    --------
    >>> epsilon, order = rdp_bound_search(count=100, sigma=16.0, delta=1e-6)
    >>> round(epsilon, 5), round(order, 2)
    (3.48064, 9.41)
    """
    mu, log_inverse = _mu_and_log(count, sigma, sensitivity, delta)
    if mu.ndim:
        raise TypeError("rdp_bound_search takes one number for each argument, but got an array")
    if mu == 0:
        return 0.0, np.inf
    if mu > 1e150 or np.isinf(log_inverse):
        return np.inf, np.inf
    excess = _SEARCH
    for _ in range(2):
        orders = 1 + excess
        with np.errstate(over="ignore", under="ignore"):
            bounds = orders * mu * mu / 2 + log_inverse / (orders - 1)
        best = int(np.argmin(bounds))
        around = excess[max(best - 1, 0)], excess[min(best + 1, excess.size - 1)]
        excess = np.geomspace(*around, 2001)
    return float(bounds[best]), float(orders[best])


def improved_best_order(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the Rényi order at which `improved_bound` is reached.

    With s = order − 1 and a = kΔ²/(2σ²), the bound is stationary in one place only:

    .. math:: a s^2 + \ln(1 + s) = \ln(1/\delta)

    Returns
    -------
    float or ndarray
        Order >= 1; inf at delta = 0, 1 as the limit at delta = 1, and 1/delta where nothing is released.

    References
    ----------
    The derivative of Canonne, Kamath and Steinke (2020), Proposition 12, for a divergence linear in the
    order.

    Examples
    --------
    >>> round(improved_best_order(count=100, sigma=16.0, delta=1e-6), 4)
    8.7231
    """
    mu, log_inverse = _mu_and_log(count, sigma, sensitivity, delta)
    return plain(1 + _improved_excess(mu, log_inverse))


def improved_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the improved conversion of the Rényi guarantee at its best order; a bound.

    .. math:: \max\bigl(0,\; a(1 + 2s) - \ln(1 + 1/s)\bigr), \qquad a = k\Delta^2/(2\sigma^2)

    where s = order − 1 at the best order (`improved_best_order`).

    Returns
    -------
    float or ndarray
        Epsilon in nats, between the exact one and `rdp_bound`.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(improved_bound(count=100, sigma=16.0, delta=1e-6), 5)
    3.09037
    """
    mu, log_inverse = _mu_and_log(count, sigma, sensitivity, delta)
    excess = _improved_excess(mu, log_inverse)
    is_free = (mu == 0) | (log_inverse == 0)
    with np.errstate(over="ignore", under="ignore"):
        inverse = 1 / np.where(excess > 0, excess, 1.0)
        epsilon = mu * mu / 2 + _times(mu, _times(mu, excess)) - np.log1p(inverse)
    return plain(np.where(is_free, 0.0, np.maximum(epsilon, 0.0)))


def basic_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the sum of the releases' own epsilons; a bound.

    .. math:: k\,\varepsilon_1(\delta/k)

    Each release spends delta/count, and its epsilon at that delta is exact.

    Returns
    -------
    float or ndarray
        Epsilon in nats.

    References
    ----------
    Dwork and Roth (2014), Theorem 3.16. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(basic_bound(count=100, sigma=16.0, delta=1e-6), 2)
    30.13
    """
    releases, each, _ = _each_release(count, sigma, sensitivity, delta, shares=1)
    return plain(_times(releases, each))


def advanced_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return advanced composition of the releases' own epsilons; a bound.

    .. math:: \varepsilon_1\sqrt{2k\ln(1/\delta')} + k\varepsilon_1(e^{\varepsilon_1} - 1)

    Half of delta is the theorem's slack, delta' = delta/2; the other half is shared by the releases, each of
    which spends delta/(2 count), and its epsilon at that delta is exact.

    Returns
    -------
    float or ndarray
        Epsilon in nats. It may well exceed `basic_bound`: for few or costly releases the theorem is of no
        use.

    References
    ----------
    Dwork, Rothblum and Vadhan (2010), as in Dwork and Roth (2014), Theorem 3.20.

    Examples
    --------
    >>> round(advanced_bound(count=100, sigma=16.0, delta=1e-6), 3)
    27.911
    """
    releases, each, slack = _each_release(count, sigma, sensitivity, delta, shares=2)
    return plain(_advanced(each, releases, slack / 2))


def basic_composition(epsilon: npt.ArrayLike, *, delta: npt.ArrayLike, count: npt.ArrayLike) -> tuple[Numbers, Numbers]:
    r"""Return what releases cost that are (epsilon, delta)-DP each, adaptively chosen or not; a bound.

    .. math:: (k\varepsilon,\; \min(1, k\delta))

    Parameters
    ----------
    epsilon : array_like
        Of each release, nats, finite and >= 0.
    delta : array_like
        Of each release, in [0, 1].
    count : array_like
        Number of releases, a whole number >= 0.

    Returns
    -------
    epsilon, delta : float or ndarray
        Of all together. A sum of deltas above 1 says no more than 1 does.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork and Roth (2014), Theorem 3.16. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> basic_composition(0.5, delta=0.25, count=3)
    (1.5, 0.75)
    """
    each, slack, releases = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, 0), check.probability("delta", delta), check.whole("count", count, 0)
    )
    with np.errstate(over="ignore", under="ignore"):
        return plain(each * releases), plain(np.minimum(slack * releases, 1.0))


def advanced_composition(epsilon: npt.ArrayLike, *, count: npt.ArrayLike, slack: npt.ArrayLike) -> Numbers:
    r"""Return what `count` releases of epsilon each cost at an added delta of `slack`; a bound.

    .. math:: \varepsilon\sqrt{2k\ln(1/\delta')} + k\varepsilon(e^{\varepsilon} - 1)

    For releases that are (epsilon, delta)-DP each, the whole is (this, count·delta + slack)-DP.

    Parameters
    ----------
    epsilon : array_like
        Of each release, nats, finite and >= 0.
    count : array_like
        Number of releases, a whole number >= 0.
    slack : array_like
        The added delta', in [0, 1]; 0 gives inf.

    Returns
    -------
    float or ndarray
        Epsilon in nats; not always below count·epsilon, so take the lesser of the two.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork, Rothblum and Vadhan (2010), as in Dwork and Roth (2014), Theorem 3.20.

    Examples
    --------
    >>> round(advanced_composition(1.0, count=500, slack=1e-5), 3)
    966.439
    """
    each = check.at_least("epsilon", epsilon, 0)
    return plain(_advanced(each, check.whole("count", count, 0), check.probability("slack", slack)))


def _advanced(epsilon: FloatArray, count: FloatArray, slack: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        spread = _times(epsilon, _times(np.sqrt(2 * count), np.sqrt(-np.log(slack))))
        return spread + _times(_times(count, epsilon), np.expm1(epsilon))


def _each_release(
    count: npt.ArrayLike,
    sigma: npt.ArrayLike,
    sensitivity: npt.ArrayLike,
    delta: npt.ArrayLike,
    *,
    shares: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the count, each release's exact epsilon at delta/(shares·count), and delta."""
    releases = check.whole("count", count, 0)
    slack = check.probability("delta", delta)
    with np.errstate(under="ignore"):
        share = slack / (shares * np.maximum(releases, 1))
    each = np.asarray(exact_epsilon(count=1, sigma=sigma, sensitivity=sensitivity, delta=share))
    return releases, each, slack


def _mu_and_log(
    count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike, delta: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return mu and log(1/delta), of one shape."""
    mu = np.asarray(composed_mu(sigma=sigma, sensitivity=sensitivity, count=count))
    with np.errstate(divide="ignore"):
        log_inverse = -np.log(check.probability("delta", delta))
    both = np.broadcast_arrays(mu, log_inverse)
    return both[0], both[1]


def _times(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the product, where 0 releases (or a loss of 0) cost 0 however large the other factor."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)


def _improved_excess(mu: FloatArray, log_inverse: FloatArray) -> FloatArray:
    """Return s with (mu²/2) s² + log(1 + s) = log(1/delta), by Newton steps on y = log(1 + s).

    In y the left side is convex and rising, so the steps fall monotonically from a start beyond the root:
    the lesser of log(1/delta) and the y at which the square alone would reach it.
    """
    with np.errstate(over="ignore", under="ignore"):
        excess = np.where(mu == 0, np.expm1(log_inverse), np.where(np.isinf(log_inverse), np.inf, 0.0))
        inner = (mu > 0) & np.isfinite(mu) & (log_inverse > 0) & np.isfinite(log_inverse)
        excess[inner] = _solve_excess(mu[inner] / np.sqrt(2), log_inverse[inner])
    return excess


def _solve_excess(half: FloatArray, log_inverse: FloatArray) -> FloatArray:
    y = np.minimum(np.log1p(np.sqrt(log_inverse) / half), log_inverse)
    for _ in range(_MOST_STEPS):
        reach = half * np.expm1(y)
        step = (reach * reach + y - log_inverse) / (2 * reach * (half * np.exp(y)) + 1)
        y = y - step
        if np.all(np.abs(step) <= 1e-14 * y):
            return np.expm1(y)
    raise ArithmeticError("the best order did not settle")
