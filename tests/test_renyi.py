import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.conversion import rdp_to_delta_improved, rdp_to_epsilon, rdp_to_epsilon_improved
from dpviz.accounting.gaussian import Gaussian
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.renyi import (
    Conversion,
    RenyiConversion,
    ledger_rdp,
    rdp_optimal_delta,
    rdp_optimal_epsilon,
    rdp_to_delta_optimal,
    rdp_to_epsilon_optimal,
)
from dpviz.accounting.renyi_bounds import improved_bound, rdp_bound
from dpviz.accounting.subsampled import SubsampledGaussian

DIVERGENCES = st.floats(-6, 2).map(lambda power: 10.0**power)
ORDERS = st.floats(-4, 4).map(lambda power: 1 + 10.0**power)
SLACKS = st.floats(-30, -0.1).map(lambda power: 10.0**power)


def mp_coin_divergence(p, q, order):
    return mpmath.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1)


def mp_least_divergence(epsilon, order, delta):
    """The least divergence of two coins with p − e^epsilon q = delta, by a golden-section search over p."""
    with mpmath.workdps(60):
        order, delta, factor = mpmath.mpf(order), mpmath.mpf(delta), mpmath.exp(mpmath.mpf(epsilon))

        def divergence(log_odds):
            p = delta + (1 - delta) / (1 + mpmath.exp(-log_odds))
            return mp_coin_divergence(p, (p - delta) / factor, order)

        low, high, golden = mpmath.mpf(-150), mpmath.mpf(80), (mpmath.sqrt(5) - 1) / 2
        for _ in range(70):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if divergence(left) < divergence(right) else (left, high)
        return divergence((low + high) / 2)


@settings(max_examples=20)
@given(DIVERGENCES, ORDERS, SLACKS)
@example(0.5, 2.0, 1e-5)
@example(1e-4, 2.0, 0.005)
@example(1e-6, 1.5, 1e-4)
@example(0.02, 2.0, 0.05)
@example(0.1, 4.0, 0.05)
@example(3.0, 1.2, 0.3)
@example(1e-3, 1.001, 0.01)
@example(0.1, 65.0, 1e-9)
def test_sharpest_conversion_is_that_of_the_worst_coins(divergence, order, delta):
    epsilon = rdp_to_epsilon_optimal(divergence, order=order, delta=delta)
    assume(epsilon > 0)
    least = mp_least_divergence(epsilon, order, delta)
    step = 1e-6 * epsilon
    steep = (mp_least_divergence(epsilon + step, order, delta) - least) / step
    assert abs(least - divergence) <= 1e-13 * divergence + 1e-13 * float(steep) * epsilon
    back = rdp_to_delta_optimal(divergence, order=order, epsilon=epsilon)
    slack = 1e-11 * delta
    slope = (mp_least_divergence(epsilon, order, delta + slack) - least) / slack
    assert abs(back - delta) <= 1e-12 * delta + 1e-13 * (divergence + float(steep) * epsilon) / float(slope)


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=6),
    st.floats(0.01, 30).map(lambda excess: 1 + excess),
    st.floats(0, 2),
)
def test_it_holds_for_every_pair_of_laws(masses, order, epsilon):
    p, q = (np.array(column) / sum(column) for column in zip(*masses, strict=True))
    divergence = math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
    assume(divergence > 1e-9)
    delta = np.sum(np.maximum(p - math.exp(epsilon) * q, 0))
    assert delta <= rdp_to_delta_optimal(divergence, order=order, epsilon=epsilon) * (1 + 1e-9) + 1e-15
    if 0 < delta < 1:
        assert epsilon <= rdp_to_epsilon_optimal(divergence, order=order, delta=delta) * (1 + 1e-9) + 1e-9


@given(DIVERGENCES, ORDERS, SLACKS)
def test_each_conversion_is_tighter_than_the_one_before(divergence, order, delta):
    classic = rdp_to_epsilon(divergence, order=order, delta=delta)
    improved = rdp_to_epsilon_improved(divergence, order=order, delta=delta)
    optimal = rdp_to_epsilon_optimal(divergence, order=order, delta=delta)
    assert 0 <= optimal <= improved <= classic * (1 + 1e-12)
    if optimal > 0:
        back = rdp_to_delta_optimal(divergence, order=order, epsilon=optimal)
        assert back <= rdp_to_delta_improved(divergence, order=order, epsilon=optimal)
        slope = (order - 1) * (optimal + divergence)  # of log delta, so that a last digit of epsilon is seen
        # with (α − 1)ρ tiny epsilon is a difference, and log delta can be steeper still
        steep = rdp_to_epsilon_optimal(divergence, order=order, delta=delta * (1 + 1e-6))
        slope = max(slope, 1e-6 * optimal / max(optimal - steep, 1e-300))
        assert math.log(back) == pytest.approx(math.log(delta), abs=1e-10 + 1e-14 * slope)


