"""The law of one release on a lattice of losses: two sets of weights, one below the truth and one above it.

Write x = exp(−L). Delta is E (1 − e^epsilon x)₊ under P, convex and falling in x, and composition multiplies
independent x. So these changes of one law can only lower delta, whatever else is composed:

* gathering outputs at their mean of x (post-processing), in part or wholly: a contraction that keeps the mean;
* moving mass to a lower loss; dropping mass.

And their opposites can only raise it: spreading mass so that the mean of x stays, moving it to a higher loss, adding
mass. The upper weights split each cell between its two nodes so that its P and Q mass stay ("connect the dots"). The
lower ones gather each cell at its mean, which lies between two nodes, and let every node draw from the means on either
side of it as much as balances there; what finds no partner goes to the node below.

All weights are tilted: the mass at node l is weight · exp(log_scale − tilt · l).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting._checks import FloatArray

IntArray = npt.NDArray[np.int64]
ROUNDING = 2.0**-53
"""The relative error of one operation on float64."""

_DEEP = 600.0
_NOTHING = 1e-300  # below what the transform's error bounds allow for anyway


@dataclass(frozen=True)
class Lattice:
    """The losses index · step + shift."""

    step: float
    shift: float
    slip: float = 0.0
    """By how much the truth may be above its node, from rounding."""

    def losses(self, index: IntArray) -> FloatArray:
        """Return the losses of nodes, rounded."""
        losses: FloatArray = index.astype(np.float64) * self.step + self.shift
        return losses


@dataclass(frozen=True)
class Weights:
    """Point masses at rising nodes, tilted."""

    index: IntArray
    weight: FloatArray


@dataclass(frozen=True)
class Parcels:
    """What lies in the cells between neighbouring nodes, and on the nodes; masses tilted at the cell's lower node."""

    nodes: IntArray
    """Shape (n + 1,)."""

    mass: FloatArray
    """In the cells, shape (n,)."""

    deficit: FloatArray
    """mass · (1 − mean of exp(−(L − lower node))), shape (n,)."""

    on_node: FloatArray
    """Shape (n + 1,)."""


