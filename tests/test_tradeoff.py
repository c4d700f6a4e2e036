import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from dpviz import (
    Laplace,
    approximate_dp_tradeoff,
    composed_mu,
    gaussian_advantage,
    gaussian_beta,
    gaussian_delta,
    gaussian_tpr,
    gaussian_tradeoff,
    posterior_bound,
    threshold_errors,
)
from tests.normal_oracle import cdf, quantile, relative
from tests.reference import distance, entries

UNIT = st.floats(0, 1)
MUS = st.floats(0, 8)
ALPHAS = np.linspace(0, 1, 1001)


@entries("gdp_tradeoff")
def test_gaussian_reference(inputs, value):
    assert distance(gaussian_tradeoff(inputs["alpha"], mu=inputs["mu"]), value) <= 2e-14


@entries("f_eps_delta")
def test_approximate_dp_reference(inputs, value):
    beta = approximate_dp_tradeoff(inputs["alpha"], epsilon=inputs["eps"], delta=inputs["delta"])
    assert distance(beta, value) <= 1e-14


@entries("gdp_advantage")
def test_advantage_reference(inputs, value):
    assert distance(gaussian_advantage(inputs["mu"]), value) <= 1e-15


@entries("pure_dp_posterior_bound")
def test_posterior_reference(inputs, value):
    assert distance(posterior_bound(inputs["prior"], epsilon=inputs["eps"]), value) <= 1e-15


CURVES = {
    "gaussian": lambda alpha: gaussian_tradeoff(alpha, mu=1.3),
    "wide gaussian": lambda alpha: gaussian_tradeoff(alpha, mu=0.01),
    "laplace": Laplace(scale=0.7).beta,
    "sharp laplace": Laplace(scale=0.01).beta,
    "approximate dp": lambda alpha: approximate_dp_tradeoff(alpha, epsilon=0.8, delta=0.05),
}


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_a_tradeoff_function_is_convex_falling_below_guessing_and_its_own_inverse(curve):
    beta = curve(ALPHAS)
    assert np.all(np.diff(beta) <= 1e-15)
    assert np.all(np.diff(beta, 2) >= -1e-13)
    assert np.all((beta >= 0) & (beta <= 1 - ALPHAS + 1e-15))
    steep = (beta > 1e-3) & (beta < 1 - 1e-3) & (ALPHAS > 1e-3)
    assert curve(beta[steep]) == pytest.approx(ALPHAS[steep], abs=1e-10)


@given(MUS, st.floats(0, 6), UNIT)
def test_one_guarantee_is_a_supporting_line_of_the_gaussian_curve(mu, epsilon, alpha):
    delta = gaussian_delta(epsilon, mu=mu)
    promised = approximate_dp_tradeoff(alpha, epsilon=epsilon, delta=delta)
    assert promised <= gaussian_beta(alpha, mu=mu) + 1e-14


@given(st.floats(0.01, 6), st.floats(0, 6))
def test_the_supporting_line_touches(mu, epsilon):
    alpha, beta = threshold_errors(epsilon / mu + mu / 2, mu=mu)
    assert 1 - gaussian_delta(epsilon, mu=mu) - math.exp(epsilon) * alpha == pytest.approx(beta, abs=1e-12)


@given(MUS, st.floats(-30, 30))
def test_thresholds_walk_along_the_curve_and_keep_both_tails(mu, cut):
    alpha, beta = threshold_errors(cut, mu=mu)
    with mpmath.workdps(60):
        t, m = mpmath.mpf(cut), mpmath.mpf(mu)
        assert alpha == pytest.approx(float(mpmath.ncdf(-t)), rel=1e-12)
        assert beta == pytest.approx(float(mpmath.ncdf(t - m)), rel=1e-12)
    assume(1e-300 < alpha < 0.999)
    assert gaussian_tradeoff(alpha, mu=mu) == pytest.approx(beta, rel=1e-9)


@given(MUS, UNIT)
def test_true_positive_rate_is_one_minus_beta(mu, fpr):
    rate = gaussian_tpr(fpr, mu=mu)
    assert rate == pytest.approx(1 - gaussian_tradeoff(fpr, mu=mu), abs=1e-14)
    assert rate - fpr <= gaussian_advantage(mu) + 1e-14


def test_advantage_is_reached_at_the_middle_threshold():
    alpha, beta = threshold_errors(0.3125, mu=0.625)
    assert 1 - alpha - beta == pytest.approx(gaussian_advantage(0.625), rel=1e-14)


