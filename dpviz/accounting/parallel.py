"""What the neighbouring relation does to guarantees: releases on the parts of a partition, and groups of records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._binomial import product
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.relation import Relation


def parallel_composition(
    epsilons: npt.ArrayLike, *, deltas: npt.ArrayLike = 0.0, relation: Relation, is_public: bool = False
) -> tuple[Numbers, Numbers]:
    r"""Return what releases cost together that each look at one part of a partition of the records; a bound.

    Under `ADD_OR_REMOVE_ONE` one part changes:

    .. math:: (\max_i \varepsilon_i,\; \max_i \delta_i)

    Under `REPLACE_ONE` the new record may belong elsewhere, and then two parts change, one losing a record
    and one gaining one. With the two largest of each,

    .. math:: (\varepsilon_{(1)} + \varepsilon_{(2)},\; 1 - (1 - \delta_{(1)})(1 - \delta_{(2)}))

    Parameters
    ----------
    epsilons : array_like, shape (..., parts)
        Of each release, nats, finite and >= 0. Its guarantee must hold for the changes that can befall its part:
        a record more or less, and under `REPLACE_ONE` also a record replaced.
    deltas : array_like, broadcast with `epsilons`
        Of each release, in [0, 1].
    relation : Relation
        Which data sets count as neighbours.
    is_public : bool
        Whether the part of a record is known and never changes (its day, say), so that replacing it leaves the
        partition as it is and one part changes under either relation.

    Returns
    -------
    epsilon, delta : float or ndarray, shape (...)
        Of all together. The releases' coins must be independent.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `epsilons` is a single number.

    References
    ----------
    McSherry (2009), Theorem 4, for adding or removing. https://doi.org/10.1145/1559845.1559850
    For replacing: elementary, the composition of the two parts that change.

    Examples
    --------
    A histogram of two bins, 1-DP each: whoever replaces a record may move it from one bin to the other.

    >>> parallel_composition([1.0, 1.0], relation=Relation.ADD_OR_REMOVE_ONE)
    (1.0, 0.0)
    >>> parallel_composition([1.0, 1.0], relation=Relation.REPLACE_ONE)
    (2.0, 0.0)
    """
    each, slack = check.at_least("epsilons", epsilons, 0), check.probability("deltas", deltas)
    parts = np.broadcast_shapes(_parts("epsilons", each), slack.shape)
    first, second = _two_largest(np.broadcast_to(each, parts), relation, is_public)
    likely, unlikely = _two_largest(np.broadcast_to(slack, parts), relation, is_public)
    with np.errstate(over="ignore", under="ignore"):
        return plain(first + second), plain(likely + unlikely * (1 - likely))


def parallel_mu(mus: npt.ArrayLike, *, relation: Relation, is_public: bool = False) -> Numbers:
    r"""Return the GDP parameter of Gaussian releases that each look at one part of a partition; exact.

    The largest mu under `ADD_OR_REMOVE_ONE`, where one part changes; under `REPLACE_ONE`, where two may,

    .. math:: \sqrt{\mu_{(1)}^2 + \mu_{(2)}^2}

    Parameters
    ----------
    mus : array_like, shape (..., parts)
        GDP parameter of each release, finite and >= 0, for the changes that can befall its part: a record more or
        less, and under `REPLACE_ONE` also a record replaced.
    relation : Relation
        Which data sets count as neighbours.
    is_public : bool
        Whether the part of a record is known and never changes, so that one part changes under either relation.

    Returns
    -------
    float or ndarray, shape (...)
        mu >= 0 of all together.

    Raises
    ------
    DomainError
        If a mu is out of its range.
    TypeError
        If `mus` is a single number.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 3.3, for the two parts that change. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> parallel_mu([3.0, 1.0, 4.0], relation=Relation.ADD_OR_REMOVE_ONE)
    4.0
    >>> parallel_mu([3.0, 1.0, 4.0], relation=Relation.REPLACE_ONE)
    5.0
    """
    each = check.at_least("mus", mus, 0)
    _parts("mus", each)
    with np.errstate(over="ignore", under="ignore"):
        return plain(np.hypot(*_two_largest(each, relation, is_public)))


def group_privacy(
    epsilon: npt.ArrayLike, *, delta: npt.ArrayLike = 0.0, group_size: npt.ArrayLike
) -> tuple[Numbers, Numbers]:
    r"""Return what an (epsilon, delta)-DP release promises a group of records that change together; a bound.

    .. math:: \Bigl(k\varepsilon,\; \min\Bigl(1, \delta\,\frac{e^{k\varepsilon} - 1}{e^\varepsilon - 1}\Bigr)\Bigr)

    The group's data sets are k steps of the release's neighbouring relation apart, whichever that is.

    Parameters
    ----------
    epsilon : array_like
        Of the release, nats, finite and >= 0; at 0 the delta is k·delta.
    delta : array_like
        Of the release, in [0, 1].
    group_size : array_like
        Number of records k, a whole number >= 0.

    Returns
    -------
    epsilon, delta : float or ndarray
        Of the release, for the group. A delta of 1 promises nothing.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Vadhan (2017), Lemma 2.2. https://doi.org/10.1007/978-3-319-57048-8_7

    Examples
    --------
    >>> epsilon, delta = group_privacy(0.1, delta=1e-6, group_size=10)
    >>> epsilon, round(delta, 10)
    (1.0, 1.6338e-05)
    """
    loss, slack, size = np.broadcast_arrays(
        check.at_least("epsilon", epsilon, 0),
        check.probability("delta", delta),
        check.whole("group_size", group_size, 0),
    )
    with np.errstate(over="ignore", under="ignore"):
        return plain(size * loss), plain(np.minimum(_group_delta(loss, slack, size), 1.0))


def _group_delta(epsilon: FloatArray, delta: FloatArray, size: FloatArray) -> FloatArray:
    """Return δ Σ_{j < k} e^{jε}; what is past float64 is inf."""
    whole, rest = product(size, epsilon)
    last, last_rest = product(np.maximum(size - 1, 0), epsilon)
    some = np.where(epsilon > 0, epsilon, 1.0)
    sum_over_last = np.where(size > 0, np.expm1(-(whole + rest)) / np.expm1(-some), 0.0)
    root = np.exp(np.minimum(last, 2800.0) / 4)
    raised = delta * root * root * root * root * (1 + last_rest) * sum_over_last
    result: FloatArray = np.where(epsilon > 0, raised, delta * size)
    return result


def _parts(name: str, values: FloatArray) -> tuple[int, ...]:
    if values.ndim == 0 or values.shape[-1] == 0:
        raise TypeError(f"{name} must have a number for each part, but got an array of shape {values.shape}")
    return values.shape


def _two_largest(values: FloatArray, relation: Relation, is_public: bool) -> tuple[FloatArray, FloatArray]:
    """Return the largest along the last axis, and the next largest if two parts may change (else 0)."""
    ordered = np.sort(values, axis=-1)
    is_one = is_public or relation is Relation.ADD_OR_REMOVE_ONE or ordered.shape[-1] == 1
    return ordered[..., -1], np.zeros(ordered.shape[:-1]) if is_one else ordered[..., -2]
