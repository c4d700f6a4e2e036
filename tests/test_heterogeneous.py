import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.guarantees import basic_composition, composed_delta, kairouz_composition
from dpviz.accounting.heterogeneous import (
    advanced_heterogeneous,
    basic_heterogeneous,
    composed_heterogeneous_delta,
    optimal_heterogeneous_delta,
    optimal_heterogeneous_epsilon,
)
from dpviz.accounting.optimal import optimal_composition_delta, optimal_composition_epsilon
from tests.reference import distance, entries

EPSILON = st.floats(-4, 1).map(lambda power: 10.0**power)
SLACK = st.floats(-20, -1).map(lambda power: 10.0**power)


def definition(composed, epsilons, deltas):
    """Return delta from every subset of lies, in 50 digits."""
    with mpmath.workdps(50):
        losses = [mpmath.mpf(float(each)) for each in epsilons]
        total = mpmath.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(losses)):
            loss = sum(sign * each for sign, each in zip(signs, losses, strict=True))
            if loss > composed:
                weight = mpmath.fprod(1 / (1 + mpmath.exp(-s * e)) for s, e in zip(signs, losses, strict=True))
                total += weight * -mpmath.expm1(composed - loss)
        log_kept = sum(mpmath.log1p(-mpmath.mpf(float(each))) for each in deltas)
        return -mpmath.expm1(log_kept + mpmath.log1p(-total))


@entries("optimal_composition_hetero_delta")
def test_delta_reference(inputs, value):
    computed = optimal_heterogeneous_delta(inputs["eps_g"], epsilons=inputs["eps_list"])
    assert distance(computed, value) <= 1e-15


def test_a_sweep_against_every_subset():
    rng = np.random.default_rng(5)
    for _ in range(30):
        epsilons = 10 ** rng.uniform(-6, 1.3, rng.integers(1, 8))
        if rng.random() < 0.3:
            epsilons = epsilons * 0 + epsilons[0]
        deltas = np.where(rng.random(epsilons.size) < 0.5, 0.0, 10 ** rng.uniform(-20, -2, epsilons.size))
        for composed in (0.0, *(rng.random(3) * epsilons.sum())):
            truth = definition(composed, epsilons, deltas)
            computed = optimal_heterogeneous_delta(composed, epsilons=epsilons, deltas=deltas)
            assert abs(computed - truth) <= 1e-13 * truth


@given(st.lists(EPSILON, min_size=1, max_size=6), SLACK)
def test_inverse_against_the_definition(epsilons, target):
    back = optimal_heterogeneous_epsilon(target, epsilons=epsilons)
    nothing = [0.0] * len(epsilons)
    wide = mpmath.mpf(1e-12 * back + 1e-15 * max(epsilons))
    assert definition(back + wide, epsilons, nothing) <= target
    if back > 0:
        assert definition(max(back - wide, 0), epsilons, nothing) >= target


@given(EPSILON, st.integers(1, 500), SLACK, st.floats(0, 1), SLACK)
def test_equal_releases_are_the_homogeneous_theorem(epsilon, count, delta, share, target):
    composed = share * epsilon * count
    same = {"epsilons": [epsilon, epsilon, epsilon / 2], "counts": [count, 3, 0]}
    alike = {"epsilon": epsilon, "count": count + 3}
    expected = optimal_composition_delta(composed, delta=delta, **alike)
    computed = optimal_heterogeneous_delta(composed, deltas=[delta, delta, 0.0], **same)
    assert computed == pytest.approx(expected, rel=2e-12, abs=1e-305)
    expected = optimal_composition_epsilon(target, **alike)
    assert optimal_heterogeneous_epsilon(target, **same) == pytest.approx(expected, rel=1e-11, abs=1e-11 * epsilon)


@given(st.lists(EPSILON, min_size=1, max_size=9), st.lists(SLACK, min_size=9, max_size=9), SLACK)
def test_every_bound_is_above_the_least(epsilons, deltas, slack):
    deltas = deltas[: len(epsilons)]
    bound, total = advanced_heterogeneous(epsilons, deltas=deltas, slack=slack)
    assert bound <= basic_heterogeneous(epsilons)[0]
    assert optimal_heterogeneous_delta(bound, epsilons=epsilons, deltas=deltas) <= total * (1 + 1e-12)
    assert total == composed_heterogeneous_delta(deltas, slack=slack)
    assert composed_heterogeneous_delta(deltas) <= basic_heterogeneous(epsilons, deltas=deltas)[1] * (1 + 1e-15)


@given(EPSILON, st.integers(1, 50), SLACK, SLACK)
def test_closed_forms_reduce_to_those_of_equal_releases(epsilon, count, delta, slack):
    same = [epsilon] * count
    assert basic_heterogeneous(same, deltas=delta) == pytest.approx(
        basic_composition(epsilon, delta=delta, count=count)
    )
    found = advanced_heterogeneous(same, deltas=delta, slack=slack)
    assert found == pytest.approx(kairouz_composition(epsilon, delta=delta, count=count, slack=slack), rel=1e-13)
    assert composed_heterogeneous_delta([delta] * count) == pytest.approx(composed_delta(delta, count=count), rel=1e-14)


