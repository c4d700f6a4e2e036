"""The Laplace mechanism, one release: pure DP, and its whole profile and trade-off curve in closed form.

The sensitivity is the L1 sensitivity under the neighbouring relation that the caller declares: for a count,
1 when one record is added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain


def calibrate_laplace(epsilon: npt.ArrayLike, *, sensitivity: npt.ArrayLike = 1.0) -> Numbers:
    r"""Return the least scale that makes the Laplace mechanism epsilon-DP.

    .. math:: b = \Delta/\varepsilon

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound, nats, finite and > 0; smaller is more private.
    sensitivity : array_like
        L1 sensitivity under the declared neighbouring relation, query units, > 0.

    Returns
    -------
    float or ndarray
        Scale in query units, rounded so that sensitivity/scale is never above `epsilon`.

    Raises
    ------
    DomainError
        If an argument is out of its range, or the scale is not a finite float64 > 0.

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006), Proposition 1. https://doi.org/10.1007/11681878_14

    Examples
    --------
    >>> calibrate_laplace(0.5, sensitivity=2.0)
    4.0
    """
    loss, change = check.positive("epsilon", epsilon), check.positive("sensitivity", sensitivity)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        scale = change / loss
        scale = np.where(change / scale > loss, np.nextafter(scale, np.inf), scale)
    if not np.all(np.isfinite(scale) & (scale > 0)):
        raise DomainError("sensitivity/epsilon", "a finite float64 > 0", (sensitivity, epsilon))
    return plain(scale)


def laplace_density(output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0, scale: npt.ArrayLike) -> Numbers:
    r"""Return the density of a Laplace release.

    .. math:: p(x) = e^{-|x - f|/b}/(2b)

    Parameters
    ----------
    output : array_like
        Released values x, query units, finite.
    location : array_like
        The true answer f, query units, finite.
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Density, per query unit, >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork and Roth (2014), Definition 3.2. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> laplace_density(1.0, location=1.0, scale=2.0)
    0.25
    """
    point, centre, spread = _point(output, location, scale)
    with np.errstate(over="ignore", under="ignore"):
        return plain(np.exp(-np.abs(point - centre) / spread) / 2 / spread)


def laplace_log_density(output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0, scale: npt.ArrayLike) -> Numbers:
    r"""Return the natural log of the density of a Laplace release, also far out where the density underflows.

    .. math:: \ln p(x) = -|x - f|/b - \ln b - \ln 2

    Parameters
    ----------
    output : array_like
        Released values x, query units, finite.
    location : array_like
        The true answer f, query units, finite.
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Log density.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork and Roth (2014), Definition 3.2. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(laplace_log_density(2000.0, scale=1.0), 4)
    -2000.6931
    """
    point, centre, spread = _point(output, location, scale)
    with np.errstate(over="ignore", under="ignore"):
        return plain(-np.abs(point - centre) / spread - np.log(spread) - np.log(2))


def laplace_log_ratio(
    output: npt.ArrayLike, *, location: npt.ArrayLike, other: npt.ArrayLike, scale: npt.ArrayLike
) -> Numbers:
    r"""Return ln p(output; location)/p(output; other), the privacy loss at that output; exact.

    .. math:: (|x - f'| - |x - f|)/b

    Outside the interval between the two answers it is ±|f − f'|/b and is computed as that, so no digit is
    lost however far out the output is.

    Parameters
    ----------
    output : array_like
        Released values x, query units, finite.
    location, other : array_like
        The true answers f and f' on two neighbours, query units, finite.
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Log ratio in nats; it changes sign when `location` and `other` change places.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006), Proposition 1. https://doi.org/10.1007/11681878_14

    Examples
    --------
    >>> laplace_log_ratio([-5.0, 0.5, 1e300], location=0.0, other=1.0, scale=0.5)
    array([ 2.,  0., -2.])
    """
    point, centre, spread = _point(output, location, scale)
    second = check.finite("other", other)
    low, high = np.minimum(centre, second), np.maximum(centre, second)
    inside = np.clip(point, low, high)
    with np.errstate(over="ignore", under="ignore"):
        toward_low = ((high - inside) - (inside - low)) / spread
    return plain(np.where(centre <= second, toward_low, -toward_low))


def laplace_variance(scale: npt.ArrayLike) -> Numbers:
    r"""Return the variance of Laplace noise.

    .. math:: 2b^2

    Parameters
    ----------
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Variance, squared query units.

    Raises
    ------
    DomainError
        If a scale is out of its range.

    References
    ----------
    Dwork and Roth (2014), Definition 3.2. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> laplace_variance(3.0)
    18.0
    """
    spread = check.positive("scale", scale)
    with np.errstate(over="ignore", under="ignore"):
        return plain(2 * spread * spread)


@dataclass(frozen=True)
class Laplace:
    """One release of a query plus Laplace noise.

    Parameters
    ----------
    scale : float
        Laplace scale b, query units, > 0. Its standard deviation is √2 b.
    sensitivity : float
        L1 sensitivity of the query under the declared neighbouring relation, query units, >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    Examples
    --------
    >>> released = Laplace(scale=2.0)
    >>> released.pure_epsilon, round(released.delta(0.25), 4)
    (0.5, 0.1175)
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check.scalar("scale", check.positive("scale", self.scale)))
        sensitivity = check.at_least("sensitivity", self.sensitivity, 0)
        object.__setattr__(self, "sensitivity", check.scalar("sensitivity", sensitivity))

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta = 0: sensitivity/scale, nats; inf where that exceeds a float64."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(self.sensitivity) / self.scale)

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the privacy profile, the least delta for each epsilon >= 0; exact.

        .. math:: \delta(\varepsilon) = \max\bigl(0,\; 1 - e^{(\varepsilon - \varepsilon_0)/2}\bigr),
                  \qquad \varepsilon_0 = \Delta/b

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN; inf gives 0.

        References
        ----------
        Balle and Wang (2018), Section 2; the integral over outputs between the two answers.

        Examples
        --------
        >>> Laplace(scale=1.0).delta([0.0, 1.0, 2.0]).round(4)
        array([0.3935, 0.    , 0.    ])
        """
        loss = check.at_least("epsilon", epsilon, 0, infinite=True)
        gap = np.maximum(self.pure_epsilon - np.where(np.isinf(loss), 0.0, loss), 0.0)
        return plain(np.where(np.isinf(loss), 0.0, -np.expm1(-gap / 2)))

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        r"""Return the least epsilon >= 0 for each delta in [0, 1]; exact.

        .. math:: \varepsilon(\delta) = \max\bigl(0,\; \varepsilon_0 + 2\ln(1 - \delta)\bigr)

        Raises
        ------
        DomainError
            If a delta is outside [0, 1] or NaN.

        References
        ----------
        The inverse of `delta`.

        Examples
        --------
        >>> round(Laplace(scale=1.0).epsilon(0.1), 4)
        0.7893
        """
        slack = check.probability("delta", delta)
        is_total = slack >= -np.expm1(-self.pure_epsilon / 2)
        found = self.pure_epsilon + 2 * np.log1p(-np.where(slack == 1, 0.0, slack))
        return plain(np.where(is_total, 0.0, np.maximum(found, 0.0)))

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        r"""Return the trade-off function, the least type II error for each type I error in [0, 1]; exact.

        With s = Δ/b: 1 − e^s α up to α = e^{−s}/2, then e^{−s}/(4α) up to 1/2, then e^{−s}(1 − α).

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1] or NaN.

        References
        ----------
        Dong, Roth and Su (2022), Section 2 (Laplace mechanism). https://arxiv.org/abs/1905.02383

        Examples
        --------
        >>> Laplace(scale=1.0).beta([0.0, 0.25, 1.0]).round(4)
        array([1.    , 0.3679, 0.    ])
        """
        level = check.probability("alpha", alpha)
        gap = self.pure_epsilon
        if np.isinf(gap):
            return plain(np.zeros_like(level))
        with np.errstate(divide="ignore", under="ignore"):
            log_level = np.log(level)
            is_low = log_level <= -gap - np.log(2)
            low = 1 - np.exp(np.where(is_low, gap + log_level, 0.0))
            middle = np.exp(-gap - np.where(is_low, 0.0, log_level + np.log(4)))
            high = np.exp(-gap) * (1 - level)
        return plain(np.where(is_low, low, np.where(level <= 0.5, middle, high)))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        r"""Return the Rényi divergence between neighbours; exact.

        .. math:: D_\alpha = \frac{1}{\alpha - 1}\ln\Bigl(\frac{\alpha}{2\alpha - 1}e^{(\alpha - 1)s}
                  + \frac{\alpha - 1}{2\alpha - 1}e^{-\alpha s}\Bigr), \qquad s = \Delta/b

        Order 1 is the Kullback-Leibler divergence, s + e^{−s} − 1.

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Mironov (2017), Proposition 6. https://arxiv.org/abs/1702.07476

        Examples
        --------
        >>> round(Laplace(scale=1.0).rdp(2.0), 6)
        0.619124
        """
        chosen = check.at_least("order", order, 1)
        return plain(_laplace_rdp(chosen, np.float64(self.pure_epsilon)))


def _point(
    output: npt.ArrayLike, location: npt.ArrayLike, scale: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    return check.finite("output", output), check.finite("location", location), check.positive("scale", scale)


def _laplace_rdp(order: FloatArray, gap: np.float64) -> FloatArray:
    """Return the divergence, uncancelled, from E(x) = e^x − 1 − x; beyond e^600 by its first term."""
    excess = order - 1
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        is_far = excess * gap > 600
        is_near = ~is_far & (excess > 0)
        near = np.where(is_near, excess, 1.0)
        moment = (near + 1) * _exp_rest(np.where(is_near, near * gap, 0.0)) + near * _exp_rest(-(near + 1) * gap)
        result = np.where(is_near, np.log1p(moment / (2 * near + 1)) / near, _exp_rest(-gap))
        return np.where(is_far, gap - np.log1p(excess / order) / np.where(is_far, excess, 1.0), result)


def _exp_rest(x: npt.ArrayLike) -> FloatArray:
    """Return e^x − 1 − x, by its series where the difference would cancel."""
    at = np.asarray(x, dtype=np.float64)
    small = np.clip(at, -1.0, 1.0)
    series = np.zeros_like(at)
    for j in range(20, 2, -1):
        series = small / j * (1 + series)
    return np.where(np.abs(at) < 1, small * small / 2 * (1 + series), np.expm1(at) - at)
