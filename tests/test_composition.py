import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from dpviz import (
    advanced_bound,
    advanced_composition,
    basic_bound,
    basic_composition,
    composed_mu,
    exact_epsilon,
    gaussian_epsilon,
    gaussian_rdp,
    improved_best_order,
    improved_bound,
    rdp_best_order,
    rdp_bound,
    rdp_bound_search,
    rdp_to_epsilon,
    rdp_to_epsilon_improved,
)
from dpviz.accounting.composition import kairouz_bound, optimal_bound, zcdp_bound
from dpviz.accounting.guarantees import composed_delta, kairouz_composition
from dpviz.accounting.optimal import optimal_composition_delta
from tests.reference import distance, entries

LADDER = (basic_bound, advanced_bound, rdp_bound, improved_bound, exact_epsilon)
COUNTS = st.floats(0, 9).map(lambda power: round(10**power))
SIGMAS = st.floats(-3, 6).map(lambda power: 10.0**power)
SLACKS = st.floats(-300, -0.01).map(lambda power: 10.0**power)


def setting(inputs):
    names = {"count": "k", "sigma": "sigma", "sensitivity": "Delta", "delta": "delta"}
    return {name: inputs[key] for name, key in names.items()}


@entries("gaussian_eps")
def test_exact_reference(inputs, value):
    assert distance(exact_epsilon(**setting(inputs)), value) <= 1e-12


@entries("rdp_closed_bound")
def test_bound_reference(inputs, value):
    assert distance(rdp_bound(**setting(inputs)), value) <= 1e-15


@entries("rdp_closed_bound_alpha")
def test_best_order_reference(inputs, value):
    assert distance(rdp_best_order(**setting(inputs)), value) <= 1e-15


@entries("rdp_to_dp_cks_opt")
def test_improved_reference(inputs, value):
    assert distance(improved_bound(**setting(inputs)), value) <= 1e-14


@entries("zcdp_to_dp")
def test_bound_is_that_of_zcdp(inputs, value):
    assert distance(rdp_bound(count=1, sigma=1 / math.sqrt(2 * inputs["rho"]), delta=inputs["delta"]), value) <= 1e-15


@entries("advanced_drv")
def test_advanced_reference(inputs, value):
    epsilon = advanced_composition(inputs["eps"], count=inputs["k"], slack=inputs["delta_prime"])
    assert distance(epsilon, value) <= 1e-15


@pytest.mark.parametrize(
    ("count", "sigma", "bound", "order", "improved", "exact", "ratio"),
    [
        (1, 4, 1.34538, 22.03, 1.14293, 1.06070, 1.268),
        (10, 8, 2.15595, 14.30, 1.87313, 1.74296, 1.237),
        (100, 16, 3.48064, 9.41, 3.09037, 2.88343, 1.207),
        (1000, 8, 28.59073, 2.33, 27.38412, 25.94773, 1.102),
    ],
)
def test_golden_table(count, sigma, bound, order, improved, exact, ratio):
    here = {"count": count, "sigma": sigma, "delta": 1e-6}
    assert round(rdp_bound(**here), 5) == bound
    assert round(rdp_best_order(**here), 2) == order
    assert round(improved_bound(**here), 5) == improved
    assert round(exact_epsilon(**here), 5) == exact
    assert round(rdp_bound(**here) / exact_epsilon(**here), 3) == ratio
    searched, found = rdp_bound_search(**here)
    assert 1 - 1e-15 <= searched / rdp_bound(**here) <= 1 + 1e-7
    assert found == pytest.approx(rdp_best_order(**here), rel=1e-3)


def test_negative_controls_move_the_cost():
    here = {"count": 10, "sigma": 8, "delta": 1e-6}
    assert round(rdp_bound(**{**here, "count": 9}), 5) == 2.04151
    assert round(exact_epsilon(**{**here, "count": 9}), 5) == 1.64575
    assert round(rdp_bound(**here, sensitivity=2), 5) == 4.46815
    assert round(exact_epsilon(**here, sensitivity=2), 5) == 3.74722
    tenfold = {"count": 10, "sigma": 8, "sensitivity": 10, "delta": 1e-6}
    assert rdp_bound(**tenfold) == pytest.approx(rdp_bound(count=1000, sigma=8, delta=1e-6), rel=1e-14)


@given(COUNTS, SIGMAS, SLACKS)
def test_every_bound_is_above_the_exact_epsilon(count, sigma, delta):
    here = {"count": count, "sigma": sigma, "delta": delta}
    exact = exact_epsilon(**here)
    for bound in (basic_bound, advanced_bound, rdp_bound, improved_bound):
        assert bound(**here) >= exact * (1 - 1e-12) - 1e-15 * composed_mu(sigma=sigma, count=count)
    assert improved_bound(**here) <= rdp_bound(**here) * (1 + 1e-15)


