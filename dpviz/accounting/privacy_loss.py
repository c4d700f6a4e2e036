"""What a whole ledger of releases costs: one function for any mix of mechanisms, and how sure its answer is.

A ledger is a tuple of (mechanism, count) pairs: fresh releases, which may be chosen adaptively. Each mechanism
names the dominating pair of its neighbouring relation, and all in a ledger must hold under the same one. Both
directions of the pairs are composed, and the greater delta counts.

Four engines answer. EXACT is a closed form, where one is known. CONTOUR is numeric inversion along a line through a
saddle: milliseconds, usually right to 1e-12, with an estimate of its error and no proof. QUADRATURE peels a few
releases off one by one, where a contour is not fit or not quick; it is right to about 1e-12, without proof too. LATTICE
is a bracket that holds whatever the rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import DomainError, FloatArray, Numbers, plain
from dpviz.accounting._closed_form import Profile, closed_form
from dpviz.accounting._engines import Account, Engine, Ledger, Question, answer
from dpviz.accounting._law import LossLaw
from dpviz.accounting._numeric import Laws, OneWay
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.gaussian_mu import compose_mu
from dpviz.accounting.relation import Direction

__all__ = ["Account", "Composition", "Engine", "Releasable"]

_DEEPEST = -760.0  # the log of what is 0 in float64


@runtime_checkable
class Releasable(Protocol):
    """A mechanism that can enter a ledger: it knows the law of its privacy loss in each direction.

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> isinstance(Gaussian(sigma=1.0), Releasable)
    True
    """

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile."""

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return its inverse."""

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function."""

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        """Return the Rényi divergence."""

    def loss_law(self, direction: Direction) -> LossLaw:
        """Return the law of the privacy loss."""


