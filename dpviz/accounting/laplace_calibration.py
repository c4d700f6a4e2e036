"""The least Laplace noise with which many releases meet one (epsilon, delta) target."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, Numbers, plain
from dpviz.accounting.laplace_composition import laplace_composed_epsilon, laplace_composed_log_delta

_MOST_STEPS = 200
_PRECISION = 4e-16


def calibrate_laplace_composed(
    epsilon: npt.ArrayLike, *, delta: npt.ArrayLike, count: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0
) -> Numbers:
    """Return the least scale with which `count` Laplace releases cost at most epsilon at delta; exact.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bound of all releases together, nats, finite and >= 0, and > 0 where delta is 0.
    delta : array_like
        Additive slack, in [0, 1).
    count : array_like
        Number of fresh releases, a whole number >= 1.
    sensitivity : array_like
        L1 sensitivity of each query under the declared neighbouring relation, query units, > 0.

    Returns
    -------
    float or ndarray
        Scale in query units. `laplace_composed_epsilon` at it never exceeds `epsilon`, and does within about
        1e-13 of it. Each different target takes some ten laws, of a few milliseconds each.

    Raises
    ------
    DomainError
        If an argument is out of its range, the scale is not a finite float64 > 0, or the releases are more than
        `laplace_composition_is_fit` takes.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.5 (the profile); delta rises with pure epsilon.

    Examples
    --------
    >>> round(calibrate_laplace_composed(1.0, delta=1e-6, count=100), 8)
    41.48748283
    """
    target, slack, releases, change = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta, open_high=True),
        check.whole("count", count, 1),
        check.positive("sensitivity", sensitivity),
    )
    if np.any((target == 0) & (slack == 0)):
        raise DomainError("epsilon", "a finite number > 0 where delta is 0", 0.0)
    points = zip(target.flat, slack.flat, releases.flat, change.flat, strict=True)
    return plain(np.array([_scale(*map(float, point)) for point in points]).reshape(target.shape))


def _scale(epsilon: float, delta: float, count: float, sensitivity: float) -> float:
    """Return sensitivity over the most pure epsilon, rounded until its own account is no more than asked."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        scale = float(np.float64(sensitivity) / _pure_epsilon(epsilon, delta, count))
    step = 0.0
    while 0 < scale < np.inf:
        spent = laplace_composed_epsilon(delta, pure_epsilon=sensitivity / scale, count=count)
        if spent <= epsilon:
            return scale
        step = max(2 * step, float(np.spacing(scale)))
        scale += step
    raise DomainError("sensitivity/epsilon", "a finite float64 > 0 for the scale", (sensitivity, epsilon))


def _pure_epsilon(epsilon: float, delta: float, count: float) -> float:
    """Return the pure epsilon at which log delta meets its target.

    It lies between that of delta = 0 and that of one release, and is closed in on by regula falsi in its log
    (Illinois: the end that stays has its distance halved).
    """
    low = epsilon / count
    high = low if delta == 0 or count == 1 else 2 * low
    if delta == 0:
        return low
    most = epsilon - 2 * float(np.log1p(-delta))
    if count == 1:
        return most

    def gap(pure: float) -> float:
        return float(laplace_composed_log_delta(epsilon, pure_epsilon=pure, count=count)) - float(np.log(delta))

    high = min(max(2 * low, delta / np.sqrt(count)), most)
    below, above = -np.inf, gap(high)
    while above < 0 and high < most:
        low, below = high, above
        high = min(2 * high, most)
        above = gap(high)
    if low == 0:
        low = min(delta / count, high / 2)
        below = gap(low)
    for _ in range(_MOST_STEPS):
        if high <= low * (1 + _PRECISION) or above <= 0:
            break
        is_finite = np.isfinite(below)
        part = -below / (above - below) if is_finite else 0.5
        middle = float(low * (high / low) ** min(max(part, 0.0), 1.0))
        middle = middle if low < middle < high else (low + high) / 2
        if not low < middle < high:
            break
        now = gap(middle)
        if now <= 0:
            low, below, above = middle, now, above / 2 if is_finite else above
        else:
            high, above, below = middle, now, below / 2
        if abs(now) <= 1e-14:
            break
    return low
