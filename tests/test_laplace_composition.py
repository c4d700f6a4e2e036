import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism
from hypothesis import given, settings, strategies as st

from dpviz import DomainError
from dpviz.accounting import _laplace_cells as cells
from dpviz.accounting.laplace import laplace_delta, laplace_epsilon, laplace_tradeoff
from dpviz.accounting.laplace_calibration import calibrate_laplace_composed
from dpviz.accounting.laplace_composition import (
    laplace_composed_delta,
    laplace_composed_delta_bracket,
    laplace_composed_epsilon,
    laplace_composed_epsilon_bracket,
    laplace_composed_log_delta,
    laplace_composed_tradeoff,
    laplace_composition_is_fit,
)
from dpviz.accounting.laplace_law import LaplaceLaw
from tests.reference import distance, entries

PURE = st.floats(-6, 2.5).map(lambda power: 10.0**power)
COUNTS = st.integers(1, 25)
SLACKS = st.floats(-250, -0.001).map(lambda power: 10.0**power)


def mp_delta(epsilon, pure, count):
    """Delta in a finite closed form whose terms alternate; the caller sets digits enough for what cancels.

    Under the square root of both laws' densities one loss is two atoms and a box, whose k-fold product the
    generating function (1 + x)^(k−j) (1 − x)^j takes apart.
    """
    s, e, total = mpmath.mpf(pure), mpmath.mpf(epsilon), mpmath.mpf(0)
    for j in range(count + 1):
        at = (count - 2 * j) * s
        if at <= e:
            break
        h = at - e
        p, q = mpmath.exp(at / 2), mpmath.exp(e - at / 2)
        weight = [mpmath.mpf(1), mpmath.mpf(count - 2 * j)]
        for m in range(1, count):
            weight.append(((count - 2 * j) * weight[m] - (count - m + 1) * weight[m - 1]) / (m + 1))
        falling, rising = 2 * (1 - mpmath.exp(-h / 2)), 2 * (mpmath.exp(h / 2) - 1)
        power, part = mpmath.mpf(1), p - q
        for m in range(1, count + 1):
            part += weight[m] * mpmath.mpf(2) ** -m * (p * falling - q * rising)
            power *= h / m
            falling = 2 * (falling - power * mpmath.exp(-h / 2))
            rising = 2 * (power * mpmath.exp(h / 2) - rising)
        total += mpmath.binomial(count, j) * part
    return mpmath.exp(-count * s / 2) * mpmath.mpf(2) ** -count * total


def mp_log_delta(epsilon, pure, count):
    with mpmath.workdps(60 + int(0.62 * count + 0.9 * count * pure - 2 * min(0, math.log10(pure)))):
        if epsilon < 0:
            return mpmath.log(1 - mpmath.exp(epsilon) + mpmath.exp(epsilon) * mp_delta(-epsilon, pure, count))
        delta = mp_delta(epsilon, pure, count)
        return mpmath.log(delta) if delta > 0 else -mpmath.inf


@entries("laplace_kfold_delta")
def test_delta_reference(inputs, value):
    delta = laplace_composed_delta(inputs["eps"], pure_epsilon=inputs["eps0"], count=inputs["k"])
    assert distance(delta, value) <= 1e-14


@entries("laplace_kfold_eps")
def test_epsilon_reference(inputs, value):
    epsilon = laplace_composed_epsilon(inputs["delta"], pure_epsilon=inputs["eps0"], count=inputs["k"])
    assert distance(epsilon, value) <= 1e-14


@entries("laplace_kfold_tradeoff")
def test_tradeoff_reference(inputs, value):
    beta = laplace_composed_tradeoff(inputs["alpha"], pure_epsilon=inputs["eps0"], count=inputs["k"])
    assert distance(beta, value) <= 1e-14


