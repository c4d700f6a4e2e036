"""What k fresh Gaussian releases cost by way of their Rényi guarantee: closed forms, a search, a list of orders.

All take the same keywords: `count` releases (a whole number >= 0; 0 costs nothing), each with noise of
standard deviation `sigma` (> 0), a query of L2 `sensitivity` (>= 0) under the declared neighbouring
relation, and the `delta` (in [0, 1]) at which epsilon is read. Each raises `DomainError` for a number out of
its range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.conversion import rdp_to_epsilon, rdp_to_epsilon_improved
from dpviz.accounting.gaussian import gaussian_rdp
from dpviz.accounting.gaussian_mu import composed_mu
from dpviz.accounting.guarantees import times
from dpviz.accounting.zcdp import best_excess

DEFAULT_ORDERS = (*range(2, 65), 128, 256, 512)
"""The whole orders that accountants have long used."""

_SEARCH = np.geomspace(2.0**-52, 1e160, 20_001)  # order - 1, from the least that a float64 order can have


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
        return plain(np.where(mu == 0, 0.0, mu * mu / 2 + times(mu, np.sqrt(2 * log_inverse))))


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
    """Return the classic conversion minimised by a dense search over orders, and the order found; a bound.

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
    return plain(1 + best_excess(mu / np.sqrt(2), log_inverse))


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
    excess = best_excess(mu / np.sqrt(2), log_inverse)
    is_free = (mu == 0) | (log_inverse == 0)
    with np.errstate(over="ignore", under="ignore"):
        inverse = 1 / np.where(excess > 0, excess, 1.0)
        epsilon = mu * mu / 2 + times(mu, times(mu, excess)) - np.log1p(inverse)
    return plain(np.where(is_free, 0.0, np.maximum(epsilon, 0.0)))


@dataclass(frozen=True)
class OrderBound:
    """A bound at the best of a list of orders.

    All three are scalars or arrays of one shape.
    """

    epsilon: Numbers
    """In nats."""
    order: Numbers
    """Where it is reached."""
    is_edge: npt.NDArray[np.bool_] | bool
    """True where that is the first or the last order of the list: another might do better."""


def integer_order_bound(
    *,
    count: npt.ArrayLike,
    sigma: npt.ArrayLike,
    sensitivity: npt.ArrayLike = 1.0,
    delta: npt.ArrayLike,
    orders: npt.ArrayLike = DEFAULT_ORDERS,
    improved: bool = False,
) -> OrderBound:
    r"""Return the conversion of the Rényi guarantee at the best of a list of orders; a bound.

    .. math:: \min_{\alpha \in \text{orders}} \; \frac{\alpha k \Delta^2}{2\sigma^2}
              + \frac{\ln(1/\delta)}{\alpha - 1}

    It is never below `rdp_bound`, which takes the best real order; with `improved`, the conversion is that
    of `improved_bound`.

    Parameters
    ----------
    count, sigma, sensitivity, delta : array_like
        As everywhere in this module.
    orders : array_like
        Rényi orders in rising order, each finite and > 1; one axis.
    improved : bool
        Whether to use the improved conversion in place of the classic one.

    Returns
    -------
    OrderBound
        Epsilon, the order, and whether that is an end of the list.

    Raises
    ------
    DomainError
        If an argument is out of its range, or the orders do not rise.
    TypeError
        If the orders are not a list of at least one.

    References
    ----------
    Mironov (2017), Propositions 3 and 7; with `improved`, Canonne, Kamath and Steinke (2020), Proposition 12.

    Examples
    --------
    >>> found = integer_order_bound(count=1000, sigma=8.0, delta=1e-6)
    >>> round(found.epsilon, 4), found.order, found.is_edge
    (29.4405, 2.0, True)
    """
    tried = check.above("orders", orders, 1)
    if tried.ndim != 1 or tried.size == 0:
        raise TypeError(f"orders must be a list of at least one number, but got an array of shape {tried.shape}")
    if np.any(np.diff(tried) <= 0):
        raise check.DomainError("orders", "a rising list", list(tried))
    mu, slack = np.broadcast_arrays(
        np.asarray(composed_mu(sigma=sigma, sensitivity=sensitivity, count=count)), check.probability("delta", delta)
    )
    convert = rdp_to_epsilon_improved if improved else rdp_to_epsilon
    bounds = np.asarray(convert(gaussian_rdp(tried, mu=mu[..., None]), order=tried, delta=slack[..., None]))
    best = np.argmin(bounds, axis=-1)
    epsilon = np.where(mu == 0, 0.0, np.take_along_axis(bounds, best[..., None], axis=-1)[..., 0])
    is_edge = (best == 0) | (best == tried.size - 1)
    return OrderBound(plain(epsilon), plain(tried[best]), is_edge if is_edge.ndim else bool(is_edge))


def _mu_and_log(
    count: npt.ArrayLike, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike, delta: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return mu and log(1/delta), of one shape."""
    mu = np.asarray(composed_mu(sigma=sigma, sensitivity=sensitivity, count=count))
    with np.errstate(divide="ignore"):
        log_inverse = -np.log(check.probability("delta", delta))
    both = np.broadcast_arrays(mu, log_inverse)
    return both[0], both[1]
