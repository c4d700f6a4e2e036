r"""Central limit theorems: the mu that a long composition tends to. Approximations, not guarantees.

A mu from here goes where a GDP parameter goes (`gaussian_delta`, `gaussian_epsilon`, `gaussian_tradeoff`), but the
answer may lie on the unsafe side of the truth. At sampling probability 0.01, noise multiplier 1 and 1,000 steps,
`poisson_limit_mu` leads to an epsilon 12 % below the exact one at delta = 1e-5; at 0.001, 0.6 and 10,000 steps to one
46 % below it at delta = 1e-6.
"""

from __future__ import annotations

from math import factorial

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, ndtr

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain

_TINY = 1e-60  # below it the first term of a series is the whole of it, and squares would leave the float64 range
_BERRY_ESSEEN = 0.56
_SERIES_TERMS = 24


def laplace_limit_mu(*, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike) -> Numbers:
    r"""Return the mu that many Laplace releases tend to; an approximation, not a guarantee.

    .. math:: \mu = \frac{2\sqrt{k}\,m}{\sqrt{v}}, \qquad m = \operatorname{E} L = s + e^{-s} - 1, \qquad
              v = \operatorname{Var} L = 4(1 - e^{-s}(1 + s)) - (1 - e^{-s})^2

    L is the privacy loss of one release. `laplace_limit_error` says how far the composition can be from G_mu.

    Parameters
    ----------
    pure_epsilon : array_like
        Privacy loss bound s of each release, L1 sensitivity over scale, nats, finite and >= 0, under the
        neighbouring relation of the sensitivity.
    count : array_like
        Number of releases k, a whole number >= 0.

    Returns
    -------
    float or ndarray
        mu >= 0; near s √k for small s.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Theorem 3.4. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(laplace_limit_mu(pure_epsilon=0.1, count=100), 6)
    0.984391
    """
    loss, releases = check.at_least("pure_epsilon", pure_epsilon, 0), check.whole("count", count, 0)
    mean, deviation, _ = _laplace_moments(loss)
    with np.errstate(over="ignore", under="ignore"):
        return plain(np.sqrt(releases) * np.where(loss > _TINY, 2 * mean / deviation, loss))


def laplace_limit_error(*, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike) -> Numbers:
    r"""Return how far the composition of Laplace releases can be from its limit (Berry and Esseen); a bound.

    .. math:: \gamma = \frac{0.56}{\sqrt{k}}\,
              \frac{\operatorname{E}|L - \operatorname{E}L|^3}{(\operatorname{Var}L)^{3/2}},
              \qquad G_\mu(\alpha + \gamma) - \gamma \le f(\alpha) \le G_\mu(\alpha - \gamma) + \gamma

    with f the trade-off function of the composition, for gamma <= alpha <= 1 − gamma. For a delta below gamma it
    says nothing.

    Parameters
    ----------
    pure_epsilon : array_like
        Privacy loss bound s of each release, L1 sensitivity over scale, nats, finite and >= 0, under the
        neighbouring relation of the sensitivity; 0 gives the limit 0.56/√k.
    count : array_like
        Number of releases k, a whole number >= 1.

    Returns
    -------
    float or ndarray
        gamma > 0; from 1/2 on the theorem is empty.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Theorem 3.4. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(laplace_limit_error(pure_epsilon=1.0, count=10), 6)
    0.232353
    """
    loss, releases = check.at_least("pure_epsilon", pure_epsilon, 0), check.whole("count", count, 1)
    _, deviation, third = _laplace_moments(loss)
    return plain(_BERRY_ESSEEN / np.sqrt(releases) * np.where(loss > _TINY, third / deviation**3, 1.0))


def poisson_limit_mu(
    *, sampling_probability: npt.ArrayLike, noise_multiplier: npt.ArrayLike, count: npt.ArrayLike
) -> Numbers:
    r"""Return the mu that many Gaussian releases on Poisson samples tend to; an approximation, not a guarantee.

    .. math:: \mu = q\sqrt{T(e^{1/\sigma^2} - 1)}

    It holds as q √T tends to a constant; before that it can say too little: see the figures of this module.

    Parameters
    ----------
    sampling_probability : array_like
        Probability q that a record is in a sample, in [0, 1].
    noise_multiplier : array_like
        Standard deviation of the noise over the L2 sensitivity to adding or removing one record, > 0.
    count : array_like
        Number of steps T, a whole number >= 0.

    Returns
    -------
    float or ndarray
        mu >= 0, for neighbours under `Relation.ADD_OR_REMOVE_ONE`; inf where it exceeds a float64.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Bu, Dong, Long and Su (2020), the central limit theorem for Poisson samples.
    https://arxiv.org/abs/1911.11607

    Examples
    --------
    >>> round(poisson_limit_mu(sampling_probability=0.01, noise_multiplier=1.0, count=1000), 6)
    0.414522
    """
    rate, shift, steps = _steps(sampling_probability, noise_multiplier, count)
    with np.errstate(over="ignore", under="ignore"):
        square = shift * shift
        growth = np.where(shift > _TINY, np.sqrt(-np.expm1(-square)), shift)
        return plain(_scaled(rate * np.sqrt(steps), growth, square))