@given(
    PURE,
    COUNTS,
    st.one_of(st.floats(-1, 1), st.floats(-14, 0).map(lambda power: 1 - 10.0**power), st.floats(0, 1e-6)),
)
def test_log_delta_and_its_bracket_against_the_closed_form(pure, count, fraction):
    epsilon = fraction * count * pure
    truth = mp_log_delta(epsilon, pure, count)
    found = laplace_composed_log_delta(epsilon, pure_epsilon=pure, count=count)
    assert found == pytest.approx(float(truth), rel=1e-15, abs=5e-14)
    lower, upper = laplace_composed_delta_bracket(epsilon, pure_epsilon=pure, count=count)
    assert lower <= upper <= lower * (1 + 1e-10)
    if truth > -650:
        assert lower <= mpmath.exp(truth) <= upper


@pytest.mark.parametrize(("pure", "count"), [(0.1, 100), (1.0, 70), (5.0, 60)])
def test_log_delta_of_many_releases(pure, count):
    for fraction in (-0.2, 0.03, 0.77, 1 - 1e-9):
        epsilon = fraction * count * pure
        truth = float(mp_log_delta(epsilon, pure, count))
        found = laplace_composed_log_delta(epsilon, pure_epsilon=pure, count=count)
        assert found == pytest.approx(truth, rel=1e-15, abs=1e-13)


def test_log_delta_next_to_the_greatest_loss_of_a_thousand():
    """Only the highest atoms lie above, so that few terms of the closed form are left."""
    for epsilon in (998.5, 999.999999):
        with mpmath.workdps(700):
            truth = float(mpmath.log(mp_delta(epsilon, 1.0, 1000)))
        found = laplace_composed_log_delta(epsilon, pure_epsilon=1.0, count=1000)
        assert found == pytest.approx(truth, rel=1e-15)


def test_two_releases_are_the_integral_they_stand_for():
    """By quadrature over the loss of one, of the profile of the other."""
    s, epsilon = 0.7, 0.4
    with mpmath.workdps(30):

        def one(e):
            e = mpmath.mpf(e)
            if e >= s:
                return mpmath.mpf(0)
            return 1 - mpmath.exp(e) if e <= -s else -mpmath.expm1((e - s) / 2)

        between = mpmath.quad(lambda loss: mpmath.exp((loss - s) / 2) / 4 * one(epsilon - loss), [-s, epsilon - s, s])
        truth = one(epsilon - s) / 2 + mpmath.exp(-mpmath.mpf(s)) / 2 * one(epsilon + s) + between
    assert laplace_composed_delta(epsilon, pure_epsilon=s, count=2) == pytest.approx(float(truth), rel=1e-14)


@given(st.floats(-6, 3).map(lambda power: 10.0**power), st.floats(0, 1))
def test_one_release_is_the_laplace_mechanism(pure, level):
    epsilon = (2 * level - 1) * pure
    delta = laplace_composed_delta(epsilon, pure_epsilon=pure, count=1)
    assert delta == pytest.approx(laplace_delta(epsilon, pure_epsilon=pure), rel=1e-14)
    beta = laplace_composed_tradeoff(level, pure_epsilon=pure, count=1)
    assert beta == pytest.approx(laplace_tradeoff(level, pure_epsilon=pure), rel=1e-13, abs=1e-300)
    slack = level * laplace_delta(0.0, pure_epsilon=pure)
    found = laplace_composed_epsilon(slack, pure_epsilon=pure, count=1)
    room = 4e-15 * (1 + pure + 1 / max(1 - slack, 1e-15))
    assert found == pytest.approx(laplace_epsilon(slack, pure_epsilon=pure), rel=1e-13, abs=min(pure, 1) * room)


