import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mpmath import mpf

from dpviz.accounting._checks import DomainError
from dpviz.accounting.attack import (
    approximate_dp_advantage,
    approximate_dp_bayes_error,
    approximate_dp_tpr,
    bayes_error_from_profile,
    gaussian_bayes_error,
    gaussian_positive_predictive_value,
    positive_predictive_value,
    true_positive_rate,
)
from dpviz.accounting.gaussian import Gaussian, gaussian_beta, gaussian_delta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.profile import hockey_stick_divergence
from dpviz.accounting.tradeoff import approximate_dp_tradeoff, gaussian_advantage, posterior_bound, threshold_errors
from tests.normal_oracle import cdf, quantile, relative
from tests.reference import distance, entries

UNIT = st.floats(0, 1)
ALPHAS = np.linspace(0, 1, 4001)
FINE = settings(deadline=None, max_examples=50)


@entries("gdp_bayes_error")
def test_bayes_error_reference(inputs, value):
    assert distance(gaussian_bayes_error(inputs["mu"], prior=inputs["prior_h1"]), value) <= 1e-14


@entries("gdp_attack_ppv")
def test_positive_predictive_value_reference(inputs, value):
    found = gaussian_positive_predictive_value(inputs["fpr"], mu=inputs["mu"], prior=inputs["prior_h1"])
    assert distance(found, value) <= 1e-14


@entries("adp_advantage_bound")
def test_advantage_reference(inputs, value):
    assert distance(approximate_dp_advantage(inputs["eps"], delta=inputs["delta"]), value) <= 1e-15


def priors(rng, size):
    return np.concatenate([
        10 ** rng.uniform(-300, -1, size), rng.uniform(0.01, 0.99, size), 1 - 10 ** rng.uniform(-15.9, -1, size),
        0.5 + rng.choice([-1, 1], size) * 10 ** rng.uniform(-16, -1, size), [1e-12, 1 - 1e-12, 0.5],
    ])  # fmt: skip


def test_bayes_error_has_twelve_digits_everywhere():
    rng = np.random.default_rng(4)
    beliefs = priors(rng, 80)
    mus = np.append(10 ** rng.uniform(-9, 1.65, beliefs.size - 1), 1e-9)
    found = gaussian_bayes_error(mus, prior=beliefs)
    with mpmath.workdps(60):
        for prior, mu, error in zip(beliefs, mus, found, strict=True):
            p, m = mpf(prior), mpf(mu)
            cut = m / 2 + mpmath.log((1 - p) / p) / m
            truth = (1 - p) * cdf(-cut) + p * cdf(cut - m)
            if truth > 1e-307:
                assert relative(error, truth) <= 1e-12, (prior, mu)


@pytest.mark.parametrize(("mu", "prior"), [(1.0, 0.5), (0.3, 0.1), (4.0, 0.99), (1e-3, 0.4999)])
def test_bayes_error_is_the_overlap_of_the_weighted_densities(mu, prior):
    """By definition, in quadrature."""
    with mpmath.workdps(20):
        turn = mu / 2 + mpmath.log((1 - mpf(prior)) / mpf(prior)) / mu
        knots = sorted({mpf(-12), mpf(0), mpf(mu), mpf(12 + mu), min(max(turn, -12), 12)})
        overlap = mpmath.quad(lambda x: min((1 - prior) * mpmath.npdf(x), prior * mpmath.npdf(x - mu)), knots)
    assert gaussian_bayes_error(mu, prior=prior) == pytest.approx(float(overlap), rel=1e-13)


@given(st.floats(0, 30), UNIT)
@FINE
def test_bayes_error_is_the_least_of_any_threshold(mu, prior):
    error = gaussian_bayes_error(mu, prior=prior)
    alpha, beta = threshold_errors(np.linspace(-10, 40, 501), mu=mu)
    assert 0 <= error <= min(prior, 1 - prior)
    assert error <= np.min((1 - prior) * alpha + prior * beta) + 1e-15
    assert error == pytest.approx(gaussian_bayes_error(mu, prior=1 - prior), rel=1e-9, abs=1e-15)


@given(st.floats(0, 20), st.floats(1e-9, 1))
@FINE
def test_bayes_error_falls_with_mu_and_comes_from_the_profile(mu, prior):
    error = gaussian_bayes_error(mu, prior=prior)
    assert gaussian_bayes_error(mu + 0.1, prior=prior) <= error * (1 + 1e-12)
    found = bayes_error_from_profile(prior, delta=lambda e: gaussian_delta(e, mu=mu))
    assert found == pytest.approx(error, abs=2e-16)


def test_at_even_odds_the_bayes_error_is_half_of_what_the_advantage_leaves():
    assert gaussian_bayes_error(0.8, prior=0.5) == pytest.approx((1 - gaussian_advantage(0.8)) / 2, rel=1e-15)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=6), UNIT)
