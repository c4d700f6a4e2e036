"""The Gaussian mechanism and k releases of it: every number is exact, in a form that keeps its digits.

The noise enters only through mu = √count · sensitivity/sigma, the parameter of Gaussian differential
privacy; small is private. The sensitivity is the L2 sensitivity under the neighbouring relation that the
caller declares: a sum clipped to [−C, C] has C when one record is added or removed, and 2C when one is
replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import erf, ndtr, ndtri

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._gaussian_profile import profile_at
from dpviz.accounting._inverse import solve_epsilon
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.gaussian_mu import (
    composed_mu,
)
from dpviz.accounting.relation import Direction


def gaussian_delta(epsilon: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    r"""Return the privacy profile, the least delta for each epsilon; exact.

    .. math:: \delta(\varepsilon) = \Phi(\mu/2 - \varepsilon/\mu)
              - e^{\varepsilon}\,\Phi(-\mu/2 - \varepsilon/\mu)

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats; inf gives 0. Below 0 they are of use for trade-off curves.
    mu : array_like
        GDP parameter, >= 0; 0 gives 0 (at epsilon >= 0), and inf (nothing is hidden) gives 1.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], falling as `epsilon` grows.

    Raises
    ------
    DomainError
        If an epsilon is NaN, or a mu is negative or NaN.

    References
    ----------
    Balle and Wang (2018), Theorem 8. https://arxiv.org/abs/1805.06530

    Examples
    --------
    >>> round(gaussian_delta(1.0, mu=1.0), 4)
    0.1269
    """
    delta, _, _ = profile_at(*_signed_epsilon_and_mu(epsilon, mu))
    return plain(delta)


def gaussian_log_delta(epsilon: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    """Return the natural log of the privacy profile, also where delta itself is too small for a float64.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats; inf gives -inf. Below 0 they are of use for trade-off curves.
    mu : array_like
        GDP parameter, >= 0; 0 gives -inf (at epsilon >= 0), and inf gives 0.

    Returns
    -------
    float or ndarray
        Log delta <= 0, to full relative accuracy also where delta rounds to 1.

    Raises
    ------
    DomainError
        If an epsilon is NaN, or a mu is negative or NaN.

    References
    ----------
    Balle and Wang (2018), Theorem 8. https://arxiv.org/abs/1805.06530

    Examples
    --------
    >>> round(gaussian_log_delta(10_000.0, mu=100.0), 6)
    -1255.237004
    """
    _, _, log_delta = profile_at(*_signed_epsilon_and_mu(epsilon, mu))
    return plain(log_delta)


def gaussian_epsilon(delta: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    """Return the least epsilon >= 0 for each delta; exact, the inverse of `gaussian_delta`.

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1]. From the total variation erf(mu/√8) on, epsilon is exactly 0.
    mu : array_like
        GDP parameter, >= 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats; inf where delta = 0 < mu (a Gaussian is never pure DP), and where it exceeds float64.

    Raises
    ------
    DomainError
        If a delta is outside [0, 1] or a mu is negative, or one is NaN.

    References
    ----------
    Balle and Wang (2018), Theorem 8; solved by Halley steps on log delta.

    Notes
    -----
    Good to 1e-15 (relative), but for what rounding makes of the question: epsilon falls to 0 where delta reaches the
    total variation T, and near there the relative error is some 2e-16 T/(T − delta).

    Examples
    --------
    >>> round(gaussian_epsilon(1e-6, mu=0.625), 6)
    2.883431
    """
    slack, spread = np.broadcast_arrays(check.probability("delta", delta), check.at_least("mu", mu, 0, infinite=True))
    epsilon = np.zeros(slack.shape)
    with np.errstate(over="ignore", under="ignore"):
        wanted = (slack < erf(spread / np.sqrt(8))) | ((slack == 0) & (spread > 0))
        unbounded = wanted & ((slack == 0) | ~np.isfinite(spread * spread))
        solvable = wanted & ~unbounded
        epsilon[unbounded] = np.inf
        epsilon[solvable] = solve_epsilon(slack[solvable], spread[solvable])
    return plain(epsilon)


def gaussian_beta(alpha: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    r"""Return the trade-off function, the least type II error for each type I error; exact.

    .. math:: G_\mu(\alpha) = \Phi(-\Phi^{-1}(\alpha) - \mu)

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    mu : array_like
        GDP parameter, >= 0; inf gives 0 everywhere.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 - alpha], convex and falling in `alpha`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Equation (6). https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(gaussian_beta(0.05, mu=1.0), 4)
    0.7405
    """
    level, spread = np.broadcast_arrays(check.probability("alpha", alpha), check.at_least("mu", mu, 0, infinite=True))
    known = np.isfinite(spread)
    beta = ndtr(-ndtri(level) - np.where(known, spread, 0))
    return plain(np.where(known, np.where(spread == 0, 1 - level, beta), 0.0))


def gaussian_rdp(order: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    r"""Return the Rényi divergence between neighbours; exact.

    .. math:: D_\alpha = \alpha\,\mu^2/2

    Parameters
    ----------
    order : array_like
        Rényi order, finite and >= 1; order 1 is the Kullback-Leibler divergence.
    mu : array_like
        GDP parameter, >= 0.

    Returns
    -------
    float or ndarray
        Divergence in nats, >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov (2017), Proposition 7. https://arxiv.org/abs/1702.07476

    Examples
    --------
    >>> gaussian_rdp(2.0, mu=1.0)
    1.0
    """
    chosen = check.at_least("order", order, 1)
    spread = check.at_least("mu", mu, 0, infinite=True)
    with np.errstate(over="ignore", under="ignore"):
        return plain(chosen * spread * spread / 2)


def gaussian_zcdp(*, mu: npt.ArrayLike) -> Numbers:
    r"""Return the zero-concentrated DP parameter; exact.

    .. math:: \rho = \mu^2/2

    Parameters
    ----------
    mu : array_like
        GDP parameter, >= 0.

    Returns
    -------
    float or ndarray
        Rho in nats, >= 0; inf where it exceeds a float64.

    Raises
    ------
    DomainError
        If a mu is negative or NaN.

    References
    ----------
    Bun and Steinke (2016), Proposition 1.6. https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> gaussian_zcdp(mu=[0.5, 2.0])
    array([0.125, 2.   ])
    """
    spread = check.at_least("mu", mu, 0, infinite=True)
    with np.errstate(over="ignore", under="ignore"):
        return plain(spread * spread / 2)


@dataclass(frozen=True)
class Gaussian:
    """One release of a query plus Gaussian noise.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, query units, > 0.
    sensitivity : float
        L2 sensitivity of the query under the declared neighbouring relation, query units, >= 0. For a sum
        clipped to [-C, C]: C when one record is added or removed, 2C when one is replaced.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    Examples
    --------
    >>> released = Gaussian(sigma=4.0)
    >>> round(released.epsilon(1e-6), 6), round(released.delta(1.0), 9)
    (1.060702, 2.924e-06)
    """

    sigma: float
    sensitivity: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check.scalar("sigma", check.positive("sigma", self.sigma)))
        sensitivity = check.at_least("sensitivity", self.sensitivity, 0)
        object.__setattr__(self, "sensitivity", check.scalar("sensitivity", sensitivity))

    @property
    def mu(self) -> float:
        """GDP parameter, sensitivity/sigma; small is private."""
        return float(composed_mu(sigma=self.sigma, sensitivity=self.sensitivity))

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile at each epsilon >= 0; see `gaussian_delta`."""
        return gaussian_delta(check.at_least("epsilon", epsilon, 0, infinite=True), mu=self.mu)

    def log_delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the log of the privacy profile at each epsilon >= 0; see `gaussian_log_delta`."""
        return gaussian_log_delta(check.at_least("epsilon", epsilon, 0, infinite=True), mu=self.mu)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon for each delta; see `gaussian_epsilon`."""
        return gaussian_epsilon(delta, mu=self.mu)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function; see `gaussian_beta`."""
        return gaussian_beta(alpha, mu=self.mu)

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence; see `gaussian_rdp`."""
        return gaussian_rdp(order, mu=self.mu)

    @property
    def zcdp(self) -> float:
        """Zero-concentrated DP parameter rho, nats; see `gaussian_zcdp`."""
        return float(gaussian_zcdp(mu=self.mu))

    def loss_law(self, direction: Direction) -> GaussianLaw:
        """Return the law of the privacy loss, which is the same in both directions.

        Raises
        ------
        DomainError
            If mu exceeds a float64.

        Examples
        --------
        >>> Gaussian(sigma=4.0).loss_law(Direction.REMOVE)
        GaussianLaw(mu=0.25)
        """
        Direction(direction)
        return GaussianLaw(self.mu)

    def group(self, size: int) -> Gaussian:
        """Return the mechanism as a group of `size` records meets it: `size` times the sensitivity.

        See `gaussian_group_mu`.

        Examples
        --------
        >>> Gaussian(sigma=4.0).group(10)
        Gaussian(sigma=4.0, sensitivity=10.0)
        """
        return Gaussian(self.sigma, sensitivity=self.sensitivity * check.scalar("size", check.whole("size", size, 0)))

    def compose(self, count: int) -> Gaussian:
        """Return the one release that `count` fresh ones are equal to: sigma/√count, exactly.

        Examples
        --------
        >>> Gaussian(sigma=16.0).compose(100)
        Gaussian(sigma=1.6, sensitivity=1.0)
        """
        releases = check.scalar("count", check.whole("count", count, 1))
        return Gaussian(self.sigma / float(np.sqrt(releases)), sensitivity=self.sensitivity)


def _signed_epsilon_and_mu(epsilon: npt.ArrayLike, mu: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    loss = check.at_least("epsilon", epsilon, -np.inf, infinite=True)
    spread = check.at_least("mu", mu, 0, infinite=True)
    both = np.broadcast_arrays(loss, spread)
    return both[0], both[1]
