import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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


@entries("gdp_bayes_error")
def test_bayes_error_reference(inputs, value):
    mu, prior = inputs["mu"], inputs["prior_h1"]
    alpha, beta = threshold_errors(mu / 2 + math.log((1 - prior) / prior) / mu, mu=mu)
    assert distance((1 - prior) * alpha + prior * beta, value) <= 1e-14


@entries("gdp_attack_ppv")
def test_positive_predictive_value_reference(inputs, value):
    prior, fpr = inputs["prior_h1"], inputs["fpr"]
    hits = prior * gaussian_tpr(fpr, mu=inputs["mu"])
    assert distance(hits / (hits + (1 - prior) * fpr), value) <= 1e-14


@entries("adp_advantage_bound")
def test_approximate_dp_advantage_reference(inputs, value):
    epsilon, delta = inputs["eps"], inputs["delta"]
    corner = (1 - delta) / (1 + math.exp(epsilon))
    beta = approximate_dp_tradeoff(corner, epsilon=epsilon, delta=delta)
    assert distance(1 - corner - beta, value) <= 1e-14


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
