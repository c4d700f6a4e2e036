"""Privacy as an attacker's two error rates: k Gaussian releases, one threshold, one (epsilon, delta) to compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from dpviz.accounting.gaussian import gaussian_delta
from dpviz.accounting.gaussian_mu import composed_mu
from dpviz.accounting.tradeoff import (
    approximate_dp_tradeoff,
    gaussian_advantage,
    gaussian_tpr,
    gaussian_tradeoff,
    threshold_errors,
)

FloatArray = npt.NDArray[np.float64]

LOW_FPRS = (0.01, 0.05)
EVIDENCE = (-4.0, 8.0)
_BELL_POINTS = 181
_ALPHAS = np.concatenate([[0.0], ndtr(np.linspace(-6.5, 6.5, 171)), [1.0]])


@dataclass(frozen=True)
class Attack:
    """An attacker who sees `count` Gaussian releases and says "in" when the evidence passes a threshold.

    Parameters
    ----------
    count : int
        Number of fresh releases seen, >= 1.
    sigma : float
        Standard deviation of the noise in each release, query units, > 0.
    sensitivity : float
        L2 sensitivity between neighbours, query units, > 0.
    threshold : float
        Where the attacker starts to say "in", in standard deviations of the averaged answer above the answer
        without the person.
    epsilon, delta : float
        An (epsilon, delta) guarantee to compare with; >= 0 and in (0, 1).
    """

    count: int
    sigma: float
    sensitivity: float
    threshold: float
    epsilon: float
    delta: float


@dataclass(frozen=True)
class TradeoffCurves:
    """The two laws of the evidence, the trade-off curve, and the rates at the threshold.

    `beta` is the least type II error for each type I error `alpha`, exactly; `compared_beta` is what the compared
    (epsilon, delta) alone allows over `compared_alpha`, a bound where `is_kept`; `tangent_beta` is the supporting line
    of `beta` with slope -exp(epsilon), over `tangent_alpha`.
    """

    attack: Attack
    mu: float
    evidence: FloatArray
    bell_without: FloatArray
    bell_with: FloatArray
    alpha: FloatArray
    beta: FloatArray
    compared_alpha: FloatArray
    compared_beta: FloatArray
    tangent_alpha: FloatArray
    tangent_beta: FloatArray
    alpha_here: float
    beta_here: float
    delta_here: float
    tpr_at: dict[float, float]
    advantage: float

    @property
    def is_kept(self) -> bool:
        """Whether the releases keep the compared (epsilon, delta), so that its line bounds their curve."""
        return self.delta_here <= self.attack.delta


def tradeoff_curves(attack: Attack) -> TradeoffCurves:
    """Return the curves of the trade-off page for one attack.

    Examples
    --------
    >>> curves = tradeoff_curves(Attack(100, sigma=16.0, sensitivity=1.0, threshold=1.0, epsilon=1.0, delta=1e-6))
    >>> round(curves.tpr_at[0.05], 3), round(curves.advantage, 3)
    (0.154, 0.245)
    """
    mu = composed_mu(sigma=attack.sigma, sensitivity=attack.sensitivity, count=attack.count)
    evidence = np.linspace(*EVIDENCE, _BELL_POINTS)
    alpha_here, beta_here = threshold_errors(attack.threshold, mu=mu)
    delta_here = gaussian_delta(attack.epsilon, mu=mu)
    corner = (1 - attack.delta) / (1 + np.exp(attack.epsilon))
    compared = np.array([0.0, corner, 1 - attack.delta, 1.0])
    tangent = np.array([0.0, (1 - delta_here) * np.exp(-attack.epsilon)])
    return TradeoffCurves(
        attack=attack,
        mu=mu,
        evidence=evidence,
        bell_without=_bell(evidence),
        bell_with=_bell(evidence - mu),
        alpha=_ALPHAS,
        beta=gaussian_tradeoff(_ALPHAS, mu=mu),
        compared_alpha=compared,
        compared_beta=approximate_dp_tradeoff(compared, epsilon=attack.epsilon, delta=attack.delta),
        tangent_alpha=tangent,
        tangent_beta=np.array([1 - delta_here, 0.0]),
        alpha_here=alpha_here,
        beta_here=beta_here,
        delta_here=delta_here,
        tpr_at={fpr: gaussian_tpr(fpr, mu=mu) for fpr in LOW_FPRS},
        advantage=gaussian_advantage(mu),
    )


def _bell(distance: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.square(distance) / 2) / np.sqrt(2 * np.pi))
