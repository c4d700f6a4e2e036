"""The verification record: reference values recomputed, each with where it comes from and whether it holds.

The references are decimal strings of 30 digits, computed apart from this package; `verify` compares in
decimal arithmetic, so nothing is rounded to meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from dpviz.accounting.averaging import mean_mu, mean_sigma
from dpviz.accounting.composition import exact_epsilon
from dpviz.accounting.gaussian import Gaussian, gaussian_epsilon
from dpviz.accounting.renyi_bounds import (
    improved_best_order,
    improved_bound,
    rdp_best_order,
    rdp_bound,
    rdp_bound_search,
)

EQUAL, AT_LEAST = "equal", "at least"
_ROUNDING = Decimal("1e-15")
_DELTA = 1e-6

_BOUND = "Mironov (2017), Propositions 3 and 7; mpmath, 60 digits"
_IMPROVED = "Canonne, Kamath and Steinke (2020), Proposition 12; mpmath, 60 digits"
_EXACT = "Balle and Wang (2018), Theorem 8, solved for epsilon; mpmath, 60 digits"
_MEAN = "variance of a mean of independent terms; exact decimals"
_GDP = "Dong, Roth and Su (2022), Corollary 3.3; exact decimals"


@dataclass(frozen=True)
class Witness:
    """One recomputed number beside its reference.

    Parameters
    ----------
    name : str
        What is shown, in words.
    quantity : str
        The function that computed it.
    inputs : tuple of (str, float or str) pairs
        Its arguments.
    computed : float
        What it returned here and now.
    reference : str
        What it should be, 30 significant digits or an exact decimal.
    tolerance : float
        Largest relative distance allowed.
    relation : str
        ``"equal"``: within the tolerance on either side. ``"at least"``: above by at most the tolerance, and
        below by no more than rounding (1e-15); a search over orders may only end on the safe side.
    source : str
        Where the reference comes from.

    Attributes
    ----------
    holds : bool
        Whether the relation holds; derived from the rest.

    Examples
    --------
    >>> Witness("a third", "1 / 3", (), 1 / 3, "0.333333333333333333", 1e-12, "equal", "by hand").holds
    True
    """

    name: str
    quantity: str
    inputs: tuple[tuple[str, float | str], ...]
    computed: float
    reference: str
    tolerance: float
    relation: str
    source: str
    holds: bool = field(init=False)

    def __post_init__(self) -> None:
        if self.relation not in (EQUAL, AT_LEAST):
            raise ValueError(f"relation must be {EQUAL!r} or {AT_LEAST!r}, but got {self.relation!r}")
        object.__setattr__(self, "holds", self._holds())

    def _holds(self) -> bool:
        if not math.isfinite(self.computed):
            return False
        reference, tolerance = Decimal(self.reference), Decimal(self.tolerance)
        distance = (Decimal(self.computed) - reference) / abs(reference)
        lowest = -tolerance if self.relation == EQUAL else -_ROUNDING
        return lowest <= distance <= tolerance


@dataclass(frozen=True)
class _History:
    """Reference values for `count` releases at sigma; sensitivity 1, delta the float64 nearest to 1e-6."""

    count: int
    sigma: float
    bound: str
    best_order: str
    improved: str
    improved_order: str
    exact: str


_HISTORIES = (
    _History(
        1,
        4.0,
        bound="1.34538044243923299680970863138",
        best_order="22.0260870790277279489553381021",
        improved="1.14292570957135661985072103398",
        improved_order="19.6236619204847127913265765581",
        exact="1.06070186232827373467399479378",
    ),
    _History(
        10,
        8.0,
        bound="2.15594767033638740970176067589",
        best_order="14.2980650901528794220912683257",
        improved="1.87312905847478933290584522868",
        improved_order="13.0002875084044196996603200591",
        exact="1.74296436198013751360050277449",
    ),
    _History(
        100,
        16.0,
        bound="3.48063860609808249202427157845",
        best_order="9.41043483161109117958213524083",
        improved="3.09037316010119107570862097092",
        improved_order="8.7230594644161479094363587796",
        exact="2.88343101903920880646645716656",
    ),
    _History(
        1000,
        8.0,
        bound="28.5907267033638740970176067589",
        best_order="2.32980650901528794220912683257",
        improved="27.3841224879484777322031348096",
        improved_order="2.28932860513571354048238082844",
        exact="25.9477349627136822829316293454",
    ),
)

_AVERAGED_SIGMA = 8.0
_AVERAGES = (  # repeats, 8/√repeats, √repeats/8
    (1, "8", "0.125"),
    (10, "2.52982212813470346559911483555", "0.395284707521047416499861693054"),
    (100, "0.8", "1.25"),
    (1000, "0.252982212813470346559911483555", "3.95284707521047416499861693054"),
)
_EXACT_25_AT_8 = "2.88343101903920880646645716656"
_EXACT_1_AT_8 = "0.503855615000795080592992773839"


def verify() -> tuple[Witness, ...]:
    """Return every reference value recomputed.

    Returns
    -------
    tuple of Witness
        In a fixed order; none is left out when it fails, its `holds` is False.

    References
    ----------
    Named in each witness.

    Examples
    --------
    >>> all(witness.holds for witness in verify())
    True
    """
    composed = (witness for history in _HISTORIES for witness in _composition(history))
    averaged = (witness for row in _AVERAGES for witness in _averaging(*row))
    return (*composed, *averaged, *_one_price())


def _composition(history: _History) -> Iterator[Witness]:
    """Yield the bounds, the orders and the exact epsilon of one release history."""
    given = {"count": history.count, "sigma": history.sigma, "sensitivity": 1.0, "delta": _DELTA}
    rows = (
        ("closed form of the RDP bound", rdp_bound, history.bound, _BOUND),
        ("best order of the RDP bound", rdp_best_order, history.best_order, _BOUND),
        ("improved conversion", improved_bound, history.improved, _IMPROVED),
        ("best order of the improved conversion", improved_best_order, history.improved_order, _IMPROVED),
        ("exact epsilon", exact_epsilon, history.exact, _EXACT),
    )
    here, inputs = f"{history.count} releases at sigma {history.sigma:g}", tuple(given.items())
    for words, rule, reference, source in rows:
        name = f"{words}, {here}"
        yield Witness(name, rule.__name__, inputs, rule(**given), reference, 1e-12, EQUAL, source)
    searched, _ = rdp_bound_search(**given)
    name = f"dense search over orders, {here}"
    yield Witness(name, rdp_bound_search.__name__, inputs, searched, history.bound, 1e-7, AT_LEAST, _BOUND)


def _averaging(repeats: int, spread: str, mu: str) -> Iterator[Witness]:
    """Yield the spread of a mean, the same as sensitivity/mu, and mu as that of the composed releases."""
    sigma = _AVERAGED_SIGMA
    inputs = (("sigma", sigma), ("repeats", float(repeats)))
    deviation, parameter = mean_sigma(sigma=sigma, repeats=repeats), mean_mu(sigma=sigma, repeats=repeats)
    composed = Gaussian(sigma).compose(repeats).mu
    rows = (
        ("spread of the mean", "mean_sigma", deviation, spread, _MEAN),
        ("sensitivity/mu, which is that spread", "1 / mean_mu", 1 / parameter, spread, _MEAN),
        ("mu of the mean", "mean_mu", parameter, mu, _GDP),
        ("mu of as many composed releases", "Gaussian.compose", composed, mu, _GDP),
    )
    for words, quantity, computed, reference, source in rows:
        name = f"{words}, {repeats} fresh answers at sigma {sigma:g}"
        yield Witness(name, quantity, inputs, computed, reference, 1e-12, EQUAL, source)


def _one_price() -> Iterator[Witness]:
    """Yield that a mean costs what its releases cost, and a cached answer what one release costs."""
    sigma = _AVERAGED_SIGMA
    rows = (
        ("a mean of 25 fresh answers costs what 25 releases cost", 25, "fresh", _EXACT_25_AT_8),
        ("an answer shown 1000 times from the cache costs one release", 1000, "cached", _EXACT_1_AT_8),
    )
    for name, repeats, noise, reference in rows:
        inputs = (("sigma", sigma), ("repeats", float(repeats)), ("noise", noise), ("delta", _DELTA))
        computed = gaussian_epsilon(_DELTA, mu=mean_mu(sigma=sigma, repeats=repeats, noise=noise))
        yield Witness(name, "gaussian_epsilon", inputs, computed, reference, 1e-12, EQUAL, _EXACT)
