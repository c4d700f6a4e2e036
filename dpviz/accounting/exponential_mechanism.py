"""The exponential mechanism: choose an output with probability rising in its utility.

One rate c = epsilon/(2Δu) (epsilon/Δu if the utility is monotone) turns utilities into log odds. Between
neighbours the log odds of any two outputs then differ by at most epsilon ("bounded range"), which is more than
pure DP says: all of the profile, the trade-off curve and the Rényi divergences have closed forms.

The sensitivity is the most that any one output's utility changes under the neighbouring relation that the
caller declares.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._bounded_range import bounded_range_rdp, scaled
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._settle import settle_epsilon


@dataclass(frozen=True)
class ExponentialMechanism:
    r"""One output drawn with probability proportional to exp(c · utility).

    .. math:: c = \frac{\varepsilon_0}{2\Delta_u}, \text{ or } \frac{\varepsilon_0}{\Delta_u}
              \text{ for a monotone utility}

    `delta`, `epsilon`, `beta` and `rdp` are exact for the worst pair of utilities that the sensitivity allows, at
    each point for its own worst pair.

    Parameters
    ----------
    pure_epsilon : float
        The pure guarantee, nats, >= 0; 0 draws uniformly.
    sensitivity : float
        Sensitivity of the utility under the declared neighbouring relation, utility units, > 0.
    is_monotone : bool
        Whether one record's change moves all utilities in the same direction (none up while another goes down).

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    McSherry and Talwar (2007), Theorem 6. https://doi.org/10.1109/FOCS.2007.66

    Examples
    --------
    >>> chosen = ExponentialMechanism(pure_epsilon=2.0)
    >>> chosen.probabilities([0.0, -2.0, -2.0]).round(4), round(chosen.delta(1.0), 4)
    (array([0.787 , 0.1065, 0.1065]), 0.179)
    """

    pure_epsilon: float
    sensitivity: float = field(default=1.0, kw_only=True)
    is_monotone: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        loss = check.at_least("pure_epsilon", self.pure_epsilon, 0)
        object.__setattr__(self, "pure_epsilon", check.scalar("pure_epsilon", loss))
        change = check.positive("sensitivity", self.sensitivity)
        object.__setattr__(self, "sensitivity", check.scalar("sensitivity", change))
        if not isinstance(self.is_monotone, bool):
            raise TypeError(f"is_monotone must be True or False, but got {self.is_monotone!r}")

    def log_probabilities(self, utility: npt.ArrayLike) -> FloatArray:
        """Return the log probability of each output; exact.

        Parameters
        ----------
        utility : array_like, shape (..., outputs)
            Utility of each output, utility units, finite.

        Raises
        ------
        DomainError
            If a utility is not finite, or there is no output.

        References
        ----------
        McSherry and Talwar (2007), Definition 2.

        Examples
        --------
        >>> ExponentialMechanism(pure_epsilon=2.0).log_probabilities([0.0, -2000.0]).tolist()
        [0.0, -2000.0]
        """
        return _log_softmax(self._odds(_utilities("utility", utility)))

    def probabilities(self, utility: npt.ArrayLike) -> FloatArray:
        """Return the probability of each output; `log_probabilities` without the log."""
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(self.log_probabilities(utility)))

    def privacy_loss(self, utility: npt.ArrayLike, *, other: npt.ArrayLike) -> FloatArray:
        """Return ln of each output's probability under `utility` over that under `other`; exact.

        Its size is at most `pure_epsilon` if no utility differs by more than the sensitivity (and all differ in the
        same direction, if monotone).

        Parameters
        ----------
        utility, other : array_like, shape (..., outputs)
            Utilities of the outputs on two neighbours, utility units, finite.

        Raises
        ------
        DomainError
            If a utility is not finite, or there is no output.

        References
        ----------
        McSherry and Talwar (2007), Theorem 6.

        Examples
        --------
        >>> ExponentialMechanism(pure_epsilon=1.0).privacy_loss([1.0, 0.0], other=[0.0, 1.0]).tolist()
        [0.5, -0.5]
        """
        first, second = np.broadcast_arrays(_utilities("utility", utility), _utilities("other", other))
        moved = self._rate(first / 2 - second / 2)
        moved = moved - (moved.max(axis=-1, keepdims=True) + moved.min(axis=-1, keepdims=True)) / 2
        log_law = _log_softmax(self._odds(second))
        return np.asarray(moved - _log_mean_exp(moved, log_law))

    def miss_probability(self, shortfall: npt.ArrayLike, *, utility: npt.ArrayLike) -> Numbers:
        """Return the probability that the output's utility is below the best by more than `shortfall`; exact.

        Parameters
        ----------
        shortfall : array_like, shape (...)
            Distance from the best utility, >= 0.
        utility : array_like, shape (outputs,)
            Utility of each output, finite.

        Raises
        ------
        DomainError
            If an argument is out of its range.

        References
        ----------
        The sum of probabilities that `exponential_utility_bound` bounds; elementary.

        Examples
        --------
        >>> round(ExponentialMechanism(pure_epsilon=2.0).miss_probability(1.9, utility=[0.0, -2.0, -2.0]), 4)
        0.213
        """
        distance = check.at_least("shortfall", shortfall, 0)
        values = _utilities("utility", utility)
        if values.ndim != 1:
            raise TypeError(f"utility must be one list of numbers, but got an array of shape {values.shape}")
        order = np.argsort(values)
        below = np.concatenate([[0.0], np.cumsum(self.probabilities(values[order]))])
        fallen = values.max() - values[order]
        return plain(below[np.searchsorted(-fallen, -distance, side="left")])

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the privacy profile, the least delta for each epsilon >= 0; exact.

        .. math:: \delta(\varepsilon) = \frac{\bigl(e^{\varepsilon_0/2} - e^{\varepsilon/2}\bigr)^2}
                  {e^{\varepsilon_0} - 1} \quad (\varepsilon < \varepsilon_0)

        It is the largest over the pairs whose loss is t or t − ε₀, at t = (ε + ε₀)/2. At epsilon 0 it is
        tanh(ε₀/4), half of what pure DP alone would say for small ε₀.

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN; inf gives 0.

        References
        ----------
        Dong, Durfee and Rogers (2020), Section 3: bounded range and its worst pairs.
        https://arxiv.org/abs/1909.13830

        Examples
        --------
        >>> ExponentialMechanism(pure_epsilon=1.0).delta([0.0, 0.5, 1.0]).round(6)
        array([0.244919, 0.077405, 0.      ])
        """
        loss = check.at_least("epsilon", epsilon, 0, infinite=True)
        return plain(self._delta(loss))

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        r"""Return the least epsilon >= 0 for each delta in [0, 1]; exact, the inverse of `delta`.

        .. math:: \varepsilon(\delta) = \max\Bigl(0,\; \varepsilon_0
                  + 2\ln\bigl(1 - \sqrt{\delta\,(1 - e^{-\varepsilon_0})}\bigr)\Bigr)

        Raises
        ------
        DomainError
            If a delta is outside [0, 1] or NaN.

        References
        ----------
        The inverse of `delta`; Dong, Durfee and Rogers (2020), Section 3.

        Examples
        --------
        >>> round(ExponentialMechanism(pure_epsilon=1.0).epsilon(0.077405), 4)
        0.5
        """
        slack = check.probability("delta", delta)
        is_total = slack >= self._delta(np.zeros_like(slack))
        root = np.sqrt(slack * -np.expm1(-self.pure_epsilon))
        found = self.pure_epsilon + 2 * np.log1p(-np.where(is_total, 0.0, root))
        return plain(
            settle_epsilon(np.where(is_total, 0.0, np.maximum(found, 0.0)), slack, lambda near, _: self._delta(near))
        )

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        r"""Return the trade-off function, the least type II error for each type I error in [0, 1]; exact.

        .. math:: f(\alpha) = \frac{1 - \alpha}{1 + (e^{\varepsilon_0} - 1)\,\alpha}

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1] or NaN.

        References
        ----------
        The conjugate of `delta`: Dong, Roth and Su (2022), Proposition 2.12, and Dong, Durfee and Rogers (2020).

        Examples
        --------
        >>> ExponentialMechanism(pure_epsilon=1.0).beta([0.0, 0.5, 1.0]).round(6)
        array([1.      , 0.268941, 0.      ])
        """
        level = check.probability("alpha", alpha)
        with np.errstate(under="ignore"):
            shrink = np.exp(-self.pure_epsilon)
            below = level + shrink * (1 - level)
            return plain(np.where(level == 0, 1.0, shrink * (1 - level) / np.where(level == 0, 1.0, below)))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        r"""Return the largest Rényi divergence between neighbours; exact.

        .. math:: D_\alpha = \frac{\alpha S(\alpha h) - (\alpha - 1) S((\alpha - 1) h) - S(h)}{\alpha - 1},
                  \qquad S(x) = \ln\frac{\sinh x}{x}, \quad h = \varepsilon_0/2

        Order 1 is the Kullback-Leibler divergence, S(h) + h coth h − 1.

        Raises
        ------
        DomainError
            If an order is not finite or is below 1.

        References
        ----------
        Elementary calculus over the worst pairs of Dong, Durfee and Rogers (2020), Section 3; about α ε₀²/8,
        the zCDP constant of Cesar and Rogers (2021). https://arxiv.org/abs/2004.07223

        Examples
        --------
        >>> ExponentialMechanism(pure_epsilon=1.0).rdp([1.0, 2.0, 1e9]).round(6)
        array([0.123302, 0.240229, 1.      ])
        """
        return plain(bounded_range_rdp(check.at_least("order", order, 1), self.pure_epsilon / 2))

    def _delta(self, loss: FloatArray) -> FloatArray:
        gap = np.maximum(self.pure_epsilon - np.where(np.isinf(loss), self.pure_epsilon, loss), 0.0)
        share = -np.expm1(-self.pure_epsilon) if self.pure_epsilon > 0 else 1.0
        with np.errstate(under="ignore"):
            fall = np.expm1(-gap / 2)
            return np.asarray(fall * (fall / share))

    def _rate(self, half: FloatArray) -> FloatArray:
        """Return c · utility from half the utility, which no difference of two can take out of range."""
        divisor = self.sensitivity / 2 if self.is_monotone else self.sensitivity
        with np.errstate(over="ignore", under="ignore"):
            return scaled(np.float64(self.pure_epsilon), half, np.float64(divisor))

    def _odds(self, utility: FloatArray) -> FloatArray:
        """Return the log odds of each output against the best."""
        half = utility / 2
        return self._rate(half - half.max(axis=-1, keepdims=True))


