import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from hypothesis import given, strategies as st

from dpviz.accounting.discrete_gaussian import (
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    discrete_gaussian_log_delta,
    discrete_gaussian_normalizer,
    discrete_gaussian_variance,
)
from dpviz.accounting.gaussian import gaussian_delta
from tests.reference import distance, entries


@entries("discrete_gaussian_normalizer")
def test_normalizer_reference(inputs, value):
    assert distance(discrete_gaussian_normalizer(inputs["sigma"]), value) <= 1e-15


@entries("discrete_gaussian_variance")
def test_variance_reference(inputs, value):
    assert distance(discrete_gaussian_variance(inputs["sigma"]), value) <= 1e-14


@entries("discrete_gaussian_delta")
def test_delta_reference(inputs, value):
    found = discrete_gaussian_delta(inputs["eps"], sigma=inputs["sigma"], sensitivity=inputs["Delta"])
    assert distance(found, value) <= 1e-14


def whole_sums(sigma):
    """Return Σ e^{−z²/2σ²} and Σ z² e^{−z²/2σ²}, in many digits."""
    width, total, moment, z = mpmath.mpf(sigma), mpmath.mpf(1), mpmath.mpf(0), 1
    while True:
        term = 2 * mpmath.exp(-(z**2) / (2 * width * width))
        total, moment, z = total + term, moment + z * z * term, z + 1
        if z > width and z * z * term < mpmath.mpf(10) ** -40 * moment:
            return total, moment


def test_normalizer_and_variance_in_many_digits():
    for sigma in np.concatenate([np.geomspace(0.027, 50, 40), [1.4999, 1.5, 1.5001]]):
        with mpmath.workdps(50):
            total, moment = whole_sums(sigma)
            assert abs(discrete_gaussian_normalizer(sigma) / total - 1) < 1e-15
            assert abs(discrete_gaussian_variance(sigma) / (moment / total) - 1) < 1e-12


def true_log_delta(epsilon, sigma, change):
    """Return the log of Σ (p − e^ε q)₊ over the outputs where it is positive."""
    width, loss = mpmath.mpf(sigma), mpmath.mpf(epsilon)
    first = int(mpmath.floor(loss * width * width / change - mpmath.mpf(change) / 2)) + 1
    place, total = max(first, -int(12 * sigma) - 3), mpmath.mpf(0)
    while True:
        term = mpmath.exp(-(mpmath.mpf(place) ** 2) / (2 * width * width))
        term *= -mpmath.expm1(loss - mpmath.mpf(change * (2 * place + change)) / (2 * width * width))
        total, place = total + term, place + 1
        if place > 0 and term < total * mpmath.mpf(10) ** -22:
            normalizer = width * mpmath.sqrt(2 * mpmath.pi) if sigma > 3 else whole_sums(sigma)[0]
            return mpmath.log(total / normalizer)


def cases(count):
    rng = np.random.default_rng(11)
    for _ in range(count):
        sigma = 10 ** rng.uniform(-1.7, 2.2)
        change = int(10 ** rng.uniform(0, 2.3)) if rng.random() < 0.5 else 1
        tail = rng.uniform(0, 37) * rng.choice([1, 0.05, 1e-6])
        yield tail * change / sigma + rng.choice([0, 0.5, 1]) * (change / sigma) ** 2, sigma, change


def test_delta_in_many_digits():
    for epsilon, sigma, change in cases(80):
        with mpmath.workdps(40):
            truth = true_log_delta(epsilon, sigma, change)
            found = discrete_gaussian_delta(epsilon, sigma=sigma, sensitivity=change)
            assert abs(found - mpmath.exp(truth)) <= 5e-13 * mpmath.exp(truth) + 1e-307, (epsilon, sigma, change)
            log = discrete_gaussian_log_delta(epsilon, sigma=sigma, sensitivity=change)
            assert abs(log - truth) <= 1e-14 * max(1, abs(truth))


@pytest.mark.parametrize(
    ("epsilon", "sigma", "change"),
    [(3.6e-3, 1e4, 1), (1e-9, 5e3, 3), (3.0, 2e3, 700), (0.0, 1e3, 9000), (1e-5, 1e5, 7)],
)
def test_delta_of_wide_noise_summed_to_the_last_term(epsilon, sigma, change):
    first = math.floor(epsilon * sigma * sigma / change - change / 2) + 1
    place = np.arange(max(first, -12 * sigma), max(first, 0) + 12 * sigma)
    gap = np.longdouble(epsilon) - change * (2 * place + change) / (2 * np.longdouble(sigma) ** 2)
    terms = np.exp(-(place.astype(np.longdouble) ** 2) / (2 * np.longdouble(sigma) ** 2)) * -np.expm1(gap)
    truth = math.fsum(terms.astype(float)) / (sigma * math.sqrt(2 * math.pi))
    assert discrete_gaussian_delta(epsilon, sigma=sigma, sensitivity=change) == pytest.approx(truth, rel=1e-13)


