import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import erf

from dpviz import (
    DomainError,
    Gaussian,
    Mechanism,
    composed_mu,
    gaussian_beta,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_rdp,
)
from tests.reference import distance, entries

MUS = st.floats(-4, 3).map(lambda power: 10.0**power)
SLACKS = st.floats(-300, -0.001).map(lambda power: 10.0**power)
STANDARD_LOSSES = st.floats(-6, 36)  # (epsilon − mu²/2)/mu


def mp_log_delta(epsilon, mu):
    """Log delta from its definition, at digits enough for what cancels."""
    epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
    u = epsilon / mu - mu / 2
    with mpmath.workdps(60 + int(0.45 * max(0, u) ** 2) + int(abs(mpmath.log10(mu)))):
        upper = mpmath.erfc((epsilon / mu - mu / 2) / mpmath.sqrt(2)) / 2
        lower = mpmath.erfc((epsilon / mu + mu / 2) / mpmath.sqrt(2)) / 2
        return mpmath.log(upper - mpmath.exp(epsilon) * lower)


@entries("gaussian_delta")
def test_delta_reference(inputs, value):
    assert distance(gaussian_delta(inputs["eps"], mu=inputs["mu"]), value) <= 1e-12


@entries("gaussian_log_delta")
def test_log_delta_reference(inputs, value):
    assert distance(gaussian_log_delta(inputs["eps"], mu=inputs["mu"]), value) <= 1e-14


@entries("gaussian_eps")
def test_epsilon_reference(inputs, value):
    mu = composed_mu(sigma=inputs["sigma"], sensitivity=inputs["Delta"], count=inputs["k"])
    assert distance(gaussian_epsilon(inputs["delta"], mu=mu), value) <= 1e-12


@entries("gaussian_sigma")
def test_reference_sigma_gives_its_delta_back(inputs, value):
    mu = composed_mu(sigma=float(value), sensitivity=inputs["Delta"], count=inputs["k"])
    assert gaussian_log_delta(inputs["eps"], mu=mu) == pytest.approx(math.log(inputs["delta"]), rel=1e-13)


@entries("classic_gaussian_critical_eps")
def test_classic_formula_stops_holding_at_its_critical_epsilon(inputs, value):
    delta, epsilon = inputs["delta"], float(value)
    mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))
    assert gaussian_log_delta(epsilon, mu=mu) == pytest.approx(math.log(delta), rel=1e-12)
    beyond = 1.01 * mu
    assert gaussian_delta(1.01 * epsilon, mu=beyond) > delta


@entries("gdp_compose_mu")
def test_composed_mu_reference(inputs, value):
    each = inputs["mus"]
    assert distance(composed_mu(sigma=1 / each["value"], count=each["count"]), value) <= 1e-15


@given(MUS, STANDARD_LOSSES)
@example(1.0000001, -0.5)
@example(1e-4, 3.0)
@example(13.5, -5.0)
@example(30.0, 30.0)
def test_delta_against_its_definition(mu, standard):
    epsilon = mu * (mu / 2 + standard)
    assume(0 <= epsilon <= 5000)
    truth = mp_log_delta(epsilon, mu)
    assert gaussian_delta(epsilon, mu=mu) == pytest.approx(float(mpmath.exp(truth)), rel=1e-12, abs=0)
    assert gaussian_log_delta(epsilon, mu=mu) == pytest.approx(float(truth), rel=1e-13, abs=0)


@pytest.mark.parametrize("standard", [-3.0, 0.5, 4.75, 20.0])
def test_delta_where_epsilon_and_half_mu_squared_nearly_cancel(standard):
    mu = math.sqrt(1e9) * 1e3
    epsilon = mu * (mu / 2 + standard)
    truth = mp_log_delta(epsilon, mu)
    assert gaussian_log_delta(epsilon, mu=mu) == pytest.approx(float(truth), rel=1e-13)


@given(MUS, SLACKS)
def test_epsilon_gives_its_delta_back(mu, delta):
    epsilon = gaussian_epsilon(delta, mu=mu)
    assume(epsilon > 0)
    slip = 4e-16 * epsilon + 1e-14 * mu * max(1, -math.log(delta) / 100)
    assert gaussian_delta(epsilon + slip, mu=mu) <= delta * (1 + 1e-12)
    assert gaussian_delta(max(epsilon - slip, 0), mu=mu) >= delta * (1 - 1e-12)


@given(st.floats(-6, 0).map(lambda power: 10.0**power), st.floats(-15, -0.3))
def test_epsilon_near_its_flat_root(mu, power):
    delta = float(erf(mu / math.sqrt(8)) * (1 - 10.0**power))
    epsilon = gaussian_epsilon(delta, mu=mu)
    read_back = mpmath.exp(mp_log_delta(epsilon, mu))
    assert abs(read_back / mpmath.mpf(delta) - 1) < 1e-14


@given(st.floats(0.05, 50), st.floats(-9, -1).map(lambda power: 10.0**power))
def test_epsilon_against_dp_accounting(sigma, delta):
    theirs = gaussian_mechanism.get_epsilon_gaussian(sigma, delta)
    assert gaussian_epsilon(delta, mu=1 / sigma) == pytest.approx(theirs, rel=1e-9, abs=1e-11)


