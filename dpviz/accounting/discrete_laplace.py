"""The discrete Laplace (two-sided geometric) mechanism: Laplace noise on whole numbers, with nothing in low digits.

P(Z = z) = tanh(1/(2b)) e^{−|z|/b}. The query is whole-valued; its sensitivity is a whole number, the most it
changes under the neighbouring relation that the caller declares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._bounded_range import rise_of_range
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._exact_sampling import IntArray, draw_discrete_laplace
from dpviz.accounting._random import Size, generator, lengths
from dpviz.accounting._settle import settle_epsilon

_LARGEST_DRAWN = 2.0**40


def discrete_laplace_variance(epsilon: npt.ArrayLike, *, sensitivity: npt.ArrayLike = 1) -> Numbers:
    r"""Return the variance of the discrete Laplace noise that makes a whole-valued query epsilon-DP; exact.

    .. math:: \frac{1}{2\sinh^2\bigl(\varepsilon/(2\Delta)\bigr)}
              = \frac{2e^{-\varepsilon/\Delta}}{(1 - e^{-\varepsilon/\Delta})^2}

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee, nats, finite and > 0.
    sensitivity : array_like
        Sensitivity of the query under the declared neighbouring relation, a whole number >= 1.

    Returns
    -------
    float or ndarray
        Variance, squared query units; below Laplace's 2Δ²/ε².

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2009). https://doi.org/10.1137/09076828X

    Examples
    --------
    >>> round(discrete_laplace_variance(1.0), 6)
    1.841347
    """
    loss, change = check.positive("epsilon", epsilon), check.whole("sensitivity", sensitivity, 1)
    return plain(_variance(loss / change))


@dataclass(frozen=True)
class DiscreteLaplace:
    """One release of a whole-valued query plus discrete Laplace noise.

    Parameters
    ----------
    scale : float
        Scale b, query units, > 0.
    sensitivity : int
        Sensitivity of the query under the declared neighbouring relation, a whole number >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2009). https://doi.org/10.1137/09076828X

    Examples
    --------
    >>> released = DiscreteLaplace(scale=1.0)
    >>> released.pure_epsilon, round(released.delta(0.5), 6)
    (1.0, 0.287649)
    """

    scale: float
    sensitivity: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check.scalar("scale", check.positive("scale", self.scale)))
        change = check.scalar("sensitivity", check.whole("sensitivity", self.sensitivity, 0))
        object.__setattr__(self, "sensitivity", int(change))

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta = 0: sensitivity/scale, nats; inf where that exceeds a float64."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(self.sensitivity) / self.scale)

    @property
    def variance(self) -> float:
        """Variance of the noise, squared query units: 1/(2 sinh²(1/(2b)))."""
        return float(_variance(np.asarray(self._step)))

    def log_pmf(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0) -> Numbers:
        """Return the log probability of each whole output; exact.

        Raises
        ------
        DomainError
            If an output or location is not a whole number from −2^53 to 2^53.

        References
        ----------
        Ghosh, Roughgarden and Sundararajan (2009).

        Examples
        --------
        >>> DiscreteLaplace(scale=1.0).log_pmf([0, 2000]).round(6).tolist()
        [-0.771937, -2000.771937]
        """
        low = -check.LARGEST_COUNT
        distance = np.abs(check.whole("output", output, low) - check.whole("location", location, low))
        with np.errstate(over="ignore", under="ignore"):
            centre = np.log(np.tanh(min(self._step, 100.0) / 2))
            away = distance * np.where(distance > 0, self._step, 0.0)
            return plain(centre - away)

    def pmf(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0) -> Numbers:
        """Return the probability of each whole output; the exponential of `log_pmf`."""
        with np.errstate(under="ignore"):
            return plain(np.exp(self.log_pmf(output, location=location)))

    def sample(self, rng: np.random.Generator, *, size: Size) -> IntArray:
        """Return simulated noise, drawn in whole numbers only: exactly the law, for the scale as a float64.

        No float64 is rounded on the way. A numpy generator is made for simulation, not for secrets: a release
        needs random bits that nobody can foretell.

        Raises
        ------
        DomainError
            If the scale is above 2^40, where a noise need not fit the whole numbers of numpy.
        TypeError
            If `rng` is not a numpy Generator.

        References
        ----------
        Canonne, Kamath and Steinke (2020), Algorithm 2. https://arxiv.org/abs/2004.00010

        Examples
        --------
        >>> noise = DiscreteLaplace(scale=2.0).sample(np.random.default_rng(1), size=10_000)
        >>> noise.dtype.kind, bool(abs(noise.var() / DiscreteLaplace(scale=2.0).variance - 1) < 0.1)
        ('i', True)
        """
        source, shape = generator(rng), lengths(size)
        if self.scale > _LARGEST_DRAWN:
            raise DomainError("scale", "at most 2^40 to be drawn from", self.scale)
        return draw_discrete_laplace(source, Fraction(self.scale), prod(shape)).reshape(shape)

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the privacy profile, the least delta for each epsilon >= 0; exact.

        .. math:: \delta(\varepsilon) = \frac{1 - e^{\varepsilon - (\Delta - Z)/b} + q\,(1 - q^Z)}{1 + q},
                  \qquad q = e^{-1/b}, \quad Z = \lceil (\Delta - \varepsilon b)/2 \rceil - 1
                  \quad (\varepsilon < \Delta/b)

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN; inf gives 0.

        References
        ----------
        Ghosh, Roughgarden and Sundararajan (2009), summed over the outputs up to Z, whose loss exceeds epsilon.

        Examples
        --------
        >>> DiscreteLaplace(scale=2.0, sensitivity=3).delta([0.0, 1.0, 1.5]).round(6)
        array([0.54202 , 0.244919, 0.      ])
        """
        return plain(self._delta(check.at_least("epsilon", epsilon, 0, infinite=True)))

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        r"""Return the least epsilon >= 0 for each delta in [0, 1]; exact, the inverse of `delta`.

        .. math:: \varepsilon(\delta) = \frac{\Delta - 2Z}{b}
                  + \ln\Bigl(1 + (1 + q)\bigl((1 - \delta) q^{-Z} - 1\bigr)\Bigr),
                  \qquad Z = \lfloor -b \ln(1 - \delta) \rfloor

        Raises
        ------
        DomainError
            If a delta is outside [0, 1] or NaN.

        References
        ----------
        The inverse of `delta`, whose value at epsilon = (Δ − 2Z)/b is 1 − q^Z; elementary.

        Examples
        --------
        >>> round(DiscreteLaplace(scale=2.0, sensitivity=3).epsilon(0.244919), 4)
        1.0
        """
        slack = check.probability("delta", delta)
        if np.isinf(self.pure_epsilon):
            return plain(np.where(slack < 1, np.inf, 0.0))
        is_total = slack >= self._delta(np.zeros_like(slack))
        log_rest = np.log1p(-np.where(is_total, 0.0, slack))
        with np.errstate(over="ignore", under="ignore"):
            inside = np.floor(-log_rest / self._step)
            excess = np.expm1(np.minimum(log_rest + inside * self._step, 0.0))
            inner = np.maximum((1 + self._fall) * excess, -1 + 2.0**-53)
            found = (self.sensitivity - 2 * inside) / self.scale + np.log1p(inner)
        return plain(
            settle_epsilon(np.where(is_total, 0.0, np.maximum(found, 0.0)), slack, lambda near, _: self._delta(near))
        )

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        r"""Return the trade-off function, the least type II error for each type I error in [0, 1]; exact.

        It joins by straight lines the points :math:`(q^{\Delta - z}/(1 + q),\; q^{z+1}/(1 + q))` for z = 0 … Δ − 1,
        and those to (0, 1) and (1, 0).

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1] or NaN.

        References
        ----------
        Neyman and Pearson (1933): tests of the output against a threshold z, randomised in between.

        Examples
        --------
        >>> DiscreteLaplace(scale=1.0).beta([0.0, 0.25, 1.0]).round(6)
        array([1.     , 0.32043, 0.     ])
        """
        level = check.probability("alpha", alpha)
        if self.sensitivity == 0:
            return plain(1 - level)
        if np.isinf(self.pure_epsilon):
            return plain(np.zeros_like(level))
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            log_level = np.log(level)
            place = self.sensitivity + np.maximum(
                (log_level + np.log1p(self._fall)) / self._step, -1.0 - self.sensitivity
            )
            passed = np.clip(np.floor(place) + 1, 0, self.sensitivity)  # z + 1: outputs 0 … z already called P
            rest = np.minimum(log_level + (self.sensitivity - passed) * self._step, 0.0)
            return plain(np.abs(np.expm1(rest)) * np.exp(-passed * self._step))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        r"""Return the Rényi divergence between neighbours; exact.

        With a = α − 1, s = Δ/b, n = Δ + 1 and F(c) = sinh(cn)/sinh(c):

        .. math:: D_\alpha = \frac1a \ln\Bigl(1 + \frac{(1 - q^n)\bigl(\frac{F((2a + 1)/(2b))}{F(1/(2b))} - 1\bigr)
                  + q\,(e^{as} - 1)(1 - e^{-\alpha s})}{1 + q}\Bigr)

        Order 1 is the Kullback-Leibler divergence.

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Mironov (2017), Definition 4, its geometric sums closed. https://arxiv.org/abs/1702.07476

        Examples
        --------
        >>> DiscreteLaplace(scale=1.0).rdp([1.0, 2.0, 1e9]).round(6)
        array([0.462117, 0.735326, 1.      ])
        """
        excess = check.at_least("order", order, 1) - 1
        if self.sensitivity == 0 or np.isinf(self.pure_epsilon):
            return plain(np.full(excess.shape, self.pure_epsilon))
        return plain(_rdp(excess, self._step, self.sensitivity))

    @property
    def _step(self) -> float:
        """Fall of the log probability from one whole number to the next, 1/b."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.minimum(np.float64(1) / self.scale, np.finfo(np.float64).max))

    @property
    def _fall(self) -> float:
        with np.errstate(under="ignore"):
            return float(np.exp(-self._step))

    def _delta(self, loss: FloatArray) -> FloatArray:
        reach = self.pure_epsilon
        if np.isinf(reach):
            return np.where(np.isinf(loss), 0.0, 1.0)
        with np.errstate(over="ignore", under="ignore"):
            asked = np.minimum(loss, reach)
            last = np.maximum(np.ceil((self.sensitivity - asked * self.scale) / 2) - 1, 0.0)
            first = -np.expm1(np.minimum(asked - (self.sensitivity - last) * self._step, 0.0))
            found = (first - self._fall * np.expm1(-last * self._step)) / (1 + self._fall)
        return np.asarray(np.where(loss < reach, found, 0.0))


def _variance(step: FloatArray) -> FloatArray:
    """Return 1/(2 sinh²(step/2))."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        return np.asarray(2 * (np.exp(-step / 2) / -np.expm1(-step)) ** 2)


def _rdp(a: FloatArray, step: float, sensitivity: int) -> FloatArray:
    """Return the divergence at order a + 1; beyond e^600 by its greatest terms."""
    reach, points = sensitivity * step, float(sensitivity + 1)
    fall = np.exp(-step)
    with np.errstate(over="ignore", under="ignore"):
        is_near, divisor = a * reach < 600, np.where(a > 0, a, 1.0)
        twice = np.minimum(2 * a, np.finfo(np.float64).max)
        slope = 2 * (rise_of_range(twice, np.asarray(points * (step / 2))) - rise_of_range(twice, np.asarray(step / 2)))
        near = np.where(is_near, a, 0.0)
        inner = -np.expm1(-points * step) * np.where(a > 0, np.expm1(near * slope), slope)
        outer = -fall * np.where(a > 0, np.expm1(near * reach), reach) * np.expm1(-(near + 1) * reach)
        excess = (inner + outer) / (1 + fall)
        low = np.where(a > 0, np.log1p(excess) / divisor, excess)
        ends = -np.expm1(-points * step) * np.exp(np.minimum(a * (slope - reach), 0.0)) + fall
        return np.asarray(np.where(is_near, low, reach + (np.log(ends) - np.log1p(fall)) / divisor))
