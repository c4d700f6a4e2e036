import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.renyi_bounds import (
    DEFAULT_ORDERS,
    improved_best_order,
    improved_bound,
    integer_order_bound,
    rdp_best_order,
    rdp_bound,
)

SLACKS = st.floats(-300, -0.01).map(lambda power: 10.0**power)


def test_the_witness_of_whole_orders():
    found = integer_order_bound(count=1000, sigma=8.0, delta=1e-6)
    assert round(found.epsilon, 4) == 29.4405
    assert round(rdp_bound(count=1000, sigma=8.0, delta=1e-6), 4) == 28.5907
    assert (found.order, found.is_edge) == (2.0, True)
    inner = integer_order_bound(count=10, sigma=8.0, delta=1e-6)
    assert (inner.order, inner.is_edge) == (14.0, False)
    far = integer_order_bound(count=1, sigma=1e6, delta=1e-300)
    assert (far.order, far.is_edge) == (512.0, True)
    assert far.epsilon > 100 * rdp_bound(count=1, sigma=1e6, delta=1e-300)


@given(st.integers(1, 10**6), st.floats(-1, 4).map(lambda power: 10.0**power), SLACKS)
def test_a_list_of_orders_is_never_below_the_best_real_order(count, sigma, delta):
    here = {"count": count, "sigma": sigma, "delta": delta}
    classic, improved = integer_order_bound(**here), integer_order_bound(**here, improved=True)
    assert classic.epsilon >= rdp_bound(**here) * (1 - 1e-14)
    assert improved.epsilon >= improved_bound(**here) * (1 - 1e-9) - 1e-12
    assert improved.epsilon <= classic.epsilon
    assert classic.is_edge == (classic.order in (DEFAULT_ORDERS[0], DEFAULT_ORDERS[-1]))
    real = integer_order_bound(**here, orders=[1 + 1e-9, rdp_best_order(**here), 1e12])
    assert real.epsilon == pytest.approx(rdp_bound(**here), rel=1e-7)
    if improved_bound(**here) > 1e-6:
        real = integer_order_bound(**here, orders=[1 + 1e-9, improved_best_order(**here), 1e12], improved=True)
        assert real.epsilon == pytest.approx(improved_bound(**here), rel=1e-7)


def test_against_dp_accounting():
    for count, sigma in ((1, 0.5), (10, 4.0), (1000, 20.0)):
        orders = np.array(DEFAULT_ORDERS, dtype=float)
        theirs, order = rdp_privacy_accountant.compute_epsilon(orders, count * orders / (2 * sigma**2), 1e-6)
        found = integer_order_bound(count=count, sigma=sigma, delta=1e-6, improved=True)
        assert found.epsilon == pytest.approx(theirs, rel=1e-12)
        assert found.order == order


def test_ends_and_shapes():
    nothing = integer_order_bound(count=0, sigma=1.0, delta=[0.0, 0.5])
    assert nothing.epsilon.tolist() == [0.0, 0.0]
    assert integer_order_bound(count=1, sigma=1.0, delta=0.0).epsilon == math.inf
    many = integer_order_bound(count=[[1], [10]], sigma=[1.0, 2.0, 3.0], delta=1e-5)
    assert many.epsilon.shape == many.order.shape == many.is_edge.shape == (2, 3)
    assert integer_order_bound(count=1, sigma=1.0, delta=0.1, orders=[2]).is_edge is True
    with pytest.raises(DomainError, match="orders must be a rising list"):
        integer_order_bound(count=1, sigma=1.0, delta=0.1, orders=[3, 2])
    with pytest.raises(TypeError, match="orders must be a list"):
        integer_order_bound(count=1, sigma=1.0, delta=0.1, orders=2.0)
    with pytest.raises(DomainError, match="orders must be a finite number > 1"):
        integer_order_bound(count=1, sigma=1.0, delta=0.1, orders=[1, 2])
