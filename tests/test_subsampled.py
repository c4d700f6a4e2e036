import math

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import example, given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import Gaussian, gaussian_delta, gaussian_rdp
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.mechanism import Mechanism
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled import (
    SubsampledGaussian,
    subsampled_gaussian_beta,
    subsampled_gaussian_delta,
    subsampled_gaussian_epsilon,
    subsampled_gaussian_log_delta,
    subsampled_gaussian_rdp,
)
from tests.reference import distance, entries

RATES = st.floats(-12, 0).map(lambda power: 10.0**power)
NOISES = st.floats(-1.3, 2.5).map(lambda power: 10.0**power)
LOSSES = st.floats(-9, 1.5).map(lambda power: 10.0**power)
ORDERS = st.floats(-9, 4).map(lambda power: 1 + 10.0**power)


def rdp(order, rate, noise, direction=Direction.REMOVE):
    return subsampled_gaussian_rdp(order, sampling_probability=rate, noise_multiplier=noise, direction=direction)


def mp_binomial_rdp(order, rate, noise):
    """The divergence at a whole order: the mean of r^order is a binomial sum, whose terms 0 and 1 cancel."""
    with mpmath.workdps(60 + order // 50):
        rate, noise = mpmath.mpf(rate), mpmath.mpf(noise)
        terms = (
            mpmath.binomial(order, j)
            * (1 - rate) ** (order - j)
            * rate**j
            * mpmath.expm1(mpmath.mpf(j * j - j) / (2 * noise**2))
            for j in range(2, order + 1)
        )
        return mpmath.log1p(mpmath.fsum(terms)) / (order - 1)


def mp_rdp(order, rate, noise, direction):
    """The divergence from its definition: the trapezoid rule on the mean of r^order, or r^(1 − order), under N(0, σ²)."""
    is_remove = direction is Direction.REMOVE
    depth = 0 if is_remove else noise**2 * math.log1p((order - 1) * rate / (1 - rate) / noise**2)
    low, high = -16 * noise - depth, max(2, order if is_remove else 2) + 16 * noise
    with mpmath.workdps(70):
        step = mpmath.mpf(min(noise / 7, math.pi * noise**2 / 13))
        rate, noise, order = mpmath.mpf(rate), mpmath.mpf(noise), mpmath.mpf(order)
        total = mpmath.mpf(0)
        for n in range(int(low / step) - 1, int(high / step) + 2):
            x = n * step
            ratio = 1 - rate + rate * mpmath.exp((2 * x - 1) / (2 * noise**2))
            weight = mpmath.exp(-x * x / (2 * noise**2))
            if order == 1:
                total += weight * (ratio * mpmath.log(ratio) if is_remove else -mpmath.log(ratio))
            else:
                power = order if is_remove else 1 - order
                total += weight * (ratio**power - 1 - power * (ratio - 1))
        mean = total * step / (noise * mpmath.sqrt(2 * mpmath.pi))
        return mean if order == 1 else mpmath.log1p(mean) / (order - 1)


def mp_log_delta(epsilon, rate, noise, direction):
    """Log of the integral of max(p − e^epsilon q, 0), which changes sign once, from normal tails at many digits."""
    with mpmath.workdps(400):
        rate, noise, factor = mpmath.mpf(rate), mpmath.mpf(noise), mpmath.exp(mpmath.mpf(epsilon))
        tail = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2  # noqa: E731
        if direction is Direction.REMOVE:
            x = mpmath.mpf(0.5) + noise**2 * mpmath.log((factor - 1 + rate) / rate)
            delta = (1 - rate - factor) * tail(x / noise) + rate * tail((x - 1) / noise)
        else:
            if 1 / factor <= 1 - rate:
                return mpmath.mpf("-inf")
            x = mpmath.mpf(0.5) + noise**2 * mpmath.log((1 / factor - 1 + rate) / rate)
            delta = (1 - factor * (1 - rate)) * tail(-x / noise) - factor * rate * tail((1 - x) / noise)
        return mpmath.log(delta)


@entries("psg_rdp")
def test_rdp_reference(inputs, value):
    assert distance(rdp(inputs["alpha"], inputs["q"], inputs["sigma"]), value) <= 5e-15


@entries("psg_rdp_add_direction")
def test_rdp_reference_of_the_other_direction(inputs, value):
    assert distance(rdp(inputs["alpha"], inputs["q"], inputs["sigma"], Direction.ADD), value) <= 5e-15


@entries("psg_kfold_delta")
def test_delta_reference(inputs, value):
    if inputs["k"] == 1:
        setting = {"sampling_probability": inputs["q"], "noise_multiplier": inputs["sigma"]}
        delta = subsampled_gaussian_delta(inputs["eps"], direction=Direction(inputs["direction"]), **setting)
        assert distance(delta, value) <= 1e-14


@given(st.integers(2, 300), st.floats(-12, -1e-6).map(lambda power: 10.0**power), NOISES)
@example(1000, 0.01, 5.0)
@example(1000, 1e-6, 20.0)
@example(2, 1e-12, 300.0)
@example(2, 1 - 2**-53, 1.0)
def test_rdp_at_whole_orders_is_the_binomial_sum(order, rate, noise):
    truth = mp_binomial_rdp(order, rate, noise)
    assert abs(mpmath.mpf(rdp(float(order), rate, noise)) / truth - 1) <= 1e-13


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    ("order", "rate", "noise"),
    [
        (1.0, 0.01, 1.0),
        (1.0, 1e-10, 0.6),
        (1 + 1e-12, 0.3, 0.5),
        (1 + 1e-8, 105 / 100_000, 1.0),
        (1.01, 0.9999, 0.3),
        (1.5, 1e-12, 30.0),
        (2.7, 0.5, 0.2),
        (40.7, 0.001, 0.8),
        (55.3, 1e-12, 1.0),
        (100.1, 0.05, 3.0),
        (333.3, 0.12, 9.0),
        (1000.5, 1e-3, 20.0),
        (7.7, 1 - 1e-9, 2.0),
        (1 + 1.6e-5, 3.6e-12, 0.11),
        (1 + 5e-11, 1.2e-12, 0.25),
        (1.0, 0.5, 0.0435),
        (1.4, 0.3, 0.044),
    ],
)
def test_rdp_is_the_integral_it_stands_for(order, rate, noise, direction):
    truth = mp_rdp(order, rate, noise, direction)
    assert abs(mpmath.mpf(rdp(order, rate, noise, direction)) / truth - 1) <= 1e-13


