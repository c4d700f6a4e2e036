"""Ledgers whose composition is known in closed form, each as one mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy.typing as npt

from dpviz.accounting._checks import Numbers
from dpviz.accounting._law import LossLaw
from dpviz.accounting.gaussian import Gaussian
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.heterogeneous import optimal_heterogeneous_delta, optimal_heterogeneous_epsilon
from dpviz.accounting.laplace_composition import (
    laplace_composed_delta,
    laplace_composed_delta_bracket,
    laplace_composed_epsilon,
    laplace_composed_epsilon_bracket,
    laplace_composed_log_delta,
    laplace_composed_tradeoff,
    laplace_composition_is_fit,
)
from dpviz.accounting.laplace_law import LaplaceLaw
from dpviz.accounting.optimal import optimal_composition_delta, optimal_composition_epsilon
from dpviz.accounting.profile import tradeoff_from_profile
from dpviz.accounting.randomized_response_law import RandomizedResponseLaw

Laws = tuple[tuple[LossLaw, int], ...]

_MOST_OUTCOMES = 2**16


class Profile(Protocol):
    """A mechanism without its Rényi divergence, which a ledger has from its releases."""

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile."""

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return its inverse."""

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function."""


@dataclass(frozen=True)
class ComposedLaplace:
    """Laplace releases of one pure epsilon; see `laplace_composition`."""

    pure_epsilon: float
    count: int

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile; exact."""
        return laplace_composed_delta(epsilon, pure_epsilon=self.pure_epsilon, count=self.count)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return its inverse; exact."""
        return laplace_composed_epsilon(delta, pure_epsilon=self.pure_epsilon, count=self.count)

    def log_delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the log of the privacy profile; exact."""
        return laplace_composed_log_delta(epsilon, pure_epsilon=self.pure_epsilon, count=self.count)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function; exact."""
        return laplace_composed_tradeoff(alpha, pure_epsilon=self.pure_epsilon, count=self.count)

    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return two numbers with delta between, rounding included."""
        lower, upper = laplace_composed_delta_bracket(epsilon, pure_epsilon=self.pure_epsilon, count=self.count)
        return float(lower), float(upper)

    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return two numbers with epsilon between, rounding included."""
        lower, upper = laplace_composed_epsilon_bracket(delta, pure_epsilon=self.pure_epsilon, count=self.count)
        return float(lower), float(upper)


@dataclass(frozen=True)
class ComposedGuarantees:
    """Releases of which only (epsilon, delta) is known, or randomised responses; see `optimal` and `heterogeneous`."""

    laws: tuple[tuple[RandomizedResponseLaw, int], ...]

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile; exact."""
        if len(self.laws) == 1:
            ((law, count),) = self.laws
            return optimal_composition_delta(epsilon, epsilon=law.pure_epsilon, delta=law.infinite_mass, count=count)
        return optimal_heterogeneous_delta(epsilon, **self._parts)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return its inverse; exact."""
        if len(self.laws) == 1:
            ((law, count),) = self.laws
            return optimal_composition_epsilon(delta, epsilon=law.pure_epsilon, delta=law.infinite_mass, count=count)
        return optimal_heterogeneous_epsilon(delta, **self._parts)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function; exact."""
        return tradeoff_from_profile(alpha, delta=self.delta)

    @property
    def _parts(self) -> dict[str, list[float]]:
        return {
            "epsilons": [law.pure_epsilon for law, _ in self.laws],
            "deltas": [law.infinite_mass for law, _ in self.laws],
            "counts": [count for _, count in self.laws],
        }


def closed_form(laws: Laws) -> Profile | None:
    """Return the composition of merged, symmetric laws as one mechanism, or None where no closed form is known."""
    if not laws:
        return Gaussian(sigma=1.0, sensitivity=0.0)
    if len(laws) == 1:
        ((law, count),) = laws
        if isinstance(law, GaussianLaw) and count == 1:
            return Gaussian(sigma=1.0, sensitivity=law.mu)
        if isinstance(law, LaplaceLaw) and laplace_composition_is_fit(law.pure_epsilon, count=count):
            return ComposedLaplace(law.pure_epsilon, count)
    answers = tuple(
        (law, count) for law, count in laws if isinstance(law, RandomizedResponseLaw) and law.categories == 2
    )
    if len(answers) == len(laws) and (len(laws) == 1 or prod(count + 1 for _, count in laws) <= _MOST_OUTCOMES):
        return ComposedGuarantees(answers)
    return None
