import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.averaging import mean_mu, mean_sigma
from dpviz.accounting.correlated_noise import (
    correlated_mean_mu,
    correlated_mean_sigma,
    mean_confidence_interval,
    mean_epsilon,
    mean_variance,
    simulate_answers,
)
from dpviz.accounting.gaussian import gaussian_epsilon
from tests.reference import distance, entries

SIGMAS = st.floats(1e-6, 1e6)
REPEATS = st.integers(1, 10**9)


@entries("mean_noise_variance")
def test_variance_reference(inputs, value):
    found = mean_variance(sigma=inputs["sigma"], repeats=inputs["r"], correlation=inputs["rho"])
    assert distance(found, value) <= 1e-15


@entries("mean_noise_sd")
def test_sigma_reference(inputs, value):
    found = correlated_mean_sigma(sigma=inputs["sigma"], repeats=inputs["r"], correlation=inputs["rho"])
    assert distance(found, value) <= 1e-15


@entries("mean_release_eps")
def test_price_reference(inputs, value):
    found = mean_epsilon(inputs["delta"], sigma=inputs["sigma"], sensitivity=inputs["Delta"], repeats=inputs["r"])
    assert distance(found, value) <= 1e-12


@given(SIGMAS, REPEATS, st.floats(-1, 1), st.floats(0, 1e-6))
def test_variance_in_exact_rationals_up_to_the_lower_end(sigma, repeats, place, above):
    """Half of the correlations lie a hair above −1/(r − 1), where 1 + (r − 1)ρ all but vanishes."""
    low = -1 / (repeats - 1) if repeats > 1 else -1.0
    correlation = place if place > 0 else max(low * (1 - above), low)
    truth = Fraction(sigma) ** 2 * (1 + (repeats - 1) * Fraction(correlation)) / repeats
    found = mean_variance(sigma=sigma, repeats=repeats, correlation=correlation)
    if truth <= 0:
        assert found == 0
    else:
        assert abs(Fraction(found) / truth - 1) < Fraction(1, 10**15)


@given(SIGMAS, st.floats(1e-3, 1e3), REPEATS, st.floats(0, 1))
def test_accuracy_gained_is_privacy_lost(sigma, sensitivity, repeats, place):
    low = -1 / (repeats - 1) if repeats > 1 else -1.0
    correlation = low + (1 - low) * place
    spread = correlated_mean_sigma(sigma=sigma, repeats=repeats, correlation=correlation)
    mu = correlated_mean_mu(sigma=sigma, sensitivity=sensitivity, repeats=repeats, correlation=correlation)
    assert math.isinf(mu) if spread == 0 else mu * spread == pytest.approx(sensitivity, rel=1e-14)


@pytest.mark.parametrize("correlation", [-0.3, -0.1, 0.0, 0.4, 0.9])
def test_joint_price_is_the_quadratic_form(correlation):
    repeats, sigma, sensitivity = 4, 3.0, 2.0
    covariance = sigma**2 * ((1 - correlation) * np.eye(repeats) + correlation)
    form = sensitivity * math.sqrt(np.linalg.solve(covariance, np.ones(repeats)).sum())
    found = correlated_mean_mu(sigma=sigma, sensitivity=sensitivity, repeats=repeats, correlation=correlation)
    assert found == pytest.approx(form, rel=1e-13)


def test_no_correlation_and_full_correlation_are_fresh_and_cached_noise():
    given_ = {"sigma": 8.0, "repeats": np.array([1, 7, 1000])}
    for correlation, noise in ((0.0, "fresh"), (1.0, "cached")):
        assert np.allclose(
            correlated_mean_sigma(correlation=correlation, **given_), mean_sigma(noise=noise, **given_), rtol=1e-15
        )
        assert np.allclose(
            correlated_mean_mu(correlation=correlation, **given_), mean_mu(noise=noise, **given_), rtol=1e-15
        )


def test_noise_that_cancels_reveals_the_answer():
    for repeats in (2, 3, 11, 1000):  # for 11 the float64 −0.1 is a hair below −1/10
        end = {"sigma": 1.0, "repeats": repeats, "correlation": -1 / (repeats - 1)}
        mu = correlated_mean_mu(**end)
        assert mu == math.inf or mu > 1e7
        assert mean_epsilon(1e-6, **end) > 1e14
    assert mean_variance(sigma=1.0, repeats=11, correlation=-0.1) == 0
    assert mean_epsilon(1e-6, sigma=1.0, repeats=2, correlation=-1.0) == math.inf
    assert correlated_mean_mu(sigma=1.0, sensitivity=0.0, repeats=2, correlation=-1.0) == 0


