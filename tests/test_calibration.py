import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import assume, example, given, settings, strategies as st

from dpviz import (
    DomainError,
    advanced_bound,
    basic_bound,
    composed_mu,
    exact_epsilon,
    gaussian_delta,
    improved_bound,
    rdp_bound,
)
from dpviz.accounting.calibration import calibrate_gaussian, calibrate_gaussian_with, largest_count, least_noise
from dpviz.accounting.gaussian import gaussian_log_delta
from tests.reference import distance, entries
from tests.test_gaussian import mp_log_delta

LADDER = (exact_epsilon, rdp_bound, improved_bound, basic_bound, advanced_bound)
LOSSES = st.one_of(st.just(0.0), st.floats(-12, 4).map(lambda power: 10.0**power))
SLACKS = st.one_of(
    st.floats(-320, -0.01).map(lambda power: 10.0**power),
    st.floats(-12, -0.01).map(lambda power: 10.0**power),
    st.floats(-12, -0.3).map(lambda power: 1 - 10.0**power),
)
COUNTS = st.integers(1, 10**9)


def mp_mu(epsilon, delta, near):
    """Mu from delta by one Newton step on the definition: d log delta/d log mu = mu φ(u)/delta."""
    with mpmath.workdps(60):
        mu, log_delta = mpmath.mpf(near), mp_log_delta(epsilon, near)
        rise = mu * mpmath.npdf(epsilon / mu - mu / 2) / mpmath.exp(log_delta)
        return mu * mpmath.exp((mpmath.log(mpmath.mpf(delta)) - log_delta) / rise)


@entries("gaussian_sigma")
def test_reference(inputs, value):
    sigma = calibrate_gaussian(inputs["eps"], delta=inputs["delta"], count=inputs["k"], sensitivity=inputs["Delta"])
    assert distance(sigma, value) <= 1e-15


@pytest.mark.parametrize(
    ("epsilon", "delta", "count", "sigma"),
    [(0.1, 1e-5, 60, 238.185), (0.01, 1e-5, 1, 243.7854377), (1.0, 1e-5, 1, 3.730632)],
)
def test_known_values(epsilon, delta, count, sigma):
    assert calibrate_gaussian(epsilon, delta=delta, count=count) == pytest.approx(sigma, rel=1e-6)


@settings(max_examples=50)
@given(LOSSES, SLACKS, COUNTS, st.floats(-5, 5).map(lambda power: 10.0**power))
@example(0.0, 1e-300, 1, 1.0)
@example(1e4, 1e-320, 1, 1.0)
@example(1e4, 0.5, 10**9, 1.0)
@example(0.0, 1 - 1e-12, 1, 1.0)
def test_the_answer_is_the_last_float64_and_the_definition_agrees(epsilon, delta, count, sensitivity):
    assume(epsilon > 0 or delta > 1e-300)
    sigma = calibrate_gaussian(epsilon, delta=delta, count=count, sensitivity=sensitivity)
    mu = composed_mu(sigma=sigma, sensitivity=sensitivity, count=count)
    assert gaussian_delta(epsilon, mu=mu) <= delta
    below = composed_mu(sigma=np.nextafter(sigma, 0), sensitivity=sensitivity, count=count)
    if delta < 0.4:
        steps = gaussian_log_delta(epsilon, mu=below) if delta < 1e-300 else gaussian_delta(epsilon, mu=below)
        assert steps >= (math.log(delta) if delta < 1e-300 else delta)
    with mpmath.workdps(60):
        truth = mpmath.sqrt(count) * mpmath.mpf(sensitivity) / mp_mu(epsilon, delta, mu)
        assert abs(mpmath.mpf(sigma) / truth - 1) <= 1e-15


@pytest.mark.parametrize("epsilon", [1e6, 1e12, 1e30, 1e100, 1e300])
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.9])
def test_an_epsilon_that_no_one_needs_has_its_answer_too(epsilon, delta):
    sigma = calibrate_gaussian(epsilon, delta=delta)
    assert gaussian_delta(epsilon, mu=composed_mu(sigma=sigma)) <= delta
    assert gaussian_delta(epsilon, mu=composed_mu(sigma=np.nextafter(sigma, 0))) > delta * (1 - 1e-9)
    assert sigma == pytest.approx(1 / math.sqrt(2 * epsilon), rel=0.05)


