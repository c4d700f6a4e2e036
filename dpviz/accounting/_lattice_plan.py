"""Where to look and how finely: the tilt, the reach of each law, the steps of the lattices.

None of it can make a bracket wrong; a poor plan makes it wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import erfcx

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._law import LossLaw

_MOST_ATOMS = 64


@dataclass(frozen=True)
class Ledger:
    """Laws and how often each is released, in one direction; equal laws stand once."""

    entries: tuple[tuple[LossLaw, int], ...]

    @staticmethod
    def of(laws: Sequence[tuple[LossLaw, int]]) -> Ledger:
        """Return the ledger of laws with counts."""
        counts: dict[LossLaw, int] = {}
        for law, count in laws:
            if count > 0:
                counts[law] = counts.get(law, 0) + int(count)
        return Ledger(tuple(counts.items()))

    @property
    def count(self) -> int:
        """The number of releases."""
        return sum(count for _, count in self.entries)

    @property
    def support(self) -> tuple[float, float]:
        """The least and greatest finite loss of the composition."""
        ends = [law.support for law, _ in self.entries]
        counts = [count for _, count in self.entries]
        return tuple(sum(n * end[side] for n, end in zip(counts, ends, strict=True)) for side in (0, 1))  # type: ignore[return-value]

    def log_moment(self, order: FloatArray) -> FloatArray:
        """Return the log moment of the composition at real orders."""
        total = np.zeros(order.shape)
        for law, count in self.entries:
            total += count * np.real(law.log_moment(order + 0j))
        return total

    def log_survival(self) -> float:
        """Return log P(the loss is finite)."""
        with np.errstate(divide="ignore"):
            return float(sum(count * np.log1p(-law.infinite_mass) for law, count in self.entries))


@dataclass(frozen=True)
class Plan:
    """The tilt and what follows from it."""

    tilt: float
    spread: float
    """About the standard deviation of the composed loss, tilted to be where it is aimed at."""

    pull: float
    """About how fast log delta falls there."""

    log_delta: float
    """About log delta there."""


def plan(ledger: Ledger, epsilon: float, *, tolerance: float) -> Plan:
    """Return the plan for delta near one epsilon."""
    peak = saddle(ledger, epsilon)
    spread = _spread(ledger, peak)
    log_delta = float(ledger.log_moment(np.array([peak]))[0]) - peak * epsilon + float(_log_share(peak, spread))
    digits = float(np.clip(np.log(tolerance / (1e-12 * max(ledger.count, 1))), 0, 4))
    return Plan(_short_tilt(ledger, epsilon, peak, digits), spread, peak + 1 / spread, log_delta)


def _spread(ledger: Ledger, tilt: float) -> float:
    """Return about the standard deviation of the tilted composed loss."""
    here = float(ledger.log_moment(np.array([tilt]))[0])
    further = least(lambda step: (ledger.log_moment(tilt + step) - here + 1) / step)
    gap = min(0.05 * (1 + tilt), further / 4)
    right, left = ledger.log_moment(np.array([tilt + gap, tilt - gap]))
    return max(float(np.sqrt(max((right - here) - (here - left), 0.0))) / gap, 1e-100)


def _short_tilt(ledger: Ledger, epsilon: float, peak: float, most: float) -> float:
    """Return the tilt, at or below the saddle, that wants the shortest window.

    A lesser tilt is `loss` nats worse for the rounding errors, of which `most` are allowed. It is better where a few
    great losses would otherwise weigh much.
    """
    tilts = peak * np.array([1.0, 0.85, 0.7, 0.6, 0.5, 0.4])
    height = ledger.log_moment(tilts)
    loss = (height - tilts * epsilon) - (height[0] - peak * epsilon)
    chosen, shortest = peak, np.inf
    for tilt, here, price in zip(tilts, height, loss, strict=True):
        if price <= most:
            step = least(lambda order, at=tilt, zero=here: (ledger.log_moment(at + order) - zero + 26) / order)
            high = (float(ledger.log_moment(np.array([tilt + step]))[0]) - here + 26) / step
            length = (max(high - epsilon, 0.0) + epsilon - _mean(ledger, tilt)) * (1 + 0.05 * price)
            if length < 0.95 * shortest:
                chosen, shortest = float(tilt), length
    return chosen


def _mean(ledger: Ledger, tilt: float) -> float:
    """Return about the mean of the tilted composed loss."""
    gap = 1e-3 * (1 + tilt)
    right, left = ledger.log_moment(np.array([tilt + gap, tilt - gap]))
    return float(right - left) / (2 * gap)


def saddle(ledger: Ledger, epsilon: float) -> float:
    """Return about the order >= 0 at which exp(K(order) − order · epsilon) is least."""
    tilt = least(lambda order: ledger.log_moment(order) - order * epsilon)
    return tilt if tilt > 1e-12 else 0.0


def least(function: Callable[[FloatArray], FloatArray]) -> float:
    """Return about the positive number at which a function with one valley is least."""
    centre, ratio = 1.0, 2.0
    for _ in range(80):
        places = centre * ratio ** np.arange(-4.0, 5.0)
        with np.errstate(all="ignore"):
            values = function(places)
        best = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
        centre = float(places[best])
        if 0 < best < 8:
            ratio = ratio**0.3
        if ratio < 1.02 or not 1e-14 < centre < 1e14:
            break
    return centre


def guesses(ledger: Ledger) -> tuple[FloatArray, FloatArray]:
    """Return rising losses of the composition and about log delta at each, to start a search from."""
    orders = np.concatenate([-1 + np.geomspace(0.01, 0.99, 40), [0.0], np.geomspace(0.01, 1e4, 121)])
    gap = 1e-3 * (1 + orders)
    with np.errstate(all="ignore"):
        right, here, left = (ledger.log_moment(orders + part * gap) for part in (1, 0, -1))
        loss = (right - left) / (2 * gap)
        spread = np.sqrt(np.maximum((right - here) - (here - left), 1e-300)) / gap
        log_delta = here - orders * loss + _log_share(orders, spread)
    good = np.isfinite(loss) & np.isfinite(log_delta)
    loss, log_delta = np.maximum.accumulate(loss[good]), np.minimum.accumulate(log_delta[good])
    return loss, log_delta


def _log_share(tilt: FloatArray | float, spread: FloatArray | float) -> FloatArray:
    """Return log of delta over exp(K − tilt · epsilon), if the tilted loss is near enough a Gaussian."""
    scaled = np.asarray(tilt) * spread / np.sqrt(2)
    further = (1 + np.asarray(tilt)) * spread / np.sqrt(2)
    near = np.maximum(scaled, -25.0)
    with np.errstate(divide="ignore", over="ignore"):
        difference = (erfcx(near) - erfcx(further)) / 2
        slope = further * spread / (1 + further) ** 2
        return np.asarray(np.log(np.maximum(difference, 1e-17 * slope + 1e-300)))


@dataclass(frozen=True)
class Storeys:
    """How the releases are composed: in blocks of `block`, in blocks of blocks, each storey on a coarser lattice."""

    steps: tuple[float, ...]
    block: int

    @property
    def coarsening(self) -> tuple[int, ...]:
        """How many steps of each storey make one of the next."""
        return tuple(round(after / before) for before, after in pairwise(self.steps))

    def entry(self, count: int) -> int:
        """Return the storey that `count` releases start on, so that one storey above the last they are one block."""
        blocks, storeys = self.block, 1
        while blocks < count and storeys < len(self.steps):
            blocks, storeys = blocks * self.block, storeys + 1
        return len(self.steps) - storeys


def storeys_for(ledger: Ledger, planned: Plan, tolerance: float) -> Storeys:
    """Return the storeys with which the bracket should be about half as wide as the tolerance, relative to delta.

    A storey of n items with step h widens the bracket by n h² c (1 + c)/4 in relative terms, c the pull.
    """
    common = common_divisor(ledger)
    if common > 0 and all(_is_atomic(law) for law, _ in ledger.entries):
        return Storeys((common,), max(ledger.count, 1))
    most = max(count for _, count in ledger.entries)
    storeys = max(round(np.log(most) / 3), 1)
    block = _even_block(most, storeys)
    frame = Storeys((1.0,) * storeys, block)
    items = [0] * storeys
    for _, count in ledger.entries:
        blocks = count
        for storey in range(frame.entry(count), storeys):
            items[storey] += blocks
            blocks = blocks // block + (blocks % block > 0)
    cost = planned.pull * (1 + planned.pull)
    wanted = [np.sqrt(2 * tolerance / (storeys * max(number, 1) * cost)) for number in items]
    steps = [min(float(wanted[-1]), planned.spread / 2)]
    if common > 0:
        steps = [common / float(np.ceil(common / steps[0]))]
    for step in wanted[-2::-1]:
        steps.append(steps[-1] / max(round(steps[-1] / float(step)), 1))
    return Storeys(tuple(steps[::-1]), block)


def _even_block(count: int, storeys: int) -> int:
    """Return about the root of the count, if possible such that the blocks leave nothing over."""
    root = max(int(np.ceil(count ** (1 / storeys) * (1 - 1e-12))), 2)
    if storeys == 1:
        return root
    return next((block for block in range(root, root * 3 // 2 + 1) if count % block ** (storeys - 1) == 0), root)


def _is_atomic(law: LossLaw) -> bool:
    return sum(np.exp(log_mass) for _, log_mass in law.atoms) > 1 - 1e-12


def common_divisor(ledger: Ledger) -> float:
    """Return a loss of which every atom's is a multiple but for rounding, or 0 if none is of a useful size."""
    losses = {abs(loss) for law, _ in ledger.entries for loss, _ in law.atoms} - {0.0}
    if not losses or len(losses) > _MOST_ATOMS:
        return 0.0
    smallest, largest = min(losses), max(losses)
    divisor = smallest
    for loss in sorted(losses):
        while loss > 1e-10 * largest:
            divisor, loss = loss, abs(loss - divisor * round(loss / divisor))
    if divisor < 1e-4 * smallest:
        return 0.0
    return smallest / round(smallest / divisor)


