"""How the releases of a ledger are arranged in storeys: on which lattices, and in what blocks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpviz.accounting._lattice_plan import Entries, Ledger, Plan, first_where
from dpviz.accounting._lattice_power import LONGEST
from dpviz.accounting._law import LossLaw

_MOST_ATOMS = 4096


@dataclass(frozen=True)
class Storeys:
    """How the releases are composed: in blocks of `block`, in blocks of blocks, each storey on a coarser lattice."""

    steps: tuple[float, ...]
    block: int

    home: Entries
    """Laws whose atoms are on these lattices, or can be on none."""

    foreign: Entries
    """Laws to be composed each on a lattice of its own, and then moved to the last one here."""

    @property
    def coarsening(self) -> tuple[int, ...]:
        """How many steps of each storey make one of the next."""
        return tuple(round(after / before) for before, after in pairwise(self.steps))

    def entry(self, count: int) -> int:
        """Return the storey that `count` releases start on, so that one storey above the last they are one block."""
        return _entry(count, self.block, len(self.steps))


def _entry(count: int, block: int, storeys: int) -> int:
    blocks, below = block, 1
    while blocks < count and below < storeys:
        blocks, below = blocks * block, below + 1
    return storeys - below


def storeys_for(ledger: Ledger, planned: Plan, tolerance: float) -> Storeys:
    """Return the storeys with which the bracket should be about half as wide as the tolerance, relative to delta.

    A storey of n items with step h widens the bracket by n h² c (1 + c)/4 in relative terms, c the pull; n items with
    atoms that are on no node, by n h c. What is on the nodes of the lowest storey costs nothing there.
    """
    home, foreign, common = _divided(ledger)
    is_atomic = common > 0 and not foreign and all(_is_atomic(law) for law, _ in home)
    if is_atomic and 16 * planned.spread < common * LONGEST / 2:
        return Storeys((common,), max(ledger.count, 1), home, foreign)
    block, wanted = _wanted(home, foreign, planned, tolerance)
    if 0 < 2 * common < wanted[-1] and len(home) > 1 and not is_atomic:  # far finer than need be
        foreign += tuple(entry for entry in home if entry[0].atoms)
        home, common = tuple(entry for entry in home if not entry[0].atoms), 0.0
        block, wanted = _wanted(home, foreign, planned, tolerance)
    rough = sum(count for law, count in home if law.atoms) if common == 0 else 0
    rough += sum(_is_atomic(law) for law, _ in foreign[1:])
    if rough > 0:
        wanted[-1] = min(wanted[-1], max(tolerance / (2 * rough * planned.pull), planned.spread / 2**16))
    if not is_atomic:
        wanted[0] = min([wanted[0], *(_resolving(law, count, planned, tolerance) for law, count in home)])
    return Storeys(_steps(wanted, common, is_atomic), block, home, foreign)


def _wanted(home: Entries, foreign: Entries, planned: Plan, tolerance: float) -> tuple[int, list[float]]:
    """Return the size of a block, and the step of each storey as its number of items would have it."""
    most = max((count for _, count in home), default=1)
    storeys = max(round(np.log(most) / 3), 1)
    block = _even_block(most, storeys)
    items = [0] * storeys
    for _, count in home:
        blocks = count
        for storey in range(_entry(count, block, storeys), storeys):
            items[storey] += blocks
            blocks = blocks // block + (blocks % block > 0)
    items[-1] += len(foreign)
    cost = storeys * planned.pull * (1 + planned.pull)
    wanted = [float(np.sqrt(2 * tolerance / (max(number, 1) * cost))) for number in items]
    return block, [*wanted[:-1], min(wanted[-1], planned.spread / 2)]


def _steps(wanted: list[float], common: float, is_atomic: bool) -> tuple[float, ...]:
    """Return steps about as wanted, each a multiple of the one before, that the divisor of the atoms is a multiple of.

    If there is nothing but atoms, the lowest is that divisor.
    """
    if is_atomic:
        steps = [common]
        for step in wanted[1:]:
            steps.append(steps[-1] * max(int(step / steps[-1]), 1))
        return tuple(steps)
    last = wanted[-1]
    steps = [common / float(np.ceil(common / last)) if common > 0 else last]
    for step in wanted[-2::-1]:
        steps.append(steps[-1] / max(round(steps[-1] / step), 1))
    return tuple(steps[::-1])


def _resolving(law: LossLaw, count: int, planned: Plan, tolerance: float) -> float:
    """Return the step at which a law's bulk is more than one cell, if it matters that it is."""
    if law.atoms:
        return np.inf
    high = first_where(lambda loss: law.log_tail(loss) <= np.log(0.16), law.support)
    low = first_where(lambda loss: law.log_tail(loss) <= np.log(0.84), law.support)
    return (high - low) / 3 if count * (high - low) * planned.pull > tolerance / 4 else np.inf


def _divided(ledger: Ledger) -> tuple[Entries, Entries, float]:
    """Return the laws to be composed together, those to be composed apart, and the divisor of some atoms, or 0."""
    common = common_divisor(ledger.entries)
    if common > 0 or len(ledger.entries) == 1:
        return ledger.entries, (), common
    divisors = [common_divisor((entry,)) for entry in ledger.entries]
    home = tuple(entry for entry, divisor in zip(ledger.entries, divisors, strict=True) if divisor == 0)
    foreign = tuple(entry for entry, divisor in zip(ledger.entries, divisors, strict=True) if divisor > 0)
    return home, foreign, next((divisor for divisor in divisors if divisor > 0), 0.0)


def _even_block(count: int, storeys: int) -> int:
    """Return about the root of the count, if possible such that the blocks leave nothing over."""
    root = max(int(np.ceil(count ** (1 / storeys) * (1 - 1e-12))), 2)
    if storeys == 1:
        return root
    return next((block for block in range(root, root * 3 // 2 + 1) if count % block ** (storeys - 1) == 0), root)


def _is_atomic(law: LossLaw) -> bool:
    return float(sum(np.exp(log_mass) for _, log_mass in law.atoms)) > 1 - 1e-12


def common_divisor(entries: Entries) -> float:
    """Return a loss of which every atom's is a multiple but for rounding, or 0 if none is of a useful size."""
    losses = {abs(loss) for law, _ in entries for loss, _ in law.atoms} - {0.0}
    if not losses or len(losses) > _MOST_ATOMS:
        return 0.0
    smallest, largest = min(losses), max(losses)
    divisor = smallest
    for loss in losses:
        other = loss
        while other > 1e-10 * largest:
            divisor, other = other, abs(divisor - other * round(divisor / other))
    if divisor < 1e-4 * smallest:
        return 0.0
    return smallest / round(smallest / divisor)