@given(PURE, COUNTS, SLACKS)
def test_epsilon_and_its_bracket_against_the_closed_form(pure, count, delta):
    """Epsilon is right when the closed form at it gives delta back, within what its last digits say."""
    epsilon = laplace_composed_epsilon(delta, pure_epsilon=pure, count=count)
    lower, upper = laplace_composed_epsilon_bracket(delta, pure_epsilon=pure, count=count)
    assert 0 <= lower <= epsilon <= upper <= count * pure * (1 + 1e-13)
    target = mpmath.log(mpmath.mpf(delta))
    if epsilon == 0:
        assert mp_log_delta(0.0, pure, count) <= target + 1e-13
        return
    assert mp_log_delta(lower, pure, count) >= target
    assert mp_log_delta(upper, pure, count) <= target
    slack = 1e-13 * epsilon
    at_least, at_most = mp_log_delta(epsilon - slack, pure, count), mp_log_delta(epsilon + slack, pure, count)
    assert at_most - 3e-15 <= target <= at_least + 3e-15  # where delta is near 1 its last digit is all there is


@settings(max_examples=20)
@given(st.floats(-5, 1.5).map(lambda power: 10.0**power), st.integers(1, 7), st.floats(0, 1), st.integers(0, 2))
def test_tradeoff_is_the_envelope_of_the_closed_form(pure, count, level, shape):
    """Every line 1 − delta(ε) − e^ε alpha lies below beta, and the one at the best ε meets it."""
    alpha = (level, 10.0 ** (-12 * level), 1 - 10.0 ** (-9 * level))[shape]
    beta = laplace_composed_tradeoff(alpha, pure_epsilon=pure, count=count)
    assert 0 <= beta <= 1 - alpha
    top = count * pure
    with mpmath.workdps(80 + int(0.62 * count + 0.9 * top)):

        def line(epsilon):
            return 1 - mpmath.exp(mp_log_delta(epsilon, pure, count)) - mpmath.exp(mpmath.mpf(epsilon)) * alpha

        best = best_of(line, mpmath.mpf(-top), mpmath.mpf(top))
        assert mpmath.mpf(beta) == pytest.approx(best, rel=1e-11, abs=1e-60)


def best_of(line, low, high):
    """Return the greatest value of a function that rises and then falls, by ternary section."""
    for _ in range(65):
        left, right = low + (high - low) * 0.45, high - (high - low) * 0.45
        low, high = (left, high) if line(left) < line(right) else (low, right)
    return max(line(low), line((low + high) / 2), line(high), mpmath.mpf(0))


@settings(max_examples=20)
@given(st.floats(-4, 2).map(lambda power: 10.0**power), st.integers(1, 300))
def test_tradeoff_is_convex_falling_and_its_own_inverse(pure, count):
    alpha = np.concatenate([[0.0], 10.0 ** np.arange(-30, -1), np.linspace(0.02, 0.98, 49), [0.999, 1.0]])
    beta = laplace_composed_tradeoff(alpha, pure_epsilon=pure, count=count)
    assert (np.diff(beta) <= 2e-16).all()
    slope = np.diff(beta[30:-2]) / np.diff(alpha[30:-2])
    assert (np.diff(slope) >= -1e-12).all()
    assert (beta[0], beta[-1]) == (1.0, 0.0)
    inner = (beta > 1e-290) & (beta < 0.99) & (alpha < 1)
    back = laplace_composed_tradeoff(beta[inner], pure_epsilon=pure, count=count)
    assert back == pytest.approx(alpha[inner], rel=1e-10)


@given(PURE, st.integers(1, 200), st.integers(1, 200))
def test_more_releases_cost_more(pure, count, more):
    epsilon = np.linspace(0, min(count, 30) * pure, 40)
    few = laplace_composed_log_delta(epsilon, pure_epsilon=pure, count=count)
    many = laplace_composed_log_delta(epsilon, pure_epsilon=pure, count=count + more)
    assert (few <= many + 1e-12).all()
    assert (np.diff(few[few > -np.inf]) <= 1e-13).all()


def test_delta_is_convex_where_windows_and_cells_meet():
    """A wrong join would show as a dent in delta, which is convex in e^ε, over a fine grid across all cells."""
    for pure, count in ((0.1, 400), (2.0, 90), (0.01, 2000)):
        top = min(count * pure, 60 * pure * math.sqrt(count) / 2)
        epsilon = np.linspace(0, top, 3001)
        log_delta = laplace_composed_log_delta(epsilon, pure_epsilon=pure, count=count)
        weight = 1 / (1 + math.exp(-epsilon[1]))
        before, after = np.exp(log_delta[:-2] - log_delta[1:-1]), np.exp(log_delta[2:] - log_delta[1:-1])
        assert (weight * before + (1 - weight) * after >= 1 - 1e-13)[np.isfinite(log_delta[2:])].all()


