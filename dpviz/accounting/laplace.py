"""The Laplace mechanism, one release: pure DP, and its whole profile and trade-off curve in closed form.

The sensitivity is the L1 sensitivity under the neighbouring relation that the caller declares: for a count,
1 when one record is added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, Numbers, plain
from dpviz.accounting._exp_rest import exp_rest
from dpviz.accounting.laplace_law import LaplaceLaw
from dpviz.accounting.relation import Direction

_FAR = 600.0  # beyond e^600 the first term of the moment is all of it


def calibrate_laplace(epsilon: npt.ArrayLike, *, sensitivity: npt.ArrayLike = 1.0) -> Numbers:
    r"""Return the least scale that makes the Laplace mechanism epsilon-DP; exact.

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


def laplace_delta(epsilon: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the privacy profile of one release, the least delta for each epsilon; exact.

    .. math:: \delta(\varepsilon) = 1 - e^{(\varepsilon - s)/2} \;\text{ for } |\varepsilon| \le s,
              \qquad 0 \text{ above}, \qquad 1 - e^{\varepsilon} \text{ below}

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, of either sign; inf gives 0 and -inf gives 1.
    pure_epsilon : array_like
        s = Δ/b, with Δ the L1 sensitivity under the declared neighbouring relation, >= 0; inf gives 1.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], falling as `epsilon` grows.

    Raises
    ------
    DomainError
        If a pure epsilon is negative, or an argument is NaN.

    References
    ----------
    Balle and Wang (2018), Section 2; the integral over outputs between the two answers.

    Examples
    --------
    >>> laplace_delta([-1.0, 0.0, 1.0, 2.0], pure_epsilon=1.0).round(4)
    array([0.6321, 0.3935, 0.    , 0.    ])
    """
    loss, pure = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, -np.inf, infinite=True),
        check.at_least("pure_epsilon", pure_epsilon, 0, infinite=True),
    )
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        inside = np.where(loss < pure, np.minimum((loss - pure) / 2, 0.0), 0.0)
        return plain(0 - np.expm1(np.where(loss < -pure, loss, inside)))


def laplace_epsilon(delta: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the least epsilon >= 0 of one release for each delta; exact, the inverse of `laplace_delta`.

    .. math:: \varepsilon(\delta) = \max\bigl(0,\; s + 2\ln(1 - \delta)\bigr)

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1]. From 1 − e^(−s/2) on, epsilon is exactly 0.
    pure_epsilon : array_like
        s = Δ/b, with Δ the L1 sensitivity under the declared neighbouring relation, >= 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, in [0, pure_epsilon]; inf where that is inf and delta < 1.

    Raises
    ------
    DomainError
        If a delta is outside [0, 1], a pure epsilon is negative, or one is NaN.

    References
    ----------
    Balle and Wang (2018), Section 2, solved for epsilon.

    Examples
    --------
    >>> round(laplace_epsilon(0.1, pure_epsilon=1.0), 4)
    0.7893
    """
    slack, pure = np.broadcast_arrays(
        check.probability("delta", delta), check.at_least("pure_epsilon", pure_epsilon, 0, infinite=True)
    )
    with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
        is_total = (slack == 1) | (slack >= -np.expm1(-pure / 2))
        found = pure + 2 * np.log1p(-np.where(is_total, 0.0, slack))
        return plain(np.where(is_total, 0.0, np.maximum(found, 0.0)))


