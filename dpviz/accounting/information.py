"""What an output says of the data: mutual information and posteriors, in nats.

Mutual information needs a law of the data; a bound that holds for every law must pay for records that depend on
each other. The neighbouring relation is REPLACE_ONE wherever a number of records enters, and whichever the caller
declares elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpviz.accounting import _checks as check
from dpviz.accounting._bit_integrals import gaussian_bit, laplace_bit
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._divergence import bit_information

_GAUSSIAN_TOLD, _LAPLACE_TOLD = 60.0, 1500.0
"""From here on the bit is told, to all digits, at every prior that a float64 holds."""


def pure_dp_max_kl(epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the largest Kullback-Leibler divergence between neighbours under pure DP; exact.

    .. math:: \varepsilon\tanh(\varepsilon/2)

    Randomised response attains it.

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee under the declared neighbouring relation, nats, finite and >= 0.

    Returns
    -------
    float or ndarray
        Divergence in nats, at most ε²/2 and at most ε.

    Raises
    ------
    DomainError
        If an epsilon is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.3: randomised response dominates; Bun and Steinke (2016),
    Proposition 3.3. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(pure_dp_max_kl(1.0), 6)
    0.462117
    """
    loss = check.at_least("epsilon", epsilon, 0)
    with np.errstate(under="ignore"):
        return plain(loss * np.tanh(loss / 2))


def pure_dp_information_bound(epsilon: npt.ArrayLike, *, records: npt.ArrayLike) -> Numbers:
    r"""Return the most that a pure DP output says of all the data, whatever the data's law; a bound.

    .. math:: I(D; M(D)) \le n\varepsilon\tanh(n\varepsilon/2)

    Two data sets differ in at most n records, so their outputs' laws have at most the divergence of (n ε)-DP. There
    is no such bound for approximate DP: publishing all with probability delta says delta times the entropy of the
    data.

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee under REPLACE_ONE, nats, finite and >= 0.
    records : array_like
        Number n of records, a whole number >= 0.

    Returns
    -------
    float or ndarray
        Information in nats; inf where it exceeds a float64.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    McGregor, Mironov, Pitassi, Reingold, Talwar and Vadhan (2010), Proposition 4.3, tightened by group privacy and
    `pure_dp_max_kl`. https://eccc.weizmann.ac.il/report/2011/106/

    Examples
    --------
    >>> round(pure_dp_information_bound(0.1, records=20), 6)
    1.523188
    """
    loss, rows = check.at_least("epsilon", epsilon, 0), check.whole("records", records, 0)
    with np.errstate(over="ignore", under="ignore"):
        group = loss * rows
        return plain(group * np.tanh(group / 2))


def pure_dp_information_bound_independent(epsilon: npt.ArrayLike, *, records: npt.ArrayLike) -> Numbers:
    r"""Return the most that a pure DP output says of data whose records are independent; a bound.

    .. math:: I(D; M(D)) \le n\,\varepsilon\tanh(\varepsilon/2) \le n\varepsilon^2/2

    For records that depend on each other it is false: if all are the same, the output may say far more, up to
    `pure_dp_information_bound`.

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee under REPLACE_ONE, nats, finite and >= 0.
    records : array_like
        Number n of records, a whole number >= 0.

    Returns
    -------
    float or ndarray
        Information in nats; inf where it exceeds a float64.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Bun and Steinke (2016), Section 7: the chain rule over independent records, each at most `pure_dp_max_kl`.
    https://arxiv.org/abs/1605.02065

    Examples
    --------
    >>> round(pure_dp_information_bound_independent(0.1, records=20), 6)
    0.099917
    """
    loss, rows = check.at_least("epsilon", epsilon, 0), check.whole("records", records, 0)
    with np.errstate(over="ignore", under="ignore"):
        return plain(loss * np.tanh(loss / 2) * rows)


