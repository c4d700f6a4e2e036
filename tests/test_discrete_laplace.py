import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.discrete_laplace import DiscreteLaplace, discrete_laplace_variance
from dpviz.accounting.mechanism import Mechanism
from tests.reference import distance, entries

SCALES = st.floats(0.05, 200)
CHANGES = st.integers(1, 30)


@entries("discrete_laplace_variance")
def test_variance_reference(inputs, value):
    assert distance(discrete_laplace_variance(inputs["eps"], sensitivity=inputs["Delta"]), value) <= 1e-13


def test_variance_in_many_digits():
    for epsilon in np.geomspace(1e-150, 700, 200):
        with mpmath.workdps(40):
            truth = 1 / (2 * mpmath.sinh(mpmath.mpf(epsilon) / 6) ** 2)
            assert abs(discrete_laplace_variance(epsilon, sensitivity=3) / truth - 1) < 2e-13
    assert discrete_laplace_variance(1.0, sensitivity=2) == pytest.approx(
        DiscreteLaplace(2.0, sensitivity=2).variance, rel=1e-15
    )


def law(mechanism, reach):
    """Return the probabilities of −reach … reach under both neighbours, in many digits."""
    rate = 1 / mpmath.mpf(mechanism.scale)
    centre = mpmath.tanh(rate / 2)
    whole = range(-reach, reach + 1)
    change = mechanism.sensitivity
    return [(centre * mpmath.exp(-abs(z) * rate), centre * mpmath.exp(-abs(z - change) * rate)) for z in whole]


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.3, 1), (1.0, 1), (2.0, 3), (7.5, 10), (0.7, 12), (30.0, 1)])
def test_profile_moments_and_divergence_are_the_sums(scale, sensitivity):
    mechanism = DiscreteLaplace(scale, sensitivity=sensitivity)
    with mpmath.workdps(30):
        pairs = law(mechanism, int(60 * scale) + 2 * sensitivity + 5)
        assert abs(sum(p for p, _ in pairs) - 1) < 1e-24
        for share in (0.0, 0.11, 0.5, 0.83, 0.999):
            epsilon = share * mechanism.pure_epsilon
            truth = sum(max(p - mpmath.exp(mpmath.mpf(epsilon)) * q, 0) for p, q in pairs)
            assert abs(mechanism.delta(epsilon) / truth - 1) < 1e-12
        for order in (1.5, 2.0, 8.0):
            truth = mpmath.log(sum(p**order * q ** (1 - mpmath.mpf(order)) for p, q in pairs)) / (order - 1)
            assert abs(mechanism.rdp(order) / truth - 1) < 1e-13
        assert abs(mechanism.rdp(1.0) / sum(p * mpmath.log(p / q) for p, q in pairs) - 1) < 1e-13


def test_divergence_in_many_digits_where_it_is_tiny_or_huge():
    for scale, sensitivity, order in (
        (1e6, 1, 1 + 1e-7), (1e8, 1000, 2.0), (1e9, 1, 1e6), (100.0, 7, 1e5), (3.0, 10**6, 1.5), (1e-3, 5, 3.0), (1e5, 10**5, 1.0)
    ):  # fmt: skip
        with mpmath.workdps(80):
            q, s, a = mpmath.exp(-1 / mpmath.mpf(scale)), sensitivity / mpmath.mpf(scale), mpmath.mpf(order) - 1
            if a == 0:
                a = mpmath.mpf(10) ** -30
            inner = (1 - q) * (1 - q ** ((1 + 2 * a) * sensitivity)) / (1 - q ** (1 + 2 * a))
            total = (mpmath.exp(a * s) * (q + inner) + q**sensitivity * mpmath.exp(-a * s)) / (1 + q)
            truth = mpmath.log(total) / a
            assert abs(DiscreteLaplace(scale, sensitivity=sensitivity).rdp(order) / truth - 1) < 2e-15


@given(SCALES, CHANGES, st.floats(0, 1))
def test_profile_as_another_library_has_it(scale, sensitivity, share):
    mechanism = DiscreteLaplace(scale, sensitivity=sensitivity)
    stranger = privacy_loss_mechanism.DiscreteLaplacePrivacyLoss(1 / scale, sensitivity=sensitivity)
    epsilon = share * mechanism.pure_epsilon
    assert mechanism.delta(epsilon) == pytest.approx(stranger.get_delta_for_epsilon(epsilon), rel=1e-7, abs=1e-12)


@given(SCALES, CHANGES, st.floats(0, 1))
def test_epsilon_inverts_delta(scale, sensitivity, delta):
    mechanism = DiscreteLaplace(scale, sensitivity=sensitivity)
    epsilon = mechanism.epsilon(delta)
    assert 0 <= epsilon <= mechanism.pure_epsilon
    assert mechanism.delta(epsilon) <= delta
    if epsilon > 1e-2 * mechanism.pure_epsilon:
        assert mechanism.delta(epsilon * (1 - 1e-11)) >= delta * (1 - 1e-9)