@given(st.floats(-3, 2).map(lambda power: 10.0**power), st.floats(-12, -1).map(lambda power: 10.0**power))
def test_against_dp_accounting(epsilon, delta):
    theirs = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
    assert calibrate_gaussian(epsilon, delta=delta) == pytest.approx(theirs, rel=1e-7)


def test_laws_over_a_grid():
    epsilon = np.geomspace(1e-9, 1e4, 60)[:, np.newaxis]
    delta = np.concatenate([np.geomspace(1e-300, 0.5, 40), 1 - np.geomspace(0.4, 1e-12, 20)])
    sigma = calibrate_gaussian(epsilon, delta=delta)
    assert sigma.shape == (60, 60)
    assert np.all(np.diff(sigma, axis=0) <= 0)
    assert np.all(np.diff(sigma, axis=1) <= 0)
    assert calibrate_gaussian(epsilon, delta=delta, count=100, sensitivity=3.0) == pytest.approx(30 * sigma, rel=1e-15)


def test_ends():
    assert calibrate_gaussian(1.0, delta=1.0) == 0.0
    assert calibrate_gaussian(1.0, delta=1e-6, count=0) == 0.0
    assert calibrate_gaussian(1.0, delta=1e-6, sensitivity=0.0) == 0.0
    assert calibrate_gaussian([], delta=0.5).shape == (0,)
    assert type(calibrate_gaussian(1, delta=1e-6)) is float
    with pytest.raises(DomainError, match=r"^delta must be a number in \(0, 1\], but got 0"):
        calibrate_gaussian(1.0, delta=0)
    with pytest.raises(DomainError, match="the least sigma for the target must be a finite float64"):
        calibrate_gaussian(0.0, delta=1e-310, count=10**6)
    for wrong in ({"epsilon": -1.0}, {"epsilon": math.inf}, {"delta": 1.5}, {"count": 2.5}, {"sensitivity": -1.0}):
        arguments = {"epsilon": 1.0, "delta": 1e-6, **wrong}
        with pytest.raises(DomainError, match=rf"^{next(iter(wrong))} must be"):
            calibrate_gaussian(arguments.pop("epsilon"), **arguments)


@pytest.mark.parametrize("bound", LADDER)
@settings(max_examples=15)
@given(st.floats(-3, 3).map(lambda power: 10.0**power), st.floats(-200, -0.3).map(lambda power: 10.0**power), COUNTS)
def test_the_answer_of_a_bound_is_its_own_last_float64(bound, epsilon, delta, count):
    sigma = calibrate_gaussian_with(bound, epsilon=epsilon, delta=delta, count=count, sensitivity=2.0)
    assert bound(count=count, sigma=sigma, sensitivity=2.0, delta=delta) <= epsilon
    assert bound(count=count, sigma=np.nextafter(sigma, 0), sensitivity=2.0, delta=delta) > epsilon
    exact = calibrate_gaussian(epsilon, delta=delta, count=count, sensitivity=2.0)
    assert sigma >= exact * (1 - 1e-12)
    if bound is exact_epsilon:
        assert sigma == pytest.approx(exact, rel=1e-12)


def test_the_classic_conversion_has_a_closed_inverse():
    """√a = √(L + ε) − √L with a = kΔ²/(2σ²), written as a quotient."""
    epsilon, delta, count = np.geomspace(1e-6, 1e3, 40), np.geomspace(1e-200, 0.9, 40), 7
    log_inverse = -np.log(delta)
    root = epsilon / (np.sqrt(log_inverse + epsilon) + np.sqrt(log_inverse))
    found = calibrate_gaussian_with(rdp_bound, epsilon=epsilon, delta=delta, count=count)
    assert found == pytest.approx(np.sqrt(count / 2) / root, rel=1e-14)


