"""What releases cost together whose guarantees differ: each is (epsilon_i, delta_i)-DP.

The guarantees hold under one neighbouring relation, and so does what is said of all together. The releases may be
chosen adaptively, as long as their guarantees are fixed beforehand.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._differing import Releases, differing
from dpviz.accounting.guarantees import kairouz_form, times
from dpviz.accounting.optimal import kept_delta, room_left


def basic_heterogeneous(epsilons: npt.ArrayLike, *, deltas: npt.ArrayLike = 0.0) -> tuple[Numbers, Numbers]:
    r"""Return the sums of the epsilons and of the deltas; a bound.

    .. math:: \Bigl(\sum_i \varepsilon_i,\; \min\bigl(1, \sum_i \delta_i\bigr)\Bigr)

    Parameters
    ----------
    epsilons : array_like, shape (..., releases)
        Of each release, nats, finite and >= 0.
    deltas : array_like, broadcast with `epsilons`
        Of each release, in [0, 1].

    Returns
    -------
    epsilon, delta : float or ndarray, shape (...)
        Of all together. `composed_heterogeneous_delta` is less than the sum of the deltas.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `epsilons` is a single number.

    References
    ----------
    Dwork and Roth (2014), Theorem 3.16. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> basic_heterogeneous([0.5, 0.25, 1.0], deltas=0.125)
    (1.75, 0.375)
    """
    each, slack = _along("epsilons", check.at_least("epsilons", epsilons, 0), check.probability("deltas", deltas))
    with np.errstate(over="ignore", under="ignore"):
        return plain(each.sum(axis=-1)), plain(np.minimum(slack.sum(axis=-1), 1.0))


def composed_heterogeneous_delta(deltas: npt.ArrayLike, *, slack: npt.ArrayLike = 0.0) -> Numbers:
    r"""Return what the deltas of releases come to together; exact.

    .. math:: 1 - (1 - \tilde\delta) \prod_i (1 - \delta_i)

    Parameters
    ----------
    deltas : array_like, shape (..., releases)
        Of each release, in [0, 1].
    slack : array_like, shape (...)
        One more delta, in [0, 1].

    Returns
    -------
    float or ndarray, shape (...)
        Delta in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `deltas` is a single number.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.5. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> composed_heterogeneous_delta([0.5, 0.25])
    0.625
    """
    (each,) = _along("deltas", check.probability("deltas", deltas))
    spare = check.probability("slack", slack)
    with np.errstate(divide="ignore", under="ignore"):
        return plain(-np.expm1(np.log1p(-each).sum(axis=-1) + np.log1p(-spare)))


def advanced_heterogeneous(
    epsilons: npt.ArrayLike, *, deltas: npt.ArrayLike = 0.0, slack: npt.ArrayLike
) -> tuple[Numbers, Numbers]:
    r"""Return a closed form for differing guarantees, at an added delta of `slack`; a bound.

    .. math:: \min\Bigl\{\sum_i \varepsilon_i,\;
              m + \sqrt{2 v \ln\bigl(e + \sqrt{v}/\tilde\delta\bigr)},\; m + \sqrt{2 v \ln(1/\tilde\delta)}\Bigr\},
              \qquad m = \sum_i \varepsilon_i \tanh(\varepsilon_i/2), \quad v = \sum_i \varepsilon_i^2

    at the delta of `composed_heterogeneous_delta`, 1 − (1 − slack) ∏ (1 − delta_i).

    Parameters
    ----------
    epsilons : array_like, shape (..., releases)
        Of each release, nats, finite and >= 0.
    deltas : array_like, broadcast with `epsilons`
        Of each release, in [0, 1].
    slack : array_like, shape (...)
        The added delta, in [0, 1]; 0 leaves the sum of the epsilons.

    Returns
    -------
    epsilon, delta : float or ndarray, shape (...)
        Of all together; the epsilon in nats.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `epsilons` is a single number.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.5. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> epsilon, delta = advanced_heterogeneous([0.1] * 50 + [0.2] * 10, slack=1e-6)
    >>> round(epsilon, 4), delta
    (5.4264, 1e-06)
    """
    each, share = _along("epsilons", check.at_least("epsilons", epsilons, 0), check.probability("deltas", deltas))
    spare = check.probability("slack", slack)
    with np.errstate(over="ignore", under="ignore"):
        mean = times(each, np.tanh(each / 2)).sum(axis=-1)
        bound = kairouz_form(each.sum(axis=-1), mean, _norm(each), spare)
    both = np.broadcast_arrays(bound, composed_heterogeneous_delta(share, slack=slack))
    return plain(both[0]), plain(both[1])


def optimal_heterogeneous_delta(
    composed_epsilon: npt.ArrayLike, *, epsilons: npt.ArrayLike, deltas: npt.ArrayLike = 0.0, counts: npt.ArrayLike = 1
) -> Numbers:
    r"""Return the least delta of releases that are (epsilon_i, delta_i)-DP, adaptively chosen or not; exact.

    .. math:: 1 - (1 - S) \prod_i (1 - \delta_i), \qquad
              S = \sum_{\text{loss} > \varepsilon_g} P(\text{loss}) \bigl(1 - e^{\varepsilon_g - \text{loss}}\bigr)

    over the outcomes of one randomised response for each release; the loss is Σ ±epsilon_i. Computing it is
    #P-complete, so it is for few releases, or for many of few kinds: equal epsilons are merged, and the
    outcomes that remain are at most 2**22.

    Parameters
    ----------
    composed_epsilon : array_like
        Privacy loss bound of all together, nats, >= 0; inf leaves the deltas alone.
    epsilons : array_like, shape (kinds,)
        Of each release, nats, finite and >= 0.
    deltas : array_like, shape () or (kinds,)
        Of each release, in [0, 1].
    counts : array_like, shape () or (kinds,)
        How many releases there are of each kind, whole numbers >= 0.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], of the shape of `composed_epsilon`.

    Raises
    ------
    DomainError
        If an argument is out of its range, or there are too many outcomes: then compose numerically.
    TypeError
        If `epsilons` is not a list of numbers.

    References
    ----------
    Murtagh and Vadhan (2016), Theorem 1.5. https://arxiv.org/abs/1507.03113

    Examples
    --------
    >>> round(optimal_heterogeneous_delta(0.3, epsilons=[0.1, 0.2, 0.5]), 9)
    0.126831572
    """
    wanted = check.at_least("composed_epsilon", composed_epsilon, 0, infinite=True)
    releases = _releases(epsilons, deltas, counts)
    profile = differing(releases).delta(wanted)
    with np.errstate(divide="ignore", under="ignore"):
        log_kept = math.fsum(times(releases.count, np.log1p(-releases.delta)))
    return plain(kept_delta(np.asarray(log_kept), profile))


def optimal_heterogeneous_epsilon(
    composed_delta: npt.ArrayLike, *, epsilons: npt.ArrayLike, deltas: npt.ArrayLike = 0.0, counts: npt.ArrayLike = 1
) -> Numbers:
    """Return the least epsilon of releases that are (epsilon_i, delta_i)-DP, adaptively chosen or not; exact.

    The inverse of `optimal_heterogeneous_delta`, solved in closed form between two outcomes.

    Parameters
    ----------
    composed_delta : array_like
        Additive slack of all together, in [0, 1].
    epsilons : array_like, shape (kinds,)
        Of each release, nats, finite and >= 0.
    deltas : array_like, shape () or (kinds,)
        Of each release, in [0, 1].
    counts : array_like, shape () or (kinds,)
        How many releases there are of each kind, whole numbers >= 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, at most the sum; inf where `composed_delta` is less than the releases' own deltas make
        together.

    Raises
    ------
    DomainError
        If an argument is out of its range, or there are too many outcomes: then compose numerically.
    TypeError
        If `epsilons` is not a list of numbers.

    References
    ----------
    Murtagh and Vadhan (2016), Theorem 1.5. https://arxiv.org/abs/1507.03113

    Examples
    --------
    >>> round(optimal_heterogeneous_epsilon(1e-6, epsilons=[0.1, 0.2], counts=[50, 10]), 6)
    4.353815
    """
    wanted = check.probability("composed_delta", composed_delta)
    releases = _releases(epsilons, deltas, counts)
    room = room_left(wanted, *releases.spent())
    with np.errstate(over="ignore"):
        total = np.sum(releases.epsilon * releases.count)
    result = np.where(room < 0, np.inf, np.where(room == 0, total, 0.0))
    inner = (room > 0) & (room < 1)
    result[inner] = differing(releases).epsilon_at(room[inner])
    return plain(result)


def _along(name: str, *values: FloatArray) -> tuple[FloatArray, ...]:
    """Return arrays of one shape, with releases along their last axis."""
    if values[0].ndim == 0:
        raise TypeError(f"{name} must have a number for each release, but got one number")
    return np.broadcast_arrays(*values)


def _norm(values: FloatArray) -> FloatArray:
    """Return √Σ values² along the last axis; no square overflows."""
    largest = np.max(values, axis=-1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    root: FloatArray = largest * np.sqrt(np.sum((values / scale[..., None]) ** 2, axis=-1))
    return root


def _releases(epsilons: npt.ArrayLike, deltas: npt.ArrayLike, counts: npt.ArrayLike) -> Releases:
    each, slack, count = np.broadcast_arrays(
        check.at_least("epsilons", epsilons, 0), check.probability("deltas", deltas), check.whole("counts", counts, 0)
    )
    if np.ndim(epsilons) != 1 or each.ndim != 1:
        raise TypeError(f"epsilons must be a list of numbers, but got an array of shape {np.shape(epsilons)}")
    return Releases(each, slack, count)
