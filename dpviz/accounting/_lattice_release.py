"""One law between the nodes of a lattice: where to cut it, and what lies where."""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._lattice_weights import ROUNDING, IntArray, Lattice, Parcels, sums
from dpviz.accounting._law import LossLaw

_COARSE = 2048
_MOST_CELLS = 2**20
_SPLIT = 2.0**27 + 1


def lattice_of(law: LossLaw, step: float) -> Lattice:
    """Return the lattice on which every atom that is within rounding of a node is at it or just above."""
    losses = np.array([loss for loss, _ in law.atoms], dtype=np.float64)
    if not losses.size:
        return Lattice(step, 0.0)
    rest = _offset(losses, np.round(losses / step).astype(np.int64), Lattice(step, 0.0))
    if np.max(np.abs(rest)) >= 1e-9 * step:
        return Lattice(step, 0.0)
    return Lattice(step, float(np.min(rest)), float(np.max(rest) - np.min(rest)))


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
    atoms = _places(np.array([loss for loss, _ in law.atoms], dtype=np.float64), lattice)
    nodes = _spaced(starts, block, width)
    atoms = atoms[atoms >= nodes[0]]
    if atoms.size:
        nodes = np.sort(np.concatenate([nodes, atoms, atoms + 1]))
        nodes = nodes[np.diff(nodes, prepend=nodes[0] - 1) > 0]
    return nodes


def _cell_widths(
    law: LossLaw, starts: IntArray, block: int, *, lattice: Lattice, tilt: float, spread: float
) -> IntArray:
    """Return how many steps wide the cells of each block may be."""
    edges = lattice.losses(np.append(starts, starts[-1] + block))
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
    while np.sum(block // width) > _MOST_CELLS and np.any(width < block):
        width = np.minimum(2 * width, block)
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
    edges = lattice.losses(nodes)
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


def dropped(law: LossLaw, lowest: float, *, tilt: float, log_scale: float) -> float:
    """Return a bound of the tilted mass below the lowest node, were the continuous part of it moved up to the node."""
    with np.errstate(under="ignore"):
        head = np.exp(law.log_head(np.array([lowest]))[0] + tilt * lowest - log_scale)
        atoms = sum(np.exp(log_mass + tilt * loss - log_scale) for loss, log_mass in law.atoms if loss < lowest)
    return float(head + atoms) * (1 + 1e-9)


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

    The deficits' own rounding is left to `below` and `above`. An atom that is on a node stays there; one below them all
    is dropped.
    """
    cells = nodes.size - 1
    given = np.array(law.atoms, dtype=np.float64).reshape(-1, 2)
    loss, log_mass = given[:, 0], given[:, 1]
    cell = np.clip(np.searchsorted(nodes, _places(loss, lattice), side="right") - 1, 0, cells)
    atom, slack = _tilted(log_mass, lattice.losses(nodes[cell]), tilt=tilt, log_scale=log_scale)
    atom *= 1 + sign * slack
    beyond = _offset(loss, nodes[cell], lattice)
    atom[beyond < 0] = 0.0
    beyond = np.maximum(beyond, 0.0)
    is_on_node = (beyond <= lattice.slip) | (cell == cells)
    inside, onto = np.where(is_on_node, 0.0, atom), np.where(is_on_node, atom, 0.0)
    with np.errstate(under="ignore"):
        deficit = -np.expm1(-offset) * mass + sums(cell, inside * -np.expm1(-beyond), cells)[:-1]
        return Parcels(nodes, mass + sums(cell, inside, cells)[:-1], deficit, sums(cell, onto, cells))


def _places(loss: FloatArray, lattice: Lattice) -> IntArray:
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
