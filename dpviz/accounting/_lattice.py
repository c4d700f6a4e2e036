"""Certified numeric composition: delta and epsilon between two numbers that hold whatever the rounding.

Each law is put on a lattice of losses twice, once below and once above the truth (`_lattice_weights`), the releases are
composed by a Fourier transform of weights tilted towards the loss that matters (`_lattice_power`), and what rounding,
truncation and the window can have done is added to the bound above and taken off the one below (`_lattice_read`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._lattice_blocks import LONGEST, Composed, compose
from dpviz.accounting._lattice_plan import Ledger, Plan, Storeys, guesses, plan, storeys_for
from dpviz.accounting._law import LossLaw

_MOST_RUNS = 4
_TINY = 1e-305


@dataclass(frozen=True)
class Bracket:
    """Two numbers, or arrays of them, with the truth between."""

    lower: Numbers
    upper: Numbers


def lattice_delta(laws: Sequence[tuple[LossLaw, int]], epsilon: npt.ArrayLike, *, tolerance: float = 1e-6) -> Bracket:
    """Return bounds below and above delta of a composition, in one direction; certified.

    Parameters
    ----------
    laws : sequence of (LossLaw, int)
        The releases' laws, all in the same direction, and how often each is released. The neighbouring relation is
        theirs.
    epsilon : array_like
        Privacy loss bounds in nats, of either sign; inf gives the mass at infinity, −inf gives 1.
    tolerance : float
        The bracket's greatest width, relative to delta, in (0, 1). Below 1e-305 any width will do.

    Returns
    -------
    Bracket
        lower <= delta(epsilon) <= upper.

    Raises
    ------
    DomainError
        If an argument is out of its range, or the tolerance cannot be met; the error says what could be.

    References
    ----------
    Koskela, Jälkö and Honkela (2020) for the Fourier accountant; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi
    (2022), Section 4, for the weights above; the weights below and the tilt are argued in `_lattice_weights`.
    """
    losses = check.real("epsilon", epsilon)
    if np.isnan(losses).any():
        raise DomainError("epsilon", "a number", float("nan"))
    width = check.scalar("tolerance", check.probability("tolerance", tolerance, open_low=True, open_high=True))
    ledger = Ledger.of(laws)
    lower, upper = _known_delta(ledger, losses.ravel())
    left = np.flatnonzero(np.isnan(upper))
    while left.size:
        group, bounds = _delta_group(ledger, losses.ravel(), left, width)
        lower[group], upper[group] = bounds
        left = np.setdiff1d(left, group)
    return Bracket(plain(lower.reshape(losses.shape)), plain(upper.reshape(losses.shape)))


def _known_delta(ledger: Ledger, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return delta where it needs no composition, and NaN elsewhere."""
    lower, upper = np.full(losses.shape, np.nan), np.full(losses.shape, np.nan)
    infinite = -np.expm1(ledger.log_survival())
    is_beyond = losses >= ledger.support[1]
    lower[is_beyond], upper[is_beyond] = infinite * (1 - 1e-15), min(infinite * (1 + 1e-15), 1.0)
    if not ledger.entries:
        with np.errstate(over="ignore"):
            lower[~is_beyond] = upper[~is_beyond] = -np.expm1(losses[~is_beyond])
    lower[losses == -np.inf] = upper[losses == -np.inf] = 1.0
    if infinite == 1:
        lower[:] = upper[:] = 1.0
    return lower, upper


def _delta_group(
    ledger: Ledger, losses: FloatArray, left: npt.NDArray[np.intp], tolerance: float
) -> tuple[npt.NDArray[np.intp], tuple[FloatArray, FloatArray]]:
    """Return the places of the greatest losses that one tilt serves, and delta's bounds there."""
    greatest = float(np.max(losses[left]))
    planned = plan(ledger, greatest, tolerance=tolerance)
    least_loss = greatest - min(4 * planned.spread, 300.0)
    group = left[losses[left] >= least_loss]
    here = losses[group]
    planned = plan(ledger, float(np.max(here) + np.min(here)) / 2, tolerance=tolerance) if group.size > 1 else planned
    aim, excess, previous = tolerance, np.inf, np.inf
    for _ in range(_MOST_RUNS):
        storeys, is_finest = _affordable(ledger, planned, aim)
        made = compose(ledger, planned, storeys, tolerance)
        low, high = made.readers(float(np.min(here)))
        lower, upper = low.delta(here), np.nextafter(high.delta(here), 1.0)
        now = float(np.max((upper - lower) / (tolerance * upper + _TINY)))
        if now <= 1:
            return group, (lower, upper)
        excess = min(excess, now)
        if is_finest or now > 0.5 * previous:
            break
        aim, previous = aim * 0.6 / min(now, 100.0), now
    raise _unreachable(tolerance, excess)


def _affordable(ledger: Ledger, planned: Plan, tolerance: float) -> tuple[Storeys, bool]:
    """Return the storeys for a tolerance, or the finest there may be, and whether it is those."""
    aim = tolerance
    finest = 16 * planned.spread / LONGEST
    storeys = storeys_for(ledger, planned, aim)
    while storeys.steps[-1] < finest:
        aim *= 1.5
        storeys = storeys_for(ledger, planned, aim)
    return storeys, aim > tolerance


def _unreachable(tolerance: float, excess: float) -> DomainError:
    return DomainError("tolerance", f"at least {1.2 * tolerance * excess:.2g} for this composition", tolerance)


