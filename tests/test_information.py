import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting.discrete_laws import jensen_shannon, kl_divergence, total_variation
from dpviz.accounting.information import (
    binary_entropy,
    gaussian_binary_mutual_information,
    laplace_binary_mutual_information,
    posterior_from_log_ratio,
    publication_mutual_information,
    pure_dp_information_bound,
    pure_dp_information_bound_independent,
    pure_dp_max_kl,
    randomized_response_mutual_information,
)
from tests.reference import distance, entries

EPSILONS = st.floats(1e-6, 30)
PRIORS = st.floats(1e-9, 1 - 1e-9)


@entries("pure_dp_max_kl")
def test_kl_reference(inputs, value):
    assert distance(pure_dp_max_kl(inputs["eps"]), value) <= 1e-15


@entries("rr_binary_mutual_information_nats")
def test_randomized_response_reference(inputs, value):
    found = randomized_response_mutual_information(inputs["eps"], prior=inputs["prior"])
    assert distance(found, value) <= 1e-14


@entries("gdp_binary_mutual_information_nats")
def test_gaussian_reference(inputs, value):
    found = gaussian_binary_mutual_information(inputs["mu"], prior=inputs["prior"])
    assert distance(found, value) <= 1e-14


@entries("pure_dp_posterior_bound")
def test_posterior_reference(inputs, value):
    assert distance(posterior_from_log_ratio(inputs["eps"], prior=inputs["prior"]), value) <= 1e-15


def bit(p1, p0, prior):
    mixture = prior * p1 + (1 - prior) * p0
    return prior * p1 * mpmath.log(p1 / mixture) + (1 - prior) * p0 * mpmath.log(p0 / mixture)


def priors(rng):
    return rng.choice([0.5, rng.random(), 10 ** rng.uniform(-12, 0), 1 - 10 ** rng.uniform(-8, -1)])


def test_randomized_response_in_many_digits_from_tiny_to_huge_epsilon():
    rng = np.random.default_rng(5)
    for _ in range(300):
        epsilon, prior = 10 ** rng.uniform(-12, 2.8), priors(rng)
        with mpmath.workdps(340):
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
            truth = bit(p, 1 - p, mpmath.mpf(prior)) + bit(1 - p, p, mpmath.mpf(prior))
            assert abs(randomized_response_mutual_information(epsilon, prior=prior) / truth - 1) < 5e-15


@pytest.mark.parametrize("mu", [1e-9, 1e-6, 0.01, 0.7, 3.0])
def test_gaussian_in_many_digits(mu):
    """By the trapezoidal rule with a step that is far below what it needs, in 50 digits."""
    for prior in (0.5, 0.02, 1 - 1e-4, 1e-9):
        with mpmath.workdps(50):
            distance_, chance = mpmath.mpf(mu), mpmath.mpf(prior)
            step = mpmath.mpf(1) / (4 + int(2 * mu))
            count = int((2 * mu + 22) / step)
            truth = step * sum(
                bit(mpmath.npdf(y, distance_), mpmath.npdf(y), chance) for y in (-11 + k * step for k in range(count))
            )
            assert abs(gaussian_binary_mutual_information(mu, prior=prior) / truth - 1) < 1e-13, prior


@pytest.mark.parametrize("mu", [8.0, 17.0, 30.0, 45.0, 61.0])
def test_gaussian_of_strong_signals_in_extended_digits(mu):
    for prior in (0.5, 0.02, 1e-4, 1e-9, 1e-100):
        y = np.arange(-12, 2 * mu + 12, 0.1 / mu, dtype=np.longdouble)
        p1, p0, chance = np.exp(-((y - mu) ** 2) / 2), np.exp(-(y**2) / 2), np.longdouble(prior)
        mixture = chance * p1 + (1 - chance) * p0
        up = chance * p1 * np.log(np.maximum(p1, 1e-4900) / mixture)
        down = (
            (1 - chance)
            * p0
            * np.where(p1 * chance < 1e-5 * p0, -np.log1p(chance * (p1 / p0 - 1)), np.log(p0 / mixture))
        )
        truth = (up + down).sum() * (y[1] - y[0]) / np.sqrt(2 * np.longdouble(math.pi))
        assert gaussian_binary_mutual_information(mu, prior=prior) == pytest.approx(float(truth), rel=1e-13), prior


