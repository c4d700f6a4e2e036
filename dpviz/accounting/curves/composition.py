"""What k fresh Gaussian releases cost: by count, by accountant, and by Rényi order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz.accounting.composition import advanced_bound, basic_bound, exact_epsilon
from dpviz.accounting.conversion import rdp_to_epsilon, rdp_to_epsilon_improved
from dpviz.accounting.gaussian import gaussian_rdp
from dpviz.accounting.gaussian_mu import composed_mu
from dpviz.accounting.renyi_bounds import improved_best_order, improved_bound, rdp_best_order, rdp_bound

FloatArray = npt.NDArray[np.float64]

FAMILY = (4.0, 8.0, 16.0)
MOST_RELEASES = 1_000_000
_ORDERS = 1 + np.geomspace(1e-3, 1023, 200)
_INTEGER_ORDERS = np.concatenate([np.arange(2.0, 33.0), [40, 48, 64, 96, 128, 192, 256, 384, 512]])


@dataclass(frozen=True)
class ReleaseHistory:
    """A history of `count` fresh Gaussian releases of one statistic, all with the same noise.

    Parameters
    ----------
    count : int
        Number of fresh releases, >= 1.
    sigma : float
        Standard deviation of the noise in each release, query units, > 0.
    sensitivity : float
        L2 sensitivity between neighbours, query units, > 0.
    delta : float
        Where the privacy profile is read, in (0, 1).
    """

    count: int
    sigma: float
    sensitivity: float
    delta: float


@dataclass(frozen=True)
class CompositionCurves:
    """The cost of a release history, seen three ways.

    `bound` and `exact` run over `counts`, and so do the exact curves of `family`, keyed by sigma. `by_order` and
    `by_order_improved` run over `orders`; `by_integer_order` over `integer_orders`. `ladder` holds epsilon at this
    history by accountant: all are upper bounds but the last, which is exact.
    """

    history: ReleaseHistory
    mu: float
    counts: FloatArray
    bound: FloatArray
    exact: FloatArray
    family: dict[float, FloatArray]
    ladder: dict[str, float]
    orders: FloatArray
    by_order: FloatArray
    by_order_improved: FloatArray
    best_order: float
    improved_order: float
    integer_orders: FloatArray
    by_integer_order: FloatArray


def composition_curves(history: ReleaseHistory) -> CompositionCurves:
    """Return the curves of the composition page for one history of releases.

    Examples
    --------
    >>> curves = composition_curves(ReleaseHistory(count=100, sigma=16.0, sensitivity=1.0, delta=1e-6))
    >>> {name: round(epsilon, 2) for name, epsilon in curves.ladder.items()}
    {'basic': 30.13, 'advanced': 27.91, 'rdp': 3.48, 'improved': 3.09, 'exact': 2.88}
    """
    sigma, sensitivity, delta = history.sigma, history.sensitivity, history.delta
    contract = {"sigma": sigma, "sensitivity": sensitivity, "delta": delta}
    here = {"count": history.count, **contract}
    along = np.append(release_counts(), history.count)  # the curve's counts, then this history's own
    exact, bound = exact_epsilon(count=along, **contract), rdp_bound(count=along, **contract)
    mu = composed_mu(sigma=sigma, sensitivity=sensitivity, count=history.count)
    ladder = {
        "basic": basic_bound(**here),
        "advanced": advanced_bound(**here),
        "rdp": float(bound[-1]),
        "improved": improved_bound(**here),
        "exact": float(exact[-1]),
    }
    by_order = gaussian_rdp(_ORDERS, mu=mu)
    return CompositionCurves(
        history=history,
        mu=mu,
        counts=release_counts(),
        bound=bound[:-1],
        exact=exact[:-1],
        family=_family(sensitivity, delta),
        ladder=ladder,
        orders=_ORDERS,
        by_order=rdp_to_epsilon(by_order, order=_ORDERS, delta=delta),
        by_order_improved=rdp_to_epsilon_improved(by_order, order=_ORDERS, delta=delta),
        best_order=rdp_best_order(**here),
        improved_order=improved_best_order(**here),
        integer_orders=_INTEGER_ORDERS,
        by_integer_order=rdp_to_epsilon(gaussian_rdp(_INTEGER_ORDERS, mu=mu), order=_INTEGER_ORDERS, delta=delta),
    )


@lru_cache
def release_counts() -> FloatArray:
    """Return the whole numbers of releases that the curves run over, about twenty a decade."""
    counts = np.unique(np.round(np.geomspace(1, MOST_RELEASES, 121)))
    counts.flags.writeable = False
    return counts


@lru_cache(maxsize=64)
def _family(sensitivity: float, delta: float) -> dict[float, FloatArray]:
    return {
        sigma: exact_epsilon(count=release_counts(), sigma=sigma, sensitivity=sensitivity, delta=delta)
        for sigma in FAMILY
    }
