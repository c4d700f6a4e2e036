r"""Delta of a ledger with few subsampled steps, in one direction, release by release; estimates.

What a ledger leaves once one release is peeled off is a profile at a shifted loss,

.. math:: D_{j+1}(\varepsilon) = E_{L \sim P}\bigl[D_j(\varepsilon - L)\bigr],

and D_0, of the Gaussians or of the Laplace releases together, or of nothing, is a closed form. For nothing at all so is
D_1. The mean over a subsampled Gaussian release is taken by Gauss-Legendre panels in its output x, that over releases
whose losses are atoms alone by one sum. All terms are positive and in logarithms, so that a delta of any size keeps its
digits: the relative error of delta is about 1e-14, or 2e-15 of |log delta| where that is more, for noise multipliers
from 0.1 on; that is measured against finer panels, the contour and nested quadrature, not proved. In between the D_j
are piecewise polynomials.

A profile changes its nature at the least loss (in REMOVE) of the steps, log(1 − q) each, and there on the scale of
q, far below that of epsilon. Hence the variable d >= 0: the loss beyond that edge, counted upward in REMOVE, downward
from −log(1 − q) in ADD. Each step takes softplus(w) off it, with w = (x − 1/2)/σ² + log(q/(1 − q)), without rounding.

References
----------
Zhu, Dong and Wang (2022), Theorem 10, https://arxiv.org/abs/2106.08567; the panels are elementary: geometric towards
an edge (Trefethen, 2013, Chapter 8, for the rates).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from dpviz.accounting import _laplace_curve as laplace_curve
from dpviz.accounting._binomial import gap_to, log_pmf, mean_of_hits
from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._closed_form import Laws
from dpviz.accounting._gaussian_profile import profile_at
from dpviz.accounting._law import LossLaw
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.laplace_composition import laplace_composition_is_fit
from dpviz.accounting.laplace_law import LaplaceLaw
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled_law import SubsampledGaussianLaw

MOST = 16
"""Subsampled steps at most."""
_RARE, _FEW = 5e-3, 8  # sampling probability and steps up to which peeling comes first
_MOST_OUTCOMES = 4096  # of all releases that have atoms alone
_MOST_LAPLACES = 32  # where a step is peeled from them
_LEAST_NOISE, _MOST_SPREAD = 0.1, 16.0  # σ, and σ times the root of the number of steps
_LEAST_MU, _MOST_MU = 1e-6, 1e3  # where a step is peeled
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_DEGREE = 16
_NODES = np.cos(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE)
_FIT = np.linalg.inv(np.polynomial.chebyshev.chebvander(_NODES, _DEGREE - 1))
_TABLE_RATIO = 1.2  # the same, times σ and the root of the number of steps
_RATIO = 0.6  # log of the ratio of neighbouring distances from an edge
_REACH = 11.0  # standard deviations that hold all but e^−60
_DEPTH = 42.0  # what is e^−42 does not count
_FARTHEST = 300.0  # of log(q/d): nearer its end a profile is taken as 0
_ROWS = 64
_TABULATED = 1024  # arguments from which the last profile is read off a table too
_MOST_ROUNDS = 200

Window = tuple[float, float]  # the least d above 0 and the greatest that are asked for, rounded to powers


@dataclass(frozen=True)
class Step:
    """One subsampled release, by its output x and the distance softplus(w) of its loss from the end of its support."""

    noise: float
    probability: float
    is_remove: bool

    @property
    def logit(self) -> float:
        """Return log(q/(1 − q))."""
        return float(np.log(self.probability) - np.log1p(-self.probability))

    @property
    def edge(self) -> float:
        """Return −log(1 − q) > 0."""
        return -float(np.log1p(-self.probability))

    def output(self, distance: FloatArray) -> FloatArray:
        """Return x at a distance; −inf where it is not above 0."""
        return self.noise**2 * (_log_expm1(distance) - self.logit) + 0.5

    def distance(self, x: FloatArray) -> FloatArray:
        """Return the distance at x, relatively accurate where it is tiny."""
        distance: FloatArray = np.logaddexp(0.0, (x - 0.5) / self.noise**2 + self.logit)
        return distance

    def log_density(self, x: FloatArray, distance: FloatArray) -> FloatArray:
        """Return the log of the density of x under P."""
        base: FloatArray = -0.5 * (x / self.noise) ** 2 - np.log(self.noise * np.sqrt(2 * np.pi))
        return base + (distance - self.edge if self.is_remove else 0.0)

    def log_delta(self, d: FloatArray) -> FloatArray:
        """Return the log profile of this step alone."""
        result = np.full(d.shape, -np.inf)
        inside = d > 0
        at = d[inside]
        loss, mu = _log_expm1(at) - self.logit, np.full(at.shape, 1 / self.noise)
        if self.is_remove:
            result[inside] = np.log(self.probability) + profile_at(loss, mu)[2]
            result[~inside] = _log_empty(d[~inside] - self.edge)
        else:
            result[inside] = np.log(-np.expm1(-at)) + profile_at(-loss, mu)[2]
        return result


@dataclass(frozen=True)
class Peeled:
    """A ledger in the order of its peeling."""

    mu: float
    """Of the Gaussians together; 0 without."""

    pure_epsilon: float
    count: int
    """The Laplace releases; 0 without."""

    steps: tuple[Step, ...]
    is_remove: bool

    @property
    def is_bare(self) -> bool:
        """Whether there are subsampled steps alone."""
        return self.mu == 0 and self.count == 0

    @property
    def sign(self) -> float:
        """The way of d along the loss."""
        return 1.0 if self.is_remove else -1.0

    def edge(self, level: int) -> float:
        """Return how far below 0 (in the sense of d) the edge of the first `level` steps is."""
        return sum(step.edge for step in self.steps[:level])

    @property
    def kinks(self) -> FloatArray:
        """Where D_0 is not smooth, in d, rising; 0 without Laplace releases."""
        kinks: FloatArray = self.pure_epsilon * np.arange(-self.count, self.count + 1.0, 2)
        return kinks

    @property
    def scale(self) -> float:
        """Return the least d at which the loss of a step is usual."""
        return min(step.edge for step in self.steps)

    @property
    def span(self) -> float:
        """Return the log of how much nearer to an edge a profile can still change."""
        noise = min(step.noise for step in self.steps)
        return min(_DEPTH, (9.5 + 0.5 / noise) / noise)

    @property
    def closed_level(self) -> int:
        """Return how many steps D has in closed form."""
        return 1 if self.is_bare and self.steps else 0

    def closed_log_delta(self, d: FloatArray) -> FloatArray:
        """Return the log profile at the closed level."""
        if self.closed_level:
            return self.steps[0].log_delta(d)
        loss = self.sign * d
        if self.mu:
            return profile_at(loss, np.full(d.shape, self.mu))[2]
        if self.count:
            return laplace_curve.log_delta(loss, self.pure_epsilon, self.count)[0]
        return _log_empty(loss)


@dataclass(frozen=True)
class Table:
    """log D as piecewise polynomials of d between rising edges."""

    edges: FloatArray
    coefficients: FloatArray
    """Of shape (panels, degree)."""

    def at(self, d: FloatArray) -> FloatArray:
        """Return the values, by Clenshaw's recurrence; d is between the first edge and the last."""
        panel = np.clip(np.searchsorted(self.edges, d, side="right") - 1, 0, len(self.coefficients) - 1)
        low, high = self.edges[panel], self.edges[panel + 1]
        t = np.clip((2 * d - low - high) / (high - low), -1.0, 1.0)
        rows = self.coefficients.T
        later, last = np.zeros_like(t), np.zeros_like(t)
        for row in rows[:0:-1]:
            later, last = 2 * t * later - last + row[panel], later
        result: FloatArray = t * later - last + rows[0][panel]
        return result


