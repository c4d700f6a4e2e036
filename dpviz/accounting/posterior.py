"""Posterior sampling as a mechanism: release one draw from the posterior of a parameter.

It is the exponential mechanism with the log likelihood as utility, so what counts is how far one record moves the
log likelihood, not how flat the prior is. Neighbours differ in one record's value (REPLACE_ONE) throughout.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaln, gammaln

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._divergence import entropy_excess

_NODES = np.arange(-3.7, 3.2, 1 / 24)
_SCALE = np.exp(np.pi / 2 * np.sinh(_NODES))
_WEIGHT = _SCALE * np.cosh(_NODES) * np.pi / 48
"""A double exponential rule for the half line: ∫ f(x) dx = Σ f(scale) · weight."""
_WIDE, _LARGE, _LARGEST_PRIOR = 0.5, 12.0, 1e100
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def posterior_sampling_epsilon(log_ratio_bound: npt.ArrayLike) -> Numbers:
    r"""Return the pure guarantee of releasing one posterior draw; a bound.

    .. math:: \varepsilon = 2c, \qquad c = \sup_{\theta, x, x'} |\ln p(x|\theta) - \ln p(x'|\theta)|

    The likelihood moves by at most c at each parameter, and its normaliser by at most c again. A likelihood with
    \|ln p\| <= B has c <= 2B. A flat prior helps nothing: with c = inf the draw is not pure DP under any prior.

    Parameters
    ----------
    log_ratio_bound : array_like
        The bound c over parameters and values of the replaced record (REPLACE_ONE), nats, >= 0; inf gives inf.

    Returns
    -------
    float or ndarray
        Epsilon in nats.

    Raises
    ------
    DomainError
        If a bound is out of its range.

    References
    ----------
    Wang, Fienberg and Smola (2015), Theorem 1; Dimitrakakis, Nelson, Mitrokotsa and Rubinstein (2014).
    https://arxiv.org/abs/1502.07645

    Examples
    --------
    >>> posterior_sampling_epsilon(0.5)
    1.0
    """
    bound = check.at_least("log_ratio_bound", log_ratio_bound, 0, infinite=True)
    with np.errstate(over="ignore"):
        return plain(2 * bound)


def tempering_power(epsilon: npt.ArrayLike, *, log_ratio_bound: npt.ArrayLike) -> Numbers:
    r"""Return the power of the likelihood at which one posterior draw is epsilon-DP; a bound: more could do.

    .. math:: \tau = \min\Bigl(1, \frac{\varepsilon}{2c}\Bigr)

    Parameters
    ----------
    epsilon : array_like
        Pure guarantee, nats, >= 0; 0 gives 0, a draw from the prior.
    log_ratio_bound : array_like
        The bound c of `posterior_sampling_epsilon` (REPLACE_ONE), nats, >= 0; inf gives 0.

    Returns
    -------
    float or ndarray
        Power in [0, 1], rounded so that `posterior_sampling_epsilon` of power · c is never above epsilon.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Wang, Fienberg and Smola (2015), Section 3. https://arxiv.org/abs/1502.07645

    Examples
    --------
    >>> tempering_power(0.5, log_ratio_bound=1.0)
    0.25
    """
    loss = check.at_least("epsilon", epsilon, 0)
    bound = check.at_least("log_ratio_bound", log_ratio_bound, 0, infinite=True)
    half = loss / 2
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        power = np.where(half >= bound, 1.0, half / bound)
        power = np.where((power < 1) & (power * bound > half), np.nextafter(power, 0.0), power)
    return plain(np.where(np.isinf(bound), 0.0, power))


def beta_posterior_delta(
    epsilon: npt.ArrayLike,
    *,
    ones: npt.ArrayLike,
    zeros: npt.ArrayLike,
    prior_ones: npt.ArrayLike = 1.0,
    prior_zeros: npt.ArrayLike = 1.0,
) -> Numbers:
    r"""Return the privacy profile of one draw from a Beta posterior of a Bernoulli rate; exact.

    With A, B the prior's parameters plus the other records' ones and zeros, the last record makes the posterior
    Beta(A + 1, B) or Beta(A, B + 1), whose density ratio :math:`\frac{B}{A}\,\frac{\theta}{1 - \theta}` has no
    bound: no epsilon has delta 0. For one record and the uniform prior it is
    :math:`\delta(\varepsilon) = 1/(1 + e^{\varepsilon})`.

    Parameters
    ----------
    epsilon : array_like
        Privacy loss bounds in nats, >= 0; inf gives 0.
    ones, zeros : array_like
        How many of the other records are 1 and 0, whole numbers >= 0.
    prior_ones, prior_zeros : array_like
        Parameters of the Beta prior, > 0 and at most 1e100; 1 and 1 is the uniform prior.

    Returns
    -------
    float or ndarray
        Delta in [0, 1] for these other records under REPLACE_ONE, in the worse of the two directions; good to about
        1e-15 times the root of the number of records, relative.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Dimitrakakis, Nelson, Mitrokotsa and Rubinstein (2014), on Beta and Bernoulli; the integral of (p − e^ε q)₊.
    https://arxiv.org/abs/1306.1066

    Examples
    --------
    >>> beta_posterior_delta([1.0, 5.0], ones=0, zeros=0).round(6)
    array([0.268941, 0.006693])
    """
    loss = check.at_least("epsilon", epsilon, 0, infinite=True)
    most = 2**40
    up = _parameter("prior_ones", prior_ones) + check.whole("ones", ones, 0, most)
    down = _parameter("prior_zeros", prior_zeros) + check.whole("zeros", zeros, 0, most)
    all_three = np.broadcast_arrays(np.where(np.isinf(loss), 0.0, loss), up, down)
    flat = [np.ravel(each) for each in all_three]
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        found = np.maximum(_one_way(flat[0], flat[1], flat[2]), _one_way(flat[0], flat[2], flat[1]))
    return plain(np.where(np.isinf(loss), 0.0, found.reshape(all_three[0].shape)))


def beta_posterior_mean_risk(
    records: npt.ArrayLike, *, prior_ones: npt.ArrayLike = 1.0, prior_zeros: npt.ArrayLike = 1.0
) -> Numbers:
    r"""Return the Bayes risk of the posterior mean of a Bernoulli rate, in squared error; exact, the least there is.

    .. math:: \frac{ab}{(a + b)(a + b + 1)(a + b + n)}

    Parameters
    ----------
    records : array_like
        Number n of records, a whole number >= 0.
    prior_ones, prior_zeros : array_like
        Parameters a and b of the Beta prior, > 0.

    Returns
    -------
    float or ndarray
        Expected squared error over prior and data.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the expected variance of the posterior Beta(a + ones, b + zeros).

    Examples
    --------
    >>> round(beta_posterior_mean_risk(10), 6)
    0.013889
    """
    rows = check.whole("records", records, 0)
    up, down = check.positive("prior_ones", prior_ones), check.positive("prior_zeros", prior_zeros)
    with np.errstate(over="ignore", under="ignore"):
        total = up + down
        return plain(up / total * (down / (total + 1)) / (total + rows))


def beta_posterior_draw_risk(
    records: npt.ArrayLike, *, prior_ones: npt.ArrayLike = 1.0, prior_zeros: npt.ArrayLike = 1.0
) -> Numbers:
    """Return the Bayes risk of one posterior draw of a Bernoulli rate, in squared error: exactly twice the least.

    The draw and the true rate are independent given the data, with one law: E (θ' − θ)² is twice its variance. That
    holds for every model. So a posterior draw is private at a price, and no optimal trade-off.

    Parameters
    ----------
    records : array_like
        Number n of records, a whole number >= 0.
    prior_ones, prior_zeros : array_like
        Parameters a and b of the Beta prior, > 0.

    Returns
    -------
    float or ndarray
        Expected squared error over prior, data and draw; twice `beta_posterior_mean_risk`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Elementary: the variance of the difference of two independent draws.

    Examples
    --------
    >>> round(beta_posterior_draw_risk(10), 6)
    0.027778
    """
    return plain(2 * np.asarray(beta_posterior_mean_risk(records, prior_ones=prior_ones, prior_zeros=prior_zeros)))


def _parameter(name: str, value: npt.ArrayLike) -> FloatArray:
    given = check.positive(name, value)
    if np.any(given > _LARGEST_PRIOR):
        raise DomainError(name, f"at most {_LARGEST_PRIOR:g}", float(np.max(given)))
    return given


def _one_way(epsilon: FloatArray, up: FloatArray, down: FloatArray) -> FloatArray:
    """Return delta of P = Beta(A + 1, B) against Q = Beta(A, B + 1), for flat arrays.

    With w = logit θ the loss is w + ln(B/A); let it be epsilon at w₀. Where the loss varies by more than 1/2 beyond
    w₀, the tails of P and Q are far enough apart to be subtracted; else the difference itself is integrated.
    """
    start = epsilon + (np.log(up) - np.log(down))
    log_rest, log_rate = -np.logaddexp(0.0, start), -np.logaddexp(0.0, -start)
    total = up + 1 + down
    slope = np.abs(down - total * np.exp(log_rest))
    width = 1 / np.maximum(slope, np.sqrt((up + 1) / total * down))
    result, wide = np.empty_like(start), width > _WIDE
    for part, rule in ((wide, _subtracted), (~wide, _integrated)):
        if part.any():
            result[part] = rule(epsilon[part], up[part], down[part], log_rate[part], log_rest[part], width[part])
    return np.asarray(np.clip(result, 0.0, 1.0))


def _subtracted(
    epsilon: FloatArray, up: FloatArray, down: FloatArray, log_rate: FloatArray, log_rest: FloatArray, _: FloatArray
) -> FloatArray:
    """Return P(w > w₀) − e^ε Q(w > w₀); far out by its first term."""
    rate, rest = np.exp(log_rate), np.exp(log_rest)
    near = np.where(rate < 0.5, betaincc(up + 1, down, rate), betainc(down, up + 1, rest))
    other = np.where(rate < 0.5, betaincc(up, down + 1, rate), betainc(down + 1, up, rest))
    is_far = log_rest < -40
    far = down * log_rest - np.log(down + 1) - _log_beta(up + 1, down) - np.log(down)
    return np.asarray(np.where(is_far, np.exp(far), near - np.exp(np.minimum(epsilon, 600.0)) * other))


def _integrated(
    epsilon: FloatArray, up: FloatArray, down: FloatArray, log_rate: FloatArray, log_rest: FloatArray, width: FloatArray
) -> FloatArray:
    """Return p(w₀) ∫ p(w₀ + x)/p(w₀) (1 − e^{−x}) dx over x > 0."""
    rate, total, place = np.exp(log_rate), up + 1 + down, width * _SCALE[:, None]
    grown = np.log1p(np.minimum(rate, 0.5) * np.expm1(np.minimum(place, 30.0)))
    grown = np.where(place < 30, grown, place + np.log(np.minimum(rate, 0.5) + np.exp(log_rest - place)))
    shrunk = np.log1p(np.exp(np.minimum(log_rest, -0.5)) * np.expm1(-place))
    fall = np.where(rate < 0.5, (up + 1) * place - total * grown, -down * place - total * shrunk)
    integral = (np.exp(fall) * -np.expm1(-place) * _WEIGHT[:, None]).sum(axis=0) * width
    return np.asarray(np.exp(_log_top(epsilon, up, down, log_rate, log_rest)) * integral)


def _log_top(
    epsilon: FloatArray, up: FloatArray, down: FloatArray, log_rate: FloatArray, log_rest: FloatArray
) -> FloatArray:
    """Return log p(w₀), whose terms cancel where A and B are large: there by Stirling and the relative entropy."""
    high, total = up + 1, up + 1 + down
    direct = high * log_rate + down * log_rest - _log_beta(high, down)
    shrink = np.exp(-epsilon)
    gap = down / total * ((shrink + up * np.expm1(-epsilon)) / (down * shrink + up))
    apart = entropy_excess(high / total, np.exp(log_rate), gap)
    apart = apart + entropy_excess(down / total, np.exp(np.maximum(log_rest, -700.0)), -gap)
    error = _stirling_error(total) - _stirling_error(high) - _stirling_error(down)
    smooth = error + (np.log(high / total) + np.log(down / (2 * np.pi))) / 2 - total * apart
    return np.asarray(np.where(np.minimum(high, down) >= _LARGE, smooth, direct))


def _log_beta(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the log of the beta function; where one argument is large, without the logs of two large factorials."""
    more, less = np.maximum(first, second), np.minimum(first, second)
    total = more + less
    ratio = less - less * np.log(total) + (more - 0.5) * np.log1p(-less / total)
    ratio = ratio + _stirling_error(more) - _stirling_error(total)
    return np.asarray(np.where(more < _LARGE, betaln(first, second), gammaln(less) + ratio))


def _stirling_error(x: FloatArray) -> FloatArray:
    """Return ln Γ(x) − (x − 1/2) ln x + x − ln(2π)/2 for x >= 12; any number below."""
    square = 1 / np.maximum(x, _LARGE) ** 2
    series = np.zeros_like(square)
    for coefficient in reversed(_STIRLING):
        series = coefficient + square * series
    return np.asarray(series / np.maximum(x, _LARGE))