@given(SIGMAS, SLACKS)
def test_cost_rises_with_count_and_falls_with_sigma_and_delta(sigma, delta):
    count = np.unique(np.round(np.geomspace(1, 1e9, 60)))
    for rule in LADDER:
        epsilon = rule(count=count, sigma=sigma, delta=delta)
        falling = rule(count=100, sigma=sigma * np.geomspace(1, 1e3, 30), delta=delta)
        slack = rule(count=100, sigma=sigma, delta=delta ** np.linspace(1, 0.01, 30))
        for run in (epsilon, falling[::-1], slack[::-1]):
            with np.errstate(invalid="ignore"):
                step = np.diff(run)
            assert np.all((step >= -1e-12 * run[1:]) | np.isinf(run[1:]))


@given(st.floats(-40, 9).map(lambda power: 10.0**power), SLACKS)
def test_search_confirms_the_closed_form(mu, delta):
    here = {"count": 1, "sigma": 1.0, "sensitivity": mu, "delta": delta}
    searched, order = rdp_bound_search(**here)
    assert 1 - 1e-15 <= searched / rdp_bound(**here) <= 1 + 1e-7
    assert rdp_to_epsilon(gaussian_rdp(order, mu=mu), order=order, delta=delta) == pytest.approx(searched, rel=1e-14)


@given(st.floats(-3, 3).map(lambda power: 10.0**power), SLACKS)
def test_no_order_does_better_than_the_best_orders(mu, delta):
    here = {"count": 1, "sigma": 1.0, "sensitivity": mu, "delta": delta}
    for best, bound, convert in (
        (rdp_best_order, rdp_bound, rdp_to_epsilon),
        (improved_best_order, improved_bound, rdp_to_epsilon_improved),
    ):
        order = best(**here)
        assume(order > 1 + 1e-9)
        around = 1 + (order - 1) * np.concatenate([[1.0], np.geomspace(1e-3, 1e3, 501)])
        tried = convert(gaussian_rdp(around, mu=mu), order=around, delta=delta)
        assert np.all(tried >= bound(**here) * (1 - 1e-12) - 1e-13)
        assert tried[0] == pytest.approx(bound(**here), rel=1e-7, abs=1e-12)


@given(st.floats(-12, 8).map(lambda power: 10.0**power), SLACKS)
def test_improved_order_is_stationary(mu, delta):
    order = improved_best_order(count=1, sigma=1.0, sensitivity=mu, delta=delta)
    with mpmath.workdps(50):
        log_inverse, half = -mpmath.log(delta), mpmath.mpf(mu) ** 2 / 2
        residual = lambda s: half * s**2 + mpmath.log1p(s) - log_inverse  # noqa: E731
        excess = mpmath.mpf(order) - 1
        slip = mpmath.mpf("3e-13") * excess + mpmath.mpf("3e-16")
        assert residual(excess - slip) < 0 < residual(excess + slip)


@given(COUNTS, st.floats(-1, 3).map(lambda power: 10.0**power), SLACKS)
def test_basic_and_advanced_bounds_are_the_theorems_on_exact_releases(count, sigma, delta):
    here = {"count": count, "sigma": sigma, "delta": delta}
    each = gaussian_epsilon(delta / count, mu=1 / sigma)
    assert basic_bound(**here) == basic_composition(each, delta=delta / count, count=count)[0]
    each = gaussian_epsilon(delta / 2 / count, mu=1 / sigma)
    assume(each < 700)
    assert advanced_bound(**here) == pytest.approx(advanced_composition(each, count=count, slack=delta / 2), rel=1e-10)


def test_advanced_composition_against_the_formula_in_mpmath():
    for epsilon in (1e-4, 0.01, 0.1, 1.0, 5.0):
        for count in (1, 10, 100, 1000, 10**6):
            for slack in (1e-12, 1e-6, 1e-3, 0.1, 0.9):
                e, k, d = mpmath.mpf(epsilon), mpmath.mpf(count), mpmath.mpf(slack)
                truth = e * mpmath.sqrt(2 * k * mpmath.log(1 / d)) + k * e * mpmath.expm1(e)
                computed = advanced_composition(epsilon, count=count, slack=slack)
                assert computed == pytest.approx(float(truth), rel=1e-14)


@settings(max_examples=25)
@given(COUNTS, SIGMAS, SLACKS)
def test_the_rungs_from_one_point_of_each_release_lie_in_order(count, sigma, delta):
    here = {"count": count, "sigma": sigma, "delta": delta}
    exact, kairouz = exact_epsilon(**here), kairouz_bound(**here)
    assert kairouz >= exact * (1 - 1e-12) - 1e-15 * composed_mu(sigma=sigma, count=count)
    assert zcdp_bound(**here) == rdp_bound(**here)
    assert kairouz <= count * gaussian_epsilon(delta / 2 / count, mu=1 / sigma) * (1 + 1e-9)
    optimal = optimal_bound(**here)
    assert optimal <= kairouz * (1 + 1e-12)
    assert optimal >= exact * (1 - 1e-12) - 1e-15 * composed_mu(sigma=sigma, count=count)