def is_quickest(laws: Laws) -> bool:
    """Return whether peeling comes before a contour.

    It does for two steps at most, and for a few that sample so rarely that one jump makes up delta: a contour sees
    that late or never.
    """
    steps = [(law, count) for law, count in laws if isinstance(law, SubsampledGaussianLaw)]
    total = sum(count for _, count in steps)
    is_rare = all(law.sampling_probability <= _RARE for law, _ in steps)
    return is_peelable(laws) and (total <= 2 or (total <= _FEW and is_rare))


def is_peelable(laws: Laws) -> bool:
    """Return whether this way is fit: few subsampled steps, one smooth kind beside them, few outcomes of the rest."""
    steps = [(law, count) for law, count in laws if isinstance(law, SubsampledGaussianLaw)]
    smooth = [(law, count) for law, count in laws if isinstance(law, GaussianLaw | LaplaceLaw)]
    rest = [pair for pair in laws if pair not in steps and pair not in smooth]
    if len(smooth) > 1 or len({law.direction for law, _ in steps}) > 1 or not all(_is_usual(law) for law, _ in steps):
        return False
    total, outcomes = sum(count for _, count in steps), 1
    if total > MOST or any(law.noise_multiplier * total**0.5 > _MOST_SPREAD for law, _ in steps):
        return False
    for law, count in rest:
        if count > _MOST_OUTCOMES or not _is_discrete(law):
            return False
        outcomes *= comb(count + len(law.atoms) - 1, len(law.atoms) - 1)
    return outcomes <= _MOST_OUTCOMES and all(_is_base(law, count, total) for law, count in smooth)


