import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

from dpviz import DomainError, gaussian_epsilon, gaussian_rdp, rdp_to_epsilon, rdp_to_epsilon_improved
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


def test_ends():
    assert rdp_to_epsilon(0.5, order=2.0, delta=0.0) == math.inf
    assert rdp_to_epsilon(0.5, order=2.0, delta=1.0) == 0.5
    assert rdp_to_epsilon(math.inf, order=2.0, delta=0.1) == math.inf
    assert rdp_to_epsilon_improved(0.5, order=2.0, delta=0.0) == math.inf
    assert rdp_to_epsilon_improved(0.5, order=2.0, delta=0.9) == 0.0
    for convert in (rdp_to_epsilon, rdp_to_epsilon_improved):
        with pytest.raises(DomainError, match="order must be a finite number > 1, but got 1"):
            convert(0.5, order=1.0, delta=0.1)
