"""The staircase mechanism: pure DP with the least expected squared, or absolute, noise on one number.

Its density falls by steps: constant on [kΔ, (k+γ)Δ), then e^{−ε} of that on [(k+γ)Δ, (k+1+γ)Δ), on both sides of
the answer. The sensitivity Δ is that of one number under the neighbouring relation that the caller declares.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._random import Size, generator, lengths
from dpviz.accounting._settle import settle_epsilon


def staircase_gamma_l1(epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the step position that makes the expected absolute noise least; exact.

    .. math:: \gamma = \frac{1}{1 + e^{\varepsilon/2}}

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee, nats, finite and > 0.

    Returns
    -------
    float or ndarray
        gamma in [0, 1/2): the wide part of a step is gamma of a period.

    Raises
    ------
    DomainError
        If an epsilon is out of its range.

    References
    ----------
    Geng and Viswanath (2016), the optimal mechanism for absolute cost. https://doi.org/10.1109/TIT.2015.2504967

    Examples
    --------
    >>> round(staircase_gamma_l1(1.0), 6)
    0.377541
    """
    loss = check.positive("epsilon", epsilon)
    with np.errstate(under="ignore"):
        return plain(expit(-loss / 2))


def staircase_gamma_l2(epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the step position that makes the variance least; exact.

    .. math:: \gamma = -\frac{b}{1-b} + \frac{(b - 2b^2 + 2b^4 - b^5)^{1/3}}{2^{1/3}(1-b)^2}
              = \frac{e^{\varepsilon/2}\cosh(\varepsilon/2)^{1/3} - 1}{e^{\varepsilon} - 1},
              \qquad b = e^{-\varepsilon}

    The second form, computed by expm1, keeps its digits as epsilon falls to 0.

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee, nats, finite and > 0.

    Returns
    -------
    float or ndarray
        gamma in [0, 1/2).

    Raises
    ------
    DomainError
        If an epsilon is out of its range.

    References
    ----------
    Geng and Viswanath (2016), the optimal mechanism for squared cost. https://doi.org/10.1109/TIT.2015.2504967

    Examples
    --------
    >>> round(staircase_gamma_l2(1.0), 6)
    0.416737
    """
    loss = check.positive("epsilon", epsilon)
    small = np.minimum(loss, 1.0)
    with np.errstate(under="ignore"):
        far = loss / 2 - np.log(2) + np.log1p(np.exp(-loss))
        log_cosh = np.where(loss < 1, np.log1p(2 * np.sinh(small / 4) ** 2), far)
        rise = loss / 2 + log_cosh / 3
        return plain(np.exp(log_cosh / 3 - loss / 2) * (np.expm1(-rise) / np.expm1(-loss)))


def staircase_min_variance(epsilon: npt.ArrayLike, *, sensitivity: npt.ArrayLike = 1.0) -> Numbers:
    r"""Return the least variance of any noise that makes one number epsilon-DP; exact.

    .. math:: \Delta^2\,\frac{2^{-2/3} b^{2/3} (1+b)^{2/3} + b}{(1-b)^2}, \qquad b = e^{-\varepsilon}

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee, nats, finite and > 0.
    sensitivity : array_like
        Sensitivity of the number under the declared neighbouring relation, query units, > 0.

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
    Geng and Viswanath (2016), the optimal mechanism for squared cost. https://doi.org/10.1109/TIT.2015.2504967

    Examples
    --------
    >>> round(staircase_min_variance(1.0), 6)
    1.918104
    """
    loss, change = check.positive("epsilon", epsilon), check.positive("sensitivity", sensitivity)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        fall = np.exp(-loss / 3)
        root = np.sqrt(((1 + np.exp(-loss)) / 2) ** (2 / 3) + fall)
        return plain((change * fall * root / -np.expm1(-loss)) ** 2)


def staircase_min_abs_error(epsilon: npt.ArrayLike, *, sensitivity: npt.ArrayLike = 1.0) -> Numbers:
    r"""Return the least expected absolute noise that makes one number epsilon-DP; exact.

    .. math:: \Delta\,\frac{e^{\varepsilon/2}}{e^{\varepsilon} - 1} = \frac{\Delta}{2\sinh(\varepsilon/2)}

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee, nats, finite and > 0.
    sensitivity : array_like
        Sensitivity of the number under the declared neighbouring relation, query units, > 0.

    Returns
    -------
    float or ndarray
        Expected absolute noise, query units; below Laplace's Δ/ε.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Geng and Viswanath (2016), the optimal mechanism for absolute cost. https://doi.org/10.1109/TIT.2015.2504967

    Examples
    --------
    >>> round(staircase_min_abs_error(1.0), 6)
    0.959517
    """
    loss, change = check.positive("epsilon", epsilon), check.positive("sensitivity", sensitivity)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        return plain(change * np.exp(-loss / 2) / -np.expm1(-loss))


@dataclass(frozen=True)
class Staircase:
    r"""One release of a number plus staircase noise.

    The loss takes three values, −ε₀, 0 and ε₀; ε₀ has probability
    m = 1/2 + (1 − b) min(γ, 1 − γ)/(2(γ + b(1 − γ))) with b = e^{−ε₀}.

    Parameters
    ----------
    pure_epsilon : float
        The pure guarantee, nats, > 0.
    gamma : float
        Where in a period the density steps down, in (0, 1]; see `staircase_gamma_l2`.
    sensitivity : float
        Sensitivity of the number under the declared neighbouring relation, query units, > 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Geng and Viswanath (2016). https://doi.org/10.1109/TIT.2015.2504967

    Examples
    --------
    >>> best = Staircase(pure_epsilon=1.0, gamma=staircase_gamma_l2(1.0))
    >>> round(best.variance, 6), round(best.delta(0.0), 6)
    (1.918104, 0.447944)
    """

    pure_epsilon: float
    gamma: float = field(kw_only=True)
    sensitivity: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        loss = check.positive("pure_epsilon", self.pure_epsilon)
        object.__setattr__(self, "pure_epsilon", check.scalar("pure_epsilon", loss))
        object.__setattr__(self, "gamma", check.scalar("gamma", check.probability("gamma", self.gamma, open_low=True)))
        change = check.positive("sensitivity", self.sensitivity)
        object.__setattr__(self, "sensitivity", check.scalar("sensitivity", change))

    @property
    def variance(self) -> float:
        """Variance of the noise, squared query units; least at `staircase_gamma_l2`."""
        m, gamma, narrow = self._mean_period, self.gamma, self._narrow_share
        within = ((1 - narrow) * gamma * gamma + narrow * (1 + gamma * (1 + gamma))) / 3
        with np.errstate(over="ignore", under="ignore"):
            periods = m + 2 * m * m + m * (gamma + narrow)
            return float(np.float64(self.sensitivity) ** 2 * (periods + within))

    @property
    def abs_error(self) -> float:
        """Expected absolute noise, query units; least at `staircase_gamma_l1`."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(self.sensitivity) * (self._mean_period + self.gamma / 2 + self._narrow_share / 2))

    def log_density(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0) -> Numbers:
        """Return the log of the release's density per query unit, on the steps' right-open sides; exact.

        Raises
        ------
        DomainError
            If an output or location (query units) is not finite.

        References
        ----------
        Geng and Viswanath (2016), Definition of the staircase density.

        Examples
        --------
        >>> best = Staircase(pure_epsilon=1.0, gamma=0.5)
        >>> (best.log_density([0.2, 0.7, 1.2, 1.7]) - best.log_density(0.0)).round(12)
        array([ 0., -1., -1., -2.])
        """
        period, place = self._period(self._noise(output, location))
        with np.errstate(over="ignore"):
            return plain(self._log_top - self.pure_epsilon * (period + (place >= self.gamma * self.sensitivity)))

    def density(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0) -> Numbers:
        """Return the density of the release, per query unit; the exponential of `log_density`."""
        with np.errstate(over="ignore", under="ignore"):
            return plain(np.exp(self.log_density(output, location=location)))

    def distribution(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0) -> Numbers:
        """Return P(release <= output); exact, also far below the answer.

        Raises
        ------
        DomainError
            If an output or location (query units) is not finite.

        References
        ----------
        The integral of the density; elementary.

        Examples
        --------
        >>> Staircase(pure_epsilon=1.0, gamma=0.5).distribution([-1.0, 0.0, 1.0]).round(6)
        array([0.18394, 0.5    , 0.81606])
        """
        noise = self._noise(output, location)
        period, place = self._period(noise)
        part = place / self.sensitivity
        rest = np.maximum(self.gamma - part, 0) + self._fall * (1 - np.maximum(part, self.gamma))
        share = rest / (self.gamma + self._fall * (1 - self.gamma))
        with np.errstate(over="ignore", under="ignore"):
            beyond = np.exp(-self.pure_epsilon * period) * (self._fall - np.expm1(-self.pure_epsilon) * share) / 2
        return plain(np.where(noise < 0, beyond, 1 - beyond))

    def sample(self, rng: np.random.Generator, *, size: Size) -> FloatArray:
        """Return simulated noise, query units.

        Illustrative only: noise in double precision shows, in its low digits, what it was added to, and is not for
        release.

        Raises
        ------
        TypeError
            If `rng` is not a numpy Generator.

        References
        ----------
        Geng and Viswanath (2016), Algorithm 1: sign, period, wide or narrow part, place in it.

        Examples
        --------
        >>> noise = Staircase(pure_epsilon=1.0, gamma=0.5).sample(np.random.default_rng(1), size=10_000)
        >>> bool(abs(noise.var() / Staircase(pure_epsilon=1.0, gamma=0.5).variance - 1) < 0.1)
        True
        """
        source, shape = generator(rng), lengths(size)
        sign = source.choice([-1.0, 1.0], shape)
        period = np.floor(source.standard_exponential(shape) / self.pure_epsilon)
        is_wide = source.random(shape) >= self._narrow_share
        place = source.random(shape)
        part = np.where(is_wide, self.gamma * place, self.gamma + (1 - self.gamma) * place)
        return np.asarray(sign * self.sensitivity * (period + part))

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the privacy profile, the least delta for each epsilon >= 0; exact.

        .. math:: \delta(\varepsilon) = m\,\bigl(1 - e^{\varepsilon - \varepsilon_0}\bigr)
                  \quad (\varepsilon < \varepsilon_0)

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN; inf gives 0.

        References
        ----------
        The sum over the three losses; answers nearer than Δ are told apart less, the density being unimodal.
        Geng and Viswanath (2016) give the density.

        Examples
        --------
        >>> Staircase(pure_epsilon=1.0, gamma=0.5).delta([0.0, 0.5, 1.0]).round(6)
        array([0.462117, 0.287649, 0.      ])
        """
        return plain(self._delta(check.at_least("epsilon", epsilon, 0, infinite=True)))

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        r"""Return the least epsilon >= 0 for each delta in [0, 1]; exact, the inverse of `delta`.

        .. math:: \varepsilon(\delta) = \max\bigl(0,\; \varepsilon_0 + \ln(1 - \delta/m)\bigr)

        Raises
        ------
        DomainError
            If a delta is outside [0, 1] or NaN.

        References
        ----------
        The inverse of `delta`; elementary.

        Examples
        --------
        >>> round(Staircase(pure_epsilon=1.0, gamma=0.5).epsilon(0.287649), 4)
        0.5
        """
        slack = check.probability("delta", delta)
        is_total = slack >= self._delta(np.zeros_like(slack))
        found = self.pure_epsilon + np.log1p(-np.where(is_total, 0.0, slack / self._loss_mass))
        return plain(
            settle_epsilon(np.where(is_total, 0.0, np.maximum(found, 0.0)), slack, lambda near, _: self._delta(near))
        )

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        r"""Return the trade-off function, the least type II error for each type I error in [0, 1]; exact.

        .. math:: \max\bigl(1 - e^{\varepsilon_0}\alpha,\; 1 - m(1 - b) - \alpha,\; b(1 - \alpha)\bigr)

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1] or NaN.

        References
        ----------
        Neyman and Pearson (1933) for a loss of three values.

        Examples
        --------
        >>> Staircase(pure_epsilon=1.0, gamma=0.25).beta([0.0, 0.25, 1.0]).round(6)
        array([1.      , 0.338967, 0.      ])
        """
        level = check.probability("alpha", alpha)
        kept = np.where(
            level == 0, 1.0, -np.expm1(np.minimum(np.log(np.where(level == 0, 1.0, level)) + self.pure_epsilon, 0))
        )
        middle = 1 - self._loss_mass * (1 - self._fall) - level
        return plain(np.maximum(np.maximum(kept, middle), self._fall * (1 - level)))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        r"""Return the Rényi divergence between neighbours; exact.

        .. math:: D_\alpha = \frac{1}{\alpha - 1}\ln\Bigl(1 + m\,\bigl(e^{(\alpha - 1)\varepsilon_0} - 1\bigr)
                  \bigl(1 - e^{-\alpha\varepsilon_0}\bigr)\Bigr)

        Order 1 is the Kullback-Leibler divergence, m ε₀ (1 − e^{−ε₀}).

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Mironov (2017), Definition 4, summed over the three losses. https://arxiv.org/abs/1702.07476

        Examples
        --------
        >>> Staircase(pure_epsilon=1.0, gamma=0.5).rdp([1.0, 2.0, 1e9]).round(6)
        array([0.462117, 0.735326, 1.      ])
        """
        excess = check.at_least("order", order, 1) - 1
        loss, mass = self.pure_epsilon, self._loss_mass
        with np.errstate(over="ignore", under="ignore"):
            reach = excess * loss
            is_near, step = reach < 30, np.where(excess > 0, excess, 1.0)
            near = np.where(is_near, reach, 0.0)
            tail = np.expm1(-near - loss)
            low = np.where(excess > 0, np.log1p(-mass * np.expm1(near) * tail) / step, mass * loss * (1 - self._fall))
            far = np.log(mass * np.expm1(-reach) * np.expm1(-reach - loss) + np.exp(-reach))
            return plain(np.where(is_near, low, loss + far / step))

    @property
    def _fall(self) -> float:
        with np.errstate(under="ignore"):
            return float(np.exp(-self.pure_epsilon))

    @property
    def _mean_period(self) -> float:
        """Mean number of whole periods, 1/(e^ε − 1)."""
        with np.errstate(over="ignore", under="ignore"):
            return float(self._fall / -np.expm1(-self.pure_epsilon))

    @property
    def _narrow_share(self) -> float:
        """Probability of the lower part of a period."""
        lower = self._fall * (1 - self.gamma)
        return lower / (self.gamma + lower)

    @property
    def _log_top(self) -> float:
        """Log density at the answer."""
        mass = self.gamma + self._fall * (1 - self.gamma)
        return float(np.log(-np.expm1(-self.pure_epsilon)) - np.log(2 * mass) - np.log(self.sensitivity))

    @property
    def _loss_mass(self) -> float:
        """Probability m that the loss is epsilon."""
        mass = self.gamma + self._fall * (1 - self.gamma)
        return float(0.5 - np.expm1(-self.pure_epsilon) * min(self.gamma, 1 - self.gamma) / (2 * mass))

    @staticmethod
    def _noise(output: npt.ArrayLike, location: npt.ArrayLike) -> FloatArray:
        point, centre = check.finite("output", output), check.finite("location", location)
        with np.errstate(over="ignore"):
            return np.asarray(point - centre)

    def _period(self, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the number of whole periods, and the rest in query units; exact at the steps."""
        distance = np.minimum(np.abs(noise), np.finfo(np.float64).max)
        place = np.fmod(distance, self.sensitivity)
        with np.errstate(over="ignore"):
            return np.rint((distance - place) / self.sensitivity), place

    def _delta(self, loss: FloatArray) -> FloatArray:
        gap = np.maximum(self.pure_epsilon - np.where(np.isinf(loss), self.pure_epsilon, loss), 0.0)
        return np.asarray(self._loss_mass * -np.expm1(-gap))
