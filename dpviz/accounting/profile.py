r"""From privacy profiles to trade-off functions and back: two pictures of one pair of distributions.

For neighbours with output laws P and Q, the profile is δ(ε) = max over events of P(S) − e^ε Q(S), and the
trade-off function f takes the false alarm rate Q(S) to the least miss rate 1 − P(S). Each is the other's convex
conjugate:

.. math:: f(\alpha) = \sup_{\varepsilon \in \mathbb{R}} 1 - \delta(\varepsilon) - e^{\varepsilon}\alpha, \qquad
          \delta(\varepsilon) = \sup_{\alpha} 1 - f(\alpha) - e^{\varepsilon}\alpha

The neighbouring relation, and the order of the pair, are those of the curve that goes in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import BoolArray, DomainError, FloatArray, Numbers, plain
from dpviz.accounting._terms import rest_of_one, times_exp
from dpviz.accounting.piecewise_tradeoff import masses
from dpviz.accounting.tradeoff import approximate_dp_tradeoff

Curve = Callable[[FloatArray], npt.ArrayLike]

_END = 709.0  # e^709 is the last whole power that a float64 holds
_LEAST = 1e-13
_GRID = np.concatenate([-np.geomspace(_END, _LEAST, 240), [0.0], np.geomspace(_LEAST, _END, 240)])
_GOLDEN = (3 - np.sqrt(5)) / 2
_ROUNDING = np.finfo(np.float64).eps
_MOST_STEPS = 120
_BLOCK = 4096


def hockey_stick_divergence(p: npt.ArrayLike, *, q: npt.ArrayLike, epsilon: npt.ArrayLike) -> Numbers:
    r"""Return the hockey-stick divergence of two discrete laws at each epsilon; exact.

    .. math:: \sum_i \max(p_i - e^{\varepsilon} q_i,\; 0)

    It is the least delta of the pair in this order: the same as the profile of `discrete_tradeoff(p, q)`, but a
    sum of positive terms, so that a tiny one keeps its digits.

    Parameters
    ----------
    p, q : array_like, shape (n,)
        Probabilities of the outputs on the two neighbours, >= 0, each summing to 1 within 1e-9.
    epsilon : array_like
        Privacy loss bounds, nats, of any sign; inf leaves the mass of what `q` cannot give.

    Returns
    -------
    float or ndarray
        Divergence in [0, 1], of the shape of `epsilon`.

    Raises
    ------
    DomainError
        If a probability or an epsilon is out of its range.

    References
    ----------
    Sason and Verdú (2016), Section VII; Balle, Barthe and Gaboardi (2018), Theorem 1.
    https://arxiv.org/abs/1807.01647

    Examples
    --------
    >>> hockey_stick_divergence([0.75, 0.25], q=[0.25, 0.75], epsilon=[0.0, 2.0])
    array([0.5, 0. ])
    """
    upper, lower = masses("p", p), masses("q", q)
    if upper.shape != lower.shape:
        raise DomainError("q", f"as long as p, {upper.size} outputs", lower.size)
    loss = check.at_least("epsilon", epsilon, -np.inf, infinite=True)
    return plain(np.maximum(upper - times_exp(lower, loss[..., np.newaxis]), 0.0).sum(axis=-1))


def tradeoff_from_profile(alpha: npt.ArrayLike, *, delta: Curve, reversed_delta: Curve | None = None) -> Numbers:
    r"""Return the trade-off function of a pair whose privacy profile is known; exact but for rounding.

    Whatever epsilon the search tries, its line lies below the curve: an error can only make the attacker stronger.

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    delta : callable
        Profile, from an array of epsilons >= 0 to one of deltas, such as `Mechanism.delta`. It is asked for epsilons
        up to 709, beyond which only an alpha or a beta below 1e-307 could look.
    reversed_delta : callable, optional
        Profile of the pair in the other order, for a pair that is not symmetric; it gives the part with slope above
        −1, since δ(−ε) = 1 − e^{−ε} + e^{−ε} δ_reversed(ε). Left out, `delta` serves for both, and the curve is
        its own inverse.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 − alpha], to about 1e-15 of 1 where the slope is below −1, and beyond it relative to itself.

    Raises
    ------
    DomainError
        If an alpha, or a value of a profile, is outside [0, 1].

    References
    ----------
    Dong, Roth and Su (2022), Proposition 2.12. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> round(tradeoff_from_profile(0.05, delta=Gaussian(sigma=1.0).delta), 4)
    0.7405
    """
    level = check.probability("alpha", alpha)
    other = delta if reversed_delta is None else reversed_delta

    def missed(loss: FloatArray) -> FloatArray:
        size, is_up = np.abs(loss), loss >= 0
        values = np.zeros_like(size)
        for part, curve in ((is_up, delta), (~is_up, other)):
            if part.any():
                values[part] = check.probability("delta(epsilon)", curve(size[part]))
        return values

    def height(loss: FloatArray, missing: FloatArray, rate: FloatArray) -> FloatArray:
        steep = rest_of_one(missing, times_exp(rate, np.maximum(loss, 0.0)))
        return np.where(loss >= 0, steep, np.exp(np.minimum(loss, 0.0)) * rest_of_one(rate, missing))

    def noise(loss: FloatArray, rate: FloatArray) -> FloatArray:
        return _ROUNDING * np.where(loss >= 0, 1.0, np.exp(np.minimum(loss, 0.0)) * (1 - rate))

    return plain(np.maximum(_highest(missed, height, noise, level), 0.0))


def profile_from_tradeoff(epsilon: npt.ArrayLike, *, tradeoff: Curve) -> Numbers:
    r"""Return the privacy profile of a pair whose trade-off function is known; exact but for rounding.

    .. math:: \delta(\varepsilon) = \sup_{\alpha} 1 - f(\alpha) - e^{\varepsilon}\alpha = 1 + f^*(-e^{\varepsilon})

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds, nats, finite, of any sign.
    tradeoff : callable
        Trade-off function f, from an array of alphas to one of betas. A symmetric one covers both orders of the
        neighbours; else this is the profile of the order whose false alarms alpha counts.

    Returns
    -------
    float or ndarray
        Delta in [0, 1], to about 1e-15 of 1: a smaller one drowns in 1 − f.

    Raises
    ------
    DomainError
        If an epsilon is not finite, or a value of `tradeoff` is outside [0, 1].

    References
    ----------
    Dong, Roth and Su (2022), Proposition 2.12. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> released = Gaussian(sigma=1.0)
    >>> round(profile_from_tradeoff(1.0, tradeoff=released.beta), 4), round(released.delta(1.0), 4)
    (0.1269, 0.1269)
    """
    loss = check.finite("epsilon", epsilon)

    def missed(log_odds: FloatArray) -> FloatArray:
        return check.probability("tradeoff(alpha)", tradeoff(expit(log_odds)))

    def height(log_odds: FloatArray, missing: FloatArray, at: FloatArray) -> FloatArray:
        return rest_of_one(missing, times_exp(expit(log_odds), at))

    return plain(
        np.maximum(
            _highest(missed, height, lambda x, _: np.full_like(x, _ROUNDING), loss),
            np.maximum(-np.expm1(np.minimum(loss, 0.0)), 0.0),
        )
    )


def tradeoff_from_guarantees(alpha: npt.ArrayLike, *, epsilons: npt.ArrayLike, deltas: npt.ArrayLike) -> Numbers:
    r"""Return what a finite list of (epsilon, delta) guarantees promises together; a bound, below the true curve.

    .. math:: \max_i f_{\varepsilon_i, \delta_i}(\alpha)

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    epsilons, deltas : array_like, shape (n,)
        The guarantees, all of one mechanism under one neighbouring relation and in both orders of neighbours:
        epsilons finite and >= 0, deltas in [0, 1].

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
    Dong, Roth and Su (2022), Proposition 2.12 (each guarantee is a pair of supporting lines).

    Examples
    --------
    >>> round(tradeoff_from_guarantees(0.1, epsilons=[0.0, 1.0], deltas=[0.3829, 0.1269]), 4)
    0.6013
    """
    level = check.probability("alpha", alpha)
    losses, slacks = check.at_least("epsilons", epsilons, 0), check.probability("deltas", deltas)
    if losses.ndim != 1 or losses.shape != slacks.shape or not losses.size:
        raise DomainError("deltas", "a row, one for each of epsilons", f"shapes {losses.shape} and {slacks.shape}")
    promised = approximate_dp_tradeoff(level[..., np.newaxis], epsilon=losses, delta=slacks)
    return plain(np.asarray(promised).max(axis=-1))


def _highest(
    curve: Callable[[FloatArray], FloatArray],
    height: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    noise: Callable[[FloatArray, FloatArray], FloatArray],
    given: FloatArray,
) -> FloatArray:
    """Return the greatest of height(x, curve(x), given) over real x, for a height with one peak in x.

    One row of x, shared by all, finds the neighbours between which each peak lies. They then close in on it until
    all three are as high as each other to within `noise`, the rounding of a height, or are neighbouring doubles.
    """
    blocks = [given.ravel()[i : i + _BLOCK] for i in range(0, given.size, _BLOCK)]
    found = [_highest_block(curve, height, noise, block) for block in blocks]
    return np.concatenate([*found, np.empty(0)]).reshape(given.shape)


def _highest_block(
    curve: Callable[[FloatArray], FloatArray],
    height: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    noise: Callable[[FloatArray, FloatArray], FloatArray],
    flat: FloatArray,
) -> FloatArray:
    with np.errstate(under="ignore"):
        table = height(_GRID[:, np.newaxis], curve(_GRID)[:, np.newaxis], flat)
        peak = table.argmax(axis=0)
        best: FloatArray = table.max(axis=0)
        active = np.flatnonzero((peak > 0) & (peak < _GRID.size - 1))
        around = peak[active] + np.array([[-1], [0], [1]])
        x, y, width = _GRID[around], table[around, active], np.full(active.size, np.inf)
        for step in range(_MOST_STEPS):
            rise = y[1] - np.minimum(y[0], y[2])
            rounding = noise(x[1], flat[active])
            is_open = (rise > rounding) & (x[2] - x[0] > 4 * np.spacing(np.abs(x[1])))
            active, x, y, width = active[is_open], x[:, is_open], y[:, is_open], width[is_open]
            rounding = rounding[is_open]
            if not active.size:
                break
            new = _next(x, y, rounding, x[2] - x[0] > width / 2)
            width = np.where(step % 2 == 0, x[2] - x[0], width)
            x, y = _closer(x, y, new, height(new, curve(new), flat[active]))
            best[active] = y[1]
    return best


def _next(x: FloatArray, y: FloatArray, noise: FloatArray, is_slow: BoolArray) -> FloatArray:
    """Return where to look next: the top of the parabola through three points, or the golden section.

    A top that falls on the middle point itself is moved into the wider side by what its curvature makes as small
    as the noise, so that both ends close in.
    """
    before, after = x[1] - x[0], x[2] - x[1]
    up, down = (y[1] - y[0]) / before, (y[1] - y[2]) / after
    bend = (up + down) / (before + after)
    move = (up * after - down * before) / (before + after) / (2 * bend)
    outward = np.where(after > before, 1.0, -1.0)
    reach = np.maximum(np.sqrt(noise / bend) / 2, np.spacing(np.abs(x[1])))
    move = np.where(np.abs(move) < reach, outward * np.minimum(reach, np.maximum(before, after) / 2), move)
    golden = outward * _GOLDEN * np.maximum(before, after)
    new = x[1] + np.where(is_slow, golden, move)
    is_inside = (new > x[0]) & (new < x[2]) & (new != x[1])
    chosen: FloatArray = np.where(is_inside, new, x[1] + golden)
    return chosen


def _closer(x: FloatArray, y: FloatArray, new: FloatArray, at_new: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the three points that enclose the peak when one more is known."""
    is_higher, is_left = at_new > y[1], new < x[1]
    points, heights = (x[0], x[1], x[2], new), (y[0], y[1], y[2], at_new)
    first = np.where(is_left, np.where(is_higher, 0, 3), np.where(is_higher, 1, 0))
    last = np.where(is_left, np.where(is_higher, 1, 2), np.where(is_higher, 2, 3))
    chosen = first, np.where(is_higher, 3, 1), last
    return np.stack([np.choose(c, points) for c in chosen]), np.stack([np.choose(c, heights) for c in chosen])
