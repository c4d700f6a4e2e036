"""Trade-off functions made of straight pieces: what finitely many tests or outputs lead to, exactly.

They are also how a curve from elsewhere comes in: what is no trade-off function is refused, and the point that
spoils it is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import BoolArray, DomainError, FloatArray, Numbers, plain
from dpviz.accounting._terms import times_exp

_ROUNDING = 8 * np.finfo(np.float64).eps
_SMALLEST = np.finfo(np.float64).tiny  # numbers below it have fewer digits
_SAME = 1e-12
_SUM_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class PiecewiseTradeoff:
    """A trade-off function given by its vertices, straight between them.

    It says what a test between two neighbours can reach: alpha is the probability of a false alarm, beta that of
    a miss. Under which neighbouring relation is for the caller to say.

    Parameters
    ----------
    alphas : array_like, shape (n,)
        Type I errors of the vertices, strictly rising from 0 to 1, n >= 2.
    betas : array_like, shape (n,)
        Type II errors, falling to 0 at alpha = 1 and convex, so never above 1 − alpha. A start below 1 says that
        some outputs give the person away. A departure that rounding explains (8 units in the last place) passes.

    Raises
    ------
    DomainError
        If it is no trade-off function; the value is the first vertex (alpha, beta) that spoils it.

    References
    ----------
    Dong, Roth and Su (2022), Proposition 2.2. https://arxiv.org/abs/1905.02383

    Examples
    --------
    >>> curve = PiecewiseTradeoff([0.0, 0.25, 1.0], betas=[1.0, 0.25, 0.0])
    >>> curve.beta([0.0, 0.125, 0.625])
    array([1.   , 0.625, 0.125])
    """

    alphas: FloatArray
    betas: FloatArray = field(kw_only=True)

    def __post_init__(self) -> None:
        alphas, betas = _points(self.alphas, self.betas)
        _require_tradeoff(alphas, betas)
        for name, values in (("alphas", alphas), ("betas", betas)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the least type II error at each type I error; exact between the vertices.

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1].

        References
        ----------
        Elementary: the weights of both vertices are >= 0, so that a small beta keeps its digits.
        """
        level = check.probability("alpha", alpha)
        right = np.clip(np.searchsorted(self.alphas, level, side="right"), 1, self.alphas.size - 1)
        start, end = self.alphas[right - 1], self.alphas[right]
        with np.errstate(under="ignore"):
            low, high = (end - level) / (end - start), (level - start) / (end - start)
            return plain(self.betas[right - 1] * low + self.betas[right] * high)

    def __call__(self, alpha: npt.ArrayLike) -> Numbers:
        """Return `beta`, so that the curve can stand wherever a trade-off function is asked for."""
        return self.beta(alpha)

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        r"""Return the privacy profile of the pair that has this curve; exact.

        .. math:: \delta(\varepsilon) = \max_i\; 1 - \beta_i - e^{\varepsilon}\alpha_i

        Parameters
        ----------
        epsilon : array_like
            Privacy loss bounds, nats, of any sign; the profile below 0 is what duality needs.

        Returns
        -------
        float or ndarray
            Delta in [0, 1], to 2e-16 of 1. The profile with the pair reversed is that of `inverse()`.

        Raises
        ------
        DomainError
            If an epsilon is NaN.

        References
        ----------
        Dong, Roth and Su (2022), Proposition 2.12, for finitely many vertices.

        Examples
        --------
        >>> round(PiecewiseTradeoff([0.0, 0.25, 1.0], betas=[1.0, 0.25, 0.0]).delta(0.0), 4)
        0.5
        """
        loss = check.at_least("epsilon", epsilon, -np.inf, infinite=True)
        vertex = np.searchsorted(-self._log_slopes(), -loss, side="left")
        missed = 1 - self.betas[vertex]
        return plain(np.maximum(missed - times_exp(self.alphas[vertex], loss), 0.0))

    def inverse(self) -> PiecewiseTradeoff:
        """Return the curve with the two hypotheses exchanged: beta ↦ the least alpha; exact.

        References
        ----------
        Dong, Roth and Su (2022), Equation (5): the inverse of T(P, Q) is T(Q, P).
        """
        return convex_minorant(self.betas, beta=self.alphas)

    def symmetrized(self) -> PiecewiseTradeoff:
        r"""Return the largest symmetric trade-off function below this one and its inverse; exact.

        .. math:: \min\{f, f^{-1}\}^{**}

        It is the guarantee for both orders of the neighbours when f is that for one of them.

        References
        ----------
        Dong, Roth and Su (2022), Definition 4.1 (the biconjugate of a least curve).
        """
        other = self.inverse()
        return convex_minorant(np.append(self.alphas, other.alphas), beta=np.append(self.betas, other.betas))

    @property
    def is_symmetric(self) -> bool:
        """Whether the curve is its own inverse, to 1e-12."""
        other = self.inverse()
        here = np.abs(other.beta(self.alphas) - self.betas) <= _SAME
        there = np.abs(self.beta(other.alphas) - other.betas) <= _SAME
        return bool(here.all() and there.all())

    def _log_slopes(self) -> FloatArray:
        """Return log(−slope) of each piece, falling; −inf where the curve is flat."""
        with np.errstate(divide="ignore", over="ignore"):
            slopes: FloatArray = np.log(-np.diff(self.betas)) - np.log(np.diff(self.alphas))
        return np.minimum.accumulate(slopes)


