r"""Delta of a whole ledger, in one direction, by one integral along a vertical line through a saddle; estimates.

With M(z) = E_P exp(zL), the moment generating function of the composed loss, and K = log M,

.. math:: \delta(\varepsilon) = \frac1{2\pi i}\int_{c-i\infty}^{c+i\infty}
          \frac{e^{K(z) - z\varepsilon}}{z(z+1)}\,dz \quad (c > 0),

and for −1 < c < 0 the same integral is delta − 1. The weight 1/(z + 1) gives exp(epsilon) Q(L > epsilon) instead, and
1/z gives P(L > epsilon), or −P(L <= epsilon) between the poles. Everything stays in logarithms, and of delta and
1 − delta the lesser is computed, so both keep their digits.

References
----------
Zhu, Dong and Wang (2022), https://arxiv.org/abs/2106.08567 (characteristic functions); Alghamdi et al. (2023),
https://arxiv.org/abs/2208.09595 (saddle points); Trefethen and Weideman (2014),
https://doi.org/10.1137/130932132 (the trapezoidal rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._line import Line, line_through, sums
from dpviz.accounting._saddle import Axis, IntArray, Product, first_axis, groups, nearby, seats, surround

_MOST_ROUNDS = 24
_MOST_STEPS = 40
_LOG_HALF = -0.7
_WORN = 16.0  # a line whose error grew this much beside that at its saddle is left for another
_MOST_HALVINGS = 2
_DROWNED = 0.01  # the relative error from which a value says nothing
_DRIFT = 0.3  # how far, in steps of the phase, epsilon may move on one line


@dataclass(frozen=True)
class Values:
    """What the contour says of each epsilon, in logarithms."""

    log_delta: FloatArray
    log_rest: FloatArray
    """log(1 − delta)."""

    log_tail_q: FloatArray
    """log Q(L > epsilon)."""

    log_head_p: FloatArray
    """log P(L <= epsilon)."""

    log_tail_p: FloatArray
    """log P(L > epsilon)."""

    error: FloatArray
    """Estimate of the relative error of the lesser of delta and 1 − delta, not a bound; inf where none is known."""


@lru_cache(maxsize=64)
def axis_of(product: Product, *, is_upper: bool) -> Axis:
    """Return the coarse axis from which all questions about a ledger start."""
    return first_axis(product, is_upper=is_upper)


@dataclass(frozen=True)
class Trace:
    """Lines that together serve a rising grid of epsilons, and whatever lies close beside them."""

    grid: FloatArray
    owner: IntArray
    """The index of each grid point's line; −1 where no saddle was found."""

    lines: tuple[Line, ...]

    def at(self, epsilon: FloatArray) -> Values:
        """Return the values at each epsilon (flat), by the line of the grid point next to it."""
        middles = (self.grid[1:] + self.grid[:-1]) / 2
        owner = self.owner[np.searchsorted(middles, epsilon)]
        fields = np.full((6, epsilon.size), np.nan)
        fields[-1] = np.inf
        for index in np.unique(owner[owner >= 0]):
            mine = owner == index
            fields[:, mine] = _logs(self.lines[index], epsilon[mine])
        return Values(*fields)


def trace(product: Product, epsilon: FloatArray, *, detour: float = 0.0) -> Trace:
    """Return lines for these epsilons, finite and below the greatest loss (flat, not empty).

    A `detour` moves each line that many widths of its saddle aside: what they say must stay the same.
    """
    grid = np.unique(epsilon)
    owner, lines = np.full(grid.size, -1), list[Line]()
    above = seats(axis_of(product, is_upper=True), grid)
    is_above = above.log_value <= _LOG_HALF
    for is_upper, chosen in ((True, is_above), (False, ~is_above)):
        if not chosen.any():
            continue
        seated = above.of(chosen) if is_upper else seats(axis_of(product, is_upper=False), grid[chosen])
        for column, served in groups(seated):
            mine = np.flatnonzero(chosen)[served]
            axis, at = surround(seated, column, served, detour)
            owner[mine] = len(lines)
            lines.append(line_through(axis, at, grid[mine], seated.log_value[served]))
    return Trace(grid, owner, tuple(lines))


