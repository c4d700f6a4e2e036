"""What an attacker gets: advantage, error and certainty, from a guarantee or from the mechanism itself.

The attacker sees one release and decides whether a person's record is "in" (hypothesis 1) or not (hypothesis 0).
The false positive rate (FPR) is the type I error alpha; the true positive rate (TPR) is 1 − beta; the prior is the
probability of "in" before the release. What comes from a mechanism's own curve is exact for the worst pair of
neighbours under the relation for which that curve, or its mu, was given; what comes from one (epsilon, delta) is
the most that this guarantee allows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._terms import times_exp
from dpviz.accounting.tradeoff import gaussian_tpr

Curve = Callable[[FloatArray], npt.ArrayLike]


def approximate_dp_advantage(epsilon: npt.ArrayLike, *, delta: npt.ArrayLike) -> Numbers:
    r"""Return the largest TPR − FPR that an (epsilon, delta) guarantee allows; a bound.

    .. math:: \frac{e^{\varepsilon} - 1 + 2\delta}{e^{\varepsilon} + 1}

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound, nats, >= 0; inf gives 1.
    delta : array_like
        Additive slack, in [0, 1].

    Returns
    -------
    float or ndarray
        Advantage in [0, 1]; the guarantee must hold for both orders of the neighbours.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Remark A.1; Humphries et al. (2023). https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(approximate_dp_advantage(0.1, delta=0.01), 6)
    0.059459
    """
    loss, slack = check.at_least("epsilon", epsilon, 0, infinite=True), check.probability("delta", delta)
    with np.errstate(under="ignore"):
        against = np.exp(-loss)
        return plain(np.minimum(np.tanh(loss / 2) + slack * (2 * against / (1 + against)), 1.0))


def approximate_dp_tpr(fpr: npt.ArrayLike, *, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> Numbers:
    r"""Return the largest true positive rate at each false positive rate under an (epsilon, delta) guarantee; a bound.

    .. math:: \min\{1,\; \delta + e^{\varepsilon}\,\mathrm{FPR},\; 1 - e^{-\varepsilon}(1 - \delta - \mathrm{FPR})\}

    Parameters
    ----------
    fpr : array_like
        False positive rate, in [0, 1].
    epsilon : array_like
        Privacy loss bound, nats, finite and >= 0.
    delta : array_like
        Additive slack, in [0, 1].

    Returns
    -------
    float or ndarray
        True positive rate in [fpr, 1]: sums of positive terms, so that a small one keeps its digits.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.1. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(approximate_dp_tpr(0.01, epsilon=1.0, delta=1e-5), 6)
    0.027193
    """
    rate, loss = check.probability("fpr", fpr), check.at_least("epsilon", epsilon, 0)
    slack = check.probability("delta", delta)
    with np.errstate(under="ignore"):
        low = slack + times_exp(rate, loss)
        high = -np.expm1(-loss) + np.exp(-loss) * (slack + rate)
    return plain(np.minimum(np.minimum(low, high), 1.0))


def approximate_dp_bayes_error(prior: npt.ArrayLike, *, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> Numbers:
    r"""Return the least probability of a wrong decision that an (epsilon, delta) guarantee allows; a bound.

    .. math:: (1 - \delta)\,\min\Bigl\{\pi,\; 1 - \pi,\; \frac{1}{1 + e^{\varepsilon}}\Bigr\}

    Parameters
    ----------
    prior : array_like
        Probability π of "in" before the release, in [0, 1].
    epsilon : array_like
        Privacy loss bound, nats, >= 0; inf gives 0.
    delta : array_like
        Additive slack, in [0, 1].

    Returns
    -------
    float or ndarray
        Error in [0, 1/2]; every attacker's is at least that.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the least of (1 − π) alpha + π beta over the corners of f_{epsilon, delta} of Kairouz, Oh and
    Viswanath (2015), Theorem 2.1.

    Examples
    --------
    >>> round(approximate_dp_bayes_error(0.5, epsilon=1.0, delta=0.01), 4)
    0.2663
    """
    belief, loss = check.probability("prior", prior), check.at_least("epsilon", epsilon, 0, infinite=True)
    slack = check.probability("delta", delta)
    with np.errstate(under="ignore"):
        against = np.exp(-loss)
        return plain((1 - slack) * np.minimum(np.minimum(belief, 1 - belief), against / (1 + against)))


def gaussian_bayes_error(mu: npt.ArrayLike, *, prior: npt.ArrayLike) -> Numbers:
    r"""Return the least probability of a wrong decision against Gaussian noise; exact.

    .. math:: (1 - \pi)\,\Phi(-t) + \pi\,\Phi(t - \mu), \qquad t = \frac{\mu}{2} + \frac{1}{\mu}\ln\frac{1 - \pi}{\pi}

    Parameters
    ----------
    mu : array_like
        GDP parameter, >= 0; 0 gives min(π, 1 − π), the error of who never looks, and inf gives 0.
    prior : array_like
        Probability π of "in" before the release, in [0, 1]; 0 and 1 give 0.

    Returns
    -------
    float or ndarray
        Error in [0, min(π, 1 − π)].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Neyman and Pearson (1933), at the likelihood ratio (1 − π)/π; Kaissis et al. (2024).
    https://arxiv.org/abs/2406.08918

    Examples
    --------
    >>> round(gaussian_bayes_error(1.0, prior=0.5), 4)
    0.3085
    """
    spread, belief = np.broadcast_arrays(check.at_least("mu", mu, 0, infinite=True), check.probability("prior", prior))
    known = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    open_prior = np.where((belief > 0) & (belief < 1), belief, 0.5)
    with np.errstate(over="ignore", under="ignore"):
        cut = known / 2 + _log_odds_against(open_prior) / known
        error = (1 - belief) * ndtr(-cut) + belief * ndtr(cut - known)
    blind = np.minimum(belief, 1 - belief)
    error = np.where((spread == 0) | (blind == 0), blind, np.minimum(error, blind))
    return plain(np.where(np.isinf(spread), 0.0, error))


def bayes_error_from_profile(prior: npt.ArrayLike, *, delta: Curve, reversed_delta: Curve | None = None) -> Numbers:
    r"""Return the least probability of a wrong decision for a pair whose privacy profile is known; exact.

    .. math:: \pi\,\bigl(1 - \delta(\ln\tfrac{1 - \pi}{\pi})\bigr)

    Beyond π = 1/2, where that epsilon is negative, the other order of the pair says the same with 1 − π.

    Parameters
    ----------
    prior : array_like
        Probability π of "in" before the release, in [0, 1].
    delta : callable
        Profile, from an array of epsilons >= 0 to one of deltas, such as `Mechanism.delta`: how far the output
        with the person lies from that without.
    reversed_delta : callable, optional
        Profile of the pair in the other order; left out for a symmetric pair.

    Returns
    -------
    float or ndarray
        Error in [0, min(π, 1 − π)], with the digits that 1 − delta has.

    Raises
    ------
    DomainError
        If a prior, or a value of a profile, is outside [0, 1].

    References
    ----------
    Elementary: a weighted total variation; see Balle, Barthe and Gaboardi (2018), Section 2, for the profile.

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> round(bayes_error_from_profile(0.5, delta=Gaussian(sigma=1.0).delta), 4)
    0.3085
    """
    belief = check.probability("prior", prior)
    other = delta if reversed_delta is None else reversed_delta
    blind = np.minimum(belief, 1 - belief)
    loss = np.abs(_log_odds_against(np.where(blind == 0, 0.5, belief)))
    advantage = np.where(
        belief <= 0.5,
        check.probability("delta(epsilon)", delta(loss)),
        check.probability("reversed_delta(epsilon)", other(loss)),
    )
    return plain(blind * (1 - advantage))


def positive_predictive_value(*, tpr: npt.ArrayLike, fpr: npt.ArrayLike, prior: npt.ArrayLike) -> Numbers:
    r"""Return the probability that a person of whom the attacker says "in" is in; exact.

    .. math:: \frac{\pi\,\mathrm{TPR}}{\pi\,\mathrm{TPR} + (1 - \pi)\,\mathrm{FPR}}

    Parameters
    ----------
    tpr, fpr : array_like
        True and false positive rate of the test, in [0, 1]; not both 0, for such a test never says "in".
    prior : array_like
        Probability π of "in" before the release, in [0, 1]; 0 and 1 are kept as they are.

    Returns
    -------
    float or ndarray
        Probability in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range, or the test never says "in".

    References
    ----------
    Elementary: Bayes' rule; Jayaraman et al. (2021) for its use. https://arxiv.org/abs/2005.10881

    Examples
    --------
    >>> round(positive_predictive_value(tpr=0.1, fpr=0.01, prior=0.01), 4)
    0.0917
    """
    hits, alarms, belief = np.broadcast_arrays(
        check.probability("tpr", tpr), check.probability("fpr", fpr), check.probability("prior", prior)
    )
    if np.any((hits == 0) & (alarms == 0)):
        raise DomainError("tpr and fpr", "not both 0", (0.0, 0.0))
    return plain(_posterior(belief, hits, alarms))


def gaussian_positive_predictive_value(fpr: npt.ArrayLike, *, mu: npt.ArrayLike, prior: npt.ArrayLike) -> Numbers:
    r"""Return the best positive predictive value at each false positive rate against Gaussian noise; exact.

    Bayes' rule with TPR = Φ(Φ⁻¹(FPR) + mu).

    Parameters
    ----------
    fpr : array_like
        False positive rate, in [0, 1]; at 0 the limit is returned, 1 where mu > 0.
    mu : array_like
        GDP parameter, >= 0; 0 gives the prior.
    prior : array_like
        Probability π of "in" before the release, in [0, 1]; 0 and 1 are kept as they are.

    Returns
    -------
    float or ndarray
        Probability in [prior, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: Bayes' rule on the curve of Dong, Roth and Su (2022), Equation (6).

    Examples
    --------
    >>> round(gaussian_positive_predictive_value(0.01, mu=1.0, prior=0.5), 4)
    0.9023
    """
    alarms, spread, belief = np.broadcast_arrays(
        check.probability("fpr", fpr),
        check.at_least("mu", mu, 0, infinite=True),
        check.probability("prior", prior),
    )
    hits = np.where(alarms == 0, np.where(spread > 0, 1.0, 0.0), gaussian_tpr(alarms, mu=spread))
    return plain(np.where(spread == 0, belief, _posterior(belief, hits, alarms)))


def true_positive_rate(fpr: npt.ArrayLike, *, tradeoff: Curve) -> Numbers:
    """Return the largest true positive rate at each false positive rate, 1 − f(FPR); exact.

    Parameters
    ----------
    fpr : array_like
        False positive rate, in [0, 1].
    tradeoff : callable
        Trade-off function f, from an array of alphas to one of betas, such as `Mechanism.beta`.

    Returns
    -------
    float or ndarray
        True positive rate, to 1e-16 of 1; where it is small, `gaussian_tpr` and `approximate_dp_tpr` keep more.

    Raises
    ------
    DomainError
        If a rate, or a value of `tradeoff`, is outside [0, 1].

    References
    ----------
    Dong, Roth and Su (2022), Definition 2.1. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> from dpviz.accounting.laplace import Laplace
    >>> round(true_positive_rate(0.05, tradeoff=Laplace(scale=1.0).beta), 4)
    0.1359
    """
    return plain(1 - check.probability("tradeoff(fpr)", tradeoff(check.probability("fpr", fpr))))


def _log_odds_against(prior: FloatArray) -> FloatArray:
    """Return log((1 − π)/π), by log1p about its zero at π = 1/2."""
    middle = np.clip(prior, 0.25, 0.75)
    outer = np.where(prior == middle, 0.25, prior)
    return np.where(prior == middle, np.log1p((1 - 2 * middle) / middle), np.log1p(-outer) - np.log(outer))


def _posterior(prior: FloatArray, hits: FloatArray, alarms: FloatArray) -> FloatArray:
    """Return the posterior of "in" from the two likelihoods, hits with the person and alarms without."""
    certain = (prior == 0) | (prior == 1)
    belief = np.where(certain, 0.5, prior)
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        ratio = alarms / np.where((hits == 0) & (alarms == 0), 1.0, hits)
        return np.where(certain, prior, belief / (belief + (1 - belief) * ratio))
