"""A ledger in both directions, and the three engines that answer for it: closed form, contour and lattice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np

from dpviz.accounting._checks import DomainError, FloatArray
from dpviz.accounting._closed_form import ComposedLaplace, Profile
from dpviz.accounting._curve import curve
from dpviz.accounting._lattice import lattice_delta, lattice_epsilon
from dpviz.accounting._numeric import Answer, OneWay
from dpviz.accounting._peeling import is_peelable, is_quickest, peeled_epsilon, peeled_log_delta
from dpviz.accounting.profile import tradeoff_from_profile
from dpviz.accounting.relation import Direction

CLOSED_ERROR = 1e-12
"""What a closed form's rounding is stated to stay within, relative."""

QUADRATURE_ERROR = 1e-11
"""What releases peeled off one by one are stated to stay within, relative."""

_DOUBTFUL = 1e-10  # estimated error of a contour above which releases that can be are peeled off instead
_DEEPEST = -760.0  # the log of what is 0 in float64
_COARSE, _FINE = 1e-3, 1e-6  # tolerances of the bracket whose upper end stands in for the contour
_ROUGH = 0.01  # the estimated relative error up to which a contour is better than Chernoff's bound
_DETOUR = -0.8  # saddle widths to the line that checks another; towards the poles, away from where moments explode
_UNFIT = "too much of the loss sits on points, or nearly so, for a contour"
_TOO_MANY = "the releases are too many, or of too many kinds, to be peeled off one by one"
_SAFE = "the certified bracket answers, and its upper end is given"
_ROUGHLY = "a rough contour's upper end is given, or Chernoff's bound"


T = TypeVar("T")


class Engine(StrEnum):
    """Who answers for a ledger.

    Examples
    --------
    >>> print(Engine.CONTOUR)
    contour
    """

    BEST = "best"
    EXACT = "exact"
    CONTOUR = "contour"
    QUADRATURE = "quadrature"
    LATTICE = "lattice"


@dataclass(frozen=True)
class Account:
    """One number with its bracket, who found it, and how sure it is.

    Examples
    --------
    >>> Account(0.5, 0.5, 0.5, Engine.EXACT, None, True, 0.0, "").value
    0.5
    """

    lower: float
    value: float
    """Of a certified bracket the upper end, the one that is safe to quote."""

    upper: float
    engine: Engine
    direction: Direction | None
    """The direction that costs more; None where both cost the same."""

    is_certified: bool
    """True where lower <= truth <= upper is proved, rounding included; else the two are estimates."""

    error: float
    """The distance from value to the further end."""

    note: str
    """Why this engine answered, if another was asked for or would be expected; else empty."""


@dataclass(frozen=True)
class Ledger:
    """The ways in which a ledger is read: one if both directions are alike, else REMOVE and ADD."""

    ways: tuple[OneWay, ...]
    closed: Profile | None

    def log_delta(self, epsilon: FloatArray, *, deepest: float = -np.inf) -> FloatArray:
        """Return the greater log delta (epsilons flat, >= 0); −inf where it is certainly below `deepest`."""
        greater = np.full(epsilon.shape, -np.inf)
        for way in self.ways:
            wanted = way.chernoff(epsilon) > np.maximum(greater, deepest)
            if wanted.any():
                greater[wanted] = np.maximum(greater[wanted], _log_delta(way, epsilon[wanted]))
        return greater

    def epsilon(self, delta: FloatArray) -> FloatArray:
        """Return the greater epsilon (deltas flat, in [0, 1])."""
        greater = np.zeros(delta.shape)
        with np.errstate(divide="ignore"):
            log_delta = np.log(delta)
        for index, way in enumerate(self.ways):
            wanted = way.chernoff(greater) > log_delta if index else np.ones(delta.shape, dtype=np.bool_)
            if wanted.any():
                greater[wanted] = np.maximum(greater[wanted], _epsilon(way, delta[wanted]))
        return greater

    def beta(self, alpha: FloatArray) -> FloatArray:
        """Return the symmetrised trade-off curve (alphas flat, in [0, 1])."""
        if any(is_quickest(way.laws) for way in self.ways):
            return np.asarray(tradeoff_from_profile(alpha, delta=self._delta))
        curves = [curve(way, alpha) for way in self.ways]
        lowest = np.argmin([points.beta for points in curves], axis=0)
        at = np.arange(alpha.size)
        beta: FloatArray = np.array([points.beta for points in curves])[lowest, at]
        epsilon = np.array([points.epsilon for points in curves])[lowest, at]
        is_fit = np.all([points.is_fit for points in curves], axis=0)
        is_fit[is_fit] = self._supports(epsilon[is_fit], lowest[is_fit])
        if not is_fit.all():
            beta[~is_fit] = tradeoff_from_profile(alpha[~is_fit], delta=self._delta)
        return beta

    def _supports(self, epsilon: FloatArray, way: FloatArray) -> FloatArray:
        """Return where the way that gives the lower curve also has the greater delta, so that nothing cuts its line."""
        if len(self.ways) == 1:
            return np.ones(epsilon.shape, dtype=np.bool_)
        logs = np.array([each.log_delta(epsilon).value for each in self.ways])
        mine = logs[way, np.arange(epsilon.size)]
        slack = np.where(np.isfinite(mine), 1e-12 * np.maximum(1.0, -mine), 0.0)
        return np.asarray(logs.max(axis=0) <= mine + slack)

    def _delta(self, epsilon: FloatArray) -> FloatArray:
        return np.exp(self.log_delta(np.ravel(epsilon), deepest=_DEEPEST)).reshape(np.shape(epsilon))


