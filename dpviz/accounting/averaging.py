"""The mean of repeated Gaussian answers: how near it comes, what it costs, and that the two are one number.

Averaging r fresh answers and composing r releases are the same: mean_mu · mean_sigma = sensitivity.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._random import generator, lengths
from dpviz.accounting.gaussian_mu import composed_mu


class Noise(StrEnum):
    """Whether each answer draws its own noise, or one answer is kept and shown again."""

    FRESH = "fresh"
    CACHED = "cached"


def mean_sigma(*, sigma: npt.ArrayLike, repeats: npt.ArrayLike, noise: str = Noise.FRESH) -> Numbers:
    r"""Return the standard deviation of the mean of `repeats` answers; exact.

    .. math:: \sigma/\sqrt{r} \text{ (fresh)}, \qquad \sigma \text{ (cached)}

    Parameters
    ----------
    sigma : array_like
        Standard deviation of the noise in each answer, query units, > 0.
    repeats : array_like
        Number of answers averaged, a whole number >= 1.
    noise : {"fresh", "cached"}
        Fresh: each answer has independent noise. Cached: all answers are the same one.

    Returns
    -------
    float or ndarray
        Standard deviation in query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the variance of a mean of independent terms; the mean is sufficient for Gaussian answers.

    Examples
    --------
    >>> mean_sigma(sigma=8.0, repeats=100), mean_sigma(sigma=8.0, repeats=100, noise="cached")
    (0.8, 8.0)
    """
    spread = check.positive("sigma", sigma)
    return plain(spread / np.sqrt(_fresh_answers(repeats, noise)))


def mean_mu(
    *,
    sigma: npt.ArrayLike,
    sensitivity: npt.ArrayLike = 1.0,
    repeats: npt.ArrayLike,
    noise: str = Noise.FRESH,
) -> Numbers:
    r"""Return the GDP parameter of releasing `repeats` answers, or their mean: it is the same; exact.

    .. math:: \sqrt{r}\,\Delta/\sigma \text{ (fresh)}, \qquad \Delta/\sigma \text{ (cached)}

    Parameters
    ----------
    sigma : array_like
        Standard deviation of the noise in each answer, query units, > 0.
    sensitivity : array_like
        L2 sensitivity under the declared neighbouring relation, query units, >= 0.
    repeats : array_like
        Number of answers averaged, a whole number >= 1.
    noise : {"fresh", "cached"}
        Fresh: each answer is a new access. Cached: showing the one answer again is post-processing.

    Returns
    -------
    float or ndarray
        mu >= 0, with mean_mu · mean_sigma = sensitivity.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dong, Roth and Su (2022), Corollary 3.3. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> mean_mu(sigma=8.0, repeats=100), mean_mu(sigma=8.0, repeats=100, noise="cached")
    (1.25, 0.125)
    """
    return composed_mu(sigma=sigma, sensitivity=sensitivity, count=_fresh_answers(repeats, noise))


def simulate_means(
    rng: np.random.Generator,
    *,
    sigma: npt.ArrayLike,
    repeats: npt.ArrayLike,
    noise: str = Noise.FRESH,
    size: int | tuple[int, ...],
) -> FloatArray:
    """Return simulated errors of the mean, drawn exactly in law: the mean of r normals is one normal.

    Illustrative only: noise in double precision shows, in its low digits, what it was added to, and is not
    for release.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same means.
    sigma, repeats, noise
        As for `mean_sigma`; arrays must broadcast to `size`.
    size : int or tuple of int
        Shape of the result.

    Returns
    -------
    ndarray, shape `size`
        Error of the mean, query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `rng` is not a numpy Generator.

    References
    ----------
    The sum of independent normals is normal; against release: Mironov (2012).

    Examples
    --------
    >>> means = simulate_means(np.random.default_rng(1), sigma=8.0, repeats=100, size=10_000)
    >>> means.shape, bool(abs(means.std() - 0.8) < 0.02)
    ((10000,), True)
    """
    source, shape = generator(rng), lengths(size)
    spread = np.broadcast_to(mean_sigma(sigma=sigma, repeats=repeats, noise=noise), shape)
    return np.asarray(source.standard_normal(shape) * spread)


def _fresh_answers(repeats: npt.ArrayLike, noise: str) -> FloatArray:
    """Return the number of answers with noise of their own."""
    answers = check.whole("repeats", repeats, 1)
    if not isinstance(noise, str) or noise not in tuple(Noise):
        raise DomainError("noise", "'fresh' or 'cached'", noise)
    return answers if noise == Noise.FRESH else np.ones_like(answers)