@pytest.mark.parametrize(
    ("repeats", "correlation"), [(2, -1.01), (4, -0.34), (11, -0.11), (3, 1.01), (1, 2), (4, math.nan)]
)
def test_a_correlation_that_cannot_be_is_refused(repeats, correlation):
    for rule in (mean_variance, correlated_mean_sigma, correlated_mean_mu):
        with pytest.raises(DomainError, match=r"correlation must be a number from -1/\(repeats - 1\) to 1"):
            rule(sigma=1.0, repeats=repeats, correlation=correlation)


def test_ends_stay_finite_or_say_inf():
    assert mean_variance(sigma=1e200, repeats=1) == math.inf
    assert correlated_mean_sigma(sigma=1e200, repeats=100, correlation=0.5) == pytest.approx(1e200 * math.sqrt(0.505))
    assert correlated_mean_mu(sigma=1e300, sensitivity=1e-300, repeats=2) > 0
    assert mean_variance(sigma=1.0, repeats=2**53, correlation=[1e-300, 0.0]).tolist() == [2.0**-53] * 2


@given(st.floats(-100, 100), st.floats(0.01, 100), st.integers(1, 100), st.floats(0, 0.999999))
def test_the_interval_is_symmetric_and_covers_as_said(mean, sigma, repeats, confidence):
    low, high = mean_confidence_interval(mean, sigma=sigma, repeats=repeats, correlation=0.2, confidence=confidence)
    spread = correlated_mean_sigma(sigma=sigma, repeats=repeats, correlation=0.2)
    assert low <= mean <= high
    assert high - mean == pytest.approx(mean - low, rel=1e-9, abs=1e-12)
    covered = math.erf((high - low) / 2 / spread / math.sqrt(2))
    assert covered == pytest.approx(confidence, rel=1e-9, abs=1e-11)


def test_known_interval():
    low, high = mean_confidence_interval([0.0, 10.0], sigma=8.0, repeats=64)
    assert high == pytest.approx([1.959963984540054, 11.959963984540054], rel=1e-15)
    assert low == pytest.approx([-1.959963984540054, 8.040036015459946], rel=1e-15)


def test_price_is_the_gaussian_price():
    delta = np.geomspace(1e-12, 0.1, 9)
    mu = correlated_mean_mu(sigma=8.0, repeats=25, correlation=0.5)
    assert (
        mean_epsilon(delta, sigma=8.0, repeats=25, correlation=0.5).tolist() == gaussian_epsilon(delta, mu=mu).tolist()
    )
    assert mean_epsilon(1e-6, sigma=8.0, repeats=[1, 25]) == pytest.approx([0.50386, 2.88343], abs=1e-5)


@pytest.mark.parametrize("correlation", [-1 / 3, -0.3, 0.0, 0.5, 1.0])
def test_simulated_answers_have_the_covariance(correlation):
    answers = simulate_answers(np.random.default_rng(5), sigma=2.0, repeats=4, correlation=correlation, size=40_000)
    truth = 4 * ((1 - correlation) * np.eye(4) + correlation)
    assert np.abs(np.cov(answers.T) - truth).max() < 0.12
    spread = correlated_mean_sigma(sigma=2.0, repeats=4, correlation=correlation)
    assert answers.mean(axis=1).std() == pytest.approx(spread, rel=0.02, abs=1e-7)


def test_simulation_shapes_and_refusals():
    assert simulate_answers(np.random.default_rng(1), sigma=1.0, repeats=3, size=(2, 5)).shape == (2, 5, 3)
    assert simulate_answers(np.random.default_rng(1), sigma=1.0, repeats=1, size=()).shape == (1,)
    one, two = (simulate_answers(np.random.default_rng(9), sigma=1.0, repeats=3, size=4) for _ in range(2))
    assert one.tolist() == two.tolist()
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        simulate_answers(3, sigma=1.0, repeats=1, size=1)
    with pytest.raises(TypeError, match="repeats must be one number"):
        simulate_answers(np.random.default_rng(1), sigma=1.0, repeats=[1, 2], size=1)
