"""Composition in storeys: blocks of releases on a fine lattice, blocks of blocks on a coarser one, and so on.

What one lattice costs in width grows with the number of items on it and with its step squared, and a block's window is
narrower than the whole's. So a few coarser and coarser lattices of moderate length do what one alone would need a
far longer transform for.

Mass that the window of a block leaves out or folds in, mass below a law's first node, and what the transform's
rounding added or took, is *stray*: it is nowhere, or in a wrong place. Delta is exp(log_scale − tilt · epsilon)
Σ weight · r with r = exp(−tilt · t) (1 − exp(−t)) at t = loss − epsilon, so whatever is composed with it, stray weight
changes delta by at most itself times the greatest r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._lattice_plan import Ledger, Plan, least, reach
from dpviz.accounting._lattice_power import LONGEST, Power, composed, transform_length
from dpviz.accounting._lattice_read import Reader, Slack, reader
from dpviz.accounting._lattice_release import cut, dropped, lattice_of, release_parcels
from dpviz.accounting._lattice_storeys import Storeys, storeys_for
from dpviz.accounting._lattice_weights import (
    Lattice,
    Weights,
    above,
    below,
    block_parcels,
    moved_parcels,
    rounded_by,
)
from dpviz.accounting._law import LossLaw

_SIGNS = (-1, 1)
_FINENESS = 50
_Parts: TypeAlias = Sequence[tuple[Weights, int]]


class TooLongError(Exception):
    """A step is so fine that a window would have too many nodes."""

    def __init__(self, times: float) -> None:
        super().__init__(times)
        self.times = times


@dataclass(frozen=True)
class Item:
    """A release or a block of releases, `count` times, on one lattice: below the truth and above it."""

    count: int
    weights: tuple[Weights, Weights]
    lattice: Lattice
    log_scale: float
    stray: tuple[float, float]
    escaped: float
    """Mass that the weights above leave to infinity, of all copies together."""


@dataclass(frozen=True)
class Composed:
    """The whole composition, below the truth and above it."""

    powers: tuple[Power, Power]
    lattice: Lattice
    first: int
    tilt: float
    log_scale: float
    stray: tuple[float, float]
    escaped: float
    log_survival: float

    def readers(self, start: float) -> tuple[Reader, Reader]:
        """Return readers of the bounds below and above, from a loss on."""
        below_, above_ = (
            reader(
                power,
                lattice=self.lattice,
                first=self.first,
                tilt=self.tilt,
                log_scale=self.log_scale,
                start=start,
                sign=sign,
                slack=Slack(stray, self.escaped, self.log_survival),
            )
            for power, stray, sign in zip(self.powers, self.stray, _SIGNS, strict=True)
        )
        return below_, above_


def compose(ledger: Ledger, planned: Plan, storeys: Storeys, tolerance: float) -> Composed:
    """Return the composition of a ledger, storey by storey."""
    items: list[Item] = []
    for storey, step in enumerate(storeys.steps):
        if storey > 0:
            items = [part for item in items for part in _blocks(item, storeys, storey - 1, planned, tolerance)]
        for law, count in storeys.home:
            if storeys.entry(count) == storey:
                items.append(_release(law, count, step, planned, tolerance))
    for entry in storeys.foreign:
        own = storeys_for(Ledger((entry,)), planned, tolerance / len(storeys.foreign))
        items.append(_moved(compose(Ledger((entry,)), planned, own, tolerance), storeys.steps[-1]))
    first, powers, stray = _joined(items, storeys.steps[-1], level=14 - float(np.log(tolerance)))
    shift = sum(item.count * item.lattice.shift for item in items)
    slip = sum(item.count * item.lattice.slip for item in items)
    return Composed(
        powers,
        Lattice(storeys.steps[-1], shift, slip),
        first,
        planned.tilt,
        sum(item.count * item.log_scale for item in items),
        stray,
        sum(item.escaped for item in items),
        ledger.log_survival(),
    )


@dataclass(frozen=True)
class _Window:
    """Where composed weights are, in steps, and the orders for the best bounds of what is beyond."""

    low: int
    high: int
    upward: float
    downward: float


def _joined(
    items: Sequence[Item], step: float, *, level: float
) -> tuple[int, tuple[Power, Power], tuple[float, float]]:
    """Return the first node, the weights and the stray weight of all items composed.

    Each end of the window leaves out about exp(−level).
    """
    sides = [[(item.weights[side], item.count) for item in items] for side in (0, 1)]
    windows = [_window(parts, step, level) for parts in sides]
    first = min(window.low for window in windows) - 1
    size = transform_length(max(window.high for window in windows) + 2 - first)
    if size > LONGEST:
        raise TooLongError(size / LONGEST)
    powers, strays = [], []
    for side, parts in enumerate(sides):
        powers.append(composed(parts, first=first, size=size))
        stray = sum(item.count * item.stray[side] for item in items)
        total = sum(count * np.log(np.sum(part.weight) + stray) for part, count in parts)
        strays.append(stray * float(np.exp(min(total, 700.0))) + _outside(parts, windows[side], first, size))
    return first, (powers[0], powers[1]), (strays[0], strays[1])


def _window(parts: _Parts, step: float, level: float) -> _Window:
    """Return a window for composed weights."""
    ends = []
    for sign, side in ((-1, 0), (1, -1)):
        thin = [(_thinned(part, sign), count) for part, count in parts]

        def beyond(order: FloatArray, sign: int = sign, thin: _Parts = thin) -> FloatArray:
            return (sum(count * _log_moments(part, sign * order * step) for part, count in thin) + level) / order

        order = least(beyond)
        last = sign * sum(count * int(part.index[side]) for part, count in parts)
        ends.append((sign * min(last, int(np.ceil(beyond(np.array([order]))[0] / step)) + 1), order * step))
    return _Window(ends[0][0], ends[1][0], ends[1][1], ends[0][1])


def _thinned(part: Weights, sign: int) -> Weights:
    """Return fewer weights, to plan with, each moved towards the end that the sign points to."""
    total = np.sum(part.weight)
    mean = np.sum(part.weight * part.index) / total
    spread = np.sqrt(np.sum(part.weight * (part.index - mean) ** 2) / total)
    stride = max(int(spread / _FINENESS), 1)
    group = part.index // stride
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    return Weights(group[starts] * stride + (stride if sign > 0 else 0), np.add.reduceat(part.weight, starts))


def _log_moments(part: Weights, order: FloatArray) -> FloatArray:
    """Return log Σ weight · exp(order · index) for each order."""
    exponent = order[:, None] * part.index + np.log(part.weight)
    peak = np.max(exponent, axis=1)
    moments: FloatArray = peak + np.log(np.sum(np.exp(exponent - peak[:, None]), axis=1))
    return moments


def _release(law: LossLaw, count: int, step: float, planned: Plan, tolerance: float) -> Item:
    """Return one law on the lattice."""
    lattice = lattice_of(law, step)
    tilt = planned.tilt
    scale = float(np.real(law.log_moment(np.array([tilt + 0j]))[0]))
    rest = float(np.log(tolerance) - np.log(count) - 14)
    ends = reach(law, tilt=tilt, log_top=min(planned.log_delta, 0.0) + rest, log_bottom=rest)
    nodes = cut(law, lattice=lattice, tilt=tilt, reach=ends, spread=planned.spread)
    lower, upper = release_parcels(law, nodes, lattice=lattice, tilt=tilt, log_scale=scale)
    edges = lattice.losses(nodes[[0, -1]])
    head = dropped(law, float(edges[0]), tilt=tilt, log_scale=scale)
    with np.errstate(under="ignore"):
        tail = float(np.exp(law.log_tail(edges[1:])[0])) * (1 + 1e-9)
    weights = below(lower, lattice=lattice, tilt=tilt), above(upper, lattice=lattice, tilt=tilt)
    return Item(count, weights, lattice, scale, (0.0, head), count * tail)


def _moved(made: Composed, step: float) -> Item:
    """Return a composition as one block on another lattice."""
    loss = made.lattice.losses(made.first + np.arange(made.powers[0].weight.size))
    lattice = Lattice(step, -2 * rounded_by(loss))  # what is on a node but for rounding is at it or just above
    weights = []
    for power, sign, rounded in zip(made.powers, _SIGNS, (below, above), strict=True):
        sure = np.maximum(power.weight + sign * power.spread_error, 0.0)
        place = loss + made.lattice.slip if sign > 0 else loss
        parcels = moved_parcels(place, sure, lattice=lattice, tilt=made.tilt, sign=sign)
        weights.append(rounded(parcels, lattice=lattice, tilt=made.tilt))
    return Item(
        1,
        (weights[0], weights[1]),
        lattice,
        made.log_scale,
        (made.stray[0] + made.powers[0].stray_error, made.stray[1] + made.powers[1].stray_error),
        made.escaped,
    )


def _blocks(item: Item, storeys: Storeys, storey: int, planned: Plan, tolerance: float) -> list[Item]:
    """Return the item's copies in blocks, and what remains as one smaller block, on the next storey's lattice."""
    whole, rest = divmod(item.count, storeys.block)
    level = 14 - float(np.log(tolerance)) + float(np.log(max(whole, 1)))
    coarsening = storeys.coarsening[storey]
    sizes = [(storeys.block, whole), (rest, 1)]
    return [_block(item, size, number, coarsening, planned.tilt, level) for size, number in sizes if size * number]


def _block(item: Item, size: int, number: int, coarsening: int, tilt: float, level: float) -> Item:
    """Return `number` blocks of `size` copies of an item."""
    copies = replace(item, count=size, escaped=0.0)
    first, powers, stray = _joined([copies], item.lattice.step, level=level)
    coarse = Lattice(item.lattice.step * coarsening, size * item.lattice.shift, size * item.lattice.slip)
    weights = []
    for power, sign, rounded in zip(powers, _SIGNS, (below, above), strict=True):
        sure = np.maximum(power.weight + sign * power.spread_error, 0.0)
        parcels = block_parcels(first, sure, lattice=item.lattice, tilt=tilt, coarsening=coarsening, sign=sign)
        weights.append(rounded(parcels, lattice=coarse, tilt=tilt))
    return Item(
        number,
        (weights[0], weights[1]),
        coarse,
        size * item.log_scale,
        (stray[0] + powers[0].stray_error, stray[1] + powers[1].stray_error),
        item.escaped * size * number / item.count,
    )


def _outside(parts: _Parts, window: _Window, first: int, size: int) -> float:
    """Return a bound of the composed weight at other nodes than `size` from the first on (Chernoff, either side)."""
    total = 0.0
    for order, end, side in ((window.upward, first + size, -1), (-window.downward, first - 1, 0)):
        most = sum(count * int(part.index[side]) for part, count in parts)
        if (most - end) * order >= 0:
            with np.errstate(under="ignore"):
                moments = [count * float(_log_moments(part, np.array([order]))[0]) for part, count in parts]
                total += float(np.exp(min(sum(moments) - order * end, 0.0))) * 1.001
    return total