@pytest.mark.parametrize("epsilon", [1e-8, 0.01, 0.7, 3.0, 12.0])
def test_laplace_in_many_digits(epsilon):
    for prior in (0.5, 0.02, 1 - 1e-4, 1e-9):
        with mpmath.workdps(50):
            gap, chance = mpmath.mpf(epsilon), mpmath.mpf(prior)
            fall, half = mpmath.exp(-gap), mpmath.mpf(1) / 2
            inner = mpmath.quad(
                lambda x, gap=gap, chance=chance: bit(mpmath.exp(x - gap) / 2, mpmath.exp(-x) / 2, chance),
                mpmath.linspace(0, gap, 2 + int(epsilon)),
            )
            truth = inner + bit(fall / 2, half, chance) + bit(half, fall / 2, chance)
            assert abs(laplace_binary_mutual_information(epsilon, prior=prior) / truth - 1) < 1e-13


@given(EPSILONS, PRIORS)
def test_more_noise_says_less_and_laplace_says_less_than_randomized_response(epsilon, prior):
    response = randomized_response_mutual_information(epsilon, prior=prior)
    laplace = laplace_binary_mutual_information(epsilon, prior=prior)
    assert 0 <= laplace <= response * (1 + 1e-12)
    assert response <= binary_entropy(prior) * (1 + 1e-12)
    assert response <= pure_dp_max_kl(epsilon) * (1 + 1e-12)
    for rule in (
        randomized_response_mutual_information,
        laplace_binary_mutual_information,
        gaussian_binary_mutual_information,
    ):
        assert rule(epsilon, prior=prior) <= rule(1.01 * epsilon, prior=prior) * (1 + 1e-12)
        assert rule(epsilon, prior=prior) == pytest.approx(rule(epsilon, prior=1 - prior), rel=1e-6)


@given(EPSILONS, st.floats(0, 1))
def test_randomized_response_is_a_divergence_of_two_laws(epsilon, prior):
    p, rest = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    found = jensen_shannon([p, rest], other=[rest, p], prior=prior)
    assert randomized_response_mutual_information(epsilon, prior=prior) == pytest.approx(found, rel=1e-6, abs=1e-15)
    assert kl_divergence([p, rest], reference=[rest, p]) == pytest.approx(pure_dp_max_kl(epsilon), rel=1e-6)


def test_small_signals_follow_their_second_order():
    for prior in (0.5, 0.1):
        spread = prior * (1 - prior)
        assert gaussian_binary_mutual_information(1e-7, prior=prior) == pytest.approx(spread * 1e-14 / 2, rel=1e-6)
        assert randomized_response_mutual_information(1e-8, prior=prior) == pytest.approx(spread * 1e-16 / 2, rel=1e-7)
        assert laplace_binary_mutual_information(1e-8, prior=prior) == pytest.approx(spread * 1e-16 / 2, rel=1e-7)


def test_ends():
    for rule in (
        randomized_response_mutual_information,
        laplace_binary_mutual_information,
        gaussian_binary_mutual_information,
    ):
        assert rule(0.0, prior=0.3) == rule(3.0, prior=0.0) == rule(3.0, prior=1.0) == 0
        assert rule(math.inf, prior=0.3) == pytest.approx(binary_entropy(0.3), rel=1e-15)
        assert rule(1e9, prior=0.3) == pytest.approx(binary_entropy(0.3), rel=1e-15)
        assert rule([0.5, 1.0], prior=[[0.2], [0.3], [0.4]]).shape == (3, 2)
        for prior in (5e-324, 1e-310, 1e-200, 1 - 2.0**-53):
            values = rule(np.array([1e-300, 1e-5, 1.0, 20.0, 59.0, 100.0, 800.0]), prior=prior)
            assert np.all(np.isfinite(values) & (values >= 0))
            assert np.all(values <= binary_entropy(prior) * (1 + 1e-12))
    assert gaussian_binary_mutual_information(59.9, prior=5e-324) == pytest.approx(binary_entropy(5e-324), rel=0.01)
    assert gaussian_binary_mutual_information(60.0, prior=0.2) == pytest.approx(
        gaussian_binary_mutual_information(59.99, prior=0.2), rel=1e-15
    )


def channel_information(law, channel):
    """Return I(X; Y) of a law of inputs and the output law of each input."""
    output = law @ channel
    return sum(p * kl_divergence(row, reference=output) for p, row in zip(law, channel, strict=True))


