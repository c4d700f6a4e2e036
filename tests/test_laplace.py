import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

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
from dpviz.accounting.laplace import laplace_delta, laplace_epsilon, laplace_rdp, laplace_tradeoff
from dpviz.accounting.laplace_law import LaplaceLaw
from dpviz.accounting.laplace_noise import laplace_half_width, laplace_mean_absolute, laplace_quantile, laplace_tail
from dpviz.accounting.relation import Direction
from tests.reference import distance, entries

FINITE = st.floats(-1e300, 1e300)
SCALES = st.floats(1e-3, 1e3)


@entries("laplace_log_density_ratio")
def test_log_ratio_reference(inputs, value):
    ratio = laplace_log_ratio(inputs["x"], location=inputs["f0"], other=inputs["f1"], scale=inputs["b"])
    assert distance(ratio, value) <= 1e-15


@entries("laplace_delta")
def test_delta_reference(inputs, value):
    assert distance(laplace_delta(inputs["eps"], pure_epsilon=inputs["eps0"]), value) <= 1e-15


@entries("laplace_rdp")
def test_rdp_reference(inputs, value):
    assert distance(Laplace(scale=1.0, sensitivity=inputs["eps0"]).rdp(inputs["alpha"]), value) <= 1e-15


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


PURE = st.floats(-12, 4).map(lambda power: 10.0**power)


@given(PURE, st.floats(-1.5, 1.5))
def test_delta_of_either_sign_against_mpmath(pure, fraction):
    epsilon = fraction * pure
    with mpmath.workdps(50):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(pure)
        truth = 0 if e >= s else 1 - mpmath.exp(e) if e < -s else -mpmath.expm1((e - s) / 2)
    assert laplace_delta(epsilon, pure_epsilon=pure) == pytest.approx(float(truth), rel=1e-15)


@given(PURE, st.floats(0, 1))
def test_delta_of_the_reversed_pair(pure, fraction):
    epsilon = fraction * min(pure, 700.0)
    below = laplace_delta(-epsilon, pure_epsilon=pure)
    turned = -math.expm1(-epsilon) + math.exp(-epsilon) * laplace_delta(epsilon, pure_epsilon=pure)
    assert below == pytest.approx(turned, rel=1e-13)


@given(PURE, st.one_of(st.floats(0, 1), st.floats(-300, 0).map(lambda power: 10.0**power)))
def test_tradeoff_against_mpmath(pure, alpha):
    with mpmath.workdps(60):
        a, s = mpmath.mpf(alpha), mpmath.mpf(pure)
        if a < mpmath.exp(-s) / 2:
            truth = 1 - mpmath.exp(s) * a
        else:
            truth = mpmath.exp(-s) / (4 * a) if a <= 0.5 else mpmath.exp(-s) * (1 - a)
    beta = laplace_tradeoff(alpha, pure_epsilon=pure)
    assert beta == pytest.approx(float(truth), rel=1e-14, abs=1e-306)


@given(PURE, st.one_of(st.floats(-12, 0), st.floats(0, 8)).map(lambda power: 1 + 10.0**power))
def test_rdp_at_any_order_against_mpmath(pure, order):
    with mpmath.workdps(80):
        s, a = mpmath.mpf(pure), mpmath.mpf(order)
        moment = (a * mpmath.exp((a - 1) * s) + (a - 1) * mpmath.exp(-a * s)) / (2 * a - 1)
        truth = mpmath.log(moment) / (a - 1)
    assert laplace_rdp(order, pure_epsilon=pure) == pytest.approx(float(truth), rel=2e-15)


@given(PURE)
def test_rdp_falls_to_the_mean_loss(pure):
    with mpmath.workdps(50):
        truth = mpmath.mpf(pure) + mpmath.expm1(-mpmath.mpf(pure))
    assert laplace_rdp(1.0, pure_epsilon=pure) == pytest.approx(float(truth), rel=1e-15)


