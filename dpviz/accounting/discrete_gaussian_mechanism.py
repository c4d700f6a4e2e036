"""One release with discrete Gaussian noise, whatever is asked of it: privacy, tests, draws.

The neighbouring relation enters through the sensitivity alone, a whole number, as in `discrete_gaussian`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._exact_sampling import IntArray, draw_discrete_gaussian
from dpviz.accounting._half_sums import gaussian_exponent
from dpviz.accounting._random import Size, generator, lengths
from dpviz.accounting.discrete_gaussian import (
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    discrete_gaussian_log_delta,
    discrete_gaussian_variance,
    normalizer,
    upper_tail,
)
from dpviz.accounting.gaussian import gaussian_beta

_LARGEST = 2.0**40
_NEAR = np.arange(1.0, 17.0)
_SMOOTH = 1.0  # from here on one wave of Poisson's sum is all that a float64 sees


@dataclass(frozen=True)
class DiscreteGaussian:
    """One release of a whole-valued query plus discrete Gaussian noise.

    Parameters
    ----------
    sigma : float
        Parameter of the noise, query units, > 0; its standard deviation is at most that.
    sensitivity : int
        Sensitivity of the query under the declared neighbouring relation, a whole number >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Canonne, Kamath and Steinke (2020). https://arxiv.org/abs/2004.00010

    Examples
    --------
    >>> released = DiscreteGaussian(sigma=4.0)
    >>> released.rho, round(released.epsilon(1e-6), 6)
    (0.03125, 1.063436)
    """

    sigma: float
    sensitivity: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check.scalar("sigma", check.positive("sigma", self.sigma)))
        change = check.scalar("sensitivity", check.whole("sensitivity", self.sensitivity, 0))
        object.__setattr__(self, "sensitivity", int(change))

    @property
    def rho(self) -> float:
        """The zCDP parameter, Δ²/(2σ²): exact (Canonne, Kamath and Steinke (2020), Theorem 4)."""
        with np.errstate(over="ignore", under="ignore"):
            return float((np.float64(self.sensitivity) / self.sigma) ** 2 / 2)

    @property
    def variance(self) -> float:
        """Variance of the noise, squared query units; see `discrete_gaussian_variance`."""
        return float(discrete_gaussian_variance(self.sigma))

    def log_pmf(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0) -> Numbers:
        """Return the log probability of each whole output; exact.

        Raises
        ------
        DomainError
            If an output or location is not a whole number from −2^53 to 2^53.

        References
        ----------
        Canonne, Kamath and Steinke (2020), Definition 1.

        Examples
        --------
        >>> DiscreteGaussian(sigma=1.0).log_pmf([0, 100]).round(6).tolist()
        [-0.918939, -5000.918939]
        """
        low = -check.LARGEST_COUNT
        place = np.abs(check.whole("output", output, low) - check.whole("location", location, low))
        return plain(self._log_pmf(place))

    def pmf(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0) -> Numbers:
        """Return the probability of each whole output; the exponential of `log_pmf`."""
        with np.errstate(under="ignore"):
            return plain(np.exp(self.log_pmf(output, location=location)))

    def sample(self, rng: np.random.Generator, *, size: Size) -> IntArray:
        """Return simulated noise, drawn in whole numbers only: exactly the law, for sigma as a float64.

        No float64 is rounded on the way. A numpy generator is made for simulation, not for secrets: a release
        needs random bits that nobody can foretell.

        Raises
        ------
        DomainError
            If sigma is above 2^40, where a noise need not fit the whole numbers of numpy.
        TypeError
            If `rng` is not a numpy Generator.

        References
        ----------
        Canonne, Kamath and Steinke (2020), Algorithm 3. https://arxiv.org/abs/2004.00010

        Examples
        --------
        >>> noise = DiscreteGaussian(sigma=3.0).sample(np.random.default_rng(1), size=10_000)
        >>> noise.dtype.kind, bool(abs(noise.std() / 3 - 1) < 0.05)
        ('i', True)
        """
        source, shape = generator(rng), lengths(size)
        if self.sigma > _LARGEST:
            raise DomainError("sigma", "at most 2^40 to be drawn from", self.sigma)
        return draw_discrete_gaussian(source, Fraction(self.sigma) ** 2, prod(shape)).reshape(shape)

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile; see `discrete_gaussian_delta`."""
        return discrete_gaussian_delta(epsilon, sigma=self.sigma, sensitivity=self.sensitivity)

    def log_delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the log of the privacy profile; see `discrete_gaussian_log_delta`."""
        return discrete_gaussian_log_delta(epsilon, sigma=self.sigma, sensitivity=self.sensitivity)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon for each delta; see `discrete_gaussian_epsilon`."""
        return discrete_gaussian_epsilon(delta, sigma=self.sigma, sensitivity=self.sensitivity)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function, the least type II error for each type I error in [0, 1]; exact.

        With T(w) = P(Z >= w), it joins by straight lines the points (T(w), T(Δ − w + 1)) over whole w.

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1] or NaN.

        References
        ----------
        Neyman and Pearson (1933): tests of the output against a threshold, randomised in between.

        Examples
        --------
        >>> DiscreteGaussian(sigma=1.0).beta([0.0, 0.25, 1.0]).round(6)
        array([1.      , 0.383837, 0.      ])
        """
        level = check.probability("alpha", alpha)
        if self.sensitivity == 0:
            return plain(1 - level)
        if self.sigma > _LARGEST:  # the Gaussian, to all digits
            return plain(gaussian_beta(level, mu=self.sensitivity / self.sigma))
        inner = np.where((level > 0) & (level < 1), level, 0.5)
        with np.errstate(under="ignore", over="ignore"):
            found = self._beta(inner.ravel()).reshape(inner.shape)
        return plain(np.where(level == 0, 1.0, np.where(level == 1, 0.0, found)))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        r"""Return the Rényi divergence between neighbours; exact, at most α Δ²/(2σ²).

        .. math:: D_\alpha = \frac{\alpha\Delta^2}{2\sigma^2} + \frac{1}{\alpha - 1}
                  \ln\frac{\sum_z e^{-(z - \alpha\Delta)^2/(2\sigma^2)}}{\sum_z e^{-z^2/(2\sigma^2)}}

        Order 1 is the Kullback-Leibler divergence, Δ²/(2σ²).

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Canonne, Kamath and Steinke (2020), proof of Theorem 4. https://arxiv.org/abs/2004.00010

        Examples
        --------
        >>> DiscreteGaussian(sigma=0.5).rdp([1.0, 1.5, 2.0]).round(6)
        array([2.      , 2.942461, 4.      ])
        """
        chosen = check.at_least("order", order, 1)
        excess = chosen - 1
        if np.isinf(self.rho):
            return plain(np.full(chosen.shape, np.inf))
        with np.errstate(over="ignore", under="ignore"):
            shift = np.remainder(excess * self.sensitivity + 0.5, 1.0) - 0.5
            loss = self._log_shift(shift) / np.where(excess > 0, excess, 1.0)
            return plain(chosen * self.rho + np.where(excess > 0, loss, 0.0))

    @property
    def _normalizer(self) -> float:
        return float(normalizer(np.asarray(self.sigma)))

    def _log_shift(self, shift: FloatArray) -> FloatArray:
        """Return the log of Σ e^{−(z − s)²/2σ²} over Σ e^{−z²/2σ²}, for shifts from −1/2 to 1/2."""
        if self.sigma >= _SMOOTH:
            wave = np.exp(-2 * (np.pi * self.sigma) ** 2)
            return np.asarray(np.log1p(-4 * wave * np.sin(np.pi * shift) ** 2 / (1 + 2 * wave)))
        place = np.abs(shift)[..., None]
        square = np.float64(self.sigma) ** 2
        lift = np.exp(-_NEAR * (_NEAR - 2 * place) / square / 2) * np.expm1(-_NEAR * place / square) ** 2
        return np.asarray(np.log1p(lift.sum(axis=-1) / self._normalizer) - (shift / self.sigma) ** 2 / 2)

    def _log_pmf(self, place: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            exponent, rest = gaussian_exponent(np.abs(place), np.full(place.shape, self.sigma))
            return np.asarray(-exponent - rest - np.log(self._normalizer))

    def _tail(self, first: FloatArray) -> FloatArray:
        """Return P(Z >= first) for whole numbers of either sign."""
        beyond = upper_tail(np.where(first >= 1, first, 1 - first), self.sigma)
        return np.asarray(np.where(first >= 1, beyond, 1 - beyond))

    def _beta(self, level: FloatArray) -> FloatArray:
        """Return beta for a flat array of levels inside (0, 1)."""
        cut = self._cut(level)
        inside = self._tail(cut - 1) - level
        far = upper_tail(np.maximum(2 - cut, 1.0), self.sigma)
        room = np.where(cut < 2, (1 - level) - far, inside)
        share = np.clip(room / np.exp(self._log_pmf(cut - 1)), 0.0, 1.0)
        least = self._tail(self.sensitivity - cut + 2)
        return np.asarray(least + share * np.exp(self._log_pmf(self.sensitivity - cut + 1)))

    def _cut(self, level: FloatArray) -> FloatArray:
        """Return the least whole w with T(w) <= level, by bisection around the normal quantile."""
        middle = np.rint(-self.sigma * ndtri(level))
        reach = 3 + np.rint(1e-9 * self.sigma)
        low, high = middle - reach, middle + reach
        while np.any(high - low > 1):
            halfway = np.floor((low + high) / 2)
            meets = self._tail(halfway) <= level
            low, high = np.where(meets, low, halfway), np.where(meets, halfway, high)
        return np.asarray(high)