@dataclass(frozen=True)
class Composition:
    r"""Any mix of releases as one mechanism.

    .. math:: \delta(\varepsilon) = \max_{\text{directions}} E_P\left(1 - e^{\varepsilon - L}\right)_+,
              \qquad L = \sum_i L_i

    with the independent privacy losses L_i of the releases. Delta is a closed form where the ledger has one (Gaussians
    only; equal Laplace releases; randomised responses or bare (epsilon, delta) guarantees; a single release): exact.
    Else it is an estimate by contour or by quadrature, usually good to 1e-12 of itself; and where
    neither is fit (a loss that sits on points, or nearly so), the upper end of a certified bracket: a bound. `account`
    says which it is.

    Parameters
    ----------
    releases : sequence of (mechanism, int)
        Mechanisms, all under the same neighbouring relation, each with the number of its releases, a whole number
        >= 0. A mechanism has `loss_law(direction)` beside the four methods of `Mechanism`; a Composition may
        stand for its releases. None at all costs nothing.

    Raises
    ------
    DomainError
        If a count is out of its range.
    TypeError
        If something is not a pair, or has no loss law.

    References
    ----------
    Dong, Roth and Su (2022), Theorem 3.2 (composition of pairs); Zhu, Dong and Wang (2022), Theorem 10 (dominating
    pairs), https://arxiv.org/abs/2106.08567; Meiser and Mohammadi (2018) for the sum of losses.

    Examples
    --------
    >>> from dpviz.accounting.gaussian import Gaussian
    >>> from dpviz.accounting.laplace import Laplace
    >>> ledger = Composition(((Gaussian(sigma=2.0), 1), (Laplace(scale=4.0), 2)))
    >>> round(ledger.delta(1.0), 10)
    0.0189104476
    """

    releases: tuple[tuple[Releasable, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", tuple(_flat(self.releases)))

    def loss_laws(self, direction: Direction) -> Laws:
        """Return the laws of the releases with their counts: equal ones merged, all Gaussians made one.

        Examples
        --------
        >>> from dpviz.accounting.gaussian import Gaussian
        >>> Composition(((Gaussian(sigma=2.0), 16),)).loss_laws(Direction.REMOVE)
        ((GaussianLaw(mu=2.0), 1),)
        """
        return _merged(self.releases, direction)

    def delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the privacy profile at each epsilon >= 0 (inf leaves the mass that gives everything away).

        Exact, an estimate or a bound, as the class says.

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN.

        References
        ----------
        Zhu, Dong and Wang (2022), Theorem 10.

        Examples
        --------
        >>> from dpviz.accounting.laplace import Laplace
        >>> round(Composition(((Laplace(scale=10.0), 10),)).delta(0.5), 9)
        0.008938295
        """
        closed = _ledger(self.releases).closed
        if closed is not None:
            return closed.delta(epsilon)
        loss = check.at_least("epsilon", epsilon, 0, infinite=True)
        with np.errstate(under="ignore"):
            return plain(np.exp(self._log_delta(loss, deepest=_DEEPEST)))

    def directed_delta(self, epsilon: npt.ArrayLike, *, direction: Direction) -> Numbers:
        """Return the privacy profile in one direction alone: what it says is no guarantee, only half of one.

        Exact, an estimate or a bound, as the class says.

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN.

        References
        ----------
        Zhu, Dong and Wang (2022), Definition 7.

        Examples
        --------
        >>> from dpviz.accounting.subsampled import SubsampledGaussian
        >>> ledger = Composition(((SubsampledGaussian(1.0, sampling_probability=0.01), 1000),))
        >>> removed, added = (ledger.directed_delta(1.8, direction=direction) for direction in Direction)
        >>> bool(removed == ledger.delta(1.8) > added)
        True
        """
        loss = check.at_least("epsilon", epsilon, 0, infinite=True)
        laws = self.loss_laws(direction)
        closed = closed_form(laws)
        if closed is not None:
            return closed.delta(loss)
        way = Ledger((OneWay(laws),), None)
        with np.errstate(under="ignore"):
            return plain(np.exp(_elementwise(lambda flat: way.log_delta(flat, deepest=_DEEPEST), loss)))

    def log_delta(self, epsilon: npt.ArrayLike) -> Numbers:
        """Return the natural log of delta at each epsilon >= 0, also where delta is too small for a float64.

        Exact, an estimate or a bound, as the class says.

        Raises
        ------
        DomainError
            If an epsilon is negative or NaN.

        References
        ----------
        Zhu, Dong and Wang (2022), Theorem 10.

        Examples
        --------
        >>> from dpviz.accounting.gaussian import Gaussian
        >>> round(Composition(((Gaussian(sigma=1.0), 100),)).log_delta(1000.0), 4)
        -4520.3245
        """
        closed = _ledger(self.releases).closed
        if closed is None:
            return plain(self._log_delta(check.at_least("epsilon", epsilon, 0, infinite=True)))
        with np.errstate(divide="ignore"):
            return closed.log_delta(epsilon) if hasattr(closed, "log_delta") else plain(np.log(closed.delta(epsilon)))

    def epsilon(self, delta: npt.ArrayLike) -> Numbers:
        """Return the least epsilon >= 0 for each delta in [0, 1]; inf where no epsilon will do.

        Exact, an estimate or a bound, as the class says; an estimate is good to 1e-12 of itself, or near epsilon = 0 of
        the standard deviation of the loss.

        Raises
        ------
        DomainError
            If a delta is outside [0, 1].

        References
        ----------
        Zhu, Dong and Wang (2022), Theorem 10.

        Examples
        --------
        >>> from dpviz.accounting.laplace import Laplace
        >>> round(Composition(((Laplace(scale=10.0), 100),)).epsilon(1e-6), 9)
        4.692667415
        """
        ledger = _ledger(self.releases)
        if ledger.closed is not None:
            return ledger.closed.epsilon(delta)
        return _elementwise(ledger.epsilon, check.probability("delta", delta))

    def beta(self, alpha: npt.ArrayLike) -> Numbers:
        """Return the trade-off function: the least type II error for each type I error in [0, 1].

        Where the two directions differ it is the lower convex hull of both curves. Exact, an estimate or a bound (then
        never above the truth by more than rounding), as the class says.

        Raises
        ------
        DomainError
            If an alpha is outside [0, 1].

        References
        ----------
        Dong, Roth and Su (2022), Propositions 2.4 and 2.12. https://arxiv.org/abs/1905.02383

        Examples
        --------
        >>> from dpviz.accounting.laplace import Laplace
        >>> round(Composition(((Laplace(scale=10.0), 10),)).beta(0.05), 9)
        0.909526644
        """
        ledger = _ledger(self.releases)
        if ledger.closed is not None:
            return ledger.closed.beta(alpha)
        return _elementwise(ledger.beta, check.probability("alpha", alpha))

    def rdp(self, order: npt.ArrayLike) -> Numbers:
        r"""Return the Rényi divergence at each order >= 1, the sum of the releases' own; exact if theirs are.

        .. math:: D_\alpha = \sum_i k_i D_\alpha^{(i)}

        Raises
        ------
        DomainError
            If an order is below 1.

        References
        ----------
        Mironov (2017), Proposition 1. https://arxiv.org/abs/1702.07476

        Examples
        --------
        >>> from dpviz.accounting.gaussian import Gaussian
        >>> Composition(((Gaussian(sigma=1.0), 3),)).rdp(2.0)
        3.0
        """
        total = np.zeros(check.at_least("order", order, 1, infinite=True).shape)
        for mechanism, count in self.releases:
            if count:
                total = total + count * np.asarray(mechanism.rdp(order))
        return plain(total)

    def account(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        engine: Engine = Engine.BEST,
        tolerance: float | None = None,
    ) -> Account:
        """Return delta at one epsilon, or epsilon at one delta, with its bracket and how sure it is.

        Parameters
        ----------
        epsilon : float, optional
            Privacy loss bound in nats, >= 0, at which delta is wanted.
        delta : float, optional
            Additive slack in [0, 1], at which epsilon is wanted. Exactly one of the two is given.
        engine : Engine
            BEST takes a closed form if there is one, else the contour or the quadrature where fit, else the lattice.
        tolerance : float, optional
            In (0, 1): a certified bracket no wider than this, relative to delta; or relative to epsilon or the
            standard deviation of the loss, whichever is greater. It asks for the lattice.

        Returns
        -------
        Account
            Of an EXACT, CONTOUR or QUADRATURE answer the bracket is an estimate unless `is_certified`; a contour's
            error is what a second contour on another line, and the rounding, suggest.

        Raises
        ------
        DomainError
            If an argument is out of its range, if the engine asked for is not fit for this ledger, or if the tolerance
            cannot be met; the text says what could be.
        TypeError
            If not exactly one of epsilon and delta is given.

        References
        ----------
        Zhu, Dong and Wang (2022), Theorem 10; Doroshenko et al. (2022), https://arxiv.org/abs/2207.04380, for the
        bracket's upper end.

        Examples
        --------
        >>> from dpviz.accounting.gaussian import Gaussian
        >>> from dpviz.accounting.laplace import Laplace
        >>> ledger = Composition(((Gaussian(sigma=2.0), 1), (Laplace(scale=4.0), 2)))
        >>> found = ledger.account(epsilon=1.0)
        >>> print(found.engine, found.is_certified, found.error < 1e-13)
        contour False True
        """
        chosen = _engine(engine)
        if (epsilon is None) == (delta is None):
            raise TypeError("account takes exactly one of epsilon and delta")
        if epsilon is not None:
            at = check.scalar("epsilon", check.at_least("epsilon", epsilon, 0, infinite=True))
        else:
            at = check.scalar("delta", check.probability("delta", np.asarray(delta)))
        if tolerance is not None:
            open_interval = check.probability("tolerance", tolerance, open_low=True, open_high=True)
            tolerance = check.scalar("tolerance", open_interval)
        return answer(_ledger(self.releases), Question(at, is_delta_wanted=delta is None), chosen, tolerance)

    def _log_delta(self, epsilon: FloatArray, *, deepest: float = -np.inf) -> FloatArray:
        ledger = _ledger(self.releases)
        return np.asarray(_elementwise(lambda flat: ledger.log_delta(flat, deepest=deepest), epsilon))


def _elementwise(compute: Callable[[FloatArray], FloatArray], value: FloatArray) -> Numbers:
    """Return what a function of flat arrays says of an array of any shape."""
    return plain(compute(value.ravel()).reshape(value.shape)) if value.size else value


def _engine(engine: Engine) -> Engine:
    try:
        return Engine(engine)
    except ValueError:
        raise DomainError("engine", f"one of {', '.join(Engine)}", engine) from None


def _flat(releases: object) -> list[tuple[Releasable, int]]:
    """Return checked pairs; a composition among them gives its own."""
    pairs: list[tuple[Releasable, int]] = []
    if not isinstance(releases, list | tuple):
        raise TypeError(f"releases must be a sequence of (mechanism, count) pairs, but got {releases!r}")
    for pair in releases:
        if not (isinstance(pair, list | tuple) and len(pair) == 2):
            raise TypeError(f"a release must be a pair (mechanism, count), but got {pair!r}")
        mechanism, times = pair
        count = int(check.scalar("count", check.whole("count", times, 0)))
        if isinstance(mechanism, Composition):
            pairs += [(inner, int(check.whole("count", each * count, 0))) for inner, each in mechanism.releases]
        elif isinstance(mechanism, Releasable):
            pairs.append((mechanism, count))
        else:
            raise TypeError(f"a mechanism must have delta, epsilon, beta, rdp and loss_law, but got {mechanism!r}")
    return pairs


def _telling(releases: tuple[tuple[Releasable, int], ...]) -> dict[Releasable, int]:
    """Return the mechanisms that say anything at all, equal ones together."""
    counts: dict[Releasable, int] = {}
    for mechanism, count in releases:
        if count and mechanism.delta(0.0) > 0:
            counts[mechanism] = counts.get(mechanism, 0) + count
    return counts


def _merged(releases: tuple[tuple[Releasable, int], ...], direction: Direction) -> Laws:
    counts: dict[LossLaw, int] = {}
    for mechanism, count in _telling(releases).items():
        law = mechanism.loss_law(direction)
        counts[law] = counts.get(law, 0) + count
    normal = {law: count for law, count in counts.items() if isinstance(law, GaussianLaw)}
    others = tuple((law, count) for law, count in counts.items() if not isinstance(law, GaussianLaw))
    if not normal:
        return others
    mu = compose_mu([law.mu for law in normal], counts=list(normal.values()))
    return ((GaussianLaw(mu), 1), *others)


@lru_cache(maxsize=64)
def _ledger(releases: tuple[tuple[Releasable, int], ...]) -> Ledger:
    removed, added = (_merged(releases, direction) for direction in (Direction.REMOVE, Direction.ADD))
    telling = _telling(releases)
    closed: Profile | None = closed_form(removed) if removed == added else None
    if list(telling.values()) == [1]:
        closed = next(iter(telling))
    return Ledger(tuple(OneWay(laws) for laws in dict.fromkeys((removed, added))), closed)
