"""How far two discrete laws are apart, in nats: each sum has terms of one sign, so close laws keep their digits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._divergence import bit_information, entropy_excess

_SUM_SLACK = 1e-9


def kl_divergence(law: npt.ArrayLike, *, reference: npt.ArrayLike) -> Numbers:
    r"""Return the Kullback-Leibler divergence of a discrete law from a reference; exact.

    .. math:: \sum_y p_y \ln(p_y/q_y) = \sum_y q_y\,\phi(p_y/q_y), \qquad \phi(t) = t\ln t - t + 1 \ge 0

    Parameters
    ----------
    law, reference : array_like, shape (..., outputs)
        Probabilities, each law summing to 1.

    Returns
    -------
    float or ndarray, shape (...)
        Divergence in nats; inf if the reference misses an output of the law.

    Raises
    ------
    DomainError
        If a probability is out of its range, or a law does not sum to 1.

    References
    ----------
    Kullback and Leibler (1951). https://doi.org/10.1214/aoms/1177729694

    Examples
    --------
    >>> round(kl_divergence([0.75, 0.25], reference=[0.25, 0.75]), 6)
    0.549306
    """
    first, second = _two_laws("law", law, "reference", reference)
    with np.errstate(over="ignore", under="ignore"):
        terms = np.where(second > 0, entropy_excess(first, second, first - second), 0.0)
    return plain(np.where(np.any((second == 0) & (first > 0), axis=-1), np.inf, terms.sum(axis=-1)))


def total_variation(law: npt.ArrayLike, *, other: npt.ArrayLike) -> Numbers:
    r"""Return the total variation between two discrete laws, the best advantage in telling them apart; exact.

    .. math:: \tfrac12 \sum_y |p_y - q_y|

    Parameters
    ----------
    law, other : array_like, shape (..., outputs)
        Probabilities, each law summing to 1.

    Returns
    -------
    float or ndarray, shape (...)
        A number in [0, 1].

    Raises
    ------
    DomainError
        If a probability is out of its range, or a law does not sum to 1.

    References
    ----------
    Elementary; it is the privacy profile of the pair at epsilon 0.

    Examples
    --------
    >>> total_variation([0.75, 0.25], other=[0.25, 0.75])
    0.5
    """
    first, second = _two_laws("law", law, "other", other)
    return plain(np.minimum(np.abs(first - second).sum(axis=-1) / 2, 1.0))


def jensen_shannon(law: npt.ArrayLike, *, other: npt.ArrayLike, prior: npt.ArrayLike = 0.5) -> Numbers:
    r"""Return the Jensen-Shannon divergence, the information of the output about which of two laws it is from; exact.

    .. math:: \pi\,D(P\|M) + (1 - \pi)\,D(Q\|M), \qquad M = \pi P + (1 - \pi) Q

    Parameters
    ----------
    law, other : array_like, shape (..., outputs)
        Probabilities, each law summing to 1.
    prior : array_like, shape (...)
        Probability of `law`, in [0, 1].

    Returns
    -------
    float or ndarray, shape (...)
        Divergence in nats, at most the entropy of the prior; at prior 1/2 at least half the squared total variation.

    Raises
    ------
    DomainError
        If a probability is out of its range, or a law does not sum to 1.

    References
    ----------
    Lin (1991), Section III. https://doi.org/10.1109/18.61115

    Examples
    --------
    >>> round(jensen_shannon([0.75, 0.25], other=[0.25, 0.75]), 6)
    0.130812
    """
    first, second = _two_laws("law", law, "other", other)
    chance = check.probability("prior", prior)[..., None]
    with np.errstate(under="ignore", over="ignore"):
        return plain(bit_information(chance, 1 - chance, first, second, first - second).sum(axis=-1))


def _two_laws(name: str, law: npt.ArrayLike, other_name: str, other: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = _law(name, law), _law(other_name, other)
    if first.shape[-1] != second.shape[-1]:
        raise DomainError(other_name, f"a law over as many outputs as {name}, {first.shape[-1]}", second.shape[-1])
    both = np.broadcast_arrays(first, second)
    return both[0], both[1]


def _law(name: str, law: npt.ArrayLike) -> FloatArray:
    chances = np.atleast_1d(check.probability(name, law))
    total = chances.sum(axis=-1)
    if np.any(np.abs(total - 1) > _SUM_SLACK):
        raise DomainError(name, "probabilities that sum to 1", float(np.ravel(total)[np.argmax(np.abs(total - 1))]))
    return chances