def test_array_functions_broadcast():
    pure = np.array([[0.1], [1.0], [30.0]])
    assert laplace_delta([0.0, 0.05], pure_epsilon=pure).shape == (3, 2)
    assert laplace_epsilon([0.0, 0.5, 1.0], pure_epsilon=pure).shape == (3, 3)
    assert laplace_tradeoff([0.0, 0.5], pure_epsilon=pure)[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert laplace_rdp([1.0, 2.0, 1e8], pure_epsilon=pure).shape == (3, 3)
    assert isinstance(laplace_rdp(2.0, pure_epsilon=1.0), float)
    assert laplace_delta([-math.inf, math.inf], pure_epsilon=1.0).tolist() == [1.0, 0.0]
    assert laplace_delta([0.0, math.inf], pure_epsilon=math.inf).tolist() == [1.0, 0.0]
    assert laplace_epsilon([0.0, 0.5, 1.0], pure_epsilon=math.inf).tolist() == [math.inf, math.inf, 0.0]
    assert laplace_rdp(3.0, pure_epsilon=math.inf) == math.inf
    for call in (laplace_delta, laplace_epsilon, laplace_tradeoff):
        with pytest.raises(DomainError, match="pure_epsilon"):
            call(0.5, pure_epsilon=-1.0)
        with pytest.raises(DomainError):
            call(math.nan, pure_epsilon=1.0)


@given(st.floats(0, 1), st.floats(-10, 10), SCALES)
def test_quantile_half_width_and_tail_belong_together(level, location, scale):
    centred = laplace_quantile(level, scale=scale)
    mirrored = -laplace_quantile(1 - level, scale=scale)
    assert centred == pytest.approx(mirrored, rel=1e-13, abs=1e-15 * scale) or level < 1e-3
    assert laplace_quantile(level, location=location, scale=scale) == pytest.approx(location + centred, abs=1e-12)
    width = laplace_half_width(level, scale=scale)
    assert laplace_tail(width, scale=scale) == pytest.approx(1 - level, rel=1e-13, abs=1e-15)
    assert width == pytest.approx(laplace_quantile(0.5 + level / 2, scale=scale), rel=1e-12, abs=1e-15 * scale)


def test_tail_and_mean_are_integrals_of_the_density():
    scale = 1.7
    outside = 2 * mpmath.quad(lambda x: laplace_density(float(x), scale=scale), [2.5, 80])
    assert laplace_tail(2.5, scale=scale) == pytest.approx(float(outside), rel=1e-12)
    mean = 2 * mpmath.quad(lambda x: x * laplace_density(float(x), scale=scale), [0, 20, 120])
    assert laplace_mean_absolute(scale) == pytest.approx(float(mean), rel=1e-12)
    assert laplace_quantile([0.0, 1e-300, 0.5, 1.0], scale=1.0) == pytest.approx(
        [-math.inf, math.log(2e-300), 0.0, math.inf]
    )
    assert (laplace_half_width(1.0, scale=1.0), laplace_tail(math.inf, scale=1.0)) == (math.inf, 0.0)


def mp_moment(order, pure):
    """E e^(zL), from its two atoms and its density."""
    z, s = mpmath.mpc(order), mpmath.mpf(pure)
    v = z + 0.5 if z != -0.5 else mpmath.mpf(10) ** -40
    middle = mpmath.exp(-s / 2) / 4 * (mpmath.exp(v * s) - mpmath.exp(-v * s)) / v
    return mpmath.exp(z * s) / 2 + mpmath.exp(-(z + 1) * s) / 2 + middle


@given(
    PURE,
    st.floats(-0.999, 3, allow_subnormal=False),
    st.one_of(st.just(0.0), st.floats(-300, 300)),
    st.integers(0, 3),
)
def test_log_moment_keeps_its_digits(pure, real, imaginary, shape):
    """The exponential of the difference, so that the branch is no matter; |zs| sets what its phase can know."""
    real = {0: real, 1: -0.5 + real * 1e-9, 2: real * 1e-9, 3: 10.0 ** (2 * abs(real))}[shape]
    order = complex(real, 0.0 if shape == 2 else imaginary)
    assume(order == 0 or abs(order) > 1e-30)
    found = complex(LaplaceLaw(pure).log_moment(np.array([order]))[0])
    with mpmath.workdps(80):
        truth = mpmath.log(mp_moment(order, pure)) if order != 0 else 0
        gap = abs(mpmath.expm1(mpmath.mpc(found) - truth))
        room = abs(truth) + abs(order) * pure * (abs(order) * pure > 1)
    assert gap <= 4e-15 * room


def test_law_is_the_law_of_the_loss():
    law = Laplace(scale=2.0).loss_law(Direction.REMOVE)
    assert law == Laplace(scale=2.0).loss_law(Direction.ADD) == LaplaceLaw(0.5)
    assert (law.support, law.infinite_mass) == ((-0.5, 0.5), 0.0)
    edges = np.array([-3.0, -0.6, -0.4, 0.0, 0.1, 0.7, 2.0])
    cells = law.cells(edges)
    mass = np.exp(cells.log_mass)
    assert mass.sum() + sum(math.exp(log_mass) for _, log_mass in law.atoms) == pytest.approx(1, rel=1e-15)
    for i in (1, 2, 3, 4):
        ends = [max(edges[i], -0.5), min(edges[i + 1], 0.5)]
        p = mpmath.quad(lambda x: mpmath.exp((x - 0.5) / 2) / 4, ends)
        q = mpmath.quad(lambda x: mpmath.exp(-x) * mpmath.exp((x - 0.5) / 2) / 4, ends)
        assert abs(cells.log_mass[i] - float(mpmath.log(p))) <= cells.log_mass_error
        assert edges[i] + cells.offset[i] == pytest.approx(float(mpmath.log(p / q)), abs=1e-15)
    assert np.isneginf(cells.log_mass[[0, 5]]).all()
    assert ((cells.offset >= 0) & (cells.offset <= np.diff(edges))).all()
    assert np.exp(law.log_tail(edges[:1])) + np.exp(law.log_head(edges[-1:])) == pytest.approx(2 * mass.sum())
    assert np.exp(law.log_tail(edges)) + np.exp(law.log_head(edges)) == pytest.approx(np.full(7, mass.sum()))
    assert np.isneginf(LaplaceLaw(0.0).cells(edges).log_mass).all()
    with pytest.raises(DomainError, match="pure_epsilon"):
        Laplace(scale=1e-320, sensitivity=1e300).loss_law(Direction.ADD)
