import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.mechanism import Mechanism
from dpviz.accounting.truncated_laplace import (
    TruncatedLaplace,
    calibrate_truncated_laplace,
    truncated_laplace_half_width,
)

WIDTHS = st.floats(0.3, 30)
CHANGES = st.floats(0.1, 5)


def test_half_width_in_many_digits():
    rng = np.random.default_rng(3)
    for _ in range(300):
        epsilon, delta = 10 ** rng.uniform(-12, 3), min(10 ** rng.uniform(-300, 0), 0.5)
        with mpmath.workdps(60):
            truth = 3 * mpmath.log1p(mpmath.expm1(mpmath.mpf(epsilon)) / (2 * mpmath.mpf(delta))) / mpmath.mpf(epsilon)
            assert abs(truncated_laplace_half_width(epsilon, delta=delta, sensitivity=3.0) / truth - 1) < 1e-15
    assert truncated_laplace_half_width(2.0, delta=0.5, sensitivity=3.0) == 3.0


def profile(mechanism, epsilon):
    """Return ∫ (p − e^ε q)₊, in many digits: the sum over pieces cut where a density bends or p = e^ε q."""
    b, a, d = (mpmath.mpf(x) for x in (mechanism.scale, mechanism.half_width, mechanism.sensitivity))
    mass = 2 * b * -mpmath.expm1(-a / b)
    loss = mpmath.mpf(epsilon)
    cuts = sorted({x for x in (-a, a, d - a, mpmath.mpf(0), d, (d - loss * b) / 2) if -a <= x <= a})
    total = mpmath.mpf(0)
    for start, end in itertools.pairwise(cuts):
        middle = (start + end) / 2
        inside = abs(middle - d) <= a
        density = mpmath.exp(-abs(middle) / b)
        other = mpmath.exp(-abs(middle - d) / b) if inside else 0
        if density <= mpmath.exp(loss) * other:
            continue
        total += mpmath.quad(
            lambda x, inside=inside: mpmath.exp(-abs(x) / b) - (mpmath.exp(loss - abs(x - d) / b) if inside else 0),
            [start, end],
        )
    return total / mass


@pytest.mark.parametrize(
    ("scale", "half_width", "sensitivity"),
    [(1, 4, 1), (0.5, 1.2, 1), (2, 0.8, 1), (1, 0.45, 1), (3, 40, 2), (0.2, 7, 3)],
)
def test_the_profile_is_the_integral(scale, half_width, sensitivity):
    mechanism = TruncatedLaplace(scale, half_width=half_width, sensitivity=sensitivity)
    with mpmath.workdps(30):
        for epsilon in (0.0, 0.01, 0.3, 1.0, 1.9, 5.0, 20.0):
            truth = profile(mechanism, epsilon)
            assert abs(mechanism.delta(epsilon) - truth) <= 2e-15 * truth


@given(st.floats(1e-6, 50), st.floats(1e-300, 0.5), st.floats(1e-3, 1e3))
def test_calibration_meets_its_target_and_wastes_nothing(epsilon, delta, sensitivity):
    mechanism = calibrate_truncated_laplace(epsilon, delta=delta, sensitivity=sensitivity)
    assert mechanism.delta(epsilon) <= delta
    assert mechanism.delta(epsilon) >= delta * (1 - 1e-12 * max(1.0, -math.log(delta)))
    assert mechanism.half_width >= sensitivity * (1 - 1e-15)
    assert mechanism.variance <= 2 * (sensitivity / epsilon) ** 2 * (1 + 1e-14)


def test_known_variances():
    assert calibrate_truncated_laplace(1.0, delta=1e-6).variance == pytest.approx(1.99975, abs=5e-6)
    assert calibrate_truncated_laplace(0.1, delta=0.1).variance == pytest.approx(5.33, abs=5e-3)


@given(st.floats(0.01, 100), st.floats(1e-3, 1e3))
def test_moments_are_the_integrals(scale, half_width):
    mechanism = TruncatedLaplace(scale, half_width=half_width)
    with mpmath.workdps(40):
        b, a = mpmath.mpf(scale), mpmath.mpf(half_width)
        mass = -mpmath.expm1(-a / b)
        assert abs(mechanism.variance / (b * b * mpmath.gammainc(3, 0, a / b) / mass) - 1) < 1e-13
        assert abs(mechanism.abs_error / (b * mpmath.gammainc(2, 0, a / b) / mass) - 1) < 1e-13