def binary_entropy(prior: npt.ArrayLike) -> Numbers:
    r"""Return the entropy of a bit; exact.

    .. math:: -\pi\ln\pi - (1 - \pi)\ln(1 - \pi)

    Parameters
    ----------
    prior : array_like
        Probability of 1, in [0, 1].

    Returns
    -------
    float or ndarray
        Entropy in nats, at most ln 2; 0 at both ends.

    Raises
    ------
    DomainError
        If a prior is out of its range.

    References
    ----------
    Shannon (1948). https://doi.org/10.1002/j.1538-7305.1948.tb01338.x

    Examples
    --------
    >>> binary_entropy([0.0, 0.5]).round(6)
    array([0.      , 0.693147])
    """
    chance = check.probability("prior", prior)
    less = np.minimum(chance, 1 - chance)
    safe = np.where(less > 0, less, 0.5)
    return plain(np.where(less > 0, -safe * np.log(safe) - (1 - safe) * np.log1p(-safe), 0.0))


def randomized_response_mutual_information(epsilon: npt.ArrayLike, *, prior: npt.ArrayLike = 0.5) -> Numbers:
    r"""Return what a randomised response says of the bit; exact.

    .. math:: h\bigl(\pi p + (1 - \pi)(1 - p)\bigr) - h(p), \qquad p = \frac{e^\varepsilon}{1 + e^\varepsilon}

    It is summed as four terms that are all positive, so it keeps its digits as epsilon falls to 0.

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee for one record's bit (REPLACE_ONE), nats, >= 0; inf tells the bit.
    prior : array_like
        Probability that the bit is 1, in [0, 1].

    Returns
    -------
    float or ndarray
        Information in nats.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Warner (1965), with the mutual information of a binary symmetric channel; Cuff and Yu (2016).
    https://arxiv.org/abs/1608.03677

    Examples
    --------
    >>> round(randomized_response_mutual_information(1.0), 6)
    0.110944
    """
    loss = check.at_least("epsilon", epsilon, 0, infinite=True)
    chance = check.probability("prior", prior)
    with np.errstate(under="ignore", over="ignore"):
        truth, lie, lean = expit(loss), expit(-loss), np.tanh(loss / 2)
        yes = bit_information(chance, 1 - chance, truth, lie, lean)
        no = bit_information(chance, 1 - chance, lie, truth, -lean)
    return plain(yes + no)


def gaussian_binary_mutual_information(mu: npt.ArrayLike, *, prior: npt.ArrayLike = 0.5) -> Numbers:
    r"""Return what a Gaussian release says of a bit that moves its mean by mu standard deviations; exact.

    .. math:: \pi\,D\bigl(N(\mu, 1)\,\|\,M\bigr) + (1 - \pi)\,D\bigl(N(0, 1)\,\|\,M\bigr),
              \qquad M = \pi N(\mu, 1) + (1 - \pi) N(0, 1)

    The integral is one of positive terms, to about 1e-14 of itself.

    Parameters
    ----------
    mu : array_like
        GDP parameter under the declared neighbouring relation, >= 0; inf tells the bit.
    prior : array_like
        Probability that the bit is 1 (the record is in), in [0, 1].

    Returns
    -------
    float or ndarray
        Information in nats, at most `binary_entropy`; about π(1 − π) μ²/2 for a small mu.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Cuff and Yu (2016), for mutual information as a measure of privacy; the integral is its definition.
    https://arxiv.org/abs/1608.03677

    Examples
    --------
    >>> round(gaussian_binary_mutual_information(1.0), 6)
    0.111421
    """
    distance, chance = np.broadcast_arrays(
        check.at_least("mu", mu, 0, infinite=True), check.probability("prior", prior)
    )
    return plain(_bit(distance, chance, _GAUSSIAN_TOLD, gaussian_bit))


