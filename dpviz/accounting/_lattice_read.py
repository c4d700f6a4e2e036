"""Reading delta, rounded outward, off the composed weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._lattice_power import Power
from dpviz.accounting._lattice_weights import ROUNDING, Lattice

_DEEP = 700.0


@dataclass(frozen=True)
class Slack:
    """What is not in the weights, or not sure."""

    outside: float
    """Tilted mass that the window leaves out or folds in."""

    escaped: float
    """Mass that was moved up to infinity."""

    log_survival: float
    """log P(the loss is finite)."""


@dataclass(frozen=True)
class Reader:
    """Bounds of delta at losses from `start` on."""

    sign: int
    """+1: bounds from above, −1: from below."""

    tilt: float
    start: float
    losses: FloatArray
    """Of the nodes beyond `start`, less `start`; rounded in the sense of the sign."""

    far: FloatArray
    """Σ over the nodes from each on of weight · (1 − exp(−loss)); one more entry, 0."""

    near: FloatArray
    """The like of weight · exp(−loss)."""

    log_scale: float
    noise: float
    """What rounding of the transform, and the window, may have done to delta / exp(log_scale) at `start`."""

    relative: float
    escaped: float
    log_survival: float

    def delta(self, epsilon: FloatArray) -> FloatArray:
        """Return the bound of delta at each epsilon >= start; for one below, the bound at `start`."""
        beyond = np.clip(epsilon - self.start, 0.0, _DEEP)
        place = np.searchsorted(self.losses, beyond, side="right")
        with np.errstate(under="ignore", divide="ignore"):
            taken = np.expm1(beyond) * self.near[place]
            error = np.exp(-self.tilt * beyond) * self.noise + self.relative * np.abs(self.far[place] + taken)
            part = np.maximum(self.far[place] - taken + self.sign * error, 0.0)
            part = np.exp(np.minimum(np.log(part) + self.log_scale, 0.0))
            part = np.minimum(part * (1 + self.sign * self.relative) + self.escaped, 1.0)
            whole = -np.expm1(self.log_survival) + np.exp(self.log_survival) * part
            bound: FloatArray = np.clip(whole * (1 + self.sign * 16 * ROUNDING), 0.0, 1.0)
            return bound

    def epsilon(self, delta: FloatArray) -> FloatArray:
        """Return the least epsilon with a bound <= delta, from above, or the greatest with one >= it, from below.

        Both about. NaN where there is none from `start` on.
        """
        low = np.full(delta.shape, self.start)
        high = np.full(delta.shape, self.start + min(float(np.max(self.losses, initial=0.0)), _DEEP))
        first, last = self.delta(low), self.delta(high)
        for _ in range(70):
            middle = low + (high - low) / 2
            is_low = self.delta(middle) > delta if self.sign > 0 else self.delta(middle) >= delta
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        if self.sign > 0:
            return np.where((first > delta) & (last <= delta), high, np.nan)
        return np.where(first >= delta, low, np.nan)


def reader(
    power: Power, *, lattice: Lattice, first: int, tilt: float, log_scale: float, start: float, sign: int, slack: Slack
) -> Reader:
    """Return a reader from `start` on.

    `log_scale` is that of the composed weights; `lattice.shift` and `.slip` are sums over the releases.
    """
    from_start = int(np.floor((start - lattice.shift) / lattice.step)) - 1 - first
    skipped = int(np.clip(from_start, 0, power.weight.size))
    index = np.arange(first + skipped, first + power.weight.size)
    losses = index.astype(np.float64) * lattice.step - (start - lattice.shift)
    size = max(abs(start), abs(lattice.shift), (abs(first) + power.weight.size) * lattice.step)
    # each storey's step is rounded, and so is each loss: less than 32 roundings of the greatest loss
    losses = losses + sign * 32 * ROUNDING * size + (lattice.slip if sign > 0 else 0.0)
    kept = losses > 0
    losses, weight = losses[kept], power.weight[skipped:][kept]
    with np.errstate(under="ignore"):
        decay = np.exp(-tilt * losses) * weight
        far, near = _sums_from(-np.expm1(-losses) * decay), _sums_from(np.exp(-losses) * decay)
    reach = float(np.max(losses, initial=0.0))
    relative = ROUNDING * (2 * np.sqrt(losses.size) + 100 + 2 * min(tilt * reach, 2 * _DEEP))
    at_start = log_scale - tilt * start
    relative += ROUNDING * (16 * (abs(log_scale) + abs(tilt * start)) + 64 * tilt * size + 3000)
    relative += 2 * tilt * lattice.slip
    noise = _noise(power, tilt=tilt, step=lattice.step, nodes=losses.size) + slack.outside * _highest(tilt)
    return Reader(
        sign,
        tilt,
        start,
        losses,
        far,
        near,
        at_start,
        noise,
        relative,
        slack.escaped if sign > 0 else 0.0,
        slack.log_survival,
    )


def _highest(tilt: float) -> float:
    """Return the maximum of exp(−tilt · t) (1 − exp(−t)) over t >= 0."""
    return float((tilt / (1 + tilt)) ** tilt / (1 + tilt))


def _noise(power: Power, *, tilt: float, step: float, nodes: int) -> float:
    """Return a bound of the error of Σ weight · r, r = exp(−tilt · t) (1 − exp(−t)), over nodes a step apart.

    r has one peak, so its sum over the nodes is at most its integral over step plus the peak; likewise r².
    """
    peak = _highest(tilt)
    first, second = nodes * peak, nodes * peak**2
    if tilt > 0:
        first = min(first, 1 / (tilt * (tilt + 1) * step) + peak)
        second = min(second, 1 / (2 * tilt * (2 * tilt + 1) * (tilt + 1) * step) + peak**2)
    return min(power.error * first, power.norm_error * float(np.sqrt(second))) * 1.001


def _sums_from(values: FloatArray) -> FloatArray:
    """Return Σ_{j >= i} values_j for each i, and 0 at the end; in two storeys, so that few roundings add up."""
    side = int(np.ceil(np.sqrt(values.size))) + 1
    padded = np.zeros(side * side)
    padded[: values.size] = values
    rows = padded[::-1].reshape(side, side)
    sums = np.cumsum(rows, axis=1)
    sums[1:] += np.cumsum(sums[:-1, -1])[:, None]
    return sums.ravel()[::-1][: values.size + 1]