def test_against_a_stranger():
    """A pessimistic lattice gives upper bounds, near ones."""
    stranger = from_laplace_mechanism(1.0, sensitivity=0.1, value_discretization_interval=1e-3).self_compose(100)
    for delta in (1e-3, 1e-6):
        epsilon = laplace_composed_epsilon(delta, pure_epsilon=0.1, count=100)
        assert epsilon <= stranger.get_epsilon_for_delta(delta) <= epsilon * (1 + 1e-4)


def test_arrays_of_laws():
    pure, count = np.array([[0.1], [0.3]]), np.array([1, 10, 100])
    delta = laplace_composed_delta(0.2, pure_epsilon=pure, count=count)
    assert delta.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            one = laplace_composed_delta(0.2, pure_epsilon=float(pure[i, 0]), count=int(count[j]))
            assert isinstance(one, float)
            assert delta[i, j] == one
    assert laplace_composed_epsilon(np.empty(0), pure_epsilon=0.1, count=3).shape == (0,)


def test_ends():
    law = {"pure_epsilon": 0.1, "count": 10}
    assert laplace_composed_delta([-math.inf, math.nextafter(1, 2), 2.0, math.inf], **law).tolist() == [
        1.0,
        0.0,
        0.0,
        0.0,
    ]
    assert laplace_composed_log_delta([2.0, math.inf], **law).tolist() == [-math.inf, -math.inf]
    beyond = (10 * Fraction(0.1) - 1) / 2**10  # ten times the float 0.1 is a little more than 1
    assert laplace_composed_delta(1.0, **law) == pytest.approx(float(beyond), rel=1e-14)
    assert laplace_composed_epsilon([0.0, 0.5, 1.0], **law).tolist() == [1.0, 0.0, 0.0]
    assert laplace_composed_epsilon(laplace_composed_delta(0.0, **law), **law) == 0.0
    assert laplace_composed_tradeoff([0.0, 1.0], **law).tolist() == [1.0, 0.0]
    assert laplace_composed_epsilon_bracket(0.0, **law)[1] >= 1.0
    for nothing in ({"pure_epsilon": 0.0, "count": 10}, {"pure_epsilon": 0.1, "count": 0}):
        assert laplace_composed_delta([-1.0, 0.0, 1.0], **nothing).tolist() == [-math.expm1(-1.0), 0.0, 0.0]
        assert laplace_composed_epsilon([0.0, 0.5], **nothing).tolist() == [0.0, 0.0]
        assert laplace_composed_tradeoff(0.25, **nothing) == 0.75
    tiny = laplace_composed_delta(0.0, pure_epsilon=1e-200, count=2)
    assert tiny == pytest.approx(0.5e-200, rel=1e-14)
    assert laplace_composed_epsilon(5e-324, **law) == pytest.approx(1.0, rel=1e-15)


def test_what_is_refused():
    assert laplace_composition_is_fit(0.1, count=10_000) is True
    assert laplace_composition_is_fit([1e-3, 1.0], count=100_000).tolist() == [True, False]
    with pytest.raises(DomainError, match="count must be no more than laplace_composition_is_fit takes"):
        laplace_composed_delta(1.0, pure_epsilon=1.0, count=100_000)
    for name, call in (
        ("epsilon", lambda: laplace_composed_delta(math.nan, pure_epsilon=0.1, count=2)),
        ("delta", lambda: laplace_composed_epsilon(1.5, pure_epsilon=0.1, count=2)),
        ("alpha", lambda: laplace_composed_tradeoff(-0.1, pure_epsilon=0.1, count=2)),
        ("count", lambda: laplace_composed_delta(1.0, pure_epsilon=0.1, count=2.5)),
        ("pure_epsilon", lambda: laplace_composed_delta(1.0, pure_epsilon=-0.1, count=2)),
        ("pure_epsilon", lambda: laplace_composition_is_fit(math.inf, count=2)),
    ):
        with pytest.raises(DomainError, match=name):
            call()