def test_rdp_where_the_two_laws_lie_apart():
    """There it is a closed form, and passes into the integral without a step."""
    rate, order = 0.3, 1.7
    for noise in (0.03, 0.0285, 0.025):
        with mpmath.workdps(50):
            s, q, spread = mpmath.mpf(order) - 1, mpmath.mpf(rate), 2 * mpmath.mpf(noise) ** 2
            mean = (1 - q) ** (1 + s) + q ** (1 + s) * mpmath.exp(s * (1 + s) / spread)
            assert abs(mpmath.mpf(rdp(order, rate, noise)) / (mpmath.log(mean) / s) - 1) <= 1e-14
        assert rdp(order, rate, noise, Direction.ADD) == pytest.approx(-math.log1p(-rate), rel=1e-14)


def test_rdp_ends():
    assert rdp([1.0, 7.5, math.inf], 0.0, 1.0).tolist() == [0, 0, 0]
    assert rdp([1.0, 7.5], 1.0, 2.0).tolist() == [gaussian_rdp(1.0, mu=0.5), gaussian_rdp(7.5, mu=0.5)]
    assert rdp(math.inf, 0.5, 2.0) == math.inf
    assert rdp(math.inf, 0.5, 2.0, Direction.ADD) == pytest.approx(math.log(2))
    assert rdp(1e300, 0.5, 1.0) == pytest.approx(5e299, rel=1e-15)
    assert rdp(1e300, 0.25, 1.0, Direction.ADD) == pytest.approx(-math.log(0.75), rel=1e-12)
    assert rdp(2.0, 1e-3, 1e-200) == math.inf


@pytest.mark.parametrize("direction", Direction)
def test_rdp_has_an_answer_everywhere(direction):
    """No warning (they are errors), no NaN, and rising in the order, at any finite input."""
    orders = np.array([1.0, 1 + 1e-8, 1.5, 2.0, 100.0, 1e5, 1e8, 1e14, 1e20, 1e100, 1e300])
    for rate in (1e-300, 1e-30, 1e-12, 0.01, 0.5, 1 - 2**-53):
        for noise in (1e-300, 1e-8, 0.01, 0.03, 0.05, 1.0, 1e3, 1e12):
            found = rdp(orders, rate, noise, direction)
            assert not np.isnan(found).any()
            finite = found[np.isfinite(found)]
            assert np.all(np.diff(finite) >= -1e-12 * finite[1:])
            assert np.all(found >= 0)


@given(ORDERS, st.floats(1e-9, 1.0), NOISES)
def test_removal_costs_at_least_what_addition_costs(order, rate, noise):
    """Mironov, Talwar and Zhang (2019), Theorem 5."""
    remove, add = rdp(order, rate, noise), rdp(order, rate, noise, Direction.ADD)
    assert add <= remove * (1 + 1e-13)
    assert remove <= gaussian_rdp(order, mu=1 / noise) * (1 + 1e-13)
    assert add <= -math.log1p(-rate) * (1 + 1e-13) if rate < 1 else math.inf


