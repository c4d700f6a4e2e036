"""Discrete Laplace and Gaussian noise drawn with whole numbers only, in bulk: the law is exact, not nearly so.

The one source of randomness is a uniform whole number; every coin has a rational probability.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
Whole: TypeAlias = npt.NDArray[Any]
"""Whole numbers: int64, or Python's own where they may be longer."""
Coins: TypeAlias = npt.NDArray[np.bool_]

_WORD = 62
_LONG = 2**_WORD


def draw_discrete_laplace(rng: np.random.Generator, scale: Fraction, count: int) -> IntArray:
    """Return `count` draws with P(z) ∝ e^{−|z|/scale} (Canonne, Kamath and Steinke (2020), Algorithm 2)."""
    return _fill(lambda size: _laplace_batch(rng, scale, size), count)


def draw_discrete_gaussian(rng: np.random.Generator, variance: Fraction, count: int) -> IntArray:
    """Return `count` draws with P(z) ∝ e^{−z²/(2 variance)} (Canonne, Kamath and Steinke (2020), Algorithm 3)."""
    return _fill(lambda size: _gaussian_batch(rng, variance, size), count)


def _fill(batch: Callable[[int], IntArray], count: int) -> IntArray:
    parts, missing = [np.zeros(0, dtype=np.int64)], count
    while missing > 0:
        parts.append(batch(2 * missing + 16)[:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts)


def _laplace_batch(rng: np.random.Generator, scale: Fraction, size: int) -> IntArray:
    top, bottom = scale.numerator, scale.denominator
    start = rng.integers(0, top, size)
    start = start[_exp_coins(rng, start, top)]
    turns = _exp_runs(rng, len(start))
    if bottom < _LONG and top * (int(turns.max(initial=0)) + 1) < _LONG:
        size_of = (start + top * turns) // bottom
    else:
        size_of = ((start.astype(object) + top * turns.astype(object)) // bottom).astype(np.int64)
    is_negative = rng.integers(0, 2, len(start)) == 1
    kept = ~(is_negative & (size_of == 0))
    return np.asarray(np.where(is_negative, -size_of, size_of)[kept])


def _gaussian_batch(rng: np.random.Generator, variance: Fraction, size: int) -> IntArray:
    top, bottom = variance.numerator, variance.denominator
    scale = isqrt(top // bottom) + 1
    candidate = draw_discrete_laplace(rng, Fraction(scale), size)
    distinct, place = np.unique(np.abs(candidate), return_inverse=True)
    miss = (distinct.astype(object) * (scale * bottom) - top) ** 2
    divisor = 2 * top * bottom * scale**2
    whole, rest = miss // divisor, miss % divisor
    survives = _exp_runs(rng, size) >= np.minimum(whole, _LONG).astype(np.int64)[place]
    alive = np.flatnonzero(survives)
    return candidate[alive][_exp_coins(rng, rest[place[alive]], divisor)]


def _exp_runs(rng: np.random.Generator, size: int) -> IntArray:
    """Return how many coins of probability 1/e come up in a row: a geometric law."""
    runs = np.zeros(size, dtype=np.int64)
    active = np.arange(size)
    while active.size:
        active = active[_exp_coins(rng, np.ones(active.size, dtype=np.int64), 1)]
        runs[active] += 1
    return runs


def _exp_coins(rng: np.random.Generator, top: Whole, bottom: int) -> Coins:
    """Return coins of probability e^{−top/bottom}, 0 <= top <= bottom: heads if the first failure is odd."""
    failed_at = np.zeros(len(top), dtype=np.int64)
    active, turn = np.arange(len(top)), 0
    while active.size:
        turn += 1
        heads = _coins(rng, top[active], bottom * turn)
        failed_at[active[~heads]] = turn
        active = active[heads]
    return np.asarray(failed_at % 2 == 1)


def _coins(rng: np.random.Generator, top: Whole, bottom: int) -> Coins:
    """Return coins of probability top/bottom, digit by digit of base 2^62 where the fraction is long."""
    if bottom < _LONG:
        return np.asarray(rng.integers(0, bottom, len(top)) < top.astype(np.int64))
    heads = np.zeros(len(top), dtype=np.bool_)
    active, rest = np.arange(len(top)), top.astype(object)
    while active.size:
        shifted = rest * _LONG
        digit = shifted // bottom
        drawn = rng.integers(0, _LONG, active.size).astype(object)
        heads[active] = drawn < digit
        is_open = (drawn == digit).astype(np.bool_)
        rest = (shifted - digit * bottom)[is_open]
        active = active[is_open]
    return heads
