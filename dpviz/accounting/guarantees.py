"""What releases cost together of which only a guarantee is known: each is (epsilon, delta)-DP.

The guarantees hold under one neighbouring relation, and so does what is said of all together. The releases may
be chosen adaptively, as long as their guarantees and their number are fixed beforehand. How near these bounds
come to the least that can be said is in `optimal`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain


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
    releases, spare = check.whole("count", count, 0), check.probability("slack", slack)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        spread = times(each, times(np.sqrt(2 * releases), np.sqrt(-np.log(spare))))
        return plain(spread + times(times(releases, each), np.expm1(each)))


def kairouz_composition(
    epsilon: npt.ArrayLike, *, delta: npt.ArrayLike = 0.0, count: npt.ArrayLike, slack: npt.ArrayLike
) -> tuple[Numbers, Numbers]:
    r"""Return what releases cost that are (epsilon, delta)-DP each, with an added delta of `slack`; a bound.

    .. math:: \min\Bigl\{k\varepsilon,\;
              m + \varepsilon\sqrt{2k\ln\bigl(e + \sqrt{k}\varepsilon/\tilde\delta\bigr)},\;
              m + \varepsilon\sqrt{2k\ln(1/\tilde\delta)}\Bigr\}, \qquad m = k\varepsilon\tanh(\varepsilon/2)

    at the delta of `composed_delta`, 1 − (1 − delta)^k (1 − slack).

    Parameters
    ----------
    epsilon : array_like
        Of each release, nats, finite and >= 0.
    delta : array_like
        Of each release, in [0, 1].
    count : array_like
        Number of releases, a whole number >= 0.
    slack : array_like
        The added delta, in [0, 1]; 0 leaves count·epsilon.

    Returns
    -------
    epsilon, delta : float or ndarray
        Of all together; the epsilon in nats.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.4. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> epsilon, delta = kairouz_composition(0.9, count=1000, slack=1e-6)
    >>> round(epsilon, 4), delta
    (529.3123, 1e-06)
    """
    each, releases = check.at_least("epsilon", epsilon, 0), check.whole("count", count, 0)
    spare = check.probability("slack", slack)
    with np.errstate(over="ignore", under="ignore"):
        bound = kairouz_form(
            releases * each, times(releases * each, np.tanh(each / 2)), np.sqrt(releases) * each, spare
        )
    both = np.broadcast_arrays(bound, composed_delta(delta, count=count, slack=slack))
    return plain(both[0]), plain(both[1])


def zcdp_composition(epsilon: npt.ArrayLike, *, count: npt.ArrayLike, slack: npt.ArrayLike) -> Numbers:
    r"""Return what `count` releases of epsilon-DP each cost at a delta of `slack`, by way of zCDP; a bound.

    .. math:: k\varepsilon^2/2 + \varepsilon\sqrt{2k\ln(1/\delta')}

    For pure DP only. A smaller rho, epsilon·tanh(epsilon/2), and a better conversion are in `conversion`.

    Parameters
    ----------
    epsilon : array_like
        Of each release, nats, finite and >= 0.
    count : array_like
        Number of releases, a whole number >= 0.
    slack : array_like
        The delta at which epsilon is read, in [0, 1]; 0 gives inf.

    Returns
    -------
    float or ndarray
        Epsilon in nats; not always below count·epsilon.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Bun and Steinke (2016), Propositions 1.4 and 1.3. https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> round(zcdp_composition(0.1, count=100, slack=1e-6), 4)
    5.7565
    """
    each, releases = check.at_least("epsilon", epsilon, 0), check.whole("count", count, 0)
    spare = check.probability("slack", slack)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        root = np.sqrt(releases) * each
        return plain(root * root / 2 + times(root, np.sqrt(-2 * np.log(spare))))


def composed_delta(delta: npt.ArrayLike, *, count: npt.ArrayLike, slack: npt.ArrayLike = 0.0) -> Numbers:
    r"""Return the chance that one of `count` events of chance delta happens, or one more of chance `slack`; exact.

    .. math:: 1 - (1 - \delta)^k (1 - \tilde\delta)

    It is what the deltas of releases come to together: never above count·delta + slack.

    Parameters
    ----------
    delta : array_like
        Of each release, in [0, 1].
    count : array_like
        Number of releases, a whole number >= 0.
    slack : array_like
        One more delta, in [0, 1].

    Returns
    -------
    float or ndarray
        Delta in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> composed_delta(0.5, count=2)
    0.75
    """
    each, releases = check.probability("delta", delta), check.whole("count", count, 0)
    spare = check.probability("slack", slack)
    with np.errstate(divide="ignore", under="ignore"):
        return plain(-np.expm1(times(releases, np.log1p(-each)) + np.log1p(-spare)))


def largest_count_of(
    cost: Callable[[FloatArray], npt.ArrayLike], *, budget: npt.ArrayLike, most: int = check.LARGEST_COUNT
) -> Numbers:
    """Return the largest count that costs no more than the budget; exact, cost(count) <= budget < cost(count + 1).

    Parameters
    ----------
    cost : callable
        Takes an array of counts (whole numbers >= 1, of the budget's shape) and returns what each costs; must not
        fall as the count rises.
    budget : array_like
        What may be spent, >= 0; inf is allowed.
    most : int
        The largest count that is asked for, and the answer where it costs no more than the budget.

    Returns
    -------
    float or ndarray
        A whole number; 0 where even one release costs too much.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary (bisection).

    Examples
    --------
    How many 0.1-DP releases fit into epsilon = 1, by the sum and at best, with delta = 1e-6?

    >>> largest_count_of(lambda count: basic_composition(0.1, delta=0, count=count)[0], budget=1.0)
    10.0
    >>> from dpviz.accounting.optimal import optimal_composition_epsilon
    >>> largest_count_of(lambda count: optimal_composition_epsilon(1e-6, epsilon=0.1, count=count), budget=3.0)
    46.0
    """
    allowed = check.at_least("budget", budget, 0, infinite=True)
    top = check.scalar("most", check.whole("most", most, 1))
    low, high = np.zeros(allowed.shape), np.full(allowed.shape, top)
    while np.any(low < high):
        middle = np.minimum(low + np.ceil((high - low) / 2), 2 * low + 1)
        fits = np.asarray(cost(np.maximum(middle, 1.0)), dtype=np.float64) <= allowed
        low, high = np.where(fits & (low < high), middle, low), np.where(fits | (low == high), high, middle - 1)
    return plain(low)


def kairouz_form(total: FloatArray, mean: FloatArray, root: FloatArray, slack: FloatArray) -> FloatArray:
    """Return the least of the three bounds from Σ epsilon, Σ epsilon tanh(epsilon/2), √(Σ epsilon²) and the slack."""
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        ratio = np.where(root == 0, 0.0, root / slack)
        first = mean + times(root, np.sqrt(2 * np.log(np.e + ratio)))
        second = mean + times(root, np.sqrt(-2 * np.log(slack)))
    bound: FloatArray = np.minimum(total, np.minimum(first, second))
    return bound


def times(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the product, where 0 releases (or a loss of 0) cost 0 however large the other factor."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)
