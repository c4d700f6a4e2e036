"""From Rényi divergences at all orders to approximate DP: the best order, by three conversions; bounds.

Every order gives a valid bound, so the best of many is one too. The orders run over the reals, since a fixed list of
whole ones costs up to a few per cent here and orders of magnitude where the divergence is tiny. The neighbouring
relation is that of the divergence which is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._two_point import worst_epsilon, worst_log_delta
from dpviz.accounting.conversion import (
    rdp_to_delta,
    rdp_to_delta_improved,
    rdp_to_epsilon,
    rdp_to_epsilon_improved,
)
from dpviz.accounting.mechanism import Mechanism

RdpCurve = Callable[[FloatArray], npt.ArrayLike]

_SCAN = np.geomspace(1e-8, 1e8, 321)  # order − 1
_ZOOMS, _POINTS = 5, 33


class Conversion(StrEnum):
    """How a Rényi guarantee at one order becomes an (epsilon, delta) one; each is tighter than the one before.

    CLASSIC is `rdp_to_epsilon`, IMPROVED `rdp_to_epsilon_improved`, OPTIMAL `rdp_to_epsilon_optimal`: the last cannot
    be bettered knowing the divergence at that order alone.

    Examples
    --------
    >>> [conversion.value for conversion in Conversion]
    ['classic', 'improved', 'optimal']
    """

    CLASSIC = "classic"
    IMPROVED = "improved"
    OPTIMAL = "optimal"


@dataclass(frozen=True)
class RenyiConversion:
    """The best epsilon over the orders that were searched, 1 + 1e-8 to 1e8; a bound.

    Examples
    --------
    >>> RenyiConversion(epsilon=1.0, order=12.5, is_edge=False).order
    12.5
    """

    epsilon: float
    """Privacy loss bound, nats, >= 0."""

    order: float
    """The Rényi order that gives it."""

    is_edge: bool
    """Whether that is the least or the greatest order searched, so that one beyond may be better."""


@dataclass(frozen=True)
class RenyiDelta:
    """The best delta over the orders that were searched, 1 + 1e-8 to 1e8; a bound.

    Examples
    --------
    >>> RenyiDelta(delta=1e-5, order=12.5, is_edge=False).delta
    1e-05
    """

    delta: float
    """Additive slack, in [0, 1]."""

    order: float
    """The Rényi order that gives it."""

    is_edge: bool
    """Whether that is the least or the greatest order searched, so that one beyond may be better."""


def rdp_to_epsilon_optimal(rdp: npt.ArrayLike, *, order: npt.ArrayLike, delta: npt.ArrayLike) -> Numbers:
    r"""Return the least epsilon that an RDP guarantee at one order suffices for; a bound, and none is better.

    .. math:: \varepsilon = \sup\{\varepsilon' : \min_{p > \delta} D_\alpha\bigl(\mathrm{Bern}(p) \,\|\,
              \mathrm{Bern}((p - \delta)e^{-\varepsilon'})\bigr) \le \rho_\alpha\}

    `rdp_to_epsilon_improved` leaves out the second of the two terms of this divergence. The difference is small
    where (α − 1)ρ is large, and a factor where it is small.

    Parameters
    ----------
    rdp : array_like
        Rényi divergence bound at `order`, nats, >= 0; 0 gives 0, inf gives inf.
    order : array_like
        Rényi order, finite and > 1.
    delta : array_like
        Additive slack, in [0, 1]; 0 gives inf, unless `rdp` is 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, >= 0, never above `rdp_to_epsilon_improved`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Asoodeh, Liao, Calmon, Kosut and Sankar (2021), Theorem 2 (the joint range). https://arxiv.org/abs/2008.06529

    Examples
    --------
    >>> round(rdp_to_epsilon_optimal(0.5, order=2.0, delta=1e-5), 4)
    9.6939
    """
    divergence, chosen, slack = np.broadcast_arrays(
        check.at_least("rdp", rdp, 0, infinite=True), check.above("order", order, 1), check.probability("delta", delta)
    )
    epsilon = np.where((divergence == 0) | (slack == 1), 0.0, np.inf)
    inner = (divergence > 0) & np.isfinite(divergence) & (slack > 0) & (slack < 1)
    epsilon[inner] = np.maximum(worst_epsilon(divergence[inner], chosen[inner] - 1, slack[inner]), 0.0)
    return plain(np.minimum(epsilon, rdp_to_epsilon_improved(divergence, order=chosen, delta=slack)))


def rdp_to_delta_optimal(rdp: npt.ArrayLike, *, order: npt.ArrayLike, epsilon: npt.ArrayLike) -> Numbers:
    """Return the least delta that an RDP guarantee at one order suffices for; a bound, and none is better.

    The inverse of `rdp_to_epsilon_optimal` in delta.

    Parameters
    ----------
    rdp : array_like
        Rényi divergence bound at `order`, nats, >= 0; 0 gives 0, inf gives 1.
    order : array_like
        Rényi order, finite and > 1.
    epsilon : array_like
        Privacy loss bound, nats, >= 0; inf gives 0, unless `rdp` is inf.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], never above `rdp_to_delta_improved`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Asoodeh, Liao, Calmon, Kosut and Sankar (2021), Theorem 2 (the joint range). https://arxiv.org/abs/2008.06529

    Examples
    --------
    >>> round(rdp_to_delta_optimal(0.5, order=2.0, epsilon=9.6939), 7)
    1e-05
    """
    divergence, chosen, loss = np.broadcast_arrays(
        check.at_least("rdp", rdp, 0, infinite=True),
        check.above("order", order, 1),
        check.at_least("epsilon", epsilon, 0, infinite=True),
    )
    delta = np.where(np.isinf(divergence), 1.0, 0.0)
    inner = (divergence > 0) & np.isfinite(divergence) & np.isfinite(loss)
    with np.errstate(under="ignore"):
        delta[inner] = np.exp(worst_log_delta(divergence[inner], chosen[inner] - 1, loss[inner]))
    return plain(np.minimum(delta, rdp_to_delta_improved(divergence, order=chosen, epsilon=loss)))


def rdp_optimal_epsilon(rdp: RdpCurve, *, delta: float, conversion: Conversion = Conversion.OPTIMAL) -> RenyiConversion:
    """Return the least epsilon that a Rényi curve gives over real orders from 1 + 1e-8 to 1e8; a bound.

    Parameters
    ----------
    rdp : callable
        Takes an array of orders > 1 and returns the divergence bounds, nats, of the same shape; inf where there is
        none. A mechanism's `rdp` method, or `ledger_rdp`.
    delta : float
        Additive slack, in [0, 1]; 0 gives inf, 1 gives 0.
    conversion : Conversion
        CLASSIC, IMPROVED or OPTIMAL, each tighter than the one before.

    Returns
    -------
    RenyiConversion
        With the order that gives it. The search looks around the best of 321 orders; of two valleys almost equally
        deep it may take the higher one, which is a valid bound all the same.

    Raises
    ------
    DomainError
        If delta is outside [0, 1], or the curve gives a negative number or NaN.

    References
    ----------
    Mironov (2017), Proposition 3; Canonne, Kamath and Steinke (2020), Proposition 12; Asoodeh et al. (2021), Theorem 2.

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> best = rdp_optimal_epsilon(Gaussian(sigma=4.0).rdp, delta=1e-6, conversion=Conversion.IMPROVED)
    >>> round(best.epsilon, 6), round(best.order, 2)
    (1.142926, 19.62)
    """
    slack = check.scalar("delta", check.probability("delta", delta))
    convert = {
        Conversion.CLASSIC: rdp_to_epsilon,
        Conversion.IMPROVED: rdp_to_epsilon_improved,
        Conversion.OPTIMAL: rdp_to_epsilon_optimal,
    }[Conversion(conversion)]
    epsilon, order, is_edge = _least(lambda at: convert(rdp(at), order=at, delta=slack))
    return RenyiConversion(epsilon, order, is_edge and epsilon > 0)


def rdp_optimal_delta(rdp: RdpCurve, *, epsilon: float, conversion: Conversion = Conversion.OPTIMAL) -> RenyiDelta:
    """Return the least delta that a Rényi curve gives over real orders from 1 + 1e-8 to 1e8; a bound.

    Parameters
    ----------
    rdp : callable
        Takes an array of orders > 1 and returns the divergence bounds, nats, of the same shape; inf where there is
        none.
    epsilon : float
        Privacy loss bound, nats, >= 0; inf gives 0 if the curve is finite anywhere.
    conversion : Conversion
        CLASSIC, IMPROVED or OPTIMAL, each tighter than the one before.

    Returns
    -------
    RenyiDelta
        With the order that gives it.

    Raises
    ------
    DomainError
        If epsilon is negative or NaN, or the curve gives a negative number or NaN.

    References
    ----------
    Mironov (2017), Proposition 3; Canonne, Kamath and Steinke (2020), Proposition 12; Asoodeh et al. (2021), Theorem 2.

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> round(rdp_optimal_delta(Gaussian(sigma=4.0).rdp, epsilon=1.142926, conversion=Conversion.IMPROVED).delta, 9)
    1e-06
    """
    loss = check.scalar("epsilon", check.at_least("epsilon", epsilon, 0, infinite=True))
    convert = {
        Conversion.CLASSIC: rdp_to_delta,
        Conversion.IMPROVED: rdp_to_delta_improved,
        Conversion.OPTIMAL: rdp_to_delta_optimal,
    }[Conversion(conversion)]
    delta, order, is_edge = _least(lambda at: convert(rdp(at), order=at, epsilon=loss))
    return RenyiDelta(delta, order, is_edge and delta > 0)


def ledger_rdp(releases: Sequence[tuple[Mechanism, int]]) -> RdpCurve:
    r"""Return the Rényi curve of a ledger: divergences add; a bound for adaptive releases, exact for fixed ones.

    .. math:: D_\alpha = \sum_i k_i\,D_\alpha(M_i)

    Parameters
    ----------
    releases : sequence of (mechanism, count)
        Each mechanism with the number of its releases, a whole number >= 0. All must hold under one neighbouring
        relation.

    Returns
    -------
    callable
        Takes an array of orders >= 1 and returns divergences in nats.

    Raises
    ------
    DomainError
        If a count is out of its range.

    References
    ----------
    Mironov (2017), Proposition 1. https://arxiv.org/abs/1702.07476

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> curve = ledger_rdp([(Gaussian(sigma=4.0), 3), (Gaussian(sigma=2.0), 1)])
    >>> curve(np.array([2.0]))
    array([0.4375])
    """
    ledger = [(mechanism, check.scalar("count", check.whole("count", count, 0))) for mechanism, count in releases]

    def curve(order: FloatArray) -> FloatArray:
        total = np.zeros(np.shape(order))
        with np.errstate(over="ignore"):
            for mechanism, count in ledger:
                if count > 0:
                    total = total + count * np.asarray(mechanism.rdp(order))
        return total

    return curve


def _least(bound: Callable[[FloatArray], npt.ArrayLike]) -> tuple[float, float, bool]:
    """Return the least bound found, its order, and whether that is the first or the last order of the scan."""
    excess = _SCAN
    for zoom in range(_ZOOMS + 1):
        orders = np.unique(1 + excess)
        found = np.asarray(bound(orders))
        best = int(np.argmin(found))
        if zoom == 0:
            is_edge = best in (0, orders.size - 1)
            value, order = float(found[best]), float(orders[best])
        elif found[best] < value:
            value, order = float(found[best]), float(orders[best])
        if zoom == _ZOOMS or not 0 < value < np.inf:
            break
        low, high = orders[max(best - 1, 0)] - 1, orders[min(best + 1, orders.size - 1)] - 1
        excess = np.geomspace(low, high, _POINTS)
    return value, order, is_edge
