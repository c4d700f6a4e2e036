"""How good the choice of the exponential mechanism is: the probability of a bad output, exact and bounded.

An output is drawn with probability proportional to exp(epsilon · utility/(2Δu)). The sensitivity Δu is the most
that any one output's utility changes under the neighbouring relation that the caller declares.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._bounded_range import scaled
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain


def exponential_bad_mass(
    *,
    epsilon: npt.ArrayLike,
    bad_count: npt.ArrayLike,
    gap: npt.ArrayLike,
    sensitivity: npt.ArrayLike = 1.0,
) -> Numbers:
    r"""Return the probability of a bad output, among one optimum and `bad_count` outputs worse by `gap`; exact.

    .. math:: \frac{m\,e^{-x}}{1 + m\,e^{-x}}, \qquad x = \frac{\varepsilon\,\mathrm{gap}}{2\Delta_u}

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee of the mechanism, nats, >= 0.
    bad_count : array_like
        Number m of bad outputs, a whole number >= 0.
    gap : array_like
        Utility of the optimum less that of each bad output, >= 0.
    sensitivity : array_like
        Sensitivity of the utility under the declared neighbouring relation, utility units, > 0.

    Returns
    -------
    float or ndarray
        Probability in [0, 1); m/(m + 1) where epsilon or gap is 0.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    McSherry and Talwar (2007), Definition 2. https://doi.org/10.1109/FOCS.2007.66

    Examples
    --------
    >>> round(exponential_bad_mass(epsilon=2.0, bad_count=2, gap=2.0), 5)
    0.21301
    """
    loss = check.at_least("epsilon", epsilon, 0)
    bad = check.whole("bad_count", bad_count, 0)
    distance = check.at_least("gap", gap, 0)
    change = check.positive("sensitivity", sensitivity)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        weight = bad * np.exp(-scaled(loss, distance, 2 * change))
        return plain(weight / (1 + weight))


def exponential_utility_bound(
    shortfall: npt.ArrayLike,
    *,
    epsilon: npt.ArrayLike,
    output_count: npt.ArrayLike,
    optimum_count: npt.ArrayLike = 1,
    sensitivity: npt.ArrayLike = 1.0,
) -> Numbers:
    r"""Return an upper limit of the probability that the output's utility is below the best by more; a bound.

    .. math:: P(u < \mathrm{OPT} - t) \le \min\Bigl(1, \frac{|R|}{|R_\mathrm{opt}|}\,
              e^{-\varepsilon t/(2\Delta_u)}\Bigr)

    The factor \|R\|/\|R_opt\| cannot be left out: with three outputs, one best and two worse by 2, at epsilon 2,
    the probability of missing by more than 1.9 is 0.213, above e^{−1.9} = 0.150.

    Parameters
    ----------
    shortfall : array_like
        The distance t from the best utility, >= 0.
    epsilon : array_like
        Pure guarantee of the mechanism, nats, >= 0.
    output_count, optimum_count : array_like
        Number of outputs, and of those with the best utility; whole numbers >= 1.
    sensitivity : array_like
        Sensitivity of the utility under the declared neighbouring relation, utility units, > 0.

    Returns
    -------
    float or ndarray
        Probability in [0, 1].

    Raises
    ------
    DomainError
        If an argument is out of its range, or there are more optima than outputs.

    References
    ----------
    McSherry and Talwar (2007), Lemma 7; Dwork and Roth (2014), Theorem 3.11.
    https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(exponential_utility_bound(1.9, epsilon=2.0, output_count=3), 4)
    0.4487
    """
    distance = check.at_least("shortfall", shortfall, 0)
    loss = check.at_least("epsilon", epsilon, 0)
    change = check.positive("sensitivity", sensitivity)
    outputs, best = _counts(output_count, optimum_count)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        return plain(np.minimum(outputs / best * np.exp(-scaled(loss, distance, 2 * change)), 1.0))


def exponential_shortfall_bound(
    failure_probability: npt.ArrayLike,
    *,
    epsilon: npt.ArrayLike,
    output_count: npt.ArrayLike,
    optimum_count: npt.ArrayLike = 1,
    sensitivity: npt.ArrayLike = 1.0,
) -> Numbers:
    r"""Return how far below the best the output's utility can be but for a failure probability; a bound.

    .. math:: t = \frac{2\Delta_u}{\varepsilon}\Bigl(\ln\frac{|R|}{|R_\mathrm{opt}|} + \ln\frac1\beta\Bigr)

    Parameters
    ----------
    failure_probability : array_like
        Probability β of missing by more, in [0, 1]; 0 gives inf, and 1 gives 0 (nothing is promised).
    epsilon : array_like
        Pure guarantee of the mechanism, nats, >= 0; 0 gives inf.
    output_count, optimum_count : array_like
        Number of outputs, and of those with the best utility; whole numbers >= 1.
    sensitivity : array_like
        Sensitivity of the utility under the declared neighbouring relation, utility units, > 0.

    Returns
    -------
    float or ndarray
        Shortfall, utility units, >= 0; the inverse of `exponential_utility_bound`.

    Raises
    ------
    DomainError
        If an argument is out of its range, or there are more optima than outputs.

    References
    ----------
    Dwork and Roth (2014), Corollary 3.12. https://doi.org/10.1561/0400000042

    Examples
    --------
    >>> round(exponential_shortfall_bound(0.01, epsilon=1.0, output_count=1000), 3)
    23.026
    """
    chance = check.probability("failure_probability", failure_probability)
    loss = check.at_least("epsilon", epsilon, 0)
    change = check.positive("sensitivity", sensitivity)
    outputs, best = _counts(output_count, optimum_count)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        reach = np.log(outputs / best) - np.log(chance)
        shortfall = reach / loss * change * 2
    return plain(np.where((chance == 1) | (reach == 0), 0.0, shortfall))


def _counts(output_count: npt.ArrayLike, optimum_count: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    outputs, best = np.broadcast_arrays(
        check.whole("output_count", output_count, 1), check.whole("optimum_count", optimum_count, 1)
    )
    if np.any(best > outputs):
        raise DomainError("optimum_count", "a whole number from 1 to output_count", float(best[best > outputs][0]))
    return outputs, best