def convex_minorant(alpha: npt.ArrayLike, *, beta: npt.ArrayLike) -> PiecewiseTradeoff:
    """Return the largest trade-off function below the given tests; exact.

    Whoever can run each of the tests can run any mixture of them, and the two tests that never look.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Type I and type II error of each test, in [0, 1], in any order.

    Returns
    -------
    PiecewiseTradeoff
        The lower convex hull of the tests with (0, 1) and (1, 0).

    Raises
    ------
    DomainError
        If an error is outside [0, 1].

    References
    ----------
    Elementary: Neyman and Pearson (1933), with randomised tests.

    Examples
    --------
    >>> curve = convex_minorant([0.1, 0.5, 0.3], beta=[0.5, 0.4, 0.3])
    >>> curve.alphas.tolist(), curve.betas.tolist()
    ([0.0, 0.1, 0.3, 1.0], [1.0, 0.5, 0.3, 0.0])
    """
    level, miss = _points(alpha, beta)
    x, y = np.append(level, [0.0, 1.0]), np.append(miss, [1.0, 0.0])
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    first = np.append(True, np.diff(x) > 0)
    x, y = x[first], y[first]
    while (kept := _below_chords(x, y)).sum() < x.size:
        x, y = x[kept], y[kept]
    return PiecewiseTradeoff(x, betas=y)


def symmetrized(alpha: npt.ArrayLike, *, beta: npt.ArrayLike) -> PiecewiseTradeoff:
    """Return min{f, f⁻¹}** for the trade-off function with the given vertices; see `PiecewiseTradeoff.symmetrized`.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Vertices of a trade-off function, as `PiecewiseTradeoff` takes them.

    Raises
    ------
    DomainError
        If it is no trade-off function.

    References
    ----------
    Dong, Roth and Su (2022), Definition 4.1.

    Examples
    --------
    >>> curve = symmetrized([0.0, 0.5, 1.0], beta=[0.75, 0.125, 0.0])
    >>> curve.is_symmetric, curve.alphas.tolist(), curve.betas.tolist()
    (True, [0.0, 0.125, 0.5, 0.75, 1.0], [0.75, 0.5, 0.125, 0.0, 0.0])
    """
    return PiecewiseTradeoff(np.asarray(alpha), betas=np.asarray(beta)).symmetrized()


