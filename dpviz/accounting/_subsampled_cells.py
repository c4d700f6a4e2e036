"""The privacy loss of the Poisson-subsampled Gaussian cut into cells: masses without cancellation, errors stated.

In w = (x − 1/2)/σ² the ratio of the two laws is r = 1 − q + q e^w, so log r = ν L with ν = 1 (remove) or −1 (add).
From the edge at loss e, where q e^w/r = s, a step of τ against ν changes log r by log(1 + s (e^{ντ} − 1)): a cell is
described from its lower edge alone, and everything summed in it has one sign. Here 0 < q <= 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
from scipy.special import erf, log_ndtr

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._law import Cells

_ROUNDING = 2.0**-52
_RULES = ((0.08, 4), (2.0, 8), (16.0, 20))  # up to which variation of the exponent so many nodes leave < 1e-16
_WIDEST = _RULES[-1][0]


@dataclass(frozen=True)
class Cutter:
    """One direction of the pair; `log_none` is log(1 − q) as a sum of two float64."""

    noise: float
    probability: float
    sign: int
    log_none: tuple[float, float]

    @staticmethod
    def of(noise: float, probability: float, *, is_remove: bool) -> Cutter:
        """Return the cutter of a pair."""
        return Cutter(noise, probability, 1 if is_remove else -1, _log_none(probability))

    def share(self, loss: FloatArray) -> FloatArray:
        """Return s = q e^w/r at a loss, with all its digits near the end of the support too; <= 0 outside of it."""
        with np.errstate(over="ignore", under="ignore"):
            return -np.expm1((self.log_none[0] - self.sign * loss) + self.log_none[1])

    def exponent(self, loss: FloatArray) -> FloatArray:
        """Return w at a loss; −inf outside of the support."""
        log_ratio, share = self.sign * loss, self.share(loss)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            near = np.expm1(log_ratio) / self.probability
            is_near = (near > -0.5) & (log_ratio < 1)
            far = log_ratio + np.log(np.maximum(share, 0.0)) - np.log(self.probability)
            far = np.where(share > 0, far, -np.inf)
            exponent: FloatArray = np.where(is_near, np.log1p(np.where(is_near, near, 0.0)), far)
        return exponent

    def log_side(self, loss: FloatArray, *, is_head: bool) -> FloatArray:
        """Return log P(L <= loss) or log P(L > loss)."""
        x = 0.5 + self.noise * self.noise * self.exponent(loss)
        side = 1 if is_head == (self.sign > 0) else -1
        with np.errstate(divide="ignore", under="ignore"):
            none = log_ndtr(side * x / self.noise)
            if self.sign < 0:
                return np.asarray(none)
            one = log_ndtr(side * (x - 1) / self.noise)
            both: FloatArray = np.logaddexp(self.log_none[0] + none, np.log(self.probability) + one)
        return both


@lru_cache(maxsize=64)
def _log_none(probability: float) -> tuple[float, float]:
    """Return log(1 − q) as a sum of two float64, exact to 30 digits."""
    if probability == 1:
        return -np.inf, 0.0
    rate = Decimal(probability)
    context = Context(prec=60 - rate.adjusted() + len(rate.as_tuple().digits))
    exact = context.ln(context.subtract(Decimal(1), rate))
    high = float(exact)
    return high, float(context.subtract(exact, Decimal(high)))


def cut(cutter: Cutter, edges: FloatArray) -> Cells:
    """Return the cells between rising edges."""
    low, widths = edges[:-1], np.diff(edges)
    log_mass, offset = np.full(low.shape, -np.inf), np.zeros(low.shape)
    log_mass_error, offset_error = np.zeros(low.shape), np.zeros(low.shape)
    share, exponent = cutter.share(low), cutter.exponent(edges)
    position = 0.5 + cutter.noise * cutter.noise * exponent
    start = position[:-1]
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        turn = np.expm1(cutter.sign * widths) / share
        near = cutter.sign * np.log1p(np.maximum(turn, -0.5))
        span = np.where(turn > -0.5, near, np.abs(np.diff(exponent)))
        span = np.where((share > 0) & (turn > -1), span, np.inf)
        curved = 10 * (cutter.noise * span) ** 1.5  # a square in the exponent takes more nodes than a slope
        variation = np.where(np.isinf(span), np.inf, np.maximum(span * (1 + np.abs(start)), curved))
    previous = -1.0
    for most, count in _RULES:
        part = (variation > previous) & (variation <= most)
        previous = most
        if part.any():
            log_mass[part], offset[part] = _narrow(cutter, low[part], start[part], share[part], span[part], count)
            log_mass_error[part] = _narrow_error(cutter, low[part], start[part], share[part])
            offset_error[part] = 64 * _ROUNDING * offset[part]
    wide = ~(variation <= _WIDEST)
    if wide.any():
        found = _wide(cutter, low[wide], start[wide], position[1:][wide])
        log_mass[wide], offset[wide], log_mass_error[wide], offset_error[wide] = found
    with np.errstate(invalid="ignore"):
        offset = np.clip(offset, 0.0, widths)
    is_empty = np.isinf(log_mass)
    offset[is_empty], offset_error[is_empty] = 0.0, 0.0
    return Cells(log_mass, offset, float(np.max(log_mass_error[~is_empty], initial=0.0)), offset_error)


def _narrow(
    cutter: Cutter, low: FloatArray, start: FloatArray, share: FloatArray, span: FloatArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """Return log P mass and offset: with density k of N0, k (1 + s(e^{ντ} − 1)) is the other's, up to e^{log r}."""
    plain_sum, excess_sum = np.zeros_like(low), np.zeros_like(low)
    rate, square = cutter.sign * start, cutter.noise**2 / 2
    for node, weight in zip(*np.polynomial.legendre.leggauss(count), strict=True):
        step = span * ((1 + node) / 2)
        density = weight / 2 * np.exp(-step * (rate + square * step))
        plain_sum += density
        excess_sum += density * np.expm1(cutter.sign * step)
    excess_sum *= share
    mass = plain_sum + excess_sum if cutter.sign > 0 else plain_sum
    scaled = start / cutter.noise
    log_density = -scaled * scaled / 2 + np.log(cutter.noise / np.sqrt(2 * np.pi)) + (low if cutter.sign > 0 else 0.0)
    return log_density + np.log(span) + np.log(mass), cutter.sign * np.log1p(excess_sum / plain_sum)


