"""What a mechanism tells the numeric composition: the law of its privacy loss, in one direction.

The privacy loss is L = log(p/q) of a dominating pair (P, Q), its law is taken under P, and in the reversed
direction P and Q change places. A law is a frozen dataclass, so equal laws compare equal: a mechanism whose two
directions give equal laws is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from dpviz.accounting._checks import FloatArray

ComplexArray = npt.NDArray[Any]


@dataclass(frozen=True)
class Cells:
    """The continuous part of a loss law, cut at rising losses e_0 < e_1 < … < e_n; arrays of shape (n,).

    The two error bounds let whoever uses the cells round them up or down so that the truth lies between.
    """

    log_mass: FloatArray
    """log P(e_i < L <= e_{i+1}), atoms left out; -inf where nothing is."""

    offset: FloatArray
    """log(P mass / Q mass) of the cell minus e_i, in [0, e_{i+1} − e_i]; any number there where the mass is 0."""

    log_mass_error: float
    """Bound of the absolute error of log_mass, rounding and quadrature included."""

    offset_error: FloatArray
    """Bound of the absolute error of offset."""


class LossLaw(Protocol):
    """The law of the privacy loss of one release, in one direction."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest finite loss; -inf or inf where it has no end."""

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """(loss, log P mass) of each point mass at a finite loss."""

    @property
    def infinite_mass(self) -> float:
        """P mass of the outputs that Q cannot give, in [0, 1]. Everything else here is conditional on the rest."""

    def log_moment(self, order: ComplexArray) -> ComplexArray:
        """Return log E_P exp(order · L) for complex orders with real part > −1, of the same shape.

        Accurate relative to itself also where it is tiny (1e-15 of |log M|, by log1p of summed expm1), since a
        count multiplies it; any branch of the logarithm will do.
        """

    def cells(self, edges: FloatArray) -> Cells:
        """Return the masses between rising edges."""

    def log_tail(self, loss: FloatArray) -> FloatArray:
        """Return an upper bound of log P(L > loss) for the continuous part, good to a few per cent."""

    def log_head(self, loss: FloatArray) -> FloatArray:
        """Return an upper bound of log P(L <= loss) for the continuous part, good to a few per cent."""
