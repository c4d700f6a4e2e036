"""The law of the privacy loss of Gaussian releases: itself a normal law, with mean mu²/2 and standard deviation mu.

It depends on the sensitivity (L2, under the relation that the caller declares) only through mu, and it is the
same in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erf, log_ndtr

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray
from dpviz.accounting._law import Cells, ComplexArray
from dpviz.accounting._mills import log_normal_density, threshold

_ROUNDING = 2.0**-52
_FOUR, _EIGHT = np.polynomial.legendre.leggauss(4), np.polynomial.legendre.leggauss(8)
_NARROW, _NARROWEST = 2.0, 0.1  # exponents within a cell up to which 8 and 4 nodes leave less than 1e-16


@dataclass(frozen=True)
class GaussianLaw:
    r"""The privacy loss law of a mu-GDP Gaussian mechanism; exact.

    .. math:: L \sim N(\mu^2/2, \mu^2)\ \text{under}\ P, \qquad N(-\mu^2/2, \mu^2)\ \text{under}\ Q

    Parameters
    ----------
    mu : float
        GDP parameter, finite and >= 0; at 0 the loss is an atom at 0.

    Raises
    ------
    DomainError
        If mu is out of its range.

    References
    ----------
    Balle and Wang (2018), Lemma 3. https://arxiv.org/abs/1805.06530

    Examples
    --------
    >>> GaussianLaw(mu=2.0).log_moment(np.array([1.0]))
    array([4.])
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check.scalar("mu", check.at_least("mu", self.mu, 0)))

    @property
    def support(self) -> tuple[float, float]:
        """The whole line; the point 0 at mu = 0."""
        return (0.0, 0.0) if self.mu == 0 else (-np.inf, np.inf)

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """None; all of the mass, at 0, at mu = 0."""
        return ((0.0, 0.0),) if self.mu == 0 else ()

    @property
    def infinite_mass(self) -> float:
        """0: every output is possible under both."""
        return 0.0

    def log_moment(self, order: ComplexArray) -> ComplexArray:
        r"""Return log E_P exp(z L) for complex orders z; exact.

        .. math:: \mu^2 z(z + 1)/2

        References
        ----------
        Mironov (2017), Proposition 7, at order z + 1. https://arxiv.org/abs/1702.07476

        Examples
        --------
        >>> GaussianLaw(mu=1.0).log_moment(np.array([1j]))
        array([-0.5+0.5j])
        """
        at = np.asarray(order)
        with np.errstate(over="ignore", under="ignore"):
            return (self.mu * at) * (self.mu * (at + 1)) / 2

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
        >>> GaussianLaw(mu=1.0).cells(np.array([0.0, 0.5, 2.0])).log_mass.round(4)
        array([-1.6531, -0.8366])
        """
        bounds = _rising(edges)
        widths = np.diff(bounds)
        if self.mu == 0:
            return Cells(np.full(widths.shape, -np.inf), np.zeros(widths.shape), 0.0, np.zeros(widths.shape))
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            u, _ = threshold(bounds, np.full(bounds.shape, self.mu))
            log_mass, offset, offset_error = _cells(u, widths, bounds[:-1], self.mu)
        finite = log_mass[np.isfinite(log_mass)]
        largest = float(np.max(np.abs(finite), initial=0.0))
        return Cells(log_mass, np.clip(offset, 0.0, widths), 8 * _ROUNDING * (8 + largest), offset_error)

    def log_tail(self, loss: FloatArray) -> FloatArray:
        """Return an upper bound of log P(L > loss), within 1e-12 (relative) of it; -inf at mu = 0.

        Examples
        --------
        >>> GaussianLaw(mu=2.0).log_tail(np.array([2.0])).round(4)
        array([-0.6931])
        """
        return self._log_side(loss, -1.0)

    def log_head(self, loss: FloatArray) -> FloatArray:
        """Return an upper bound of log P(L <= loss), within 1e-12 (relative) of it; -inf at mu = 0.

        Examples
        --------
        >>> GaussianLaw(mu=2.0).log_head(np.array([0.0])).round(4)
        array([-1.841])
        """
        return self._log_side(loss, 1.0)

    def _log_side(self, loss: FloatArray, sign: float) -> FloatArray:
        at = np.atleast_1d(np.asarray(loss, dtype=np.float64))
        if self.mu == 0:
            return np.full(np.shape(loss), -np.inf)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            u, _ = threshold(at, np.full(at.shape, self.mu))
            value = log_ndtr(sign * u)
            return np.reshape(np.minimum(value - 1e-13 * value, 0.0), np.shape(loss))


def _rising(edges: npt.ArrayLike) -> FloatArray:
    bounds = np.atleast_1d(check.finite("edges", edges))
    if bounds.ndim != 1 or np.any(np.diff(bounds) <= 0):
        raise check.DomainError("edges", "a row of rising numbers", edges)
    return bounds


def _cells(u: FloatArray, widths: FloatArray, low: FloatArray, mu: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log P mass, offset and its error bound; u are the edges in standard deviations under P."""
    span = widths / mu
    farthest = np.maximum(np.abs(u[:-1]), np.abs(u[1:])) + 1
    log_mass, fall = _nodes(u[:-1], span, mu, span * (farthest + mu))
    wide = span * farthest > _NARROW
    log_mass[wide] = _log_between(u[:-1][wide], u[1:][wide])
    offset, error = -np.log1p(-fall), 32 * _ROUNDING * np.abs(fall)
    far = span * (farthest + mu) > _NARROW
    if far.any():
        log_other = _log_other(u[:-1][far], u[1:][far], span[far], mu)
        size = np.abs(log_mass[far]) + np.abs(log_other) + np.abs(low[far])
        offset[far] = log_mass[far] - log_other - low[far]
        error[far] = 8 * _ROUNDING * (8 + size)
    is_empty = np.isinf(log_mass)
    offset[is_empty], error[is_empty] = 0.0, 0.0
    return log_mass, offset, error


