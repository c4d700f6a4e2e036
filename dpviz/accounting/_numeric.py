"""Numeric composition of a ledger in one direction, by contour or by certified bracket, with its mass at infinity.

All arrays are flat. With a mass m at infinity, delta = m + (1 − m) delta', where delta' is that of the finite
losses alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._contour import Values, axis_of, evaluate, solve
from dpviz.accounting._law import LossLaw
from dpviz.accounting._saddle import Product, nearby, seats

Laws = tuple[tuple[LossLaw, int], ...]

FIT = 1e-7
"""The estimated relative error of delta up to which a contour is fit (beside |log delta|, where that exceeds 1)."""


@dataclass(frozen=True)
class Answer:
    """Numbers, their estimated absolute errors, and whether those are small enough to call the contour fit."""

    value: FloatArray
    error: FloatArray
    is_fit: BoolArray

    def of(self, chosen: BoolArray) -> Answer:
        """Return the answer to some of the questions."""
        return Answer(self.value[chosen], self.error[chosen], self.is_fit[chosen])


@dataclass(frozen=True)
class OneWay:
    """The laws of a ledger, in one direction."""

    laws: Laws

    @property
    def product(self) -> Product:
        """The finite losses."""
        return Product(self.laws)

    @property
    def log_finite(self) -> float:
        """Log of the probability that no loss is infinite."""
        with np.errstate(divide="ignore"):
            return float(sum(count * np.log1p(-law.infinite_mass) for law, count in self.laws))

    @property
    def infinite_mass(self) -> float:
        """Probability that some loss is infinite, in [0, 1]."""
        return float(-np.expm1(self.log_finite))

    def chernoff(self, epsilon: FloatArray) -> FloatArray:
        """Return an upper bound of log delta at each epsilon >= 0."""
        bound = axis_of(self.product, is_upper=True).bound(np.where(np.isfinite(epsilon), epsilon, 0.0))
        return self._whole(np.where(epsilon >= self.product.greatest, -np.inf, bound))

    @property
    def most_at_zero(self) -> float:
        """An upper bound of delta(0), the total variation: √(1 − e^−KL), with K(c)/c for the KL divergence."""
        axis = axis_of(self.product, is_upper=True)
        divergence = max(float((axis.level / axis.c).min()), 0.0)
        finite = np.exp(self.log_finite)
        return float(1 - finite + finite * np.sqrt(-np.expm1(-divergence)))

    def log_delta(self, epsilon: FloatArray, *, detour: float = 0.0) -> Answer:
        """Return log delta at each epsilon >= 0, by contour; its absolute error is the relative one of delta."""
        value, error = np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)
        inner = epsilon < self.product.greatest if self.log_finite > -np.inf else np.zeros(epsilon.shape, dtype=bool)
        if inner.any():
            seen = evaluate(self.product, epsilon[inner], detour=detour)
            value[inner], error[inner] = seen.log_delta, _error_of_log(seen)
        is_fit = error <= FIT * np.maximum(1.0, np.abs(np.where(np.isfinite(value), value, 0.0)))
        return Answer(self._whole(value), error, is_fit)

    def epsilon(self, delta: FloatArray) -> Answer:
        """Return the least epsilon >= 0 for each delta in [0, 1], by contour."""
        value, error = np.zeros(delta.shape), np.zeros(delta.shape)
        mass, greatest = self.infinite_mass, max(self.product.greatest, 0.0)
        value[delta <= mass] = np.inf
        value[(delta == mass) & (delta < 1)] = greatest
        inner = (delta > mass) & (delta < self.most_at_zero) & (greatest > 0)
        if inner.any():
            rest = np.log1p(-delta[inner]) - self.log_finite
            with np.errstate(divide="ignore"):
                log_delta = np.log((delta[inner] - mass) / (1 - mass)) if mass else np.log(delta[inner])
            found, off = solve(self.product, log_delta, rest)
            value[inner], error[inner] = np.minimum(found, greatest), off
        value[(delta == 1) | (delta > mass) & (delta >= self.most_at_zero)] = 0.0
        spread = np.where(np.isfinite(value), value, 0.0)
        return Answer(value, error, error <= FIT * np.maximum(spread, self._scale))

    def least_bound(self, epsilon: FloatArray) -> FloatArray:
        """Return Chernoff's bound of log delta, at the best order near the saddle."""
        axis = seats(axis_of(self.product, is_upper=True), epsilon).axis
        return self._whole(axis.least_bound(epsilon))

    def epsilon_bound(self, delta: FloatArray) -> FloatArray:
        """Return the epsilon that this bound gives for each delta above the mass at infinity."""
        mass = self.infinite_mass
        log_delta = np.log((delta - mass) / (1 - mass)) if mass else np.log(delta)
        axis = nearby(axis_of(self.product, is_upper=True), log_delta)[0]
        bound: FloatArray = np.maximum(axis.cost(log_delta).min(axis=1), 0.0)
        return bound

    def fall(self, epsilon: float) -> float:
        """Return −d log delta/d epsilon, as the contour says."""
        seen = evaluate(self.product, np.array([epsilon]))
        log_delta = self._whole(seen.log_delta)
        return float(np.exp(self.log_finite + epsilon + seen.log_tail_q[0] - log_delta[0]))

    def _whole(self, log_delta: FloatArray) -> FloatArray:
        if self.log_finite == 0:
            return log_delta
        with np.errstate(divide="ignore"):
            whole: FloatArray = np.logaddexp(np.log(self.infinite_mass), self.log_finite + log_delta)
        return whole

    @property
    def _scale(self) -> float:
        """About the standard deviation of the loss, what an error of epsilon is measured by where epsilon is small."""
        step = 1e-3
        moments = self.product.log_moment(np.array([step, 2 * step], dtype=np.complex128)).real
        return float(np.sqrt(max(moments[1] - 2 * moments[0], 0.0)) / step)


def _error_of_log(seen: Values) -> FloatArray:
    """Return the error of log delta, from that of the lesser of delta and 1 − delta."""
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(np.minimum(seen.log_rest - seen.log_delta, 0.0))
    return np.where(np.isnan(ratio), np.inf, seen.error * ratio)
