r"""The loss of many Laplace releases as a density on equal cells: sums of positive terms only.

One release's loss, divided by \sqrt{e^l} to make its two directions alike, is half an atom at each end s and −s
of [−s, s] and a uniform law between. Of k of them, m give uniform losses, whose sum has a cardinal B-spline for a
density, and k − m give atoms. All these pieces meet on the lattice k s, (k − 2)s, …, so the density is smooth
inside each cell of width 2s. Here a place is its *deficit* d = (ks − l)/(2s) from the greatest loss, in [0, k].

A `Window` holds the law after an exponential tilt z that puts its mass where it is asked about, so that no number
is too small for a float64: true density = e^{k (rise(z) − s/2)} e^{z (d − k/2)} · tilted density. Every number in it
comes from products, quotients and sums of positive numbers; its relative error is a small multiple of their count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import exprel

from dpviz.accounting._checks import FloatArray

IntArray = npt.NDArray[np.intp]

MOST_WORK = 7e8  # products; about half a second
NODES = 20
_LEFT_OUT = 45.0  # terms below e^-45 of the whole are left out
_MARGIN = 5.0  # of a window beyond the places asked about, in units of √k >= 2 standard deviations
_REACH = 4.0  # of the places that one window is asked about, in the same units
_BEND = 4.0  # the most that the log of the density, and
_PULL = 6.0  # that of the kernels, may change along a panel
_LARGEST = 700.0  # of what goes into exp

_ABSCISSAE, _COEFFICIENTS = np.polynomial.legendre.leggauss(NODES)
POINTS: FloatArray = (1 + _ABSCISSAE) / 2
"""Gauss–Legendre points on [0, 1]."""
WEIGHTS: FloatArray = _COEFFICIENTS / 2
_BARYCENTRIC = np.sqrt(POINTS * (1 - POINTS) * WEIGHTS) * (-1.0) ** np.arange(NODES)


@dataclass(frozen=True)
class _Kernel:
    """The weights e^(−zt) (e^(−st), 2 sinh(st)) of a mass at distance t above a place; sinh in upward windows only."""

    pure_epsilon: float
    tilt: float
    is_upward: bool

    def integrals(self, density: FloatArray, distance: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the integrals with both weights over nodes along the last axis, stacked."""
        s, z = self.pure_epsilon, self.tilt
        fall = density * (np.exp(-(s + z) * distance) * weight)
        if not self.is_upward:
            return np.stack([fall.sum(-1), np.zeros(fall.shape[:-1])])
        excess = density * (-np.exp((s - z) * distance) * np.expm1(-2 * s * distance) * weight)
        return np.stack([fall.sum(-1), excess.sum(-1)])

    def moved(self, distance: FloatArray | float, tails: FloatArray) -> FloatArray:
        """Return both tails as seen from `distance` further down, with nothing between: the addition theorem."""
        s, z = self.pure_epsilon, self.tilt
        fall = np.exp(-(s + z) * distance) * tails[0]
        if not self.is_upward:
            return np.stack([fall, np.zeros(fall.shape)])
        grow = np.exp((s - z) * distance)
        return np.stack([fall, grow * (tails[1] - np.expm1(-2 * s * distance) * tails[0])])


@dataclass(frozen=True, eq=False)
class Window:
    """The tilted law near the deficits that one tilt is good for."""

    kernel: _Kernel
    count: int
    log_weight: float
    """k (rise(z) − s/2)."""
    first: int
    """The deficit where the first cell starts; above it lies nothing that matters."""
    cuts: FloatArray
    """Panel ends inside a cell, 0 to 1."""
    density: FloatArray
    """Of shape (cells, panels, nodes)."""
    fall: FloatArray
    """At each cell's each cut, the mass above it at distance t, weighed by e^(−(z + s) t); an atom at the cell's start
    is included, one at its end is not. Of shape (cells, panels + 1)."""
    excess: FloatArray
    """The same weighed by e^(−z t) 2 sinh(s t), in an upward window."""
    steps: int
    """The most rounded steps behind one number."""


def rise(tilt: float, pure_epsilon: float) -> float:
    """Return log cosh(z/2) + log(1 + s tanh(z/2)/z), the log moment of one release before its factor e^(−s/2)."""
    half = abs(tilt) / 2
    if half < 1:
        return math.log1p(2 * math.sinh(half / 2) ** 2) + math.log1p(pure_epsilon * _tanh_ratio(half) / 2)
    return half + math.log1p(math.exp(-2 * half)) - math.log(2) + math.log1p(pure_epsilon * _tanh_ratio(half) / 2)