@given(st.floats(0.1, 50), CHANGES)
def test_tradeoff_goes_through_the_threshold_tests(scale, sensitivity):
    mechanism = DiscreteLaplace(scale, sensitivity=sensitivity)
    q = math.exp(-1 / scale)
    z = np.arange(sensitivity)
    alpha, beta = q ** (sensitivity - z) / (1 + q), q ** (z + 1.0) / (1 + q)
    assert mechanism.beta(alpha) == pytest.approx(beta, rel=1e-11)
    middle = (alpha[1:] + alpha[:-1]) / 2
    assert mechanism.beta(middle) == pytest.approx((beta[1:] + beta[:-1]) / 2, rel=1e-11)
    assert mechanism.beta([0.0, alpha[0] / 2, (1 + alpha[-1]) / 2, 1.0]) == pytest.approx(
        [1, (1 + beta[0]) / 2, beta[-1] / 2, 0], rel=1e-11
    )


@given(st.floats(0.1, 50), CHANGES, st.floats(0, 1))
def test_tradeoff_and_profile_are_conjugate(scale, sensitivity, share):
    mechanism = DiscreteLaplace(scale, sensitivity=sensitivity)
    epsilon = share * mechanism.pure_epsilon
    q = math.exp(-1 / scale)
    alpha = np.concatenate([[0.0], q ** (sensitivity - np.arange(sensitivity)) / (1 + q), [1.0]])  # where it bends
    support = np.max(1 - np.exp(epsilon + np.log(np.maximum(alpha, 1e-320))) - mechanism.beta(alpha))
    assert support == pytest.approx(mechanism.delta(epsilon), rel=1e-9, abs=1e-13)


def test_draws_have_the_law():
    for scale in (0.3, 1.0, 2.75):
        noise = DiscreteLaplace(scale).sample(np.random.default_rng(8), size=(100, 300)).ravel()
        low, high = -int(3 * scale) - 1, int(3 * scale) + 1
        kept = np.clip(noise, low, high)
        found = np.bincount(kept - low, minlength=high - low + 1)
        chance = DiscreteLaplace(scale).pmf(np.arange(low, high + 1))
        chance[[0, -1]] += (1 - chance.sum()) / 2
        statistic = ((found - 30_000 * chance) ** 2 / (30_000 * chance)).sum()
        assert statistic < chance.size + 4 * math.sqrt(2 * chance.size)


def test_draws_at_scales_of_many_digits():
    rng = np.random.default_rng(2)
    assert DiscreteLaplace(1e-10).sample(rng, size=5).tolist() == [0] * 5
    noise = DiscreteLaplace(2.0**40).sample(rng, size=2000)
    assert np.abs(noise).mean() == pytest.approx(2.0**40, rel=0.1)
    assert DiscreteLaplace(1.0).sample(rng, size=0).shape == (0,)
    assert DiscreteLaplace(1.0).sample(rng, size=()).shape == ()
    with pytest.raises(DomainError, match="scale must be at most"):
        DiscreteLaplace(2.0**41).sample(rng, size=1)
    with pytest.raises(TypeError, match="rng must be"):
        DiscreteLaplace(1.0).sample(1, size=1)


def test_it_is_a_mechanism_and_its_ends_are_said():
    mechanism = DiscreteLaplace(1.0)
    assert isinstance(mechanism, Mechanism)
    assert mechanism.delta([1.0, 2.0, math.inf]).tolist() == [0, 0, 0]
    assert mechanism.epsilon([0.0, 1.0]).tolist() == [1, 0]
    idle = DiscreteLaplace(1.0, sensitivity=0)
    assert (idle.delta(0.0), idle.epsilon(0.0), idle.beta(0.3), idle.rdp(2.0)) == (0, 0, 0.7, 0)
    for scale in (5e-324, 1e-300, 1e300, 1.7e308):
        for sensitivity in (0, 1, 2**53):
            extreme = DiscreteLaplace(scale, sensitivity=sensitivity)
            assert not np.isnan(extreme.delta([0.0, 1e-300, 1.0, 1e300])).any()
            assert not np.isnan(extreme.epsilon([0.0, 1e-300, 0.5, 1.0])).any()
            assert not np.isnan(extreme.beta([0.0, 1e-300, 0.5, 1.0])).any()
            assert not np.isnan(extreme.rdp([1.0, 1 + 1e-9, 2.0, 1e300])).any()
            assert not math.isnan(extreme.variance)
            assert not np.isnan(extreme.log_pmf([0, 2**53, -(2**53)])).any()
    with pytest.raises(DomainError, match="sensitivity must be a whole number"):
        DiscreteLaplace(1.0, sensitivity=1.5)