def reach(law: LossLaw, *, tilt: float, log_top: float, log_bottom: float) -> tuple[float, float]:
    """Return the losses beyond which the law has less than exp(log_top), and tilted less than exp(log_bottom)."""
    log_scale = float(np.real(law.log_moment(np.array([tilt + 0j]))[0]))
    low, high = law.support
    top = min(high, _first(lambda loss: law.log_tail(loss) <= log_top, law.support))
    bottom = max(low, -_first(lambda loss: law.log_head(-loss) - tilt * loss - log_scale <= log_bottom, (-high, -low)))
    atoms = [loss for loss, _ in law.atoms]
    return min([bottom, top, *atoms]), max([bottom, top, *atoms])


def _first(is_beyond: Callable[[FloatArray], FloatArray], ends: tuple[float, float]) -> float:
    """Return about the least loss from which on a condition holds."""
    powers = 2.0 ** np.arange(-60, 70)
    losses = np.unique(np.clip(np.concatenate([-powers, [0.0], powers]), *ends))
    for _ in range(4):
        with np.errstate(all="ignore"):
            hits = np.flatnonzero(is_beyond(losses))
        best = int(hits[0]) if hits.size else losses.size - 1
        if best == 0:
            return float(losses[0])
        losses = np.linspace(losses[best - 1], losses[best], 33)
    return float(losses[-1])
