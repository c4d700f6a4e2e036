"""From a Rényi guarantee at one order to approximate DP: epsilon at a delta, or delta at an epsilon.

Valid for every mechanism, tight for few. The neighbouring relation is that of the guarantee that is converted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.zcdp import (
    gain,
)


def rdp_to_epsilon(rdp: npt.ArrayLike, *, order: npt.ArrayLike, delta: npt.ArrayLike) -> Numbers:
    r"""Return an epsilon that an RDP guarantee suffices for; a bound, by the classic conversion.

    .. math:: \varepsilon = \rho_\alpha + \frac{\ln(1/\delta)}{\alpha - 1}

    Parameters
    ----------
    rdp : array_like
        Rényi divergence bound at `order`, nats, >= 0; inf gives inf.
    order : array_like
        Rényi order, finite and > 1.
    delta : array_like
        Additive slack, in [0, 1]; 0 gives inf.

    Returns
    -------
    float or ndarray
        Epsilon in nats, at least `rdp`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov (2017), Proposition 3. https://arxiv.org/abs/1702.07476

    Examples
    --------
    >>> round(rdp_to_epsilon(0.5, order=2.0, delta=1e-5), 4)
    12.0129
    """
    divergence, chosen, log_slack = _checked(rdp, order, delta)
    with np.errstate(over="ignore", under="ignore"):
        return plain(divergence - log_slack / (chosen - 1))


def rdp_to_epsilon_improved(rdp: npt.ArrayLike, *, order: npt.ArrayLike, delta: npt.ArrayLike) -> Numbers:
    r"""Return an epsilon that an RDP guarantee suffices for; a bound, never above `rdp_to_epsilon`.

    .. math:: \varepsilon = \max\Bigl(0,\; \rho_\alpha + \ln\frac{\alpha - 1}{\alpha}
              - \frac{\ln\delta + \ln\alpha}{\alpha - 1}\Bigr)

    Parameters
    ----------
    rdp : array_like
        Rényi divergence bound at `order`, nats, >= 0; inf gives inf.
    order : array_like
        Rényi order, finite and > 1.
    delta : array_like
        Additive slack, in [0, 1]; 0 gives inf.

    Returns
    -------
    float or ndarray
        Epsilon in nats, >= 0. Where the formula is negative the guarantee holds with epsilon = 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(rdp_to_epsilon_improved(0.5, order=2.0, delta=1e-5), 4)
    10.6266
    """
    divergence, chosen, log_slack = _checked(rdp, order, delta)
    with np.errstate(over="ignore", under="ignore"):
        epsilon = divergence - np.log1p(1 / (chosen - 1)) - (log_slack + np.log(chosen)) / (chosen - 1)
    return plain(np.maximum(epsilon, 0.0))


def rdp_to_delta(rdp: npt.ArrayLike, *, order: npt.ArrayLike, epsilon: npt.ArrayLike) -> Numbers:
    r"""Return a delta that an RDP guarantee suffices for; a bound, the classic conversion read the other way.

    .. math:: \delta = \min\bigl(1,\; e^{(\alpha - 1)(\rho_\alpha - \varepsilon)}\bigr)

    Parameters
    ----------
    rdp : array_like
        Rényi divergence bound at `order`, nats, >= 0; inf gives 1.
    order : array_like
        Rényi order, finite and > 1.
    epsilon : array_like
        Privacy loss bound, nats, >= 0; inf gives 0.

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
    Mironov (2017), Proposition 3. https://arxiv.org/abs/1702.07476

    Examples
    --------
    >>> round(rdp_to_delta(0.5, order=2.0, epsilon=12.0129), 7)
    1e-05
    """
    return plain(np.exp(np.minimum(_log_delta(rdp, order, epsilon)[0], 0.0)))


def rdp_to_delta_improved(rdp: npt.ArrayLike, *, order: npt.ArrayLike, epsilon: npt.ArrayLike) -> Numbers:
    r"""Return a delta that an RDP guarantee suffices for; a bound, never above `rdp_to_delta`.

    .. math:: \delta = \min\Bigl(1,\; \frac{e^{(\alpha - 1)(\rho_\alpha - \varepsilon)}}{\alpha - 1}
              \Bigl(1 - \frac{1}{\alpha}\Bigr)^{\alpha}\Bigr)

    Parameters
    ----------
    rdp : array_like
        Rényi divergence bound at `order`, nats, >= 0; inf gives 1.
    order : array_like
        Rényi order, finite and > 1.
    epsilon : array_like
        Privacy loss bound, nats, >= 0; inf gives 0.

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
    Canonne, Kamath and Steinke (2020), Proposition 12. https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> round(rdp_to_delta_improved(0.5, order=2.0, epsilon=10.6266), 7)
    1e-05
    """
    classic, excess = _log_delta(rdp, order, epsilon)
    with np.errstate(over="ignore", under="ignore"):
        return plain(np.exp(np.minimum(classic - gain(excess), 0.0)))


def _checked(
    rdp: npt.ArrayLike, order: npt.ArrayLike, delta: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the divergence, the order, and log delta."""
    divergence = check.at_least("rdp", rdp, 0, infinite=True)
    chosen = check.above("order", order, 1)
    slack = check.probability("delta", delta)
    with np.errstate(divide="ignore"):
        return divergence, chosen, np.log(slack)


def _log_delta(rdp: npt.ArrayLike, order: npt.ArrayLike, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return log delta by the classic conversion (above 0 where it says nothing), and order − 1."""
    divergence, chosen, _ = _checked(rdp, order, 1.0)
    loss = check.at_least("epsilon", epsilon, 0, infinite=True)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        log_delta = (chosen - 1) * (divergence - loss)
    return np.where(np.isinf(divergence), np.inf, log_delta), chosen - 1