def laplace_binary_mutual_information(epsilon: npt.ArrayLike, *, prior: npt.ArrayLike = 0.5) -> Numbers:
    r"""Return what a Laplace release says of a bit that moves its centre by epsilon scales; exact.

    .. math:: \pi\,D(P_1\|M) + (1 - \pi)\,D(P_0\|M), \qquad P_i \text{ Laplace at } i\Delta, \quad
              \varepsilon = \Delta/b

    Parameters
    ----------
    epsilon : array_like
        Sensitivity over scale under the declared neighbouring relation, nats, >= 0; inf tells the bit.
    prior : array_like
        Probability that the bit is 1 (the record is in), in [0, 1].

    Returns
    -------
    float or ndarray
        Information in nats, below that of randomised response at the same epsilon.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Cuff and Yu (2016), for mutual information as a measure of privacy; the integral is its definition.
    https://arxiv.org/abs/1608.03677

    Examples
    --------
    >>> round(laplace_binary_mutual_information(1.0), 6)
    0.08852
    """
    distance, chance = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, 0, infinite=True), check.probability("prior", prior)
    )
    return plain(_bit(distance, chance, _LAPLACE_TOLD, laplace_bit))


def publication_mutual_information(publish_probability: npt.ArrayLike, *, entropy: npt.ArrayLike) -> Numbers:
    r"""Return what a mechanism says that publishes all the data with some probability, and else nothing; exact.

    .. math:: I = p\,H

    It is (0, p)-DP and not (ε, δ)-DP for any δ < p, however large ε is: a small delta bounds no information, as H
    has no bound.

    Parameters
    ----------
    publish_probability : array_like
        Probability p of publishing, in [0, 1].
    entropy : array_like
        Entropy H of the data, nats, finite and >= 0.

    Returns
    -------
    float or ndarray
        Information in nats.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Shannon (1948): the erasure channel; elementary.

    Examples
    --------
    >>> round(publication_mutual_information(0.01, entropy=64 * 0.6931471805599453), 4)
    0.4436
    """
    chance = check.probability("publish_probability", publish_probability)
    with np.errstate(under="ignore"):
        return plain(chance * check.at_least("entropy", entropy, 0))


def posterior_from_log_ratio(log_ratio: npt.ArrayLike, *, prior: npt.ArrayLike) -> Numbers:
    r"""Return the posterior of a hypothesis from its prior and the log likelihood ratio, by Bayes' rule; exact.

    .. math:: \frac{\pi e^{\ell}}{\pi e^{\ell} + 1 - \pi}

    Parameters
    ----------
    log_ratio : array_like
        Log likelihood of the hypothesis less that of its alternative, nats, finite; at most ε under pure DP.
    prior : array_like
        Probability of the hypothesis, in [0, 1].

    Returns
    -------
    float or ndarray
        Posterior, in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Bayes (1763), as odds; elementary.

    Examples
    --------
    >>> round(posterior_from_log_ratio(1.0, prior=0.5), 6)
    0.731059
    """
    evidence, chance = check.finite("log_ratio", log_ratio), check.probability("prior", prior)
    with np.errstate(under="ignore"):
        shrink = np.exp(-np.abs(evidence))
        weight = np.where(evidence < 0, chance * shrink, chance)
        against = np.where(evidence < 0, 1 - chance, (1 - chance) * shrink)
        total = weight + against
        return plain(np.where(total > 0, weight / np.where(total > 0, total, 1.0), chance))


def _bit(
    distance: FloatArray, prior: FloatArray, told: float, rule: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Return the information by a rule for flat arrays inside its range, and its ends: nothing, or the entropy."""
    less = np.minimum(prior, 1 - prior)  # the law with the bit's two values exchanged is a mirror image
    inner = (distance > 0) & (distance < told) & (less > 0)
    result = np.where(distance > 0, np.asarray(binary_entropy(prior)), 0.0)
    if inner.any():
        with np.errstate(over="ignore", under="ignore"):
            result[inner] = rule(distance[inner], less[inner])
    return result
