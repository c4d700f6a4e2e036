import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpviz import (
    DomainError,
    Laplace,
    Mechanism,
    calibrate_laplace,
    laplace_density,
    laplace_log_density,
    laplace_log_ratio,
    laplace_variance,
)
from tests.reference import distance, entries

FINITE = st.floats(-1e300, 1e300)
SCALES = st.floats(1e-3, 1e3)


@entries("laplace_log_density_ratio")
def test_log_ratio_reference(inputs, value):
    ratio = laplace_log_ratio(inputs["x"], location=inputs["f0"], other=inputs["f1"], scale=inputs["b"])
    assert distance(ratio, value) <= 1e-15


@entries("laplace_delta")
def test_delta_reference(inputs, value):
    """For epsilon < 0, which is refused, the pair's symmetry gives it from the positive one."""
    release, epsilon = Laplace(scale=1.0, sensitivity=inputs["eps0"]), inputs["eps"]
    delta = release.delta(abs(epsilon))
    if epsilon < 0:
        delta = -math.expm1(epsilon) + math.exp(epsilon) * delta
    assert distance(delta, value) <= 1e-14


@entries("laplace_rdp")
def test_rdp_reference(inputs, value):
    assert distance(Laplace(scale=1.0, sensitivity=inputs["eps0"]).rdp(inputs["alpha"]), value) <= 1e-14


@entries("laplace_tradeoff")
def test_beta_reference(inputs, value):
    assert distance(Laplace(scale=1.0, sensitivity=inputs["eps0"]).beta(inputs["alpha"]), value) <= 1e-14


@given(FINITE, FINITE, FINITE, SCALES)
def test_log_ratio_in_exact_rationals(output, location, other, scale):
    ratio = laplace_log_ratio(output, location=location, other=other, scale=scale)
    x, f, g = Fraction(output), Fraction(location), Fraction(other)
    truth = (abs(x - g) - abs(x - f)) / Fraction(scale)
    slip = abs(f - g) / Fraction(scale) * Fraction(4e-16) + Fraction(5e-324)  # the last digit, or the least float
    assert abs(Fraction(ratio) - truth) <= slip
    assert ratio == -laplace_log_ratio(output, location=other, other=location, scale=scale)


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50), st.floats(0.1, 10))
def test_log_ratio_is_that_of_the_densities(output, location, other, scale):
    one = laplace_log_density(output, location=location, scale=scale)
    two = laplace_log_density(output, location=other, scale=scale)
    ratio = laplace_log_ratio(output, location=location, other=other, scale=scale)
    assert ratio == pytest.approx(one - two, abs=1e-11)
    assert abs(ratio) <= abs(location - other) / scale


def test_density_is_a_density_with_its_variance():
    b, f = 1.7, -0.3
    points = [f - 60 * b, f, f + 60 * b]
    assert mpmath.quad(lambda x: laplace_density(float(x), location=f, scale=b), points) == pytest.approx(1)
    variance = mpmath.quad(lambda x: (x - f) ** 2 * laplace_density(float(x), location=f, scale=b), points)
    assert laplace_variance(b) == pytest.approx(float(variance), rel=1e-9)
    output = np.linspace(-5, 5, 11)
    assert np.log(laplace_density(output, scale=b)) == pytest.approx(laplace_log_density(output, scale=b), rel=1e-14)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_calibrated_noise_never_costs_more_than_asked(epsilon, sensitivity):
    scale = calibrate_laplace(epsilon, sensitivity=sensitivity)
    spent = Laplace(scale=scale, sensitivity=sensitivity).pure_epsilon
    assert spent <= epsilon
    assert spent == pytest.approx(epsilon, rel=1e-15)


def test_variance_of_the_calibrated_noise():
    assert laplace_variance(calibrate_laplace(0.5, sensitivity=3.0)) == 2 * 3.0**2 / 0.5**2


def test_delta_is_the_integral_it_stands_for():
    release, epsilon = Laplace(scale=0.5), 0.7
    one = lambda x: mpmath.exp(-abs(x) / mpmath.mpf(0.5))  # noqa: E731
    crossing = (1 - 0.5 * epsilon) / 2
    gap = mpmath.quad(lambda x: max(one(x) - mpmath.exp(epsilon) * one(x - 1), 0), [-40, 0, crossing])
    assert release.delta(epsilon) == pytest.approx(float(gap), rel=1e-12)


