r"""Many Laplace releases of the same pure epsilon, exactly: their profile, its inverse and their trade-off curve.

Each of the `count` releases adds Laplace noise to a query of L1 sensitivity Δ under the neighbouring relation that
the caller declares, so that `pure_epsilon` = Δ/b is the same for all; the queries may be chosen adaptively. The law
of the summed privacy loss is computed from positive terms only (`_laplace_cells`), so each number is exact up to
rounding, which the two brackets bound, also where delta is too small for a float64. It is the same law for both
orders of the pair of neighbours.

The work grows with count² · pure_epsilon and with pure_epsilon; `laplace_composition_is_fit` says where it is done.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check, _laplace_cells as cells, _laplace_curve as curve
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain

_LEAST_EPSILON, _LARGEST_EPSILON = 1e-290, 1e3
_MOST_COUNT = 200_000


def laplace_composition_is_fit(pure_epsilon: npt.ArrayLike, *, count: npt.ArrayLike) -> bool | npt.NDArray[np.bool_]:
    """Return whether the functions here take these releases: at most a few tenths of a second for each law.

    Where they do not, count² · pure_epsilon is large, and the numeric composition of any ledger does the same well:
    the more releases, the smoother their law.

    Parameters
    ----------
    pure_epsilon : array_like
        Pure privacy loss bound of each release, nats, finite and >= 0.
    count : array_like
        Number of releases, a whole number >= 0.

    Returns
    -------
    bool or ndarray
        True where the exact law is computed.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the number of products that one law takes.

    Examples
    --------
    >>> laplace_composition_is_fit(0.1, count=[10, 1000, 100_000])
    array([ True,  True, False])
    """
    each, releases = np.broadcast_arrays(
        check.at_least("pure_epsilon", pure_epsilon, 0), check.whole("count", count, 0)
    )
    fit = np.array([_is_fit(s, k) for s, k in zip(each.ravel(), releases.ravel(), strict=True)], dtype=bool)
    return fit.reshape(each.shape) if each.ndim else bool(fit[0])


def laplace_composed_delta(epsilon: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike) -> Numbers:
    r"""Return the privacy profile of `count` Laplace releases, the least delta for each epsilon; exact.

    .. math:: \delta(\varepsilon) = P(L > \varepsilon) - e^{\varepsilon}\,Q(L > \varepsilon)

    where L, the sum of the releases' losses, is a mixture of atoms on ks, (k − 2)s, …, −ks and of B-splines
    between them.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, of either sign; inf gives 0 and -inf gives 1.
    pure_epsilon : array_like
        Pure privacy loss bound s = Δ/b of each release, Δ its L1 sensitivity, nats, finite and >= 0.
    count : array_like
        Number of fresh releases k, a whole number >= 0; no release gives max(0, 1 − e^epsilon).

    Returns
    -------
    float or ndarray
        Delta in [0, 1], falling as `epsilon` grows; 0 from count · pure_epsilon on.

    Raises
    ------
    DomainError
        If an argument is out of its range, or the releases are more than `laplace_composition_is_fit` takes.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.5 (the profile of a product); the B-splines are Schoenberg's (1946),
    in the recurrence of de Boor (1972).

    Examples
    --------
    >>> round(laplace_composed_delta(3.0, pure_epsilon=0.1, count=100), 12)
    0.001171174122
    """
    with np.errstate(under="ignore"):
        return plain(np.exp(_on_each_law(curve.log_delta, _signed("epsilon", epsilon), pure_epsilon, count)[0]))


def laplace_composed_log_delta(epsilon: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike) -> Numbers:
    """Return the natural log of the composed profile, also where delta is too small for a float64; exact.

    Parameters
    ----------
    epsilon, pure_epsilon, count : array_like
        As for `laplace_composed_delta`; the pure epsilon is that of the L1 sensitivity.

    Returns
    -------
    float or ndarray
        Log delta <= 0; -inf from count · pure_epsilon on.

    Raises
    ------
    DomainError
        As `laplace_composed_delta`.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.5.

    Examples
    --------
    >>> round(laplace_composed_log_delta(999.0, pure_epsilon=1.0, count=1000), 6)
    -655.087794
    """
    return plain(_on_each_law(curve.log_delta, _signed("epsilon", epsilon), pure_epsilon, count)[0])


def laplace_composed_epsilon(delta: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike) -> Numbers:
    """Return the least epsilon >= 0 of `count` Laplace releases for each delta; exact, the profile's inverse.

    Parameters
    ----------
    delta : array_like
        Additive slack, in [0, 1]. From delta(0) on, epsilon is exactly 0; at 0 it is count · pure_epsilon.
    pure_epsilon : array_like
        Pure privacy loss bound Δ/b of each release, Δ its L1 sensitivity, nats, finite and >= 0.
    count : array_like
        Number of fresh releases, a whole number >= 0.

    Returns
    -------
    float or ndarray
        Epsilon in nats, in [0, count · pure_epsilon]. Its relative error is that of delta over the profile's
        own slope: 1e-13, save next to delta(0) and where delta has no digits left below 1.

    Raises
    ------
    DomainError
        As `laplace_composed_delta`, or if a delta is outside [0, 1].

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.5; solved by Newton steps inside the cell that holds the answer.

    Examples
    --------
    >>> round(laplace_composed_epsilon(1e-6, pure_epsilon=0.1, count=10), 12)
    0.998978089447
    """
    slack = check.probability("delta", delta)
    return plain(_on_each_law(curve.epsilon, slack, pure_epsilon, count)[0])


def laplace_composed_tradeoff(alpha: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike) -> Numbers:
    r"""Return the trade-off function of `count` Laplace releases, the least type II error for each type I; exact.

    The curve (Q(L > ε), P(L ≤ ε)) as ε runs, with a straight piece of slope −e^ε wherever the loss has an atom.

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    pure_epsilon : array_like
        Pure privacy loss bound Δ/b of each release, Δ its L1 sensitivity, nats, finite and >= 0.
    count : array_like
        Number of fresh releases, a whole number >= 0.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 - alpha], convex and falling, and its own inverse.

    Raises
    ------
    DomainError
        As `laplace_composed_delta`, or if an alpha is outside [0, 1].

    References
    ----------
    Neyman and Pearson (1933); Dong, Roth and Su (2022), Section 3 (the product of trade-off functions).

    Examples
    --------
    >>> round(laplace_composed_tradeoff(0.05, pure_epsilon=0.1, count=10), 12)
    0.909526643958
    """
    level = check.probability("alpha", alpha)
    return plain(_on_each_law(curve.beta, level, pure_epsilon, count)[0])


def laplace_composed_delta_bracket(
    epsilon: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike
) -> tuple[Numbers, Numbers]:
    """Return two deltas between which the true one lies, whatever the rounding did; a bound on either side.

    All terms are positive, so each rounded step moves the result by at most its own share: the relative width is
    2^−53 times a bound on their number, enlarged tenfold for the interpolation inside a cell. It is 1e-12 to 1e-10;
    the error itself is a thousand times less.

    Parameters
    ----------
    epsilon, pure_epsilon, count : array_like
        As for `laplace_composed_delta`; the pure epsilon is that of the L1 sensitivity.

    Returns
    -------
    lower, upper : float or ndarray
        Deltas in [0, 1].

    Raises
    ------
    DomainError
        As `laplace_composed_delta`.

    References
    ----------
    Higham (2002), Section 3.1 (products and sums of positive numbers).

    Examples
    --------
    >>> lower, upper = laplace_composed_delta_bracket(3.0, pure_epsilon=0.1, count=100)
    >>> lower < laplace_composed_delta(3.0, pure_epsilon=0.1, count=100) < upper < lower * (1 + 1e-11)
    True
    """
    log_delta, error = _on_each_law(curve.log_delta, _signed("epsilon", epsilon), pure_epsilon, count)
    with np.errstate(under="ignore"):
        lower, upper = np.exp(log_delta - error), np.minimum(np.exp(log_delta + error), 1.0)
    return plain(lower), plain(upper)


def laplace_composed_epsilon_bracket(
    delta: npt.ArrayLike, *, pure_epsilon: npt.ArrayLike, count: npt.ArrayLike
) -> tuple[Numbers, Numbers]:
    """Return two epsilons between which the true one lies, whatever the rounding did; a bound on either side.

    Parameters
    ----------
    delta, pure_epsilon, count : array_like
        As for `laplace_composed_epsilon`; the pure epsilon is that of the L1 sensitivity.

    Returns
    -------
    lower, upper : float or ndarray
        Epsilons in nats, >= 0: those of the deltas at the ends of delta's own bracket.

    Raises
    ------
    DomainError
        As `laplace_composed_epsilon`.

    References
    ----------
    Higham (2002), Section 3.1 (products and sums of positive numbers).

    Examples
    --------
    >>> lower, upper = laplace_composed_epsilon_bracket(1e-6, pure_epsilon=0.1, count=10)
    >>> lower < laplace_composed_epsilon(1e-6, pure_epsilon=0.1, count=10) < upper < lower * (1 + 1e-11)
    True
    """
    slack = check.probability("delta", delta)
    epsilon = _on_each_law(curve.epsilon, slack, pure_epsilon, count)[0]
    error = _on_each_law(curve.log_delta, epsilon, pure_epsilon, count)[1]
    with np.errstate(under="ignore"):
        more, less = np.minimum(slack * np.exp(error), 1.0), slack * np.exp(-error)
    rounding = 1e-14 * epsilon
    lower = _on_each_law(curve.epsilon, more, pure_epsilon, count)[0] - rounding
    upper = _on_each_law(curve.epsilon, less, pure_epsilon, count)[0] + rounding
    return plain(np.maximum(lower, 0.0)), plain(upper)


def _signed(name: str, value: npt.ArrayLike) -> FloatArray:
    return check.at_least(name, value, -np.inf, infinite=True)


def _is_fit(pure_epsilon: float, count: float) -> bool:
    if pure_epsilon == 0 or count == 0:
        return True
    if not _LEAST_EPSILON <= pure_epsilon <= _LARGEST_EPSILON or count > _MOST_COUNT:
        return False
    return cells.work(pure_epsilon, int(count)) <= cells.MOST_WORK


def _on_each_law(
    compute: Callable[[FloatArray, float, int], tuple[FloatArray, FloatArray]],
    value: FloatArray,
    pure_epsilon: npt.ArrayLike,
    count: npt.ArrayLike,
) -> FloatArray:
    """Return what `compute` says of all values under each law (pure epsilon, count) at once: number and error."""
    each, releases = check.at_least("pure_epsilon", pure_epsilon, 0), check.whole("count", count, 0)
    value, each, releases = np.broadcast_arrays(value, each, releases)
    result = np.zeros((2, *value.shape))
    laws = set(zip(each.ravel().tolist(), releases.ravel().tolist(), strict=True)) if value.size else set()
    for s, k in laws:
        if not _is_fit(s, k):
            raise DomainError("count", "no more than laplace_composition_is_fit takes at this pure_epsilon", int(k))
        chosen = (each == s) & (releases == k)
        result[:, chosen] = compute(value[chosen], s, int(k))
    return result
