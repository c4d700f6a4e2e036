r"""One vertical line of the contour integral: its nodes, and what they say of any epsilon near its saddle.

The trapezoidal rule converges geometrically here: its error is a sum of aliases, the values at epsilon ± a
period, which Chernoff's bound makes negligible. Where the moments do not fade (much of the loss sits on points, or
nearly so), the line is cut smoothly by a taper. That averages the answer over a short stretch of
epsilon, which is as good wherever nothing sharp is near; a second, shorter taper tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import erf

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._law import ComplexArray
from dpviz.accounting._saddle import Axis, Product, period

_EPS = float(np.finfo(np.float64).eps)
_FAINT = -43.0  # log of the size, beside the largest, of a node that no longer counts
_FEWEST, _MOST = 16, 2**16
_MOST_WORK = 3e8  # nodes times height: a law's own nodes grow with the height
_BEYOND = np.array([1.3, 1.9, 2.8, 4.3])  # heights, beside the last node's, that are looked at too
_FADED = 2.0  # how far, in logs, below what can come back moments are when they have faded
_TAPERED = 4  # a node so far from the end of the line has its full weight even in the shorter taper
_CAUTION = 3.0  # an error that falls as 1/height, as beside a kink, is 2.4 times what the two tapers differ by
_AGREES = 5e-13  # two tapers that agree so well are trusted


@dataclass(frozen=True)
class Line:
    """The integrand's logarithm without epsilon, at equal steps up a vertical line: K(z) less K(c)."""

    c: float
    level: float
    step: float
    order: ComplexArray
    growth: ComplexArray
    size: FloatArray
    """The log size of each node beside the first."""

    envelope: FloatArray
    """The same, but nowhere below what it may come back to further up."""

    is_tapered: bool = False

    is_telling: bool = True
    """Whether it is long enough for the agreement of two tapers to mean something."""


@dataclass(frozen=True)
class _Nodes:
    """What makes the nodes of the line through c."""

    product: Product
    c: float
    levels: FloatArray

    def at(self, height: FloatArray) -> Line:
        """Return nodes at these heights, as a line without a step."""
        z = self.c + 1j * height
        growth, envelope = self.product.growth(z, self.levels)
        weight = np.log(np.abs(z * (z + 1) / (self.c * (self.c + 1))))
        return Line(self.c, 0.0, 0.0, z, growth, growth.real - weight, envelope - weight)

    def beyond(self, line: Line) -> Line:
        """Return a few nodes higher up than the line."""
        return self.at(line.order[-1].imag * _BEYOND)


@dataclass(frozen=True)
class Sums:
    """What a line says of each epsilon; the three integrals are to be multiplied by exp(exponent)."""

    exponent: FloatArray
    value: FloatArray
    """delta above the poles; 1 − delta between them."""

    tail_q: FloatArray
    """exp(epsilon) Q(L > epsilon)."""

    tail_p: FloatArray
    """P(L > epsilon) above the poles, P(L <= epsilon) between them."""

    rounding: FloatArray
    """Estimate of the relative rounding error of value."""

    apart: FloatArray
    """What a shorter taper tells of its relative error; 0 on a line that needs no taper."""

    @property
    def error(self) -> FloatArray:
        """Estimate of the relative error of value; inf where it is lost."""
        return self.rounding + self.apart