@FINE
def test_bayes_error_of_a_pair_that_is_not_symmetric(rows, prior):
    weights = np.array(rows, dtype=float).T + 0.5
    p, q = weights / weights.sum(axis=1, keepdims=True)
    found = bayes_error_from_profile(
        prior,
        delta=lambda e: hockey_stick_divergence(p, q=q, epsilon=e),
        reversed_delta=lambda e: hockey_stick_divergence(q, q=p, epsilon=e),
    )
    assert found == pytest.approx(np.minimum(prior * p, (1 - prior) * q).sum(), abs=1e-14)


@given(st.floats(0, 40), UNIT)
@FINE
def test_one_guarantee_advantage_rate_and_error_come_from_its_curve(epsilon, delta):
    beta = approximate_dp_tradeoff(ALPHAS, epsilon=epsilon, delta=delta)
    corner = (1 - delta) / (1 + math.exp(epsilon))
    at_corner = 1 - corner - approximate_dp_tradeoff(corner, epsilon=epsilon, delta=delta)
    advantage = approximate_dp_advantage(epsilon, delta=delta)
    assert advantage == pytest.approx(at_corner, abs=1e-14)
    assert advantage >= np.max(1 - ALPHAS - beta) - 1e-14
    assert approximate_dp_tpr(ALPHAS, epsilon=epsilon, delta=delta) == pytest.approx(1 - beta, abs=1e-15)
    for prior in (0.0, 0.01, 0.5, 0.9, 1.0):
        error = approximate_dp_bayes_error(prior, epsilon=epsilon, delta=delta)
        levels = np.append(ALPHAS, [corner, 1 - delta])
        misses = np.append(beta, [corner, 0.0])
        assert error == pytest.approx(np.min((1 - prior) * levels + prior * misses), abs=1e-15)


@given(st.floats(0.01, 5), st.floats(0, 8), UNIT)
@FINE
def test_a_guarantee_bounds_the_mechanism_that_keeps_it(mu, epsilon, prior):
    delta = gaussian_delta(epsilon, mu=mu)
    assert gaussian_advantage(mu) <= approximate_dp_advantage(epsilon, delta=delta) + 1e-14
    assert (
        gaussian_bayes_error(mu, prior=prior) >= approximate_dp_bayes_error(prior, epsilon=epsilon, delta=delta) - 1e-14
    )
    rates = true_positive_rate(ALPHAS, tradeoff=lambda a: gaussian_beta(a, mu=mu))
    assert np.all(rates <= approximate_dp_tpr(ALPHAS, epsilon=epsilon, delta=delta) + 1e-14)


def test_bounds_from_one_guarantee_keep_their_digits():
    rng = np.random.default_rng(5)
    epsilons, deltas = 10 ** rng.uniform(-12, 4, 300), 10 ** rng.uniform(-300, 0, 300)
    deltas[::3] = 0
    fprs, beliefs = 10 ** rng.uniform(-300, 0, 300), np.resize(priors(rng, 60), 300)
    advantages = approximate_dp_advantage(epsilons, delta=deltas)
    tprs = approximate_dp_tpr(fprs, epsilon=epsilons, delta=deltas)
    errors = approximate_dp_bayes_error(beliefs, epsilon=epsilons, delta=deltas)
    with mpmath.workdps(350):
        for i, epsilon in enumerate(epsilons):
            e, d, a, p = mpmath.exp(mpf(epsilon)), mpf(deltas[i]), mpf(fprs[i]), mpf(beliefs[i])
            assert relative(advantages[i], (e - 1 + 2 * d) / (e + 1)) <= 1e-15
            assert relative(tprs[i], min(1, d + e * a, 1 - (1 - d - a) / e)) <= 1e-15
            if (truth := (1 - d) * min(p, 1 - p, 1 / (1 + e))) > 1e-307:
                assert relative(errors[i], truth) <= 1e-15


def test_positive_predictive_value_has_twelve_digits_everywhere():
    rng = np.random.default_rng(6)
    beliefs = priors(rng, 50)
    fprs = np.resize(np.concatenate([10 ** rng.uniform(-300, -1, 50), rng.uniform(0.01, 1, 50)]), beliefs.size)
    mus = 10 ** rng.uniform(-9, 1.6, beliefs.size)
    found = gaussian_positive_predictive_value(fprs, mu=mus, prior=beliefs)
    with mpmath.workdps(50):
        for prior, fpr, mu, value in zip(beliefs, fprs, mus, found, strict=True):
            p, a = mpf(prior), mpf(fpr)
            hits = p * cdf(quantile(fpr) + mpf(mu))
            assert relative(value, hits / (hits + (1 - p) * a)) <= 1e-12


@given(UNIT, st.floats(1e-9, 1), UNIT)
@FINE
def test_positive_predictive_value_is_bayes_rule(tpr, fpr, prior):
    value = positive_predictive_value(tpr=tpr, fpr=fpr, prior=prior)
    hits, alarms = prior * tpr, (1 - prior) * fpr
    if hits + alarms > 1e-300:
        assert value == pytest.approx(hits / (hits + alarms), rel=1e-14, abs=1e-300)
    assert (value >= prior * (1 - 1e-15)) == (tpr >= fpr * (1 - 1e-15)) or prior in (0, 1) or abs(tpr - fpr) < 1e-12