@given(DIVERGENCES, ORDERS, SLACKS, st.floats(1, 2))
def test_sharpest_conversion_rises_with_divergence_and_falls_with_delta(divergence, order, delta, factor):
    here = rdp_to_epsilon_optimal(divergence, order=order, delta=delta)
    assert rdp_to_epsilon_optimal(divergence * factor, order=order, delta=delta) >= here * (1 - 1e-12)
    assert rdp_to_epsilon_optimal(divergence, order=order, delta=min(1.0, delta * factor)) <= here * (1 + 1e-12)
    assert rdp_to_delta_optimal(divergence, order=order, epsilon=here * factor) <= delta * (1 + 1e-9) or here == 0


def test_sharpest_conversion_has_an_answer_everywhere():
    divergence = np.array([0, 1e-300, 1e-12, 1e-3, 1, 1e3, 1e100, 1e300, math.inf])[:, None, None]
    order = np.array([1 + 2**-52, 1 + 1e-8, 1.5, 100, 1e8, 1e100, 1e300])[:, None]
    delta = np.array([0, 5e-324, 1e-300, 1e-10, 0.1, 0.9, 1 - 2**-53, 1])
    epsilon = np.array([0, 1e-300, 1e-9, 0.1, 1, 100, 1e10, 1e300, math.inf])
    found = rdp_to_epsilon_optimal(divergence, order=order, delta=delta)
    assert not np.isnan(found).any()
    assert np.all(found >= 0)
    found = rdp_to_delta_optimal(divergence, order=order, epsilon=epsilon)
    assert np.all((found >= 0) & (found <= 1))


def test_sharpest_conversion_ends():
    epsilon = rdp_to_epsilon_optimal([0, math.inf, 1, 1], order=2.0, delta=[0, 0.5, 0, 1])
    assert epsilon.tolist() == [0, math.inf, math.inf, 0]
    assert rdp_to_delta_optimal([0, math.inf, 1], order=2.0, epsilon=[0, 1, math.inf]).tolist() == [0, 1, 0]
    # where delta is 1/α or more the worst P is certain: epsilon = ρ + log(1 − δ)
    assert rdp_to_epsilon_optimal(3.0, order=10.0, delta=0.2) == pytest.approx(3 + math.log(0.8), rel=1e-14)
    assert rdp_to_delta_optimal(3.0, order=10.0, epsilon=2.8) == pytest.approx(-math.expm1(-0.2), rel=1e-13)


@pytest.mark.parametrize(("sigma", "delta"), [(4.0, 1e-6), (0.5, 1e-15), (100.0, 0.01), (1e6, 1e-300)])
def test_search_finds_the_closed_optimum_of_the_gaussian(sigma, delta):
    curve = Gaussian(sigma).rdp
    classic = rdp_optimal_epsilon(curve, delta=delta, conversion=Conversion.CLASSIC)
    improved = rdp_optimal_epsilon(curve, delta=delta, conversion=Conversion.IMPROVED)
    optimal = rdp_optimal_epsilon(curve, delta=delta)
    assert classic.epsilon == pytest.approx(rdp_bound(count=1, sigma=sigma, delta=delta), rel=1e-12)
    assert improved.epsilon == pytest.approx(improved_bound(count=1, sigma=sigma, delta=delta), rel=1e-12)
    assert Gaussian(sigma).epsilon(delta) <= optimal.epsilon <= improved.epsilon <= classic.epsilon
    assert not classic.is_edge
    at_order = rdp_to_epsilon(curve(classic.order), order=classic.order, delta=delta)
    assert at_order == pytest.approx(classic.epsilon, rel=1e-14)


@pytest.mark.parametrize(
    ("rate", "noise", "count", "delta", "classic", "improved"),
    [
        (0.125, 0.8, 1000, 1e-6, 65.15, None),
        (0.2, 1.0, 10, 1e-5, None, 5.756),
        (0.01, 4.0, 10_000, 1e-5, 1.259, 1.036),
        (0.01, 4.0, 40_000, 1e-5, 2.574, 2.210),
    ],
)
def test_real_orders_are_a_little_tighter_than_a_list(rate, noise, count, delta, classic, improved):
    """What accountants with a fixed list of orders report; the first list has 1.5 and 1.75 about the best, 1.6."""
    curve = ledger_rdp([(SubsampledGaussian(noise, sampling_probability=rate), count)])
    for listed, conversion in ((classic, Conversion.CLASSIC), (improved, Conversion.IMPROVED)):
        if listed:
            found = rdp_optimal_epsilon(curve, delta=delta, conversion=conversion)
            assert 0.95 * listed < found.epsilon < listed
            assert rdp_optimal_delta(curve, epsilon=found.epsilon, conversion=conversion).delta == pytest.approx(delta)


