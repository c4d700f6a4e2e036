"""The door of everything that draws: a generator and a shape, checked."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from dpviz.accounting import _checks as check

Size: TypeAlias = int | tuple[int, ...]


def generator(rng: object) -> np.random.Generator:
    """Return the generator, or raise TypeError for what is none."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, but got {rng!r}")
    return rng


def lengths(size: Size) -> tuple[int, ...]:
    """Return a shape as a tuple of whole numbers."""
    shape = check.whole("size", size, 0)
    if shape.ndim > 1:
        raise TypeError(f"size must be a whole number or a tuple of them, but got {size!r}")
    return tuple(int(length) for length in np.atleast_1d(shape))
