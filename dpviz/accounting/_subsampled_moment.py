"""Moments of the privacy loss of the Poisson-subsampled Gaussian, of real and of complex order, 0 < q < 1.

In P the loss has mean-one e^{−L}, so M(t) − 1 = E_P[E₂(tL) + t E₂(−L)] with E₂(u) = e^u − 1 − u: for real orders
all terms have one sign, and log M keeps its digits where it is tiny.
"""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._law import ComplexArray
from dpviz.accounting._subsampled_panels import POINTS, REACH, WEIGHTS, Pair, excess, panels

_DEPTH = 44.0  # the trapezoid rule's error is e^−44 of the integrand
_ROOT_TWO_PI = np.sqrt(2 * np.pi)
_CLEAR = 60.0  # e^−60 beside 1 is nothing
_OCTAVES = 2  # orders within a factor of 4 share one split of the losses into small and large
_TERMS = 22  # of the series of E₂ at |u| <= 1.5
_SMALL = 1.5
_TINIEST = 1e-160  # an order whose square is nothing


def log_moment_rate(pair: Pair, order: FloatArray) -> FloatArray:
    """Return log(E_P e^{tL})/t for real orders t >= −1/2; at t = 0 its limit, the mean of L."""
    rate = np.empty_like(order)
    is_split = _is_split(pair, order)
    is_high = ~is_split & _is_high(pair, order)
    rest = ~(is_split | is_high)
    for part, formula in ((is_split, _split_rate), (is_high, _high_rate), (rest, _quadrature_rate)):
        if part.any():
            rate[part] = formula(pair.of(part), order[part])
    return rate


def log_moment_line(pair: Pair, order: ComplexArray) -> ComplexArray:
    """Return log E_P e^{zL} for complex orders z on one line Re z = c >= −1/2; the pair has one entry."""
    tilt = order.real[:1]
    if _is_split(pair, tilt)[0]:
        return _split_log_moment(pair, order)
    x, step = _line_nodes(pair, tilt, float(np.abs(order.imag).max()))
    ratio = pair.log_ratio(x)
    loss = pair.loss(ratio)
    with np.errstate(under="ignore"):
        log_weight = np.log(step / (pair.noise * _ROOT_TWO_PI)) + pair.log_density(x, ratio)
        scale = max(0.0, float(np.max(log_weight + tilt * loss)))
        shift, rest = excess(loss, np.zeros_like(loss))
        mean = np.sum(np.exp(log_weight + shift - scale) * rest)
        by_size = np.argsort(np.abs(loss))
        total = _sum_of_rests(order, loss[by_size], log_weight[by_size], scale) + order * mean
    return scale + _log1p(total) if scale == 0 else scale + _log(np.exp(-scale) + total)


def _is_split(pair: Pair, order: FloatArray) -> BoolArray:
    """Return where N0 and N1 lie so far apart that r is 1 − q all over the one and q e^w all over the other."""
    shift = np.log(pair.probability) - np.log1p(-pair.probability)
    with np.errstate(over="ignore", divide="ignore"):
        room = 0.5 - REACH * pair.noise
        gap = room / pair.noise / pair.noise - np.log1p(np.maximum(order, 0))
    # below order 0 the tilted N1 stands between the two, but is as small as e^{−1/8σ²}
    split: BoolArray = np.where(order >= 0, gap, gap / 4) - np.abs(shift) > _CLEAR
    return split


def _split_rate(pair: Pair, order: FloatArray) -> FloatArray:
    none, log_probability = np.log1p(-pair.probability), np.log(pair.probability)
    if not pair.is_remove:
        return -none
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        slope = log_probability + (1 + order) / 2 / pair.noise / pair.noise
        is_far = order * slope > 600
        far = slope + log_probability / np.where(is_far, order, 1.0)
        inner = np.where(is_far | (order == 0), 1.0, order)
        power = np.where(is_far, 0.0, inner * slope)
        total = (1 - pair.probability) * np.expm1(inner * none) + pair.probability * np.expm1(power)
        mean = (1 - pair.probability) * none + pair.probability * slope
        return np.where(is_far, far, np.where(order == 0, mean, np.log1p(total) / inner))


def _split_log_moment(pair: Pair, order: ComplexArray) -> ComplexArray:
    none, log_probability = np.log1p(-pair.probability), np.log(pair.probability)
    if not pair.is_remove:
        return -none * order
    power = order * (log_probability + (1 + order) / 2 / pair.noise / pair.noise)
    is_far = power.real > 600
    total = (1 - pair.probability) * np.expm1(order * none) + pair.probability * np.expm1(np.where(is_far, 0, power))
    return np.where(is_far, log_probability + power, _log1p(total))


