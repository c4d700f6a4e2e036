"""The outcomes of randomised responses that differ, in falling order of their privacy loss, summed once.

As in `_outcomes`, two running sums of positive terms tell the whole profile; here the losses are no lattice, so that
every outcome is enumerated: for each distinct epsilon how many of its responses are lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from dpviz.accounting._binomial import difference_up, gap_to, log1p_rest, log_pmf, mean_of_hits, product
from dpviz.accounting._checks import DomainError, FloatArray
from dpviz.accounting._outcomes import DEEPEST, SCALE, UPPER
from dpviz.accounting._twofold import two_sum

_MOST = 2**22


@dataclass(frozen=True)
class Releases:
    """Kinds of releases: the guarantee of each, and how many there are."""

    epsilon: FloatArray
    delta: FloatArray
    count: FloatArray

    def spent(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Σ delta, what rounding took from it, and Σ (log(1 − delta) + delta)."""
        terms = np.concatenate(product(self.count, self.delta))
        total = math.fsum(terms)
        used = self.count > 0
        return (
            np.asarray(total),
            np.asarray(math.fsum([*terms, -total])),
            np.asarray(math.fsum(self.count[used] * log1p_rest(-self.delta[used]))),
        )


@dataclass(frozen=True)
class Differing:
    """Outcomes whose loss is > 0, greatest loss first; a loss is a float64 and the rest that it lacks."""

    loss: FloatArray
    rest: FloatArray
    above: FloatArray
    """Σ over the outcomes so far of their probability times 1 − e^{loss − theirs}."""
    mass: FloatArray
    """Σ over the outcomes so far of their probability times e^{loss − theirs}."""

    def delta(self, composed_epsilon: FloatArray) -> FloatArray:
        """Return the profile at each composed epsilon >= 0."""
        beyond, ties = (np.searchsorted(-self.loss, -composed_epsilon, side=side) for side in ("left", "right"))
        more = np.concatenate([[0], np.cumsum(self.rest > 0)])  # among equal losses those come first
        filled = beyond + more[ties] - more[beyond]
        last = np.maximum(filled - 1, 0)
        drop = np.where(filled > 0, (self.loss[last] - composed_epsilon) + self.rest[last], 0.0)
        with np.errstate(under="ignore"):
            return np.where(filled > 0, self.above[last] - np.expm1(-drop) * self.mass[last], 0.0) / SCALE

    def epsilon_at(self, delta: FloatArray) -> FloatArray:
        """Return the least composed epsilon >= 0 for each delta, 0 < delta < 1."""
        target = delta * SCALE
        last = np.maximum(np.searchsorted(self.above, target) - 1, 0)
        with np.errstate(divide="ignore"):
            drop = -np.log1p(-np.clip((target - self.above[last]) / self.mass[last], 0.0, 1.0))
        return np.maximum(difference_up(self.loss[last], drop), 0.0)


def differing(releases: Releases) -> Differing:
    """Return the outcomes of one randomised response for each release."""
    used = (releases.epsilon > 0) & (releases.count > 0)
    distinct, kind = np.unique(releases.epsilon[used], return_inverse=True)
    counts = np.bincount(kind, weights=releases.count[used])
    kinds = [_Kind.of(*pair) for pair in zip(distinct.tolist(), counts.tolist(), strict=True)]
    size = math.prod(kind.size for kind in kinds)
    if size > _MOST:
        few = f"few enough, or of few enough kinds, to have at most {_MOST} outcomes (else compose numerically)"
        raise DomainError("epsilons", few, f"{size} outcomes")
    loss, rest, log_weight = np.zeros(1), np.zeros(1), np.zeros(1)
    for each in kinds:
        more, rest_more, log_more = each.outcomes()
        loss, error = two_sum(loss[:, None], more[None, :])
        rest = (error + np.add.outer(rest, rest_more)).ravel()
        loss, log_weight = loss.ravel(), np.add.outer(log_weight, log_more).ravel()
    loss, rest = two_sum(loss, rest)
    kept = np.flatnonzero(loss > 0)
    if not kept.size:
        return Differing(*np.zeros((4, 1)))
    kept = kept[np.lexsort((-rest[kept], -loss[kept]))]
    return _summed(loss[kept], rest[kept], log_weight[kept])


@dataclass(frozen=True)
class _Kind:
    """Equal randomised responses, of which the number of lies from `low` on matters."""

    epsilon: float
    count: float
    mean: Decimal
    low: float
    size: int

    @classmethod
    def of(cls, epsilon: float, count: float) -> _Kind:
        exact = mean_of_hits(epsilon, count)
        mean = float(exact)
        variance = mean * (1 - mean / count)
        low = max(math.floor(mean - math.sqrt(2 * DEEPEST * variance)), 0)
        high = min(count, math.ceil(mean + UPPER / 3 + math.sqrt(UPPER * UPPER / 9 + 2 * UPPER * variance)))
        return cls(epsilon, count, exact, low, int(high - low) + 1)

    def outcomes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loss, the rest that it lacks, and the log probability of each number of lies."""
        index = np.arange(float(self.size))
        lies: FloatArray = self.low + index
        gap: FloatArray = gap_to(self.low, self.mean) + index
        count, mean = np.full(self.size, self.count), np.full(self.size, max(float(self.mean), 1e-300))
        loss, rest = product(count - 2 * lies, np.full(self.size, self.epsilon))
        return loss, rest, log_pmf(lies, gap, count, mean)


def _summed(loss: FloatArray, rest: FloatArray, log_weight: FloatArray) -> Differing:
    """Return the running sums, that of the mass by doubling."""
    with np.errstate(under="ignore"):
        root = np.exp(log_weight / 2)
        mass, reach = root * SCALE * root, 1
        while reach < loss.size:
            fade = (loss[:-reach] - loss[reach:]) + (rest[:-reach] - rest[reach:])
            mass = np.concatenate([mass[:reach], mass[reach:] + np.exp(-fade) * mass[:-reach]])
            reach = 2 * reach if np.min(fade) < DEEPEST else loss.size
        fade = (loss[:-1] - loss[1:]) + (rest[:-1] - rest[1:])
        above = np.concatenate([[0.0], np.cumsum(-np.expm1(-fade) * mass[:-1])])
    return Differing(loss, rest, above, mass)