def line_through(axis: Axis, column: int, epsilon: FloatArray, log_value: FloatArray) -> Line:
    """Return the line through a point of the axis that is right for these epsilons."""
    c, level = float(axis.c[column]), float(axis.level[column])
    few = np.argsort(epsilon)[[0, epsilon.size // 2, -1]]
    step = 2 * np.pi / period(axis, c, epsilon[few], log_value[few])
    nodes = _Nodes(axis.product, c, axis.product.levels(c))
    line = Line(c, level, step, np.empty(0, complex), np.empty(0, complex), np.empty(0), np.empty(0))
    count = int(np.clip(np.sqrt(-2 * _FAINT / axis.bend(column)) * 1.1 / step, _FEWEST, _MOST))
    while True:
        line = _longer(line, nodes, count)
        if line.envelope[-max(8, count // 8) :].max() < _FAINT and nodes.beyond(line).envelope.max() < _FAINT:
            return line
        is_telling = _has_met_return(line) and line.size[count // 2 :].max() >= nodes.beyond(line).size.max() - 1
        tapered = replace(line, is_tapered=True, is_telling=bool(is_telling))
        if 2 * count > _MOST or (2 * count) ** 2 * step > _MOST_WORK or (is_telling and _is_settled(tapered, epsilon)):
            return tapered
        count *= 2


def _is_settled(line: Line, epsilon: FloatArray) -> bool:
    """Return whether two tapers agree as well as can be."""
    seen = sums(line, epsilon)
    return bool(np.all((seen.apart <= np.maximum(_AGREES, seen.rounding)) & np.isfinite(seen.rounding)))


def _has_met_return(line: Line) -> bool:
    """Return whether moments that fade and come back have done so well within both tapers."""
    is_faded = line.size < line.envelope - _FADED
    if not is_faded.any():
        return True
    first = int(is_faded.argmax())
    is_back = ~is_faded[first:]
    return bool(is_back.any()) and _TAPERED * (first + int(is_back.argmax())) <= line.size.size


def _longer(line: Line, nodes: _Nodes, count: int) -> Line:
    """Return the line with as many nodes."""
    more = nodes.at(line.step * np.arange(line.order.size, count, dtype=np.float64))
    return replace(
        line,
        order=np.concatenate([line.order, more.order]),
        growth=np.concatenate([line.growth, more.growth]),
        size=np.concatenate([line.size, more.size]),
        envelope=np.concatenate([line.envelope, more.envelope]),
    )


def sums(line: Line, epsilon: FloatArray) -> Sums:
    """Return the three integrals for each epsilon, from the nodes of the line."""
    middle = (epsilon.min() + epsilon.max()) / 2
    sign = 1.0 if line.c > 0 else -1.0
    z, height = line.order, np.exp(line.growth - 1j * line.order.imag * middle) * (line.step / np.pi)
    height[0] /= 2
    rows = [sign / (z * (z + 1)), 1 / (z + 1), sign / z]
    if line.is_tapered:
        rows = [*(row * _taper(z.imag, 1.0) for row in rows), rows[0] * _taper(z.imag, 0.7)]
    weights = np.stack(rows) * height
    integrals = _transform(weights, line.step, epsilon - middle)
    exponent = line.level - line.c * epsilon
    rounding = 2 + abs(line.level) + np.abs(line.c * epsilon)  # shared by all nodes; then each node's own
    own = np.abs(weights[0]) * (2 + np.abs(line.growth)), np.abs(weights[0]) * z.imag
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = (np.linalg.norm(own[0]) + np.linalg.norm(own[1]) * np.abs(epsilon)) / integrals[0]
        apart = _CAUTION * np.abs(integrals[-1] / integrals[0] - 1) if line.is_tapered else np.zeros(epsilon.shape)
    is_good = (integrals[0] > 0) & line.is_telling
    rounding = np.where(is_good, _EPS * (rounding + scatter), np.inf)
    return Sums(exponent, integrals[0], integrals[1], integrals[2], rounding, np.where(is_good, apart, np.inf))


def _taper(height: FloatArray, share: float) -> FloatArray:
    """Return a smooth step from 1 to 0, halfway down at half of this share of the height."""
    reach = share * height[-1]
    width = reach / 12.5
    fall: FloatArray = (1 - erf((height - reach / 2) / width)) / 2
    return fall


def _transform(weights: ComplexArray, step: float, shift: FloatArray) -> FloatArray:
    """Return Re Σ_n weight_n exp(−i n step shift), a row for each row of weights, a column for each shift."""
    count = weights.shape[1]
    block = max(1, int(np.sqrt(count)))
    blocks = -(-count // block)
    padded = np.zeros((weights.shape[0], blocks * block), dtype=np.complex128)
    padded[:, :count] = weights
    fine = np.exp(-1j * np.multiply.outer(np.arange(block) * step, shift))
    coarse = np.exp(-1j * np.multiply.outer(np.arange(blocks) * (block * step), shift))
    inner = (padded.reshape(-1, block) @ fine).reshape(weights.shape[0], blocks, shift.size)
    total: FloatArray = np.einsum("rbm,bm->rm", inner, coarse).real
    return total