def mean_loss(tilt: float, pure_epsilon: float) -> float:
    """Return d rise/dz, the mean of one release's tilted loss over 2s, in (−1/2, 1/2)."""
    half = abs(tilt) / 2
    ratio = _tanh_ratio(half)
    slope = -half * 2 / 3 if half < 1e-4 else (1 / math.cosh(min(half, 300.0)) ** 2 - ratio) / half
    value = math.tanh(half) / 2 + pure_epsilon / 4 * slope / (1 + pure_epsilon * ratio / 2)
    return math.copysign(value, tilt)


def tilt_for(place: float, pure_epsilon: float) -> float:
    """Return a tilt whose mean is near `place` in (−1/2, 1/2); any tilt is right, a near one keeps numbers large."""
    low, high = 0.0, 1.0
    while mean_loss(high, pure_epsilon) < abs(place) and high < 1e4:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_loss(middle, pure_epsilon) < abs(place) else (low, middle)
    return math.copysign(high, place)


def uniform_share(tilt: float, pure_epsilon: float) -> float:
    """Return how likely one release's tilted loss is not at an end."""
    weight = pure_epsilon * _tanh_ratio(abs(tilt) / 2) / 2
    return weight / (1 + weight)


def most_uniform(count: int, share: float) -> int:
    """Return how many of the losses may be off their ends before it is as unlikely as e^-45."""
    mean = count * share
    reach = mean + math.sqrt(2 * _LEFT_OUT * mean) + 2 * _LEFT_OUT / 3  # Bernstein's inequality
    tight = reach if mean == 0 else _poisson_reach(mean)
    return max(1, min(count, math.ceil(min(reach, tight))))


def _poisson_reach(mean: float) -> float:
    """Return m with m log(m/mean) − m + mean = 45 (Chernoff), by Newton steps from above."""
    m = mean + math.sqrt(2 * _LEFT_OUT * mean) + _LEFT_OUT
    for _ in range(20):
        m -= (m * math.log(m / mean) - m + mean - _LEFT_OUT) / math.log(m / mean)
    return m


def _tanh_ratio(half: float) -> float:
    """Return tanh(x)/x."""
    return math.tanh(half) / half if half > 1e-8 else 1.0


def window_index(place: FloatArray, count: int) -> IntArray:
    """Return which window serves a place, loss/(2s); windows are _REACH √k wide and number 0 starts at 0."""
    index: IntArray = np.floor(place / (_REACH * math.sqrt(count))).astype(np.intp)
    return index


def window_end(index: int, count: int) -> float:
    """Return the greatest place that a window serves."""
    return (index + 1) * _REACH * math.sqrt(count)


@lru_cache(maxsize=16)
def window(pure_epsilon: float, count: int, index: int, is_upward: bool) -> Window:
    """Return the window of that index, for tails that weigh a loss by e^(l/2) (upward) or by e^(−l/2)."""
    s, k = pure_epsilon, count
    z, uniform, (first, last), cuts = _plan(s, k, index, is_upward)
    kernel = _Kernel(s, z, is_upward)
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        density, atoms = _law(s, k, z, uniform, first, last, cuts)
        fall, excess = _prefix(kernel, cuts, density, atoms)
    steps = 14 * uniform + 4 * (last - first) + 200
    return Window(kernel, k, k * (rise(z, s) - s / 2), first, cuts, density, fall, excess, steps)


@lru_cache(maxsize=256)
def work(pure_epsilon: float, count: int) -> float:
    """Return about how many products the costliest window takes."""
    most = 0.0
    for index in range(int(window_index(np.array([count / 2]), count)[0]) + 1):
        _, uniform, (first, last), cuts = _plan(pure_epsilon, count, index, False)
        most = max(most, NODES * (len(cuts) - 1) * (3.0 * uniform**2 + (2.0 * uniform + 50) * (last - first)))
    return most


def _plan(s: float, k: int, index: int, is_upward: bool) -> tuple[float, int, tuple[int, int], FloatArray]:
    """Return a window's tilt, how many losses off their ends it needs, its first and last cell, and the cuts."""
    floor = s if is_upward else -s
    low, high = window_end(index - 1, k), window_end(index, k)
    most = max(0.0, 0.5 - 1.5 / math.sqrt(k))  # so that the ends of the lattice are not out of a float64's reach
    z = max(tilt_for(min(max((low + high) / 2 / k, -most), most), s), floor)
    nearest = max(tilt_for(low / k, s) if low >= 0 else -tilt_for(min(high, 0.0) / k, s), floor)
    uniform = most_uniform(k, uniform_share(nearest, s))
    reach = _MARGIN * math.sqrt(k)
    ends = max(0, math.floor(k / 2 - high - reach)), min(k, math.ceil(k / 2 - low + reach))
    return z, uniform, ends, _cuts(max(0.0, k / 2 - high), s, k, z)


