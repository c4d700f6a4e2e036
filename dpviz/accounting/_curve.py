"""The trade-off curve of a composed pair, from the contour: alpha = Q(L > epsilon) against beta = P(L <= epsilon)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._contour import Trace, Values, axis_of, trace
from dpviz.accounting._numeric import FIT, OneWay

_GRID = 200
_STEPS = 12
_MET = 1e-8  # how far, in log alpha, a point may be from the one wanted: what it does is of second order


@dataclass(frozen=True)
class Points:
    """For each alpha: beta, the epsilon >= 0 of the line that supports the curve there, and whether they are good."""

    beta: FloatArray
    epsilon: FloatArray
    is_fit: BoolArray


@dataclass(frozen=True)
class Steep:
    """The pair's own part of the curve, of slopes below −1, sought by log alpha = log Q(L > epsilon).

    Here and below all is conditional on a finite loss, and what is sought falls with epsilon.
    """

    way: OneWay

    def target(self, alpha: FloatArray) -> FloatArray:
        """Return what is sought for each alpha."""
        with np.errstate(divide="ignore"):
            wanted: FloatArray = np.log(alpha) - self.way.log_finite
        return wanted

    def fall(self, seen: Values) -> FloatArray:
        """Return it at each epsilon."""
        return seen.log_tail_q

    def beta(self, seen: Values, epsilon: FloatArray, target: FloatArray) -> FloatArray:
        """Return the height, at the target, of the line that supports the curve at epsilon."""
        height: FloatArray = np.exp(seen.log_head_p) + np.exp(epsilon + target) * np.expm1(seen.log_tail_q - target)
        return height


class FlatBelowHalf(Steep):
    """The mirror image, of slopes above −1, sought by −log alpha = −log P(L <= epsilon)."""

    def target(self, alpha: FloatArray) -> FloatArray:
        """Return what is sought for each alpha."""
        return -super().target(alpha)

    def fall(self, seen: Values) -> FloatArray:
        """Return it at each epsilon."""
        return -seen.log_head_p

    def beta(self, seen: Values, epsilon: FloatArray, target: FloatArray) -> FloatArray:
        """Return the height, at the target, of the line that supports the curve at epsilon."""
        height: FloatArray = np.exp(seen.log_tail_q) + np.exp(-target - epsilon) * np.expm1(target + seen.log_head_p)
        return height


class FlatAboveHalf(Steep):
    """The same for large alpha, sought by log(1 − alpha) = log P(L > epsilon)."""

    def target(self, alpha: FloatArray) -> FloatArray:
        """Return what is sought for each alpha."""
        mass = self.way.infinite_mass
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(1 - alpha - mass, 0.0)) - self.way.log_finite if mass else np.log1p(-alpha)

    def fall(self, seen: Values) -> FloatArray:
        """Return it at each epsilon."""
        return seen.log_tail_p

    def beta(self, seen: Values, epsilon: FloatArray, target: FloatArray) -> FloatArray:
        """Return the height, at the target, of the line that supports the curve at epsilon."""
        height: FloatArray = np.exp(seen.log_tail_q) - np.exp(target - epsilon) * np.expm1(seen.log_tail_p - target)
        return height


def curve(way: OneWay, alpha: FloatArray) -> Points:
    """Return the symmetrised trade-off curve of one direction, the convex hull of the curve and its inverse.

    Up to alpha = Q(L > 0) it is the curve of the pair itself, from P(L <= 0) on that of the reversed pair, and
    between them a straight line of slope −1.
    """
    keep = np.exp(way.log_finite)
    if keep == 0:
        return Points(np.zeros(alpha.shape), np.zeros(alpha.shape), np.ones(alpha.shape, dtype=np.bool_))
    lines = _lines(way, alpha)
    zero = lines.at(np.zeros(1))
    q, head = keep * np.exp(zero.log_tail_q[0]), keep * np.exp(zero.log_head_p[0])
    beta = keep * np.exp(zero.log_rest[0]) - alpha
    epsilon, is_fit = np.zeros(alpha.shape), np.full(alpha.shape, bool(zero.error[0] <= FIT))
    is_low, is_flat = alpha <= keep / 2, alpha > max(head, q)
    for branch, part in (
        (Steep(way), alpha < q),
        (FlatBelowHalf(way), is_flat & is_low),
        (FlatAboveHalf(way), is_flat & ~is_low),
    ):
        if part.any():
            beta[part], epsilon[part], is_fit[part] = _along(branch, lines, alpha[part])
    return Points(np.clip(beta, 0.0, 1 - alpha), epsilon, is_fit)


def _along(branch: Steep, lines: Trace, alpha: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return beta, epsilon and fitness for each alpha; at the ends of the curve beta is what Q leaves out, or 0."""
    keep = np.exp(branch.way.log_finite)
    target = branch.target(alpha)
    beta = np.where(alpha > 0, 0.0, keep)
    epsilon, is_fit = np.full(target.shape, np.inf), np.ones(target.shape, dtype=np.bool_)
    inner = np.isfinite(target)
    if not inner.any():
        return beta, epsilon, is_fit
    wanted = target[inner]
    at, slope = _start(branch, lines, wanted)
    for _ in range(_STEPS):
        seen = lines.at(at)
        off = branch.fall(seen) - wanted
        is_met = np.abs(off) <= _MET
        if is_met.all():
            break
        at = np.clip(at - np.where(is_met | np.isnan(off), 0.0, off / slope), 0.0, lines.grid[-1])
    beta[inner], epsilon[inner] = keep * branch.beta(seen, at, wanted), at
    is_fit[inner] = is_met & (seen.error <= FIT)
    return beta, epsilon, is_fit


def _lines(way: OneWay, alpha: FloatArray) -> Trace:
    """Return lines that reach from 0 to where P(L > epsilon) is below the least of alpha and 1 − alpha, but 0."""
    sides = np.concatenate([alpha, 1 - alpha])
    least = float(np.min(sides[sides > 0]))
    greatest = way.product.greatest
    axis = axis_of(way.product, is_upper=True)
    high = 1e-6
    while high < min(greatest, 1e300) and axis.bound(np.array([high]))[0] > np.log(least):
        high *= 2
    return trace(way.product, np.linspace(0.0, 1.0, _GRID) ** 2 * min(high, greatest * (1 - 1e-12)))


def _start(branch: Steep, lines: Trace, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an epsilon near each target and the slope of what is sought there, by interpolation on the grid."""
    fall = branch.fall(lines.at(lines.grid))
    known = np.flatnonzero(np.isfinite(fall))
    grid, falling = lines.grid[known], np.minimum.accumulate(fall[known])
    at = np.interp(-target, -falling, grid)
    slope = np.interp(at, (grid[1:] + grid[:-1]) / 2, np.diff(falling) / np.diff(grid))
    return at, np.minimum(slope, -1e-300)