@dataclass(frozen=True)
class Question:
    """Delta at this epsilon, or epsilon at this delta."""

    at: float
    is_delta_wanted: bool


def answer(ledger: Ledger, question: Question, engine: Engine, tolerance: float | None) -> Account:
    """Return the engine's answer, or raise DomainError if it cannot give one."""
    if tolerance is not None and engine in (Engine.EXACT, Engine.CONTOUR, Engine.QUADRATURE):
        raise DomainError("tolerance", f"None with the engine {engine.value!r}, which certifies nothing", tolerance)
    if engine is Engine.LATTICE or tolerance is not None:
        return _by_lattice(ledger, question, 1e-6 if tolerance is None else tolerance, "")
    if ledger.closed is not None and engine not in (Engine.CONTOUR, Engine.QUADRATURE):
        return _by_closed_form(ledger.closed, question)
    if engine is Engine.EXACT:
        raise DomainError("engine", "another one: no closed form of this ledger is known", engine.value)
    if engine is Engine.QUADRATURE:
        peeled = _by_quadrature(ledger, question, "")
        if peeled is None:
            raise DomainError("engine", f"another one: {_TOO_MANY}", engine.value)
        return peeled
    if engine is Engine.BEST and all(is_quickest(way.laws) for way in ledger.ways):
        found = _by_quadrature(ledger, question, "")
    else:
        found = _by_contour(ledger, question)
    if found is not None:
        return found
    if engine is Engine.CONTOUR:
        raise DomainError("engine", f"another one: {_UNFIT}", engine.value)
    found = _by_quadrature(ledger, question, f"{_UNFIT}: its few releases are peeled off one by one")
    if found is not None:
        return found
    try:
        return _tightened(lambda width: _by_lattice(ledger, question, width, f"{_UNFIT}: {_SAFE}"))
    except DomainError as refusal:
        return _by_bound(ledger, question, f"{_UNFIT}, and the lattice cannot tell either ({refusal}): {_ROUGHLY}")


def _by_closed_form(closed: Profile, question: Question) -> Account:
    value = float((closed.delta if question.is_delta_wanted else closed.epsilon)(question.at)) + 0.0  # no −0
    if isinstance(closed, ComposedLaplace):
        bracket = closed.delta_bracket if question.is_delta_wanted else closed.epsilon_bracket
        lower, upper = bracket(question.at)
        return _account(lower, value, upper, Engine.EXACT, None, is_certified=True)
    error = CLOSED_ERROR * value if np.isfinite(value) else 0.0
    return _account(value - error, value, value + error, Engine.EXACT, None, is_certified=False)


def _by_contour(ledger: Ledger, question: Question) -> Account | None:
    """Return the answer of two contours beside each other, or None if they are not fit."""
    best: Account | None = None
    for way, direction in zip(ledger.ways, _directions(ledger), strict=True):
        if best is not None and _is_below(way, question, best.value):
            continue
        point = _delta_point(way, question.at) if question.is_delta_wanted else _epsilon_point(way, question.at)
        if point is None:
            return None
        value, error = point
        if best is None or value > best.value:
            low = max(value - error, 0.0)
            best = _account(low, value, value + error, Engine.CONTOUR, direction, is_certified=False)
    return best


def _is_below(way: OneWay, question: Question, value: float) -> bool:
    """Return whether this direction certainly costs no more than the other."""
    epsilon, delta = (question.at, value) if question.is_delta_wanted else (value, question.at)
    with np.errstate(divide="ignore"):
        return bool(way.chernoff(np.array([epsilon]))[0] <= np.log(delta))


def _delta_point(way: OneWay, epsilon: float) -> tuple[float, float] | None:
    at = np.array([epsilon])
    first, second = way.log_delta(at), way.log_delta(at, detour=_DETOUR)
    if not (first.is_fit[0] and second.is_fit[0]):
        return None
    value = float(np.exp(first.value[0]))
    apart = abs(np.exp(second.value[0]) - value)
    return value, max(value * float(first.error[0]), float(apart))


def _epsilon_point(way: OneWay, delta: float) -> tuple[float, float] | None:
    first = way.epsilon(np.array([delta]))
    value = float(first.value[0])
    if not first.is_fit[0]:
        return None
    if value == 0 or not np.isfinite(value) or value >= way.product.greatest:
        return value, 0.0
    second = way.log_delta(first.value, detour=_DETOUR)
    apart = float(abs(second.value[0] - np.log(delta)) / way.fall(value))
    return (value, max(float(first.error[0]), apart)) if second.is_fit[0] else None