@given(st.floats(1e-9, 0.99), NOISES, ORDERS, st.floats(1.001, 3))
def test_rdp_rises_with_order_and_rate_and_falls_with_noise(rate, noise, order, factor):
    here = rdp(order, rate, noise)
    assert rdp(1 + (order - 1) * factor, rate, noise) >= here * (1 - 1e-13)
    assert rdp(order, min(rate * factor, 1.0), noise) >= here * (1 - 1e-13)
    assert rdp(order, rate, noise * factor) <= here * (1 + 1e-13)


def test_rdp_of_many_is_that_of_each():
    orders, rates = np.array([[1.0], [3.3], [64.0]]), np.array([0.0, 1e-4, 0.2, 1.0])
    found = rdp(orders, rates, 0.9)
    assert found.shape == (3, 4)
    each = [[rdp(float(order), float(rate), 0.9) for rate in rates] for order in orders[:, 0]]
    np.testing.assert_allclose(found, each, rtol=1e-14)


def test_order_one_is_the_limit():
    assert rdp(1.0, 105 / 100_000, 1.0) == pytest.approx(9.44548e-7, rel=1e-6)
    assert rdp(1 + 1e-8, 105 / 100_000, 1.0) == pytest.approx(rdp(1.0, 105 / 100_000, 1.0), rel=1e-6)


@pytest.mark.parametrize("order", [2, 8, 32, 200])
def test_rdp_of_another_library(order):
    theirs = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(0.02, 1.3, [order])[0]
    assert rdp(order, 0.02, 1.3) == pytest.approx(theirs, rel=1e-9)


def test_rdp_of_another_library_at_fractional_orders():
    """There it adds the sizes of terms whose signs alternate: slightly too much."""
    theirs = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(0.02, 1.3, [2.5])[0]
    assert theirs * 0.99 < rdp(2.5, 0.02, 1.3) < theirs


@given(LOSSES, RATES, NOISES, st.sampled_from(Direction))
@example(0.0, 1e-12, 1.0, Direction.REMOVE)
@example(1e-14, 1e-12, 1.0, Direction.ADD)
@example(800.0, 0.3, 0.02, Direction.REMOVE)
@example(0.09, 0.1, 0.3, Direction.ADD)
def test_delta_is_the_integral_it_stands_for(epsilon, rate, noise, direction):
    setting = {"sampling_probability": rate, "noise_multiplier": noise, "direction": direction}
    truth = mp_log_delta(epsilon, rate, noise, direction)
    found = subsampled_gaussian_log_delta(epsilon, **setting)
    if truth == -mpmath.inf:
        assert found == -math.inf
    elif truth > -600:
        # a last digit of epsilon (or of 1/σ) moves log delta by its slope: that much no double can promise
        step = 1e-6 * epsilon
        slope = abs(mp_log_delta(epsilon + step, rate, noise, direction) - truth) / step if epsilon else 0
        narrow = abs(mp_log_delta(epsilon, rate, noise * (1 + 1e-6), direction) - truth) / mpmath.mpf(1e-6)
        slip = 1e-14 + 4e-16 * float(slope * epsilon + narrow) if mpmath.isfinite(slope) else 1e-6
        assert abs(found - truth) <= max(slip, 1e-15 * abs(truth))
        assert subsampled_gaussian_delta(epsilon, **setting) == pytest.approx(math.exp(found), rel=1e-12)


@given(LOSSES, st.floats(-12, 0).map(lambda power: 10.0**power), NOISES)
def test_delta_of_removal_is_never_the_lesser(epsilon, rate, noise):
    setting = {"sampling_probability": rate, "noise_multiplier": noise}
    remove = subsampled_gaussian_delta(epsilon, **setting)
    assert subsampled_gaussian_delta(epsilon, direction=Direction.ADD, **setting) <= remove * (1 + 1e-12)
    assert remove <= min(rate, gaussian_delta(epsilon, mu=1 / noise)) * (1 + 1e-12)


