import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import assume, example, given, settings, strategies as st
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
from dpviz.accounting.gaussian import gaussian_zcdp
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.gaussian_mu import compose_mu, gaussian_group_mu
from dpviz.accounting.relation import Direction
from tests.reference import distance, entries

MUS = st.floats(-4, 3).map(lambda power: 10.0**power)
WIDE_MUS = st.floats(-12, 9).map(lambda power: 10.0**power)
SLACKS = st.floats(-300, -0.001).map(lambda power: 10.0**power)
STANDARD_LOSSES = st.floats(-37, 37)  # (epsilon − mu²/2)/mu


def mp_log_delta(epsilon, mu):
    """Log delta from its definition, at digits enough for what cancels; near 1 from its complement."""
    epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
    with mpmath.workdps(90):
        u = epsilon / mu - mu / 2
    with mpmath.workdps(90 + int(0.45 * max(0, u) ** 2) + int(abs(mpmath.log10(mu)))):
        u = epsilon / mu - mu / 2
        lower = mp_lower(epsilon, u + mu, u)
        if u < 0:
            return mpmath.log1p(-mpmath.erfc(-u / mpmath.sqrt(2)) / 2 - lower)
        return mpmath.log(mpmath.erfc(u / mpmath.sqrt(2)) / 2 - lower)


def mp_lower(epsilon, v, u):
    """exp(epsilon) Φ(−v); by its asymptotic series where exp(epsilon) alone is out of reach."""
    if v < 1e4:
        return mpmath.exp(epsilon) * mpmath.erfc(v / mpmath.sqrt(2)) / 2
    total, term = mpmath.mpf(0), 1 / v
    for j in range(1, 25):
        total += term
        term *= -(2 * j - 1) / v**2
    return mpmath.npdf(u) * total


@entries("gaussian_delta")
def test_delta_reference(inputs, value):
    assert distance(gaussian_delta(inputs["eps"], mu=inputs["mu"]), value) <= 1e-12


@entries("gaussian_log_delta")
def test_log_delta_reference(inputs, value):
    assert distance(gaussian_log_delta(inputs["eps"], mu=inputs["mu"]), value) <= 1e-15


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
    assert distance(compose_mu([each["value"]] * each["count"]), value) <= 1e-15
    assert distance(compose_mu(each["value"], counts=each["count"]), value) <= 2e-16


@given(WIDE_MUS, STANDARD_LOSSES)
@example(1.0000001, -0.5)
@example(1e-4, 3.0)
@example(13.5, -5.0)
@example(30.0, 30.0)
@example(3e7, 0.5)
@example(1e9, -36.0)
@example(6e-12, 8.0)
@settings(max_examples=100)
def test_delta_against_its_definition(mu, standard):
    epsilon = mu * (mu / 2 + standard)
    assume(epsilon >= 0)
    truth = mp_log_delta(epsilon, mu)
    assert gaussian_delta(epsilon, mu=mu) == pytest.approx(float(mpmath.exp(truth)), rel=1e-14, abs=0)
    assert gaussian_log_delta(epsilon, mu=mu) == pytest.approx(float(truth), rel=1e-14, abs=0)


@pytest.mark.parametrize("standard", [1e3, 1e5, 1e9])
@pytest.mark.parametrize("mu", [1e-9, 1e-3, 1.0, 50.0])
def test_log_delta_far_below_the_least_float64(mu, standard):
    """By log(φ(u) (R(u) − R(v))) with both ratios' asymptotic series."""
    epsilon = mu * (mu / 2 + standard)
    with mpmath.workdps(60):
        u = mpmath.mpf(epsilon) / mpmath.mpf(mu) - mpmath.mpf(mu) / 2
        ratio = lambda x: mpmath.fsum((-1) ** j * mpmath.fac2(2 * j - 1) / x ** (2 * j + 1) for j in range(12))  # noqa: E731
        truth = -(u**2) / 2 - mpmath.log(2 * mpmath.pi) / 2 + mpmath.log(ratio(u) - ratio(u + mpmath.mpf(mu)))
        assert gaussian_log_delta(epsilon, mu=mu) == pytest.approx(float(truth), rel=1e-15)


