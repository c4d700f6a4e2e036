"""The mean of repeated Gaussian answers whose noises are equally correlated: accuracy gained is privacy lost.

Every two of the r noises have correlation rho, so rho = 0 is fresh noise and rho = 1 one cached answer. The joint
release of all answers is exactly as private as their mean: mu · (spread of the mean) = sensitivity, at every rho.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import erfinv, ndtri

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._random import Size, generator, lengths
from dpviz.accounting._twofold import two_product, two_sum
from dpviz.accounting.gaussian import gaussian_epsilon

_TINIEST = np.finfo(np.float64).smallest_subnormal


def mean_variance(*, sigma: npt.ArrayLike, repeats: npt.ArrayLike, correlation: npt.ArrayLike = 0.0) -> Numbers:
    r"""Return the variance of the mean of `repeats` equally correlated answers; exact.

    .. math:: \sigma^2\,\frac{1 + (r - 1)\rho}{r}, \qquad -\tfrac{1}{r - 1} \le \rho \le 1

    1 + (r − 1)ρ is formed without rounding error, so it keeps its digits where it all but vanishes.

    Parameters
    ----------
    sigma : array_like
        Standard deviation of the noise in each answer, query units, > 0.
    repeats : array_like
        Number of answers averaged, a whole number >= 1.
    correlation : array_like
        Correlation of the noises of any two answers, from −1/(repeats − 1) to 1 (from −1 for one answer, where it
        has no part). The float64 nearest to −1/(repeats − 1) is taken as that end where it lies beyond it.

    Returns
    -------
    float or ndarray
        Variance in squared query units; 0 at the lower end.

    Raises
    ------
    DomainError
        If an argument is out of its range: no noises are correlated like that.

    References
    ----------
    Elementary: the variance of a sum is the sum of all covariances.

    Examples
    --------
    >>> mean_variance(sigma=8.0, repeats=25), mean_variance(sigma=8.0, repeats=25, correlation=0.5)
    (2.56, 33.28)
    """
    spread, share = _spread_and_share(sigma, repeats, correlation)
    with np.errstate(over="ignore", under="ignore"):
        return plain(spread * spread * share)


def correlated_mean_sigma(*, sigma: npt.ArrayLike, repeats: npt.ArrayLike, correlation: npt.ArrayLike = 0.0) -> Numbers:
    r"""Return the standard deviation of the mean of `repeats` equally correlated answers; exact.

    .. math:: \sigma\sqrt{\frac{1 + (r - 1)\rho}{r}}

    Parameters
    ----------
    sigma, repeats, correlation : array_like
        As for `mean_variance`.

    Returns
    -------
    float or ndarray
        Standard deviation in query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the root of `mean_variance`.

    Examples
    --------
    >>> correlated_mean_sigma(sigma=8.0, repeats=[1, 4, 100], correlation=[0.3, 0.0, 1.0])
    array([8., 4., 8.])
    """
    spread, share = _spread_and_share(sigma, repeats, correlation)
    with np.errstate(under="ignore"):
        return plain(spread * np.sqrt(share))


def correlated_mean_mu(
    *,
    sigma: npt.ArrayLike,
    sensitivity: npt.ArrayLike = 1.0,
    repeats: npt.ArrayLike,
    correlation: npt.ArrayLike = 0.0,
) -> Numbers:
    r"""Return the GDP parameter of releasing all `repeats` correlated answers, or only their mean; exact.

    .. math:: \mu = \Delta\sqrt{\mathbf 1^\top \Sigma^{-1} \mathbf 1}
              = \frac{\Delta}{\sigma}\sqrt{\frac{r}{1 + (r - 1)\rho}}

    Parameters
    ----------
    sigma, repeats, correlation : array_like
        As for `mean_variance`.
    sensitivity : array_like
        L2 sensitivity of the query under the declared neighbouring relation, query units, >= 0.

    Returns
    -------
    float or ndarray
        mu >= 0; inf at the lower end of `correlation`, where the noises cancel and the mean is the true answer. What
        is too small for a float64 is rounded up to the least positive one.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Section 2.3: the pair N(0, Σ) and N(Δ1, Σ). https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> correlated_mean_mu(sigma=8.0, repeats=5, correlation=[0.0, 1.0, -0.25]).round(6)
    array([0.279508, 0.125   ,      inf])
    """
    spread, share = _spread_and_share(sigma, repeats, correlation)
    change = check.at_least("sensitivity", sensitivity, 0)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        mu = np.maximum(change / spread / np.sqrt(share), _TINIEST)
    return plain(np.where(change > 0, mu, 0.0))


def mean_epsilon(
    delta: npt.ArrayLike,
    *,
    sigma: npt.ArrayLike,
    sensitivity: npt.ArrayLike = 1.0,
    repeats: npt.ArrayLike,
    correlation: npt.ArrayLike = 0.0,
) -> Numbers:
    r"""Return the least epsilon at each delta for all `repeats` correlated answers, or their mean; exact.

    It is `gaussian_epsilon` at `correlated_mean_mu`.

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1].
    sigma, repeats, correlation : array_like
        As for `mean_variance`.
    sensitivity : array_like
        L2 sensitivity of the query under the declared neighbouring relation, query units, >= 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats; inf where the noises cancel, and at delta = 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Balle and Wang (2018), Theorem 8. https://arxiv.org/abs/1805.06530

    Examples
    --------
    >>> round(mean_epsilon(1e-6, sigma=8.0, repeats=25), 5), round(mean_epsilon(1e-6, sigma=8.0, repeats=1), 5)
    (2.88343, 0.50386)
    """
    mu = correlated_mean_mu(sigma=sigma, sensitivity=sensitivity, repeats=repeats, correlation=correlation)
    return gaussian_epsilon(delta, mu=mu)


def mean_confidence_interval(
    mean: npt.ArrayLike,
    *,
    sigma: npt.ArrayLike,
    repeats: npt.ArrayLike,
    correlation: npt.ArrayLike = 0.0,
    confidence: npt.ArrayLike = 0.95,
) -> tuple[Numbers, Numbers]:
    r"""Return the interval around an observed mean that holds the true answer with the given confidence; exact.

    .. math:: \bar y \pm \Phi^{-1}\!\Bigl(\frac{1 + c}{2}\Bigr)\,\sigma\sqrt{\frac{1 + (r - 1)\rho}{r}}

    It speaks of the added noise alone: the answer is a number, not an estimate of anything beyond the data.

    Parameters
    ----------
    mean : array_like
        Mean of the noisy answers, query units, finite.
    sigma, repeats, correlation : array_like
        As for `mean_variance`.
    confidence : array_like
        Probability c that the interval covers the answer, in [0, 1); 0 gives the mean itself.

    Returns
    -------
    tuple of float or ndarray
        Low and high end, query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the mean of Gaussian answers is Gaussian, of known variance.

    Examples
    --------
    >>> low, high = mean_confidence_interval(10.0, sigma=8.0, repeats=64)
    >>> round(low, 4), round(high, 4)
    (8.04, 11.96)
    """
    centre = check.finite("mean", mean)
    level = check.probability("confidence", confidence, open_high=True)
    spread, share = _spread_and_share(sigma, repeats, correlation)
    reach = np.where(level < 0.5, np.sqrt(2) * erfinv(level), -ndtri((1 - level) / 2))
    with np.errstate(over="ignore", under="ignore"):
        half_width = reach * (spread * np.sqrt(share))
        return plain(centre - half_width), plain(centre + half_width)


def simulate_answers(
    rng: np.random.Generator,
    *,
    sigma: float,
    repeats: int,
    correlation: float = 0.0,
    size: Size,
) -> FloatArray:
    r"""Return simulated noises of `repeats` equally correlated answers, at any correlation there is.

    .. math:: \sqrt{1 - \rho}\,(Z_i - \bar Z) + \sqrt{1 + (r - 1)\rho}\;\bar Z

    Illustrative only: noise in double precision shows, in its low digits, what it was added to, and is not for
    release.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same answers.
    sigma, repeats, correlation : float, int, float
        As for `mean_variance`, one number each.
    size : int or tuple of int
        Number of runs.

    Returns
    -------
    ndarray, shape `size` + (repeats,)
        Noise of each answer, query units; their mean over the last axis has the variance `mean_variance`.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `rng` is not a numpy Generator.

    References
    ----------
    Elementary: this map of independent normals has the covariance; against release, Mironov (2012).

    Examples
    --------
    >>> noise = simulate_answers(np.random.default_rng(1), sigma=8.0, repeats=4, correlation=-0.3, size=10_000)
    >>> noise.shape, bool(abs(noise.mean(axis=1).std() - 4 * 0.1**0.5) < 0.02)
    ((10000, 4), True)
    """
    source, shape = generator(rng), lengths(size)
    answers = int(check.scalar("repeats", check.whole("repeats", repeats, 1)))
    spread, share = _spread_and_share(sigma, repeats, correlation)
    scale = check.scalar("sigma", spread)
    common = np.sqrt(check.scalar("correlation", share) * answers)
    apart = np.sqrt(1 - float(check.real("correlation", correlation))) if answers > 1 else 0.0
    normal = source.standard_normal((*shape, answers))
    middle = normal.mean(axis=-1, keepdims=True)
    with np.errstate(under="ignore", over="ignore"):
        return np.asarray(scale * (apart * (normal - middle) + common * middle))


def _spread_and_share(
    sigma: npt.ArrayLike, repeats: npt.ArrayLike, correlation: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return sigma, and the part (1 + (r − 1)ρ)/r of its square that the mean keeps."""
    spread = check.positive("sigma", sigma)
    answers, together = np.broadcast_arrays(check.whole("repeats", repeats, 1), check.real("correlation", correlation))
    end = np.where(answers > 1, -1 / np.maximum(answers - 1, 1), -1.0)
    product, product_rest = two_product(answers - 1, np.where(np.abs(together) <= 1, together, 0.0))
    total, total_rest = two_sum(np.ones_like(product), product)
    share = (total + (total_rest + product_rest)) / answers
    inside = (np.abs(together) <= 1) & ((share >= 0) | (together == end))
    if not inside.all():
        bad = float(together[~inside][0])
        raise DomainError("correlation", "a number from -1/(repeats - 1) to 1", bad)
    return spread, np.maximum(share, 0.0)
