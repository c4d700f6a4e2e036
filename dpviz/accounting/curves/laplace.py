"""One Laplace release: densities under two neighbours, their log ratio, and what it does to odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from dpviz.accounting.laplace import calibrate_laplace
from dpviz.accounting.laplace_noise import laplace_density, laplace_log_ratio
from dpviz.accounting.scales import round_up

FloatArray = npt.NDArray[np.float64]

_EVEN = np.linspace(-1.0, 1.0, 121)
_AROUND = np.array([0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12])  # in scales, on both sides of a peak
_PRIORS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class LaplaceClaim:
    """A Laplace release whose noise was set for one sensitivity, and what one person really changes.

    Parameters
    ----------
    epsilon : float
        Claimed privacy loss bound, nats, > 0.
    sensitivity : float
        Claimed L1 sensitivity, query units, > 0; the noise has scale sensitivity/epsilon.
    change : float
        How far apart the two neighbours' true answers really are, query units, > 0.
    output : float
        The released value that is looked at, measured from the answer without the person, query units.
    """

    epsilon: float
    sensitivity: float
    change: float
    output: float

    @property
    def is_kept(self) -> bool:
        """Whether the true change is within the claimed sensitivity, so that the claim holds."""
        return self.change <= self.sensitivity


@dataclass(frozen=True)
class LaplaceCurves:
    """The two densities and their log ratio over `outputs`; posterior over `priors`.

    The person's record moves the true answer from 0 to `claim.change`; `log_ratio` is ln p(with)/p(without).
    Outputs run from -`reach` to `reach`; `is_in_view` says whether the output looked at is among them. `real_epsilon`
    is the largest absolute log ratio over all outputs, exactly.
    """

    claim: LaplaceClaim
    scale: float
    reach: float
    outputs: FloatArray
    density_without: FloatArray
    density_with: FloatArray
    log_ratio: FloatArray
    log_ratio_here: float
    is_in_view: bool
    densities_here: tuple[float, float]
    real_epsilon: float
    priors: FloatArray
    posterior: FloatArray
    posterior_low: FloatArray
    posterior_high: FloatArray


def laplace_curves(claim: LaplaceClaim) -> LaplaceCurves:
    """Return the curves of the Laplace page for one claim.

    Examples
    --------
    >>> curves = laplace_curves(LaplaceClaim(epsilon=1.0, sensitivity=1.0, change=2.0, output=4.0))
    >>> round(float(np.exp(curves.log_ratio_here)), 2), curves.real_epsilon
    (7.39, 2.0)
    """
    scale = calibrate_laplace(claim.epsilon, sensitivity=claim.sensitivity)
    reach = round_up(max(4.2 * scale, 1.4 * claim.change), coarse=True)
    outputs = _outputs(claim, scale, reach)
    ends = {"location": claim.change, "other": 0.0, "scale": scale}
    here = laplace_log_ratio(claim.output, **ends)
    return LaplaceCurves(
        claim=claim,
        scale=scale,
        reach=reach,
        outputs=outputs,
        density_without=laplace_density(outputs, location=0.0, scale=scale),
        density_with=laplace_density(outputs, location=claim.change, scale=scale),
        log_ratio=laplace_log_ratio(outputs, **ends),
        log_ratio_here=here,
        is_in_view=abs(claim.output) <= reach,
        densities_here=(
            laplace_density(claim.output, location=0.0, scale=scale),
            laplace_density(claim.output, location=claim.change, scale=scale),
        ),
        real_epsilon=claim.change / scale,
        priors=_PRIORS,
        posterior=_posterior(here),
        posterior_low=_posterior(-claim.epsilon),
        posterior_high=_posterior(claim.epsilon),
    )


def _outputs(claim: LaplaceClaim, scale: float, reach: float) -> FloatArray:
    """Return outputs over the axis, denser around the two peaks, always the same number of them."""
    near = np.concatenate([-_AROUND[:0:-1], _AROUND]) * scale
    every = np.concatenate([_EVEN * reach, near, claim.change + near])
    return np.sort(every.clip(-reach, reach))


def _posterior(log_ratio: float) -> FloatArray:
    """Return the posterior over all priors when the odds are multiplied by exp(log_ratio)."""
    return np.asarray(expit(logit(_PRIORS) + log_ratio))
