"""The neighbouring relation a number holds under, and the two directions in which a pair of neighbours is read."""

from __future__ import annotations

from enum import StrEnum


class Relation(StrEnum):
    """Which two data sets count as neighbours; always said, since a number that leaves it out means nothing.

    Examples
    --------
    >>> print(Relation.REPLACE_ONE)
    replace one
    """

    ADD_OR_REMOVE_ONE = "add or remove one"
    REPLACE_ONE = "replace one"


class Direction(StrEnum):
    """The order in which a pair of neighbours is compared; a guarantee holds in both.

    In REMOVE the record is in the data that produced the output (P) and not in the other (Q); ADD is the reverse.

    Examples
    --------
    >>> [direction.value for direction in Direction]
    ['remove', 'add']
    """

    REMOVE = "remove"
    ADD = "add"
