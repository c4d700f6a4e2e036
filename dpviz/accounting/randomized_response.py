"""Randomised response: each person's answer is the true one with a known probability, else any of the others.

The data are one person's answer, so neighbours replace one answer by another (each person is protected alone, the
local model); there is no sensitivity to choose. The loss takes three values, so everything is in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.randomized_response_law import RandomizedResponseLaw, pure_and_others
from dpviz.accounting.relation import Direction

_FAR = 600.0  # of order · pure epsilon: beyond, the moment is known by its greatest term


def randomized_response_delta(
    epsilon: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike = 2
) -> Numbers:
    r"""Return the privacy profile of one answer, the least delta for each epsilon; exact.

    .. math:: \delta(\varepsilon) = \frac{e^{s} - e^{\varepsilon}}{e^{s} + n - 1} \quad (0 \le \varepsilon \le s)

    and :math:`1 - e^{\varepsilon} + e^{\varepsilon}\delta(-\varepsilon)` below 0.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, of either sign; inf gives 0 and -inf gives 1.
    pure_epsilon : array_like
        s, the log odds of the true answer against any one other, nats, >= 0; inf (always the truth) gives 1.
    categories : array_like
        Number n of possible answers, a whole number >= 2.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], falling as `epsilon` grows; neighbours replace one answer by another.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2015), Section 3.1.

    Examples
    --------
    >>> round(randomized_response_delta(0.0, pure_epsilon=1.0), 6)
    0.462117
    """
    loss, pure, others = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, -np.inf, infinite=True), *pure_and_others(pure_epsilon, categories)
    )
    size = np.abs(loss)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        gap = np.where(size < pure, size - pure, 0.0)
        above = (0 - np.expm1(gap)) / (1 + others * np.exp(-pure))
        return plain(np.where(loss >= 0, above, -np.expm1(-size) + np.exp(-size) * above))


def randomized_response_epsilon(
    delta: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike = 2
) -> Numbers:
    r"""Return the least epsilon >= 0 of one answer for each delta; exact, the profile's inverse.

    .. math:: \varepsilon(\delta) = \max\bigl(0,\; s + \ln(1 - \delta\,(1 + (n - 1)e^{-s}))\bigr)

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1].
    pure_epsilon : array_like
        s, the log odds of the true answer against any one other, nats, >= 0.
    categories : array_like
        Number n of possible answers, a whole number >= 2.

    Returns
    -------
    float or ndarray
        Epsilon in nats, in [0, pure_epsilon]; neighbours replace one answer by another.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Section 3.1, solved for epsilon.

    Examples
    --------
    >>> round(randomized_response_epsilon(0.1, pure_epsilon=1.0), 6)
    0.852905
    """
    slack, pure, others = np.broadcast_arrays(
        check.probability("delta", delta), *pure_and_others(pure_epsilon, categories)
    )
    with np.errstate(under="ignore", invalid="ignore"):
        share = slack * (1 + others * np.exp(-pure))
        is_total = (share >= -np.expm1(-pure)) | (slack == 1)
        found = pure + np.log1p(-np.where(is_total, 0.0, share))
        return plain(np.where(is_total, 0.0, np.maximum(found, 0.0)))


def randomized_response_tradeoff(
    alpha: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike = 2
) -> Numbers:
    r"""Return the trade-off function of one answer, the least type II error for each type I error; exact.

    With p the probability of the truth and q = p e^(−s) of any one other: straight pieces through (0, 1),
    (q, 1 − p), (1 − p, q) and (1, 0).

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    pure_epsilon : array_like
        s, the log odds of the true answer against any one other, nats, >= 0; inf gives 0.
    categories : array_like
        Number n of possible answers, a whole number >= 2.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 - alpha]; neighbours replace one answer by another.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Wasserman and Zhou (2010), Theorem 2.4; attained by Kairouz, Oh and Viswanath (2015), Section 3.1.

    Examples
    --------
    >>> randomized_response_tradeoff([0.0, 0.5, 1.0], pure_epsilon=1.0).round(6)
    array([1.     , 0.18394, 0.     ])
    """
    level, pure, others = np.broadcast_arrays(
        check.probability("alpha", alpha), *pure_and_others(pure_epsilon, categories)
    )
    with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
        fade = np.exp(-pure)
        lie = fade / (1 + others * fade)  # q
        first = 1 - np.where(level == 0, 0.0, level / fade)
        middle = (others + 1) * lie - level
        last = fade * (1 - level)
        beta = np.where(level < lie, first, np.where(level <= others * lie, middle, last))
        return plain(np.where(np.isinf(pure), 0.0, np.where(level == 0, 1.0, beta)))


def randomized_response_rdp(
    order: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike = 2
) -> Numbers:
    r"""Return the Rényi divergence between two different answers; exact.

    .. math:: D_\alpha = \frac{1}{\alpha - 1}
              \ln\bigl(1 + p\,(e^{(\alpha - 1)s} - 1)(1 - e^{-\alpha s})\bigr), \qquad p = \frac{1}{1 + (n - 1)e^{-s}}

    Order 1 is the Kullback-Leibler divergence p s (1 − e^(−s)): for two answers, s tanh(s/2).

    Parameters
    ----------
    order : array_like
        Rényi order, finite and >= 1.
    pure_epsilon : array_like
        s, the log odds of the true answer against any one other, nats, >= 0; inf gives inf.
    categories : array_like
        Number n of possible answers, a whole number >= 2.

    Returns
    -------
    float or ndarray
        Divergence in nats, in [0, pure_epsilon]; neighbours replace one answer by another.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov (2017), Proposition 5. https://arxiv.org/abs/1702.07476

    Examples
    --------
    >>> round(randomized_response_rdp(2.0, pure_epsilon=1.0), 6)
    0.735326
    """
    chosen, pure, others = np.broadcast_arrays(
        check.at_least("order", order, 1), *pure_and_others(pure_epsilon, categories)
    )
    excess = chosen - 1
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        log_truth = -np.log1p(others * np.exp(-pure))
        is_far = excess * pure > _FAR
        near, size = np.where(is_far | (excess == 0), 1.0, excess), np.where(is_far, 1.0, pure)
        moment = np.exp(log_truth) * np.expm1(near * size) * -np.expm1(-(near + 1) * size)
        at_one = np.exp(log_truth) * size * -np.expm1(-size)
        divergence = np.where(excess == 0, at_one, np.log1p(moment) / near)
        beyond = pure + log_truth / np.where(is_far, excess, 1.0)
        return plain(np.where(np.isinf(pure), np.inf, np.where(is_far, beyond, divergence)))


def randomized_response_count(
    observed: npt.ArrayLike, *, respondents: npt.ArrayLike, pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike = 2
) -> Numbers:
    r"""Return the unbiased estimate of how many people's true answer is the one that `observed` people gave; exact.

    .. math:: \frac{y - Nq}{p - q}

    Parameters
    ----------
    observed : array_like
        Number y of people who gave the answer, from 0 to `respondents`.
    respondents : array_like
        Number N of people asked, a whole number >= 1.
    pure_epsilon : array_like
        s, the log odds of the true answer against any one other, nats, > 0 (neighbours replace one answer).
    categories : array_like
        Number n of possible answers, a whole number >= 2.

    Returns
    -------
    float or ndarray
        The estimate; it may lie below 0 or above `respondents`, and rounding it would bias it.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Warner (1965), Section 2.

    Examples
    --------
    >>> round(randomized_response_count(600, respondents=1000, pure_epsilon=1.0), 3)
    716.395
    """
    given, people, pure, others = _survey("observed", observed, respondents, pure_epsilon, categories)
    with np.errstate(over="ignore", under="ignore"):
        fade = np.exp(-pure)
        return plain(((given - people * fade) + given * others * fade) / -np.expm1(-pure))


def randomized_response_variance(
    true_count: npt.ArrayLike, *, respondents: npt.ArrayLike, pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike = 2
) -> Numbers:
    r"""Return the variance of `randomized_response_count` over the people's coins; exact.

    .. math:: \frac{c\,p(1 - p) + (N - c)\,q(1 - q)}{(p - q)^2}

    Parameters
    ----------
    true_count : array_like
        Number c of people whose true answer it is, from 0 to `respondents`; of two answers, all give the same.
    respondents : array_like
        Number N of people asked, a whole number >= 1.
    pure_epsilon : array_like
        s, the log odds of the true answer against any one other, nats, > 0 (neighbours replace one answer).
    categories : array_like
        Number n of possible answers, a whole number >= 2.

    Returns
    -------
    float or ndarray
        Variance, people squared.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Warner (1965), Section 2; elementary (a sum of independent coins).

    Examples
    --------
    >>> round(randomized_response_variance(700, respondents=1000, pure_epsilon=1.0), 3)
    920.674
    """
    true, people, pure, others = _survey("true_count", true_count, respondents, pure_epsilon, categories)
    with np.errstate(under="ignore", over="ignore"):
        fade, part = np.exp(-pure), -np.expm1(-pure)
        spread = true * others + (people - true) * (1 + (others - 1) * fade)
        return plain(spread * (fade / part) / part)


@dataclass(frozen=True)
class RandomizedResponse:
    """One person's answer, true with probability e^s/(e^s + categories − 1), else any other, all alike.

    Neighbours replace one answer by another.

    Parameters
    ----------
    pure_epsilon : float
        s, the log odds of the true answer against any one other, nats, finite and >= 0.
    categories : int
        Number of possible answers, a whole number >= 2.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2015), Section 3.1.

    Examples
    --------
    >>> asked = RandomizedResponse(1.0)
    >>> round(asked.truth_probability, 4), round(asked.delta(0.5), 4)
    (0.7311, 0.2876)
    """

    pure_epsilon: float
    categories: int = field(default=2, kw_only=True)

    def __post_init__(self) -> None:
        pure, others = pure_and_others(check.at_least("pure_epsilon", self.pure_epsilon, 0), self.categories)
        object.__setattr__(self, "pure_epsilon", check.scalar("pure_epsilon", pure))
        object.__setattr__(self, "categories", int(check.scalar("categories", others)) + 1)

    @property
    def truth_probability(self) -> float:
        """The probability of the true answer."""
        with np.errstate(under="ignore"):
            return float(1 / (1 + (self.categories - 1) * np.exp(-self.pure_epsilon)))

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile for epsilons >= 0; see `randomized_response_delta`."""
        loss = check.at_least("epsilon", epsilon, 0, infinite=True)
        return randomized_response_delta(loss, pure_epsilon=self.pure_epsilon, categories=self.categories)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon for each delta; see `randomized_response_epsilon`."""
        return randomized_response_epsilon(delta, pure_epsilon=self.pure_epsilon, categories=self.categories)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function; see `randomized_response_tradeoff`."""
        return randomized_response_tradeoff(alpha, pure_epsilon=self.pure_epsilon, categories=self.categories)

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence; see `randomized_response_rdp`."""
        return randomized_response_rdp(order, pure_epsilon=self.pure_epsilon, categories=self.categories)

    def loss_law(self, direction: Direction) -> RandomizedResponseLaw:
        """Return the law of the privacy loss, the same in both directions."""
        Direction(direction)
        return RandomizedResponseLaw(self.pure_epsilon, self.categories)


def _survey(
    name: str,
    value: npt.ArrayLike,
    respondents: npt.ArrayLike,
    pure_epsilon: npt.ArrayLike,
    categories: npt.ArrayLike,
) -> tuple[FloatArray, ...]:
    people = check.whole("respondents", respondents, 1)
    shown = check.whole(name, value, 0)
    people, shown = np.broadcast_arrays(people, shown)
    if np.any(shown > people):
        raise check.DomainError(name, "no more than respondents", float(shown[shown > people].ravel()[0]))
    _, others = pure_and_others(0.0, categories)
    return tuple(np.broadcast_arrays(shown, people, check.positive("pure_epsilon", pure_epsilon), others))