def test_delta_does_not_rise_and_is_the_advantage_at_zero():
    for mu in (1e-3, 0.25, 1.0, 1.5, 8.0, 100.0):
        epsilon = np.concatenate([[0.0], np.geomspace(1e-9, mu * (mu / 2 + 38), 2000)])
        delta = gaussian_delta(epsilon, mu=mu)
        assert delta[0] == erf(mu / np.sqrt(8))
        assert np.all(np.diff(delta) <= 1e-15 * delta[:-1])
        assert np.all((delta >= 0) & (delta <= 1))


def test_delta_rises_with_mu_across_every_branch():
    mu = np.geomspace(1e-4, 1e3, 4000)
    for epsilon in (0.0, 1e-3, 0.5, 3.0, 40.0):
        log_delta = gaussian_log_delta(epsilon, mu=mu)
        assert np.all(np.diff(log_delta) >= -1e-14 * np.abs(log_delta[1:]))


def test_epsilon_is_exactly_zero_from_the_total_variation_on():
    total = gaussian_delta(0.0, mu=0.25)
    assert gaussian_epsilon([total, 0.2, 1.0], mu=0.25).tolist() == [0.0, 0.0, 0.0]
    assert 0 < gaussian_epsilon(total * (1 - 1e-9), mu=0.25) < 1e-8


def test_ends():
    assert gaussian_epsilon(0.0, mu=1.0) == math.inf
    assert gaussian_epsilon(0.0, mu=0.0) == 0.0
    assert gaussian_epsilon(0.5, mu=math.inf) == math.inf
    assert gaussian_delta(math.inf, mu=1.0) == 0.0
    assert gaussian_delta(0.0, mu=0.0) == 0.0
    assert gaussian_delta(5.0, mu=math.inf) == 1.0
    assert gaussian_log_delta([0.0, 1.0, math.inf], mu=0.0).tolist() == [-math.inf] * 3
    assert gaussian_beta([0.0, 0.3, 1.0], mu=0.0).tolist() == [1.0, 0.7, 0.0]
    assert gaussian_beta([0.0, 0.3, 1.0], mu=math.inf).tolist() == [0.0, 0.0, 0.0]
    assert composed_mu(sigma=1.0, count=0) == composed_mu(sigma=1.0, sensitivity=0.0) == 0.0


def test_rdp_is_the_moment_it_stands_for():
    """exp((order − 1) D) is the mean of the order-th power of the density ratio; by quadrature."""
    order, mu = 2.5, 0.7
    moment = mpmath.quad(lambda x: mpmath.npdf(x, mu, 1) ** order * mpmath.npdf(x) ** (1 - order), [-12, 0, 14])
    assert gaussian_rdp(order, mu=mu) == pytest.approx(float(mpmath.log(moment) / (order - 1)), rel=1e-12)
    assert gaussian_rdp(1, mu=mu) == pytest.approx(mu**2 / 2, rel=1e-15)


@given(MUS, st.integers(1, 10**9), st.integers(1, 10**6))
def test_composition_is_one_release_with_less_noise(mu, first, second):
    release = Gaussian(sigma=1.0, sensitivity=mu)
    assert release.compose(first).mu == pytest.approx(composed_mu(sigma=1.0, sensitivity=mu, count=first), rel=1e-15)
    assume(first * second < 2**53)
    nested = release.compose(first).compose(second)
    assert nested.sigma == pytest.approx(release.compose(first * second).sigma, rel=1e-15)


def test_the_class_says_what_the_functions_say():
    released = Gaussian(sigma=2.0, sensitivity=3.0)
    assert isinstance(released, Mechanism)
    assert released.mu == 1.5
    for method, function, values in (
        (released.delta, gaussian_delta, [0.0, 1.0]),
        (released.log_delta, gaussian_log_delta, [0.0, 1.0]),
        (released.epsilon, gaussian_epsilon, [1e-9, 0.1]),
        (released.beta, gaussian_beta, [0.1, 0.9]),
        (released.rdp, gaussian_rdp, [1.0, 7.0]),
    ):
        assert method(values).tolist() == function(values, mu=1.5).tolist()
        assert type(method(values[1])) is float
    assert hash(released) == hash(Gaussian(2, 3))
    with pytest.raises(AttributeError):
        released.sigma = 1.0
    with pytest.raises(DomainError, match=r"^sigma must be a finite number > 0, but got -1\.0$"):
        Gaussian(sigma=-1.0)


def test_arguments_broadcast():
    assert gaussian_delta(np.zeros((3, 1)), mu=np.ones(4)).shape == (3, 4)
    assert gaussian_epsilon(np.full((2, 1), 0.1), mu=np.ones(5)).shape == (2, 5)
    assert composed_mu(sigma=np.ones((2, 1)), count=np.arange(3)).shape == (2, 3)
    assert gaussian_delta([], mu=1.0).shape == (0,)
    assert gaussian_epsilon([], mu=1.0).shape == (0,)
    mixed = gaussian_epsilon([0.0, 1e-6, 1e-6, 1.0], mu=[1.0, 0.25, 0.0, 2.0])
    assert mixed.tolist() == [math.inf, gaussian_epsilon(1e-6, mu=0.25), 0.0, 0.0]
