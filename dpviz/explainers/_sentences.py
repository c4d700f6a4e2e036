"""Numbers and phrases of the live sentences that several pages share."""

from __future__ import annotations

import math

from dpviz.accounting import gaussian_advantage
from dpviz.locale import Catalogue
from dpviz.locale.numbers import given, rounded


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


def releases(count: int, text: Catalogue) -> str:
    """Return how many fresh releases there are, in words.

    Examples
    --------
    >>> from dpviz.locale import catalogue
    >>> releases(1, catalogue("en")), releases(100, catalogue("en"))
    ('one fresh release', '100 fresh releases')
    """
    return text("composition.one_release") if count == 1 else text("composition.releases", count=given(count))