def _log_other(start: FloatArray, end: FloatArray, span: FloatArray, mu: float) -> FloatArray:
    """Return the log Q mass of cells, which lie mu farther out under Q."""
    low, high = start + mu, end + mu
    reach = span * (np.maximum(np.abs(low), np.abs(high)) + 1)
    log_mass, _ = _nodes(low, span, 0.0, reach)
    return np.where(reach > _NARROW, _log_between(low, high), log_mass)


def _nodes(start: FloatArray, span: FloatArray, mu: float, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log P mass of narrow cells and the mean of 1 − exp(−mu t) in each, t from its start; nothing cancels."""
    log_mass, fall = np.zeros_like(span), np.zeros_like(span)
    for part, rule in ((reach <= _NARROWEST, _FOUR), (reach > _NARROWEST, _EIGHT)):
        if not part.any():
            continue
        at, width = start[part], np.minimum(span[part], _NARROW)
        total, lost = np.zeros_like(at), np.zeros_like(at)
        for node, weight in zip(*rule, strict=True):
            step = width * ((1 + node) / 2)
            mass = np.exp(np.minimum(-step * (at + step / 2), _NARROW)) * (weight / 2)
            total += mass
            lost -= mass * np.expm1(-mu * step)
        log_mass[part] = log_normal_density(at) + np.log(total) + np.log(width)
        fall[part] = lost / total
    return log_mass, fall


def _log_between(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return log(Φ(end) − Φ(start)) for a wide cell, from the side on which the normal tail is small."""
    near, far = np.where(start >= 0, -start, end), np.where(start >= 0, -end, start)
    upper = log_ndtr(near)
    one_side = upper + np.log1p(-np.exp(np.where(np.isinf(upper), -1.0, np.minimum(log_ndtr(far) - upper, -1e-300))))
    across = np.log(erf(np.maximum(end, 0.0) / np.sqrt(2)) / 2 + erf(np.maximum(-start, 0.0) / np.sqrt(2)) / 2)
    return np.where((start < 0) & (end > 0), across, one_side)
