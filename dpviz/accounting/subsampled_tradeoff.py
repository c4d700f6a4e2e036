r"""What sampling does to a trade-off function: the attacker sees a mixture, since the person may not have been drawn.

With p the probability that a record is drawn and f the trade-off function of the mechanism on the sample,

.. math:: f_p(\alpha) = p f(\alpha) + (1 - p)(1 - \alpha), \qquad C_p(f) = \min\{f_p, f_p^{-1}\}^{**}

f_p holds for one order of the neighbours and its inverse for the other; C_p(f) covers both. There are two readings,
and f must be meant in the same one:

- a sample of fixed size drawn without replacement, records replaced (`Relation.REPLACE_ONE`): p is sample size
  over data size, and f holds for replacing one record of the sample (Dong, Roth and Su 2022, Theorem 4.2);
- Poisson sampling, records added or removed (`Relation.ADD_OR_REMOVE_ONE`): p is the sampling probability, and f
  holds for adding or removing one record of the sample (Bu, Dong, Long and Su 2020). There f_p belongs to
  `Direction.REMOVE` and its inverse to `Direction.ADD`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._mixture import mixture_quantile
from dpviz.accounting._terms import rest_of_one
from dpviz.accounting.gaussian import gaussian_beta
from dpviz.accounting.piecewise_tradeoff import PiecewiseTradeoff
from dpviz.accounting.relation import Direction
from dpviz.accounting.tradeoff import approximate_dp_tradeoff

_MOST_HALVINGS = 100
_FAR = 200.0  # from about 77 on the two heaps of the mixture share no float64 mass, and mu changes nothing


def subsampled_gaussian_tradeoff(
    alpha: npt.ArrayLike,
    *,
    sampling_probability: npt.ArrayLike,
    mu: npt.ArrayLike,
    direction: Direction | None = None,
) -> Numbers:
    r"""Return the trade-off function of a Gaussian release on a random sample; exact.

    .. math:: C_p(G_\mu) = \begin{cases}
              p\,G_\mu(\alpha) + (1 - p)(1 - \alpha) & \alpha \le \Phi(-\mu/2) \\
              1 - \alpha - p\,(1 - 2\Phi(-\mu/2)) & \text{up to its value there} \\
              \text{the inverse of the first line} & \text{beyond}\end{cases}

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    sampling_probability : array_like
        Probability p that a record is in the sample, in [0, 1]; 0 gives blind guessing, 1 the release on all data.
    mu : array_like
        GDP parameter of the release on the sample, >= 0, L2 sensitivity over sigma: under replacing one record of
        the sample if it is drawn without replacement, under adding or removing one if it is a Poisson sample.
    direction : Direction, optional
        REMOVE or ADD gives the curve of that order of the neighbours alone, f_p or its inverse; left out, the
        symmetric curve that covers both.

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
    Dong, Roth and Su (2022), Definition 4.1 and Theorem 4.2. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(subsampled_gaussian_tradeoff(0.4, sampling_probability=0.5, mu=1.5), 6)
    0.326627
    """
    level, rate, spread = np.broadcast_arrays(
        check.probability("alpha", alpha),
        check.probability("sampling_probability", sampling_probability),
        check.at_least("mu", mu, 0, infinite=True),
    )
    order = None if direction is None else Direction(direction)
    if order is Direction.REMOVE:
        return plain(_mixed(np.asarray(gaussian_beta(level, mu=spread)), level, rate))
    if order is Direction.ADD:
        return plain(_mixed_inverse(level, rate, spread))
    with np.errstate(under="ignore"):
        corner = ndtr(-spread / 2)
    beta = _up_to_the_turn(np.asarray(gaussian_beta(level, mu=spread)), level, rate, corner)
    beyond = level > _mixed(corner, corner, rate)
    beta[beyond] = _mixed_inverse(level[beyond], rate[beyond], spread[beyond])
    return plain(beta)


def subsampled_approximate_dp_tradeoff(
    alpha: npt.ArrayLike, *, sampling_probability: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike
) -> Numbers:
    r"""Return what one (epsilon, delta) guarantee on a random sample promises for all data; a bound.

    With a = (1 − δ)/(1 + e^ε), where f of the guarantee equals its argument, and e^ε' = 1 + p (e^ε − 1):

    .. math:: C_p(f_{\varepsilon,\delta})(\alpha) = \max\{0,\; 1 - p\delta - e^{\varepsilon'}\alpha,\;
              1 - \alpha - p(1 - 2a),\; e^{-\varepsilon'}(1 - p\delta - \alpha)\}

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    sampling_probability : array_like
        Probability p that a record is in the sample, in [0, 1].
    epsilon : array_like
        Privacy loss bound of the mechanism on the sample, nats, finite and >= 0; under replacing one record of the
        sample if it is drawn without replacement, under adding or removing one if it is a Poisson sample.
    delta : array_like
        Its additive slack, in [0, 1].

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
    Dong, Roth and Su (2022), Section 4 (subsampling an (epsilon, delta) guarantee), by their Theorem 4.2.

    Examples
    --------
    >>> round(subsampled_approximate_dp_tradeoff(0.2, sampling_probability=0.1, epsilon=1.0, delta=0.1), 4)
    0.7556
    """
    level, rate, loss, slack = np.broadcast_arrays(
        check.probability("alpha", alpha),
        check.probability("sampling_probability", sampling_probability),
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta),
    )
    with np.errstate(under="ignore"):
        odds = np.exp(-loss)
        corner = (1 - slack) * (odds / (1 + odds))
        beta = _up_to_the_turn(
            np.asarray(approximate_dp_tradeoff(level, epsilon=loss, delta=slack)), level, rate, corner
        )
        lowered = np.where(rate == 0, 1.0, odds / np.where(rate == 0, 1.0, odds - rate * np.expm1(-loss)))
        far = lowered * np.maximum(rest_of_one(rate * slack, level), 0.0)
    return plain(np.where(level > _mixed(corner, corner, rate), far, beta))


def subsampled_tradeoff(
    alpha: npt.ArrayLike, *, sampling_probability: npt.ArrayLike, tradeoff: Callable[[FloatArray], npt.ArrayLike]
) -> Numbers:
    r"""Return C_p(f) for any symmetric trade-off function f; exact but for roundings of about 1e-15 of 1.

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    sampling_probability : array_like
        Probability p that a record is in the sample, in [0, 1].
    tradeoff : callable
        f, its own inverse, from an array of alphas to one of betas: of the mechanism on the sample, for replacing
        one of its records if it is drawn without replacement, for adding or removing one if it is a Poisson sample.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 − alpha].

    Raises
    ------
    DomainError
        If an argument, or a value of `tradeoff`, is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Definition 4.1 and Theorem 4.2. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> from dpviz.accounting.laplace import Laplace
    >>> round(subsampled_tradeoff(0.05, sampling_probability=0.1, tradeoff=Laplace(scale=1.0).beta), 6)
    0.941409
    """
    level, rate = np.broadcast_arrays(
        check.probability("alpha", alpha), check.probability("sampling_probability", sampling_probability)
    )

    def f(x: FloatArray) -> FloatArray:
        return check.probability("tradeoff(alpha)", tradeoff(x))

    corner = np.full_like(level, _bisected(lambda x: f(x) - x, np.ones(1))[0])
    beta = _up_to_the_turn(f(level), level, rate, corner)
    beyond = level > _mixed(corner, corner, rate)
    wanted, p = level[beyond], rate[beyond]
    beta[beyond] = _bisected(lambda x: _mixed(f(x), x, p) - wanted, corner[beyond])
    return plain(beta)


def subsampled_piecewise_tradeoff(
    tradeoff: PiecewiseTradeoff, *, sampling_probability: float, direction: Direction | None = None
) -> PiecewiseTradeoff:
    """Return what sampling makes of a trade-off function with straight pieces; exact.

    Parameters
    ----------
    tradeoff : PiecewiseTradeoff
        Of the mechanism on the sample; the relation is that of `subsampled_gaussian_tradeoff`. Symmetric, unless a
        `direction` is given. Vertices taken from a bent curve give straight pieces above it: an approximation then,
        and not a guarantee.
    sampling_probability : float
        Probability that a record is in the sample, in [0, 1].
    direction : Direction, optional
        REMOVE gives f_p, ADD its inverse; left out, C_p(f).

    Raises
    ------
    DomainError
        If the probability is out of its range, or the curve is not symmetric where it must be.

    References
    ----------
    Dong, Roth and Su (2022), Definition 4.1 and Theorem 4.2. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> pure = PiecewiseTradeoff([0.0, 0.25, 1.0], betas=[1.0, 0.25, 0.0])
    >>> subsampled_piecewise_tradeoff(pure, sampling_probability=0.5).betas.tolist()
    [1.0, 0.5, 0.25, 0.0]
    """
    rate = check.probability("sampling_probability", sampling_probability)
    check.scalar("sampling_probability", rate)
    order = None if direction is None else Direction(direction)
    if order is None and not tradeoff.is_symmetric:
        raise DomainError("tradeoff", "its own inverse where no direction is given", "a curve that is not")
    mixed = PiecewiseTradeoff(tradeoff.alphas, betas=_mixed(tradeoff.betas, tradeoff.alphas, rate))
    if order is None:
        return mixed.symmetrized()
    return mixed if order is Direction.REMOVE else mixed.inverse()


def _mixed(beta: FloatArray, alpha: FloatArray, rate: FloatArray) -> FloatArray:
    """Return f_p, which no rounding lifts above blind guessing and which is exactly that where f is."""
    blind = 1 - alpha
    return np.where(beta == blind, blind, np.minimum(rate * beta + (1 - rate) * blind, blind))


def _up_to_the_turn(beta: FloatArray, alpha: FloatArray, rate: FloatArray, corner: FloatArray) -> FloatArray:
    """Return C_p(f) where it is f_p or falls with slope −1, given f(alpha) and the point f(corner) = corner.

    The straight part, 1 − alpha − p (1 − 2 corner), is written as a sum: it can end as low as the corner itself.
    """
    straight = np.maximum(rest_of_one(rate, alpha) + 2 * rate * corner, 0.0)
    return np.where(alpha <= corner, _mixed(beta, alpha, rate), np.minimum(straight, 1 - alpha))


def _mixed_inverse(level: FloatArray, rate: FloatArray, mu: FloatArray) -> FloatArray:
    """Return the inverse of f_p for f = G_mu, the alpha at which f_p(alpha) = level."""
    beta = np.asarray(1 - level)
    is_open = np.isinf(mu) & (rate > 0)
    with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
        left_over = np.maximum(rest_of_one(rate, level), 0.0)
        beta = np.where(is_open & (level > 0), np.where(left_over > 0, left_over / (1 - rate), 0.0), beta)
        solved = np.isfinite(mu) & (mu > 0) & (rate > 0) & (level > 0) & (level < 1)
        found = ndtr(-mixture_quantile(level[solved], rate[solved], np.minimum(mu[solved], _FAR)))
        beta[solved] = np.minimum(found, 1 - level[solved])
    return beta


def _bisected(excess: Callable[[FloatArray], FloatArray], high: FloatArray) -> FloatArray:
    """Return where a falling function changes sign in [0, high], by halving until no double is left between."""
    low = np.zeros_like(high)
    for _ in range(_MOST_HALVINGS):
        middle = low + (high - low) / 2
        is_before = excess(middle) > 0
        low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
    return high
