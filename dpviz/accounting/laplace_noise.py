"""Laplace noise itself: its density, its tails, and how far apart two answers look through it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._twofold import two_sum

_LARGE = 1e300


def laplace_density(output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0, scale: npt.ArrayLike) -> Numbers:
    r"""Return the density of a Laplace release; exact.

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
    r"""Return the log density of a Laplace release, also far out where the density underflows; exact.

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
    # (high − x) − (x − low), of halves where the sum would overflow, with the sum's own rounding error
    half = np.where(np.maximum(np.abs(low), np.abs(high)) > _LARGE, 0.5, 1.0)
    inside = np.clip(point, low, high) * half
    total, rest = two_sum(low * half, high * half)
    with np.errstate(over="ignore", under="ignore"):
        toward_low = ((total - inside) - inside + rest) / spread / half
    return plain(np.where(centre <= second, toward_low, -toward_low))


def laplace_variance(scale: npt.ArrayLike) -> Numbers:
    r"""Return the variance of Laplace noise; exact.

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


def laplace_mean_absolute(scale: npt.ArrayLike) -> Numbers:
    r"""Return the mean absolute error that Laplace noise makes; exact.

    .. math:: E|Z| = b

    Parameters
    ----------
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Query units.

    Raises
    ------
    DomainError
        If a scale is out of its range.

    References
    ----------
    Elementary: |Z| is exponential with mean b.

    Examples
    --------
    >>> laplace_mean_absolute(3.0)
    3.0
    """
    return plain(check.positive("scale", scale))


def laplace_tail(distance: npt.ArrayLike, *, scale: npt.ArrayLike) -> Numbers:
    r"""Return how likely the noise is to exceed a distance on either side; exact.

    .. math:: P(|Z| > t) = e^{-t/b}

    Parameters
    ----------
    distance : array_like
        Distance t from the true answer, query units, >= 0; inf gives 0.
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Probability in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork and Roth (2014), Fact 3.7. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(laplace_tail(3.0, scale=1.0), 6)
    0.049787
    """
    far, spread = check.at_least("distance", distance, 0, infinite=True), check.positive("scale", scale)
    with np.errstate(over="ignore", under="ignore"):
        return plain(np.exp(-far / spread))


def laplace_half_width(coverage: npt.ArrayLike, *, scale: npt.ArrayLike) -> Numbers:
    r"""Return the half width of the interval around the true answer that a release falls into so often; exact.

    .. math:: t = -b\ln(1 - c), \qquad P(|Z| \le t) = c

    Parameters
    ----------
    coverage : array_like
        Probability c, in [0, 1]; 1 gives inf.
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Half width t, query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dwork and Roth (2014), Fact 3.7. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(laplace_half_width(0.95, scale=1.0), 6)
    2.995732
    """
    share, spread = check.probability("coverage", coverage), check.positive("scale", scale)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return plain(-spread * np.log1p(-share))


def laplace_quantile(probability: npt.ArrayLike, *, location: npt.ArrayLike = 0.0, scale: npt.ArrayLike) -> Numbers:
    r"""Return the value that a Laplace release stays at or below with a given probability; exact.

    .. math:: f + b\ln(2p) \;\text{ up to } p = 1/2, \qquad f - b\ln(2(1 - p)) \;\text{ beyond}

    Parameters
    ----------
    probability : array_like
        Probability p, in [0, 1]; 0 gives -inf and 1 gives inf.
    location : array_like
        The true answer f, query units, finite.
    scale : array_like
        Laplace scale b, query units, > 0.

    Returns
    -------
    float or ndarray
        Query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the inverse of the distribution function.

    Examples
    --------
    >>> laplace_quantile(0.5, location=7.0, scale=2.0), round(laplace_quantile(0.975, scale=1.0), 6)
    (7.0, 2.995732)
    """
    level, spread = check.probability("probability", probability), check.positive("scale", scale)
    centre = check.finite("location", location)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        low, high = np.log1p(2 * np.minimum(level, 0.5) - 1), -np.log1p(1 - 2 * np.maximum(level, 0.5))
        low = np.where(level < 0.25, np.log(2 * level), low)
        return plain(centre + spread * np.where(level <= 0.5, low, high))


def _point(
    output: npt.ArrayLike, location: npt.ArrayLike, scale: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    return check.finite("output", output), check.finite("location", location), check.positive("scale", scale)
