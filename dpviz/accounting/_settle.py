"""The last bit of an inverse: the least epsilon near a solution whose delta, as computed, meets the target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpviz.accounting._checks import FloatArray

_STEPS = 3


def settle_epsilon(epsilon: FloatArray, delta: FloatArray, delta_of: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return epsilon moved by a few last bits at most, so that delta_of(epsilon) <= delta wherever that can be.

    What is 0 or inf stays; an answer that a few bits do not mend is returned as it came.
    """
    found = np.array(epsilon)
    active = (found > 0) & np.isfinite(found)
    for _ in range(_STEPS):
        over = active & (delta_of(found) > delta)
        if not over.any():
            break
        found = np.where(over, np.nextafter(found, np.inf), found)
    return found
