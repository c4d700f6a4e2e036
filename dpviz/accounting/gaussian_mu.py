"""The parameter of Gaussian differential privacy, mu: of some releases, of releases that differ, of a group.

The sensitivity is the L2 sensitivity under the neighbouring relation that the caller declares.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting._twofold import two_product

_TINIEST = np.finfo(np.float64).smallest_subnormal


def composed_mu(*, sigma: npt.ArrayLike, sensitivity: npt.ArrayLike = 1.0, count: npt.ArrayLike = 1) -> Numbers:
    r"""Return the GDP parameter of `count` Gaussian releases; exact.

    .. math:: \mu = \sqrt{k}\,\Delta/\sigma

    Parameters
    ----------
    sigma : array_like
        Standard deviation of the noise in each release, query units, > 0.
    sensitivity : array_like
        L2 sensitivity under the declared neighbouring relation, query units, >= 0.
    count : array_like
        Number of fresh releases, a whole number >= 0.

    Returns
    -------
    float or ndarray
        mu >= 0. What is too small for a float64 is rounded up to the least positive one, never to 0; what is
        too large is inf.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 3.3. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> composed_mu(sigma=16.0, count=100)
    0.625
    """
    noise, change, releases = np.broadcast_arrays(
        check.positive("sigma", sigma),
        check.at_least("sensitivity", sensitivity, 0),
        check.whole("count", count, 0),
    )
    return plain(np.where((change > 0) & (releases > 0), root_ratio(releases, change, noise), 0.0))


def compose_mu(mus: npt.ArrayLike, *, counts: npt.ArrayLike = 1) -> Numbers:
    r"""Return the GDP parameter of Gaussian releases that differ, adaptively chosen or not; exact.

    .. math:: \mu = \sqrt{\textstyle\sum_i k_i\,\mu_i^2}

    Parameters
    ----------
    mus : array_like, shape (..., n)
        GDP parameter of each kind of release, >= 0; the last axis is summed over.
    counts : array_like
        Number of releases of each kind, whole numbers >= 0, broadcast against `mus`.

    Returns
    -------
    float or ndarray, shape (...)
        mu >= 0; 0 for no release.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 3.3. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> compose_mu([3.0, 4.0])
    5.0
    >>> compose_mu([0.5, 1.0], counts=[12, 1])
    2.0
    """
    each, repeats = np.broadcast_arrays(
        np.atleast_1d(check.at_least("mus", mus, 0, infinite=True)), np.atleast_1d(check.whole("counts", counts, 0))
    )
    used = np.where(repeats > 0, each, 0.0)
    _, power = np.frexp(np.max(used, axis=-1, initial=0.0, keepdims=True))
    with np.errstate(over="ignore", under="ignore"):
        share = np.ldexp(used, -power)
        return plain(np.ldexp(np.sqrt(np.sum(repeats * share * share, axis=-1)), power[..., 0]))


def gaussian_group_mu(group_size: npt.ArrayLike, *, mu: npt.ArrayLike) -> Numbers:
    r"""Return the GDP parameter for a whole group: data sets that differ by `group_size` neighbouring steps; exact.

    .. math:: \mu_g = g\,\mu

    The sensitivity of a query to g steps is at most g times that to one, under either neighbouring relation,
    and is that where the steps pull one way.

    Parameters
    ----------
    group_size : array_like
        Number of records in the group, a whole number >= 0.
    mu : array_like
        GDP parameter for one record, >= 0.

    Returns
    -------
    float or ndarray
        mu >= 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Theorem 2.14. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> gaussian_group_mu(10, mu=0.25)
    2.5
    """
    size = check.whole("group_size", group_size, 0)
    spread = check.at_least("mu", mu, 0, infinite=True)
    with np.errstate(over="ignore", under="ignore"):
        return plain(size * np.where(size == 0, 0.0, spread))


def root_ratio(count: FloatArray, change: FloatArray, noise: FloatArray) -> FloatArray:
    """Return √count · change/noise, never 0, rounded once: a large epsilon would magnify every rounding between."""
    top, top_power = np.frexp(change)
    bottom, bottom_power = np.frexp(noise)
    root = np.sqrt(count)
    square, square_rest = two_product(root, root)
    root_rest = ((count - square) - square_rest) / (2 * np.maximum(root, 1.0))
    whole, rest = two_product(root, top)
    ratio = whole / bottom
    again, again_rest = two_product(ratio, bottom)
    ratio_rest = ((whole - again) - again_rest + rest + root_rest * top) / bottom
    with np.errstate(over="ignore", under="ignore"):
        result: FloatArray = np.maximum(np.ldexp(ratio + ratio_rest, top_power - bottom_power), _TINIEST)
    return result