@given(st.lists(EPSILON, min_size=1, max_size=9), SLACK)
def test_delta_falls_and_one_more_release_costs_more(epsilons, extra):
    composed = np.linspace(0, sum(epsilons), 101)
    spent = optimal_heterogeneous_delta(composed, epsilons=epsilons)
    more = optimal_heterogeneous_delta(composed, epsilons=[*epsilons, extra])
    assert np.all(np.diff(spent) <= 1e-13 * spent[:-1])
    assert np.all(more >= spent * (1 - 1e-13))
    known = (spent > 1e-12) & (spent < 0.99)
    back = optimal_heterogeneous_epsilon(spent[known], epsilons=epsilons)
    assert optimal_heterogeneous_delta(back, epsilons=epsilons) == pytest.approx(spent[known], rel=1e-12)


def test_against_the_distributions_of_dp_accounting():
    claims = ((0.1, 0.0), (0.35, 1e-6), (0.8, 1e-5))
    many = None
    for claim in claims:
        parameters = common.DifferentialPrivacyParameters(*claim)
        one = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=1e-4)
        many = one.self_compose(7) if many is None else many.compose(one.self_compose(7))
    given = {"epsilons": [epsilon for epsilon, _ in claims], "deltas": [delta for _, delta in claims], "counts": 7}
    for composed in (0.0, 1.0, 4.0):
        ours = optimal_heterogeneous_delta(composed, **given)
        assert ours <= many.get_delta_for_epsilon(composed) <= 1.005 * ours


def test_a_few_kinds_of_many_releases():
    given = {"epsilons": [0.01, 0.02], "counts": [600, 400]}
    spread = math.sqrt(600 * 0.01**2 + 400 * 0.02**2)
    epsilon = optimal_heterogeneous_epsilon([1e-300, 1e-6, 0.1], **given)
    assert optimal_heterogeneous_delta(epsilon, **given) == pytest.approx([1e-300, 1e-6, 0.1], rel=1e-11)
    assert 4 * spread < epsilon[1] < 7 * spread


def test_ends():
    assert basic_heterogeneous([[1.0, 2.0], [3.0, 4.0]], deltas=0.75)[0].tolist() == [3.0, 7.0]
    assert basic_heterogeneous([1.0, 2.0], deltas=0.75) == (3.0, 1.0)
    assert basic_heterogeneous([]) == (0.0, 0.0)
    assert advanced_heterogeneous([0.0, 0.0], slack=0.0) == (0.0, 0.0)
    assert advanced_heterogeneous([1.0, 2.0], slack=0.0) == (3.0, 0.0)
    assert advanced_heterogeneous([1e200, 1e200], slack=0.5)[0] == 2e200
    assert composed_heterogeneous_delta([0.25, 1.0]) == 1.0
    assert optimal_heterogeneous_delta([0.0, 1.0], epsilons=[0.0, 0.0], deltas=0.5).tolist() == [0.75, 0.75]
    assert optimal_heterogeneous_delta([[math.inf]], epsilons=[1.0], deltas=0.5).tolist() == [[0.5]]
    assert optimal_heterogeneous_delta(3.0, epsilons=[1.0, 2.0]) == 0.0
    assert optimal_heterogeneous_delta(0.0, epsilons=[1e4, 2e3]) == 1.0
    assert optimal_heterogeneous_delta(0.5, epsilons=[1.0], deltas=[1.0]) == 1.0
    assert optimal_heterogeneous_delta(0.5, epsilons=[]) == 0.0
    assert optimal_heterogeneous_epsilon([0.0, 1.0], epsilons=[1.0, 2.0]).tolist() == [3.0, 0.0]
    assert optimal_heterogeneous_epsilon(0.1, epsilons=[1.0], deltas=0.2) == math.inf
    assert optimal_heterogeneous_epsilon(0.5, epsilons=[0.0]) == 0.0
    assert optimal_heterogeneous_epsilon(0.2, epsilons=[1.5], deltas=[0.2]) == 1.5
    with pytest.raises(DomainError, match=r"epsilons must be few enough.*33554432 outcomes"):
        optimal_heterogeneous_delta(1.0, epsilons=np.linspace(0.1, 1, 25))
    with pytest.raises(TypeError, match="epsilons must be a list of numbers"):
        optimal_heterogeneous_delta(1.0, epsilons=[[0.1]])
    with pytest.raises(TypeError, match="epsilons must have a number for each release"):
        basic_heterogeneous(1.0)
    with pytest.raises(DomainError, match="counts must be a whole number"):
        optimal_heterogeneous_delta(1.0, epsilons=[1.0], counts=0.5)