def _utilities(name: str, utility: npt.ArrayLike) -> FloatArray:
    values = np.atleast_1d(check.finite(name, utility))
    if values.shape[-1] == 0:
        raise DomainError(name, "a list of at least one number", utility)
    return values


def _log_softmax(odds: FloatArray) -> FloatArray:
    """Return log probabilities from log odds against the best, whose own is 0."""
    best = odds.argmax(axis=-1)
    with np.errstate(under="ignore"):
        rest = np.exp(odds)
        np.put_along_axis(rest, np.expand_dims(best, -1), 0.0, axis=-1)
        return np.asarray(odds - np.log1p(rest.sum(axis=-1, keepdims=True)))


def _log_mean_exp(values: FloatArray, log_law: FloatArray) -> FloatArray:
    """Return ln E e^value over the last axis, kept as an axis; relative to itself where the values are small."""
    is_small = np.abs(values).max(axis=-1, keepdims=True) < 1
    with np.errstate(under="ignore"):
        excess = np.exp(log_law) * np.expm1(np.where(is_small, values, 0.0))
        logs = log_law + values
        top = logs.max(axis=-1, keepdims=True)
        far = top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True))
    return np.asarray(np.where(is_small, np.log1p(excess.sum(axis=-1, keepdims=True)), far))
