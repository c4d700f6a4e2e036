import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.exponential_mechanism import ExponentialMechanism
from dpviz.accounting.mechanism import Mechanism

UTILITIES = st.lists(st.floats(-50, 50), min_size=2, max_size=8)


def two_outputs(pure_epsilon, place):
    """Return the pair of laws of losses t and t − ε, at t = place · ε."""
    top = place * pure_epsilon
    chance = -math.expm1(top - pure_epsilon) / -math.expm1(-pure_epsilon)
    return np.array([chance, 1 - chance]), np.array(
        [chance * math.exp(-top), (1 - chance) * math.exp(pure_epsilon - top)]
    )


def test_it_is_a_mechanism():
    assert isinstance(ExponentialMechanism(1.0), Mechanism)


@given(UTILITIES, st.floats(0, 20), st.floats(0.1, 10), st.booleans())
def test_probabilities_are_the_softmax(utility, epsilon, sensitivity, is_monotone):
    mechanism = ExponentialMechanism(epsilon, sensitivity=sensitivity, is_monotone=is_monotone)
    with mpmath.workdps(40):
        rate = mpmath.mpf(epsilon) / (mpmath.mpf(sensitivity) * (1 if is_monotone else 2))
        weights = [mpmath.exp(rate * mpmath.mpf(value)) for value in utility]
        truth = [mpmath.log(weight / sum(weights)) for weight in weights]
        for found, exact in zip(mechanism.log_probabilities(utility), truth, strict=True):
            assert abs(found - exact) <= 1e-12 * max(1, abs(exact))
    assert mechanism.probabilities(utility).sum() == pytest.approx(1, rel=1e-14)


@given(UTILITIES, st.data(), st.floats(0.01, 10), st.floats(0.1, 10), st.booleans())
def test_the_loss_keeps_the_pure_guarantee(utility, data, epsilon, sensitivity, is_monotone):
    low = 0.0 if is_monotone else -1.0
    moves = [data.draw(st.floats(low, 1)) for _ in utility]
    first = np.array(utility)
    second = first + sensitivity * np.array(moves)
    mechanism = ExponentialMechanism(epsilon, sensitivity=sensitivity, is_monotone=is_monotone)
    loss = mechanism.privacy_loss(first, other=second)
    truth = mechanism.log_probabilities(first) - mechanism.log_probabilities(second)
    assert loss == pytest.approx(truth, abs=1e-11 * max(1.0, np.abs(truth).max(), epsilon * 100 / sensitivity))
    assert np.abs(loss).max() <= epsilon * (1 + 1e-9) + 1e-11 * epsilon * 100 / sensitivity
    assert loss.max() - loss.min() <= epsilon * (1 + 1e-9) + 1e-11 * epsilon * 100 / sensitivity


def test_the_loss_keeps_its_digits_where_it_is_tiny():
    loss = ExponentialMechanism(1.0).privacy_loss([0.0, 2.0**-40, 5.0], other=[0.0, 0.0, 5.0])
    with mpmath.workdps(40):
        weights = [mpmath.exp(mpmath.mpf(x) / 2) for x in (0, mpmath.mpf(2) ** -40, 5)]
        others = [mpmath.exp(mpmath.mpf(x) / 2) for x in (0, 0, 5)]
        truth = [mpmath.log(w / sum(weights) / (o / sum(others))) for w, o in zip(weights, others, strict=True)]
    assert loss == pytest.approx([float(t) for t in truth], rel=1e-14)