@given(st.floats(1, 60), st.integers(1, 5), st.floats(0, 5))
def test_delta_as_another_library_has_it(sigma, sensitivity, tail):
    epsilon = tail * sensitivity / sigma
    stranger = privacy_loss_mechanism.DiscreteGaussianPrivacyLoss(sigma, sensitivity=sensitivity)
    found = discrete_gaussian_delta(epsilon, sigma=sigma, sensitivity=sensitivity)
    assert found == pytest.approx(stranger.get_delta_for_epsilon(epsilon), rel=1e-6, abs=1e-12)


@given(st.floats(0.02, 1e5), st.integers(1, 1000))
def test_delta_falls_and_is_a_probability(sigma, sensitivity):
    epsilon = np.linspace(0, 20 * sensitivity / sigma + (sensitivity / sigma) ** 2, 400)
    delta = discrete_gaussian_delta(epsilon, sigma=sigma, sensitivity=sensitivity)
    assert np.all((delta >= 0) & (delta <= 1))
    assert np.all(np.diff(delta) <= 1e-15 * delta[:-1])


def test_wide_noise_is_gaussian_noise():
    epsilon = np.linspace(0, 1e-4, 200)
    wide = discrete_gaussian_delta(epsilon, sigma=1e6, sensitivity=10)
    assert wide == pytest.approx(gaussian_delta(epsilon, mu=1e-5), rel=1e-8)
    assert discrete_gaussian_delta(2.0, sigma=1e200, sensitivity=2**53) == 0
    assert discrete_gaussian_delta(1e-199, sigma=1e200, sensitivity=1) == pytest.approx(
        gaussian_delta(1e-199, mu=1e-200), rel=1e-9
    )


@given(st.floats(0.05, 1e5), st.integers(1, 100), st.floats(-300, -1e-3))
def test_epsilon_inverts_delta(sigma, sensitivity, power):
    delta = 10.0**power
    epsilon = discrete_gaussian_epsilon(delta, sigma=sigma, sensitivity=sensitivity)
    given_ = {"sigma": sigma, "sensitivity": sensitivity}
    assert discrete_gaussian_delta(epsilon, **given_) <= delta
    if epsilon > 1e-2 * sensitivity / sigma:
        assert discrete_gaussian_delta(epsilon * (1 - 1e-12), **given_) >= delta * (1 - 1e-9)


def test_epsilon_of_arrays_and_ends():
    epsilon = discrete_gaussian_epsilon(np.geomspace(1e-300, 1, 50), sigma=4.0)
    assert np.all(np.diff(epsilon) <= 0)
    assert epsilon[-1] == 0
    assert discrete_gaussian_epsilon([0.0, 1.0], sigma=1.0).tolist() == [math.inf, 0]
    assert discrete_gaussian_epsilon(0.0, sigma=1.0, sensitivity=0) == 0
    assert discrete_gaussian_epsilon(0.1, sigma=1e-200) == math.inf
    assert discrete_gaussian_delta([0.0, math.inf], sigma=1.0, sensitivity=[0, 1]).tolist() == [0, 0]
    assert discrete_gaussian_log_delta(math.inf, sigma=1.0) == -math.inf


@pytest.mark.parametrize("sigma", [5e-324, 1e-200, 1e-3, 1e100, 1.7e308])
def test_extremes_give_numbers(sigma):
    for sensitivity in (1, 2**53):
        delta = discrete_gaussian_delta([0.0, 5e-324, 1e-100, 1.0, 1e100, 1e308], sigma=sigma, sensitivity=sensitivity)
        assert np.all((delta >= 0) & (delta <= 1))
        assert not np.isnan(
            discrete_gaussian_epsilon([0.0, 1e-300, 1e-5, 0.9, 1.0], sigma=sigma, sensitivity=sensitivity)
        ).any()
    assert discrete_gaussian_normalizer(sigma) >= 1
    assert discrete_gaussian_variance(sigma) >= 0