def _is_high(pair: Pair, order: FloatArray) -> BoolArray:
    """Return where the order is so high that all of the moment comes from where r is q e^w."""
    if not pair.is_remove:
        return np.zeros(order.shape, dtype=np.bool_)
    variance = pair.variance
    shift = np.log(pair.probability) - np.log1p(-pair.probability)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        gap = (order + 0.5 - REACH * pair.noise) / variance + shift - np.log1p(np.maximum(order, 0))
        log_moment = order * (np.log(pair.probability) * (1 + 1 / order) + (1 + order) / 2 / pair.noise / pair.noise)
    high: BoolArray = (order > 0) & (gap > _CLEAR) & (log_moment > 2 * _CLEAR + variance)
    return high


def _high_rate(pair: Pair, order: FloatArray) -> FloatArray:
    log_probability = np.log(pair.probability)
    with np.errstate(over="ignore"):
        return (1 + order) / 2 / pair.noise / pair.noise + (log_probability + log_probability / order)


def _quadrature_rate(pair: Pair, order: FloatArray) -> FloatArray:
    owner, middle, half = panels(pair, order)
    of = np.repeat(owner, POINTS.size)
    x = (middle[:, None] + half[:, None] * POINTS).ravel()
    each = pair.of(of)
    ratio = each.log_ratio(x)
    shift, rest = excess(each.loss(ratio), order[of])
    log_scale = each.log_density(x, ratio) + shift
    top = np.full(order.shape, -np.inf)
    np.maximum.at(top, of, log_scale)
    with np.errstate(under="ignore"):
        terms = (half[:, None] * WEIGHTS).ravel() * np.exp(log_scale - top[of]) * rest
        total = np.bincount(of, terms, order.size) / (pair.noise * _ROOT_TWO_PI)
    return _rate(order, top, total)


def _rate(order: FloatArray, top: FloatArray, total: FloatArray) -> FloatArray:
    """Return log(1 + t e^top total)/t without overflow, e^top total at t = 0."""
    with np.errstate(under="ignore", over="ignore", divide="ignore"):
        log_size = np.log(np.abs(order)) + np.log(total) + top
        is_far = log_size > 30
        mean = total * np.exp(np.where(is_far, 0.0, top))
        is_tiny = log_size < -40  # log(1 + u) is u
        inner = np.where(is_tiny, 1.0, order)
        near = np.where(is_tiny, mean, np.log1p(np.where(is_far, 0.0, inner * mean)) / inner)
        return np.where(is_far, np.logaddexp(0, log_size) / inner, near)


def _line_nodes(pair: Pair, tilt: FloatArray, phase: float) -> tuple[FloatArray, float]:
    """Return the nodes and the step of a trapezoid rule for every order tilt ± iy, y <= phase.

    Its error is e^{growth − 2πη/step} for any η at which the integrand is analytic on |Im x| <= η, where growth says
    how much larger than on the real axis it becomes there; r has its zeros at η = πσ².
    """
    _, middle, half = panels(pair, tilt)
    ends = np.concatenate([middle - half, middle, middle + half])
    heights = np.linspace(0.0, 1.0, 25) * min(float(pair.noise[0]) * 12, 0.98 * np.pi * float(pair.noise[0]) ** 2)
    size = _log_size(pair, ends[:, None], heights, float(tilt[0]), phase).max(axis=0)
    needed = size[1:] - size[0] + _DEPTH + 2 * np.log1p(phase)
    step = float(np.max(2 * np.pi * heights[1:] / needed))
    x = step * np.arange(np.floor(ends.min() / step), np.ceil(ends.max() / step) + 1)
    order = np.argsort(middle)
    at = np.clip(np.searchsorted((middle - half)[order], x) - 1, 0, middle.size - 1)
    return x[np.abs(x - middle[order][at]) <= half[order][at] + step], step