@given(st.integers(1, 2000), st.floats(-0.5, 2).map(lambda power: 10.0**power), st.floats(-12, -2))
def test_kairouz_and_optimal_spend_their_whole_delta(count, sigma, power):
    delta = 10.0**power
    with mpmath.workdps(40):
        share = float(1 - ((1 - mpmath.mpf(delta)) / (1 - mpmath.mpf(delta) / 2)) ** (mpmath.mpf(1) / count))
    each = gaussian_epsilon(share, mu=1 / sigma)
    bound, total = kairouz_composition(each, delta=share, count=count, slack=delta / 2)
    assert total == pytest.approx(delta, rel=1e-14)
    assert kairouz_bound(count=count, sigma=sigma, delta=delta) == pytest.approx(bound, rel=1e-12)
    epsilon = optimal_bound(count=count, sigma=sigma, delta=delta)
    if epsilon > 0:
        around = epsilon * np.array([1 - 1e-13, 1 + 1e-13])
        before, after = optimal_composition_delta(around, epsilon=each, delta=share, count=count)
        assert after * (1 - 1e-9) <= delta <= before * (1 + 1e-9)
        assert composed_delta(share, count=count) <= after


@settings(max_examples=15)
@given(SIGMAS.filter(lambda sigma: sigma > 0.1), SLACKS)
def test_the_cost_from_one_point_of_each_release_moves_as_it_should(sigma, delta):
    count = np.unique(np.round(np.geomspace(1, 1e6, 25)))
    for rule in (kairouz_bound, optimal_bound):
        epsilon = rule(count=count, sigma=sigma, delta=delta)
        falling = rule(count=100, sigma=sigma * np.geomspace(1, 1e3, 15), delta=delta)
        slack = rule(count=100, sigma=sigma, delta=delta ** np.linspace(1, 0.01, 15))
        for run in (epsilon, falling[::-1], slack[::-1]):
            assert np.all(np.diff(run) >= -1e-12 * run[1:])


def test_ends_of_the_rungs_from_one_point():
    for rule in (zcdp_bound, kairouz_bound, optimal_bound):
        assert rule(count=0, sigma=1.0, delta=0.1) == rule(count=0, sigma=1.0, delta=0.0) == 0.0
        assert rule(count=5, sigma=1.0, sensitivity=0.0, delta=0.0) == 0.0
        assert rule(count=5, sigma=1.0, delta=0.0) == math.inf
        assert rule(count=[0, 5], sigma=1.0, delta=0.1).shape == (2,)
        assert 0 <= rule(count=5, sigma=1e6, delta=0.9) < 1e-3
    assert kairouz_bound(count=5, sigma=1.0, delta=1.0) == optimal_bound(count=5, sigma=1.0, delta=1.0) == 0.0


def test_ends():
    for rule in LADDER:
        assert rule(count=0, sigma=1.0, delta=0.1) == rule(count=0, sigma=1.0, delta=0.0) == 0.0
        assert rule(count=5, sigma=1.0, sensitivity=0.0, delta=0.0) == 0.0
        assert rule(count=5, sigma=1.0, delta=0.0) == math.inf
        assert rule(count=[0, 5], sigma=1.0, delta=0.1).shape == (2,)
    assert rdp_bound_search(count=0, sigma=1.0, delta=0.1) == (0.0, math.inf)
    assert rdp_bound_search(count=1, sigma=1.0, delta=0.0) == (math.inf, math.inf)
    assert rdp_best_order(count=[0, 1], sigma=1.0, delta=[0.1, 1.0]).tolist() == [math.inf, 1.0]
    assert improved_best_order(count=[0, 1], sigma=1.0, delta=[0.1, 0.0]).tolist() == [
        pytest.approx(10),
        math.inf,
    ]
    assert improved_bound(count=3, sigma=1.0, delta=1.0) == exact_epsilon(count=3, sigma=1.0, delta=1.0) == 0.0
    assert basic_composition(0.5, delta=0.4, count=3) == (1.5, 1.0)
    assert basic_composition(0.5, delta=0.4, count=0) == (0.0, 0.0)
    assert advanced_composition([0.0, 1.0], count=[5, 0], slack=0.0).tolist() == [0.0, 0.0]
    assert advanced_composition(0.1, count=5, slack=0.0) == math.inf
    with pytest.raises(TypeError, match="rdp_bound_search takes one number"):
        rdp_bound_search(count=[1, 2], sigma=1.0, delta=0.1)