def _cuts(least: float, s: float, k: int, z: float) -> FloatArray:
    """Return panel ends, close where the density bends: like the square root of the deficit below the greatest loss."""
    bend = 2 * math.sqrt(k * s) * (math.sqrt(least + 1) - math.sqrt(least))
    root = np.linspace(0, 1, math.ceil(bend / _BEND) + 1 if bend > _BEND else 2) ** 2
    even = np.linspace(0, 1, math.ceil((abs(z) + s) / _PULL) + 1)
    return np.union1d(root, even)


def _law(
    s: float, k: int, z: float, uniform: int, first: int, last: int, cuts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the tilted density at the nodes of cells first..last−1, and the atoms at first..last."""
    weight = s * _tanh_ratio(abs(z) / 2) / 2
    down = math.exp(min(-z, _LARGEST))
    many = binomial(k, weight)[: uniform + 1]
    spline = _splines(z, many, cuts)
    padded = np.zeros(max(k, uniform - 1 + last) + uniform)
    padded[uniform - 1 : k] = binomial(k - uniform, down)
    shifts = np.lib.stride_tricks.sliding_window_view(padded, uniform)[first:last, ::-1]
    density = (shifts @ spline.reshape(uniform, -1)).reshape(last - first, len(cuts) - 1, NODES)
    return density, many[0] * binomial(k, down)[first : last + 1]


def _splines(z: float, many: FloatArray, cuts: FloatArray) -> FloatArray:
    """Return Σ_m many[m] (up + down S)^(M−m) N_m at the nodes of M cells; S moves on by a cell.

    N_m(x) = (x N_{m−1}(x) + (m − x) N_{m−1}(x − 1))/(m − 1), tilted; m − x is formed from the far end of its cell.
    """
    most = len(many) - 1
    widths = np.diff(cuts)[:, None]
    place, rest = (cuts[:-1, None] + widths * POINTS).ravel(), (1 - cuts[1:, None] + widths * (1 - POINTS)).ravel()
    up, down = 1 / (1 + math.exp(min(-z, _LARGEST))), 1 / (1 + math.exp(min(z, _LARGEST)))
    here, above = 1 / exprel(-z), 1 / exprel(z)
    cells = np.arange(most)[:, None]
    x, y = place + cells, rest + cells
    spline, gathered = np.zeros((most, len(place))), np.zeros((most, len(place)))
    spline[0] = above * np.exp(z * rest) if z < 0 else here * np.exp(-z * place)
    gathered[0] = many[1] * spline[0]
    for m in range(2, most + 1):
        before, old = spline[: m - 1], gathered[: m - 1]
        moved = before * y[m - 2 :: -1] * (above / (m - 1))
        before *= x[: m - 1] * (here / (m - 1))
        spline[1:m] += moved
        moved = old * down
        old *= up
        gathered[1:m] += moved
        gathered[:m] += many[m] * spline[:m]
    return gathered


def binomial(count: int, odds: float) -> FloatArray:
    """Return the binomial law of `count` trials: ratios from its mode outward, and the sum 1 sets the scale."""
    trial = np.arange(1, count + 1)
    mode = count if odds == np.inf else min(count, int((count + 1) * (odds / (1 + odds))))
    ratio = (count + 1 - trial) / trial * odds
    law = np.concatenate([np.cumprod(1 / ratio[:mode][::-1])[::-1], [1.0], np.cumprod(ratio[mode:])])
    whole: FloatArray = law / law.sum()
    return whole


def _prefix(kernel: _Kernel, cuts: FloatArray, density: FloatArray, atoms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (fall, excess) at every cut of every cell; the atom at a cell's start is included, that at its end not."""
    cells, panels = density.shape[:2]
    inner = np.zeros((2, panels + 1, cells))  # of the cell's own density alone
    for p, width in enumerate(np.diff(cuts)):
        inner[:, p + 1] = kernel.moved(width, inner[:, p])
        inner[:, p + 1] += kernel.integrals(density[:, p], width * (1 - POINTS), WEIGHTS * width)
    start = np.zeros((2, cells + 1))
    start[:, 1:] = inner[:, -1]
    start[0] += atoms
    span = 1
    while span <= cells:
        start[:, span:] += kernel.moved(span, start[:, :-span])
        span *= 2
    for p, cut in enumerate(cuts):
        inner[:, p] += kernel.moved(cut, start[:, :-1])
    return inner[0].T, inner[1].T


def interpolate(values: FloatArray, where: FloatArray) -> FloatArray:
    """Return the polynomials with those values at the nodes, at other points of the panel, [0, 1]."""
    gap = where[..., None] - POINTS
    gap[gap == 0] = 1e-300
    weight = _BARYCENTRIC / gap
    result: FloatArray = np.einsum("...j,...ij->...i", values, weight) / weight.sum(-1)
    return result
