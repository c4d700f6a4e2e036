"""Certified numeric composition: delta and epsilon between two numbers that hold whatever the rounding.

Each law is put on a lattice of losses twice, once below and once above the truth (`_lattice_weights`), the releases are
composed by a Fourier transform of weights tilted towards the loss that matters (`_lattice_power`), and what rounding,
truncation and the window can have done is added to the bound above and taken off the one below (`_lattice_read`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._lattice_blocks import Composed, TooLongError, compose
from dpviz.accounting._lattice_plan import Ledger, Plan, guesses, plan
from dpviz.accounting._lattice_storeys import storeys_for
from dpviz.accounting._law import LossLaw

_MOST_RUNS = 6
_MOST_TRIES = 20
_TINY = 1e-305
_LEAST_LOG = float(np.log(_TINY))


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
    return Bracket(plain(lower.reshape(losses.shape) + 0.0), plain(upper.reshape(losses.shape) + 0.0))


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
    planned = plan(ledger, np.array([greatest]), tolerance=tolerance)
    if planned.log_bound < _LEAST_LOG:  # Chernoff's bound at the same order grows by so much over so far down
        group = left[losses[left] >= greatest - (_LEAST_LOG - planned.log_bound) / planned.peak]
        return group, (np.zeros(group.size), np.full(group.size, np.exp(_LEAST_LOG)))
    group, planned = _near(ledger, losses, left, planned, tolerance)
    here = losses[group]
    aim, excess, previous, stalls = tolerance, np.inf, np.inf, 0
    for _ in range(_MOST_RUNS):
        made, is_finest = _composed(ledger, planned, aim, tolerance)
        low, high = made.readers(float(np.min(here)))
        lower, upper = low.delta(here), np.nextafter(high.delta(here), 1.0)
        ratio = (upper - lower) / (tolerance * upper + _TINY)
        now, is_done = float(np.max(ratio)), ratio <= 1
        if is_done.all() or (is_done[0] and aim < tolerance):
            return group[is_done], (lower[is_done], upper[is_done])
        excess = min(excess, float(ratio[0]))
        stalls += now > 0.9 * previous
        if is_finest or stalls > 1:
            break
        aim, previous = aim * 0.6 / min(now * 16**stalls, 100.0), now
    raise _unreachable(tolerance, excess)


def _near(
    ledger: Ledger, losses: FloatArray, left: npt.NDArray[np.intp], planned: Plan, tolerance: float
) -> tuple[npt.NDArray[np.intp], Plan]:
    """Return the places of the greatest losses, falling, as far down as one tilt serves, and the plan for them."""
    order = left[np.argsort(-losses[left], kind="stable")]
    room = min(4 * planned.spread, 300.0)
    while True:
        group = order[losses[order] >= losses[order[0]] - room]
        if losses[group[-1]] == losses[group[0]]:
            return group, planned
        shared = plan(ledger, losses[group], tolerance=tolerance)
        height = float(ledger.log_moment(np.array([shared.tilt]))[0])
        if height - shared.tilt * losses[group[0]] - shared.log_bound < 6:
            return group, shared
        room /= 2


def _composed(ledger: Ledger, planned: Plan, aim: float, tolerance: float) -> tuple[Composed, bool]:
    """Return the composition on lattices for a tolerance, or the finest there may be, and whether it is those."""
    coarser = 1.0
    for _ in range(_MOST_TRIES):
        try:
            storeys = storeys_for(ledger, planned, aim * coarser)
            return compose(ledger, planned, storeys, min(aim, tolerance)), coarser > 1
        except TooLongError as error:
            coarser *= max(error.times, 1.2) ** 2
        except OverflowError:
            planned = replace(planned, tilt=planned.tilt / 2)
    raise _unreachable(tolerance, np.inf)


def _unreachable(tolerance: float, excess: float) -> DomainError:
    reachable = 1.2 * tolerance * excess
    least = f"at least {reachable:.2g}" if reachable < 1 else "more than this method has"
    return DomainError("tolerance", f"{least} for this composition", tolerance)


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
        losses, log_delta = guesses(ledger, float(np.log(np.min(slack[left]))))
        guess = np.interp(-np.log(np.maximum(slack, 1e-320)), -log_delta, losses)
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
    planned = plan(ledger, np.array([np.max(guess[left])]), tolerance=tolerance)
    group, planned = _near(ledger, guess, left, planned, tolerance)
    here, wanted = guess[group], slack[group]
    shrink, excess, previous, stalls = 1.0, np.inf, np.inf, 0
    for _ in range(2 * _MOST_RUNS):
        planned = plan(ledger, here, tolerance=tolerance)
        steepest = 4 / (tolerance * max(float(np.min(here)), planned.spread))  # where delta falls faster, it may
        if planned.pull > steepest:
            spread = max(planned.spread, 1 / steepest)
            planned = replace(planned, pull=steepest, tilt=min(planned.tilt, steepest), spread=spread)
        relative = 4 * planned.pull / steepest * (1 - float(np.max(wanted)))
        aim = shrink * min(relative, 0.1)
        made, is_finest = _composed(ledger, planned, aim, aim)
        lower, upper = _epsilon_bounds(made, wanted, float(np.min(here)) - 8 / planned.pull)
        upper = np.minimum(upper, max(ledger.support[1], 0.0))
        room = tolerance * np.maximum(np.where(np.isfinite(upper), upper, 0.0), planned.spread)
        worst = float(np.max(np.where(upper == lower, 0.0, (upper - lower) / room)))
        if worst <= 1:
            return group, (lower, upper)
        moved = np.where(np.isfinite(upper), (lower + upper) / 2, np.maximum(lower, here))
        is_settled = float(np.max(np.abs(moved - here))) * planned.pull < 3
        here, excess = moved, min(excess, worst)
        if is_settled or not np.isfinite(worst):
            stalls += worst > 0.9 * previous
            if is_finest or stalls > 1:
                break
            shrink, previous = shrink * 0.6 / min(worst * 16**stalls, 100.0), worst
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
