"""The law of one randomised answer's privacy loss, for numeric composition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expm1, log1p

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray
from dpviz.accounting._law import Cells, ComplexArray


@dataclass(frozen=True)
class RandomizedResponseLaw:
    """The loss of one answer: s for the true one, −s for the neighbour's, 0 for the rest; exact.

    It is the same when the two neighbours change places. An implementation of `LossLaw`, atoms alone.

    Parameters
    ----------
    pure_epsilon : float
        s, nats, finite and >= 0; neighbours replace one answer by another.
    categories : int
        Number of possible answers, a whole number >= 2.
    infinite_mass : float
        Probability of an output that names the truth, in [0, 1]; the atoms are conditional on the rest.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Section 3.1 and Theorem 3.3.

    Examples
    --------
    >>> [(loss, round(float(log_mass), 4)) for loss, log_mass in RandomizedResponseLaw(1.0).atoms]
    [(-1.0, -1.3133), (1.0, -0.3133)]
    """

    pure_epsilon: float
    categories: int = 2
    infinite_mass: float = 0.0

    def __post_init__(self) -> None:
        pure, others = pure_and_others(check.at_least("pure_epsilon", self.pure_epsilon, 0), self.categories)
        object.__setattr__(self, "pure_epsilon", check.scalar("pure_epsilon", pure))
        object.__setattr__(self, "categories", int(check.scalar("categories", others)) + 1)
        mass = check.scalar("infinite_mass", check.probability("infinite_mass", self.infinite_mass))
        object.__setattr__(self, "infinite_mass", mass)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest finite loss."""
        return -self.pure_epsilon, self.pure_epsilon

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """(loss, log P mass) of the two or three kinds of answer."""
        s = self.pure_epsilon
        ends = (-s, self._log_truth - s), (s, self._log_truth)
        if self.categories == 2:
            return ends
        return ends[0], (0.0, float(np.log(self.categories - 2)) + self._log_truth - s), ends[1]

    @property
    def _log_truth(self) -> float:
        with np.errstate(under="ignore"):
            return -float(np.log1p((self.categories - 1) * np.exp(-self.pure_epsilon)))

    def log_moment(self, order: ComplexArray) -> ComplexArray:
        r"""Return log E_P e^(zL) for complex orders z with real part > −1; exact.

        .. math:: \ln\bigl(1 + p\,(e^{zs} - 1)(1 - e^{-(z + 1)s})\bigr)
        """
        s, z = self.pure_epsilon, np.asarray(order, dtype=np.complex128)
        w = np.where(z.real < -0.5, -1 - z, z)  # M(z) = M(−1 − z), which is exact between −1 and 0
        with np.errstate(under="ignore"):
            size = np.where(w.real * s > 1, 1, w * s)
            near = np.exp(self._log_truth) * expm1(size) * -expm1(-size - s)
            is_near = (w.real * s <= 1) & (np.abs(near) < 0.5)
            rest = np.exp(-(2 * w + 1) * s) + (self.categories - 2) * np.exp(-(w + 1) * s)
            far = w * s + self._log_truth + log1p(rest)
            moment: ComplexArray = np.where(is_near, log1p(near), far)
            return moment

    def cells(self, edges: FloatArray) -> Cells:
        """Return empty cells: there is no density."""
        count = len(edges) - 1
        return Cells(np.full(count, -np.inf), np.zeros(count), 0.0, np.zeros(count))

    def log_tail(self, loss: FloatArray) -> FloatArray:
        """Return −inf: there is no density."""
        return np.full(np.shape(loss), -np.inf)

    def log_head(self, loss: FloatArray) -> FloatArray:
        """Return −inf: there is no density."""
        return np.full(np.shape(loss), -np.inf)


def pure_and_others(pure_epsilon: npt.ArrayLike, categories: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the checked log odds, and the number of answers other than the true one."""
    pure = check.at_least("pure_epsilon", pure_epsilon, 0, infinite=True)
    return pure, check.whole("categories", categories, 2) - 1