def _by_quadrature(ledger: Ledger, question: Question, note: str) -> Account | None:
    """Return the answer of releases peeled off one by one, or None if they are not few enough."""
    if not all(is_peelable(way.laws) for way in ledger.ways):
        return None
    at = np.array([question.at])
    ask = peeled_log_delta if question.is_delta_wanted else peeled_epsilon
    values = [float(ask(way.laws, at)[0]) for way in ledger.ways]
    worst = int(np.argmax(values))
    value = float(np.exp(values[worst])) if question.is_delta_wanted else values[worst]
    error = QUADRATURE_ERROR * value if np.isfinite(value) else 0.0
    direction = _directions(ledger)[worst]
    return _account(value - error, value, value + error, Engine.QUADRATURE, direction, is_certified=False, note=note)


def _by_lattice(ledger: Ledger, question: Question, tolerance: float, note: str) -> Account:
    ask = lattice_delta if question.is_delta_wanted else lattice_epsilon
    brackets = [ask(way.laws, question.at, tolerance=tolerance) for way in ledger.ways]
    worst = int(np.argmax([bracket.upper for bracket in brackets]))
    lower, upper = max(bracket.lower for bracket in brackets), brackets[worst].upper
    return _account(lower, upper, upper, Engine.LATTICE, _directions(ledger)[worst], is_certified=True, note=note)


def _by_bound(ledger: Ledger, question: Question, note: str) -> Account:
    at = np.array([question.at])
    if question.is_delta_wanted:
        bounds = [float(np.exp(_rough_log_delta(way, at, way.log_delta(at))[0])) for way in ledger.ways]
    else:
        bounds = [float(_rough_epsilon(way, at, way.epsilon(at))[0]) for way in ledger.ways]
    worst = int(np.argmax(bounds))
    upper, direction = bounds[worst], _directions(ledger)[worst]
    return _account(0.0, upper, upper, Engine.CONTOUR, direction, is_certified=False, note=note)


def _account(
    lower: float,
    value: float,
    upper: float,
    engine: Engine,
    direction: Direction | None,
    *,
    is_certified: bool,
    note: str = "",
) -> Account:
    error = max(upper - value, value - lower) if np.isfinite(upper) else 0.0 if lower == upper else np.inf
    return Account(lower, value, upper, engine, direction, is_certified, error, note)


def _directions(ledger: Ledger) -> tuple[Direction | None, ...]:
    return (None,) if len(ledger.ways) == 1 else (Direction.REMOVE, Direction.ADD)


def _log_delta(way: OneWay, epsilon: FloatArray) -> FloatArray:
    if is_quickest(way.laws):
        return peeled_log_delta(way.laws, epsilon)
    found = way.log_delta(epsilon)
    if is_peelable(way.laws):
        left = ~found.is_fit | (found.error > _DOUBTFUL)
        found.value[left] = peeled_log_delta(way.laws, epsilon[left])
        return found.value
    left = ~found.is_fit
    if not left.any():
        return found.value
    try:
        bracket = _tightened(lambda width: lattice_delta(way.laws, epsilon[left], tolerance=width))
    except DomainError:
        found.value[left] = _rough_log_delta(way, epsilon[left], found.of(left))
        return found.value
    with np.errstate(divide="ignore"):
        found.value[left] = np.log(bracket.upper)
    return found.value


def _epsilon(way: OneWay, delta: FloatArray) -> FloatArray:
    if is_quickest(way.laws):
        return peeled_epsilon(way.laws, delta)
    found = way.epsilon(delta)
    if is_peelable(way.laws):
        left = ~found.is_fit | (found.error > _DOUBTFUL * found.value)
        found.value[left] = peeled_epsilon(way.laws, delta[left])
        return found.value
    left = ~found.is_fit
    if not left.any():
        return found.value
    try:
        bracket = _tightened(lambda width: lattice_epsilon(way.laws, delta[left], tolerance=width))
    except DomainError:
        found.value[left] = _rough_epsilon(way, delta[left], found.of(left))
        return found.value
    found.value[left] = bracket.upper
    return found.value


def _rough_log_delta(way: OneWay, epsilon: FloatArray, found: Answer) -> FloatArray:
    return np.where(found.error <= _ROUGH, found.value + found.error, way.least_bound(epsilon))


def _rough_epsilon(way: OneWay, delta: FloatArray, found: Answer) -> FloatArray:
    return np.where(found.error <= _ROUGH * found.value, found.value + found.error, way.epsilon_bound(delta))


def _tightened(ask: Callable[[float], T]) -> T:
    """Return the answer to the fine tolerance, or if that cannot be met to the coarse one."""
    found = ask(_COARSE)
    try:
        return ask(_FINE)
    except DomainError:
        return found
