import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.laplace_noise import laplace_variance
from dpviz.accounting.mechanism import Mechanism
from dpviz.accounting.staircase import (
    Staircase,
    staircase_gamma_l1,
    staircase_gamma_l2,
    staircase_min_abs_error,
    staircase_min_variance,
)
from tests.reference import distance, entries

EPSILONS = st.floats(1e-3, 20)
GAMMAS = st.floats(0.01, 1)


@entries("staircase_gamma_l2")
def test_gamma_reference(inputs, value):
    assert distance(staircase_gamma_l2(inputs["eps"]), value) <= 1e-15


@entries("staircase_min_variance")
def test_variance_reference(inputs, value):
    assert distance(staircase_min_variance(inputs["eps"], sensitivity=inputs["Delta"]), value) <= 1e-14


@entries("staircase_min_abs_error")
def test_abs_error_reference(inputs, value):
    assert distance(staircase_min_abs_error(inputs["eps"], sensitivity=inputs["Delta"]), value) <= 1e-15


def test_closed_forms_as_printed_in_many_digits_for_tiny_and_huge_epsilon():
    for epsilon in np.geomspace(1e-12, 700, 300):
        with mpmath.workdps(60 + int(0.9 * epsilon)):
            b = mpmath.exp(-mpmath.mpf(epsilon))
            cube = mpmath.cbrt(b - 2 * b**2 + 2 * b**4 - b**5) / mpmath.cbrt(2)
            gamma = -b / (1 - b) + cube / (1 - b) ** 2
            variance = (mpmath.cbrt(b * b * (1 + b) ** 2 / 4) + b) / (1 - b) ** 2
            absolute = mpmath.sqrt(b) / (1 - b)
            assert abs(staircase_gamma_l2(epsilon) / gamma - 1) < 1e-13
            assert abs(staircase_gamma_l1(epsilon) * (1 + 1 / mpmath.sqrt(b)) - 1) < 1e-13
            assert abs(staircase_min_variance(epsilon) / variance - 1) < 2e-13
            assert abs(staircase_min_abs_error(epsilon) / absolute - 1) < 1e-13


def moment(staircase, power):
    """Return E |noise|^power, summed over the steps of the density."""
    gamma, b = mpmath.mpf(staircase.gamma), mpmath.exp(-mpmath.mpf(staircase.pure_epsilon))
    top = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    total, step = mpmath.mpf(0), 0
    while b**step > mpmath.mpf(10) ** -20:
        edge, inner, outer = mpmath.mpf(step), step + gamma, mpmath.mpf(step + 1)
        parts = (inner ** (power + 1) - edge ** (power + 1)) + b * (outer ** (power + 1) - inner ** (power + 1))
        total += 2 * top * b**step * parts / (power + 1)
        step += 1
    return total


@given(st.floats(0.8, 20), GAMMAS)
def test_moments_are_those_of_the_density(epsilon, gamma):
    staircase = Staircase(epsilon, gamma=gamma)
    with mpmath.workdps(30):
        assert abs(moment(staircase, 0) - 1) < 1e-18
        assert abs(staircase.variance / moment(staircase, 2) - 1) < 1e-13
        assert abs(staircase.abs_error / moment(staircase, 1) - 1) < 1e-13


@given(st.floats(1e-6, 300), st.floats(0.01, 0.99))
def test_the_optimal_gamma_is_optimal(epsilon, gamma):
    best, least = Staircase(epsilon, gamma=staircase_gamma_l2(epsilon)).variance, staircase_min_variance(epsilon)
    assert best == pytest.approx(least, rel=1e-12)
    assert Staircase(epsilon, gamma=gamma).variance >= least * (1 - 1e-12)
    best, least = Staircase(epsilon, gamma=staircase_gamma_l1(epsilon)).abs_error, staircase_min_abs_error(epsilon)
    assert best == pytest.approx(least, rel=1e-12)
    assert Staircase(epsilon, gamma=gamma).abs_error >= least * (1 - 1e-12)


