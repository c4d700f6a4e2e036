"""The mean of r releases: how near it comes to the truth, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz.accounting.averaging import simulate_means
from dpviz.accounting.correlated_noise import correlated_mean_mu, correlated_mean_sigma
from dpviz.accounting.curves.composition import release_counts
from dpviz.accounting.gaussian import gaussian_epsilon
from dpviz.accounting.renyi_bounds import rdp_bound

FloatArray = npt.NDArray[np.float64]

DOTS = 50
FRESH, CORRELATED, CACHED = "fresh", "correlated", "cached"
CORRELATIONS = {FRESH: 0.0, CORRELATED: 0.5, CACHED: 1.0}
"""Correlation of the noises of any two answers, by where the answers come from."""


@dataclass(frozen=True)
class RepeatedAnswer:
    """One statistic answered `repeats` times and averaged.

    Parameters
    ----------
    repeats : int
        Number of answers that are averaged, >= 1.
    sigma : float
        Standard deviation of the noise in each answer, query units, > 0.
    sensitivity : float
        L2 sensitivity between neighbours, query units, > 0.
    delta : float
        Where the privacy profile is read, in (0, 1).
    noise : str
        ``"fresh"``: each answer draws its own noise, a new access. ``"cached"``: one published answer, shown again.
        ``"correlated"``: half of the noise's variance is drawn once for all answers, half for each.
    seed : int
        Of the simulated averages, >= 0.
    """

    repeats: int
    sigma: float
    sensitivity: float
    delta: float
    noise: str
    seed: int

    @property
    def correlation(self) -> float:
        """Correlation of the noises of any two answers."""
        return CORRELATIONS[self.noise]


@dataclass(frozen=True)
class AveragingCurves:
    """Spread and price of the mean, over `repeats` and at the setting shown.

    `spread` is the standard deviation of the mean; `exact` and `bound` are epsilon at delta. `mus` and
    `identity` are the curve sensitivity/mu on which every setting lies.
    """

    answer: RepeatedAnswer
    means: FloatArray
    spread_here: float
    mu_here: float
    exact_here: float
    bound_here: float
    repeats: FloatArray
    spread: FloatArray
    exact: FloatArray
    bound: FloatArray
    mus: FloatArray
    identity: FloatArray


def averaging_curves(answer: RepeatedAnswer) -> AveragingCurves:
    """Return the curves of the averaging page for one way of answering.

    Examples
    --------
    >>> day = RepeatedAnswer(repeats=1440, sigma=50.0, sensitivity=1.0, delta=1e-6, noise="fresh", seed=1)
    >>> curves = averaging_curves(day)
    >>> round(curves.spread_here, 2), round(curves.bound_here, 2), round(curves.exact_here, 2)
    (1.32, 4.28, 3.58)
    """
    along = np.append(release_counts(), answer.repeats)  # the curve's numbers of answers, then this setting's own
    sigma, sensitivity, correlation = answer.sigma, answer.sensitivity, answer.correlation
    spread = correlated_mean_sigma(sigma=sigma, repeats=along, correlation=correlation)
    mu = correlated_mean_mu(sigma=sigma, sensitivity=sensitivity, repeats=along, correlation=correlation)
    exact = gaussian_epsilon(answer.delta, mu=mu)
    bound = rdp_bound(count=1, sigma=spread, sensitivity=sensitivity, delta=answer.delta)
    mus = mus_shown()
    return AveragingCurves(
        answer=answer,
        means=simulate_means(np.random.default_rng(answer.seed), sigma=float(spread[-1]), repeats=1, size=DOTS),
        spread_here=float(spread[-1]),
        mu_here=float(mu[-1]),
        exact_here=float(exact[-1]),
        bound_here=float(bound[-1]),
        repeats=release_counts(),
        spread=spread[:-1],
        exact=exact[:-1],
        bound=bound[:-1],
        mus=mus,
        identity=sensitivity / mus,
    )


@lru_cache
def mus_shown() -> FloatArray:
    """Return the values of mu that the identity is drawn over."""
    mus = np.geomspace(1e-5, 1e5, 3)
    mus.flags.writeable = False
    return mus
