import math

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, strategies as st

from dpviz import DomainError, gaussian_delta, gaussian_epsilon, gaussian_rdp, rdp_to_epsilon, rdp_to_epsilon_improved
from dpviz.accounting.conversion import rdp_to_delta, rdp_to_delta_improved
from tests.reference import distance, entries

ORDERS = st.floats(1.0001, 1e4)
SLACKS = st.floats(-30, 0).map(lambda power: 10.0**power)


@entries("rdp_to_dp_mironov")
def test_classic_reference(inputs, value):
    assert distance(rdp_to_epsilon(inputs["rdp"], order=inputs["alpha"], delta=inputs["delta"]), value) <= 1e-14


@entries("rdp_to_dp_cks")
def test_improved_reference(inputs, value):
    epsilon = rdp_to_epsilon_improved(inputs["rdp"], order=inputs["alpha"], delta=inputs["delta"])
    assert distance(epsilon, value) <= 1e-14


@given(st.floats(0, 100), ORDERS, SLACKS)
def test_improved_is_never_above_classic_and_never_negative(rdp, order, delta):
    improved = rdp_to_epsilon_improved(rdp, order=order, delta=delta)
    assert 0 <= improved <= rdp_to_epsilon(rdp, order=order, delta=delta)


@given(st.floats(-2, 1).map(lambda power: 10.0**power), ORDERS, SLACKS)
def test_both_are_above_the_exact_epsilon(mu, order, delta):
    exact = gaussian_epsilon(delta, mu=mu)
    rdp = gaussian_rdp(order, mu=mu)
    assert rdp_to_epsilon_improved(rdp, order=order, delta=delta) >= exact * (1 - 1e-12)


def test_improved_against_dp_accounting():
    orders = np.array([1.5, 2.0, 4.0, 16.0, 64.0, 512.0])
    for mu in (0.1, 0.5, 1.0, 3.0):
        rdp = gaussian_rdp(orders, mu=mu)
        theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, rdp, 1e-6)
        assert rdp_to_epsilon_improved(rdp, order=orders, delta=1e-6).min() == pytest.approx(theirs, rel=1e-12)


def test_all_four_against_the_formulas_in_mpmath():
    rng = np.random.default_rng(8)
    for _ in range(300):
        order, rdp = 1 + 10 ** rng.uniform(-12, 6), 10 ** rng.uniform(-6, 4)
        delta, epsilon = 10 ** rng.uniform(-300, 0), rdp + 10 ** rng.uniform(-3, 2) / order
        with mpmath.workdps(50):
            a, r, d, e = map(mpmath.mpf, (order, rdp, delta, epsilon))
            classic = r - mpmath.log(d) / (a - 1)
            improved = r + mpmath.log(1 - 1 / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)
            power = (a - 1) * (r - e)
            small = min(1, mpmath.exp(power))
            smaller = min(1, mpmath.exp(power) * (1 - 1 / a) ** a / (a - 1))
        assert rdp_to_epsilon(rdp, order=order, delta=delta) == pytest.approx(float(classic), rel=1e-13)
        slip = 1e-15 * float(abs(mpmath.log(d) / (a - 1)) + r)
        assert abs(rdp_to_epsilon_improved(rdp, order=order, delta=delta) - max(improved, 0)) <= 4 * slip
        given = {"order": order, "epsilon": epsilon}
        width = 4e-16 * (1 + order * (rdp + epsilon))
        assert rdp_to_delta(rdp, **given) == pytest.approx(float(small), rel=width, abs=1e-306)
        assert rdp_to_delta_improved(rdp, **given) == pytest.approx(float(smaller), rel=width + 4e-15, abs=1e-306)


@given(st.floats(0, 100), ORDERS, SLACKS)
def test_epsilon_and_delta_are_each_the_other_s_inverse(rdp, order, delta):
    for to_epsilon, to_delta in ((rdp_to_epsilon, rdp_to_delta), (rdp_to_epsilon_improved, rdp_to_delta_improved)):
        epsilon = to_epsilon(rdp, order=order, delta=delta)
        back = to_delta(rdp, order=order, epsilon=epsilon)
        assert back <= delta * (1 + 1e-15 * (10 + order * (rdp + epsilon)))
        if epsilon > 0:
            assert back == pytest.approx(delta, rel=1e-15 * (10 + order * (rdp + epsilon)))


@given(st.floats(-2, 1).map(lambda power: 10.0**power), ORDERS, st.floats(0, 40))
def test_both_deltas_are_above_the_exact_one(mu, order, epsilon):
    rdp, exact = gaussian_rdp(order, mu=mu), gaussian_delta(epsilon, mu=mu)
    improved, classic = (f(rdp, order=order, epsilon=epsilon) for f in (rdp_to_delta_improved, rdp_to_delta))
    assert exact * (1 - 1e-11) <= improved <= classic


def test_ends():
    assert rdp_to_delta(0.5, order=2.0, epsilon=0.25) == rdp_to_delta(0.5, order=2.0, epsilon=0.5) == 1.0
    assert rdp_to_delta_improved(0.0, order=2.0, epsilon=0.0) == pytest.approx(0.25)
    for convert in (rdp_to_delta, rdp_to_delta_improved):
        assert convert([0.5, math.inf], order=2.0, epsilon=math.inf).tolist() == [0.0, 1.0]
        assert convert(math.inf, order=2.0, epsilon=3.0) == 1.0
        assert convert(1e300, order=1e10, epsilon=0.0) == 1.0
    assert rdp_to_epsilon(0.5, order=2.0, delta=0.0) == math.inf
    assert rdp_to_epsilon(0.5, order=2.0, delta=1.0) == 0.5
    assert rdp_to_epsilon(math.inf, order=2.0, delta=0.1) == math.inf
    assert rdp_to_epsilon_improved(0.5, order=2.0, delta=0.0) == math.inf
    assert rdp_to_epsilon_improved(0.5, order=2.0, delta=0.9) == 0.0
    for convert in (rdp_to_epsilon, rdp_to_epsilon_improved):
        with pytest.raises(DomainError, match="order must be a finite number > 1, but got 1"):
            convert(0.5, order=1.0, delta=0.1)
