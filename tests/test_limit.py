import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mpmath import mpf

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import gaussian_beta, gaussian_epsilon
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.limit import (
    laplace_limit_error,
    laplace_limit_mu,
    poisson_limit_mu,
    without_replacement_limit_mu,
)
from dpviz.accounting.piecewise_tradeoff import discrete_tradeoff
from tests.normal_oracle import cdf, relative
from tests.reference import distance, entries

LIMITS = (laplace_limit_mu, laplace_limit_error, poisson_limit_mu, without_replacement_limit_mu)
FINE = settings(deadline=None, max_examples=50)


@entries("clt_mu_laplace")
def test_laplace_reference(inputs, value):
    assert distance(laplace_limit_mu(pure_epsilon=inputs["eps0"], count=inputs["k"]), value) <= 2e-15


@entries("clt_gamma_laplace")
def test_laplace_error_reference(inputs, value):
    assert distance(laplace_limit_error(pure_epsilon=inputs["eps0"], count=inputs["k"]), value) <= 2e-15


@entries("clt_mu_dpsgd_poisson")
def test_poisson_reference(inputs, value):
    found = poisson_limit_mu(sampling_probability=inputs["q"], noise_multiplier=inputs["sigma"], count=inputs["T"])
    assert distance(found, value) <= 2e-15


@entries("clt_mu_dpsgd_wor")
def test_without_replacement_reference(inputs, value):
    found = without_replacement_limit_mu(
        sampling_probability=inputs["q"], noise_multiplier=inputs["sigma"], count=inputs["T"]
    )
    assert distance(found, value) <= 2e-15


@pytest.mark.parametrize("s", [1e-9, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 7.0, 40.0, 800.0])
def test_laplace_moments_from_the_definition(s):
    """Quadrature over the output: the loss is s, then s − 2x, then −s."""
    with mpmath.workdps(40):
        gap = mpf(s)
        ends = [mpf(0), *(x for x in (mpf(1) / 2, mpf(2), mpf(10), mpf(40)) if x < gap), gap]

        def mean(f, *knots):
            inner = mpmath.quad(lambda x: f(gap - 2 * x) * mpmath.exp(-x) / 2, sorted({*ends, *knots}))
            return f(gap) / 2 + inner + f(-gap) * mpmath.exp(-gap) / 2

        first = mean(lambda loss: loss)
        variance = mean(lambda loss: (loss - first) ** 2)
        third = mean(lambda loss: abs(loss - first) ** 3, (gap - first) / 2)
        assert (
            relative(laplace_limit_mu(pure_epsilon=s, count=7), 2 * mpmath.sqrt(7) * first / mpmath.sqrt(variance))
            <= 3e-15
        )
        gamma = mpf("0.56") * third / mpmath.sqrt(7) / variance**1.5
        assert relative(laplace_limit_error(pure_epsilon=s, count=7), gamma) <= 3e-15


def test_subsampled_limits_have_twelve_digits_everywhere():
    rng = np.random.default_rng(7)
    rates, noises = 10 ** rng.uniform(-12, 0, 400), 10 ** rng.uniform(-1.4, 9, 400)
    steps = np.floor(10 ** rng.uniform(0, 15, 400))
    steps_of = {"sampling_probability": rates, "noise_multiplier": noises, "count": steps}
    poisson, fixed = poisson_limit_mu(**steps_of), without_replacement_limit_mu(**steps_of)
    with mpmath.workdps(60):
        for i, noise in enumerate(noises):
            q, m = mpf(rates[i]), 1 / mpf(noise)
            chi = mpmath.exp(m * m) * cdf(1.5 * m) + 3 * cdf(-m / 2) - 2
            assert relative(poisson[i], q * mpmath.sqrt(steps[i] * mpmath.expm1(m * m))) <= 1e-12
            assert relative(fixed[i], q * mpmath.sqrt(2 * steps[i] * chi)) <= 1e-12


@pytest.mark.parametrize("noise", [0.7, 1.0, 3.0])
def test_chi_square_from_the_definition(noise):
    """∫ (|f′(x)| − 1)₊² dx over the Gaussian curve: its slope at Φ(−t) is e^{mt − m²/2}."""
    m = 1 / noise
    with mpmath.workdps(25):
        chi = mpmath.quad(lambda t: mpmath.expm1(m * t - m * m / 2) ** 2 * mpmath.npdf(t), [m / 2, 3, 10, 20])
    found = without_replacement_limit_mu(sampling_probability=1.0, noise_multiplier=noise, count=1)
    assert found == pytest.approx(float(mpmath.sqrt(2 * chi)), rel=1e-13)


def test_the_known_figures_of_what_the_limit_hides():
    """Exact epsilons: composition at 30 digits, at delta 1e-5 and 1e-6."""
    for rate, noise, count, delta, exact, percent in (
        (0.01, 1.0, 1000, 1e-5, 1.8282366665165769, 12),
        (0.001, 0.6, 10_000, 1e-6, 3.1521911109406952, 46),
    ):
        mu = poisson_limit_mu(sampling_probability=rate, noise_multiplier=noise, count=count)
        assert round(100 * (1 - gaussian_epsilon(delta, mu=mu) / exact)) == percent


def test_every_limit_says_that_it_is_no_guarantee():
    for limit in LIMITS:
        if limit is not laplace_limit_error:
            assert "an approximation, not a guarantee" in limit.__doc__


