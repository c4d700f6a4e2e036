"""Numbers of the live sentences that several pages share."""

from __future__ import annotations

import math

from dpviz.accounting import gaussian_advantage
from dpviz.locale.numbers import rounded


def right_guesses(mu: float) -> str:
    """Return in how many of 100 even cases the best attacker on a mu-GDP release is right, never rounded down.

    Half the cases have the person in the data. Blind guessing is right in 50.

    Examples
    --------
    >>> right_guesses(0.3125)
    '56.3'
    """
    right = 50 * (1 + gaussian_advantage(mu))
    return rounded(math.ceil(10 * right) / 10, 3)