@given(st.floats(1e-3, 40), st.floats(0, 1))
def test_epsilon_and_delta_are_inverse(pure, fraction):
    release = Laplace(scale=1.0, sensitivity=pure)
    epsilon = fraction * pure
    delta = release.delta(epsilon)
    assume(delta < 1 - 1e-6)
    slip = 1e-15 * (1 + pure) / (1 - delta)  # the last digit of delta, seen in epsilon
    assert release.epsilon(delta) == pytest.approx(epsilon, rel=1e-15, abs=slip)


@given(st.floats(1e-3, 30), st.floats(0, 1))
def test_beta_is_the_envelope_of_its_privacy_profile(pure, alpha):
    """Duality: beta is the largest 1 − delta(epsilon) − e^epsilon alpha, over epsilon of either sign."""
    release = Laplace(scale=1.0, sensitivity=pure)
    epsilon = np.linspace(0, pure, 2001)
    delta = release.delta(epsilon)
    lines = 1 - delta - np.exp(epsilon) * alpha
    mirrored = np.exp(-epsilon) * (1 - delta - alpha)
    best = max(lines.max(), mirrored.max(), 0)
    beta = release.beta(alpha)
    assert best <= beta * (1 + 1e-12) + 1e-15
    assert beta <= best + 3 * (pure / 2000) ** 2 + 1e-12


@given(st.floats(1e-6, 700), st.floats(1, 1e6))
def test_rdp_lies_between_its_ends(pure, order):
    divergence = Laplace(scale=1.0, sensitivity=pure).rdp(order)
    kl = Laplace(scale=1.0, sensitivity=pure).rdp(1.0)
    assert kl * (1 - 1e-12) <= divergence <= min(pure, order * pure**2 / 2) * (1 + 1e-12)


@given(st.floats(1e-9, 300), st.one_of(st.floats(1.0000001, 1.1), st.floats(1.1, 1e5)))
def test_rdp_against_mpmath(pure, order):
    with mpmath.workdps(60):
        s, a = mpmath.mpf(pure), mpmath.mpf(order)
        moment = (a * mpmath.exp((a - 1) * s) + (a - 1) * mpmath.exp(-a * s)) / (2 * a - 1)
        truth = mpmath.log(moment) / (a - 1)
    assert Laplace(scale=1.0, sensitivity=pure).rdp(order) == pytest.approx(float(truth), rel=1e-12)


def test_rdp_runs_on_smoothly_where_its_form_changes():
    release = Laplace(scale=1.0, sensitivity=6.0)
    divergence = release.rdp(np.linspace(100.9, 101.1, 401))
    assert np.all(np.diff(divergence) > 0)
    assert np.ptp(np.diff(divergence)) < 1e-8


def test_ends():
    release = Laplace(scale=2.0)
    assert isinstance(release, Mechanism)
    assert release.pure_epsilon == release.epsilon(0.0) == 0.5
    assert release.delta([0.5, 7.0, math.inf]).tolist() == [0.0, 0.0, 0.0]
    assert release.epsilon([release.delta(0.0), 1.0]).tolist() == [0.0, 0.0]
    assert release.beta([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert release.rdp(1.0) == pytest.approx(0.5 + math.exp(-0.5) - 1, rel=1e-14)
    open_book = Laplace(scale=1e-320, sensitivity=1e300)
    assert open_book.pure_epsilon == open_book.epsilon(0.5) == open_book.rdp(2.0) == math.inf
    assert open_book.delta(3.0) == 1.0
    assert open_book.beta([0.0, 0.5]).tolist() == [0.0, 0.0]
    silent = Laplace(scale=1.0, sensitivity=0.0)
    assert (silent.delta(0.0), silent.epsilon(0.0), silent.rdp(3.0), silent.beta(0.3)) == (0.0, 0.0, 0.0, 0.7)
    with pytest.raises(DomainError, match="sensitivity/epsilon must be a finite float64 > 0"):
        calibrate_laplace(1e-300, sensitivity=1e300)