def test_ends_of_the_bounds():
    assert calibrate_gaussian_with(exact_epsilon, epsilon=1.0, delta=1.0) == 0.0
    assert calibrate_gaussian_with(rdp_bound, epsilon=0.0, delta=1e-6, count=0) == 0.0
    assert calibrate_gaussian_with(rdp_bound, epsilon=2.0, delta=1.0) == pytest.approx(0.5, rel=1e-15)
    assert calibrate_gaussian_with(exact_epsilon, epsilon=0.0, delta=1e-6) == pytest.approx(
        calibrate_gaussian(0.0, delta=1e-6), rel=1e-15
    )
    for bound, epsilon, delta in ((exact_epsilon, 1.0, 0.0), (rdp_bound, 0.0, 1e-6)):
        with pytest.raises(DomainError, match="the least noise for the target"):
            calibrate_gaussian_with(bound, epsilon=epsilon, delta=delta)
    mixed = calibrate_gaussian_with(improved_bound, epsilon=[[1.0], [2.0]], delta=[1e-9, 1e-3, 1e-6])
    assert mixed.shape == (2, 3)
    assert mixed[1, 2] == calibrate_gaussian_with(improved_bound, epsilon=2.0, delta=1e-6)


@given(
    st.floats(0.3, 4.0), st.floats(-100, 100).map(lambda power: 10.0**power), st.floats(-30, 30).map(lambda p: 10.0**p)
)
def test_least_noise_of_a_power_from_anywhere(power, target, start):
    assume(1e-140 < target ** (-1 / power) < 1e140)
    noise = least_noise(lambda x: x**-power, target=target, start=start)
    assert noise**-power <= target < np.nextafter(noise, 0) ** -power
    assert noise == pytest.approx(target ** (-1 / power), rel=1e-12)


def test_least_noise_of_a_staircase_and_at_its_ends():
    steps = lambda x: np.ceil(10 / x)  # noqa: E731
    assert least_noise(steps, target=[1.0, 2.0, 5.0]).tolist() == [10.0, 5.0, 2.0]
    assert least_noise(lambda x: 0 * x, target=0.0) == 0.0
    assert least_noise(lambda x: np.where(x < 3, np.inf, 0.0), target=0.0) == 3.0
    with pytest.raises(DomainError, match="the least noise for the target"):
        least_noise(lambda x: np.ones_like(x), target=0.5)
    with pytest.raises(DomainError, match="target"):
        least_noise(lambda x: x, target=-1.0)


@pytest.mark.parametrize("bound", LADDER)
@settings(max_examples=15)
@given(
    st.floats(-1, 4).map(lambda power: 10.0**power),
    st.floats(-3, 2).map(lambda power: 10.0**power),
    st.floats(-100, -0.5).map(lambda power: 10.0**power),
)
@example(1e4, 1.0, 1e-6)
@example(0.1, 1e-3, 1e-6)
def test_the_largest_count_fits_and_one_more_does_not(bound, sigma, epsilon, delta):
    count = largest_count(sigma=sigma, sensitivity=0.5, epsilon=epsilon, delta=delta, bound=bound)
    release = {"sigma": sigma, "sensitivity": 0.5, "delta": delta}
    assert count == int(count)
    assert bound(count=count, **release) <= epsilon
    assume(count < 2**53)
    assert bound(count=count + 1, **release) > epsilon


def test_the_largest_count_at_its_ends():
    assert largest_count(sigma=1.0, epsilon=0.01, delta=1e-9) == 0.0
    assert largest_count(sigma=1.0, epsilon=1.0, delta=0.0) == 0.0
    assert largest_count(sigma=1.0, sensitivity=0.0, epsilon=0.0, delta=0.0) == 2.0**53
    assert largest_count(sigma=1.0, epsilon=0.0, delta=1.0) == 2.0**53
    assert largest_count(sigma=1e12, epsilon=100.0, delta=1e-6) == 2.0**53
    counts = largest_count(sigma=[[8.0], [16.0]], epsilon=[0.5, 1.0, 2.0], delta=1e-6)
    assert counts.shape == (2, 3)
    assert counts[1, 2] == largest_count(sigma=16.0, epsilon=2.0, delta=1e-6) == 51.0
    near = largest_count(sigma=1e5, epsilon=3.0, delta=1e-9)
    assert calibrate_gaussian(3.0, delta=1e-9, count=near) <= 1e5 < calibrate_gaussian(3.0, delta=1e-9, count=near + 1)
