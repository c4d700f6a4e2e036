"""The one place where a bad number becomes an error that says what was wanted and what came.

Each check takes the argument's name and value and returns float64 (0-d for a scalar). What is not a real
number at all (a bool, a string, None, a complex or a Decimal, a masked array) is a `TypeError`; a real
number out of its range, NaN included, is a `DomainError`. Nothing is clipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Numbers: TypeAlias = Any
"""What the array-valued functions return: a float when every argument is a scalar, else a float64 array."""

LARGEST_COUNT = 2**53
"""Up to here every whole number is a float64."""


class DomainError(ValueError):
    """A number is outside the range where the quantity is defined.

    Parameters
    ----------
    name : str
        The argument.
    requirement : str
        What it must be, as the end of a sentence.
    value : object
        What came; of an array, its first bad element.

    Examples
    --------
    >>> str(DomainError("sigma", "a finite number > 0", -1.0))
    'sigma must be a finite number > 0, but got -1.0'
    """

    def __init__(self, name: str, requirement: str, value: object) -> None:
        super().__init__(name, requirement, value)
        self.name = name
        self.requirement = requirement
        self.value = value

    def __str__(self) -> str:
        return f"{self.name} must be {self.requirement}, but got {self.value!r}"


def real(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return the value as float64, or raise TypeError; the range is not looked at."""
    given: Any = _plain_sequence(name, value) if isinstance(value, (list, tuple)) else value
    if isinstance(given, int) and not isinstance(given, bool):
        given = _python_int(name, given)
    array = np.asarray(given)
    if array.dtype.kind not in "iuf" or isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} must be a real number or an array of them, but got {value!r}")
    with np.errstate(over="ignore"):
        return array.astype(np.float64) + 0.0  # -0.0 is read as 0


def positive(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return a finite value > 0."""
    return _require(name, value, lambda x: np.isfinite(x) & (x > 0), "a finite number > 0")


def finite(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return a finite value of either sign."""
    return _require(name, value, np.isfinite, "a finite number")


def at_least(name: str, value: npt.ArrayLike, low: float, *, infinite: bool = False) -> FloatArray:
    """Return a value >= low; infinity only where it is allowed."""
    if infinite:
        return _require(name, value, lambda x: x >= low, f"a number >= {low:g} (inf is allowed)")
    return _require(name, value, lambda x: np.isfinite(x) & (x >= low), f"a finite number >= {low:g}")


def above(name: str, value: npt.ArrayLike, low: float) -> FloatArray:
    """Return a finite value > low."""
    return _require(name, value, lambda x: np.isfinite(x) & (x > low), f"a finite number > {low:g}")


def probability(name: str, value: npt.ArrayLike, *, open_low: bool = False, open_high: bool = False) -> FloatArray:
    """Return a value from 0 to 1; an open end is left out."""
    interval = f"{'(' if open_low else '['}0, 1{')' if open_high else ']'}"

    def inside(x: FloatArray) -> BoolArray:
        return ((x > 0) if open_low else (x >= 0)) & ((x < 1) if open_high else (x <= 1))

    return _require(name, value, inside, f"a number in {interval}")


def whole(name: str, value: npt.ArrayLike, low: int, high: int = LARGEST_COUNT) -> FloatArray:
    """Return a whole number from low to high; 3.0 is whole, 3.5 is not."""
    requirement = f"a whole number from {low} to {high}"
    return _require(name, value, lambda x: (x == np.floor(x)) & (x >= low) & (x <= high), requirement)


def scalar(name: str, value: FloatArray) -> float:
    """Return a checked value as a float, or raise TypeError if it is an array."""
    if value.ndim:
        raise TypeError(f"{name} must be one number, but got an array of shape {value.shape}")
    return float(value)


def plain(result: npt.ArrayLike) -> Numbers:
    """Return a 0-d result as a float and any other as a float64 array."""
    array = np.asarray(result, dtype=np.float64) + 0.0  # -0.0 is 0
    return array if array.ndim else float(array)


def _require(name: str, value: npt.ArrayLike, test: Callable[[FloatArray], BoolArray], requirement: str) -> FloatArray:
    array = real(name, value)
    good = np.asarray(test(array))
    if not good.all():
        bad = value if np.ndim(value) == 0 else float(array[~good][0])
        raise DomainError(name, requirement, bad.item() if isinstance(bad, np.generic | np.ndarray) else bad)
    return array


def _plain_sequence(name: str, value: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return a list of numbers as an array; np.asarray alone would read [True, 0.5] as numbers."""
    items = np.asarray(value, dtype=object)
    if any(issubclass(kind, bool | np.bool_ | list | tuple) for kind in set(map(type, items.ravel()))):
        raise TypeError(f"{name} must be a real number or an array of them, but got {value!r}")
    return np.asarray(value)


def _python_int(name: str, value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        came = f"a whole number of {value.bit_length()} bits"
    raise DomainError(name, "a number that a float64 can hold", came)