@given(st.floats(1e-6, 300), st.floats(0.1, 10))
def test_it_beats_laplace_at_the_same_guarantee(epsilon, sensitivity):
    laplace = sensitivity / epsilon
    slack = 1 + 1e-12
    assert staircase_min_variance(epsilon, sensitivity=sensitivity) <= laplace_variance(laplace) * slack
    assert staircase_min_abs_error(epsilon, sensitivity=sensitivity) <= laplace * slack


@given(EPSILONS, GAMMAS, st.floats(0.1, 10))
def test_the_density_is_never_more_than_epsilon_apart(epsilon, gamma, sensitivity):
    staircase = Staircase(epsilon, gamma=gamma, sensitivity=sensitivity)
    output = np.linspace(-4 * sensitivity, 5 * sensitivity, 500)
    loss = staircase.log_density(output) - staircase.log_density(output, location=sensitivity)
    assert np.abs(loss).max() <= epsilon * (1 + 1e-12)
    assert np.all(np.isclose(loss, 0, atol=1e-9) | np.isclose(np.abs(loss), epsilon, rtol=1e-9))


@given(st.floats(0.05, 10), GAMMAS)
def test_distribution_is_the_integral_of_the_density(epsilon, gamma):
    staircase = Staircase(epsilon, gamma=gamma, sensitivity=2.0)
    for start, end in ((-5.3, -4.1), (-1.0, 0.7), (0.0, 2.0), (2.0, 3.9)):
        edges = sorted({start, end, *(x for k in range(-4, 4) for x in (2.0 * k, 2 * (k + gamma), -2 * (k + gamma)))})
        edges = [x for x in edges if start <= x <= end]
        mass = sum(float(staircase.density((a + b) / 2)) * (b - a) for a, b in itertools.pairwise(edges))
        assert staircase.distribution(end) - staircase.distribution(start) == pytest.approx(mass, abs=1e-13)
    assert staircase.distribution(-3.0) == pytest.approx(1 - staircase.distribution(3.0), abs=1e-15)


def profile_by_steps(staircase, shift, epsilon):
    """Return ∫ (p − e^ε q)₊ over the pieces on which both densities are constant."""
    gamma, last = staircase.gamma, 400
    steps = np.concatenate([np.arange(last), np.arange(last) + gamma])
    edges = np.unique(np.concatenate([steps, -steps, steps + shift, shift - steps]))
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    p, q = staircase.density(middle), staircase.density(middle, location=shift)
    return (np.maximum(p - math.exp(epsilon) * q, 0) * width).sum()