def test_zero_is_right_once_delta_reaches_the_total_variation():
    release = SubsampledGaussian(1.0, sampling_probability=105 / 100_000)
    assert release.epsilon(1e-3) == 0
    assert rdp_optimal_epsilon(release.rdp, delta=1e-3) == RenyiConversion(0.0, 1 + 1e-8, is_edge=False)
    assert rdp_optimal_epsilon(release.rdp, delta=1e-3, conversion=Conversion.IMPROVED).epsilon > 0.25
    found = rdp_optimal_delta(release.rdp, epsilon=0.0)
    assert release.delta(0.0) < found.delta < 1e-3


@settings(max_examples=10)
@given(st.floats(-1, 1), st.floats(-12, -0.5), st.integers(1, 1000))
def test_a_bound_is_never_below_the_exact_one(log_sigma, log_delta, count):
    sigma, delta = 10.0**log_sigma, 10.0**log_delta
    curve = ledger_rdp([(Gaussian(sigma), count)])
    exact = Gaussian(sigma).compose(count)
    for conversion in Conversion:
        epsilon = rdp_optimal_epsilon(curve, delta=delta, conversion=conversion).epsilon
        assert epsilon >= exact.epsilon(delta) * (1 - 1e-12)
        found = rdp_optimal_delta(curve, epsilon=epsilon, conversion=conversion).delta
        assert found <= delta * (1 + 1e-9)
        assert found >= exact.delta(epsilon) * (1 - 1e-12)


def test_pure_guarantees_are_found_at_the_edge():
    found = rdp_optimal_epsilon(Laplace(scale=1.0).rdp, delta=1e-300)
    assert found.is_edge
    assert found.order == 1 + 1e8
    assert 1 <= found.epsilon <= 1 + 1e-5


def test_search_ends():
    curve = Gaussian(1.0).rdp
    assert rdp_optimal_epsilon(curve, delta=0.0).epsilon == math.inf
    assert rdp_optimal_epsilon(curve, delta=1.0).epsilon == 0
    assert rdp_optimal_delta(curve, epsilon=math.inf).delta == 0
    nothing = ledger_rdp([])
    assert rdp_optimal_epsilon(nothing, delta=1e-9).epsilon == 0
    assert rdp_optimal_delta(nothing, epsilon=0.0).delta == 0
    hidden = lambda order: np.full(np.shape(order), np.inf)  # noqa: E731
    assert rdp_optimal_epsilon(hidden, delta=0.1).epsilon == math.inf
    assert rdp_optimal_delta(hidden, epsilon=0.1).delta == 1
    partly = lambda order: np.where(order < 3, order / 2, np.inf)  # noqa: E731
    assert rdp_optimal_epsilon(partly, delta=1e-9).order == pytest.approx(3, rel=1e-6)


def test_a_ledger_adds_divergences():
    orders = np.array([1.5, 2.0, 9.0])
    curve = ledger_rdp([(Gaussian(2.0), 3), (Laplace(1.0), 2), (Gaussian(1.0), 0)])
    np.testing.assert_allclose(curve(orders), 3 * Gaussian(2.0).rdp(orders) + 2 * Laplace(1.0).rdp(orders))


def test_bad_arguments_are_refused():
    curve = Gaussian(1.0).rdp
    with pytest.raises(DomainError, match="delta"):
        rdp_optimal_epsilon(curve, delta=1.5)
    with pytest.raises(DomainError, match="epsilon"):
        rdp_optimal_delta(curve, epsilon=-1.0)
    with pytest.raises(TypeError, match="delta"):
        rdp_optimal_epsilon(curve, delta=np.array([0.1, 0.2]))
    with pytest.raises(DomainError, match="rdp"):
        rdp_optimal_epsilon(lambda order: -order, delta=0.1)
    with pytest.raises(DomainError, match="count"):
        ledger_rdp([(Gaussian(1.0), 1.5)])
    with pytest.raises(DomainError, match="order"):
        rdp_to_epsilon_optimal(1.0, order=1.0, delta=0.1)
    with pytest.raises(ValueError, match="best"):
        rdp_optimal_epsilon(curve, delta=0.1, conversion="best")
