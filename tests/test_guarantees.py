import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import LARGEST_COUNT, DomainError
from dpviz.accounting.composition import exact_epsilon
from dpviz.accounting.guarantees import (
    advanced_composition,
    basic_composition,
    composed_delta,
    kairouz_composition,
    largest_count_of,
    zcdp_composition,
)
from dpviz.accounting.optimal import optimal_composition_epsilon
from tests.reference import distance, entries

EPSILONS = st.floats(-6, 1).map(lambda power: 10.0**power)
SLACKS = st.floats(-30, -0.01).map(lambda power: 10.0**power)


@entries("advanced_kov34")
def test_kairouz_reference(inputs, value):
    epsilon, delta = kairouz_composition(inputs["eps"], count=inputs["k"], slack=inputs["delta_tilde"])
    assert distance(epsilon, value) <= 1e-15
    assert delta == pytest.approx(inputs["delta_tilde"], rel=1e-15)


@entries("advanced_zcdp")
def test_zcdp_reference(inputs, value):
    epsilon = zcdp_composition(inputs["eps"], count=inputs["k"], slack=inputs["delta_prime"])
    assert distance(epsilon, value) <= 1e-15


def test_closed_forms_in_mpmath():
    rng = np.random.default_rng(6)
    for _ in range(200):
        epsilon, count = 10 ** rng.uniform(-9, 2), round(10 ** rng.uniform(0, 9))
        slack, delta = 10 ** rng.uniform(-300, 0), 10 ** rng.uniform(-30, -1)
        with mpmath.workdps(40):
            e, k, s, d = map(mpmath.mpf, (epsilon, count, slack, delta))
            log_inverse, mean = -mpmath.log(s), k * e * mpmath.tanh(e / 2)
            second = mean + e * mpmath.sqrt(2 * k * mpmath.log(mpmath.e + mpmath.sqrt(k) * e / s))
            kairouz = min(k * e, second, mean + e * mpmath.sqrt(2 * k * log_inverse))
            zcdp = k * e**2 / 2 + e * mpmath.sqrt(2 * k * log_inverse)
            total = 1 - (1 - d) ** count * (1 - s)
        found = kairouz_composition(epsilon, delta=delta, count=count, slack=slack)
        assert found == pytest.approx((float(kairouz), float(total)), rel=2e-15)
        assert zcdp_composition(epsilon, count=count, slack=slack) == pytest.approx(float(zcdp), rel=2e-15)
        assert composed_delta(delta, count=count, slack=slack) == pytest.approx(float(total), rel=2e-15)


@given(EPSILONS, SLACKS)
def test_every_closed_form_is_above_the_optimum(epsilon, slack):
    count = np.unique(np.round(np.geomspace(1, 1e5, 30)))
    least = optimal_composition_epsilon(slack, epsilon=epsilon, count=count)
    kairouz, _ = kairouz_composition(epsilon, count=count, slack=slack)
    for bound in (
        basic_composition(epsilon, delta=0.0, count=count)[0],
        advanced_composition(epsilon, count=count, slack=slack),
        kairouz,
        zcdp_composition(epsilon, count=count, slack=slack),
    ):
        assert np.all(bound >= least * (1 - 1e-12))
        assert np.all(np.diff(bound) >= 0)
    assert np.all(kairouz <= zcdp_composition(epsilon, count=count, slack=slack) * (1 + 1e-15))
    assert np.all(kairouz <= epsilon * count)


def test_the_printed_form_with_k_outside_the_root_says_nothing():
    """Epsilon times k in place of √k is never below the plain sum, once delta' <= e^(−1/2)."""
    epsilon, count, slack = 0.1, 100, 1e-6
    printed = count * epsilon**2 / 2 + count * epsilon * math.sqrt(-2 * math.log(slack))
    assert printed == pytest.approx(53.065, abs=1e-3)
    assert round(zcdp_composition(epsilon, count=count, slack=slack), 4) == 5.7565
    assert basic_composition(epsilon, delta=0.0, count=count)[0] == 10.0


@given(st.floats(0, 5).map(lambda power: 10.0**-power), SLACKS, st.floats(-2, 2).map(lambda power: 10.0**power))
def test_the_largest_count_is_accounted_again(epsilon, slack, budget):
    for cost in (
        lambda count: basic_composition(epsilon, delta=0.0, count=count)[0],
        lambda count: advanced_composition(epsilon, count=count, slack=slack),
        lambda count: kairouz_composition(epsilon, count=count, slack=slack)[0],
        lambda count: optimal_composition_epsilon(slack, epsilon=epsilon, count=count),
    ):
        count = largest_count_of(cost, budget=budget, most=10**7)
        assert count == 0 or cost(count) <= budget
        assert count == 10**7 or cost(count + 1) > budget


def test_largest_counts_of_many_budgets_at_once():
    budgets = np.array([[0.0, 0.5], [3.0, math.inf]])
    cost = lambda count: exact_epsilon(count=count, sigma=10.0, delta=1e-6)  # noqa: E731
    counts = largest_count_of(cost, budget=budgets)
    assert counts[0, 0] == 0
    assert counts[1, 1] == LARGEST_COUNT
    assert cost(counts[1, 0]) <= 3.0 < cost(counts[1, 0] + 1)
    assert largest_count_of(lambda count: count, budget=LARGEST_COUNT - 1.0) == LARGEST_COUNT - 1
    assert largest_count_of(lambda count: count, budget=7.5, most=5) == 5.0
    assert largest_count_of(lambda count: count, budget=0.5) == 0.0
    with pytest.raises(DomainError, match="budget must be a number >= 0"):
        largest_count_of(lambda count: count, budget=-1.0)


def test_ends():
    assert kairouz_composition(0.5, delta=0.5, count=2, slack=0.0) == (1.0, 0.75)
    assert kairouz_composition(0.0, count=5, slack=0.0) == (0.0, 0.0)
    assert kairouz_composition([1.0, 0.0], delta=0.25, count=0, slack=0.5)[0].tolist() == [0.0, 0.0]
    assert kairouz_composition(1.0, count=3, slack=1.0) == (pytest.approx(3 * math.tanh(0.5)), 1.0)
    assert kairouz_composition(1e308, count=10, slack=1e-300)[0] == math.inf
    assert zcdp_composition(0.5, count=4, slack=0.0) == math.inf
    assert zcdp_composition([0.0, 0.5], count=[4, 0], slack=0.0).tolist() == [0.0, 0.0]
    assert composed_delta([0.0, 1.0], count=[5, 0]).tolist() == [0.0, 0.0]
    assert composed_delta(1.0, count=1) == composed_delta(0.0, count=3, slack=1.0) == 1.0
    assert composed_delta(1e-300, count=2**53) == pytest.approx(2**53 * 1e-300, rel=1e-15)