@given(WIDTHS, CHANGES, st.floats(0, 1))
def test_epsilon_inverts_delta(half_width, sensitivity, delta):
    mechanism = TruncatedLaplace(1.0, half_width=half_width, sensitivity=sensitivity)
    epsilon = mechanism.epsilon(delta)
    least = mechanism.delta(math.inf)
    if delta < least:
        assert epsilon == math.inf
    elif epsilon > 1e-3:
        assert mechanism.delta(epsilon) <= delta
        assert mechanism.delta(epsilon * (1 - 1e-9)) >= delta
    else:
        assert delta >= mechanism.delta(1e-3)


@given(WIDTHS, CHANGES)
def test_tradeoff_and_profile_are_conjugate(half_width, sensitivity):
    mechanism = TruncatedLaplace(1.0, half_width=half_width, sensitivity=sensitivity)
    alpha = np.concatenate([[0], np.geomspace(1e-7, 1, 20_000)])
    beta = mechanism.beta(alpha)
    for epsilon in (0.0, 0.5, 2.0):
        support = np.max(1 - math.exp(epsilon) * alpha - beta)
        assert support <= mechanism.delta(epsilon) + 1e-12
        assert support >= mechanism.delta(epsilon) - 1e-3
    assert np.all(np.diff(beta) <= 1e-15)


@given(WIDTHS, st.floats(0.2, 5))
def test_distribution_is_the_integral_of_the_density(half_width, scale):
    mechanism = TruncatedLaplace(scale, half_width=half_width)
    place, weight = np.polynomial.legendre.leggauss(60)
    start, end = -0.9 * half_width, -0.2 * half_width
    mass = (weight * mechanism.density((start + end) / 2 + place * (end - start) / 2)).sum() * (end - start) / 2
    assert mechanism.distribution(end) - mechanism.distribution(start) == pytest.approx(mass, rel=1e-12)
    assert mechanism.distribution(start) == pytest.approx(1 - mechanism.distribution(-start), abs=1e-15)


def test_draws_have_the_law():
    mechanism = TruncatedLaplace(1.0, half_width=2.0)
    place = np.sort(mechanism.distribution(mechanism.sample(np.random.default_rng(4), size=40_000)))
    assert np.abs(place - (np.arange(40_000) + 0.5) / 40_000).max() < 1.63 / 200


def test_a_wide_support_is_laplace():
    epsilon = np.linspace(0, 0.9, 10)
    assert TruncatedLaplace(1.0, half_width=40.0).delta(epsilon) == pytest.approx(
        Laplace(1.0).delta(epsilon), rel=1e-15
    )
    assert TruncatedLaplace(1.0, half_width=800.0).delta(1.0) == 0


def test_it_is_a_mechanism_and_its_ends_are_said():
    mechanism = TruncatedLaplace(1.0, half_width=4.0)
    assert isinstance(mechanism, Mechanism)
    assert mechanism.rdp([1.0, 2.0]).tolist() == [math.inf] * 2
    assert TruncatedLaplace(1.0, half_width=4.0, sensitivity=0.0).rdp(2.0) == 0
    assert TruncatedLaplace(1.0, half_width=4.0, sensitivity=0.0).delta(0.0) == 0
    assert TruncatedLaplace(1.0, half_width=0.5).delta([0.0, math.inf]).tolist() == [1, 1]
    assert TruncatedLaplace(1.0, half_width=0.5).epsilon([0.5, 1.0]).tolist() == [math.inf, 0]
    assert mechanism.distribution([-5.0, 5.0]).tolist() == [0, 1]
    for scale in (5e-324, 1e-300, 1e300, 1.7e308):
        for half_width in (5e-324, 1.0, 1.7e308):
            for sensitivity in (0.0, 5e-324, 1.0, 1.7e308):
                if half_width / scale < 1e-290:
                    with pytest.raises(DomainError, match="half_width/scale"):
                        TruncatedLaplace(scale, half_width=half_width, sensitivity=sensitivity)
                    continue
                extreme = TruncatedLaplace(scale, half_width=half_width, sensitivity=sensitivity)
                for value in (
                    extreme.delta([0.0, 1e-300, 1.0, 1e300, math.inf]),
                    extreme.epsilon([0.0, 1e-300, 0.5, 1.0]),
                    extreme.beta([0.0, 1e-300, 0.5, 1.0]),
                    extreme.distribution([0.0, 1e308], location=-1e308),
                    extreme.variance,
                ):
                    assert not np.isnan(value).any(), (scale, half_width, sensitivity)
    with pytest.raises(DomainError, match=r"delta must be a number in \(0, 0\.5\]"):
        truncated_laplace_half_width(1.0, delta=0.6)
    with pytest.raises(DomainError, match="half_width"):
        TruncatedLaplace(1.0, half_width=0.0)
