"""The least that k releases can be said to cost when all that is known of each is its (epsilon, delta).

It is exact: some mechanism (k randomised responses that now and then reveal everything) costs no less.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._binomial import log1p_rest, log_pmf, product
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._outcomes import DEEPEST, Index, outcomes
from dpviz.accounting.guarantees import times

LARGEST_ROOT = 8000.0
"""Up to this √count·epsilon there are few enough outcomes for every delta."""

_MARGIN = 45.0  # −log of what may be left out, beside what is looked for


def optimal_composition_delta(
    composed_epsilon: npt.ArrayLike, *, epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0, count: npt.ArrayLike
) -> Numbers:
    r"""Return the least delta of releases that are (epsilon, delta)-DP each, adaptively chosen or not; exact.

    .. math:: 1 - (1 - \delta)^k (1 - S), \qquad S = \sum_{l:\,(k - 2l)\varepsilon > \varepsilon_g}
              \binom{k}{l} \frac{e^{(k - l)\varepsilon} - e^{\varepsilon_g + l\varepsilon}}{(1 + e^\varepsilon)^k}

    Holds under the neighbouring relation that each release's guarantee is stated for.

    Parameters
    ----------
    composed_epsilon : array_like
        Privacy loss bound of all together, nats, >= 0; inf leaves the deltas alone, 1 − (1 − delta)^count.
    epsilon : array_like
        Of each release, nats, finite and >= 0; 0 leaves the deltas alone.
    delta : array_like
        Of each release, in [0, 1].
    count : array_like
        Number of releases, a whole number >= 0; 0 gives 0.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], good to 1e-12 of itself for every count up to 2**53.

    Raises
    ------
    DomainError
        If an argument is out of its range, or √count·epsilon is far above 8,000 (a composed epsilon of many
        millions) and too many outcomes matter.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(optimal_composition_delta(0.7, epsilon=0.3, count=8), 9)
    0.12826152
    """
    wanted, each, slack, releases = np.broadcast_arrays(
        check.at_least("composed_epsilon", composed_epsilon, 0, infinite=True),
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta),
        check.whole("count", count, 0),
    )
    profile = np.zeros(wanted.shape)
    with np.errstate(over="ignore"):
        inner = (each > 0) & (releases > 0) & (wanted <= 2 * each * releases) & np.isfinite(wanted)
    profile[inner] = _profile(wanted[inner], each[inner], releases[inner])
    with np.errstate(divide="ignore", under="ignore"):
        return plain(kept_delta(times(releases, np.log1p(-slack)), profile))


def optimal_composition_epsilon(
    composed_delta: npt.ArrayLike, *, epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0, count: npt.ArrayLike
) -> Numbers:
    """Return the least epsilon of releases that are (epsilon, delta)-DP each, adaptively chosen or not; exact.

    The inverse of `optimal_composition_delta`, solved in closed form between two outcomes. Holds under the
    neighbouring relation that each release's guarantee is stated for.

    Parameters
    ----------
    composed_delta : array_like
        Additive slack of all together, in [0, 1].
    epsilon : array_like
        Of each release, nats, finite and >= 0.
    delta : array_like
        Of each release, in [0, 1].
    count : array_like
        Number of releases, a whole number >= 0; 0 gives 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, from 0 to count·epsilon; inf where `composed_delta` is less than the releases' own deltas
        make together, 1 − (1 − delta)^count. Good to rounding; near a `composed_delta` of 1 to
        1e-16/(1 − composed_delta).

    Raises
    ------
    DomainError
        If an argument is out of its range, or √count·epsilon is far above 8,000 (a composed epsilon of many
        millions) and too many outcomes matter.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> round(optimal_composition_epsilon(1e-6, epsilon=0.1, count=100), 6)
    4.774568
    """
    wanted, each, slack, releases = np.broadcast_arrays(
        check.probability("composed_delta", composed_delta),
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta),
        check.whole("count", count, 0),
    )
    with np.errstate(divide="ignore", under="ignore"):
        room = room_left(wanted, *product(releases, slack), times(releases, log1p_rest(-slack)))
    with np.errstate(over="ignore"):
        result = np.where(room < 0, np.inf, np.where(room == 0, each * releases, 0.0))
    inner = (room > 0) & (room < 1) & (each > 0) & (releases > 0)
    result[inner] = _inverse(room[inner], each[inner], releases[inner])
    return plain(result)


def kept_delta(log_kept: FloatArray, profile: FloatArray) -> FloatArray:
    """Return 1 − e^log_kept (1 − profile), where e^log_kept is the chance that no delta strikes."""
    with np.errstate(divide="ignore", under="ignore"):
        return -np.expm1(log_kept + np.log1p(-np.minimum(profile, 1.0)))


def room_left(composed_delta: FloatArray, spent: FloatArray, rest: FloatArray, second: FloatArray) -> FloatArray:
    """Return 1 − (1 − composed_delta)/∏(1 − delta), negative where there is no room; without cancellation.

    The deltas are given by Σ delta = spent + rest and by Σ (log(1 − delta) + delta).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = -np.expm1(-((composed_delta - spent) - rest) + log1p_rest(-composed_delta) - second)
    return np.where((composed_delta == 1) | (spent == 0), composed_delta, room)


def _profile(composed_epsilon: FloatArray, epsilon: FloatArray, count: FloatArray) -> FloatArray:
    row, each, releases = _pairs(epsilon, count)
    mean = np.maximum(count / (1 + np.exp(np.minimum(epsilon, 690.0))), 1e-300)
    lies = np.clip(np.ceil((count - composed_epsilon / epsilon) / 2) - 2, 0.0, np.floor(mean))
    depth = np.zeros(each.shape)
    np.maximum.at(depth, row, _MARGIN - log_pmf(lies, lies - mean, count, mean))
    return _looked_up(row, each, releases, depth, composed_epsilon, is_inverse=False)


def _inverse(delta: FloatArray, epsilon: FloatArray, count: FloatArray) -> FloatArray:
    row, each, releases = _pairs(epsilon, count)
    depth = np.zeros(each.shape)
    np.maximum.at(depth, row, _MARGIN - np.log(delta))
    return _looked_up(row, each, releases, depth, delta, is_inverse=True)


def _pairs(epsilon: FloatArray, count: FloatArray) -> tuple[Index, FloatArray, FloatArray]:
    """Return which distinct pair each point has, and the distinct pairs."""
    if epsilon.size and np.all(epsilon == epsilon[0]) and np.all(count == count[0]):
        return np.zeros(epsilon.size, dtype=np.intp), epsilon[:1], count[:1]
    pairs, row = np.unique(np.stack([epsilon, count]), axis=1, return_inverse=True)
    return row.reshape(-1), pairs[0], pairs[1]


def _looked_up(
    row: Index, epsilon: FloatArray, count: FloatArray, depth: FloatArray, values: FloatArray, *, is_inverse: bool
) -> FloatArray:
    """Return the profile at composed epsilons, or its inverse at deltas; one pass for each table."""
    result = np.zeros(values.shape)
    if not values.size:
        return result
    place = np.zeros(epsilon.shape, dtype=np.intp)
    with np.errstate(under="ignore", over="ignore"):
        for chosen, table in outcomes(epsilon, count, np.minimum(depth, DEEPEST)):
            place[chosen] = np.arange(chosen.size)
            points = np.flatnonzero(np.isin(row, chosen))
            look_up = table.epsilon if is_inverse else table.delta
            result[points] = look_up(place[row[points]], values[points])
    return result