def laplace_tradeoff(alpha: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the trade-off function of one release, the least type II error for each type I error; exact.

    .. math:: 1 - e^{s}\alpha \;(\alpha < e^{-s}/2), \qquad e^{-s}/(4\alpha) \;(\alpha \le 1/2),
              \qquad e^{-s}(1 - \alpha)

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    pure_epsilon : array_like
        s = Δ/b, with Δ the L1 sensitivity under the declared neighbouring relation, >= 0; inf gives 0.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 - alpha], convex and falling in `alpha`, and its own inverse.

    Raises
    ------
    DomainError
        If an alpha is outside [0, 1], a pure epsilon is negative, or one is NaN.

    References
    ----------
    Dong, Roth and Su (2022), Section 2 (Laplace mechanism). https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> laplace_tradeoff([0.0, 0.25, 1.0], pure_epsilon=1.0).round(4)
    array([1.    , 0.3679, 0.    ])
    """
    level, pure = np.broadcast_arrays(
        check.probability("alpha", alpha), check.at_least("pure_epsilon", pure_epsilon, 0, infinite=True)
    )
    is_open = np.isinf(pure)
    with np.errstate(divide="ignore", under="ignore", over="ignore", invalid="ignore"):
        root = np.exp(-pure / 2)  # twice a factor e^(−s/2) stays in range where e^(−s) would not
        is_low = level < root / 2 * root
        low = 1 - np.where(is_low, level, 0.0) / root / root
        middle = root / 4 / level * root
        high = root * (1 - level) * root
        beta = np.where(is_low | (level == 0), low, np.where(level <= 0.5, middle, high))
        return plain(np.where(is_open, 0.0, beta))


def laplace_rdp(order: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the Rényi divergence between neighbours of one release; exact.

    .. math:: D_\alpha = \frac{1}{\alpha - 1}\ln\Bigl(\frac{\alpha}{2\alpha - 1}e^{(\alpha - 1)s}
              + \frac{\alpha - 1}{2\alpha - 1}e^{-\alpha s}\Bigr)

    Order 1 is the Kullback-Leibler divergence, s + e^{−s} − 1.

    Parameters
    ----------
    order : array_like
        Rényi order, finite and >= 1.
    pure_epsilon : array_like
        s = Δ/b, with Δ the L1 sensitivity under the declared neighbouring relation, >= 0; inf gives inf.

    Returns
    -------
    float or ndarray
        Divergence in nats, in [0, pure_epsilon].

    Raises
    ------
    DomainError
        If an order is not finite or below 1, a pure epsilon is negative, or one is NaN.

    References
    ----------
    Mironov (2017), Proposition 6. https://arxiv.org/abs/1702.07476

    Examples
    --------
    >>> round(laplace_rdp(2.0, pure_epsilon=1.0), 6)
    0.619124
    """
    chosen, pure = np.broadcast_arrays(
        check.at_least("order", order, 1), check.at_least("pure_epsilon", pure_epsilon, 0, infinite=True)
    )
    excess = chosen - 1
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        is_far = excess * pure > _FAR
        near, size = np.where(is_far | (excess == 0), 1.0, excess), np.where(is_far, 1.0, pure)
        moment = (near + 1) / (2 * near + 1) * exp_rest(near * size) + near / (2 * near + 1) * exp_rest(
            -(near + 1) * size
        )
        divergence = np.where(excess == 0, exp_rest(-size), np.log1p(moment) / near)
        beyond = pure - np.log1p(excess / chosen) / np.where(is_far, excess, 1.0)
        return plain(np.where(is_far, beyond, np.where(np.isinf(pure), np.inf, divergence)))


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
    sensitivity: float = field(default=1.0, kw_only=True)

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
        """Return the privacy profile for epsilons >= 0; see `laplace_delta`.

        Examples
        --------
        >>> Laplace(scale=1.0).delta([0.0, 1.0, 2.0]).round(4)
        array([0.3935, 0.    , 0.    ])
        """
        return laplace_delta(check.at_least("epsilon", epsilon, 0, infinite=True), pure_epsilon=self.pure_epsilon)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon for each delta; see `laplace_epsilon`.

        Examples
        --------
        >>> round(Laplace(scale=1.0).epsilon(0.1), 4)
        0.7893
        """
        return laplace_epsilon(delta, pure_epsilon=self.pure_epsilon)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function; see `laplace_tradeoff`.

        Examples
        --------
        >>> Laplace(scale=1.0).beta([0.0, 0.25, 1.0]).round(4)
        array([1.    , 0.3679, 0.    ])
        """
        return laplace_tradeoff(alpha, pure_epsilon=self.pure_epsilon)

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence; see `laplace_rdp`.

        Examples
        --------
        >>> round(Laplace(scale=1.0).rdp(2.0), 6)
        0.619124
        """
        return laplace_rdp(order, pure_epsilon=self.pure_epsilon)

    def loss_law(self, direction: Direction) -> LaplaceLaw:
        """Return the law of the privacy loss, the same in both directions.

        Raises
        ------
        DomainError
            If `pure_epsilon` is inf, where no finite loss is left.
        """
        Direction(direction)
        return LaplaceLaw(self.pure_epsilon)
