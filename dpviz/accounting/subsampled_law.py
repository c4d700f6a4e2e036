"""The law of the privacy loss of one Poisson-subsampled Gaussian release, under adding or removing one record.

With N0 = N(0, σ²), N1 = N(1, σ²) and sampling probability q, the pair is the mixture (1 − q) N0 + q N1 and N0: in
`Direction.REMOVE` the mixture is P, in `Direction.ADD` it is Q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray
from dpviz.accounting._law import Cells, ComplexArray
from dpviz.accounting._subsampled_cells import Cutter, cut
from dpviz.accounting._subsampled_moment import log_moment_line, log_moment_rate
from dpviz.accounting._subsampled_panels import Pair
from dpviz.accounting.relation import Direction

_ROUNDED_UP = 1e-12  # relative, of a log: above what log_ndtr and the place of an edge can be off


@dataclass(frozen=True)
class SubsampledGaussianLaw:
    r"""The privacy loss law of a Poisson-subsampled Gaussian release, in one direction; exact.

    .. math:: L = \pm\log\bigl(1 - q + q\,e^{(2x - 1)/2\sigma^2}\bigr), \qquad x \sim P

    The neighbouring relation is `Relation.ADD_OR_REMOVE_ONE`.

    Parameters
    ----------
    noise_multiplier : float
        Sigma over the L2 sensitivity of adding or removing one record, no unit, finite and > 0.
    sampling_probability : float
        Probability q that a record is in the sample, in [0, 1]; at 0 the loss is an atom at 0.
    direction : Direction
        Which of the two is P.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov, Talwar and Zhang (2019), Section 3. https://arxiv.org/abs/1908.10530

    Zhu, Dong and Wang (2022), Section 4 (dominating pairs). https://arxiv.org/abs/2106.08567

    Examples
    --------
    >>> law = SubsampledGaussianLaw(1.0, 0.5, Direction.ADD)
    >>> [round(end, 4) for end in law.support]
    [-inf, 0.6931]
    """

    noise_multiplier: float
    sampling_probability: float
    direction: Direction

    def __post_init__(self) -> None:
        noise = check.scalar("noise_multiplier", check.positive("noise_multiplier", self.noise_multiplier))
        rate = check.probability("sampling_probability", self.sampling_probability)
        object.__setattr__(self, "noise_multiplier", noise)
        object.__setattr__(self, "sampling_probability", check.scalar("sampling_probability", rate))
        object.__setattr__(self, "direction", Direction(self.direction))

    @property
    def support(self) -> tuple[float, float]:
        """From log(1 − q) upward in REMOVE, up to −log(1 − q) in ADD; the point 0 at q = 0."""
        if self.sampling_probability == 0:
            return 0.0, 0.0
        with np.errstate(divide="ignore"):
            end = float(np.log1p(-self.sampling_probability))
        return (end, np.inf) if self.direction is Direction.REMOVE else (-np.inf, -end)

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """None; all of the mass, at 0, at q = 0."""
        return ((0.0, 0.0),) if self.sampling_probability == 0 else ()

    @property
    def infinite_mass(self) -> float:
        """0: every output is possible under both."""
        return 0.0

    def log_moment(self, order: ComplexArray) -> ComplexArray:
        r"""Return log E_P exp(z L) for complex orders z with real part > −1; exact.

        .. math:: E_P e^{zL} = 1 + E_P\bigl[E_2(zL) + z\,E_2(-L)\bigr], \qquad E_2(u) = e^u - 1 - u

        Real orders have a set of nodes each. Orders of one real part share one trapezoid rule, and are fastest where
        their imaginary parts are equally spaced; orders of many real parts are taken line by line.

        References
        ----------
        Zhu, Dong and Wang (2022), Section 5; Trefethen and Weideman (2014), Theorem 5.1 (the trapezoid rule).

        Examples
        --------
        >>> law = SubsampledGaussianLaw(1.0, 0.01, Direction.REMOVE)
        >>> float(law.log_moment(np.array([1.0 + 0j])).real.round(12)[0])  # log(1 + q² (e − 1))
        0.000171813422
        """
        flat = np.asarray(order, dtype=np.complex128).ravel()
        result = np.zeros_like(flat)
        if self.sampling_probability == 1:
            result = (flat / self.noise_multiplier) * ((flat + 1) / self.noise_multiplier) / 2
        elif self.sampling_probability > 0:
            is_remove = self.direction is Direction.REMOVE
            is_mirrored = flat.real < -0.5  # E_P e^{zL} is E_Q e^{(−1−z)(−L)}: the other direction's moment
            for part, at, forward in (
                (~is_mirrored, flat, is_remove),
                (is_mirrored, -1 - flat, not is_remove),
            ):
                result[part] = self._log_moment(at[part], is_remove=forward)
        return result.reshape(np.shape(order))

    def cells(self, edges: FloatArray) -> Cells:
        """Return the masses between rising, finite edges; exact but for rounding, whose bounds it states.

        Raises
        ------
        DomainError
            If the edges are not finite, or do not rise.

        References
        ----------
        Elementary: Gauss-Legendre nodes in narrow cells, differences of log Φ in wide ones.

        Examples
        --------
        >>> law = SubsampledGaussianLaw(1.0, 0.5, Direction.REMOVE)
        >>> law.cells(np.array([-1.0, 0.0, 1.0])).log_mass.round(4)
        array([-0.6931, -0.897 ])
        """
        bounds = np.atleast_1d(check.finite("edges", edges))
        if bounds.ndim != 1 or np.any(np.diff(bounds) <= 0):
            raise DomainError("edges", "a row of rising numbers", edges)
        if self.sampling_probability == 0:
            nothing = np.zeros(bounds.size - 1)
            return Cells(nothing - np.inf, nothing, 0.0, nothing)
        return cut(self._cutter(), bounds)

    def log_tail(self, loss: FloatArray) -> FloatArray:
        """Return an upper bound of log P(L > loss), within 1e-11 (relative) of it; −inf at q = 0.

        Examples
        --------
        >>> SubsampledGaussianLaw(1.0, 0.5, Direction.REMOVE).log_tail(np.array([0.0])).round(4)
        array([-0.6931])
        """
        return self._log_side(loss, is_head=False)

    def log_head(self, loss: FloatArray) -> FloatArray:
        """Return an upper bound of log P(L <= loss), within 1e-11 (relative) of it; −inf at q = 0.

        Examples
        --------
        >>> SubsampledGaussianLaw(1.0, 0.5, Direction.REMOVE).log_head(np.array([-0.7, 0.0])).round(4)
        array([   -inf, -0.6931])
        """
        return self._log_side(loss, is_head=True)

    def _log_side(self, loss: FloatArray, *, is_head: bool) -> FloatArray:
        at = np.asarray(loss, dtype=np.float64)
        if self.sampling_probability == 0:
            return np.full(at.shape, -np.inf)
        value = self._cutter().log_side(at, is_head=is_head)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(value), value, np.minimum(value - _ROUNDED_UP * value + 1e-15, 0.0))

    def _cutter(self) -> Cutter:
        is_remove = self.direction is Direction.REMOVE
        return Cutter.of(self.noise_multiplier, self.sampling_probability, is_remove=is_remove)

    def _log_moment(self, order: ComplexArray, *, is_remove: bool) -> ComplexArray:
        if not order.imag.any():
            rate = log_moment_rate(self._pair(order.size, is_remove=is_remove), order.real)
            return order.real * rate + 0j
        result = np.empty_like(order)
        for tilt in np.unique(order.real):
            line = order.real == tilt
            result[line] = log_moment_line(self._pair(1, is_remove=is_remove), order[line])
        return result

    def _pair(self, size: int, *, is_remove: bool) -> Pair:
        return Pair(np.full(size, self.noise_multiplier), np.full(size, self.sampling_probability), is_remove)
