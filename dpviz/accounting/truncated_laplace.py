"""The truncated Laplace mechanism: bounded noise, approximate DP; for small sensitivity the least noise of its kind.

The density of Laplace noise with scale b is cut off at ±A and rescaled. The sensitivity Δ is that of one number
under the neighbouring relation that the caller declares; with s = Δ/b and T = A/b all numbers have closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._random import Size, generator, lengths
from dpviz.accounting._settle import settle_epsilon

_TOP = np.finfo(np.float64).max
_LEAST_RATIO = 1e-290  # below it the noise is uniform, and the mass kept of Laplace's law no float64


def truncated_laplace_half_width(
    epsilon: npt.ArrayLike, *, delta: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0
) -> Numbers:
    r"""Return where Laplace noise of scale Δ/ε may be cut off, for (epsilon, delta)-DP; exact.

    .. math:: A = \frac{\Delta}{\varepsilon}\ln\Bigl(1 + \frac{e^{\varepsilon} - 1}{2\delta}\Bigr)

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound, nats, finite and > 0.
    delta : array_like
        Additive slack, in (0, 1/2]: beyond 1/2 the support would be narrower than the sensitivity.
    sensitivity : array_like
        Sensitivity of the number under the declared neighbouring relation, query units, > 0.

    Returns
    -------
    float or ndarray
        Half of the support's width, query units, >= sensitivity.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Geng, Ding, Guo and Kumar (2020), Definition 3 and Theorem 1. https://arxiv.org/abs/1810.00877

    Examples
    --------
    >>> round(truncated_laplace_half_width(1.0, delta=1e-6), 6)
    13.663689
    """
    loss, change = check.positive("epsilon", epsilon), check.positive("sensitivity", sensitivity)
    slack = check.probability("delta", delta, open_low=True)
    if np.any(slack > 0.5):
        raise DomainError("delta", "a number in (0, 0.5]", float(np.max(slack)))
    with np.errstate(over="ignore", under="ignore"):
        growth = np.expm1(np.minimum(loss, 1.0))
        near = np.log1p(np.minimum(growth / (2 * slack), _TOP))
        near = np.where(near < 700, near, np.log(growth) - np.log(2 * slack))
        far = loss - np.log(2 * slack) + np.log1p((2 * slack - 1) * np.exp(-np.maximum(loss, 1.0)))
        ratio = np.where(loss < 1, near, far) / loss
        return plain(change * np.maximum(ratio, 1.0))


def calibrate_truncated_laplace(epsilon: float, *, delta: float, sensitivity: float = 1.0) -> TruncatedLaplace:
    r"""Return the truncated Laplace mechanism of scale Δ/ε that is (epsilon, delta)-DP.

    Its scale and support are widened by last bits until its own exact profile meets the target.

    Parameters
    ----------
    epsilon : float
        Privacy loss bound, nats, finite and > 0.
    delta : float
        Additive slack, in (0, 1/2].
    sensitivity : float
        Sensitivity of the number under the declared neighbouring relation, query units, > 0.

    Returns
    -------
    TruncatedLaplace
        Its `delta` at `epsilon` is at most `delta`.

    Raises
    ------
    DomainError
        If an argument is out of its range, or no float64 holds the scale.

    References
    ----------
    Geng, Ding, Guo and Kumar (2020), Theorem 1. https://arxiv.org/abs/1810.00877

    Examples
    --------
    >>> released = calibrate_truncated_laplace(1.0, delta=1e-6)
    >>> released.delta(1.0) <= 1e-6, round(released.variance, 5)
    (True, 1.99975)
    """
    width = check.scalar(
        "epsilon", np.asarray(truncated_laplace_half_width(epsilon, delta=delta, sensitivity=sensitivity))
    )
    scale = float(np.float64(sensitivity) / epsilon)
    if not (np.isfinite(width) and np.isfinite(scale) and scale > 0):
        raise DomainError("sensitivity/epsilon", "a finite float64 > 0", (sensitivity, epsilon))
    found = TruncatedLaplace(scale=scale, half_width=width, sensitivity=sensitivity)
    step = 1.0
    while found.delta(epsilon) > delta:
        growth = 1 + step * np.finfo(np.float64).eps
        if found.pure_part > epsilon:
            scale = float(np.nextafter(scale, np.inf))
        found = TruncatedLaplace(scale=scale, half_width=width * growth, sensitivity=sensitivity)
        step *= 2
    return found


@dataclass(frozen=True)
class TruncatedLaplace:
    """One release of a number plus truncated Laplace noise.

    Parameters
    ----------
    scale : float
        Laplace scale b, query units, > 0.
    half_width : float
        The noise lies in [−half_width, half_width], query units, > 0 and at least 1e-290 scales.
    sensitivity : float
        Sensitivity of the number under the declared neighbouring relation, query units, >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Geng, Ding, Guo and Kumar (2020). https://arxiv.org/abs/1810.00877

    Examples
    --------
    >>> released = TruncatedLaplace(scale=1.0, half_width=4.0)
    >>> released.delta([0.0, 1.0, 5.0]).round(6)
    array([0.40081 , 0.016029, 0.016029])
    """

    scale: float
    half_width: float = field(kw_only=True)
    sensitivity: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check.scalar("scale", check.positive("scale", self.scale)))
        width = check.positive("half_width", self.half_width)
        object.__setattr__(self, "half_width", check.scalar("half_width", width))
        if not self.half_width / self.scale >= _LEAST_RATIO:
            raise DomainError("half_width/scale", f"at least {_LEAST_RATIO:g}", self.half_width / self.scale)
        change = check.at_least("sensitivity", self.sensitivity, 0)
        object.__setattr__(self, "sensitivity", check.scalar("sensitivity", change))

    @property
    def pure_part(self) -> float:
        """Sensitivity/scale: the greatest loss where both neighbours can give the output, if half_width >= Δ."""
        return float(self._ratio(self.sensitivity))

    @property
    def variance(self) -> float:
        """Variance of the noise, squared query units: 2b² P(3, T)/P(1, T), P the regularised incomplete gamma."""
        with np.errstate(over="ignore", under="ignore"):
            return float(2 * np.float64(self.scale) ** 2 * (gammainc(3, self._reach) / self._mass))

    @property
    def abs_error(self) -> float:
        """Expected absolute noise, query units: b P(2, T)/P(1, T)."""
        return float(self.scale * (gammainc(2, self._reach) / self._mass))

    def density(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0) -> Numbers:
        """Return the density of the release, per query unit; exact, 0 outside the support.

        Raises
        ------
        DomainError
            If an output or location (query units) is not finite.

        References
        ----------
        Geng, Ding, Guo and Kumar (2020), Definition 3.

        Examples
        --------
        >>> TruncatedLaplace(scale=1.0, half_width=4.0).density([0.0, 4.0, 4.1]).round(6)
        array([0.509329, 0.009329, 0.      ])
        """
        distance = np.abs(self._noise(output, location))
        with np.errstate(over="ignore", under="ignore"):
            inside = np.exp(-distance / self.scale) / self.scale / (2 * self._mass)
        return plain(np.where(distance <= self.half_width, inside, 0.0))

    def distribution(self, output: npt.ArrayLike, *, location: npt.ArrayLike = 0.0) -> Numbers:
        """Return P(release <= output); exact, also near the lower end of the support.

        Raises
        ------
        DomainError
            If an output or location (query units) is not finite.

        References
        ----------
        The integral of the density; elementary.

        Examples
        --------
        >>> TruncatedLaplace(scale=1.0, half_width=4.0).distribution([-4.0, 0.0, 1.0]).round(6)
        array([0.      , 0.5     , 0.821957])
        """
        noise = self._noise(output, location)
        beyond = self._upper(np.abs(noise))
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
        The inverse of `distribution`; against release, Mironov (2012).

        Examples
        --------
        >>> noise = TruncatedLaplace(scale=1.0, half_width=4.0).sample(np.random.default_rng(1), size=10_000)
        >>> bool(np.abs(noise).max() <= 4.0)
        True
        """
        source, shape = generator(rng), lengths(size)
        sign = source.choice([-1.0, 1.0], shape)
        with np.errstate(under="ignore"):
            away = -np.log1p(-source.random(shape) * self._mass) * self.scale
        return np.asarray(sign * np.minimum(away, self.half_width))

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the privacy profile, the least delta for each epsilon >= 0; exact.

        .. math:: \delta(\varepsilon) = \frac{2\bigl(1 - e^{-(s - \varepsilon')/2}\bigr)
                  + e^{-T}\bigl(e^{\varepsilon'} - 1\bigr)}{2(1 - e^{-T})},
                  \qquad \varepsilon' = \min(\varepsilon,\, s,\, 2T - s)

        It never falls below the mass that only one neighbour can give, and is 1 if the supports do not meet.

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN.

        References
        ----------
        Geng, Ding, Guo and Kumar (2020), proof of Theorem 1 at one epsilon; the integral of (p − e^ε q)₊ at each.

        Examples
        --------
        >>> TruncatedLaplace(scale=1.0, half_width=4.0).delta([0.0, 1.0]).round(6)
        array([0.40081 , 0.016029])
        """
        return plain(self._delta(check.at_least("epsilon", epsilon, 0, infinite=True)))

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon >= 0 for each delta in [0, 1]; exact, the inverse of `delta`.

        It is inf below the mass that only one neighbour can give. With y = e^{ε/2} the profile is a quadratic.

        Raises
        ------
        DomainError
            If a delta is outside [0, 1] or NaN.

        References
        ----------
        The inverse of `delta`; elementary.

        Examples
        --------
        >>> TruncatedLaplace(scale=1.0, half_width=4.0).epsilon([0.0, 0.1, 0.5]).round(6)
        array([     inf, 0.818935, 0.      ])
        """
        slack = check.probability("delta", delta)
        is_zero = slack >= self._delta(np.zeros_like(slack))
        is_never = ~is_zero & (slack < self._delta(np.full_like(slack, np.inf)))
        inner = np.where(is_zero | is_never, 0.5, slack)
        found = np.where(is_zero | is_never, 0.0, self._solve(inner))
        settled = settle_epsilon(np.clip(found, 0.0, self._last), slack, lambda near, _: self._delta(near))
        return plain(np.where(is_never, np.inf, np.where(is_zero, 0.0, settled)))

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        r"""Return the trade-off function, the least type II error for each type I error in [0, 1]; exact.

        .. math:: f(\alpha) = F\bigl(F^{-1}(1 - \alpha) - \Delta\bigr)

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1] or NaN.

        References
        ----------
        Dong, Roth and Su (2022), Section 2: log-concave noise. https://arxiv.org/abs/1905.02383

        Examples
        --------
        >>> TruncatedLaplace(scale=1.0, half_width=4.0).beta([0.0, 0.25, 1.0]).round(6)
        array([0.983971, 0.358674, 0.      ])
        """
        level = check.probability("alpha", alpha)
        tail = np.minimum(level, 1 - level)
        with np.errstate(under="ignore", divide="ignore"):
            place = -self.scale * np.log(2 * tail * self._mass + np.exp(-self._reach))
        place = np.minimum(place, self.half_width)
        with np.errstate(over="ignore"):
            place = np.where(level <= 0.5, place, -place) - self.sensitivity
        beyond = self._upper(np.abs(place))
        return plain(np.where(place < 0, beyond, 1 - beyond))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence between neighbours: inf, since some outputs tell for certain; exact.

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Mironov (2017), Definition 3. https://arxiv.org/abs/1702.07476

        Examples
        --------
        >>> TruncatedLaplace(scale=1.0, half_width=4.0).rdp(2.0)
        inf
        """
        chosen = check.at_least("order", order, 1)
        return plain(np.full(chosen.shape, np.inf if self.sensitivity > 0 else 0.0))

    @property
    def _reach(self) -> float:
        return float(self._ratio(self.half_width))

    @property
    def _mass(self) -> float:
        """The part 1 − e^{−T} of Laplace's law that is kept."""
        return float(-np.expm1(-self._reach))

    @property
    def _last(self) -> float:
        """The greatest finite loss, if it is > 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(max(min(self.pure_part, 2 * self._reach - self.pure_part), 0.0))

    def _ratio(self, length: float) -> float:
        with np.errstate(over="ignore", under="ignore"):
            return float(np.minimum(np.float64(length) / self.scale, _TOP / 4))

    def _noise(self, output: npt.ArrayLike, location: npt.ArrayLike) -> FloatArray:
        point, centre = check.finite("output", output), check.finite("location", location)
        with np.errstate(over="ignore"):
            return np.clip(point - centre, -_TOP, _TOP)

    def _upper(self, distance: FloatArray) -> FloatArray:
        """Return P(noise > distance) for a distance >= 0."""
        with np.errstate(over="ignore", under="ignore"):
            left = np.maximum(self.half_width - distance, 0.0) / self.scale
            return np.asarray(np.exp(-distance / self.scale) * -np.expm1(-left) / (2 * self._mass))

    def _delta(self, loss: FloatArray) -> FloatArray:
        ratio, reach = self.pure_part, self._reach
        if self.sensitivity >= 2 * self.half_width:
            return np.ones_like(loss)
        kept = np.minimum(loss, self._last)
        with np.errstate(under="ignore"):
            fresh = -2 * np.expm1(-np.maximum(ratio - kept, 0.0) / 2)
            return np.asarray((fresh - np.exp(kept - reach) * np.expm1(-kept)) / (2 * self._mass))

    def _solve(self, delta: FloatArray) -> FloatArray:
        """Return ε = s + 2 ln y for the lesser root y of w y² − 2y + c = 0.

        Here w = e^{s−T} and c = 2 − e^{−T} − 2(1 − e^{−T})δ; what is formed is y − 1, which is small.
        """
        with np.errstate(over="ignore", under="ignore"):
            tail = np.exp(-self._reach)
            constant = 2 * (1 - delta) - tail * (1 - 2 * delta)
            weight = np.exp(min(self.pure_part - self._reach, 700.0))
            root = np.sqrt(np.maximum(1 - weight * constant, 0.0))
            rest = (weight * constant / (1 + root) - tail - 2 * self._mass * delta) / (1 + root)
            return np.asarray(self.pure_part + 2 * np.log1p(np.maximum(rest, -1 + 2.0**-53)))
