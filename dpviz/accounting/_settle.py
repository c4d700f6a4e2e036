"""The last bit of an inverse: the least epsilon near a solution whose delta, as computed, meets the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpviz.accounting._checks import FloatArray

Places: TypeAlias = npt.NDArray[Any]
_STEPS = 8


def settle_epsilon(
    epsilon: FloatArray, delta: FloatArray, delta_of: Callable[[FloatArray, Places], FloatArray]
) -> FloatArray:
    """Return epsilon moved by a few last bits at most, so that its delta is at most `delta` wherever that can be.

    `delta_of` gets some epsilons, and their places in the flattened array. What is 0 or inf stays; an answer that a
    few bits do not mend is returned as it came.
    """
    found, target = np.array(epsilon).ravel(), np.ravel(np.broadcast_to(delta, np.shape(epsilon)))
    active = np.flatnonzero((found > 0) & np.isfinite(found))
    for step in range(_STEPS):
        active = active[delta_of(found[active], active) > target[active]]
        if not active.size:
            break
        found[active] += 2.0 ** max(step - 2, 0) * np.spacing(found[active])
    return found.reshape(np.shape(epsilon))
