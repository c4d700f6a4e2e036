"""The moment generating function of a composed loss on the real axis: saddles, Chernoff bounds and periods.

With K(c) = log E_P exp(cL) of the whole ledger, log delta(epsilon) lies below K(c) − c·epsilon for every c > 0, and
log(1 − delta(epsilon)) for every −1 < c < 0. Each of these two sides has one saddle, where the integrand of
the contour, exp(K(c) − c·epsilon)/|c(c + 1)|, is least. K is known at the points of an `Axis` only, which is
refined where the questions need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._law import ComplexArray, LossLaw

IntArray = npt.NDArray[np.intp]

_MOST_ROUNDS = 60
_LIMIT = 80.0  # of |log c|: a saddle further out is not sought
_LIMIT_BETWEEN = 34.0  # the same between the poles, where 1 + c keeps few digits
_NEAR = 0.1  # a point of the axis this close to its least exponent is good enough
_STEEP = 5.0  # a rise of the exponent to the next point which a parabola cannot be trusted with
_CLOSE = 1e-9  # points of the axis this close are not parted
_VANISHED = -1e4  # the log of a moment that is 0
_SLACK = 0.7  # what a line may lose against each saddle it serves, in the exponent
_MOST_NEW = 48
_OUTWARD = 0.7 * np.arange(1, 9)
_AROUND = np.array([-9.0, -6.0, -4.0, -2.5, -1.0, 1.0, 2.0, 3.0, 4.0, 5.5, 7.0, 9.0])  # widths, for Chernoff's bound
_NEGLIGIBLE = 40.0  # exp(−37) is half a rounding; the rest is for the error of an estimated value


@dataclass(frozen=True)
class Product:
    """The laws of independent losses with their counts, all in one direction; the finite part only."""

    laws: tuple[tuple[LossLaw, int], ...]

    def log_moment(self, order: ComplexArray) -> ComplexArray:
        """Return log E exp(order · L) of the sum of all losses."""
        total = np.zeros(order.shape, dtype=np.complex128)
        for law, count in self.laws:
            total += count * law.log_moment(order)
        return total

    def levels(self, c: float) -> FloatArray:
        """Return log E exp(cL) of each law's loss."""
        at = np.array([c], dtype=np.complex128)
        return np.array([law.log_moment(at).real[0] for law, _ in self.laws])

    def growth(self, order: ComplexArray, levels: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return K(z) − K(Re z) on a line, and the most that its real part may come back to further up.

        Where a law has point masses, its moments come back to what they make up of them, again and again.
        """
        total, envelope = np.zeros(order.shape, dtype=np.complex128), np.zeros(order.shape)
        for (law, count), level in zip(self.laws, levels, strict=True):
            grown = law.log_moment(order) - level
            grown = np.where(np.isfinite(grown), grown, _VANISHED)
            points = [mass + loss * float(order[0].real) for loss, mass in law.atoms]
            share = float(np.logaddexp.reduce(points)) - level if points else -np.inf
            total += count * grown
            envelope += count * np.maximum(grown.real, share)
        return total, envelope

    @property
    def greatest(self) -> float:
        """The greatest loss that the sum can have."""
        return float(sum(count * law.support[1] for law, count in self.laws))


@dataclass(frozen=True)
class Axis:
    """K at rising coordinates t of one side: c = exp(t) above the poles, c = −1/(1 + exp(−t)) between them."""

    product: Product
    is_upper: bool
    t: FloatArray
    c: FloatArray
    level: FloatArray

    def with_points(self, t: FloatArray) -> Axis:
        """Return the axis with K at these coordinates too."""
        new = np.setdiff1d(t, self.t)
        c = np.exp(new) if self.is_upper else -1 / (1 + np.exp(-new))
        level = self.product.log_moment(c.astype(np.complex128)).real
        order = np.argsort(np.concatenate([self.t, new]), kind="stable")
        joined = (np.concatenate(pair)[order] for pair in ((self.t, new), (self.c, c), (self.level, level)))
        t, c, level = joined
        return replace(self, t=t, c=c, level=level)

    def exponent(self, epsilon: FloatArray) -> FloatArray:
        """Return K(c) − c·epsilon − log|c(c + 1)|, a row for each epsilon."""
        weight = np.log(np.abs(self.c)) + np.log1p(self.c)
        rows: FloatArray = self.level - np.multiply.outer(epsilon, self.c) - weight
        return rows

    def bound(self, epsilon: FloatArray) -> FloatArray:
        """Return an upper bound of log delta (upper side) or log(1 − delta) (lower side) for each epsilon."""
        rows = self.level - np.multiply.outer(epsilon, self.c)
        least: FloatArray = np.minimum(rows.min(axis=-1), 0.0)
        return least

    def cost(self, log_value: FloatArray) -> FloatArray:
        """Return ± epsilon by Chernoff's bound at every point, a row for each log value: the least is the best."""
        rows: FloatArray = (self.level + self.peak - log_value[:, None]) / np.abs(self.c)
        return rows

    def least_bound(self, epsilon: FloatArray) -> FloatArray:
        """Return the same bound of log delta (upper side) at each epsilon, the best that the points give."""
        rows = self.level + self.peak - np.multiply.outer(epsilon, self.c)
        least: FloatArray = np.minimum(rows.min(axis=-1), 0.0)
        return least

    @property
    def peak(self) -> FloatArray:
        """The log of the greatest (1 − e^−x)₊ e^−cx, c^c/(1 + c)^(1 + c), that sharpens the bound on the upper side."""
        c = np.abs(self.c)
        return c * np.log(c) - (1 + c) * np.log1p(c) if self.is_upper else np.zeros_like(c)

    def bend(self, column: int) -> float:
        """Return about K'' at a point of the axis, > 0."""
        at = np.clip(column, 1, self.c.size - 2) + np.array([-1, 0, 1])
        gaps = np.maximum(np.diff(self.c[at]) if self.is_upper else -np.diff(self.c[at]), 1e-300)
        rises = np.diff(self.level[at]) / gaps
        return float(max(2 * (rises[1] - rises[0]) / gaps.sum(), 1e-4))

    @property
    def slope(self) -> FloatArray:
        """d|c|/dt."""
        return self.c if self.is_upper else -self.c * (1 + self.c)


@dataclass(frozen=True)
class Seats:
    """For each epsilon: its exponents, the column of the axis next to the saddle, and what they tell."""

    axis: Axis
    rows: FloatArray
    column: IntArray
    least: FloatArray
    log_value: FloatArray
    width: FloatArray
    is_found: BoolArray

    def of(self, chosen: BoolArray) -> Seats:
        """Return the seats of some of the epsilons."""
        return Seats(
            self.axis,
            self.rows[chosen],
            self.column[chosen],
            self.least[chosen],
            self.log_value[chosen],
            self.width[chosen],
            self.is_found[chosen],
        )


def first_axis(product: Product, *, is_upper: bool) -> Axis:
    """Return a first, coarse axis."""
    empty = np.empty(0)
    return Axis(product, is_upper, empty, empty, empty).with_points(np.linspace(-3.0, 6.0, 19))


def seats(axis: Axis, epsilon: FloatArray) -> Seats:
    """Refine the axis until it has a point next to the saddle of each epsilon, as far as saddles are sought."""
    for _ in range(_MOST_ROUNDS):
        rows = axis.exponent(epsilon)
        if (edge := _beyond(axis, rows.argmin(axis=1))).size:
            axis = axis.with_points(edge)
            continue
        column = np.clip(rows.argmin(axis=1), 1, axis.t.size - 2)
        vertex, drop, bend = _parabola(axis.t, rows, column)
        is_inside = column == rows.argmin(axis=1)
        middles, is_steep = _halves(axis.t, rows, column)
        is_far = is_inside & ((drop > _NEAR) | is_steep.any(axis=1))
        if not is_far.any():
            break
        axis = axis.with_points(np.append(_some(vertex[is_far]), _some(middles[is_far][is_steep[is_far]])))
    least = np.take_along_axis(rows, column[:, None], axis=1)[:, 0]
    log_value = least - drop + np.log(axis.slope[column]) - 0.5 * np.log(2 * np.pi * bend)
    return Seats(axis, rows, column, least, log_value, 1 / np.sqrt(bend), is_inside & ~is_far)


def groups(seated: Seats) -> Iterator[tuple[int, BoolArray]]:
    """Yield a column of the axis and the epsilons that a line through it can serve, until all with a saddle are."""
    excess = seated.rows - seated.least[:, None]
    left = seated.is_found.copy()
    while left.any():
        first = np.flatnonzero(left)[seated.column[left].argmin()]
        furthest = np.flatnonzero(excess[first] <= _SLACK)[-1]
        served = left & (excess[:, furthest] <= _SLACK)
        yield int(excess[served].max(axis=0).argmin()), served
        left &= ~served


def surround(seated: Seats, column: int, served: BoolArray, detour: float) -> tuple[Axis, int]:
    """Return an axis that is fine about a column, and the column there of the point `detour` saddle widths above it."""
    width = float(np.minimum(seated.width[served], 1.0).min())
    t = seated.axis.t[column] + detour * width
    axis = seated.axis.with_points(np.append(t + width * _AROUND, t))
    return axis, int(np.searchsorted(axis.t, t))


def nearby(axis: Axis, log_value: FloatArray) -> tuple[Axis, FloatArray]:
    """Return for each log delta (upper side) or log(1 − delta) (lower side) an epsilon >= 0 that is close to it.

    Chernoff's bound turned round, then two steps on the saddle's own estimate, whose slope is −c.
    """
    for _ in range(_MOST_ROUNDS):
        rows = axis.cost(log_value)
        if not (edge := _beyond(axis, rows.argmin(axis=1))).size:
            break
        axis = axis.with_points(edge)
    axis = axis.with_points(_some(_parabola(axis.t, rows, np.clip(rows.argmin(axis=1), 1, axis.t.size - 2))[0]))
    epsilon = axis.cost(log_value).min(axis=1) * (1 if axis.is_upper else -1)
    for _ in range(2):
        seated = seats(axis, np.maximum(epsilon, 0.0))
        axis = seated.axis
        epsilon = np.maximum(epsilon, 0.0) - (log_value - seated.log_value) / axis.c[seated.column]
    return axis, np.maximum(epsilon, 0.0)


def period(axis: Axis, c: float, epsilon: FloatArray, log_value: FloatArray) -> float:
    """Return a period of the trapezoidal rule whose aliases are negligible beside each value.

    A step of 2π/X on the line through c adds exp(c·m·X) times the value at epsilon + m·X, for every m ≠ 0.
    """
    allowed = log_value - _NEGLIGIBLE
    longest = 4 * float(np.max(-np.minimum(log_value, 0.0)) + _NEGLIGIBLE) / min(abs(c), 1 + c)
    for _ in range(_MOST_ROUNDS):
        candidates = longest * np.geomspace(1e-4, 1, 128)
        aliases = np.maximum(*(_alias(axis, c, epsilon, sign * candidates) for sign in (-1, 1)))
        bad = np.flatnonzero((aliases > allowed).any(axis=1))
        shortest = int(bad[-1]) + 1 if bad.size else 0
        if shortest < candidates.size:
            return float(candidates[shortest])
        longest *= 100
    return longest


def _alias(axis: Axis, c: float, epsilon: FloatArray, shift: FloatArray) -> FloatArray:
    """Return bounds of the log aliases, a row for each shift."""
    moved = shift[:, None] + epsilon
    return c * shift[:, None] + axis.bound(moved)


def _beyond(axis: Axis, column: IntArray) -> FloatArray:
    """Return new coordinates past an end of the axis at which a least value lies, up to the limit."""
    limit = _LIMIT if axis.is_upper else _LIMIT_BETWEEN
    more = np.empty(0)
    if (column <= 1).any():
        more = axis.t[0] - _OUTWARD
    if (column >= axis.t.size - 2).any():
        more = np.append(more, axis.t[-1] + _OUTWARD)
    return more[np.abs(more) <= limit]


def _parabola(t: FloatArray, rows: FloatArray, column: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the vertex of the parabola through each least point and its neighbours, its depth below, its bend."""
    index = column[:, None] + np.array([-1, 0, 1])
    at, value = t[index], np.take_along_axis(rows, index, axis=1)
    left, right = np.diff(at, axis=1).T
    fall, rise = np.diff(value, axis=1).T
    bend = 2 * (rise / right - fall / left) / (left + right)
    slope = (fall / left * right + rise / right * left) / (left + right)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.clip(np.nan_to_num(-slope / bend), -0.9 * left, 0.9 * right)
    return at[:, 1] + step, np.maximum(-(slope + bend * step / 2) * step, 0.0), np.maximum(bend, 1e-3)


def _halves(t: FloatArray, rows: FloatArray, column: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return the middles of the gaps on both sides, and where the rise across is too steep for a parabola to tell."""
    index = column[:, None] + np.array([-1, 0, 1])
    at, value = t[index], np.take_along_axis(rows, index, axis=1)
    return (at[:, 1:] + at[:, :-1]) / 2, (np.abs(np.diff(value, axis=1)) > _STEEP) & (np.diff(at, axis=1) > _CLOSE)


def _some(values: FloatArray) -> FloatArray:
    distinct = np.unique(values)
    if distinct.size <= _MOST_NEW:
        return distinct
    spread: FloatArray = distinct[np.linspace(0, distinct.size - 1, _MOST_NEW).astype(int)]
    return spread
