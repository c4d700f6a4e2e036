"""Where to look: the tilt, and the reach of each law.

None of it can make a bracket wrong; a poor plan makes it wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import erfcx

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._law import LossLaw

Entries: TypeAlias = tuple[tuple[LossLaw, int], ...]


@dataclass(frozen=True)
class Ledger:
    """Laws and how often each is released, in one direction; equal laws stand once."""

    entries: Entries

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
    """About log delta at the greatest loss aimed at."""

    peak: float
    log_bound: float
    """An order, and Chernoff's bound of log delta by it, at the greatest loss aimed at."""


def plan(ledger: Ledger, epsilon: FloatArray, *, tolerance: float) -> Plan:
    """Return the plan for delta at one epsilon, or at a few that are near each other."""
    greatest, middle = float(np.max(epsilon)), float(np.max(epsilon) + np.min(epsilon)) / 2
    peak = saddle(ledger, greatest)
    spread = _spread(ledger, peak)
    pull, top = peak + 1 / spread, peak
    log_bound = float(ledger.log_moment(np.array([peak]))[0]) - peak * greatest
    log_delta = log_bound + float(_log_share(peak, spread))
    if middle < greatest:
        peak = saddle(ledger, middle)
    digits = float(np.clip(np.log(tolerance / (1e-12 * max(ledger.count, 1))), 0, 4))
    return Plan(
        _short_tilt(ledger, middle, peak, spread, digits), spread, pull, log_delta, top, log_bound * (1 - 1e-12)
    )


def _spread(ledger: Ledger, tilt: float) -> float:
    """Return about the standard deviation of the tilted composed loss."""
    here = float(ledger.log_moment(np.array([tilt]))[0])
    further = least(lambda step: (ledger.log_moment(tilt + step) - here + 1) / step)
    gap = min(0.05 * (1 + tilt), further / 4)
    right, left = ledger.log_moment(np.array([tilt + gap, tilt - gap]))
    return max(float(np.sqrt(max((right - here) - (here - left), 0.0))) / gap, 1e-100)


def _short_tilt(ledger: Ledger, epsilon: float, peak: float, spread: float, most: float) -> float:
    """Return the tilt, at or below the saddle, that wants the shortest window.

    A lesser tilt is `loss` nats worse for the rounding errors, of which `most` are allowed. It is better where a few
    great losses would otherwise weigh much.
    """
    tilts = peak * np.array([1.0, 0.85, 0.7, 0.6, 0.5, 0.4])
    if peak == 0 or most == 0:
        return peak
    further = np.geomspace(0.2, 60, 24) / spread
    with np.errstate(all="ignore"):
        height = ledger.log_moment(tilts)
        beyond = ledger.log_moment((tilts[:, None] + further).ravel()).reshape(tilts.size, -1)
        high = np.nanmin((beyond - height[:, None] + 26) / further, axis=1)
        gap = 1e-3 * (1 + tilts)
        mean = (ledger.log_moment(tilts + gap) - ledger.log_moment(tilts - gap)) / (2 * gap)
    loss = (height - tilts * epsilon) - (height[0] - peak * epsilon)
    length = (np.maximum(high, epsilon) - mean) * (1 + 0.05 * loss)
    chosen = 0
    for tried in range(1, tilts.size):
        if loss[tried] <= most and length[tried] < 0.95 * length[chosen]:
            chosen = tried
    return float(tilts[chosen])


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


def guesses(ledger: Ledger, least_log: float) -> tuple[FloatArray, FloatArray]:
    """Return rising losses of the composition and about log delta at each, down to the least, to search from."""
    orders = np.append(0.0, np.geomspace(1e-4, 10, 60))
    loss, log_delta = _points(ledger, orders)
    before = _points(ledger, -1 + np.geomspace(0.01, 0.99, 40))
    is_before = (before[0] < loss[0]) & (before[1] > log_delta[0])
    loss, log_delta = np.append(before[0][is_before], loss), np.append(before[1][is_before], log_delta)
    while log_delta[-1] > least_log and orders[-1] < 1e13:
        orders = np.geomspace(orders[-1] * 1.2, orders[-1] * 10, 12)
        more = _points(ledger, orders)
        loss, log_delta = np.append(loss, more[0]), np.append(log_delta, more[1])
    return np.maximum.accumulate(loss), np.minimum.accumulate(log_delta)


def _points(ledger: Ledger, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the losses at which the orders are the saddles, and about log delta there."""
    gap = 1e-3 * (1 + orders)
    with np.errstate(all="ignore"):
        right, here, left = (ledger.log_moment(orders + part * gap) for part in (1, 0, -1))
        loss = (right - left) / (2 * gap)
        spread = np.sqrt(np.maximum((right - here) - (here - left), 1e-300)) / gap
        log_delta = here - orders * loss + _log_share(orders, spread)
    good = np.isfinite(loss) & np.isfinite(log_delta)
    return loss[good], log_delta[good]


def _log_share(tilt: FloatArray | float, spread: FloatArray | float) -> FloatArray:
    """Return log of delta over exp(K − tilt · epsilon), if the tilted loss is near enough a Gaussian."""
    scaled = np.asarray(tilt) * spread / np.sqrt(2)
    further = (1 + np.asarray(tilt)) * spread / np.sqrt(2)
    near = np.maximum(scaled, -25.0)
    with np.errstate(divide="ignore", over="ignore"):
        difference = (erfcx(near) - erfcx(further)) / 2
        slope = further * spread / (1 + further) ** 2
        return np.asarray(np.log(np.maximum(difference, 1e-17 * slope + 1e-300)))


def reach(law: LossLaw, *, tilt: float, log_top: float, log_bottom: float) -> tuple[float, float]:
    """Return the losses above which a law has less than exp(log_top), and below which tilted less than exp(log_bottom).

    Each atom below may have as much; there is none above.
    """
    rest = log_bottom + float(np.real(law.log_moment(np.array([tilt + 0j]))[0]))
    low, high = law.support
    top = min(high, first_where(lambda loss: law.log_tail(loss) <= log_top, law.support))
    bottom = max(low, -first_where(lambda loss: law.log_head(-loss) - tilt * loss <= rest, (-high, -low)))
    heavy = [loss for loss, log_mass in law.atoms if log_mass + tilt * loss > rest]
    return min([bottom, top, *heavy]), max([bottom, top, *(loss for loss, _ in law.atoms)])


def first_where(is_beyond: Callable[[FloatArray], BoolArray], ends: tuple[float, float]) -> float:
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
