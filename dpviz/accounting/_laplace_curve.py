"""Profile, its inverse and trade-off curve of k Laplace releases of pure epsilon s, from the tails of their loss.

Flat arrays in; each function returns its number and the bound of its error (of the log of delta; 0 for beta).
"""

from __future__ import annotations

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._laplace_tails import Tail, loss_at, read, read_at, solve


def log_delta(epsilon: FloatArray, s: float, k: int) -> tuple[FloatArray, FloatArray]:
    """Return log delta and the bound of its error; below 0 from delta(−ε) = 1 − e^−ε + e^−ε delta(ε)."""
    log_delta, error = np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)
    size = np.abs(epsilon)
    inner = (size <= k * s) & (k * s > 0)
    if inner.any():
        found = read(Tail.DELTA, size[inner], s, k)
        log_delta[inner], error[inner] = np.minimum(found.log_value, 0.0), found.error
    is_below = epsilon < 0
    with np.errstate(divide="ignore", under="ignore"):
        rest = np.log(-np.expm1(-size[is_below]))
        log_delta[is_below] = np.logaddexp(rest, log_delta[is_below] - size[is_below])
    error[is_below] += 1e-15
    return log_delta, error


def epsilon(delta: FloatArray, s: float, k: int) -> tuple[FloatArray, FloatArray]:
    """Return epsilon; where it comes out within a cell of 0, delta(0) decides whether it is 0."""
    epsilon, error = np.zeros(delta.shape), np.zeros(delta.shape)
    inner = (delta > 0) & (delta < 1) & (k * s > 0)
    epsilon[delta == 0] = k * s
    if inner.any():
        log_delta = np.log(delta[inner])
        cell, down, _ = solve(Tail.DELTA, log_delta, s, k)
        found = np.clip(loss_at(cell, down, s, k), 0.0, k * s)
        near = found <= s
        if near.any():
            found[near & (log_delta >= read(Tail.DELTA, np.zeros(1), s, k).log_value)] = 0.0
        epsilon[inner] = found
    return epsilon, error


def beta(alpha: FloatArray, s: float, k: int) -> tuple[FloatArray, FloatArray]:
    """Return beta: from Q's tail where alpha is at most 1/2, beyond from P's tail, which is 1 − alpha."""
    if s == 0 or k == 0:
        return 1 - alpha, np.zeros(alpha.shape)
    beta = np.where(alpha == 0, 1.0, 0.0)
    left, right = (alpha > 0) & (alpha <= 0.5), (alpha > 0.5) & (alpha < 1)
    if left.any():
        beta[left] = _left_beta(np.log(alpha[left]), s, k)
    if right.any():
        beta[right] = _right_beta(np.log1p(-alpha[right]), s, k)
    return beta, np.zeros(alpha.shape)


def _left_beta(log_alpha: FloatArray, s: float, k: int) -> FloatArray:
    """Return P(L ≤ ε) = Q(L ≥ −ε) at Q(L > ε) = alpha; on an atom P(L < ε) + e^ε (Q(L ≥ ε) − alpha)."""
    cell, down, is_atom = solve(Tail.LOWER, log_alpha, s, k)
    loss = loss_at(cell, down, s, k)
    with np.errstate(under="ignore"):
        beta: FloatArray = np.exp(read_at(Tail.LOWER, k - 1 - cell, 1 - down, s, k).log_value)
        closed = read_at(Tail.LOWER, cell, np.zeros(loss.shape), s, k).log_value
        part = -np.exp(loss + closed) * np.expm1(np.minimum(log_alpha - closed, 0.0))
        beta = np.minimum(beta + np.where(is_atom, part, 0.0), -np.expm1(log_alpha))
        high = beta > 0.5  # the line through the point, 1 − delta(ε) − e^ε alpha, is better where beta is near 1
        log_delta = read_at(Tail.DELTA, cell[high], down[high], s, k).log_value
        beta[high] = 1 - (np.exp(log_delta) + np.exp((loss + log_alpha)[high]))
    return beta


def _right_beta(log_rest: FloatArray, s: float, k: int) -> FloatArray:
    """Return Q(L > ε) at P(L > ε) = 1 − alpha; on an atom Q(L > ε) + e^−ε (1 − alpha − P(L > ε))."""
    cell, down, is_atom = solve(Tail.UPPER, log_rest, s, k)
    loss = loss_at(cell, down, s, k)
    beta, opened = np.zeros(loss.shape), np.full(loss.shape, -np.inf)
    is_below = (cell > 0) | ~is_atom  # above the greatest loss there is nothing
    before = np.where(is_atom, cell - 1, cell)[is_below], np.where(is_atom, 1.0, down)[is_below]
    with np.errstate(under="ignore"):
        beta[is_below] = np.exp(read_at(Tail.LOWER, *before, s, k).log_value)
        opened[is_below] = read_at(Tail.UPPER, *before, s, k).log_value
        part = np.exp(log_rest - loss) * -np.expm1(np.minimum(opened - log_rest, 0.0))
        total: FloatArray = np.minimum(beta + np.where(is_atom, part, 0.0), np.exp(log_rest))
    return total