@given(st.floats(0, 10), UNIT, st.floats(1e-6, 1))
@FINE
def test_pure_dp_bounds_every_predictive_value(epsilon, prior, fpr):
    tpr = approximate_dp_tpr(fpr, epsilon=epsilon, delta=0.0)
    value = positive_predictive_value(tpr=tpr, fpr=fpr, prior=prior)
    assert value <= posterior_bound(prior, epsilon=epsilon) * (1 + 1e-14)


def test_true_positive_rate_of_any_mechanism():
    released = Laplace(scale=0.5)
    assert true_positive_rate(ALPHAS, tradeoff=released.beta).tolist() == (1 - released.beta(ALPHAS)).tolist()
    assert isinstance(true_positive_rate(0.1, tradeoff=Gaussian(1.0).beta), float)


def test_ends():
    assert gaussian_bayes_error([0.0, 0.0, math.inf, 1e300, 5e-324], prior=[0.25, 0.75, 0.5, 0.5, 0.25]).tolist() == [0.25, 0.25, 0.0, 0.0, 0.25]  # fmt: skip
    assert gaussian_bayes_error([0.0, 1.0, math.inf], prior=[[0.0], [1.0]]).tolist() == [[0.0] * 3] * 2
    assert bayes_error_from_profile([0.0, 1.0], delta=Laplace(1.0).delta).tolist() == [0.0, 0.0]
    assert approximate_dp_advantage([0.0, 1e4, math.inf], delta=[0.25, 0.5, 0.0]).tolist() == [0.25, 1.0, 1.0]
    assert approximate_dp_tpr([0.0, 0.5, 1.0], epsilon=1e4, delta=0.125).tolist() == [0.125, 1.0, 1.0]
    assert approximate_dp_tpr(0.0, epsilon=0.0, delta=1.0) == 1.0
    assert approximate_dp_bayes_error(0.5, epsilon=[0.0, math.inf], delta=0.0).tolist() == [0.5, 0.0]
    assert positive_predictive_value(tpr=0.5, fpr=0.0, prior=[0.0, 1e-300, 1.0]).tolist() == [0.0, 1.0, 1.0]
    assert positive_predictive_value(tpr=0.0, fpr=0.5, prior=[0.0, 0.5, 1.0]).tolist() == [0.0, 0.0, 1.0]
    found = gaussian_positive_predictive_value([0.0, 0.0, 0.0, 1.0, 0.5], mu=[1.0, 0.0, 1.0, 1.0, math.inf], prior=[0.125, 0.125, 0.0, 0.125, 0.5])  # fmt: skip
    assert found.tolist() == [1.0, 0.125, 0.0, 0.125, pytest.approx(2 / 3)]


def test_no_extreme_input_warns_or_leaves_the_range():
    levels = [0.0, 5e-324, 1e-300, 1e-16, 0.25, 0.5, 1 - 2**-53, 1.0]
    sizes = [0.0, 5e-324, 1e-160, 1e-8, 1.0, 40.0, 709.0, 1500.0, 1e300, 1.7e308]
    rates, mus, beliefs = np.meshgrid(levels, [*sizes, math.inf], levels, indexing="ij")
    values = gaussian_positive_predictive_value(rates, mu=mus, prior=beliefs)
    assert np.all((values >= beliefs * (1 - 1e-15)) & (values <= 1))
    errors = gaussian_bayes_error(mus, prior=beliefs)
    assert np.all((errors >= 0) & (errors <= np.minimum(beliefs, 1 - beliefs)))
    rates, epsilons, deltas = np.meshgrid(levels, sizes, levels, indexing="ij")
    found = approximate_dp_tpr(rates, epsilon=epsilons, delta=deltas)
    assert np.all((found >= rates) & (found <= 1))
    assert np.all(approximate_dp_advantage(epsilons, delta=deltas) <= 1)
    assert np.all(approximate_dp_bayes_error(rates, epsilon=epsilons, delta=deltas) <= 0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: positive_predictive_value(tpr=[0.0, 0.5], fpr=0.0, prior=0.5),
        lambda: positive_predictive_value(tpr=1.5, fpr=0.0, prior=0.5),
        lambda: gaussian_bayes_error(-1.0, prior=0.5),
        lambda: gaussian_bayes_error(1.0, prior=math.nan),
        lambda: bayes_error_from_profile(0.3, delta=lambda e: e + 2),
        lambda: bayes_error_from_profile(0.7, delta=lambda e: 0 * e, reversed_delta=lambda e: e + 2),
        lambda: approximate_dp_tpr(0.1, epsilon=math.inf, delta=0.1),
        lambda: true_positive_rate(0.1, tradeoff=lambda a: a - 1),
    ],
)
def test_what_is_out_of_range_is_refused(call):
    with pytest.raises(DomainError):
        call()