@pytest.mark.parametrize("gamma", [0.1, 0.4167, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("pure_epsilon", [0.2, 1.0, 4.0])
def test_the_profile_is_the_integral_and_the_full_shift_is_the_worst(pure_epsilon, gamma):
    staircase = Staircase(pure_epsilon, gamma=gamma)
    for epsilon in (0.0, 0.3 * pure_epsilon, 0.9 * pure_epsilon):
        assert profile_by_steps(staircase, 1.0, epsilon) == pytest.approx(staircase.delta(epsilon), rel=1e-9)
        for shift in (0.1, 0.5, 0.77):
            assert profile_by_steps(staircase, shift, epsilon) <= staircase.delta(epsilon) * (1 + 1e-12)


@given(EPSILONS, GAMMAS, st.floats(0, 1))
def test_epsilon_inverts_delta(pure_epsilon, gamma, delta):
    staircase = Staircase(pure_epsilon, gamma=gamma)
    epsilon = staircase.epsilon(delta)
    assert staircase.delta(epsilon) <= delta
    if epsilon > 1e-3 * pure_epsilon:
        assert staircase.delta(epsilon * (1 - 1e-12)) >= delta * (1 - 1e-9)


@given(EPSILONS, GAMMAS)
def test_tradeoff_and_profile_are_conjugate(pure_epsilon, gamma):
    staircase = Staircase(pure_epsilon, gamma=gamma)
    alpha = np.linspace(0, 1, 20_001)
    for epsilon in (0.0, 0.5 * pure_epsilon):
        support = np.max(1 - math.exp(epsilon) * alpha - staircase.beta(alpha))
        assert support == pytest.approx(staircase.delta(epsilon), abs=1e-4 * math.exp(epsilon))
        assert support <= staircase.delta(epsilon) + 1e-12
    back = staircase.beta(staircase.beta(alpha))
    assert np.all(back <= alpha + 1e-9)


def test_rdp_is_the_moment_of_three_losses():
    for pure_epsilon, gamma, order in (
        (1.0, 0.4, 2.0),
        (1e-6, 0.5, 1 + 1e-6),
        (1e-3, 0.2, 1e5),
        (5.0, 0.9, 1.0),
        (300.0, 0.1, 40.0),
    ):
        staircase = Staircase(pure_epsilon, gamma=gamma)
        with mpmath.workdps(60):
            b, g, a = mpmath.exp(-mpmath.mpf(pure_epsilon)), mpmath.mpf(gamma), mpmath.mpf(order) - 1
            mass = mpmath.mpf(1) / 2 + (1 - b) * min(g, 1 - g) / (2 * (g + b * (1 - g)))
            if a == 0:
                truth = mass * (1 - b) * mpmath.mpf(pure_epsilon)
            else:
                truth = mpmath.log(mass * b**-a + (1 - mass - mass * b) + mass * b * b**a) / a
            assert abs(staircase.rdp(order) / truth - 1) < 1e-14


@given(EPSILONS, GAMMAS)
def test_rdp_rises_to_the_pure_guarantee(pure_epsilon, gamma):
    divergence = Staircase(pure_epsilon, gamma=gamma).rdp(np.concatenate([[1.0], np.geomspace(1 + 1e-9, 1e12, 200)]))
    assert np.all(np.diff(divergence) >= -1e-13 * divergence[1:])
    assert divergence[-1] == pytest.approx(pure_epsilon, rel=1e-9)


def test_draws_have_the_law():
    staircase = Staircase(0.7, gamma=0.3, sensitivity=2.0)
    noise = staircase.sample(np.random.default_rng(4), size=(200, 200)).ravel()
    place = np.sort(staircase.distribution(noise))
    gap = np.abs(place - (np.arange(noise.size) + 0.5) / noise.size).max()
    assert gap < 1.63 / math.sqrt(noise.size)


def test_it_is_a_mechanism_and_its_ends_are_said():
    assert isinstance(Staircase(1.0, gamma=0.4), Mechanism)
    staircase = Staircase(1.0, gamma=0.4)
    assert staircase.delta([1.0, 2.0, math.inf]).tolist() == [0, 0, 0]
    assert staircase.epsilon([0.0, 1.0]).tolist() == [1, 0]
    assert staircase.beta([0.0, 1.0]).tolist() == [1, 0]
    for pure_epsilon in (5e-324, 1e-300, 800.0, 1e308):
        for gamma in (5e-324, 0.5, 1.0):
            extreme = Staircase(pure_epsilon, gamma=gamma, sensitivity=1e-10)
            for value in (extreme.variance, extreme.abs_error, extreme.delta(0.0), extreme.epsilon(1e-300)):
                assert not math.isnan(value)
            assert not np.isnan(extreme.rdp([1.0, 1 + 1e-9, 1e300])).any()
            assert not np.isnan(extreme.log_density([0.0, 1e308], location=-1e308)).any()
            assert not np.isnan(extreme.distribution([0.0, 1e308, -1e308], location=-1e308)).any()
    assert Laplace(1.0).delta(0.0) < staircase.delta(0.0)
    assert staircase_min_variance(1e-200) == math.inf
    assert staircase_min_variance(5e3) == 0


@pytest.mark.parametrize("wrong", [{"gamma": 0.0}, {"gamma": 1.1}, {"pure_epsilon": 0.0}, {"sensitivity": 0.0}])
def test_what_is_wrong_is_refused(wrong):
    with pytest.raises(DomainError, match=next(iter(wrong))):
        Staircase(**{"pure_epsilon": 1.0, "gamma": 0.5, **wrong})