def _narrow_error(cutter: Cutter, low: FloatArray, start: FloatArray, share: FloatArray) -> FloatArray:
    """Return a bound of the rounding in log P mass: that of the edge's place, seen through the density, and of logs."""
    with np.errstate(divide="ignore"):
        place = np.abs(low) + np.abs(np.log(share)) + np.abs(np.log(cutter.probability))
    is_near = np.abs(start - 0.5) < 0.6 * cutter.noise**2
    slip = np.where(is_near, np.abs(start), np.abs(start) * (1 + place))
    return 8 * _ROUNDING * (16 + (start / cutter.noise) ** 2 + slip + np.abs(low))


def _wide(
    cutter: Cutter, low: FloatArray, start: FloatArray, end: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return log P mass, offset and their error bounds from differences of Φ."""
    first, last = np.minimum(start, end), np.maximum(start, end)
    none, none_error = _log_between(first / cutter.noise, last / cutter.noise)
    one, one_error = _log_between((first - 1) / cutter.noise, (last - 1) / cutter.noise)
    is_empty = np.isinf(none) | (first == last)
    none, one = np.where(is_empty, 0.0, none), np.where(is_empty, 0.0, one)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        gap = one - none
        weighted = np.log(cutter.probability) + gap
        change = cutter.probability * np.expm1(np.minimum(gap, 1.0))
        is_near = (gap < 1) & (change > -0.5)
        ratio = np.where(is_near, np.log1p(np.where(is_near, change, 0.0)), np.logaddexp(cutter.log_none[0], weighted))
        error = (none_error + one_error) * np.exp(np.minimum(weighted - ratio, 0.0))
    log_mass = none + ratio if cutter.sign > 0 else none
    offset = cutter.sign * ratio - low
    offset_error = error + 8 * _ROUNDING * (np.abs(ratio) + np.abs(low))
    return np.where(is_empty, -np.inf, log_mass), offset, none_error + one_error + 8 * _ROUNDING, offset_error


def _log_between(start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(Φ(end) − Φ(start)), from the side on which the tail is small, and a bound of its absolute error."""
    near, far = np.where(start >= 0, -start, end), np.where(start >= 0, -end, start)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        upper, lower = log_ndtr(near), log_ndtr(far)
        kept = -np.expm1(np.where(near > far, lower - upper, 0.0))
        across = np.log(erf(np.maximum(end, 0.0) / np.sqrt(2)) / 2 + erf(np.maximum(-start, 0.0) / np.sqrt(2)) / 2)
        is_across = (start < 0) & (end > 0)
        value = np.where(is_across, across, upper + np.log(kept))
        # a relative slip of an edge moves the log of its tail by (edge)² of it
        slip = _ROUNDING * (16 + 2 * np.abs(value) + 8 * np.square(near)) / np.where(is_across, 1.0, kept)
    return value, np.where(np.isfinite(value), slip, 0.0)