def peeled_log_delta(laws: Laws, epsilon: FloatArray) -> FloatArray:
    """Return log delta at each epsilon >= 0 (flat), −inf where delta is 0; an estimate, good to about 1e-13."""
    peeled, losses, log_masses = _plan(laws)
    result = np.full(epsilon.shape, -np.inf)
    finite = np.isfinite(epsilon)
    if not finite.any():
        return result
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        level = len(peeled.steps)
        d = peeled.sign * (epsilon[finite][:, None] - losses) + peeled.edge(level)
        values = _profile(peeled, d.ravel()).reshape(d.shape) + log_masses
        result[finite] = np.minimum(np.logaddexp.reduce(values, axis=1), 0.0)
    return result


def peeled_epsilon(laws: Laws, delta: FloatArray) -> FloatArray:
    """Return the least epsilon >= 0 for each delta in [0, 1] (flat); 0 from delta(0) on; an estimate."""
    with np.errstate(divide="ignore"):
        target = np.log(delta)
    result = np.zeros(delta.shape)
    result[delta == 0] = max(sum(count * law.support[1] for law, count in laws), 0.0)
    start = peeled_log_delta(laws, np.zeros(1))[0]
    inner = np.flatnonzero((target < start) & (delta > 0))
    if inner.size:
        result[inner] = _solve(laws, target[inner], float(start))
    return result


def _is_usual(law: SubsampledGaussianLaw) -> bool:
    return law.noise_multiplier >= _LEAST_NOISE and 1e-100 <= law.sampling_probability <= 1 - 1e-12


def _is_discrete(law: LossLaw) -> bool:
    if law.infinite_mass or not 0 < len(law.atoms) <= _MOST_OUTCOMES:
        return False
    return abs(float(np.logaddexp.reduce([log_mass for _, log_mass in law.atoms]))) < 1e-13


def _is_base(law: LossLaw, count: int, steps: int) -> bool:
    if isinstance(law, GaussianLaw):
        return count == 1 and law.mu > 0 and (steps == 0 or (steps == 1 and _LEAST_MU <= law.mu <= _MOST_MU))
    if not isinstance(law, LaplaceLaw) or not laplace_composition_is_fit(law.pure_epsilon, count=count):
        return False
    return law.pure_epsilon > 0 and (steps == 0 or (steps == 1 and count <= _MOST_LAPLACES))


