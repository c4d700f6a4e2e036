"""The law of one Laplace release's privacy loss, for numeric composition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log1p

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray
from dpviz.accounting._exp_rest import exp_rest
from dpviz.accounting._law import Cells, ComplexArray

_ROUNDING = 2.0**-52
_NEAR = 2.0  # of s |order|: the moment is so near 1 that it is its distance from 1 that is computed


@dataclass(frozen=True)
class LaplaceLaw:
    r"""The loss of one release: half an atom at s, one of mass e^(−s)/2 at −s, a density between; exact.

    .. math:: \tfrac14 e^{(l - s)/2} \quad (-s < l < s)

    It is the same when the two neighbours change places. An implementation of `LossLaw`.

    Parameters
    ----------
    pure_epsilon : float
        s = Δ/b, with Δ the L1 sensitivity under the declared neighbouring relation, nats, finite and >= 0.

    Raises
    ------
    DomainError
        If it is out of its range.

    References
    ----------
    Elementary: the law of (|X − f'| − |X − f|)/b under the density around f.

    Examples
    --------
    >>> LaplaceLaw(0.5).support
    (-0.5, 0.5)
    """

    pure_epsilon: float

    def __post_init__(self) -> None:
        pure_epsilon = check.scalar("pure_epsilon", check.at_least("pure_epsilon", self.pure_epsilon, 0))
        object.__setattr__(self, "pure_epsilon", pure_epsilon)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest loss."""
        return -self.pure_epsilon, self.pure_epsilon

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """(loss, log P mass) of the outputs beyond both answers, on either side."""
        half = -float(np.log(2))
        return (-self.pure_epsilon, half - self.pure_epsilon), (self.pure_epsilon, half)

    @property
    def infinite_mass(self) -> float:
        """Nothing: no output rules a neighbour out."""
        return 0.0

    def log_moment(self, order: ComplexArray) -> ComplexArray:
        r"""Return log E_P e^(zL) for complex orders z with real part > −1; exact.

        .. math:: zs + \ln\frac{(z + 1) + z e^{-(2z + 1)s}}{2z + 1}

        Near its removable point z = −1/2 it is taken as an even function of v = z + 1/2, and where it is near 0
        through M − 1 = [(z + 1)E(zs) + z E(−(z + 1)s)]/(2z + 1) with E(x) = e^x − 1 − x.
        """
        s, z = self.pure_epsilon, np.asarray(order, dtype=np.complex128)
        is_middle = np.abs(z + 0.5) < 0.25
        is_near = ~is_middle & (np.abs(z) * s < _NEAR) & (np.abs(z + 1) * s < _NEAR)
        result = np.empty_like(z)
        result[is_middle] = self._middle(z[is_middle])
        result[is_near] = self._near(z[is_near])
        result[~(is_middle | is_near)] = self._far(z[~(is_middle | is_near)])
        return result

    def _near(self, z: ComplexArray) -> ComplexArray:
        s = self.pure_epsilon
        moment: ComplexArray = log1p(((z + 1) * exp_rest(z * s) + z * exp_rest(-(z + 1) * s)) / (2 * z + 1))
        return moment

    def _far(self, z: ComplexArray) -> ComplexArray:
        """Return zs + log(1 − z (1 − e^(−a))/(2z + 1)), or from the other end where Re a = Re (2z + 1)s < 0."""
        s = self.pure_epsilon
        is_left = z.real < -0.5
        w = np.where(is_left, -1 - z, z)  # M(z) = M(−1 − z)
        with np.errstate(under="ignore"):
            moment: ComplexArray = w * s + log1p(w * np.expm1(-(2 * w + 1) * s) / (2 * w + 1))
        return moment

    def _middle(self, z: ComplexArray) -> ComplexArray:
        """Return −s/2 + log(cosh(vs) + sinh(vs)/(2v)), |v| < 1/4; where s is small, less what cancels."""
        s = self.pure_epsilon
        v = z + 0.5
        a = v * s
        if s >= 1:
            flip = np.where(a.real < 0, -a, a)
            is_zero = np.abs(flip) < 1e-8
            ratio = np.where(is_zero, 1 - flip, -np.expm1(-2 * flip) / np.where(is_zero, 1.0, 2 * flip))
            with np.errstate(under="ignore"):
                held: ComplexArray = flip - s / 2 + np.log((1 + np.exp(-2 * flip)) / 2 + s / 2 * ratio)
            return held
        series = np.ones_like(a)  # 6 (sinh(a) − a)/a³
        for j in range(18, 2, -2):
            series = 1 + a * a / ((j + 2) * (j + 3)) * series
        series = 1 + a * a / 20 * series
        rest = 2 * np.sinh(a / 2) ** 2 + s / 12 * a * a * series - exp_rest(np.asarray(s / 2))
        moment: ComplexArray = log1p(np.exp(-s / 2) * rest)
        return moment

    def cells(self, edges: FloatArray) -> Cells:
        """Return the masses between rising edges, and each cell's own mean loss, which is its middle inside ±s."""
        s = self.pure_epsilon
        low, high = np.clip(edges[:-1], -s, s), np.clip(edges[1:], -s, s)
        with np.errstate(divide="ignore", under="ignore"):
            log_mass = (high - s) / 2 - np.log(2) + np.log(-np.expm1(-(high - low) / 2))
        offset = (low - edges[:-1]) + (high - low) / 2
        inside = np.clip(offset, 0.0, np.diff(edges))
        return Cells(log_mass, inside, _ROUNDING * (4 + s), _ROUNDING * 2 * (inside + (low - edges[:-1])))

    def log_tail(self, loss: FloatArray) -> FloatArray:
        """Return log P(L > loss) of the density; exact."""
        s = self.pure_epsilon
        with np.errstate(divide="ignore"):
            tail: FloatArray = np.log(-np.expm1((np.clip(loss, -s, s) - s) / 2)) - np.log(2)
        return tail

    def log_head(self, loss: FloatArray) -> FloatArray:
        """Return log P(L <= loss) of the density; exact."""
        s = self.pure_epsilon
        at = np.clip(loss, -s, s)
        with np.errstate(divide="ignore"):
            head: FloatArray = np.log(-np.expm1(-(at + s) / 2)) + (at - s) / 2 - np.log(2)
        return head
