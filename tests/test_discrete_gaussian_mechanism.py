import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.discrete_gaussian import discrete_gaussian_delta
from dpviz.accounting.discrete_gaussian_mechanism import DiscreteGaussian
from dpviz.accounting.gaussian import gaussian_beta
from dpviz.accounting.mechanism import Mechanism


def laws(mechanism):
    """Return the outputs, and their probabilities under both neighbours, in many digits."""
    reach = int(14 * mechanism.sigma) + 3 * mechanism.sensitivity + 12
    width, change = mpmath.mpf(mechanism.sigma), mechanism.sensitivity
    weight = {z: mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * width * width)) for z in range(-reach - change, reach + 1)}
    total = sum(weight.values())
    whole = range(-reach, reach + 1)
    return whole, [weight[z] / total for z in whole], [weight[z - change] / total for z in whole]


@pytest.mark.parametrize(("sigma", "sensitivity"), [(0.2, 1), (0.5, 1), (0.9, 2), (1.0, 1), (3.0, 2)])
@pytest.mark.parametrize("order", [1.0, 1 + 1e-6, 1.3, 2.0, 2.5, 9.75])
def test_rdp_is_the_sum(sigma, sensitivity, order):
    mechanism = DiscreteGaussian(sigma, sensitivity=sensitivity)
    with mpmath.workdps(60):
        width, a = mpmath.mpf(sigma), mpmath.mpf(order) - 1
        centre = (1 + a) * sensitivity
        nearest = int(mpmath.nint(centre))
        whole = range(-int(20 * sigma) - 15, int(20 * sigma) + 16)
        shifted = sum(mpmath.exp(-((nearest + z - centre) ** 2) / (2 * width**2)) for z in whole)
        total = sum(mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * width**2)) for z in whole)
        main = (1 + a) * sensitivity**2 / (2 * width**2)
        truth = main + (mpmath.log(shifted / total) / a if a else 0)
        assert abs(mechanism.rdp(order) / truth - 1) < 2e-14
        assert mechanism.rdp(order) <= order * mechanism.rho * (1 + 1e-15)


def test_rdp_is_the_divergence_of_the_two_laws():
    mechanism = DiscreteGaussian(0.8, sensitivity=1)
    with mpmath.workdps(40):
        _, p, q = laws(mechanism)
        for order in (1.25, 1.5, 3.0):
            truth = mpmath.log(sum(a**order * b ** (1 - mpmath.mpf(order)) for a, b in zip(p, q, strict=True))) / (
                order - 1
            )
            assert abs(mechanism.rdp(order) / truth - 1) < 1e-13


@pytest.mark.parametrize(("sigma", "sensitivity"), [(0.3, 1), (1.0, 1), (2.5, 4), (8.0, 7)])
def test_tradeoff_goes_through_the_threshold_tests(sigma, sensitivity):
    mechanism = DiscreteGaussian(sigma, sensitivity=sensitivity)
    with mpmath.workdps(40):
        whole, p, q = laws(mechanism)
        below = {}  # (alpha, beta) of calling P at outputs <= z
        alpha, beta = mpmath.mpf(0), mpmath.mpf(1)
        for z, one, other in zip(whole, p, q, strict=True):
            alpha, beta = alpha + other, beta - one
            below[z] = alpha, beta
    for z in range(-int(9 * sigma), int(9 * sigma) + sensitivity):
        (alpha, beta), (further, lesser) = below[z], below[z + 1]
        if alpha > 1e-280 and beta > 1e-25:
            for share in (0.0, 0.3):
                at, truth = alpha + share * (further - alpha), beta + share * (lesser - beta)
                rounding = 2.0**-52 * at * (beta - lesser) / (further - alpha)  # of alpha as a float64
                assert abs(mechanism.beta(float(at)) - truth) <= 1e-12 * truth + rounding, z