def without_replacement_limit_mu(
    *, sampling_probability: npt.ArrayLike, noise_multiplier: npt.ArrayLike, count: npt.ArrayLike
) -> Numbers:
    r"""Return the mu that many Gaussian releases on samples of fixed size tend to; an approximation, not a guarantee.

    .. math:: \mu = q\sqrt{2T\chi^2_+}, \qquad
              \chi^2_+ = e^{m^2}\Phi(3m/2) + 3\Phi(-m/2) - 2, \qquad m = 1/\sigma

    It holds as q √T tends to a constant; before that it can say too little.

    Parameters
    ----------
    sampling_probability : array_like
        Sample size over data size q, in [0, 1]; each sample is drawn without replacement.
    noise_multiplier : array_like
        Standard deviation of the noise over the L2 sensitivity to replacing one record of the sample, > 0.
    count : array_like
        Number of steps T, a whole number >= 0.

    Returns
    -------
    float or ndarray
        mu >= 0, for neighbours under `Relation.REPLACE_ONE`; inf where it exceeds a float64.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 5.4. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(without_replacement_limit_mu(sampling_probability=0.01, noise_multiplier=4.0, count=10_000), 6)
    0.277955
    """
    rate, shift, steps = _steps(sampling_probability, noise_multiplier, count)
    with np.errstate(over="ignore", under="ignore"):
        square = shift * shift
        near = shift * np.sqrt(_near_chi_square(np.minimum(shift, 1.0)))
        wide = np.maximum(shift, 1.0)
        far = np.sqrt(2 * (ndtr(1.5 * wide) + (3 * ndtr(-wide / 2) - 2) * np.exp(-wide * wide)))
        growth = np.where(shift < 1, near, far)
        return plain(_scaled(rate * np.sqrt(steps), growth, square))


def _steps(
    sampling_probability: npt.ArrayLike, noise_multiplier: npt.ArrayLike, count: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sampling probability, 1/σ and the number of steps, of one shape."""
    rate = check.probability("sampling_probability", sampling_probability)
    noise, steps = check.positive("noise_multiplier", noise_multiplier), check.whole("count", count, 0)
    with np.errstate(over="ignore", under="ignore"):
        parts = np.broadcast_arrays(rate, 1 / noise, steps)
    return parts[0], parts[1], parts[2]


def _scaled(factor: FloatArray, growth: FloatArray, square: FloatArray) -> FloatArray:
    """Return factor · growth · e^(square/2), which is 0 where the factor is, however large the rest."""
    safe = np.where(factor == 0, 0.0, square / 4)
    return factor * np.exp(safe) * growth * np.exp(safe)


def _laplace_moments(loss: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean, the standard deviation and the third absolute central moment of the privacy loss.

    The loss is s − 2U with U = 0 half of the time and else min(E, s), E exponential with mean 1. With
    a = 1 − e^{−s} the mean is s − a, and the third moment that of |a − 2U|: a sum of positive terms.
    """
    s = np.maximum(loss, _TINY)
    with np.errstate(under="ignore"):
        a, b, rest = -np.expm1(-s), _lower_gamma(2, s), np.exp(-s / 3)
        mean, deviation = np.where(s > 1, s - a, s * a - b), np.sqrt(4 * b - a * a)
        middle = 48 * np.exp(-a / 2) * (_cube_integral(a / 2) + _lower_gamma(4, s - a / 2))
        third = (a**3 + middle + (2 * (rest * s) - rest * a) ** 3) / 2
    return mean, deviation, third


def _lower_gamma(power: int, x: FloatArray) -> FloatArray:
    """Return ∫_0^x v^(n−1) e^−v dv/(n − 1)! for x > 0, below 1 by its series of positive terms."""
    small = np.minimum(x, 1.0)
    total = np.ones_like(x)
    for n in range(power + _SERIES_TERMS, power, -1):
        total = 1 + small / n * total
    series = small**power * np.exp(-small) / factorial(power) * total
    return np.where(x < 1, series, gammainc(float(power), x))


def _cube_integral(h: FloatArray) -> FloatArray:
    """Return (1/6) ∫_0^h v³ e^v dv for 0 <= h <= 1/2, by its series."""
    total = np.zeros_like(h)
    for n in range(_SERIES_TERMS, 0, -1):
        total = h / n * (1 / (n + 4) + total)
    return h**4 / 6 * (0.25 + total)


def _near_chi_square(shift: FloatArray) -> FloatArray:
    r"""Return 2 e^{−m²} χ²₊/m² for 0 <= m <= 1, where χ²₊ = Φ(3m/2)(e^{m²} − 1) − m³ · _cubic_rest(m)."""
    square = shift * shift
    per_square = np.where(square > 0, -np.expm1(-square) / np.where(square > 0, square, 1.0), 1.0)
    result: FloatArray = 2 * ndtr(1.5 * shift) * per_square - 2 * shift * _cubic_rest(shift) * np.exp(-square)
    return result


def _cubic_rest(shift: FloatArray) -> FloatArray:
    r"""Return [3 (Φ(m/2) − 1/2) − (Φ(3m/2) − 1/2)]/m³ for 0 <= m <= 1, by its series."""
    square = shift * shift / 8
    term, total = np.ones_like(shift), np.zeros_like(shift)
    for n in range(1, _SERIES_TERMS):
        term = -term * square / n
        total = total + term * ((3.0 ** (2 * n + 1) - 3) / (2 * n + 1))
    rest: FloatArray = -total / np.sqrt(8 * np.pi) / np.where(square > 0, shift * shift, 1.0)
    return rest