def block_parcels(
    first: int, weight: FloatArray, *, lattice: Lattice, tilt: float, coarsening: int, sign: int
) -> Parcels:
    """Return what weights at the nodes first, first + 1, … of a lattice are between those of a coarser one.

    `coarsening` steps of `lattice` are one of the other. The masses' rounding errors are added (sign +1) or taken
    off (−1).
    """
    start = first // coarsening
    before = first - start * coarsening
    cells = -(-(before + weight.size) // coarsening)
    padded = np.zeros(cells * coarsening)
    padded[before : before + weight.size] = weight
    offset = np.arange(coarsening) * lattice.step
    factor = 1 + sign * ROUNDING * (16 + np.log2(coarsening) + 4 * tilt * offset[-1])
    with np.errstate(under="ignore"):
        mass = padded.reshape(cells, coarsening) * (np.exp(-tilt * offset) * factor)
        deficit = mass @ -np.expm1(-offset)
        return Parcels(
            start + np.arange(cells + 1, dtype=np.int64),
            np.sum(mass[:, 1:], axis=1),
            deficit,
            np.append(mass[:, 0], 0.0),
        )


def moved_parcels(loss: FloatArray, weight: FloatArray, *, lattice: Lattice, tilt: float, sign: int) -> Parcels:
    """Return what rising point masses, tilted where they are, are between the nodes of a lattice.

    Their losses may be off by a few roundings of the greatest: they are moved up by as much (sign +1) or down (−1), and
    the masses' errors are added or taken off.
    """
    doubt = rounded_by(loss)
    placed = loss + sign * doubt
    place = np.floor((placed - lattice.shift) / lattice.step).astype(np.int64)
    offset = np.clip(placed - (place * lattice.step + lattice.shift), 0.0, lattice.step)
    first, cells = int(place[0]), int(place[-1] - place[0]) + 1
    with np.errstate(under="ignore"):
        mass = weight * np.exp(-tilt * offset) * (1 + sign * (32 * ROUNDING + 4 * tilt * doubt))
        return Parcels(
            first + np.arange(cells + 1, dtype=np.int64),
            sums(place - first, mass, cells)[:-1],
            sums(place - first, mass * -np.expm1(-offset), cells)[:-1],
            np.zeros(cells + 1),
        )


def rounded_by(loss: FloatArray) -> float:
    """Return a bound of what rounding can have done to losses index · step + shift."""
    return 16 * ROUNDING * float(np.max(np.abs(loss)))


def sums(cell: IntArray, values: FloatArray, cells: int) -> FloatArray:
    """Return the sum of the values in each of cells + 1 places."""
    return np.bincount(cell, values, cells + 1).astype(np.float64)


def above(parcels: Parcels, *, lattice: Lattice, tilt: float) -> Weights:
    """Return weights whose delta is at least that of the parcels: each cell split, P and Q mass kept.

    Raises
    ------
    OverflowError
        If the tilt is so great that a cell's two ends cannot be weighed together.
    """
    width = np.diff(parcels.nodes) * lattice.step
    with np.errstate(under="ignore"):
        if np.any((parcels.deficit > 0) & (tilt * width > _DEEP)):
            raise OverflowError(f"a cell is too wide for the tilt {tilt}")
        up = np.minimum(parcels.deficit * (1 + 16 * ROUNDING) / -np.expm1(-width), parcels.mass)
        weight = parcels.on_node.copy()
        weight[:-1] += (parcels.mass - up) + 4 * ROUNDING * parcels.mass
        weight[1:] += up * np.exp(np.minimum(tilt * width, _DEEP))
        slack = 1 + 2 * ROUNDING * (8 + min(tilt * np.max(width), _DEEP))
        return _trimmed(parcels.nodes, weight * slack)


def below(parcels: Parcels, *, lattice: Lattice, tilt: float) -> Weights:
    """Return weights whose delta is at most that of the parcels: contracted to the nodes, or moved down."""
    width = np.diff(parcels.nodes) * lattice.step
    mass = parcels.mass
    with np.errstate(under="ignore"):
        ratio = np.divide(parcels.deficit, mass, out=np.zeros_like(mass), where=mass > 0)
        offset = np.clip(-np.log1p(-np.minimum(ratio, 1.0)) * (1 - 16 * ROUNDING), 0.0, width)
        lift = np.exp(np.minimum(tilt * width, _DEEP))  # a lesser one moves more mass down
        drop = np.expm1(width - offset + 8 * ROUNDING * width)  # x at the mean over x at the upper node, less 1
        rise = -np.expm1(-offset)
        from_left = np.append(0.0, mass * lift * drop)  # moments of x that each node may balance
        from_right = np.append(mass * rise, 0.0)
        share = _shares(from_left, from_right, offset / width)
        balanced = np.minimum(np.append(0.0, share) * from_left, np.append(1 - share, 0.0) * from_right)
        rising = _over(balanced[1:], drop) * (1 - 16 * ROUNDING)
        falling = _over(balanced[:-1], rise)
        left = np.maximum(mass - falling - rising / lift, 0.0)
        weight = parcels.on_node.copy()
        weight[1:] += rising
        weight[:-1] += falling + left
        slack = 1 - 2 * ROUNDING * (16 + min(tilt * np.max(width), _DEEP))
        return _trimmed(parcels.nodes, weight * slack)


def _shares(from_left: FloatArray, from_right: FloatArray, middle: FloatArray) -> FloatArray:
    """Return the share of each cell that is offered to its upper node.

    Any in [0, 1] is right, a good one wastes little. At first in proportion to the mean's place, then three times
    corrected by what neighbours would leave over.
    """
    total = from_left + from_right
    share: FloatArray = middle
    for _ in range(3):
        over = np.append(1 - share, 0.0) * from_right - np.append(0.0, share) * from_left
        excess = _over(over, total)
        share = np.clip(share + (excess[1:] + excess[:-1]) / 2, 0.0, 1.0)
    return share


def _over(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part/whole, and 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _trimmed(nodes: IntArray, weight: FloatArray) -> Weights:
    """Return the weights that are not 0; of them all, if rounding has eaten everything, one of no account."""
    kept: Any = np.flatnonzero(weight > 0)
    if not kept.size:
        return Weights(nodes[:1], np.array([_NOTHING]))
    return Weights(nodes[kept], weight[kept])
