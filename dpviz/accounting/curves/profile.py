"""One point of a privacy profile: what (epsilon, delta) says of a Gaussian release, and of a catastrophe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri, ndtri_exp

from dpviz.accounting.gaussian import gaussian_epsilon, gaussian_log_delta
from dpviz.accounting.scales import round_up
from dpviz.accounting.tradeoff import gaussian_tpr

FloatArray = npt.NDArray[np.float64]
_N = TypeVar("_N", float, FloatArray)

EVIDENCE = (-4.0, 8.0)

_FLOORS = (1e-6, 1e-13)  # least probability shown, for a contract's delta that is not small and for one that is
_SMALL_DELTA = 1e-4
_PROFILE_POINTS = 120
_BELL_POINTS = 151
_TAIL_POINTS = 61
_RATE_POINTS = 121
_SHARES = 1 - (1 - np.linspace(0.0, 1.0, 101) ** 2) ** 3  # close at both ends, where the line is steep
_SHARES.flags.writeable = False


@dataclass(frozen=True)
class Reading:
    r"""A Gaussian release read at one epsilon, beside a mechanism that releases everything with probability delta.

    Parameters
    ----------
    mu : float
        GDP parameter of the release, sensitivity over sigma, > 0; small is private.
    epsilon : float
        Where the privacy profile is read, nats, >= 0.
    delta : float
        The additive slack of the contract (epsilon, delta), and the probability with which the catastrophic
        mechanism releases everything; in (0, 1).
    leak : float
        Probability, in [0, 1), with which the Gaussian release hands out everything after all; 0 as claimed.
    """

    mu: float
    epsilon: float
    delta: float
    leak: float = 0.0


@dataclass(frozen=True)
class ProfileCurves:
    r"""The profile, the two densities, the outputs beyond epsilon and the attacker's rates; all exact but `allowed`.

    `floor` is the least probability that the figures show, `reach` the greatest epsilon.
    `profile` and `tail` are delta(epsilon) and P(loss > epsilon) over `losses`. `bell_with` and `bell_without` are
    p and e^epsilon q over `evidence`; beyond their crossing `tail_with` and `tail_without` repeat them over
    `tail_evidence`, with the excess between them. `counted` is how much the outputs beyond epsilon count in delta,
    1 − e^(epsilon − loss), over `shares` of them from the smallest loss to the largest. `tprs` and `catastrophic`
    are the largest true positive rates over `fprs`, `allowed` what (epsilon, delta) alone allows: a bound where
    `is_kept`. The `*_here` values belong to the epsilon that is read; `log_*` are natural logs.
    """

    reading: Reading
    floor: float
    reach: float
    losses: FloatArray
    profile: FloatArray
    tail: FloatArray
    evidence: FloatArray
    bell_with: FloatArray
    bell_without: FloatArray
    crossing: float
    tail_evidence: FloatArray
    tail_with: FloatArray
    tail_without: FloatArray
    shares: FloatArray
    counted: FloatArray
    fprs: FloatArray
    tprs: FloatArray
    catastrophic: FloatArray
    allowed: FloatArray
    log_delta_here: float
    log_tail_here: float
    log_fpr_here: float
    log_delta_at_twice: float
    advantage: float
    least_epsilon: float
    loss_at_delta: float

    @property
    def counted_here(self) -> float:
        """The share of P(loss > epsilon) that counts in delta(epsilon)."""
        return float(np.exp(self.log_delta_here - self.log_tail_here))

    @property
    def is_kept(self) -> bool:
        """Whether the release keeps the contract (epsilon, delta)."""
        return self.log_delta_here <= float(np.log(self.reading.delta))


def profile_curves(reading: Reading) -> ProfileCurves:
    r"""Return the curves of the profile page for one reading.

    For outputs with law P on one neighbour and Q on the other, and the privacy loss L = ln p/q,

    .. math:: \delta(\varepsilon) = \int \max(p - e^{\varepsilon} q, 0)
              = \mathbb{E}_P \max(1 - e^{\varepsilon - L}, 0) \le P(L > \varepsilon)

    For the Gaussian release L is N(mu²/2, mu²) under P. The catastrophic mechanism has an infinite loss with
    probability delta, and else none: its profile is delta at every epsilon >= 0.

    Parameters
    ----------
    reading : Reading
        The release, the epsilon at which it is read, and the delta of the contract.

    Returns
    -------
    ProfileCurves
        Arrays of one length within a figure's line.

    References
    ----------
    Balle and Wang (2018), Theorem 8, https://arxiv.org/abs/1805.06530; the expectation is elementary.

    Examples
    --------
    >>> curves = profile_curves(Reading(mu=0.25, epsilon=1.061, delta=1e-6))
    >>> curves.is_kept, round(curves.log_tail_here, 2), round(1 / curves.counted_here, 1)
    (True, -10.87, 19.1)
    """
    mu, epsilon, delta, leak = reading.mu, reading.epsilon, reading.delta, reading.leak
    start = epsilon / mu - mu / 2  # where the loss is epsilon, in standard deviations above the mean under P
    floor = _FLOORS[delta < _SMALL_DELTA]
    far = mu**2 / 2 - mu * float(ndtri(floor / 10))
    reach = round_up(max(float(gaussian_epsilon(floor, mu=mu)), 1.05 * epsilon))
    losses = np.append(np.linspace(0.0, far, _PROFILE_POINTS), max(far, reach))
    evidence = np.linspace(*EVIDENCE, _BELL_POINTS)
    fprs = np.geomspace(floor, 1.0, _RATE_POINTS)
    crossing = start + mu
    tail_evidence = np.linspace(min(max(crossing, EVIDENCE[0]), EVIDENCE[1]), EVIDENCE[1], _TAIL_POINTS)
    log_tail_here = _mixed(float(log_ndtr(-start)), leak)
    rest = max(delta - leak, 0.0) / (1 - leak)
    return ProfileCurves(
        reading=reading,
        floor=floor,
        reach=reach,
        losses=losses,
        profile=np.exp(_mixed(np.asarray(gaussian_log_delta(losses, mu=mu)), leak)),
        tail=np.exp(_mixed(log_ndtr(mu / 2 - losses / mu), leak)),
        evidence=evidence,
        bell_with=(1 - leak) * _bell(evidence - mu, 0.0),
        bell_without=(1 - leak) * _bell(evidence, epsilon),
        crossing=crossing,
        tail_evidence=tail_evidence,
        tail_with=(1 - leak) * _bell(tail_evidence - mu, 0.0),
        tail_without=(1 - leak) * _bell(tail_evidence, epsilon),
        shares=_SHARES,
        counted=_counted(reading, start, log_tail_here),
        fprs=fprs,
        tprs=leak + (1 - leak) * np.asarray(gaussian_tpr(np.minimum(fprs / (1 - leak), 1.0), mu=mu)),
        catastrophic=np.minimum(delta + fprs, 1.0),
        allowed=_allowed(fprs, epsilon, delta),
        log_delta_here=_mixed(float(gaussian_log_delta(epsilon, mu=mu)), leak),
        log_tail_here=log_tail_here,
        log_fpr_here=float(log_ndtr(-crossing) + np.log1p(-leak)),
        log_delta_at_twice=_mixed(float(gaussian_log_delta(2 * epsilon, mu=mu)), leak),
        advantage=float(np.exp(_mixed(float(gaussian_log_delta(0.0, mu=mu)), leak))),
        least_epsilon=float(gaussian_epsilon(rest, mu=mu)) if delta >= leak else np.inf,
        loss_at_delta=mu**2 / 2 - mu * float(ndtri(rest)) if delta > leak else np.inf,
    )


def _mixed(log_value: _N, leak: float) -> _N:
    """Return the log of leak + (1 − leak) exp(log_value): what holds once everything leaves with probability leak."""
    mixed: _N = np.logaddexp(np.log(leak), np.log1p(-leak) + log_value) if leak > 0 else log_value
    return mixed


def _counted(reading: Reading, start: float, log_tail_here: float) -> FloatArray:
    """Return 1 − e^(epsilon − loss) at each of the shares of the outputs beyond epsilon; 1 where the loss is infinite.

    The Gaussian outputs come first; the share that `leak` has of the outputs beyond epsilon comes last.
    """
    finite = 1 - float(np.exp(np.log(reading.leak) - log_tail_here)) if reading.leak > 0 else 1.0
    with np.errstate(divide="ignore"):
        left = np.log1p(-np.minimum(_SHARES / finite, 1.0))
    loss_beyond = reading.mu * (-ndtri_exp(log_ndtr(-start) + left) - start)
    return np.asarray(-np.expm1(-np.maximum(loss_beyond, 0.0)))


def _allowed(fpr: FloatArray, epsilon: float, delta: float) -> FloatArray:
    """Return 1 − f at each rate, for the trade-off function f of (epsilon, delta); a small one keeps its digits.

    Dong, Roth and Su (2022), Proposition 2.4.
    """
    steep = delta + np.exp(epsilon) * fpr
    flat = -np.expm1(-epsilon) + np.exp(-epsilon) * (delta + fpr)
    return np.asarray(np.minimum(np.minimum(steep, flat), 1.0))


def _bell(distance: FloatArray, log_factor: float) -> FloatArray:
    return np.asarray(np.exp(log_factor - np.square(distance) / 2) / np.sqrt(2 * np.pi))