def test_delta_ends():
    whole = SubsampledGaussian(noise_multiplier=2.0, sampling_probability=1.0)
    none = SubsampledGaussian(noise_multiplier=2.0, sampling_probability=0.0)
    epsilon = np.array([0.0, 0.5, 30.0, math.inf])
    np.testing.assert_allclose(whole.delta(epsilon), Gaussian(2.0).delta(epsilon), rtol=1e-13)
    assert none.delta(epsilon).tolist() == [0, 0, 0, 0]
    assert none.log_delta(1.0) == -math.inf
    assert none.epsilon([0.0, 0.5]).tolist() == [0, 0]
    part = SubsampledGaussian(noise_multiplier=2.0, sampling_probability=0.25)
    assert part.delta(0.0) == pytest.approx(0.25 * math.erf(0.25 / math.sqrt(2)), rel=1e-15)
    assert part.epsilon([0.0, 0.05, 1.0]).tolist() == [math.inf, 0, 0]
    for direction in Direction:
        setting = {"sampling_probability": 1.0, "noise_multiplier": 2.0, "direction": direction}
        assert subsampled_gaussian_delta(0.5, **setting) == pytest.approx(Gaussian(2.0).delta(0.5), rel=1e-14)
    add = {"sampling_probability": 0.25, "noise_multiplier": 2.0, "direction": Direction.ADD}
    assert subsampled_gaussian_delta([0.287, 0.288], **add)[1] == 0  # beyond −log(1 − q) nothing is lost
    assert subsampled_gaussian_log_delta(0.287, **add) > -math.inf


@given(st.floats(-300, -0.01).map(lambda power: 10.0**power), RATES, NOISES)
def test_epsilon_and_delta_are_inverse(delta, rate, noise):
    release = SubsampledGaussian(noise_multiplier=noise, sampling_probability=rate)
    epsilon = release.epsilon(delta)
    if epsilon == 0:
        assert release.delta(0.0) <= delta * (1 + 1e-14)
        return
    step = 1e-6 * epsilon
    slope = (release.log_delta(epsilon) - release.log_delta(epsilon + step)) / step
    slip = 1e-12 + 1e-15 * (slope * epsilon + abs(math.log(delta)))
    assert abs(release.log_delta(epsilon) - math.log(delta)) <= slip


@given(st.floats(0, 1), st.floats(1e-6, 1.0), st.floats(0.2, 20))
def test_beta_is_the_envelope_of_its_privacy_profile(alpha, rate, noise):
    """Duality: beta is the largest 1 − delta(epsilon) − e^epsilon alpha, over epsilon of either sign."""
    release = SubsampledGaussian(noise_multiplier=noise, sampling_probability=rate)
    epsilon = np.concatenate([[0], np.geomspace(1e-6 * rate, 60, 4000)])
    delta = release.delta(epsilon)
    lines = np.concatenate([1 - delta - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - delta - alpha)])
    beta = release.beta(alpha)
    assert lines.max() <= beta + 1e-14
    assert beta <= max(lines.max(), 0) + 2e-5


def test_beta_ends():
    setting = {"sampling_probability": 0.5, "noise_multiplier": 1.0}
    assert subsampled_gaussian_beta([0.0, 1.0], **setting).tolist() == [1, 0]
    assert subsampled_gaussian_beta(0.3, sampling_probability=0.0, noise_multiplier=1.0) == pytest.approx(0.7)


def test_it_is_a_mechanism():
    step = SubsampledGaussian(noise_multiplier=1.0, sampling_probability=0.01)
    assert isinstance(step, Mechanism)
    assert hash(step) == hash(SubsampledGaussian(1.0, sampling_probability=0.01))
    assert step.rdp(2.0) == rdp(2.0, 0.01, 1.0)
    assert step.loss_law(Direction.ADD) != step.loss_law(Direction.REMOVE)
    assert step.loss_law(Direction.ADD).support[1] == pytest.approx(-math.log(0.99))
    assert SubsampledGaussian(2.0, sampling_probability=1.0).loss_law(Direction.ADD) == GaussianLaw(0.5)


@pytest.mark.parametrize(
    ("noise", "rate", "name"),
    [(0.0, 0.1, "noise_multiplier"), (math.inf, 0.1, "noise_multiplier"), (1.0, -0.1, "sampling_probability")],
)
def test_bad_settings_are_refused(noise, rate, name):
    with pytest.raises(DomainError, match=name):
        SubsampledGaussian(noise, sampling_probability=rate)
    with pytest.raises(DomainError, match=name):
        rdp(2.0, rate, noise)
    with pytest.raises(DomainError, match=name):
        subsampled_gaussian_epsilon(0.1, sampling_probability=rate, noise_multiplier=noise)


def test_bad_arguments_are_refused():
    step = SubsampledGaussian(1.0, sampling_probability=0.01)
    with pytest.raises(DomainError, match="order"):
        step.rdp(0.99)
    with pytest.raises(DomainError, match="epsilon"):
        step.delta(-1e-9)
    with pytest.raises(DomainError, match="delta"):
        step.epsilon(1.5)
    with pytest.raises(TypeError, match="sampling_probability"):
        SubsampledGaussian(1.0, sampling_probability="a")
    with pytest.raises(ValueError, match="sideways"):
        subsampled_gaussian_delta(1.0, sampling_probability=0.1, noise_multiplier=1.0, direction="sideways")
