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
from dpviz.accounting.gaussian import gaussian_epsilon
from dpviz.accounting.gaussian_mu import composed_mu
from dpviz.accounting.guarantees import advanced_composition, kairouz_composition, times
from dpviz.accounting.optimal import LARGEST_ROOT, optimal_composition_epsilon
from dpviz.accounting.renyi_bounds import (
    rdp_bound,
)


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
    return plain(times(releases, each))


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
    bound = advanced_composition(np.where(np.isinf(each), 0.0, each), count=releases, slack=slack / 2)
    return plain(np.where(np.isinf(each) & (releases > 0), np.inf, bound))


def kairouz_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the closed form of Kairouz, Oh and Viswanath for the releases' own epsilons; a bound.

    Half of delta is the theorem's slack, delta/2; the releases share the rest, each of them spending the
    delta_1 with 1 − (1 − delta_1)^k (1 − delta/2) = delta, and its epsilon at that delta_1 is exact. The form
    is that of `kairouz_composition`.

    Returns
    -------
    float or ndarray
        Epsilon in nats, at most count times that of one release.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.4. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(kairouz_bound(count=100, sigma=16.0, delta=1e-6), 3)
    21.431
    """
    releases, each, _, slack = _half_each(count, sigma, sensitivity, delta)
    known = np.isfinite(each)
    bound, _ = kairouz_composition(np.where(known, each, 0.0), count=releases, slack=slack / 2)
    return plain(np.where(known | (releases == 0), bound, np.inf))


def optimal_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return the best that can be said when one point (epsilon, delta) of each release is known; a bound.

    Each release spends the delta_1 with 1 − (1 − delta_1)^k (1 − delta/2) = delta, and its epsilon at that
    delta_1 is exact; what such releases cost together is exact too (`optimal_composition_epsilon`). What is
    lost is all that lies in one point of a profile standing for the whole. Where √k epsilon_1 exceeds 8,000 (an
    epsilon of millions) `kairouz_bound` stands in for it.

    Returns
    -------
    float or ndarray
        Epsilon in nats, at most `kairouz_bound`.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(optimal_bound(count=100, sigma=16.0, delta=1e-6), 3)
    18.496
    """
    releases, each, share, slack = _half_each(count, sigma, sensitivity, delta)
    with np.errstate(over="ignore"):
        is_near = np.sqrt(releases) * each <= LARGEST_ROOT
    bound = optimal_composition_epsilon(
        slack, epsilon=np.where(is_near, each, 0.0), delta=np.where(is_near, share, 0.0), count=releases
    )
    if np.all(is_near):
        return bound
    return plain(
        np.where(is_near, bound, kairouz_bound(count=count, sigma=sigma, sensitivity=sensitivity, delta=delta))
    )


def zcdp_bound(
    *, count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, delta: npt.ArrayLike
) -> Numbers:
    r"""Return what the releases cost by way of zero-concentrated DP; a bound, equal to `rdp_bound`.

    .. math:: \rho + 2\sqrt{\rho\ln(1/\delta)}, \qquad \rho = k\Delta^2/(2\sigma^2)

    A Gaussian release is rho-zCDP with the same divergence that its Rényi guarantee has at every order, so
    the two ways are one.

    Returns
    -------
    float or ndarray
        Epsilon in nats, above the exact one; never 0 for count > 0.

    References
    ----------
    Bun and Steinke (2016), Propositions 1.3 and 1.6. https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> round(zcdp_bound(count=100, sigma=16.0, delta=1e-6), 5)
    3.48064
    """
    return rdp_bound(count=count, sigma=sigma, sensitivity=sensitivity, delta=delta)


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


def _half_each(
    count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike, delta: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the count, each release's exact epsilon, the delta it is read at, and delta."""
    releases = check.whole("count", count, 0)
    slack = check.probability("delta", delta)
    with np.errstate(under="ignore", divide="ignore"):
        share = -np.expm1((np.log1p(-slack) - np.log1p(-slack / 2)) / np.maximum(releases, 1))
    each = np.asarray(exact_epsilon(count=np.minimum(releases, 1), sigma=sigma, sensitivity=sensitivity, delta=share))
    return releases, each, share, slack
