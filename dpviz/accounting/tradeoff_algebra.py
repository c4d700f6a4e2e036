"""What trade-off functions make of each other: composed releases, and groups of people."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import FloatArray, Numbers, plain
from dpviz.accounting.gaussian import gaussian_beta
from dpviz.accounting.gaussian_mu import compose_mu

LARGEST_GROUP = 10_000
"""`group_tradeoff` walks the curve once for each person, so the group has an end."""


def compose_gaussian_tradeoffs(alpha: npt.ArrayLike, *, mus: npt.ArrayLike) -> Numbers:
    r"""Return the trade-off function of several Gaussian ones composed (their tensor product); exact.

    .. math:: G_{\mu_1} \otimes \dots \otimes G_{\mu_k} = G_{\mu}, \qquad \mu = \sqrt{\mu_1^2 + \dots + \mu_k^2}

    Parameters
    ----------
    alpha : array_like
        Type I error (false positive rate), in [0, 1].
    mus : array_like, shape (..., k)
        GDP parameters of the k releases along the last axis, >= 0; the other axes broadcast with `alpha`. All
        under the same neighbouring relation.

    Returns
    -------
    float or ndarray
        The least type II error.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 3.3. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> round(compose_gaussian_tradeoffs(0.05, mus=[0.6, 0.8]), 4)
    0.7405
    """
    return gaussian_beta(alpha, mu=compose_mu(mus))


def group_tradeoff(
    alpha: npt.ArrayLike, *, tradeoff: Callable[[FloatArray], npt.ArrayLike], group_size: npt.ArrayLike
) -> Numbers:
    r"""Return the trade-off function that protects a whole group, from the one that protects each person; a bound.

    .. math:: 1 - (1 - f)^{\circ k}

    Two data sets that differ in `group_size` people are linked by so many steps between neighbours, and each
    step may raise the attacker's true positive rate from x to 1 − f(x). For Laplace and Gaussian noise it is
    attained: there a group of k has k times the parameter.

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    tradeoff : callable
        The trade-off function f for one person, from an array of alphas to one of betas; under the neighbouring
        relation whose steps the group is counted in.
    group_size : int
        Number of people k, one whole number from 1 to `LARGEST_GROUP`.

    Returns
    -------
    float or ndarray
        Beta in [0, 1 − alpha]. Each step adds a rounding of 1e-16 to 1 − f, which later steps multiply by the
        slope of f; `gaussian_group_mu` has no such loss.

    Raises
    ------
    DomainError
        If an argument, or a value of `tradeoff`, is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Theorem 2.14. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> each = lambda alpha: gaussian_beta(alpha, mu=0.25)
    >>> round(group_tradeoff(0.05, tradeoff=each, group_size=4), 4), round(gaussian_beta(0.05, mu=1.0), 4)
    (0.7405, 0.7405)
    """
    rate = check.probability("alpha", alpha)
    size = int(check.scalar("group_size", check.whole("group_size", group_size, 1, LARGEST_GROUP)))
    beta = check.probability("tradeoff(alpha)", tradeoff(rate))
    for _ in range(size - 1):
        raised = 1 - beta
        if np.array_equal(raised, rate):
            break
        rate = raised
        beta = check.probability("tradeoff(alpha)", tradeoff(rate))
    return plain(beta)