def discrete_tradeoff(p: npt.ArrayLike, *, q: npt.ArrayLike) -> PiecewiseTradeoff:
    """Return the trade-off function between two discrete laws, by the Neyman-Pearson lemma; exact.

    Parameters
    ----------
    p, q : array_like, shape (n,)
        Probabilities of the outputs, >= 0; each must sum to 1 within 1e-9 and is rescaled to. An alarm is false
        under `q` (type I) and right under `p`.

    Returns
    -------
    PiecewiseTradeoff
        T(q, p); it starts below 1 where `p` has outputs that `q` cannot give. Its `delta` is the hockey-stick
        divergence of p from q.

    Raises
    ------
    DomainError
        If a probability is out of its range, or they do not sum to 1.

    References
    ----------
    Neyman and Pearson (1933); Dong, Roth and Su (2022), Definition 2.1.

    Examples
    --------
    >>> curve = discrete_tradeoff([0.75, 0.25], q=[0.25, 0.75])
    >>> curve.alphas.tolist(), curve.betas.tolist()
    ([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    """
    upper, lower = masses("p", p), masses("q", q)
    if upper.shape != lower.shape:
        raise DomainError("q", f"as long as p, {upper.size} outputs", lower.size)
    upper, lower = upper / upper.sum(), lower / lower.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.nan_to_num(np.log(lower) - np.log(upper), nan=np.inf, posinf=np.inf, neginf=-np.inf))
    alphas = np.append(0.0, np.cumsum(lower[order]))
    betas = np.append(np.cumsum(upper[order][::-1])[::-1], 0.0)
    inside = alphas < 1
    return convex_minorant(alphas[inside], beta=np.minimum(betas[inside], 1.0))


def masses(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return the probabilities of a discrete law, checked."""
    probabilities = check.probability(name, value)
    if probabilities.ndim != 1 or not probabilities.size:
        raise DomainError(name, "a row of probabilities", f"shape {probabilities.shape}")
    if abs(float(probabilities.sum()) - 1) > _SUM_SLACK:
        raise DomainError(name, "probabilities that sum to 1 within 1e-9", float(probabilities.sum()))
    return probabilities


def _points(alphas: npt.ArrayLike, betas: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = check.probability("alphas", alphas), check.probability("betas", betas)
    if x.ndim != 1 or x.shape != y.shape:
        raise DomainError("betas", "a row of numbers, one for each of alphas", f"shapes {x.shape} and {y.shape}")
    return x, y


def _require_tradeoff(x: FloatArray, y: FloatArray) -> None:
    if x.size < 2:
        raise DomainError("alphas", "two vertices or more", x.tolist())
    for index, end in ((0, 0.0), (-1, 1.0)):
        if x[index] != end:
            raise DomainError("alphas", "rising from 0 to 1", _vertex(x, y, index))
    if y[-1] != 0:
        raise DomainError("betas", "0 at alpha = 1", _vertex(x, y, -1))
    _refuse("alphas", "strictly rising", np.append(False, np.diff(x) <= 0), x, y)
    _refuse("betas", "at most 1 − alpha", y > (1 - x) + _ROUNDING * y, x, y)
    _refuse("betas", "falling in alpha", np.append(False, np.diff(y) > _ROUNDING * y[:-1] + _SMALLEST), x, y)
    share = (x[2:] - x[1:-1]) / (x[2:] - x[:-2])
    excess = y[1:-1] - y[:-2] * share - y[2:] * (1 - share)
    with np.errstate(over="ignore"):
        noise = _ROUNDING * (y[:-2] + x[1:-1] * ((y[:-2] - y[2:]) / (x[2:] - x[:-2]))) + _SMALLEST
    _refuse("betas", "convex in alpha", np.concatenate([[False], excess > noise, [False]]), x, y)


def _refuse(name: str, requirement: str, bad: BoolArray, x: FloatArray, y: FloatArray) -> None:
    if bad.any():
        raise DomainError(name, f"{requirement} for a trade-off function", _vertex(x, y, int(np.argmax(bad))))


def _vertex(x: FloatArray, y: FloatArray, index: int) -> tuple[float, float]:
    return float(x[index]), float(y[index])


def _below_chords(x: FloatArray, y: FloatArray) -> BoolArray:
    """Return which points lie below the chord of their neighbours; one that does not is on no lower hull."""
    with np.errstate(over="ignore", under="ignore"):
        slopes = np.diff(y) / np.diff(x)
    return np.concatenate([[True], slopes[:-1] < slopes[1:], [True]])
