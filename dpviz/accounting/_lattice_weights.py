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
from dpviz.accounting._law import LossLaw

IntArray = npt.NDArray[np.int64]
ROUNDING = 2.0**-53
"""The relative error of one operation on float64."""

_COARSE = 2048
_SPLIT = 2.0**27 + 1


@dataclass(frozen=True)
class Lattice:
    """The losses index · step + shift."""

    step: float
    shift: float


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


def lattice_of(law: LossLaw, step: float) -> Lattice:
    """Return the lattice on which every atom that is within rounding of a node is at it or just above."""
    losses = np.array([loss for loss, _ in law.atoms], dtype=np.float64)
    if not losses.size:
        return Lattice(step, 0.0)
    rest = _offset(losses, np.round(losses / step).astype(np.int64), Lattice(step, 0.0))
    return Lattice(step, float(np.min(rest)) if np.max(np.abs(rest)) < 1e-9 * step else 0.0)


def cut(law: LossLaw, *, lattice: Lattice, tilt: float, reach: tuple[float, float], spread: float) -> IntArray:
    """Return the nodes between which the law is gathered: every node where mass is, fewer where there is little.

    Parameters
    ----------
    law : LossLaw
        The release.
    lattice : Lattice
        Its nodes.
    tilt : float
        What counts is mass · exp(tilt · loss).
    reach : (float, float)
        The losses to cover.
    spread : float
        Standard deviation of the composed loss, under the tilt.

    Returns
    -------
    ndarray of int
        Rising; each cell is a power of two of steps wide.

    References
    ----------
    Elementary. The error of a cell is its tilted mass times its width squared, and where widths change its
    tilted density times its width squared.
    """
    low = int(np.floor((reach[0] - lattice.shift) / lattice.step)) - 1
    high = int(np.ceil((reach[1] - lattice.shift) / lattice.step)) + 1
    block = 1
    while block * _COARSE < high - low:
        block *= 2
    starts = low + block * np.arange(-(-(high - low) // block), dtype=np.int64)
    width = np.ones_like(starts)
    if block > 1:
        width = _cell_widths(law, starts, block, lattice=lattice, tilt=tilt, spread=spread)
    atoms = places(np.array([loss for loss, _ in law.atoms], dtype=np.float64), lattice)
    nodes = _spaced(starts, block, width)
    if atoms.size:
        nodes = np.sort(np.concatenate([nodes, atoms, atoms + 1]))
        nodes = nodes[np.diff(nodes, prepend=nodes[0] - 1) > 0]
    return nodes


def _cell_widths(
    law: LossLaw, starts: IntArray, block: int, *, lattice: Lattice, tilt: float, spread: float
) -> IntArray:
    """Return how many steps wide the cells of each block may be."""
    edges = np.append(starts, starts[-1] + block) * lattice.step + lattice.shift
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        log_mass = law.cells(edges).log_mass + tilt * edges[1:] - float(law.log_moment(np.array([tilt + 0j])).real[0])
        density = np.exp(np.minimum(log_mass, 700.0)) / (block * lattice.step)
        padded = np.pad(density, 1, mode="edge")
        density = np.maximum(np.maximum(padded[:-2], padded[2:]), density)
        pull = tilt + 1 / spread
        density = np.maximum(density, 1e-12 * max(np.max(density), 1e-200))
        wide = np.minimum(np.sqrt(pull / (4000 * density)), (0.02 * np.max(density) / density) ** (1 / 3))
        wide = np.minimum(wide, 0.25 / ((1 + pull) * lattice.step))
    width: IntArray = 2 ** np.floor(np.log2(np.clip(wide, 1, block))).astype(np.int64)
    return width


def _spaced(starts: IntArray, block: int, width: IntArray) -> IntArray:
    """Return the nodes of all blocks, each cut into cells of its width."""
    pieces = block // width
    first = np.repeat(starts, pieces)
    within = np.arange(first.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(first + within * np.repeat(width, pieces), starts[-1] + block)


def release_parcels(
    law: LossLaw, nodes: IntArray, *, lattice: Lattice, tilt: float, log_scale: float
) -> tuple[Parcels, Parcels]:
    """Return what a law has between the nodes and on them, every error rounded down and rounded up."""
    edges = nodes * lattice.step + lattice.shift
    width = np.diff(nodes) * lattice.step
    cells = law.cells(edges)
    mass, slack = _tilted(cells.log_mass, edges[:-1], tilt=tilt, log_scale=log_scale)
    slack += cells.log_mass_error
    uncertain = cells.offset_error + 4 * ROUNDING * (np.abs(edges[:-1]) + width)
    offset = np.where(mass > 0, cells.offset, 0.0)
    return (
        _joined(law, nodes, mass * (1 - slack), np.clip(offset - uncertain, 0.0, width), -1, lattice, tilt, log_scale),
        _joined(law, nodes, mass * (1 + slack), np.clip(offset + uncertain, 0.0, width), +1, lattice, tilt, log_scale),
    )


def _tilted(log_mass: FloatArray, loss: FloatArray, *, tilt: float, log_scale: float) -> tuple[FloatArray, FloatArray]:
    """Return exp(log_mass + tilt · loss − log_scale), and a bound of its relative error from rounding."""
    size = np.where(np.isfinite(log_mass), np.abs(log_mass), 0.0) + np.abs(tilt * loss) + abs(log_scale)
    with np.errstate(under="ignore"):
        return np.exp(log_mass + tilt * loss - log_scale), ROUNDING * (6 * size + 8)


def _joined(
    law: LossLaw,
    nodes: IntArray,
    mass: FloatArray,
    offset: FloatArray,
    sign: int,
    lattice: Lattice,
    tilt: float,
    log_scale: float,
) -> Parcels:
    """Return the cells' continuous mass and the atoms as one, the atoms' rounding errors added (sign +1) or taken off.

    The deficits' own rounding is left to `below` and `above`. An atom that is on a node stays there.
    """
    cells = nodes.size - 1
    given = np.array(law.atoms, dtype=np.float64).reshape(-1, 2)
    loss, log_mass = given[:, 0], given[:, 1]
    cell = np.clip(np.searchsorted(nodes, places(loss, lattice), side="right") - 1, 0, cells)
    atom, slack = _tilted(log_mass, nodes[cell] * lattice.step + lattice.shift, tilt=tilt, log_scale=log_scale)
    atom *= 1 + sign * slack
    beyond = _offset(loss, nodes[cell], lattice)
    is_on_node = (beyond <= 0) | (cell == cells)
    inside, onto = np.where(is_on_node, 0.0, atom), np.where(is_on_node, atom, 0.0)
    with np.errstate(under="ignore"):
        deficit = -np.expm1(-offset) * mass + _sums(cell, inside * -np.expm1(-beyond), cells)[:-1]
        return Parcels(nodes, mass + _sums(cell, inside, cells)[:-1], deficit, _sums(cell, onto, cells))


def _sums(cell: IntArray, values: FloatArray, cells: int) -> FloatArray:
    """Return the sum of the values in each of cells + 1 places."""
    return np.bincount(cell, values, cells + 1).astype(np.float64)


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


def places(loss: FloatArray, lattice: Lattice) -> IntArray:
    """Return the index of the node at or next below each loss."""
    place = np.floor((loss - lattice.shift) / lattice.step).astype(np.int64)
    place += (_offset(loss, place + 1, lattice) >= 0).astype(np.int64)
    place -= (_offset(loss, place, lattice) < 0).astype(np.int64)
    return place


def _offset(loss: FloatArray, index: IntArray, lattice: Lattice) -> FloatArray:
    """Return loss − (index · step + shift), the product exact (Dekker)."""
    factor = index.astype(np.float64)
    product = factor * lattice.step
    high, top = factor * _SPLIT, lattice.step * _SPLIT
    high, top = high - (high - factor), top - (top - lattice.step)
    low, rest = factor - high, lattice.step - top
    error = ((high * top - product) + high * rest + low * top) + low * rest
    offset: FloatArray = ((loss - product) - error) - lattice.shift
    return offset


def above(parcels: Parcels, *, lattice: Lattice, tilt: float) -> Weights:
    """Return weights whose delta is at least that of the parcels: each cell split, P and Q mass kept."""
    width = np.diff(parcels.nodes) * lattice.step
    with np.errstate(under="ignore"):
        up = np.minimum(parcels.deficit * (1 + 16 * ROUNDING) / -np.expm1(-width), parcels.mass)
        weight = parcels.on_node.copy()
        weight[:-1] += (parcels.mass - up) + 4 * ROUNDING * parcels.mass
        weight[1:] += up * np.exp(tilt * width)
        slack = 1 + 2 * ROUNDING * (8 + tilt * np.max(width))
        return _trimmed(parcels.nodes, weight * slack)


def below(parcels: Parcels, *, lattice: Lattice, tilt: float) -> Weights:
    """Return weights whose delta is at most that of the parcels: contracted to the nodes, or moved down."""
    width = np.diff(parcels.nodes) * lattice.step
    mass = parcels.mass
    with np.errstate(under="ignore"):
        ratio = np.divide(parcels.deficit, mass, out=np.zeros_like(mass), where=mass > 0)
        offset = np.clip(-np.log1p(-np.minimum(ratio, 1.0)) * (1 - 16 * ROUNDING), 0.0, width)
        lift = np.exp(tilt * width)
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
        slack = 1 - 2 * ROUNDING * (16 + tilt * np.max(width))
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
    kept: Any = np.flatnonzero(weight > 0)
    return Weights(nodes[kept], weight[kept])
