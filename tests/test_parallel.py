import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import gaussian_epsilon
from dpviz.accounting.parallel import group_privacy, parallel_composition, parallel_mu
from dpviz.accounting.relation import Relation
from tests.reference import distance, entries

EPSILONS = st.lists(st.floats(0, 10), min_size=1, max_size=6)
EITHER = st.sampled_from(Relation)


@entries("group_privacy_delta")
def test_group_reference(inputs, value):
    epsilon, delta = group_privacy(inputs["eps"], delta=inputs["delta"], group_size=inputs["k"])
    assert distance(delta, value) <= 1e-15
    assert epsilon == inputs["k"] * inputs["eps"]


def test_group_delta_against_its_sum():
    rng = np.random.default_rng(2)
    for _ in range(300):
        epsilon, size = 10 ** rng.uniform(-12, 2), round(10 ** rng.uniform(0, 6))
        delta = min(1.0, 10 ** rng.uniform(-5, 0) * math.exp(-min(epsilon * size, 700)))
        with mpmath.workdps(40):
            ratio = mpmath.expm1(size * mpmath.mpf(epsilon)) / mpmath.expm1(mpmath.mpf(epsilon))
            truth = min(mpmath.mpf(1), delta * ratio)
        assert abs(group_privacy(epsilon, delta=delta, group_size=size)[1] - truth) <= 4e-15 * truth


@given(st.floats(1e-6, 5), st.floats(-12, -1).map(lambda power: 10.0**power), st.integers(1, 12), st.integers(1, 12))
def test_a_group_of_groups(epsilon, delta, inner, outer):
    once = group_privacy(epsilon, delta=delta, group_size=inner)
    twice = group_privacy(once[0], delta=once[1], group_size=outer)
    whole = group_privacy(epsilon, delta=delta, group_size=inner * outer)
    assert twice[0] == pytest.approx(whole[0], rel=1e-14)
    assert twice[1] == pytest.approx(whole[1], rel=1e-11) or once[1] == 1


@given(st.floats(0, 3), st.integers(1, 8))
def test_group_of_randomised_response_holds(epsilon, size):
    """The group's guarantee is one: the (epsilon, delta) of a mechanism that reveals all at times, then lies."""
    delta = 1e-3
    group_epsilon, group_delta = group_privacy(epsilon, delta=delta, group_size=size)
    p, q = delta, 0.0
    for _ in range(size - 1):
        p, q = delta + math.exp(epsilon) * p, q
    assert p - math.exp(group_epsilon) * q <= group_delta * (1 + 1e-12) or group_delta == 1


@given(EPSILONS, EITHER, st.floats(0, 0.5))
def test_parallel_is_between_one_part_and_all(epsilons, relation, delta):
    epsilon, total = parallel_composition(epsilons, deltas=delta, relation=relation)
    assert max(epsilons) <= epsilon <= sum(epsilons) * (1 + 1e-15)
    assert delta * (1 - 1e-15) <= total <= 2 * delta
    public = parallel_composition(epsilons, deltas=delta, relation=relation, is_public=True)
    assert public == parallel_composition(epsilons, deltas=delta, relation=Relation.ADD_OR_REMOVE_ONE)
    shuffled = parallel_composition(epsilons[::-1], deltas=delta, relation=relation)
    assert shuffled == (epsilon, total)


def test_two_bins_of_a_histogram():
    """Laplace noise of scale 1: a record that moves from one bin to the other shifts both; the log ratio 2 is reached."""
    shift = lambda x, y: -abs(x - 1) - abs(y) + abs(x) + abs(y - 1)  # noqa: E731
    worst = max(shift(x, y) for x in np.linspace(-5, 5, 41) for y in np.linspace(-5, 5, 41))
    assert worst == 2.0
    assert parallel_composition([1.0, 1.0], relation=Relation.REPLACE_ONE)[0] == worst
    mu = parallel_mu([0.25, 0.25], relation=Relation.REPLACE_ONE)
    assert mu == pytest.approx(0.25 * math.sqrt(2), rel=1e-15)
    assert gaussian_epsilon(1e-6, mu=mu) == pytest.approx(1.5436, rel=1e-4)
    alone = parallel_mu([0.25, 0.25], relation=Relation.ADD_OR_REMOVE_ONE)
    assert gaussian_epsilon(1e-6, mu=alone) == pytest.approx(1.0607, rel=1e-4)


def test_ends():
    for relation in Relation:
        assert parallel_composition([0.5], deltas=[0.25], relation=relation) == (0.5, 0.25)
        assert parallel_mu([3.0], relation=relation) == 3.0
        assert parallel_mu([[0.0, 0.0]], relation=relation).tolist() == [0.0]
    epsilon, delta = parallel_composition([[1.0, 2.0, 3.0]] * 2, deltas=[0.0, 0.5, 1.0], relation=Relation.REPLACE_ONE)
    assert (epsilon.tolist(), delta.tolist()) == ([5.0, 5.0], [1.0, 1.0])
    assert parallel_mu([1e200, 1e200], relation=Relation.REPLACE_ONE) == pytest.approx(math.sqrt(2) * 1e200)
    assert group_privacy(0.0, delta=1e-6, group_size=7) == (0.0, 7e-6)
    assert group_privacy(1e-320, delta=1e-6, group_size=7)[1] == pytest.approx(7e-6, rel=1e-15)
    assert group_privacy(2.0, delta=0.0, group_size=10**6) == (2e6, 0.0)
    assert group_privacy(2.0, delta=1e-300, group_size=10**6) == (2e6, 1.0)
    assert group_privacy([1.0, 1.0], delta=0.5, group_size=[0, 1])[1].tolist() == [0.0, 0.5]
    assert group_privacy(1e308, delta=1.0, group_size=2**53) == (math.inf, 1.0)
    with pytest.raises(DomainError, match="group_size must be a whole number"):
        group_privacy(1.0, group_size=1.5)
    with pytest.raises(TypeError, match="epsilons must have a number for each part"):
        parallel_composition(1.0, relation=Relation.REPLACE_ONE)
    with pytest.raises(TypeError, match="mus must have a number for each part"):
        parallel_mu([], relation=Relation.REPLACE_ONE)