@given(st.floats(0.1, 1e4), st.integers(1, 50))
def test_tradeoff_is_convex_and_its_own_inverse(sigma, sensitivity):
    mechanism = DiscreteGaussian(sigma, sensitivity=sensitivity)
    alpha = np.linspace(0, 1, 201)
    beta = mechanism.beta(alpha)
    assert np.all((beta >= 0) & (beta <= 1 - alpha + 1e-12))
    assert np.all(np.diff(beta, 2) >= -1e-9)
    inner = (beta > 1e-6) & (beta < 1 - 1e-6)
    assert mechanism.beta(beta[inner]) == pytest.approx(alpha[inner], abs=1e-7)


@given(st.floats(5, 100), st.integers(1, 5), st.floats(0, 3))
def test_tradeoff_and_profile_are_conjugate(sigma, sensitivity, tail):
    mechanism = DiscreteGaussian(sigma, sensitivity=sensitivity)
    epsilon = tail * sensitivity / sigma
    alpha = np.concatenate([[0], np.geomspace(1e-6, 1, 400)])
    support = np.max(1 - np.exp(np.minimum(epsilon, 600)) * alpha - mechanism.beta(alpha))
    assert support <= mechanism.delta(epsilon) + 1e-11
    assert support >= mechanism.delta(epsilon) - 2e-2


def test_wide_noise_is_gaussian_noise():
    alpha = np.linspace(0, 1, 51)
    assert DiscreteGaussian(1e4, sensitivity=10**4).beta(alpha) == pytest.approx(gaussian_beta(alpha, mu=1.0), abs=1e-8)
    assert DiscreteGaussian(2.0**45, sensitivity=2**45).beta(alpha).tolist() == gaussian_beta(alpha, mu=1.0).tolist()


def test_draws_have_the_law():
    for sigma in (0.3, 1.0, 2.75):
        mechanism = DiscreteGaussian(sigma)
        noise = mechanism.sample(np.random.default_rng(8), size=(100, 300)).ravel()
        low, high = -int(2.5 * sigma) - 1, int(2.5 * sigma) + 1
        found = np.bincount(np.clip(noise, low, high) - low, minlength=high - low + 1)
        chance = mechanism.pmf(np.arange(low, high + 1))
        chance[[0, -1]] += (1 - chance.sum()) / 2
        statistic = ((found - 30_000 * chance) ** 2 / (30_000 * chance)).sum()
        assert statistic < chance.size + 4 * math.sqrt(2 * chance.size)


def test_draws_of_narrow_and_wide_noise():
    rng = np.random.default_rng(2)
    assert DiscreteGaussian(1e-3).sample(rng, size=5).tolist() == [0] * 5
    assert DiscreteGaussian(1e6).sample(rng, size=4000).std() == pytest.approx(1e6, rel=0.05)
    assert np.abs(DiscreteGaussian(2.0**40).sample(rng, size=50)).max() < 2**43
    one, two = (DiscreteGaussian(3.7).sample(np.random.default_rng(5), size=9) for _ in range(2))
    assert one.tolist() == two.tolist()
    with pytest.raises(DomainError, match="sigma must be at most"):
        DiscreteGaussian(2.0**41).sample(rng, size=1)


def test_it_is_a_mechanism_and_its_ends_are_said():
    mechanism = DiscreteGaussian(2.0, sensitivity=3)
    assert isinstance(mechanism, Mechanism)
    assert mechanism.rho == 1.125
    assert mechanism.delta(1.0) == discrete_gaussian_delta(1.0, sigma=2.0, sensitivity=3)
    assert mechanism.beta([0.0, 1.0]).tolist() == [1, 0]
    assert DiscreteGaussian(1.0, sensitivity=0).beta(0.25) == 0.75
    assert mechanism.log_pmf(0) == pytest.approx(-math.log(2 * math.sqrt(2 * math.pi)), rel=1e-14)
    for sigma in (5e-324, 1e-100, 1e100, 1.7e308):
        extreme = DiscreteGaussian(sigma, sensitivity=1)
        assert not np.isnan(extreme.beta([0.0, 1e-300, 0.5, 1 - 1e-16, 1.0])).any()
        assert not np.isnan(extreme.rdp([1.0, 1 + 1e-9, 2.0, 1e300])).any()
        assert not np.isnan(extreme.log_pmf([0, 1, 2**53])).any()