@lru_cache(maxsize=16)
def _plan(laws: Laws) -> tuple[Peeled, FloatArray, FloatArray]:
    """Return the ledger without its discrete releases, and the atoms of those together."""
    mu, pure_epsilon, laplaces = 0.0, 0.0, 0
    steps, is_remove = list[Step](), True
    losses, log_masses = np.zeros(1), np.zeros(1)
    for law, count in laws:
        if isinstance(law, SubsampledGaussianLaw):
            is_remove = law.direction is Direction.REMOVE
            steps += [Step(law.noise_multiplier, law.sampling_probability, is_remove)] * count
        elif isinstance(law, GaussianLaw):
            mu = law.mu
        elif isinstance(law, LaplaceLaw):
            pure_epsilon, laplaces = law.pure_epsilon, count
        else:
            loss, log_mass = _repeated(law, count)
            losses = (losses[:, None] + loss).ravel()
            log_masses = (log_masses[:, None] + log_mass).ravel()
    return Peeled(mu, pure_epsilon, laplaces, tuple(steps), is_remove), losses, log_masses


def _repeated(law: LossLaw, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the losses and log masses of `count` releases: how many show the first atom, then the second …."""
    loss, log_mass = (np.array(column) for column in zip(*law.atoms, strict=True))
    left, total, weight = np.array([count]), np.zeros(1), np.zeros(1)
    for index in range(loss.size - 1):
        odds = float(np.logaddexp.reduce(log_mass[index + 1 :]) - log_mass[index])
        rows = [_hits(odds, int(number)) for number in left]
        shown = np.concatenate([np.arange(row.size) for row in rows])
        sizes = [row.size for row in rows]
        total = np.repeat(total, sizes) + shown * loss[index]
        weight = np.repeat(weight, sizes) + np.concatenate(rows)
        left = np.repeat(left, sizes) - shown
    return total + left * loss[-1], weight


def _hits(odds: float, count: int) -> FloatArray:
    """Return log P(X = 0 … count) for X binomial with success probability 1/(1 + e^odds)."""
    if count == 0:
        return np.zeros(1)
    is_mirrored = odds < 0
    mean = mean_of_hits(abs(odds), float(count))
    hits = np.arange(count + 1.0)
    gaps = np.array([gap_to(float(hit), mean) for hit in hits])
    each = np.full(hits.shape, float(count))
    row = log_pmf(hits, gaps, each, np.full(hits.shape, float(mean)))
    return row[::-1] if is_mirrored else row


def _profile(peeled: Peeled, d: FloatArray) -> FloatArray:
    """Return the log profile of all steps."""
    level, farthest = len(peeled.steps), float(np.max(d))
    if level <= peeled.closed_level:
        return peeled.closed_log_delta(d)
    if not peeled.is_bare or farthest <= 0:
        return _step(peeled, level, d, (1.0, 1.0))
    nearest = peeled.scale
    if not peeled.is_remove:
        nearest = min(max(float(np.min(d[d > 0])), peeled.scale * np.exp(-_FARTHEST)), peeled.scale)
    base = 16.0 if farthest < 1 else 2.0
    farthest = float(base ** np.ceil(np.log2(farthest) / np.log2(base)))
    window = float(16.0 ** np.floor(np.log2(nearest) / 4)), farthest
    return _read(peeled, level, d, window) if d.size > _TABULATED else _step(peeled, level, d, window)


def _values(peeled: Peeled, level: int, d: FloatArray, window: Window) -> FloatArray:
    return peeled.closed_log_delta(d) if level == peeled.closed_level else _read(peeled, level, d, window)


def _read(peeled: Peeled, level: int, d: FloatArray, window: Window) -> FloatArray:
    """Return the log profile of `level` steps off its table; beyond its lower end it is that of no release."""
    table = _table(peeled, level, window)
    result = _log_empty(peeled.sign * d - peeled.edge(level)) if peeled.is_remove else np.full(d.shape, -np.inf)
    inside = d >= table.edges[0]
    result[inside] = table.at(d[inside])
    return result


@lru_cache(maxsize=48)
def _table(peeled: Peeled, level: int, window: Window) -> Table:
    """Return the profile of `level` steps, as far as those above need it."""
    edges = _edges(peeled, level, window)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    d = middle[:, None] + half[:, None] * _NODES
    values = _step(peeled, level, d.ravel(), window).reshape(d.shape)
    return Table(edges, np.maximum(values, -1e300) @ _FIT.T)


def _edges(peeled: Peeled, level: int, window: Window) -> FloatArray:
    """Return where the pieces of a table meet: at equal ratios of e^d − 1."""
    nearest, farthest = window
    steps = len(peeled.steps)
    least = nearest * np.exp(-peeled.span - 2 * (steps - level))
    spread = max(step.noise for step in peeled.steps) * np.sqrt(level)
    low, high = _log_expm1(np.array([least, max(farthest, 2 * least)]))
    pieces = int(np.ceil((high - low) / min(_RATIO, _TABLE_RATIO / spread)))
    return np.logaddexp(0.0, np.linspace(low, high, pieces + 1))


def _step(peeled: Peeled, level: int, d: FloatArray, window: Window) -> FloatArray:
    """Return the log profile of `level` steps from that of one less, by quadrature."""
    result = np.empty(d.shape)
    is_outside = np.zeros(d.shape, dtype=np.bool_)
    if not peeled.mu:
        is_outside = d <= peeled.kinks[0]
    loss = d[is_outside] - peeled.edge(level)
    result[is_outside] = _log_empty(loss) if peeled.is_remove else -np.inf
    inside = np.flatnonzero(~is_outside)
    for start in range(0, inside.size, _ROWS):
        rows = inside[start : start + _ROWS]
        result[rows] = _integrals(peeled, level, d[rows], window)
    return result


def _integrals(peeled: Peeled, level: int, d: FloatArray, window: Window) -> FloatArray:
    step = peeled.steps[level - 1]
    bounds = _panels(peeled, level, d, step)
    half = np.diff(bounds, axis=1) / 2
    row, column = np.nonzero(half > 0)
    size = half[row, column]
    x = ((bounds[row, column] + bounds[row, column + 1]) / 2)[:, None] + size[:, None] * _POINTS
    distance = step.distance(x)
    left = d[row][:, None] - distance
    log_value = _values(peeled, level - 1, left.ravel(), window).reshape(x.shape)
    log_value += step.log_density(x, distance) + np.log(size[:, None] * _WEIGHTS)
    starts = np.searchsorted(row, np.arange(d.size))
    peak = np.maximum.reduceat(log_value.max(axis=1), starts)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    total: FloatArray = np.add.reduceat(np.exp(log_value - peak[row][:, None]).sum(axis=1), starts)
    return peak + np.log(total)


def _panels(peeled: Peeled, level: int, d: FloatArray, step: Step) -> FloatArray:
    """Return the rising ends of the panels in x for each d: even ones, and some where the profile below changes."""
    least = 1e-4 * peeled.mu * (peeled.mu / (peeled.mu + np.abs(d))) if peeled.mu else 0.0
    turn = step.output(np.maximum(d - peeled.kinks[0], least))
    reach = _REACH * step.noise
    if peeled.is_remove:
        low, high = np.full(d.shape, -reach), np.maximum(turn, 1.0) + reach
    else:
        low, high = np.minimum(turn, 0.0) - reach, np.full(d.shape, 1 + reach)
        if not peeled.mu:
            high = np.minimum(high, turn)
        high = np.maximum(high, low + 1e-3 * step.noise)
    width = min(0.65 * step.noise, 2 * step.noise**2)
    even = np.arange(np.floor(low.min() / width), np.ceil(high.max() / width) + 1) * width
    distances = d[:, None] - _changes(peeled, level - 1, d)
    special = step.output(np.maximum(distances, 0.0))
    inner = np.concatenate([np.broadcast_to(even, (d.size, even.size)), special], axis=1)
    inner = np.clip(inner, low[:, None], high[:, None])
    return np.sort(np.concatenate([low[:, None], inner, high[:, None]], axis=1), axis=1)


def _changes(peeled: Peeled, level: int, d: FloatArray) -> FloatArray:
    """Return, for each d of the next level, the arguments at which the profile of this one should be cut."""
    if peeled.mu:
        near = 0.7 * peeled.mu * np.arange(-18.0, 61.0)
        return np.concatenate([np.broadcast_to(near, (d.size, near.size)), d[:, None] - near[18:]], axis=1)
    if level == 0:
        return np.broadcast_to(peeled.kinks, (d.size, peeled.kinks.size))
    start = np.minimum(d, peeled.scale) * np.exp(-peeled.span)
    longest = float(np.log(np.max(d / start)))
    offsets: FloatArray = np.append(0.0, np.exp(_RATIO * np.arange(1 + np.ceil(longest / _RATIO))))
    return np.asarray(start[:, None] * offsets, dtype=np.float64)


def _log_expm1(d: FloatArray) -> FloatArray:
    """Return log(e^d − 1) for d >= 0."""
    return d + np.log(-np.expm1(-d))


def _log_empty(loss: FloatArray) -> FloatArray:
    """Return the log profile of no release, max(0, 1 − e^loss)."""
    return np.log(-np.expm1(np.minimum(loss, 0.0)))


def _solve(laws: Laws, target: FloatArray, start: float) -> FloatArray:
    """Return the roots of log delta, which falls from `start` at 0, below which the targets are."""
    low, high = np.zeros(target.shape), _beyond(laws, target)
    above, below = start - target, peeled_log_delta(laws, high) - target
    active, side = np.arange(target.size), np.zeros(target.shape)
    for _ in range(_MOST_ROUNDS):
        a, b, fa, fb = low[active], high[active], above[active], below[active]
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = a + (b - a) * np.where(np.isfinite(fb), fa / (fa - fb), 0.5)
        margin = 0.25 * np.spacing(b)
        middle = np.clip(middle, np.minimum(a + margin, b), np.maximum(b - margin, a))
        now = peeled_log_delta(laws, middle) - target[active]
        is_above = now > 0
        low[active], high[active] = np.where(is_above, middle, a), np.where(is_above, b, middle)
        above[active] = np.where(is_above, now, np.where(side[active] < 0, _damped(fa, now, fb), fa))
        below[active] = np.where(is_above, np.where(side[active] > 0, _damped(fb, now, fa), fb), now)
        side[active] = np.where(is_above, 1.0, -1.0)
        is_done = (np.abs(now) <= 1e-15 * (1 + np.abs(target[active]))) | (high[active] - low[active] <= np.spacing(b))
        low[active] = np.where(is_done, middle, low[active])
        active = active[~is_done]
        if not active.size:
            break
    return low


def _damped(kept: FloatArray, now: FloatArray, replaced: FloatArray) -> FloatArray:
    """Return the value at the end that stays, lowered as Anderson and Björck (1973) do."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = 1 - now / replaced
    return kept * np.where((share > 0) & np.isfinite(share), share, 0.5)


def _beyond(laws: Laws, target: FloatArray) -> FloatArray:
    """Return an epsilon for each target at which log delta is below it."""
    greatest = sum(count * law.support[1] for law, count in laws)
    probe: FloatArray = np.full(target.shape, min(1e-3, greatest))
    for _ in range(_MOST_ROUNDS):
        is_short: BoolArray = (peeled_log_delta(laws, probe) > target) & (probe < greatest)
        if not is_short.any():
            break
        probe = np.where(is_short, np.minimum(2 * probe, greatest), probe)
    return probe
