"""From an accuracy that is wanted to the most noise that still has it; what that costs, the mechanisms say.

The noise is that of one answer, whatever its sensitivity, so no neighbouring relation enters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import erf, erfc, erfinv, ndtri

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import BoolArray, DomainError, FloatArray, Numbers, plain
from dpviz.accounting._search import IntArray, least_float


def sigma_for_accuracy(half_width: npt.ArrayLike, *, confidence: npt.ArrayLike) -> Numbers:
    r"""Return the greatest sigma with which Gaussian noise stays within ± half_width; exact.

    .. math:: P(|Z| \le h) = \mathrm{erf}\bigl(h/(\sqrt 2\,\sigma)\bigr) \ge c

    Parameters
    ----------
    half_width : array_like
        Greatest error h that is accepted, query units, finite and > 0.
    confidence : array_like
        Probability c with which it must be kept, in (0, 1).

    Returns
    -------
    float or ndarray
        Sigma, query units: the last float64 at which the computed probability is at least `confidence`.

    Raises
    ------
    DomainError
        If an argument is out of its range, or sigma is not a finite float64 > 0.

    References
    ----------
    Elementary: the normal quantile.

    Examples
    --------
    A count to within ± 10 in 95 of 100 answers, and the epsilon that each such answer costs at delta = 1e-6:

    >>> from dpviz.accounting.composition import exact_epsilon
    >>> sigma = sigma_for_accuracy(10.0, confidence=0.95)
    >>> round(sigma, 4), round(exact_epsilon(count=1, sigma=sigma, delta=1e-6), 4)
    (5.1021, 0.8162)
    """
    width, level = _width_and_level(half_width, confidence)
    quantile = np.where(level < 0.5, np.sqrt(2) * erfinv(np.minimum(level, 0.5)), -ndtri((1 - level) / 2))

    def fails(sigma: FloatArray, which: IntArray) -> BoolArray:
        reach = width.ravel()[which] / sigma / np.sqrt(2)
        return _is_short(erf(reach), erfc(reach), level.ravel()[which])

    return _greatest(fails, "sigma", width, quantile)


def scale_for_accuracy(half_width: npt.ArrayLike, *, confidence: npt.ArrayLike) -> Numbers:
    r"""Return the greatest scale with which Laplace noise stays within ± half_width; exact.

    .. math:: P(|Z| \le h) = 1 - e^{-h/b} \ge c

    Parameters
    ----------
    half_width : array_like
        Greatest error h that is accepted, query units, finite and > 0.
    confidence : array_like
        Probability c with which it must be kept, in (0, 1).

    Returns
    -------
    float or ndarray
        Scale b, query units: the last float64 at which the computed probability is at least `confidence`.

    Raises
    ------
    DomainError
        If an argument is out of its range, or the scale is not a finite float64 > 0.

    References
    ----------
    Elementary: the exponential law of the size of Laplace noise.

    Examples
    --------
    A count to within ± 10 in 95 of 100 answers, and the epsilon that each such answer costs:

    >>> from dpviz.accounting.laplace import Laplace
    >>> scale = scale_for_accuracy(10.0, confidence=0.95)
    >>> round(scale, 4), round(Laplace(scale).pure_epsilon, 4)
    (3.3381, 0.2996)
    """
    width, level = _width_and_level(half_width, confidence)

    def fails(scale: FloatArray, which: IntArray) -> BoolArray:
        reach = width.ravel()[which] / scale
        return _is_short(-np.expm1(-reach), np.exp(-reach), level.ravel()[which])

    return _greatest(fails, "scale", width, -np.log1p(-level))


def _width_and_level(half_width: npt.ArrayLike, confidence: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    width = check.positive("half_width", half_width)
    level = check.probability("confidence", confidence, open_low=True, open_high=True)
    both = np.broadcast_arrays(width, level)
    return both[0], both[1]


def _is_short(inside: FloatArray, outside: FloatArray, level: FloatArray) -> BoolArray:
    """Return where the probability is below the level, by the lesser of it and its complement."""
    return np.where(level < 0.5, inside < level, outside > 1 - level)


def _greatest(
    fails: Callable[[FloatArray, IntArray], BoolArray], name: str, width: FloatArray, quantile: FloatArray
) -> Numbers:
    """Return the last float64 that does not fail; it is width/quantile but for its last digits."""
    with np.errstate(over="ignore", under="ignore"):
        start = width / quantile
        if not np.all(np.isfinite(start) & (start > 0)):
            raise DomainError(f"the {name} for this accuracy", "a finite float64 > 0", float(np.max(start)))
        least = least_float(fails, start.ravel())
    return plain(np.nextafter(least, 0.0).reshape(width.shape))
