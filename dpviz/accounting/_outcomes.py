"""The outcomes of k randomised responses, the worst k releases that are epsilon-DP each, summed once.

The number of lies l is binomial, l ~ Bin(k, 1/(1 + e^epsilon)), and its privacy loss is (k − 2l) epsilon. With the
weights w of l, two running sums of positive terms tell the whole profile:

    mass_i = Σ_{l <= i} w_l e^{−2 epsilon (i − l)},   above_i = Σ_{l <= i} w_l (1 − e^{−2 epsilon (i − l)}),

since Σ w_l (1 − e^{t − loss_l})₊ = above_i + (1 − e^{−h}) mass_i at t = loss_i − h, 0 <= h <= 2 epsilon. Only outcomes
that matter are summed, O(√k) of them; where neighbouring weights are nearly equal, blocks of them are summed by a
five-point rule that is exact for polynomials of degree 9 over whole numbers. All sums carry the factor 2^1000, so that
what is as small as 2^−2000 is no less accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz.accounting._binomial import difference_up, gap_to, log_pmf, mean_of_hits, product
from dpviz.accounting._checks import BoolArray, DomainError, FloatArray

Index = npt.NDArray[np.intp]

SCALE = 2.0**1000
DEEPEST = 860.0  # e^−860 is 0 even beside the least positive float64
UPPER = 40.0  # −log of the probability left out above
_LEAST_STEP = 8  # shorter blocks are not worth their rule
_MOST = 2**22  # weights to compute for one row: at most a second
_AT_ONCE = 2**20
_OFFSETS = np.arange(5.0)


@dataclass(frozen=True)
class Rows:
    """What is added up: one row for each pair of an epsilon > 0 and a count >= 1."""

    epsilon: FloatArray
    count: FloatArray
    mean: FloatArray
    """Of the number of lies."""
    low: FloatArray
    """The least number of lies that matters; indices count from it."""
    gap: FloatArray
    """low − mean, accurately."""
    step: FloatArray
    """How many outcomes a block has."""

    def __getitem__(self, chosen: Index) -> Rows:
        return Rows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def weights(self, index: FloatArray) -> FloatArray:
        """Return the scaled probability of each index; the first axis is that of the rows."""
        axes = tuple(range(1, index.ndim))
        low, gap, count, mean = (np.expand_dims(part, axes) for part in (self.low, self.gap, self.count, self.mean))
        hits = np.minimum(low + index, count)
        root = np.exp(log_pmf(hits, gap + index, count, mean) / 2)
        return np.where(low + index <= count, root * SCALE * root, 0.0)

    def block(self, start: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return above and mass of blocks at the loss of their last outcome: of rows × starts, a size for each row."""
        offset, weight = nodes(size[:, None])
        fade = 2 * self.epsilon[:, None, None] * (size[:, None, None] - 1 - offset)
        terms = weight * self.weights(start[..., None] + offset)
        return np.sum(-terms * np.expm1(-fade), axis=-1), np.sum(terms * np.exp(-fade), axis=-1)

    def loss(self, index: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss of an index, and what rounding took from it."""
        return product(self.count - 2 * (self.low + index), self.epsilon)

    def loss_less(self, index: FloatArray, taken: FloatArray) -> FloatArray:
        """Return the loss of an index − taken."""
        high, rest = self.loss(index)
        return (high - taken) + rest


@dataclass(frozen=True)
class Outcomes:
    """The running sums at the last outcome of each block, after a column of zeros."""

    rows: Rows
    above: FloatArray
    mass: FloatArray

    def delta(self, row: Index, composed_epsilon: FloatArray) -> FloatArray:
        """Return the profile of each row at each composed epsilon >= 0."""
        rows = self.rows[row]
        most = (self.mass.shape[1] - 1) * rows.step - 1
        lies = np.ceil((rows.count - composed_epsilon / rows.epsilon) / 2) - 1
        index = np.clip(lies - rows.low, -1.0, most)
        drop = rows.loss_less(index, composed_epsilon)
        index = np.clip(index + (drop > 2 * rows.epsilon) - (drop <= 0), -1.0, most)
        above, mass = self._sums(rows, row, index + 1)
        drop = np.maximum(rows.loss_less(index, composed_epsilon), 0.0)
        return (above - np.expm1(-drop) * mass) / SCALE

    def epsilon(self, row: Index, delta: FloatArray) -> FloatArray:
        """Return the least composed epsilon >= 0 for each delta, 0 < delta < 1."""
        rows, target = self.rows[row], delta * SCALE
        filled = self._filled_below(rows, row, target)
        above, mass = self._sums(rows, row, filled)
        with np.errstate(divide="ignore"):
            drop = -np.log1p(-np.clip((target - above) / mass, 0.0, 1.0))
        high, rest = rows.loss(filled - 1)
        return np.maximum(difference_up(high, drop, rest), 0.0)

    def _sums(self, rows: Rows, row: Index, filled: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return above and mass over the first `filled` outcomes, at the loss of the last."""
        column = np.floor(filled / rows.step)
        size = filled - column * rows.step
        place = row, column.astype(np.intp)
        with np.errstate(over="ignore"):
            fade = 2 * (rows.epsilon * size)
        above = self.above[place] - np.expm1(-fade) * self.mass[place]
        mass = np.exp(-fade) * self.mass[place]
        part = np.flatnonzero(size)
        if part.size:
            more = rows[part].block((column * rows.step)[part, None], size[part])
            above[part] += more[0][:, 0]
            mass[part] += more[1][:, 0]
        return above, mass

    def _filled_below(self, rows: Rows, row: Index, target: FloatArray) -> FloatArray:
        """Return how many outcomes there are up to the last at whose loss the profile is below the target."""
        columns = np.full(row.shape, self.mass.shape[1] - 1.0)
        column = _last(columns, lambda at: self.above[row, at.astype(np.intp)] < target)
        filled = column * rows.step
        inside = np.flatnonzero((column < columns) & (rows.step > 1))
        if inside.size:
            these, place, start, wanted = rows[inside], row[inside], filled[inside], target[inside]
            filled[inside] += _last(these.step - 1, lambda size: self._sums(these, place, start + size)[0] < wanted)
        return filled


def outcomes(epsilon: FloatArray, count: FloatArray, depth: FloatArray) -> Iterator[tuple[Index, Outcomes]]:
    """Yield tables, and which of the given rows each holds; all rows together.

    The outcomes left out below have together a probability under e^−depth.
    """
    exact = [mean_of_hits(*pair) for pair in zip(epsilon.tolist(), count.tolist(), strict=True)]
    mean = np.maximum(np.array([float(m) for m in exact]), 1e-300)
    deviation = np.sqrt(mean * (1 - mean / count))
    low = np.maximum(np.floor(mean - np.sqrt(2 * depth) * deviation), 0.0)
    upper = UPPER / 3 + np.sqrt(UPPER * UPPER / 9 + 2 * UPPER * deviation * deviation)
    high = np.minimum(np.floor((count - 1) / 2), np.ceil(mean + upper))
    gap = np.array([gap_to(*pair) for pair in zip(low.tolist(), exact, strict=True)])
    step = np.floor(0.8 / (np.sqrt(2 * depth) / deviation + 2 * epsilon))
    step = np.where(step < _LEAST_STEP, 1.0, step)
    columns = np.ceil((high - low + 1) / step)
    cost = columns * np.where(step > 1, _OFFSETS.size, 1)
    if np.any(cost > _MOST):
        raise DomainError("count", "small enough that √count·epsilon is at most 8,000", float(count[cost.argmax()]))
    rows = Rows(epsilon, count, mean, low, gap, step)
    for chosen in _batches(cost):
        yield chosen, _filled(rows[chosen], int(columns[chosen].max()))


def _filled(rows: Rows, columns: int) -> Outcomes:
    index = rows.step[:, None] * np.arange(columns)
    is_single = np.all(rows.step == 1)
    above, mass = (np.zeros(1), rows.weights(index)) if is_single else rows.block(index, rows.step)
    fade = 2 * (rows.epsilon * rows.step)[:, None]
    mass = _pad(_faded_sums(mass, fade))
    return Outcomes(rows, _pad(np.cumsum(above - np.expm1(-fade) * mass[:, :-1], axis=1)), mass)


def _pad(sums: FloatArray) -> FloatArray:
    return np.concatenate([np.zeros((sums.shape[0], 1)), sums], axis=1)


def _faded_sums(values: FloatArray, fade: FloatArray) -> FloatArray:
    """Return Σ_{l <= i} values_l e^{−fade (i − l)} along the last axis, by doubling."""
    sums, reach = values, 1
    while reach < values.shape[1] and np.min(fade) * reach < DEEPEST:
        carried = np.exp(-fade * reach) * sums[:, :-reach]
        sums = np.concatenate([sums[:, :reach], sums[:, reach:] + carried], axis=1)
        reach *= 2
    return sums


def _batches(cost: FloatArray) -> Iterator[Index]:
    """Yield indices of rows of like cost, so that a table of them is of bounded size and little of it is padding."""
    order = np.argsort(cost, kind="stable")
    first = 0
    while first < order.size:
        room = cost[order[first]]
        last = first + 1
        while (
            last < order.size and cost[order[last]] <= 2 * room + 64 and cost[order[last]] * (last - first) <= _AT_ONCE
        ):
            last += 1
        yield order[first:last]
        first = last


def _last(high: FloatArray, is_below: Callable[[FloatArray], BoolArray]) -> FloatArray:
    """Return the last whole number from 0 to high that is below; 0 is taken to be."""
    low, high = np.zeros_like(high), high.copy()
    while np.any(low < high):
        middle = np.ceil((low + high) / 2)
        is_low = is_below(middle)
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle - 1)
    return low


