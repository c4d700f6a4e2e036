import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit

from dpviz.accounting._checks import DomainError
from dpviz.accounting.exponential_mechanism import ExponentialMechanism
from dpviz.accounting.posterior import (
    beta_posterior_delta,
    beta_posterior_draw_risk,
    beta_posterior_mean_risk,
    posterior_sampling_epsilon,
    tempering_power,
)


def posterior_loss(prior, likelihood, other):
    """Return the privacy loss of one posterior draw at each parameter, from log likelihoods on two neighbours."""
    return ExponentialMechanism(pure_epsilon=2.0).privacy_loss(
        np.log(prior) + np.asarray(likelihood), other=np.log(prior) + np.asarray(other)
    )


@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.data(),
    st.floats(0.01, 5),
)
def test_the_guarantee_holds_for_every_prior_and_likelihood(weights, data, bound):
    likelihood = np.array([data.draw(st.floats(-10, 0)) for _ in weights])
    other = likelihood + bound * np.array([data.draw(st.floats(-1, 1)) for _ in weights])
    loss = posterior_loss(np.array(weights) / sum(weights), likelihood, other)
    assert np.abs(loss).max() <= posterior_sampling_epsilon(bound) * (1 + 1e-9) + 1e-12


def test_two_rates_and_one_record():
    """A flat prior is no privacy: rates 1/4 and 3/4, one Bernoulli record, have the loss ln 3."""
    rates = np.array([0.25, 0.75])
    loss = posterior_loss([0.5, 0.5], np.log(rates), np.log(1 - rates))
    assert np.abs(loss).max() == pytest.approx(math.log(3), rel=1e-14)
    bound = np.abs(np.log(rates / (1 - rates))).max()
    assert math.log(3) <= posterior_sampling_epsilon(bound) == pytest.approx(2 * math.log(3), rel=1e-14)


@given(st.floats(0, 10), st.floats(0, 10))
def test_tempering_meets_its_target(epsilon, bound):
    power = tempering_power(epsilon, log_ratio_bound=bound)
    assert 0 <= power <= 1
    assert posterior_sampling_epsilon(power * bound) <= epsilon
    if power < 1:
        assert posterior_sampling_epsilon(power * bound) >= epsilon * (1 - 1e-15)


def test_tempering_ends():
    assert tempering_power([0.0, 1.0, 1.0], log_ratio_bound=[1.0, 0.0, math.inf]).tolist() == [0, 1, 0]
    assert posterior_sampling_epsilon([0.0, math.inf]).tolist() == [0, math.inf]


def test_one_record_and_the_uniform_prior_have_a_closed_form():
    """The density ratio t/(1 − t) has no bound: delta = 1/(1 + e^ε) is never 0."""
    epsilon = np.concatenate([[0.0], np.geomspace(1e-9, 700, 500)])
    delta = beta_posterior_delta(epsilon, ones=0, zeros=0)
    assert delta == pytest.approx(expit(-epsilon), rel=1e-13)
    assert delta.min() > 0
    assert beta_posterior_delta([1.0, 5.0], ones=0, zeros=0) == pytest.approx([0.26894, 0.0066929], rel=1e-5)


def true_delta(epsilon, up, down):
    """Return ∫ (p − e^ε q)₊ for Beta(A + 1, B) against Beta(A, B + 1), by the hypergeometric function."""
    a, b, growth = mpmath.mpf(up), mpmath.mpf(down), mpmath.exp(mpmath.mpf(epsilon))
    rest = b / (b + a * growth)
    tail = rest**b * mpmath.beta(b, 2) * mpmath.hyp2f1(1 - a, b, b + 2, rest)
    return (a + b) / (a * mpmath.beta(a, b)) * tail


def test_delta_in_many_digits():
    rng = np.random.default_rng(6)
    for _ in range(150):
        top = 10 ** rng.uniform(0, 2.5)
        ones, zeros = int(rng.uniform(0, top)), int(rng.uniform(0, top))
        a, b = (1.0, 1.0) if rng.random() < 0.4 else 10 ** rng.uniform(-2, 1, 2)
        epsilon = rng.choice([0.0, 10 ** rng.uniform(-6, 1.3)])
        with mpmath.workdps(50):
            truth = max(true_delta(epsilon, a + ones, b + zeros), true_delta(epsilon, b + zeros, a + ones))
            found = beta_posterior_delta(epsilon, ones=ones, zeros=zeros, prior_ones=a, prior_zeros=b)
            assert abs(found - truth) <= 3e-13 * truth + mpmath.mpf(10) ** -300


