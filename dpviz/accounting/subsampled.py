"""One Gaussian release on a Poisson sample, the step of DP-SGD: its profile, trade-off curve and Rényi divergence.

Each record is in the sample with probability q, independently; the answer is computed on the sample and Gaussian
noise added. Every number here holds for `Relation.ADD_OR_REMOVE_ONE`, where neighbours differ by the presence of
one record: with noise multiplier σ (sigma over the L2 sensitivity of adding or removing one record) the worst pair
is (1 − q) N(0, σ²) + q N(1, σ²) and N(0, σ²). The first is P in `Direction.REMOVE`, the second in `Direction.ADD`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._law import LossLaw
from dpviz.accounting._subsampled_moment import log_moment_rate
from dpviz.accounting._subsampled_panels import Pair
from dpviz.accounting.gaussian import Gaussian, gaussian_delta, gaussian_epsilon, gaussian_log_delta
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled_law import SubsampledGaussianLaw
from dpviz.accounting.subsampled_tradeoff import subsampled_gaussian_tradeoff

_FAINT = 1e155  # noise whose square no float64 holds


def subsampled_gaussian_delta(
    epsilon: npt.ArrayLike,
    *,
    sampling_probability: npt.ArrayLike,
    noise_multiplier: npt.ArrayLike,
    direction: Direction = Direction.REMOVE,
) -> Numbers:
    r"""Return the privacy profile of one release in one direction, the least delta for each epsilon; exact.

    .. math:: \delta_{\text{remove}}(\varepsilon) = q\,\delta_G\bigl(\ln(1 + (e^{\varepsilon} - 1)/q)\bigr), \qquad
              \delta_{\text{add}}(\varepsilon) = c\,\delta_G\bigl(\ln(1 + (e^{\varepsilon} - 1)/c)\bigr)

    with δ_G the profile of the Gaussian release with μ = 1/σ on all data, and c = 1 − (1 − q)e^ε; where c <= 0 the
    second is 0. The first is never the lesser: it is the delta of the mechanism.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, >= 0; inf gives 0.
    sampling_probability : array_like
        Probability q that a record is in the sample, in [0, 1]; 0 gives 0, 1 the Gaussian release.
    noise_multiplier : array_like
        Sigma over the L2 sensitivity of adding or removing one record, finite and > 0.
    direction : Direction
        REMOVE or ADD, of one record (`Relation.ADD_OR_REMOVE_ONE`).

    Returns
    -------
    float or ndarray
        Delta in [0, q].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Theorem 2. https://arxiv.org/abs/1807.01647

    Zhu, Dong and Wang (2022), Section 4 (dominating pairs). https://arxiv.org/abs/2106.08567

    Examples
    --------
    >>> round(subsampled_gaussian_delta(0.5, sampling_probability=0.01, noise_multiplier=1.0), 12)
    2.21452e-07
    """
    weight, loss, mu = _weight_and_loss(epsilon, sampling_probability, noise_multiplier, direction)
    with np.errstate(under="ignore"):
        return plain(weight * np.asarray(gaussian_delta(loss, mu=mu)))


def subsampled_gaussian_log_delta(
    epsilon: npt.ArrayLike,
    *,
    sampling_probability: npt.ArrayLike,
    noise_multiplier: npt.ArrayLike,
    direction: Direction = Direction.REMOVE,
) -> Numbers:
    """Return the natural log of the privacy profile of one release in one direction; exact.

    It has its digits also where delta itself is too small for a float64. The formula is that of
    `subsampled_gaussian_delta`, and so is the neighbouring relation.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, >= 0; inf gives -inf.
    sampling_probability : array_like
        Probability q that a record is in the sample, in [0, 1]; 0 gives -inf.
    noise_multiplier : array_like
        Sigma over the L2 sensitivity of adding or removing one record, finite and > 0.
    direction : Direction
        REMOVE or ADD, of one record (`Relation.ADD_OR_REMOVE_ONE`).

    Returns
    -------
    float or ndarray
        Log delta <= log q.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Theorem 2. https://arxiv.org/abs/1807.01647

    Examples
    --------
    >>> round(subsampled_gaussian_log_delta(100.0, sampling_probability=0.01, noise_multiplier=1.0), 4)
    -5433.768
    """
    weight, loss, mu = _weight_and_loss(epsilon, sampling_probability, noise_multiplier, direction)
    with np.errstate(divide="ignore"):
        return plain(np.log(weight) + np.asarray(gaussian_log_delta(loss, mu=mu)))


def subsampled_gaussian_epsilon(
    delta: npt.ArrayLike, *, sampling_probability: npt.ArrayLike, noise_multiplier: npt.ArrayLike
) -> Numbers:
    r"""Return the least epsilon >= 0 of one release for each delta, in the worse direction; exact.

    .. math:: \varepsilon = \ln\bigl(1 + q(e^{\varepsilon_G(\delta/q)} - 1)\bigr)

    with ε_G that of the Gaussian release on all data: the inverse of `subsampled_gaussian_delta` in REMOVE. The
    neighbouring relation is `Relation.ADD_OR_REMOVE_ONE`.

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1]. From the total variation q·erf(1/(√8 σ)) on, epsilon is exactly 0.
    sampling_probability : array_like
        Probability q that a record is in the sample, in [0, 1]; 0 gives 0.
    noise_multiplier : array_like
        Sigma over the L2 sensitivity of adding or removing one record, finite and > 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats; inf where delta = 0 < q.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Balle, Barthe and Gaboardi (2018), Theorem 2. https://arxiv.org/abs/1807.01647

    Examples
    --------
    >>> round(subsampled_gaussian_epsilon(1e-5, sampling_probability=0.01, noise_multiplier=1.0), 6)
    0.19945
    """
    slack, rate, noise = _broadcast(
        check.probability("delta", delta),
        check.probability("sampling_probability", sampling_probability),
        check.positive("noise_multiplier", noise_multiplier),
    )
    used = rate > 0
    rate = np.where(used, rate, 1.0)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        share = np.where(used & (slack < rate), slack / rate, 1.0)
        loss = np.asarray(gaussian_epsilon(share, mu=1 / noise))
        change = rate * np.expm1(np.minimum(loss, 700.0))
        far = loss + np.log(rate + (1 - rate) * np.exp(-loss))
    return plain(np.where(change < 1, np.log1p(change), far))


def subsampled_gaussian_beta(
    alpha: npt.ArrayLike, *, sampling_probability: npt.ArrayLike, noise_multiplier: npt.ArrayLike
) -> Numbers:
    """Return the trade-off function of one release, the least type II error for each type I error; exact.

    It covers both directions: no test of either order of the neighbours does better. The formula is that of
    `subsampled_gaussian_tradeoff` at μ = 1/σ; the neighbouring relation is `Relation.ADD_OR_REMOVE_ONE`.

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    sampling_probability : array_like
        Probability q that a record is in the sample, in [0, 1]; 0 gives blind guessing, 1 − alpha.
    noise_multiplier : array_like
        Sigma over the L2 sensitivity of adding or removing one record, finite and > 0.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 − alpha].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Definition 4.1; Bu, Dong, Long and Su (2020), Section 3.

    Examples
    --------
    >>> round(subsampled_gaussian_beta(0.05, sampling_probability=0.5, noise_multiplier=1.0), 4)
    0.8452
    """
    with np.errstate(over="ignore"):
        mu = 1 / check.positive("noise_multiplier", noise_multiplier)
    return subsampled_gaussian_tradeoff(alpha, sampling_probability=sampling_probability, mu=mu)


def subsampled_gaussian_rdp(
    order: npt.ArrayLike,
    *,
    sampling_probability: npt.ArrayLike,
    noise_multiplier: npt.ArrayLike,
    direction: Direction = Direction.REMOVE,
) -> Numbers:
    r"""Return the Rényi divergence of one release in one direction, at whole and fractional orders; exact.

    .. math:: D_\alpha(P\|Q) = \frac{1}{\alpha - 1}\ln E_P\,e^{(\alpha - 1)L}, \qquad
              L = \pm\ln\bigl(1 - q + q\,e^{(2x - 1)/2\sigma^2}\bigr)

    The mean is integrated in a form whose terms are all positive, so that a divergence of 1e-20 keeps its digits.
    REMOVE is never the lesser: it is the divergence of the mechanism.

    Parameters
    ----------
    order : array_like
        Rényi order >= 1; order 1 is the Kullback-Leibler divergence, and inf the greatest privacy loss.
    sampling_probability : array_like
        Probability q that a record is in the sample, in [0, 1]; 0 gives 0, 1 the Gaussian release.
    noise_multiplier : array_like
        Sigma over the L2 sensitivity of adding or removing one record, finite and > 0.
    direction : Direction
        REMOVE or ADD, of one record (`Relation.ADD_OR_REMOVE_ONE`).

    Returns
    -------
    float or ndarray
        Divergence in nats, >= 0; in REMOVE inf at order inf, in ADD never above −ln(1 − q).

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov, Talwar and Zhang (2019), Section 3.3 and Theorem 5. https://arxiv.org/abs/1908.10530

    Examples
    --------
    >>> round(subsampled_gaussian_rdp(2.0, sampling_probability=0.01, noise_multiplier=1.0), 12)
    0.000171813422
    """
    chosen, rate, noise = _broadcast(
        check.at_least("order", order, 1, infinite=True),
        check.probability("sampling_probability", sampling_probability),
        check.positive("noise_multiplier", noise_multiplier),
    )
    is_remove = Direction(direction) is Direction.REMOVE
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        greatest = np.full(rate.shape, np.inf) if is_remove else -np.log1p(-rate)
        plain_gaussian = np.where(np.isinf(chosen), np.inf, chosen / noise / noise / 2)
    result = np.where(rate == 0, 0.0, np.where(rate == 1, plain_gaussian, greatest))
    is_faint = (noise > _FAINT) & (chosen < _FAINT)  # e^(1/σ²) − 1 is 1/σ²: D = α (q/σ)²/2
    share = rate[is_faint] / noise[is_faint]
    with np.errstate(under="ignore"):
        result[is_faint] = chosen[is_faint] * share * share / 2
    inner = (rate > 0) & (rate < 1) & np.isfinite(chosen) & ~is_faint
    if inner.any():
        pair = Pair(noise[inner], rate[inner], is_remove)
        result[inner] = log_moment_rate(pair, chosen[inner] - 1)
    return plain(result)


@dataclass(frozen=True)
class SubsampledGaussian:
    """One Gaussian release on a Poisson sample, under `Relation.ADD_OR_REMOVE_ONE`; the step of DP-SGD.

    Parameters
    ----------
    noise_multiplier : float
        Sigma over the L2 sensitivity of adding or removing one record (in DP-SGD the clipping norm), no unit,
        finite and > 0.
    sampling_probability : float
        Probability that a record is in the sample, independently of the others, in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    Examples
    --------
    >>> step = SubsampledGaussian(noise_multiplier=1.0, sampling_probability=0.01)
    >>> round(step.epsilon(1e-5), 6), round(step.rdp(2.0), 9)
    (0.19945, 0.000171813)
    """

    noise_multiplier: float
    sampling_probability: float = field(kw_only=True)

    def __post_init__(self) -> None:
        noise = check.scalar("noise_multiplier", check.positive("noise_multiplier", self.noise_multiplier))
        rate = check.probability("sampling_probability", self.sampling_probability)
        object.__setattr__(self, "noise_multiplier", noise)
        object.__setattr__(self, "sampling_probability", check.scalar("sampling_probability", rate))

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile in the worse direction, REMOVE; see `subsampled_gaussian_delta`."""
        return subsampled_gaussian_delta(
            epsilon, sampling_probability=self.sampling_probability, noise_multiplier=self.noise_multiplier
        )

    def log_delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the log of the privacy profile; see `subsampled_gaussian_log_delta`."""
        return subsampled_gaussian_log_delta(
            epsilon, sampling_probability=self.sampling_probability, noise_multiplier=self.noise_multiplier
        )

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon for each delta; see `subsampled_gaussian_epsilon`."""
        return subsampled_gaussian_epsilon(
            delta, sampling_probability=self.sampling_probability, noise_multiplier=self.noise_multiplier
        )

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function; see `subsampled_gaussian_beta`."""
        return subsampled_gaussian_beta(
            alpha, sampling_probability=self.sampling_probability, noise_multiplier=self.noise_multiplier
        )

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence in the worse direction, REMOVE; see `subsampled_gaussian_rdp`."""
        return subsampled_gaussian_rdp(
            order, sampling_probability=self.sampling_probability, noise_multiplier=self.noise_multiplier
        )

    def loss_law(self, direction: Direction) -> LossLaw:
        """Return the law of the privacy loss in one direction; see `SubsampledGaussianLaw`.

        Where everything is sampled it is the Gaussian's own law.
        """
        if self.sampling_probability == 1:
            return Gaussian(self.noise_multiplier).loss_law(Direction(direction))
        return SubsampledGaussianLaw(self.noise_multiplier, self.sampling_probability, Direction(direction))


def _broadcast(first: FloatArray, second: FloatArray, third: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    one, two, three = np.broadcast_arrays(first, second, third)
    return one, two, three


def _weight_and_loss(
    epsilon: npt.ArrayLike, sampling_probability: npt.ArrayLike, noise_multiplier: npt.ArrayLike, direction: Direction
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return c (q in REMOVE), ln(1 + (e^epsilon − 1)/c), and mu: delta is c times the Gaussian's delta there."""
    loss, rate, noise = _broadcast(
        check.at_least("epsilon", epsilon, 0, infinite=True),
        check.probability("sampling_probability", sampling_probability),
        check.positive("noise_multiplier", noise_multiplier),
    )
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        mu = 1 / noise
        if Direction(direction) is Direction.REMOVE:
            weight = rate
        else:
            weight = np.where(rate == 1, 1.0, np.maximum(rate - (1 - rate) * np.expm1(loss), 0.0))
        inner = np.where(weight > 0, weight, 1.0)
        near = np.log1p(np.expm1(np.minimum(loss, 1.0)) / inner)
        far = loss - np.log(inner) + np.log1p(-(1 - inner) * np.exp(-loss))
        return weight, np.where(loss < 1, near, far), mu
