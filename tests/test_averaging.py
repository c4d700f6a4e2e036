import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz import (
    DomainError,
    Gaussian,
    Noise,
    exact_epsilon,
    gaussian_epsilon,
    mean_mu,
    mean_sigma,
    rdp_bound,
    simulate_means,
)
from tests.reference import distance, entries


@entries("mean_noise_sd")
def test_spread_reference(inputs, value):
    assert distance(mean_sigma(sigma=inputs["sigma"], repeats=inputs["r"]), value) <= 1e-15


@entries("mean_noise_variance")
def test_variance_reference(inputs, value):
    """Fresh noise only; the other entries are those of `correlated_noise`."""
    if inputs["rho"] == 0:
        assert distance(mean_sigma(sigma=inputs["sigma"], repeats=inputs["r"]) ** 2, value) <= 1e-15


@entries("mean_release_eps")
def test_price_reference(inputs, value):
    mu = mean_mu(sigma=inputs["sigma"], sensitivity=inputs["Delta"], repeats=inputs["r"])
    assert distance(gaussian_epsilon(inputs["delta"], mu=mu), value) <= 1e-12


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e3), st.integers(1, 10**9), st.sampled_from(["fresh", "cached"]))
def test_accuracy_gained_is_privacy_lost(sigma, sensitivity, repeats, noise):
    spread = mean_sigma(sigma=sigma, repeats=repeats, noise=noise)
    mu = mean_mu(sigma=sigma, sensitivity=sensitivity, repeats=repeats, noise=noise)
    assert mu * spread == pytest.approx(sensitivity, rel=1e-15)


@given(st.floats(0.1, 100), st.integers(1, 10**6))
def test_averaging_is_composing(sigma, repeats):
    composed = Gaussian(sigma).compose(repeats)
    assert mean_sigma(sigma=sigma, repeats=repeats) == pytest.approx(composed.sigma, rel=1e-15)
    assert mean_mu(sigma=sigma, repeats=repeats) == pytest.approx(composed.mu, rel=1e-15)


def test_golden_spreads_and_the_dashboard_of_a_day():
    assert [round(mean_sigma(sigma=8, repeats=r), 3) for r in (1, 10, 100, 1000)] == [8, 2.53, 0.8, 0.253]
    day = {"sigma": 50, "delta": 1e-6}
    assert round(mean_sigma(sigma=50, repeats=1440), 2) == 1.32
    assert round(rdp_bound(count=1440, **day), 2) == 4.28
    assert round(exact_epsilon(count=1440, **day), 2) == 3.58
    assert round(rdp_bound(count=1, **day), 3) == 0.105
    assert round(exact_epsilon(count=1, **day), 3) == 0.071


def test_cached_answers_gain_and_cost_nothing():
    repeats = np.array([1, 10, 1000])
    assert mean_sigma(sigma=8.0, repeats=repeats, noise="cached").tolist() == [8.0] * 3
    assert mean_mu(sigma=8.0, repeats=repeats, noise=Noise.CACHED).tolist() == [0.125] * 3
    cached = gaussian_epsilon(1e-6, mu=mean_mu(sigma=8.0, repeats=1000, noise="cached"))
    assert cached == exact_epsilon(count=1, sigma=8.0, delta=1e-6)


def test_simulated_means_have_the_law_of_a_mean_of_real_draws():
    size, repeats, sigma = 20_000, 16, 8.0
    drawn = np.random.default_rng(7).normal(0, sigma, (size, repeats)).mean(axis=1)
    simulated = simulate_means(np.random.default_rng(8), sigma=sigma, repeats=repeats, size=size)
    levels = np.linspace(0.01, 0.99, 50)
    gap = np.searchsorted(np.sort(drawn), np.quantile(simulated, levels)) / size - levels
    assert np.abs(gap).max() < 1.63 * math.sqrt(2 / size)
    kept = simulate_means(np.random.default_rng(8), sigma=sigma, repeats=repeats, size=size, noise="cached")
    assert kept == pytest.approx(4 * simulated, rel=1e-14)


def test_simulation_repeats_itself_and_takes_shapes():
    one, two = (simulate_means(np.random.default_rng(3), sigma=1.0, repeats=4, size=(2, 3)) for _ in range(2))
    assert one.tolist() == two.tolist()
    assert simulate_means(np.random.default_rng(3), sigma=1.0, repeats=4, size=()).shape == ()
    assert simulate_means(np.random.default_rng(3), sigma=1.0, repeats=[1, 10**9], size=(5, 2)).shape == (
        5,
        2,
    )
    for wrong in (None, 3, np.random, np.random.RandomState(1)):
        with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
            simulate_means(wrong, sigma=1.0, repeats=1, size=1)
    for wrong in (-1, 2.5, (2, -1)):
        with pytest.raises(DomainError, match="size must be a whole number"):
            simulate_means(np.random.default_rng(1), sigma=1.0, repeats=1, size=wrong)
    with pytest.raises(TypeError, match="size must be"):
        simulate_means(np.random.default_rng(1), sigma=1.0, repeats=1, size=[[1, 2]])


@pytest.mark.parametrize("noise", ["Fresh", "", None, 1, True, ["fresh"], np.array(["fresh", "cached"])])
def test_unknown_noise_is_refused(noise):
    for rule in (mean_sigma, mean_mu):
        with pytest.raises(DomainError, match="noise must be 'fresh' or 'cached', but got"):
            rule(sigma=1.0, repeats=1, noise=noise)