def evaluate(product: Product, epsilon: FloatArray, *, detour: float = 0.0) -> Values:
    """Return the values at each finite epsilon below the greatest loss (flat, not empty); an estimate."""
    return trace(product, epsilon, detour=detour).at(epsilon)


def solve(product: Product, log_delta: FloatArray, log_rest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least epsilon >= 0 for each log delta (flat; the log of 1 − delta beside it) and its error.

    Both logs are finite. The error is absolute: the estimated error of delta over its slope.
    """
    epsilon, error = np.empty(log_delta.shape), np.empty(log_delta.shape)
    is_above = log_delta <= _LOG_HALF
    for is_upper, target in ((True, log_delta), (False, log_rest)):
        mine = is_above == is_upper
        if mine.any():
            epsilon[mine], error[mine] = _solve_side(axis_of(product, is_upper=is_upper), target[mine])
    return epsilon, error


def _logs(line: Line, epsilon: FloatArray) -> FloatArray:
    """Return the six rows of `Values`."""
    seen = sums(line, epsilon)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        lesser = seen.exponent + np.log(seen.value)
        other = np.log1p(-np.exp(lesser))
        tail_q = seen.exponent + np.log(np.maximum(seen.tail_q, 0.0)) - epsilon
        part = np.minimum(seen.exponent + np.log(np.maximum(seen.tail_p, 0.0)), 0.0)
        rest = np.log1p(-np.exp(part))
    if line.c > 0:
        return np.stack([lesser, other, tail_q, rest, part, seen.error])
    return np.stack([other, lesser, tail_q, part, rest, seen.error])


def _solve_side(axis: Axis, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return epsilon and its error for each log of delta (upper side) or of 1 − delta (lower side).

    Where the saddle's own estimate led to an epsilon at which rounding drowns the value, it is halved.
    """
    axis, epsilon = nearby(axis, target)
    error = np.full(epsilon.size, np.inf)
    pending, halvings = np.arange(epsilon.size), np.zeros(epsilon.size)
    for _ in range(_MOST_ROUNDS):
        seated = seats(axis, epsilon[pending])
        axis = seated.axis
        is_left = np.zeros(pending.size, dtype=np.bool_)
        for column, served in groups(seated):
            mine = pending[served]
            around, at = surround(seated, column, served, 0.0)
            line = line_through(around, at, epsilon[mine], np.minimum(seated.log_value[served], target[mine]))
            epsilon[mine], error[mine], is_left[served], is_drowned = _newton(line, epsilon[mine], target[mine])
            epsilon[mine] /= np.where(is_drowned, 2.0, 1.0)
            halvings[mine] += is_drowned
        pending = pending[is_left & (halvings[pending] <= _MOST_HALVINGS)]
        if not pending.size:
            break
    return epsilon, error


def _newton(line: Line, epsilon: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
    """Return epsilon after Newton steps, its error, where another line should go on, and where this one is no use."""
    start, first = epsilon, sums(line, epsilon).error
    sign = 1.0 if line.c > 0 else -1.0
    for _ in range(_MOST_STEPS):
        seen = sums(line, epsilon)
        is_drowned = ~(seen.error <= _DROWNED) | (seen.tail_q <= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            run = seen.value / seen.tail_q
            step = sign * (seen.exponent + np.log(seen.value) - target) * run
        is_worn = seen.error > _WORN * first
        moved = np.where(is_drowned | is_worn, epsilon, np.maximum(epsilon + step, 0.0))
        noise = np.where(is_drowned, np.inf, seen.error * run)
        is_still = np.abs(moved - epsilon) <= np.maximum(noise, 4 * np.spacing(epsilon))
        epsilon = moved
        if is_still.all():
            break
    is_right = is_still & ~is_drowned & ~is_worn & (np.abs(epsilon - start) * line.step < _DRIFT)
    return epsilon, np.where(is_right, noise, np.inf), ~is_right, is_drowned & (epsilon == start)