@pytest.mark.parametrize(("s", "count"), [(1.0, 30), (0.5, 60)])
def test_the_laplace_composition_lies_within_the_stated_error(s, count):
    """The loss laws of P and Q on a fine lattice, composed by convolution."""
    half = 100
    edges = np.linspace(-s, s, 2 * half + 1)
    density = np.exp((edges - s) / 2) / 4 * (s / half)
    density[[0, -1]] /= 2
    density[0] += np.exp(-s) / 2
    density[-1] += 0.5
    p = density / density.sum()
    q = p * np.exp(-edges)
    q /= q.sum()
    many = [
        np.maximum(np.fft.irfft(np.fft.rfft(law, 2 * half * count + 1) ** count, 2 * half * count + 1), 0)
        for law in (p, q)
    ]
    curve = discrete_tradeoff(many[0] / many[0].sum(), q=many[1] / many[1].sum())
    mu, gamma = laplace_limit_mu(pure_epsilon=s, count=count), laplace_limit_error(pure_epsilon=s, count=count)
    alphas = np.linspace(gamma, 1 - gamma, 101)
    beta = curve.beta(alphas)
    assert np.all(beta >= gaussian_beta(np.minimum(alphas + gamma, 1), mu=mu) - gamma)
    assert np.all(beta <= gaussian_beta(np.maximum(alphas - gamma, 0), mu=mu) + gamma)
    assert np.max(np.abs(beta - gaussian_beta(alphas, mu=mu))) < gamma / 4


@given(st.floats(1e-300, 1e4), st.integers(1, 2**53))
@FINE
def test_laplace_limit_grows_and_is_near_the_parameter(s, count):
    mu = laplace_limit_mu(pure_epsilon=s, count=count)
    assert 0 < mu <= 2 / math.sqrt(3) * s * math.sqrt(count) * (1 + 1e-14)
    assert mu <= laplace_limit_mu(pure_epsilon=s * 1.01, count=count) * (1 + 1e-14)
    error = laplace_limit_error(pure_epsilon=s, count=count)
    assert 0.56 / math.sqrt(count) * (1 - 1e-14) <= error, "the third moment is never below the 3/2 power of the second"


@given(st.floats(0, 1), st.floats(0.05, 1e6), st.integers(0, 2**53))
@FINE
def test_subsampled_limits_are_ordered_and_linear(rate, noise, count):
    steps = {"sampling_probability": rate, "noise_multiplier": noise}
    poisson, fixed = poisson_limit_mu(**steps, count=count), without_replacement_limit_mu(**steps, count=count)
    assert poisson * (1 - 1e-14) <= fixed <= 2 * poisson * (1 + 1e-14)
    for limit, value in ((poisson_limit_mu, poisson), (without_replacement_limit_mu, fixed)):
        assert limit(**{**steps, "noise_multiplier": noise * 2}, count=count) <= value
        quarter = limit(**{**steps, "sampling_probability": rate / 4}, count=count)
        assert quarter == pytest.approx(value / 4, rel=1e-14, abs=1e-300)


def test_ends():
    assert laplace_limit_mu(pure_epsilon=[0.0, 1.0], count=[5, 0]).tolist() == [0.0, 0.0]
    assert laplace_limit_error(pure_epsilon=[0.0, 1e-200, 1e-50], count=4) == pytest.approx(0.28, rel=1e-14)
    assert laplace_limit_mu(pure_epsilon=1e-200, count=4) == 2e-200
    assert laplace_limit_mu(pure_epsilon=5e-324, count=1) == 5e-324
    huge = laplace_limit_mu(pure_epsilon=[1e100, 1e300, 1.7e308], count=2**53)
    assert huge.tolist() == [
        pytest.approx(2e100 * math.sqrt(2**53 / 3)),
        pytest.approx(2e300 * math.sqrt(2**53 / 3)),
        math.inf,
    ]
    assert math.isfinite(laplace_limit_error(pure_epsilon=1.7e308, count=1))
    for limit in (poisson_limit_mu, without_replacement_limit_mu):
        found = limit(
            sampling_probability=[0.0, 0.5, 0.5, 0.0], noise_multiplier=[0.01, 0.01, 1.0, 1.0], count=[3, 3, 0, 3]
        )
        assert found.tolist() == [0.0, math.inf, 0.0, 0.0]
        assert limit(sampling_probability=0.0, noise_multiplier=5e-324, count=3) == 0.0
        assert limit(sampling_probability=1.0, noise_multiplier=1e300, count=4) == pytest.approx(2e-300, rel=1e-14)
        assert limit(sampling_probability=[0.5], noise_multiplier=1.0, count=[[1], [2]]).shape == (2, 1)
        assert isinstance(limit(sampling_probability=0.5, noise_multiplier=1.0, count=1), float)
    assert Laplace(scale=1.0).rdp(1.0) == pytest.approx(
        laplace_limit_mu(pure_epsilon=1.0, count=1) / 2 * math.sqrt(4 * (1 - 2 / math.e) - (1 - 1 / math.e) ** 2)
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: laplace_limit_mu(pure_epsilon=-1.0, count=1),
        lambda: laplace_limit_mu(pure_epsilon=math.inf, count=1),
        lambda: laplace_limit_error(pure_epsilon=1.0, count=0),
        lambda: laplace_limit_mu(pure_epsilon=1.0, count=1.5),
        lambda: poisson_limit_mu(sampling_probability=1.5, noise_multiplier=1.0, count=1),
        lambda: poisson_limit_mu(sampling_probability=0.5, noise_multiplier=0.0, count=1),
        lambda: without_replacement_limit_mu(sampling_probability=0.5, noise_multiplier=math.nan, count=1),
    ],
)
def test_what_is_out_of_range_is_refused(call):
    with pytest.raises(DomainError):
        call()
