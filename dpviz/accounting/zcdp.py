"""Zero-concentrated DP, a Rényi divergence of at most rho·order at every order: to approximate DP, and from pure DP.

The neighbouring relation is that of the guarantee that is converted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.information import pure_dp_max_kl

_MOST_STEPS = 60
_FAR = 650.0  # when rho exceeds epsilon by so much, s is about e^−650 and delta is 1
_LEAST = 1e-290


def zcdp_to_epsilon(rho: npt.ArrayLike, *, delta: npt.ArrayLike) -> Numbers:
    r"""Return an epsilon that a zCDP guarantee suffices for; a bound.

    .. math:: \varepsilon = \rho + 2\sqrt{\rho\ln(1/\delta)}

    Parameters
    ----------
    rho : array_like
        zCDP parameter: the Rényi divergence at every order alpha is at most rho·alpha; >= 0, inf gives inf.
    delta : array_like
        Additive slack, in [0, 1]; 0 gives inf unless rho is 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, at least `rho`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Bun and Steinke (2016), Proposition 1.3. https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> round(zcdp_to_epsilon(0.5, delta=1e-6), 5)
    5.75652
    """
    spent, log_inverse = _zcdp(rho, delta)
    with np.errstate(invalid="ignore", under="ignore"):
        spread = 2 * np.sqrt(spent) * np.sqrt(log_inverse)
        return plain(np.where((spent == 0) | (log_inverse == 0), spent, spent + spread))


def zcdp_to_epsilon_improved(rho: npt.ArrayLike, *, delta: npt.ArrayLike) -> Numbers:
    r"""Return an epsilon that a zCDP guarantee suffices for; a bound, never above `zcdp_to_epsilon`.

    The improved conversion at the best real order 1 + s:

    .. math:: \varepsilon = \max\bigl(0,\; \rho(1 + 2s) - \ln(1 + 1/s)\bigr), \qquad
              \rho s^2 + \ln(1 + s) = \ln(1/\delta)

    Parameters
    ----------
    rho : array_like
        zCDP parameter, >= 0; inf gives inf.
    delta : array_like
        Additive slack, in [0, 1]; 0 gives inf unless rho is 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12, for a divergence linear in the order.
    https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(zcdp_to_epsilon_improved(0.5, delta=1e-6), 5)
    5.22153
    """
    spent, log_inverse = _zcdp(rho, delta)
    excess = best_excess(np.sqrt(spent), log_inverse)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        epsilon = spent + 2 * spent * excess - np.log1p(1 / excess)
        unbounded = np.isinf(spent) | (np.isinf(log_inverse) & (spent > 0))
        epsilon = np.where(unbounded & (log_inverse > 0), np.inf, np.maximum(epsilon, 0.0))
    return plain(np.where((spent == 0) | (log_inverse == 0), 0.0, epsilon))


def zcdp_to_delta(rho: npt.ArrayLike, *, epsilon: npt.ArrayLike) -> Numbers:
    r"""Return a delta that a zCDP guarantee suffices for; a bound, the inverse of `zcdp_to_epsilon`.

    .. math:: \delta = e^{-(\varepsilon - \rho)^2/(4\rho)} \text{ for } \varepsilon > \rho,
              \text{ else } 1

    Parameters
    ----------
    rho : array_like
        zCDP parameter, >= 0; 0 gives 0, inf gives 1.
    epsilon : array_like
        Privacy loss bound, nats, finite and >= 0.

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
    Bun and Steinke (2016), Proposition 1.3. https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> round(zcdp_to_delta(0.5, epsilon=5.75652), 9)
    1e-06
    """
    spent, loss = np.broadcast_arrays(
        check.at_least("rho", rho, 0, infinite=True), check.at_least("epsilon", epsilon, 0)
    )
    known = np.isfinite(spent) & (spent > 0)
    some = np.where(known, spent, 1.0)
    with np.errstate(over="ignore", under="ignore"):
        reach = np.maximum(loss - some, 0.0) / (2 * np.sqrt(some))
        return plain(np.where(known, np.exp(-reach * reach), np.where(spent == 0, 0.0, 1.0)))


def zcdp_to_delta_improved(rho: npt.ArrayLike, *, epsilon: npt.ArrayLike) -> Numbers:
    r"""Return a delta that a zCDP guarantee suffices for; a bound, the inverse of `zcdp_to_epsilon_improved`.

    The improved conversion at the best real order 1 + s:

    .. math:: \delta = \frac{e^{s(\rho(1 + s) - \varepsilon)}}{(1 + s)(1 + 1/s)^s}, \qquad
              \rho(1 + 2s) - \ln(1 + 1/s) = \varepsilon

    Parameters
    ----------
    rho : array_like
        zCDP parameter, >= 0; 0 gives 0, inf gives 1.
    epsilon : array_like
        Privacy loss bound, nats, finite and >= 0.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], never above `zcdp_to_delta`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12, for a divergence linear in the order.
    https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(zcdp_to_delta_improved(0.5, epsilon=5.0), 9)
    2.896e-06
    """
    spent, loss = np.broadcast_arrays(
        check.at_least("rho", rho, 0, infinite=True), check.at_least("epsilon", epsilon, 0)
    )
    delta = np.array(zcdp_to_delta(spent, epsilon=loss))
    known = (spent > 0) & (delta > 0) & (spent - loss <= _FAR)
    delta[known] = _least_delta(spent[known], loss[known])
    return plain(delta)


def pure_to_zcdp(epsilon: npt.ArrayLike) -> Numbers:
    r"""Return a rho that pure DP suffices for, as it is always written; a bound.

    .. math:: \rho = \varepsilon^2/2

    Parameters
    ----------
    epsilon : array_like
        Of a pure DP guarantee, nats, finite and >= 0.

    Returns
    -------
    float or ndarray
        The zCDP parameter; inf where it exceeds float64.

    Raises
    ------
    DomainError
        If an epsilon is out of its range.

    References
    ----------
    Bun and Steinke (2016), Proposition 1.4. https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> pure_to_zcdp(1.0)
    0.5
    """
    loss = check.at_least("epsilon", epsilon, 0)
    with np.errstate(over="ignore", under="ignore"):
        return plain(loss * loss / 2)


def pure_to_zcdp_exact(epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the least rho that pure DP suffices for; exact.

    .. math:: \rho = \varepsilon\tanh(\varepsilon/2)

    The worst mechanism is randomised response, whose divergence at order alpha is epsilon times the mean of
    tanh between epsilon/2 and (alpha − 1/2)·epsilon: at most epsilon·tanh(alpha·epsilon/2), since tanh is
    concave, and so at most alpha·epsilon·tanh(epsilon/2); equal as alpha falls to 1.

    Parameters
    ----------
    epsilon : array_like
        Of a pure DP guarantee, nats, finite and >= 0.

    Returns
    -------
    float or ndarray
        The zCDP parameter, at most `epsilon` and at most `pure_to_zcdp`.

    Raises
    ------
    DomainError
        If an epsilon is out of its range.

    References
    ----------
    Elementary, from the dominating pair of Kairouz, Oh and Viswanath (2015). https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(pure_to_zcdp_exact(1.0), 6)
    0.462117
    """
    return pure_dp_max_kl(epsilon)