@settings(max_examples=15)
@given(
    st.floats(-3, 2).map(lambda power: 10.0**power),
    st.floats(-30, -0.1).map(lambda power: 10.0**power),
    st.integers(1, 60),
    st.floats(0.1, 10),
)
def test_calibrated_noise_meets_the_target_and_no_more(epsilon, delta, count, sensitivity):
    scale = calibrate_laplace_composed(epsilon, delta=delta, count=count, sensitivity=sensitivity)
    law = {"pure_epsilon": sensitivity / scale, "count": count}
    assert laplace_composed_epsilon(delta, **law) <= epsilon
    law["pure_epsilon"] *= 1 + 1e-11
    spent = laplace_composed_log_delta(epsilon, **law)
    assert spent >= math.log(delta) - 1e-13


def test_calibration_ends():
    assert calibrate_laplace_composed(1.0, delta=0.0, count=4) == 4.0
    assert calibrate_laplace_composed(1.0, delta=0.1, count=1) == pytest.approx(1 / (1 - 2 * math.log(0.9)), rel=1e-15)
    scale = calibrate_laplace_composed(0.0, delta=[1e-9, 1e-3], count=10, sensitivity=2.0)
    assert laplace_composed_delta(0.0, pure_epsilon=2.0 / scale, count=10) == pytest.approx([1e-9, 1e-3], rel=1e-12)
    with pytest.raises(DomainError, match="epsilon must be a finite number > 0 where delta is 0"):
        calibrate_laplace_composed(0.0, delta=0.0, count=2)
    with pytest.raises(DomainError, match="delta"):
        calibrate_laplace_composed(1.0, delta=1.0, count=2)
    with pytest.raises(DomainError, match="scale"):
        calibrate_laplace_composed(1e-300, delta=0.0, count=2, sensitivity=1e300)


def test_binomial_laws_sum_from_the_mode():
    for count, odds in ((1, 1.0), (40, 0.05), (5000, 3.0), (7, 1e300), (7, 1e-300)):
        with np.errstate(all="ignore"):
            law = cells.binomial(count, odds)
        with mpmath.workdps(40):
            share = mpmath.mpf(odds) / (1 + mpmath.mpf(odds))
            for m in {0, count // 3, count // 2, count}:
                truth = float(mpmath.binomial(count, m) * share**m * (1 - share) ** (count - m))
                assert law[m] == pytest.approx(truth, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("pure", "count"), [(0.1, 1000), (0.03, 10_000), (0.01, 80_000)])
def test_many_releases_against_the_bilateral_laplace_inversion(pure, count):
    """(1/2πi)∫ M(z) e^(−zε)/(z(z + 1)) dz on a line where the integrand is least, by the trapezoidal rule."""
    law, delta = LaplaceLaw(pure), np.array([1e-2, 1e-6, 1e-12, 1e-100])
    for target, epsilon in zip(delta, laplace_composed_epsilon(delta, pure_epsilon=pure, count=count), strict=True):
        line = np.geomspace(1e-4, 300, 4000)
        height = count * law.log_moment(line + 0j).real - line * epsilon - np.log(line * (line + 1))
        c, spread = line[height.argmin()], pure * math.sqrt(count)
        step = 2 * math.pi / (80 * spread + 80 / c)
        z = c + 1j * step * np.arange(int(180 / spread / step))
        with np.errstate(under="ignore"):
            value = np.exp(count * law.log_moment(z) - z * epsilon - np.log(z * (z + 1)) - height.min()).real
        log_delta = height.min() + math.log((value.sum() - value[0] / 2) * step / math.pi)
        assert log_delta == pytest.approx(math.log(target), abs=1e-12)
