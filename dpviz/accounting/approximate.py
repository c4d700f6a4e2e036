"""A claimed (epsilon, delta) guarantee, taken as a mechanism: the worst one that keeps it.

That worst one names its input with probability delta and otherwise answers by randomised response with log odds
epsilon; every mechanism with the guarantee is a processing of it (Kairouz, Oh and Viswanath, 2015), so numbers
computed from it are bounds for whatever the claim is about. The neighbouring relation and the sensitivity are those
of the claim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import Numbers, plain
from dpviz.accounting.randomized_response import (
    randomized_response_delta,
    randomized_response_epsilon,
    randomized_response_rdp,
)
from dpviz.accounting.randomized_response_law import RandomizedResponseLaw
from dpviz.accounting.relation import Direction
from dpviz.accounting.tradeoff import approximate_dp_tradeoff


@dataclass(frozen=True, init=False)
class ApproximateDP:
    """Whatever is (epsilon, delta)-DP, under the neighbouring relation that the claim declares.

    Parameters
    ----------
    epsilon : float
        Claimed privacy loss bound, nats, finite and >= 0; kept as `claimed_epsilon`.
    delta : float
        Claimed additive slack, in [0, 1]; kept as `claimed_delta`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3 and its proof. https://arxiv.org/abs/1311.0776

    Examples
    --------
    >>> claim = ApproximateDP(epsilon=1.0, delta=1e-6)
    >>> claim.delta(1.0), claim.epsilon(1e-7), round(claim.delta(0.0), 6)
    (1e-06, inf, 0.462118)
    """

    claimed_epsilon: float
    claimed_delta: float

    def __init__(self, *, epsilon: float, delta: float) -> None:
        object.__setattr__(self, "claimed_epsilon", check.scalar("epsilon", check.at_least("epsilon", epsilon, 0)))
        object.__setattr__(self, "claimed_delta", check.scalar("delta", check.probability("delta", delta)))

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the least delta that the claim leaves for each epsilon >= 0; a bound for what it is about.

        .. math:: \delta(\varepsilon') = \delta + (1 - \delta)\,
                  \frac{e^{\varepsilon} - e^{\varepsilon'}}{e^{\varepsilon} + 1}
                  \quad (\varepsilon' \le \varepsilon), \qquad \delta \text{ beyond}

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN; inf gives the claimed delta.

        References
        ----------
        Kairouz, Oh and Viswanath (2015), Theorem 3.3 with one release.

        Examples
        --------
        >>> ApproximateDP(epsilon=1.0, delta=0.5).delta([0.0, 1.0, 2.0]).round(4)
        array([0.7311, 0.5   , 0.5   ])
        """
        loss = check.at_least("epsilon", epsilon, 0, infinite=True)
        rest = np.asarray(randomized_response_delta(loss, pure_epsilon=self.claimed_epsilon))
        return plain(self.claimed_delta + (1 - self.claimed_delta) * rest)

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon >= 0 that the claim gives at each delta; inf below the claimed one; a bound.

        Raises
        ------
        DomainError
            If a delta is outside [0, 1] or NaN.

        References
        ----------
        Kairouz, Oh and Viswanath (2015), Theorem 3.3 with one release, solved for epsilon.

        Examples
        --------
        >>> ApproximateDP(epsilon=1.0, delta=1e-6).epsilon([1e-7, 1e-6, 0.1, 0.9]).round(4)
        array([   inf, 1.    , 0.8529, 0.    ])
        """
        slack, claimed = check.probability("delta", delta), self.claimed_delta
        rest = np.clip((slack - claimed) / (1 - claimed if claimed < 1 else 1.0), 0.0, 1.0)
        found = np.asarray(randomized_response_epsilon(rest, pure_epsilon=self.claimed_epsilon))
        return plain(np.where(slack < claimed, np.inf, np.where(slack == 1, 0.0, found)))

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function that the claim promises; see `approximate_dp_tradeoff`."""
        return approximate_dp_tradeoff(alpha, epsilon=self.claimed_epsilon, delta=self.claimed_delta)

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the largest Rényi divergence that the claim leaves: inf unless delta is 0; a bound.

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Mironov (2017), Proposition 5, for delta = 0; elementary for delta > 0.

        Examples
        --------
        >>> round(ApproximateDP(epsilon=1.0, delta=0.0).rdp(2.0), 6), ApproximateDP(epsilon=1.0, delta=1e-9).rdp(2.0)
        (0.735326, inf)
        """
        divergence = np.asarray(randomized_response_rdp(order, pure_epsilon=self.claimed_epsilon))
        return plain(np.where(self.claimed_delta > 0, np.inf, divergence))

    def loss_law(self, direction: Direction) -> RandomizedResponseLaw:
        """Return the law of the privacy loss of the worst mechanism, the same in both directions."""
        Direction(direction)
        return RandomizedResponseLaw(self.claimed_epsilon, infinite_mass=self.claimed_delta)


@dataclass(frozen=True, init=False)
class PureDP(ApproximateDP):
    """Whatever is epsilon-DP: a claim with delta = 0.

    Parameters
    ----------
    epsilon : float
        Claimed privacy loss bound, nats, finite and >= 0; kept as `claimed_epsilon`.

    Raises
    ------
    DomainError
        If epsilon is out of its range.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 3.3 with delta = 0.

    Examples
    --------
    >>> PureDP(1.0).epsilon(0.0), round(PureDP(1.0).beta(0.5), 4)
    (1.0, 0.1839)
    """

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon=epsilon, delta=0.0)
