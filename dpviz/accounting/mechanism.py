"""What every mechanism can say of itself, whatever its noise."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy.typing as npt

from dpviz.accounting._checks import Numbers


@runtime_checkable
class Mechanism(Protocol):
    """A mechanism whose privacy is known exactly, for the worst pair of neighbours.

    All four methods take scalars or arrays; a float comes back for a scalar, a float64 array of the same
    shape otherwise.

    Examples
    --------
    >>> from dpviz.accounting import Gaussian, Laplace
    >>> isinstance(Gaussian(sigma=1.0), Mechanism), isinstance(Laplace(scale=1.0), Mechanism)
    (True, True)
    """

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile: the least delta for each epsilon >= 0."""

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon >= 0 for each delta in [0, 1]."""

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function: the least type II error for each type I error in [0, 1]."""

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence for each order >= 1; order 1 is the Kullback-Leibler divergence."""