def _log_size(pair: Pair, x: FloatArray, height: FloatArray, tilt: float, phase: float) -> FloatArray:
    """Return the log of a bound of the integrand's size at x + i·height, up to a constant.

    It comes from |E₂(u)| <= |u|² e^{max(Re u, 0)}/2.
    """
    variance = pair.variance
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_odds = (x - 0.5) / variance + np.log(pair.probability) - np.log1p(-pair.probability)
        far = np.log1p(-pair.probability) + np.maximum(log_odds, 0)
        ratio = np.exp(-np.maximum(log_odds, 0)) + np.exp(np.minimum(log_odds, 0) + 1j * height / variance)
        log_ratio = np.where(height == 0, pair.log_ratio(x), far + np.log(ratio))
        loss = log_ratio if pair.is_remove else -log_ratio
        power = np.maximum(np.maximum(tilt * loss.real + phase * np.abs(loss.imag), -loss.real), 0.0)
        density = (height * height - x * x) / (2 * variance) + (log_ratio.real if pair.is_remove else 0.0)
        size: FloatArray = density + power + 2 * np.log(np.abs(loss))
    return size


def _sum_of_rests(order: ComplexArray, loss: FloatArray, log_weight: FloatArray, scale: float) -> ComplexArray:
    """Return e^−scale Σ_j w_j E₂(z L_j); losses of rising size, orders of one real part.

    Where |z L| is small E₂ is its series, so that only the moments of those losses are needed; elsewhere e^{zL},
    as one matrix product where the orders are equally spaced.
    """
    size = np.abs(order)
    by_size = np.argsort(size, kind="stable")
    total = np.empty_like(order)
    start = 0
    while start < order.size:
        largest = size[by_size[start]] * 2**_OCTAVES if size[by_size[start]] else size[by_size[-1]] / 2**30
        stop = max(int(np.searchsorted(size[by_size], largest, side="right")), start + 1)
        block = by_size[start:stop]
        largest = float(size[block[-1]])
        cut = int(np.searchsorted(np.abs(loss) * largest, _SMALL, side="right"))
        total[block] = _series(order[block], loss[:cut], np.exp(log_weight[:cut] - scale), largest)
        total[block] += _direct(order[block], loss[cut:], log_weight[cut:], scale)
        start = stop
    return total


def _series(order: ComplexArray, loss: FloatArray, weight: FloatArray, largest: float) -> ComplexArray:
    """Return Σ_j w_j E₂(z L_j) by its series, |z| <= largest."""
    if not loss.size or largest < _TINIEST:
        return np.zeros_like(order)
    scaled, part, total = loss * largest, order / largest, np.zeros_like(order)
    moments, power = [], weight * scaled
    for n in range(2, _TERMS + 2):
        power = power * scaled / n
        moments.append(np.sum(power))
    for moment in reversed(moments):
        total = total * part + moment
    return total * part * part


def _direct(order: ComplexArray, loss: FloatArray, log_weight: FloatArray, scale: float) -> ComplexArray:
    """Return e^−scale Σ_j w_j (e^{z L_j} − 1 − z L_j)."""
    if not loss.size:
        return np.zeros_like(order)
    weight = np.exp(log_weight - scale)
    tilted = np.exp(log_weight + order.real[0] * loss - scale)
    total: ComplexArray = _turned_sum(order.imag, loss, tilted) - np.sum(weight) - order * np.sum(weight * loss)
    return total


def _turned_sum(phase: FloatArray, loss: FloatArray, weight: FloatArray) -> ComplexArray:
    """Return Σ_j w_j e^{iyL_j} for each phase y."""
    step = (phase[-1] - phase[0]) / max(phase.size - 1, 1)
    steps = np.arange(phase.size)
    slip = np.abs(phase - (phase[0] + steps * step)).max()
    if phase.size < 16 or slip > 4 * np.spacing(np.abs(phase).max()):
        result: ComplexArray = np.exp(1j * phase[:, None] * loss) @ weight
        return result
    width = int(np.sqrt(phase.size))
    coarse = phase[0] + step * steps[::width]
    fine = step * steps[:width]
    product = (np.exp(1j * coarse[:, None] * loss) * weight) @ np.exp(1j * loss[:, None] * fine)
    total: ComplexArray = product.ravel()[: phase.size]
    return total


def _log(x: ComplexArray) -> ComplexArray:
    with np.errstate(divide="ignore"):
        result: ComplexArray = np.log(x)
    return result


def _log1p(x: ComplexArray) -> ComplexArray:
    """Return log(1 + x), accurate beside |x|; numpy's own forms 1 + x."""
    size = x.real * (2 + x.real) + x.imag * x.imag
    is_near = size > -0.5
    turned = np.arctan2(x.imag, 1 + x.real)
    return np.where(is_near, 0.5 * np.log1p(np.where(is_near, size, 0.0)) + 1j * turned, _log(1 + x))
