"""Round numbers near a value: what a still axis ends at."""

from __future__ import annotations

import math

_FINE = (1, 1.5, 2, 3, 5, 7)
_COARSE = (1, 2, 5)


def round_up(value: float, *, coarse: bool = False) -> float:
    """Return the least of 1, 1.5, 2, 3, 5, 7 (coarse: of 1, 2, 5) times a power of ten that is at least `value`.

    Raises
    ------
    ValueError
        If `value` is not a finite number > 0.

    Examples
    --------
    >>> round_up(3.2), round_up(5.0), round_up(0.07)
    (5.0, 5.0, 0.07)
    """
    _check(value)
    power = math.floor(math.log10(value))
    return next(step for step in _grid(power, coarse) if step >= value)


def round_down(value: float, *, coarse: bool = False) -> float:
    """Return the greatest of 1, 1.5, 2, 3, 5, 7 (coarse: of 1, 2, 5) times a power of ten that is at most `value`.

    Examples
    --------
    >>> round_down(3.2), round_down(5.0), round_down(0.07)
    (3.0, 5.0, 0.07)
    """
    _check(value)
    power = math.floor(math.log10(value))
    return next(step for step in reversed(_grid(power, coarse)) if step <= value)


def _grid(power: int, coarse: bool) -> tuple[float, ...]:
    steps = _COARSE if coarse else _FINE
    return tuple(float(f"{step}e{near}") for near in (power - 1, power, power + 1) for step in steps)


def _check(value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"value must be a finite number > 0, but got {value!r}")