def lattice_epsilon(laws: Sequence[tuple[LossLaw, int]], delta: npt.ArrayLike, *, tolerance: float = 1e-6) -> Bracket:
    """Return bounds below and above the least epsilon >= 0 of a composition, in one direction; certified.

    Parameters
    ----------
    laws : sequence of (LossLaw, int)
        The releases' laws, all in the same direction, and how often each is released. The neighbouring relation is
        theirs.
    delta : array_like
        Additive slack, in [0, 1].
    tolerance : float
        The bracket's greatest width, relative to epsilon or to the standard deviation of the composed loss near it,
        whichever is greater; in (0, 1).

    Returns
    -------
    Bracket
        lower <= epsilon(delta) <= upper, and delta(upper) <= delta; inf where delta is less than the mass at
        infinity, and where it is 0 and the loss has no greatest value.

    Raises
    ------
    DomainError
        If an argument is out of its range, or the tolerance cannot be met; the error says what could be.

    References
    ----------
    As `lattice_delta`, whose bounds it inverts by bisection.
    """
    wanted = check.probability("delta", delta)
    width = check.scalar("tolerance", check.probability("tolerance", tolerance, open_low=True, open_high=True))
    ledger = Ledger.of(laws)
    slack = wanted.ravel()
    lower, upper = _known_epsilon(ledger, slack)
    left = np.flatnonzero(np.isnan(upper))
    if left.size:
        losses, log_delta = guesses(ledger)
        guess = np.interp(-np.log(slack), -log_delta, losses)
    while left.size:
        group, bounds = _epsilon_group(ledger, slack, guess, left, width)
        lower[group], upper[group] = bounds
        left = np.setdiff1d(left, group)
    return Bracket(plain(lower.reshape(wanted.shape)), plain(upper.reshape(wanted.shape)))


def _known_epsilon(ledger: Ledger, slack: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return epsilon where it needs no composition, and NaN elsewhere."""
    lower, upper = np.full(slack.shape, np.nan), np.full(slack.shape, np.nan)
    infinite = -np.expm1(ledger.log_survival())
    doubt = 1e-15 * infinite if ledger.count > 1 else 0.0
    top = max(ledger.support[1], 0.0)
    is_top = np.abs(slack - infinite) <= doubt
    lower[is_top], upper[is_top] = top, np.inf if doubt > 0 else top
    is_below = slack < infinite - doubt
    lower[is_below] = upper[is_below] = np.inf
    is_free = (slack == 1) | ((not ledger.entries) & ~is_below)
    lower[is_free] = upper[is_free] = 0.0
    return lower, upper


def _epsilon_group(
    ledger: Ledger, slack: FloatArray, guess: FloatArray, left: npt.NDArray[np.intp], tolerance: float
) -> tuple[npt.NDArray[np.intp], tuple[FloatArray, FloatArray]]:
    """Return the places of the greatest guesses that one tilt serves, and epsilon's bounds there."""
    greatest = float(np.max(guess[left]))
    planned = plan(ledger, greatest, tolerance=tolerance)
    group = left[guess[left] >= greatest - min(4 * planned.spread, 300.0)]
    here, wanted = guess[group], slack[group]
    shrink, excess, previous = 1.0, np.inf, np.inf
    for _ in range(2 * _MOST_RUNS):
        planned = plan(ledger, float(np.max(here) + np.min(here)) / 2, tolerance=tolerance)
        relative = min(tolerance * max(float(np.min(here)), planned.spread) * planned.pull, 0.1)
        storeys, is_finest = _affordable(ledger, planned, shrink * relative)
        made = compose(ledger, planned, storeys, relative)
        lower, upper = _epsilon_bounds(made, wanted, float(np.min(here)) - 8 / planned.pull)
        upper = np.minimum(upper, max(ledger.support[1], 0.0))
        ratio = (upper - lower) / (tolerance * np.maximum(upper, planned.spread))
        worst = float(np.max(np.where(upper == lower, 0.0, ratio)))
        if worst <= 1:
            return group, (lower, upper)
        moved = np.where(np.isfinite(upper), (lower + upper) / 2, lower + planned.spread)
        is_settled = float(np.max(np.abs(moved - here))) < planned.spread
        here = moved
        excess = min(excess, worst)
        if is_settled:
            if is_finest or worst > 0.5 * previous:
                break
            shrink, previous = shrink * 0.6 / min(worst, 100.0), worst
    raise _unreachable(tolerance, excess)


def _epsilon_bounds(made: Composed, delta: FloatArray, start: float) -> tuple[FloatArray, FloatArray]:
    """Return bounds of the least epsilon >= 0 for each delta, the one above inf where none is found.

    They are sought from `start` on, and from further down if that is too far up.
    """
    step, start = 1 / (1 + made.tilt), max(start, 0.0)
    while True:
        low, high = made.readers(start)
        lower, upper = low.epsilon(delta), high.epsilon(delta)
        if start == 0:
            upper = np.where(high.delta(np.zeros(delta.shape)) <= delta, 0.0, upper)
            lower = np.where(np.isnan(lower), 0.0, lower)
        if start == 0 or not (np.isnan(lower).any() or np.isnan(upper).any()):
            return lower, np.where(np.isnan(upper), np.inf, upper)
        step *= 8
        start = max(start - step, 0.0)