def truncated_laplace_counts(records, epsilon):
    """Return the channel from 0 … n ones to a discrete Laplace count, clamped to 0 … n: epsilon-DP."""
    q = math.exp(-epsilon)
    channel = np.empty((records + 1, records + 1))
    for ones in range(records + 1):
        reach = np.arange(records + 1)
        channel[ones] = (1 - q) / (1 + q) * q ** np.abs(reach - ones)
        channel[ones, 0] = q**ones / (1 + q)
        channel[ones, records] = q ** (records - ones) / (1 + q)
    return channel


@pytest.mark.parametrize(("records", "epsilon"), [(2, 0.5), (5, 0.3), (9, 0.1), (9, 1.0)])
def test_pure_dp_bounds_hold_for_a_count(records, epsilon):
    channel = truncated_laplace_counts(records, epsilon)
    chances = np.array([math.comb(records, k) for k in range(records + 1)]) / 2.0**records
    independent = channel_information(chances, channel)
    assert independent <= pure_dp_information_bound_independent(epsilon, records=records)
    alike = np.zeros(records + 1)
    alike[[0, -1]] = 0.5
    assert channel_information(alike, channel) <= pure_dp_information_bound(epsilon, records=records)


def test_randomized_response_on_each_record_nearly_meets_the_independent_bound():
    for records, epsilon in itertools.product((1, 4), (0.1, 0.01)):
        information = records * randomized_response_mutual_information(epsilon)
        assert information <= pure_dp_information_bound_independent(epsilon, records=records)
        assert information >= pure_dp_information_bound_independent(epsilon, records=records) / 4.01


def test_records_that_are_alike_break_the_bound_for_independent_ones():
    """Negative control: n ε (e^ε − 1) is claimed for every law; Laplace on nine equal records says more."""
    records, epsilon = 9, 0.001
    information = laplace_binary_mutual_information(records * epsilon)
    claimed = records * epsilon * math.expm1(epsilon)
    assert information / claimed == pytest.approx(1.121, abs=5e-3)
    assert laplace_binary_mutual_information(8 * epsilon) / (8 * epsilon * math.expm1(epsilon)) == pytest.approx(
        0.997, abs=5e-3
    )
    assert laplace_binary_mutual_information(0.12) / (0.12 * math.expm1(0.01)) == pytest.approx(1.434, abs=5e-3)
    assert information > pure_dp_information_bound_independent(epsilon, records=records)
    assert information <= pure_dp_information_bound(epsilon, records=records)


def test_publishing_with_a_small_probability_breaks_every_delta_term_without_the_domain():
    """Negative controls: δ ln(n/δ) added to n ε (e^ε − 1) bounds nothing."""
    wide = publication_mutual_information(0.01, entropy=64 * math.log(2))
    assert wide == pytest.approx(0.4436, abs=1e-4)
    assert wide > 0.01 * math.log(1 / 0.01)
    bits = publication_mutual_information(0.5, entropy=3 * math.log(2))
    assert bits == pytest.approx(1.0397, abs=1e-4)
    assert bits > 0.5 * math.log(3 / 0.5)
    assert publication_mutual_information(1e-3, entropy=1000 * math.log(2)) > 1e-3 * math.log(1000 / 1e-3)


def test_little_information_is_no_pure_guarantee_but_bounds_the_advantage():
    assert publication_mutual_information(0.01, entropy=math.log(2)) == pytest.approx(0.00693, abs=1e-5)
    for epsilon in (0.1, 1.0, 4.0):
        p = 1 / (1 + math.exp(-epsilon))
        advantage = total_variation([p, 1 - p], other=[1 - p, p])
        assert advantage <= math.sqrt(2 * randomized_response_mutual_information(epsilon))


def test_posterior_is_bayes_rule():
    rng = np.random.default_rng(1)
    for _ in range(200):
        evidence, prior = rng.normal() * 10 ** rng.uniform(-3, 2.5), priors(rng)
        with mpmath.workdps(50):
            odds = mpmath.exp(mpmath.mpf(evidence)) * mpmath.mpf(prior)
            truth = odds / (odds + 1 - mpmath.mpf(prior))
            assert abs(posterior_from_log_ratio(evidence, prior=prior) / truth - 1) < 1e-15
    assert posterior_from_log_ratio([1e308, -1e308, 5.0], prior=[0.0, 1.0, 0.5]).tolist()[:2] == [0, 1]
    assert posterior_from_log_ratio(2000.0, prior=5e-324) == 1