@pytest.mark.parametrize("pure_epsilon", [0.1, 1.0, 3.0, 10.0])
def test_the_profile_is_the_most_of_all_pairs(pure_epsilon):
    mechanism = ExponentialMechanism(pure_epsilon)
    for epsilon in np.linspace(0, pure_epsilon, 7)[:-1]:
        deltas = []
        for place in np.linspace(0, 1, 2001):
            p, q = two_outputs(pure_epsilon, place)
            deltas.append(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert max(deltas) <= mechanism.delta(epsilon) * (1 + 1e-9)
        assert max(deltas) == pytest.approx(mechanism.delta(epsilon), rel=1e-5)


@pytest.mark.parametrize("is_monotone", [False, True])
def test_no_pair_of_utilities_beats_the_profile_and_some_reach_it(is_monotone):
    rng = np.random.default_rng(2)
    mechanism = ExponentialMechanism(1.0, sensitivity=1.0, is_monotone=is_monotone)
    epsilon = np.array([0.0, 0.3, 0.7])
    best = np.zeros(3)
    for _ in range(1500):
        first = rng.normal(0, 2, 3)
        move = rng.choice([0.0 if is_monotone else -1.0, 1.0], 3)
        p, q = mechanism.probabilities(first), mechanism.probabilities(first + move)
        best = np.maximum(best, np.maximum(p - np.exp(epsilon)[:, None] * q, 0).sum(axis=1))
    limit = mechanism.delta(epsilon)
    assert np.all(best <= limit * (1 + 1e-12))
    assert best == pytest.approx(limit, rel=2e-2)


def test_the_tradeoff_is_the_least_of_all_pairs():
    pure_epsilon = 1.5
    mechanism = ExponentialMechanism(pure_epsilon)
    alpha = np.linspace(0, 1, 101)
    for place in np.linspace(0, 1, 101):
        p, q = two_outputs(pure_epsilon, place)
        assert mechanism.beta(q[0]) == pytest.approx(p[1], rel=1e-13, abs=1e-15)  # reached by the pair's own test
        assert np.all(np.interp(alpha, [0, q[0], 1], [1, p[1], 0]) >= mechanism.beta(alpha) - 1e-14)


@given(st.floats(1e-6, 8), st.floats(0, 1))
def test_tradeoff_and_profile_are_conjugate(pure_epsilon, place):
    mechanism = ExponentialMechanism(pure_epsilon)
    alpha = np.concatenate([[0.0], np.geomspace(1e-9, 1, 4000)])
    epsilon = place * pure_epsilon
    support = np.max(1 - math.exp(epsilon) * alpha - mechanism.beta(alpha))
    assert support <= mechanism.delta(epsilon) + 1e-12
    assert support == pytest.approx(mechanism.delta(epsilon), rel=1e-3, abs=1e-9)


def test_rdp_in_many_digits():
    rng = np.random.default_rng(1)
    with mpmath.workdps(80):

        def log_sinhc(x):
            return mpmath.log(mpmath.sinh(x) / x)

        for _ in range(400):
            epsilon, order = 10 ** rng.uniform(-9, 3), 1 + 10 ** rng.uniform(-9, 7)
            a, h = mpmath.mpf(order) - 1, mpmath.mpf(epsilon) / 2
            truth = ((a + 1) * log_sinhc((a + 1) * h) - a * log_sinhc(a * h) - log_sinhc(h)) / a
            assert abs(ExponentialMechanism(epsilon).rdp(order) / truth - 1) < 2e-15


@pytest.mark.parametrize(("pure_epsilon", "order"), list(itertools.product([0.2, 1.3, 6.0], [1.0, 1.5, 2.0, 7.3])))
def test_rdp_is_the_most_of_all_pairs(pure_epsilon, order):
    found = []
    for place in np.linspace(0, 1, 4001)[1:-1]:
        p, q = two_outputs(pure_epsilon, place)
        loss = np.log(p / q)
        found.append(p @ loss if order == 1 else math.log(p @ np.exp((order - 1) * loss)) / (order - 1))
    assert max(found) == pytest.approx(ExponentialMechanism(pure_epsilon).rdp(order), rel=1e-6)


@given(st.floats(1e-8, 1e3), st.floats(1, 1e6))
def test_rdp_is_below_the_quarter_of_zcdp_and_the_pure_bound(pure_epsilon, order):
    divergence = ExponentialMechanism(pure_epsilon).rdp(order)
    assert divergence <= min(order * pure_epsilon**2 / 8, pure_epsilon) * (1 + 1e-12)


@given(st.floats(1e-8, 500), st.floats(0, 1))
def test_epsilon_inverts_delta(pure_epsilon, delta):
    mechanism = ExponentialMechanism(pure_epsilon)
    epsilon = mechanism.epsilon(delta)
    assert mechanism.delta(epsilon) <= delta
    if epsilon > 1e-3 * pure_epsilon:
        assert mechanism.delta(epsilon * (1 - 1e-13)) >= delta * (1 - 1e-9)


def test_half_of_what_pure_dp_says():
    mechanism = ExponentialMechanism(1e-3)
    assert mechanism.delta(0.0) == pytest.approx(math.tanh(1e-3 / 4), rel=1e-14)
    assert mechanism.delta(0.0) / math.tanh(1e-3 / 2) == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("pure_epsilon", [0.0, 1e-300, 1.0, 800.0, 1e308])
def test_ends(pure_epsilon):
    mechanism = ExponentialMechanism(pure_epsilon)
    assert mechanism.delta([pure_epsilon, math.inf]).tolist() == [0, 0]
    assert mechanism.epsilon([0.0, 1.0]).tolist() == [pure_epsilon, 0]
    assert mechanism.beta([0.0, 1.0]).tolist() == [1, 0]
    assert np.all(np.isfinite(mechanism.rdp([1.0, 1.5, 1e300])))
    assert mechanism.probabilities([1e308, -1e308]).sum() == 1
    assert mechanism.log_probabilities([0.0, -1e308])[1] <= 0


def test_misses_are_counted_strictly():
    mechanism = ExponentialMechanism(1.0)
    utility = [3.0, 1.0, 2.0, 3.0]
    chances = mechanism.probabilities(utility)
    assert mechanism.miss_probability([0.0, 0.5, 1.0, 1.5, 2.0], utility=utility) == pytest.approx(
        [chances[1] + chances[2], chances[1] + chances[2], chances[1], chances[1], 0.0], rel=1e-14
    )


def test_what_is_wrong_is_refused():
    with pytest.raises(DomainError, match="pure_epsilon"):
        ExponentialMechanism(-1.0)
    with pytest.raises(TypeError, match="is_monotone"):
        ExponentialMechanism(1.0, sensitivity=1.0, is_monotone=1)
    with pytest.raises(DomainError, match="utility"):
        ExponentialMechanism(1.0).probabilities([0.0, math.inf])
    with pytest.raises(DomainError, match="utility must be a list of at least one number"):
        ExponentialMechanism(1.0).probabilities([])
    with pytest.raises(TypeError, match="utility must be one list"):
        ExponentialMechanism(1.0).miss_probability(1.0, utility=[[1.0, 2.0]])