@pytest.mark.parametrize(
    ("count", "sigma", "percent", "advantage"),
    [(1, 4, 8.2, 0.099), (10, 8, 10.6, 0.157), (100, 16, 15.4, 0.245), (1000, 8, 99.0, 0.952)],
)
def test_golden_rates(count, sigma, percent, advantage):
    mu = composed_mu(sigma=sigma, count=count)
    assert round(100 * gaussian_tpr(0.05, mu=mu), 1) == percent
    assert round(gaussian_advantage(mu), 3) == advantage


@given(UNIT, st.floats(0, 50))
def test_posterior_odds_rise_by_at_most_e_to_the_epsilon(prior, epsilon):
    posterior = posterior_bound(prior, epsilon=epsilon)
    assert prior * (1 - 1e-15) <= posterior <= 1
    assume(1e-6 < prior < 1 - 1e-6 and epsilon < 10)
    odds = posterior / (1 - posterior) * (1 - prior) / prior
    assert odds == pytest.approx(math.exp(epsilon), rel=1e-8)


def test_ends():
    assert posterior_bound([0.0, 0.5, 1.0], epsilon=1000.0).tolist() == [0.0, 1.0, 1.0]
    assert gaussian_tpr([0.0, 0.3, 1.0], mu=0.0).tolist() == [0.0, 0.3, 1.0]
    assert gaussian_tpr([0.0, 0.3], mu=math.inf).tolist() == [1.0, 1.0]
    assert gaussian_advantage([0.0, math.inf]).tolist() == [0.0, 1.0]
    assert approximate_dp_tradeoff([0.0, 0.5, 1.0], epsilon=1000.0, delta=0.25).tolist() == [0.75, 0.0, 0.0]
    assert approximate_dp_tradeoff(ALPHAS, epsilon=0.0, delta=0.0) == pytest.approx(1 - ALPHAS)
    assert [part.shape for part in threshold_errors(1.0, mu=[1.0, 2.0])] == [(2,), (2,)]
    assert [type(part) for part in threshold_errors(1.0, mu=1.0)] == [float, float]


def rates(rng, size):
    """False positive rates of every kind: tiny, middling, near 1."""
    tiny, near = 10 ** rng.uniform(-300, -1, size), 1 - 10 ** rng.uniform(-15.9, -1, size)
    return np.concatenate([tiny, rng.uniform(0.001, 0.999, size), near])


def test_gaussian_curve_keeps_its_digits_far_out():
    rng = np.random.default_rng(1)
    alphas = rates(rng, 100)
    mus = 10 ** rng.uniform(-8, 1.7, alphas.size)
    betas, tprs = gaussian_tradeoff(alphas, mu=mus), gaussian_tpr(alphas, mu=mus)
    with mpmath.workdps(50):
        for alpha, mu, beta, tpr in zip(alphas, mus, betas, tprs, strict=True):
            z = quantile(alpha)
            assert relative(tpr, cdf(z + mpmath.mpf(mu))) <= 1e-12
            if (miss := cdf(-z - mpmath.mpf(mu))) > 1e-307:
                assert relative(beta, miss) <= 1e-12


def test_one_guarantee_against_its_definition_at_high_precision():
    rng = np.random.default_rng(2)
    alphas = rates(rng, 100)
    epsilons = 10 ** rng.uniform(-12, 2.9, alphas.size)
    deltas = np.where(rng.random(alphas.size) < 0.3, 0.0, 10 ** rng.uniform(-300, 0, alphas.size))
    betas = approximate_dp_tradeoff(alphas, epsilon=epsilons, delta=deltas)
    with mpmath.workdps(700):
        for alpha, epsilon, delta, beta in zip(alphas, epsilons, deltas, betas, strict=True):
            a, e, d = mpmath.mpf(alpha), mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
            steep, flat = 1 - d - e * a, (1 - d - a) / e
            if flat >= max(steep, 1e-307):
                assert relative(beta, flat) <= 1e-15
            assert abs(beta - max(steep, flat, 0)) <= 3e-16


def test_one_guarantee_where_only_the_exponential_overflows():
    assert approximate_dp_tradeoff(1e-320, epsilon=720.0, delta=0.0) == pytest.approx(1.0)
    with mpmath.workdps(40):
        truth = 1 - mpmath.exp(720) * mpmath.mpf(1e-313)
    assert approximate_dp_tradeoff(1e-313, epsilon=720.0, delta=0.0) == pytest.approx(float(truth), rel=1e-14)