def test_a_subnormal_delta_is_rounded_once():
    epsilon, mu = 38.4, 1.0
    truth = float(mpmath.exp(mp_log_delta(epsilon, mu)))
    assert 0 < truth < 1e-310
    assert gaussian_delta(epsilon, mu=mu) == truth


@given(MUS, SLACKS)
def test_epsilon_gives_its_delta_back(mu, delta):
    epsilon = gaussian_epsilon(delta, mu=mu)
    assume(epsilon > 0)
    slip = 4e-16 * epsilon + 1e-15 * mu * max(1, -math.log(delta) / 100)
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


def mp_epsilon(delta, mu, near):
    """Epsilon from delta by one Newton step on the definition, whose error is the square of the step."""
    epsilon, mu = mpmath.mpf(near), mpmath.mpf(mu)
    log_delta, u = mp_log_delta(epsilon, mu), epsilon / mu - mu / 2
    with mpmath.workdps(60 + int(0.25 * max(0, u) ** 2)):
        step = (log_delta - mpmath.log(delta)) * mpmath.exp(log_delta) / mp_lower(epsilon, u + mu, u)
    return epsilon + step


@settings(max_examples=40)
@given(
    st.integers(1, 10**9),
    st.floats(-3, 6).map(lambda power: 10.0**power),
    st.floats(-3, 3).map(lambda power: 10.0**power),
    SLACKS,
)
@example(10**9, 1e-3, 1.0, 1e-6)
@example(10**6, 100.0, 1.0, 1e-12)
@example(10**9, 1e6, 1e3, 1e-300)
@example(1, 1e6, 1.0, 3.9e-7)
def test_epsilon_of_releases_against_its_definition(count, sigma, sensitivity, delta):
    """From count, sigma and sensitivity, whose mu is not rounded in the definition."""
    epsilon = gaussian_epsilon(delta, mu=composed_mu(sigma=sigma, sensitivity=sensitivity, count=count))
    with mpmath.workdps(80):
        mu = mpmath.sqrt(count) * mpmath.mpf(sensitivity) / mpmath.mpf(sigma)
        total = mpmath.erf(mu / mpmath.sqrt(8))
        if delta >= total:
            assert epsilon == 0
            return
        assume(epsilon > 0)
        gap = 1 - mpmath.mpf(delta) / total
        truth = mp_epsilon(delta, mu, epsilon)
        assert abs(mpmath.mpf(epsilon) / truth - 1) <= 1e-15 * (2 + 1 / gap)


@given(
    st.floats(min_value=1e-300, max_value=1e300),
    st.floats(min_value=1e-300, max_value=1e300),
    st.integers(1, 2**53),
)
@example(1.0, 100.0, 10**6)
@example(1e-300, 1e10, 2**52)
def test_composed_mu_is_rounded_once(sensitivity, sigma, count):
    with mpmath.workdps(60):
        truth = mpmath.sqrt(count) * mpmath.mpf(sensitivity) / mpmath.mpf(sigma)
        assume(1e-300 < truth < 1e300)
        mu = composed_mu(sigma=sigma, sensitivity=sensitivity, count=count)
        assert abs(mpmath.mpf(mu) - truth) <= 0.500001 * np.spacing(mu)


def test_exact_square_roots_are_exact():
    assert composed_mu(sigma=100.0, count=10**6) == 10.0
    assert composed_mu(sigma=3.0, sensitivity=1.5, count=[0, 4, 16]).tolist() == [0.0, 1.0, 2.0]


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.data())
def test_composed_mus_do_not_depend_on_the_order_or_the_grouping(mus, data):
    counts = data.draw(st.lists(st.integers(0, 10**6), min_size=len(mus), max_size=len(mus)))
    with mpmath.workdps(40):
        truth = mpmath.sqrt(mpmath.fsum(k * mpmath.mpf(mu) ** 2 for mu, k in zip(mus, counts, strict=True)))
    together = compose_mu(mus, counts=counts)
    assert together == pytest.approx(float(truth), rel=1e-15)
    assert compose_mu(mus[::-1], counts=counts[::-1]) == pytest.approx(together, rel=1e-15)
    assert compose_mu([compose_mu(mus[:1], counts=counts[:1]), compose_mu(mus[1:] or 0.0, counts=counts[1:] or 1)]) == (
        pytest.approx(together, rel=1e-15)
    )


