"""Privacy as an attacker's two error rates: trade-off curves, and what single attacks reach on them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import erf, ndtr, ndtri

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import Numbers, plain
from dpviz.accounting._terms import rest_of_one, times_exp
from dpviz.accounting.gaussian import gaussian_beta


def gaussian_tradeoff(alpha: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    r"""Return the Gaussian trade-off function G_mu; exact, `gaussian_beta` under its name in f-DP.

    .. math:: G_\mu(\alpha) = \Phi(-\Phi^{-1}(\alpha) - \mu)

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    mu : array_like
        GDP parameter, >= 0; 0 gives blind guessing, 1 - alpha.

    Returns
    -------
    float or ndarray
        The least type II error.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Equation (6). https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(gaussian_tradeoff(0.05, mu=1.0), 4)
    0.7405
    """
    return gaussian_beta(alpha, mu=mu)


def approximate_dp_tradeoff(alpha: npt.ArrayLike, *, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> Numbers:
    r"""Return the trade-off function that one (epsilon, delta) guarantee alone promises; a bound, below the true one.

    .. math:: f_{\varepsilon,\delta}(\alpha) = \max\{0,\; 1 - \delta - e^{\varepsilon}\alpha,\;
              e^{-\varepsilon}(1 - \delta - \alpha)\}

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    epsilon : array_like
        Privacy loss bound, nats, finite and >= 0.
    delta : array_like
        Additive slack, in [0, 1].

    Returns
    -------
    float or ndarray
        Beta in [0, 1 - alpha].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    Notes
    -----
    Where e^epsilon alpha is near 1 − delta the difference cancels: there the error is 2e-16 of 1, elsewhere of
    beta itself.

    References
    ----------
    Wasserman and Zhou (2010); Dong, Roth and Su (2022), Proposition 2.4. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(approximate_dp_tradeoff(0.2, epsilon=1.0, delta=0.1), 4)
    0.3563
    """
    level = check.probability("alpha", alpha)
    loss, slack = check.at_least("epsilon", epsilon, 0), check.probability("delta", delta)
    with np.errstate(under="ignore"):
        steep = rest_of_one(slack, times_exp(level, loss))
        flat = np.exp(-loss) * rest_of_one(slack, level)
    return plain(np.maximum(np.maximum(steep, flat), 0.0))


def gaussian_advantage(mu: npt.ArrayLike) -> Numbers:
    r"""Return the largest TPR − FPR of any attack, the total variation delta(0); exact.

    .. math:: 2\Phi(\mu/2) - 1 = \operatorname{erf}(\mu/\sqrt{8})

    Parameters
    ----------
    mu : array_like
        GDP parameter, >= 0.

    Returns
    -------
    float or ndarray
        Advantage in [0, 1].

    Raises
    ------
    DomainError
        If a mu is negative or NaN.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 2.13 at epsilon = 0. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(gaussian_advantage(0.25), 4)
    0.0995
    """
    return plain(erf(check.at_least("mu", mu, 0, infinite=True) / np.sqrt(8)))


def gaussian_tpr(fpr: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    r"""Return the largest true positive rate at each false positive rate; exact.

    .. math:: \Phi(\Phi^{-1}(\mathrm{FPR}) + \mu) = 1 - G_\mu(\mathrm{FPR})

    Parameters
    ----------
    fpr : array_like
        False positive rate, in [0, 1].
    mu : array_like
        GDP parameter, >= 0; inf gives 1 everywhere.

    Returns
    -------
    float or ndarray
        True positive rate in [fpr, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Equation (6). https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(gaussian_tpr(0.05, mu=0.625), 3)
    0.154
    """
    level = check.probability("fpr", fpr)
    spread = check.at_least("mu", mu, 0, infinite=True)
    is_known = np.isfinite(spread)
    rate = np.maximum(ndtr(ndtri(level) + np.where(is_known, spread, 0.0)), level)
    return plain(np.where(is_known, np.where(spread == 0, level, rate), 1.0))


def threshold_errors(threshold: npt.ArrayLike, *, mu: npt.ArrayLike) -> tuple[Numbers, Numbers]:
    r"""Return both error rates of the test that says "in" when the evidence exceeds a threshold; exact.

    The evidence is N(0, 1) without the person and N(mu, 1) with:

    .. math:: \alpha = \Phi(-t), \qquad \beta = \Phi(t - \mu)

    Parameters
    ----------
    threshold : array_like
        Threshold t, in standard deviations of the evidence, finite.
    mu : array_like
        GDP parameter, finite and >= 0.

    Returns
    -------
    alpha, beta : float or ndarray
        Type I and type II error, each from its own tail, so that small ones keep their digits.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Neyman and Pearson (1933); Dong, Roth and Su (2022), Section 2.2.

    Examples
    --------
    >>> alpha, beta = threshold_errors(1.0, mu=2.0)
    >>> round(alpha, 4), round(beta, 4)
    (0.1587, 0.1587)
    """
    cut, spread = check.finite("threshold", threshold), check.at_least("mu", mu, 0)
    shape = np.broadcast_shapes(cut.shape, spread.shape)
    return plain(np.broadcast_to(ndtr(-cut), shape).copy()), plain(ndtr(cut - spread))


def posterior_bound(prior: npt.ArrayLike, *, epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the largest posterior that a release under pure DP can lead to; a bound.

    .. math:: \frac{1}{1 + e^{-\varepsilon}(1 - \pi)/\pi}

    It holds for pure epsilon-DP only: under an (epsilon, delta) guarantee some outputs may raise the odds
    without limit.

    Parameters
    ----------
    prior : array_like
        Probability π of "in" before the release, in [0, 1].
    epsilon : array_like
        Pure privacy loss bound, nats, finite and >= 0.

    Returns
    -------
    float or ndarray
        Posterior probability, >= the prior.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Bayes' rule with the likelihood ratio at its bound, Dwork and Roth (2014), Definition 2.4.

    Examples
    --------
    >>> round(posterior_bound(0.5, epsilon=1.0), 4)
    0.7311
    """
    belief, loss = check.probability("prior", prior), check.at_least("epsilon", epsilon, 0)
    with np.errstate(under="ignore"):
        against = np.exp(-loss) * (1 - belief)
        return plain(np.where(belief == 0, 0.0, belief / np.where(belief == 0, 1.0, belief + against)))