def nodes(size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return points and weights that sum a polynomial of degree 9 over 0, 1, …, size − 1, along a last axis of 5.

    They are Gauss's points for equal weights on whole numbers (the discrete Chebyshev polynomials), in closed form.
    """
    n = size[..., None]
    square = np.maximum(n * n, 36.0)
    b1, b2, b3, b4 = (square - 1) / 12, (square - 4) / 15, 9 * (square - 9) / 140, 4 * (square - 16) / 63
    half = (b1 + b2 + b3 + b4) / 2
    root = np.sqrt(half * half - (b1 * b3 + b1 * b4 + b2 * b4))
    inner, outer = half - root, half + root
    second, fourth = n * b1 / 2, n * b1 * (b1 + b2) / 2
    w_inner = (second * outer - fourth) / (inner * (outer - inner))
    w_outer = (fourth - second * inner) / (outer * (outer - inner))
    points = np.concatenate([-np.sqrt(outer), -np.sqrt(inner), 0 * n, np.sqrt(inner), np.sqrt(outer)], axis=-1)
    weights = np.concatenate([w_outer, w_inner, n - 2 * (w_inner + w_outer), w_inner, w_outer], axis=-1)
    is_few = n <= _OFFSETS.size
    return np.where(is_few, _OFFSETS, points + (n - 1) / 2), np.where(is_few, (n > _OFFSETS) * 1.0, weights)
