"""Where the Poisson-subsampled Gaussian's moments get their mass: panels of x on which an integrand is smooth.

With N0 = N(0, σ²), N1 = N(1, σ²) and w = (x − 1/2)/σ², the pair is N0 and r N0 with r = 1 − q + q e^w. A panel
is an interval on which one Gauss-Legendre rule of 20 points integrates every moment to rounding: short beside
the distance to the zeros of r, which lie at x* ± iπσ², and beside the curvature of the log integrand.
Panels that cannot matter are dropped by a bound, not by a guess.

All arrays are flat: one entry for each moment that is sought.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._exp_rest import exp_rest

IndexArray = npt.NDArray[np.intp]

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(20)
REACH = 11.0
"""Standard deviations around a peak that hold all but e^−60 of it."""
_MARGIN = 46.0  # what is e^−46 below the peak does not count
_CURVATURE, _DISTANCE = 2.5, 0.6  # what 20 points bear
_FIRST = 8  # panels of each owner to begin with
_MOST_PANELS = 512  # of one owner; more only where a log integrand beyond 1e16 is all rounding


@dataclass(frozen=True)
class Pair:
    """The two laws and the direction they are read in; `noise` and `probability` are flat arrays, 0 < q < 1."""

    noise: FloatArray
    probability: FloatArray
    is_remove: bool

    @property
    def variance(self) -> FloatArray:
        """σ², as far as it is a float64; where it is not, all is so far apart that it does not matter."""
        return np.square(np.minimum(self.noise, 1e150))

    def of(self, owner: IndexArray | BoolArray) -> Pair:
        """Return the pair of each owner."""
        return Pair(self.noise[owner], self.probability[owner], self.is_remove)

    def log_ratio(self, x: FloatArray) -> FloatArray:
        """Return log r, accurate relative to itself where it is near 0 and where r is."""
        with np.errstate(over="ignore", under="ignore"):
            exponent = (x - 0.5) / self.noise / self.noise
            log_weighted = exponent + np.log(self.probability)
            is_high = log_weighted > 0
            part = self.probability * np.expm1(np.where(is_high, 0.0, np.minimum(exponent, 700.0)))
            part = np.where(exponent > 700, np.exp(np.minimum(log_weighted, 0.0)), part)
            rest = (1 - self.probability) * np.exp(-np.where(is_high, log_weighted, 0.0))
            low = (1 - self.probability) + np.exp(np.where(is_high, 0.0, log_weighted))
            small = np.where(part < -0.5, np.log(low), np.log1p(np.maximum(part, -0.5)))
            log_ratio: FloatArray = np.where(is_high, log_weighted + np.log1p(rest), small)
        return log_ratio

    def share(self, x: FloatArray) -> FloatArray:
        """Return q e^w/r, the slope of log r in w."""
        with np.errstate(over="ignore"):
            shift = np.log(self.probability) - np.log1p(-self.probability)
            slope: FloatArray = expit((x - 0.5) / self.noise / self.noise + shift)
        return slope

    def centre(self) -> FloatArray:
        """Return x*, where the two parts of r are equal: the real part of its zeros."""
        shift = np.log1p(-self.probability) - np.log(self.probability)
        centre: FloatArray = 0.5 + self.variance * shift
        return centre

    def loss(self, log_ratio: FloatArray) -> FloatArray:
        """Return the privacy loss of the direction."""
        return log_ratio if self.is_remove else -log_ratio

    def log_density(self, x: FloatArray, log_ratio: FloatArray) -> FloatArray:
        """Return log p(x), without −log(σ√2π)."""
        scaled = x / self.noise
        base = -scaled * scaled / 2
        log_density: FloatArray = base + log_ratio if self.is_remove else base
        return log_density


def excess(loss: FloatArray, order: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a shift and E with (e^{tL} − 1)/t + e^{−L} − 1 = e^shift E for real orders t >= −1/2; E >= 0.

    It is (E₂(tL)/t) + E₂(−L) with E₂(u) = e^u − 1 − u, so that nothing cancels; its mean under P is (M(t) − 1)/t,
    since the mean of e^{−L} is 1.
    """
    tilted = order * loss
    shift = np.maximum(np.maximum(tilted, -loss), 0.0)
    with np.errstate(under="ignore", invalid="ignore"):
        shrink = np.exp(-shift)
        inner = np.where(order == 0, 1.0, order)
        return shift, _scaled_rest(tilted, shift, shrink) / inner + _scaled_rest(-loss, shift, shrink)


def _scaled_rest(x: FloatArray, shift: FloatArray, shrink: FloatArray) -> FloatArray:
    near = np.abs(x) < 0.7
    result = np.exp(x - shift) - (1 + x) * shrink
    result[near] = exp_rest(x[near]) * shrink[near]
    return result