def test_composed_mus_at_their_ends():
    assert compose_mu([3e200, 4e200]) == pytest.approx(5e200, rel=1e-15)
    assert compose_mu([3e-200, 4e-200]) == pytest.approx(5e-200, rel=1e-15)
    assert compose_mu([]) == 0.0
    assert compose_mu([1.0, math.inf], counts=[1, 0]) == 1.0
    assert compose_mu([1.0, math.inf]) == math.inf
    assert compose_mu(np.ones((2, 3)), counts=[1, 4, 4]).tolist() == [3.0, 3.0]
    assert compose_mu([1.7e308, 1.7e308]) == math.inf
    with pytest.raises(DomainError, match="counts"):
        compose_mu([1.0], counts=[0.5])


@given(MUS, st.integers(1, 50), st.floats(-5, 5))
def test_a_group_is_read_off_a_larger_sensitivity(mu, size, standard):
    grouped = gaussian_group_mu(size, mu=mu)
    assert grouped == pytest.approx(Gaussian(sigma=1.0, sensitivity=mu).group(size).mu, rel=1e-15)
    epsilon = max(0.0, grouped * (grouped / 2 + standard))
    with mpmath.workdps(50):
        truth = float(mpmath.exp(mp_log_delta(epsilon, size * mpmath.mpf(mu))))
    assert gaussian_delta(epsilon, mu=grouped) == pytest.approx(truth, rel=1e-9)


def test_a_group_of_none_and_of_one():
    assert gaussian_group_mu([0, 1, 3], mu=[math.inf, 0.5, 0.5]).tolist() == [0.0, 0.5, 1.5]
    with pytest.raises(DomainError, match="group_size"):
        gaussian_group_mu(1.5, mu=1.0)


def test_zcdp_bounds_every_order_and_is_what_two_conversions_give():
    mu = np.array([0.0, 1e-9, 0.3, 40.0])
    rho = gaussian_zcdp(mu=mu)
    for order in (1.0, 1.5, 32.0):
        assert gaussian_rdp(order, mu=mu) == pytest.approx(order * rho, rel=1e-15)
    assert gaussian_zcdp(mu=math.inf) == math.inf
    assert Gaussian(sigma=2.0, sensitivity=3.0).zcdp == 1.125


@settings(max_examples=60)
@given(st.floats(-4, 1.3).map(lambda power: 10.0**power), st.floats(-8, 8))
def test_the_signed_profile_is_the_hockey_stick_of_either_sign(mu, standard):
    """By the closed form at 100 digits, which holds for a negative epsilon as it stands."""
    epsilon = mu * standard
    with mpmath.workdps(100 + int(2 * abs(math.log10(mu)))):
        at, spread = mpmath.mpf(epsilon), mpmath.mpf(mu)
        upper, lower = (at / spread - spread / 2) / mpmath.sqrt(2), (at / spread + spread / 2) / mpmath.sqrt(2)
        second = mpmath.exp(at) * mpmath.erfc(lower) / 2
        complement = mpmath.erfc(-upper) / 2 + second
        truth = mpmath.log1p(-complement) if complement < 0.5 else mpmath.log(mpmath.erfc(upper) / 2 - second)
    assert gaussian_log_delta(epsilon, mu=mu) == pytest.approx(float(truth), rel=4e-15, abs=1e-300)


def test_the_loss_law_is_one_for_both_directions():
    released = Gaussian(sigma=4.0)
    assert released.loss_law(Direction.REMOVE) == released.loss_law(Direction.ADD) == GaussianLaw(0.25)
    with pytest.raises(ValueError, match="sideways"):
        released.loss_law("sideways")


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
    assert hash(released) == hash(Gaussian(2, sensitivity=3))
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