def gain(excess: FloatArray) -> FloatArray:
    """Return −log of what the improved conversion multiplies delta by, s log(1 + 1/s) + log(1 + s)."""
    return excess * np.log1p(1 / excess) + np.log1p(excess)


def _zcdp(rho: npt.ArrayLike, delta: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return rho and log(1/delta), of one shape."""
    with np.errstate(divide="ignore"):
        log_inverse = -np.log(check.probability("delta", delta))
    both = np.broadcast_arrays(check.at_least("rho", rho, 0, infinite=True), log_inverse)
    return both[0], both[1]


def _rho_and_epsilon(rho: npt.ArrayLike, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    both = np.broadcast_arrays(check.at_least("rho", rho, 0, infinite=True), check.at_least("epsilon", epsilon, 0))
    return both[0], both[1]


def best_excess(root: FloatArray, log_inverse: FloatArray) -> FloatArray:
    """Return s with (root s)² + log(1 + s) = log(1/delta): the best order of the improved conversion is 1 + s.

    Newton steps on y = log(1 + s), where the left side is convex and rising, so that they fall monotonically from a
    start beyond the root: the lesser of log(1/delta) and the y at which the square alone would reach it.
    """
    with np.errstate(over="ignore", under="ignore"):
        excess = np.where(root == 0, np.expm1(log_inverse), np.where(np.isinf(log_inverse), np.inf, 0.0))
        inner = (root > 0) & np.isfinite(root) & (log_inverse > 0) & np.isfinite(log_inverse)
        excess[inner] = _solve_excess(root[inner], log_inverse[inner])
    return excess


def _solve_excess(root: FloatArray, log_inverse: FloatArray) -> FloatArray:
    y = np.minimum(np.log1p(np.sqrt(log_inverse) / root), log_inverse)
    for _ in range(_MOST_STEPS):
        reach = root * np.expm1(y)
        step = (reach * reach + y - log_inverse) / (2 * reach * (root * np.exp(y)) + 1)
        y = y - step
        if np.all(np.abs(step) <= 1e-14 * y):
            return np.expm1(y)
    raise ArithmeticError("the best order did not settle")


def _least_delta(rho: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Return delta = e^{−rho s²}/(1 + s) at the s with rho (1 + 2s) − log(1 + 1/s) = epsilon.

    In s the left side is concave and rising, so Newton steps rise monotonically from a start before the root.
    """
    with np.errstate(over="ignore", under="ignore"):
        excess = _start(rho, epsilon)
        for _ in range(_MOST_STEPS):
            lack = epsilon - rho * (1 + 2 * excess) + np.log1p(1 / excess)
            step = lack / (2 * rho + 1 / (excess * (1 + excess)))
            excess = np.maximum(excess + step, _LEAST)
            if np.all(np.abs(step) <= 4e-15 * excess * (1 + rho + epsilon)):
                delta: FloatArray = np.exp(-rho * excess * excess) / (1 + excess)
                return delta
    raise ArithmeticError("the best order did not settle")


def _start(rho: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Return an s before the root, that is, where rho (1 + 2s) − epsilon is below log(1 + 1/s).

    Good for small s: the log is more than the left side is at a point beyond the root, and so is known from below.
    Good for large s: 1/(1 + s) in place of the log, which leaves a square equation.
    """
    total, below = rho + epsilon, np.maximum(rho - epsilon, 1e-300)
    twice = np.minimum(2 * rho / np.expm1(below), np.maximum(np.log1p(2 * rho), 1.0))  # 2 rho s beyond the root
    small = 1 / np.expm1(np.minimum(below + twice, _FAR))
    large = (total + np.hypot(total, np.sqrt(8 * rho))) / (4 * rho) - 1
    start: FloatArray = np.maximum(np.maximum(large, small), _LEAST)
    return start