def panels(pair: Pair, tilt: FloatArray) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return (owner, middle, half width) of the panels that the moments of order tilt need.

    Tilts are >= −1/2. The owner is the index of the moment; panels of one owner do not overlap.
    """
    start, width = _range(pair, tilt)
    owner = np.repeat(np.arange(tilt.size), _FIRST)
    half = np.repeat(width / _FIRST / 2, _FIRST)
    middle = start[owner] + half * np.tile(2 * np.arange(_FIRST) + 1, tilt.size)
    peak = np.full(tilt.size, -np.inf)
    kept = []
    while owner.size:
        each, power = pair.of(owner), tilt[owner]
        log_size, bound = _log_size_and_bound(each, power, middle, half)
        np.maximum.at(peak, owner, log_size)
        matters = bound > peak[owner] - _MARGIN
        is_last = (np.bincount(owner)[owner] > _MOST_PANELS) | (middle + half == middle)
        fine = is_last | _is_fine(each, power, middle, half)
        kept.append((owner[matters & fine], middle[matters & fine], half[matters & fine], bound[matters & fine]))
        split = matters & ~fine
        owner, half = np.tile(owner[split], 2), np.tile(half[split] / 2, 2)
        middle = np.concatenate([middle[split], middle[split]]) + np.repeat([-1, 1], owner.size // 2) * half
    of, middle, half, bound = (np.concatenate(column) for column in zip(*kept, strict=True))
    wanted = bound > peak[of] - _MARGIN
    return of[wanted], middle[wanted], half[wanted]


def _range(pair: Pair, tilt: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return start and width of an interval that reaches REACH standard deviations beyond every peak."""
    reach = REACH * pair.noise
    if pair.is_remove:
        return -reach, np.maximum(1 + tilt, 2.0) + 2 * reach
    variance = pair.variance
    with np.errstate(divide="ignore"):
        pull = np.log(np.maximum(tilt, 0) / variance) + np.log(pair.probability) - np.log1p(-pair.probability)
    depth = variance * np.logaddexp(0, pull - 0.5 / variance)  # the peak's, X, has X e^{X/σ²} <= t q/(1−q) e^{−1/2σ²}
    return -depth - reach, depth + 2 + 2 * reach


def _log_size_and_bound(
    pair: Pair, tilt: FloatArray, middle: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log integrand's greatest value at each panel's ends and middle, and a bound of it all over."""
    low, high = middle - half, middle + half
    x = np.concatenate([low, middle, high])
    ratio = Pair(np.tile(pair.noise, 3), np.tile(pair.probability, 3), pair.is_remove).log_ratio(x)
    shift, rest = excess(pair.loss(ratio), np.tile(tilt, 3))
    at_low, at_middle, at_high = ratio.reshape(3, -1)
    scaled = middle / pair.noise
    level, slope = -scaled * scaled / 2, -scaled / pair.noise  # the log of N0's density lies below its tangent
    with np.errstate(divide="ignore", under="ignore"):
        log_size = -((x / np.tile(pair.noise, 3)) ** 2) / 2 + (ratio if pair.is_remove else 0) + shift + np.log(rest)
        factor = np.log((1 + np.abs(tilt)) / 2) + 2 * np.log(np.maximum(np.abs(at_low), np.abs(at_high)))
    power = 1 + tilt if pair.is_remove else 1.0
    bound = level + np.maximum(
        np.maximum(power * at_low, 0) - slope * half, np.maximum(power * at_high, 0) + slope * half
    )
    if not pair.is_remove:
        pull = np.maximum(tilt, 0)  # −t log r is concave: it too lies below its tangent
        steep = np.abs(slope - pull * pair.share(middle) / pair.noise / pair.noise)
        bound = np.maximum(bound, level - pull * at_middle + steep * half)
    rounding = 1e-14 * (np.abs(level) + np.abs(slope * half) + (1 + np.abs(tilt)) * np.abs(at_middle))
    return log_size.reshape(3, -1).max(axis=0), factor + bound + rounding


def _is_fine(pair: Pair, tilt: FloatArray, middle: FloatArray, half: FloatArray) -> BoolArray:
    """Return where 20 points are enough."""
    variance = pair.variance
    away = middle - pair.centre()
    near = np.sign(away) * np.maximum(np.abs(away) - half, 0.0)  # the point of the panel nearest to x*, from there
    slope = expit(near / variance)
    power = 1 + tilt if pair.is_remove else np.abs(tilt)
    bend = half / pair.noise * np.sqrt(1 + power * slope * (1 - slope) / variance)
    return (bend <= _CURVATURE) & (half <= _DISTANCE * np.hypot(away, np.pi * variance))