@pytest.mark.parametrize(("ones", "zeros"), [(10**6, 0), (10**9, 10**9)])
def test_delta_of_many_records_in_many_digits(ones, zeros):
    with mpmath.workdps(60):
        a, b = mpmath.mpf(1 + ones), mpmath.mpf(1 + zeros)
        for epsilon in (1e-5,):
            grow = mpmath.exp(mpmath.mpf(epsilon))
            truth = mpmath.mpf(0)
            for up, down in ((a, b), (b, a)):
                start = mpmath.log(up * grow / down)
                width = mpmath.sqrt(1 / (up + 1) + 1 / down)

                def density(x, up=up, down=down, start=start):
                    w = start + x
                    log = (up + 1) * (w - mpmath.log1p(mpmath.exp(w))) - down * mpmath.log1p(mpmath.exp(w))
                    log_beta = mpmath.loggamma(up + 1) + mpmath.loggamma(down) - mpmath.loggamma(up + 1 + down)
                    return mpmath.exp(log - log_beta) * -mpmath.expm1(-x)

                truth = max(truth, mpmath.quad(density, [k * width for k in (0, 0.05, 0.2, 0.6, 1.5, 4, 9, 20, 60)]))
            found = beta_posterior_delta(epsilon, ones=ones, zeros=zeros)
            assert abs(found - truth) <= 1e-11 * truth + mpmath.mpf(10) ** -300


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 2), (0.5, 4)])
def test_delta_is_the_integral_of_the_densities(a, b):
    with mpmath.workdps(20):
        for epsilon in (0.0, 1.0):

            def part(t, first, second, epsilon=epsilon):
                p, q = (t ** (x - 1) * (1 - t) ** (y - 1) / mpmath.beta(x, y) for x, y in (first, second))
                return max(p - mpmath.exp(epsilon) * q, 0)

            grow = mpmath.exp(epsilon)
            one = mpmath.quad(lambda t: part(t, (a + 1, b), (a, b + 1)), [0, a * grow / (b + a * grow), 1])
            two = mpmath.quad(lambda t: part(t, (a, b + 1), (a + 1, b)), [0, a / (b * grow + a), 1])
            found = beta_posterior_delta(epsilon, ones=0, zeros=0, prior_ones=a, prior_zeros=b)
            assert found == pytest.approx(float(max(one, two)), rel=1e-7)


@given(st.integers(0, 1000), st.integers(0, 1000), st.floats(0.05, 10), st.floats(0.05, 10))
def test_delta_falls_is_symmetric_and_falls_with_records(ones, zeros, a, b):
    epsilon = np.linspace(0, 5, 30)
    delta = beta_posterior_delta(epsilon, ones=ones, zeros=zeros, prior_ones=a, prior_zeros=b)
    assert np.all((delta >= 0) & (delta <= 1))
    assert np.all(np.diff(delta) <= 1e-12 * delta[:-1])
    mirrored = beta_posterior_delta(epsilon, ones=zeros, zeros=ones, prior_ones=b, prior_zeros=a)
    assert delta.tolist() == mirrored.tolist()
    more = beta_posterior_delta(0.0, ones=2 * ones + 1, zeros=2 * zeros + 1, prior_ones=a, prior_zeros=b)
    assert more <= delta[0] * (1 + 1e-9)


def test_delta_ends():
    assert beta_posterior_delta(math.inf, ones=1, zeros=2) == 0
    for a in (1e-300, 1e-3, 1e100):
        values = beta_posterior_delta([0.0, 1e-300, 1.0, 1e300], ones=[[0], [2**40]], zeros=3, prior_ones=a)
        assert np.all((values >= 0) & (values <= 1))
    with pytest.raises(DomainError, match="ones"):
        beta_posterior_delta(1.0, ones=-1, zeros=0)


@pytest.mark.parametrize(("records", "a", "b"), [(0, 1, 1), (3, 1, 1), (10, 2.5, 0.5)])
def test_a_posterior_draw_has_twice_the_least_risk(records, a, b):
    """The Bayes risk of the mean by summing over the data; and of a draw, which is exactly twice that."""
    with mpmath.workdps(30):
        mean_risk = draw_risk = mpmath.mpf(0)
        for ones in range(records + 1):
            up, down = a + ones, b + records - ones
            chance = mpmath.binomial(records, ones) * mpmath.beta(up, down) / mpmath.beta(a, b)
            centre = mpmath.mpf(up) / (up + down)
            second = centre * (up + 1) / (up + down + 1)
            mean_risk += chance * (second - centre**2)
            draw_risk += chance * (2 * second - 2 * centre**2)  # E (θ' − θ)², both from the posterior
        assert abs(beta_posterior_mean_risk(records, prior_ones=a, prior_zeros=b) / mean_risk - 1) < 1e-15
        assert abs(beta_posterior_draw_risk(records, prior_ones=a, prior_zeros=b) / draw_risk - 1) < 1e-15


def test_twice_the_risk_in_a_simulation():
    rng = np.random.default_rng(3)
    truth = rng.beta(2, 3, 200_000)
    ones = rng.binomial(7, truth)
    mean, draw = (2 + ones) / 12, rng.beta(2 + ones, 3 + 7 - ones)
    given_ = {"prior_ones": 2.0, "prior_zeros": 3.0}
    assert ((mean - truth) ** 2).mean() == pytest.approx(beta_posterior_mean_risk(7, **given_), rel=0.02)
    assert ((draw - truth) ** 2).mean() == pytest.approx(beta_posterior_draw_risk(7, **given_), rel=0.02)
