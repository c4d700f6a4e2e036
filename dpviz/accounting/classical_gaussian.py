"""The classical noise of the Gaussian mechanism, what it truly gives, and up to which epsilon it keeps its word.

It is proved for epsilon < 1, and holds up to a limit that depends on delta alone (8.42 at delta = 1e-5); beyond
that its delta is a claim that the mechanism does not keep. Below the limit it is more noise than is needed
(`calibrate_gaussian`). Sensitivities are L2 sensitivities under the neighbouring relation that the caller declares.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import BoolArray, DomainError, FloatArray, Numbers, plain
from dpviz.accounting._gaussian_profile import is_delta_above
from dpviz.accounting._inverse import log_excess
from dpviz.accounting._mills import log_normal_density, mills
from dpviz.accounting._search import IntArray, least_float
from dpviz.accounting._twofold import two_sum
from dpviz.accounting.gaussian import gaussian_delta

_MOST_STEPS = 60


def classical_gaussian_sigma(
    epsilon: npt.ArrayLike, *, delta: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0
) -> Numbers:
    r"""Return the classical sigma of one Gaussian release; a bound for epsilon < 1, and no guarantee beyond its limit.

    .. math:: \sigma = \Delta\sqrt{2\ln(1.25/\delta)}/\varepsilon

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound, nats, finite and > 0. From `classical_gaussian_limit` on, the release is not
        (epsilon, delta)-DP; `classical_gaussian_delta` says what it is.
    delta : array_like
        Additive slack, in (0, 1].
    sensitivity : array_like
        L2 sensitivity under the declared neighbouring relation, query units, >= 0.

    Returns
    -------
    float or ndarray
        Sigma, query units.

    Raises
    ------
    DomainError
        If an argument is out of its range, or sigma exceeds a float64.

    References
    ----------
    Dwork and Roth (2014), Theorem A.1. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(classical_gaussian_sigma(1.0, delta=1e-5), 4)
    4.8448
    """
    loss, factor = check.positive("epsilon", epsilon), _factor(delta)
    change = check.at_least("sensitivity", sensitivity, 0)
    with np.errstate(over="ignore", under="ignore"):
        sigma = factor * (change / loss)
    if not np.all(np.isfinite(sigma)):
        raise DomainError("sensitivity/epsilon", "small enough for sigma to be a float64", (sensitivity, epsilon))
    return plain(sigma)


def classical_gaussian_delta(epsilon: npt.ArrayLike, *, delta: npt.ArrayLike) -> Numbers:
    r"""Return the delta that one release with the classical sigma has at its own epsilon; exact.

    .. math:: \delta(\varepsilon; \mu), \qquad \mu = \varepsilon/\sqrt{2\ln(1.25/\delta)}

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound, nats, finite and > 0.
    delta : array_like
        The delta that is claimed, in (0, 1].

    Returns
    -------
    float or ndarray
        The true delta, in [0, 1]: below the claim up to `classical_gaussian_limit`, and above it beyond. It does not
        depend on the sensitivity, which only sets the unit of sigma.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Balle and Wang (2018), Theorem 8, at the sigma of Dwork and Roth (2014), Theorem A.1.

    Examples
    --------
    >>> classical_gaussian_delta([1.0, 20.0], delta=1e-5).round(9)
    array([4.100000e-08, 1.526695e-03])
    """
    loss = check.positive("epsilon", epsilon)
    return gaussian_delta(loss, mu=loss / _factor(delta))


def classical_gaussian_limit(delta: npt.ArrayLike) -> Numbers:
    r"""Return the greatest epsilon at which the classical sigma keeps its delta; exact.

    .. math:: \delta(\varepsilon^*; \varepsilon^*/c) = \delta, \qquad c = \sqrt{2\ln(1.25/\delta)}

    Parameters
    ----------
    delta : array_like
        Additive slack, in (0, 1].

    Returns
    -------
    float or ndarray
        Epsilon in nats, the last float64 at which `classical_gaussian_delta` is at most `delta`; inf at delta = 1.

    Raises
    ------
    DomainError
        If a delta is out of its range.

    References
    ----------
    Balle and Wang (2018), Theorem 8, at the sigma of Dwork and Roth (2014), Theorem A.1; solved by Newton steps.

    Examples
    --------
    >>> classical_gaussian_limit([1e-3, 1e-5, 1e-10]).round(4)
    array([7.4635, 8.4198, 9.8499])
    """
    slack = check.probability("delta", delta, open_low=True)
    limit = np.full(slack.shape, np.inf)
    wanted = slack < 1
    limit[wanted] = _solve_limit(slack[wanted])
    return plain(limit)


def _factor(delta: npt.ArrayLike) -> FloatArray:
    """Return √(2 ln(1.25/delta)), without the quotient, which may exceed a float64."""
    slack = check.probability("delta", delta, open_low=True)
    factor: FloatArray = np.sqrt(2 * (np.log(1.25) - np.log(slack)))
    return factor


def _solve_limit(delta: FloatArray) -> FloatArray:
    """Solve for w = mu/2, where u = c − w and v = c + w, and settle the epsilon, 2cw, to the last float64.

    Starts below the root, since Φ(−u) exceeds delta(epsilon).
    """
    factor = _factor(delta)
    above = np.where(delta < 0.5, -ndtri(np.minimum(delta, 0.5)), ndtri(1 - delta))
    half = np.maximum(factor - above, 0.01 * factor)
    active = np.arange(half.size)
    for _ in range(_MOST_STEPS):
        at, centre = half[active], factor[active]
        u, rest = two_sum(centre, -at)
        log_now, excess = log_excess(u, rest, 2 * at, delta[active])
        rise = 2 * np.exp(log_normal_density(u) - log_now) * (1 - centre * mills(centre + at))
        half[active] = np.maximum(at - excess / rise, at / 2)
        active = active[np.abs(half[active] - at) > 1e-9 * at]
        if not active.size:
            break

    def is_broken(epsilon: FloatArray, which: IntArray) -> BoolArray:
        return is_delta_above(delta[which], epsilon, epsilon / factor[which])

    return np.nextafter(least_float(is_broken, 2 * factor * half), 0.0)
