import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.conversion import rdp_to_delta, rdp_to_delta_improved
from dpviz.accounting.gaussian import gaussian_delta
from dpviz.accounting.optimal import optimal_composition_epsilon
from dpviz.accounting.renyi_bounds import improved_bound
from dpviz.accounting.zcdp import (
    pure_to_zcdp,
    pure_to_zcdp_exact,
    zcdp_to_delta,
    zcdp_to_delta_improved,
    zcdp_to_epsilon,
    zcdp_to_epsilon_improved,
)
from tests.reference import distance, entries

RHOS = st.floats(-6, 4).map(lambda power: 10.0**power)
SLACKS = st.floats(-300, -0.01).map(lambda power: 10.0**power)


@entries("zcdp_to_dp")
def test_epsilon_reference(inputs, value):
    assert distance(zcdp_to_epsilon(inputs["rho"], delta=inputs["delta"]), value) <= 1e-15


@entries("pure_dp_max_kl")
def test_exact_rho_reference(inputs, value):
    assert distance(pure_to_zcdp_exact(inputs["eps"]), value) <= 1e-15


@given(RHOS, SLACKS)
def test_improved_epsilon_is_that_of_one_gaussian_release(rho, delta):
    improved = zcdp_to_epsilon_improved(rho, delta=delta)
    assert improved == pytest.approx(
        improved_bound(count=1, sigma=1.0, sensitivity=math.sqrt(2 * rho), delta=delta), rel=1e-11, abs=1e-14
    )
    assert improved <= zcdp_to_epsilon(rho, delta=delta)


def test_improved_pair_against_mpmath():
    rng = np.random.default_rng(4)
    for _ in range(120):
        rho, delta = 10 ** rng.uniform(-4, 4), 10 ** rng.uniform(-300, -1)
        epsilon = zcdp_to_epsilon_improved(rho, delta=delta)
        with mpmath.workdps(40):
            r, log_inverse = mpmath.mpf(rho), -mpmath.log(mpmath.mpf(delta))
            slope = lambda s: r * s**2 + mpmath.log1p(s) - log_inverse  # noqa: E731, B023
            s = mpmath.findroot(slope, (mpmath.mpf("1e-9"), mpmath.sqrt(log_inverse / r) + 1e-9), solver="illinois")
            truth = r * (1 + 2 * s) - mpmath.log1p(1 / s)
        assert abs(epsilon - max(truth, 0)) <= 1e-14 * (abs(truth) + 2 * rho * s)
        if epsilon > 0:
            back = zcdp_to_delta_improved(rho, epsilon=epsilon)
            assert back == pytest.approx(delta, rel=1e-15 * (10 + float(s) * (epsilon + rho) * 4 - 4 * math.log(delta)))
            assert zcdp_to_delta(rho, epsilon=zcdp_to_epsilon(rho, delta=delta)) == pytest.approx(delta, rel=3e-11)


@given(RHOS, st.floats(0, 60))
def test_no_order_does_better_and_the_truth_is_below(rho, spread):
    epsilon = max(0.0, rho + spread * math.sqrt(2 * rho) - 3 * math.sqrt(2 * rho))
    orders = 1 + np.geomspace(1e-6, 1e8, 4001)
    for whole, single in ((zcdp_to_delta, rdp_to_delta), (zcdp_to_delta_improved, rdp_to_delta_improved)):
        least = whole(rho, epsilon=epsilon)
        assert np.all(least <= single(rho * orders, order=orders, epsilon=epsilon) * (1 + 1e-9) + 1e-300)
        assert least >= gaussian_delta(epsilon, mu=math.sqrt(2 * rho)) * (1 - 1e-9)
    assert zcdp_to_delta_improved(rho, epsilon=epsilon) <= zcdp_to_delta(rho, epsilon=epsilon)


@given(st.floats(-8, 3).map(lambda power: 10.0**power))
def test_exact_rho_is_the_least_that_randomised_response_allows(epsilon):
    rho = pure_to_zcdp_exact(epsilon)
    assert rho <= min(pure_to_zcdp(epsilon) * (1 + 1e-15), epsilon)
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon)
        for excess in ("1e-9", "0.01", "1", "5", "1e3"):
            order = 1 + mpmath.mpf(excess)
            wide = mpmath.log(mpmath.cosh((order - 0.5) * e) / mpmath.cosh(e / 2)) / (order - 1)
            assert wide <= order * rho * (1 + mpmath.mpf("4e-16"))
        near = 1 + mpmath.mpf("1e-9")
        assert mpmath.log(mpmath.cosh((near - 0.5) * e) / mpmath.cosh(e / 2)) / (near - 1) >= rho * (1 - 1e-6)


@given(st.floats(-3, 0.5).map(lambda power: 10.0**power), st.integers(1, 3000), st.floats(-9, -1))
def test_many_pure_releases_by_way_of_the_exact_rho_cost_at_least_the_optimum(epsilon, count, power):
    delta = 10.0**power
    bound = zcdp_to_epsilon_improved(count * pure_to_zcdp_exact(epsilon), delta=delta)
    assert optimal_composition_epsilon(delta, epsilon=epsilon, count=count) <= bound * (1 + 1e-12)


def test_ends():
    assert zcdp_to_epsilon([0.0, 1.0], delta=0.0).tolist() == [0.0, math.inf]
    assert zcdp_to_epsilon(2.0, delta=1.0) == 2.0
    assert zcdp_to_epsilon(math.inf, delta=1.0) == zcdp_to_epsilon(math.inf, delta=0.5) == math.inf
    assert zcdp_to_epsilon_improved([0.0, 1.0, math.inf], delta=[0.0, 0.0, 0.1]).tolist() == [0.0, math.inf, math.inf]
    assert zcdp_to_epsilon_improved([0.0, 1.0, math.inf], delta=1.0).tolist() == [0.0, 0.0, 0.0]
    assert zcdp_to_epsilon_improved(1e-320, delta=1e-6) == 0.0
    for convert in (zcdp_to_delta, zcdp_to_delta_improved):
        assert convert([0.0, math.inf], epsilon=1.0).tolist() == [0.0, 1.0]
        assert convert(1e-300, epsilon=1.0) == 0.0
        assert convert(1e300, epsilon=1.0) == 1.0
        assert convert(1.0, epsilon=1e300) == 0.0
    assert zcdp_to_delta(1.0, epsilon=[0.5, 1.0]).tolist() == [1.0, 1.0]
    assert 0 < zcdp_to_delta_improved(1e-3, epsilon=0.0) < 0.05
    assert pure_to_zcdp([0.0, 1e200]).tolist() == [0.0, math.inf]
    assert pure_to_zcdp_exact([0.0, 1e200]).tolist() == [0.0, 1e200]
    with pytest.raises(DomainError, match="rho must be a number >= 0"):
        zcdp_to_epsilon(-1.0, delta=0.1)
    with pytest.raises(DomainError, match="epsilon must be a finite number >= 0"):
        zcdp_to_delta(1.0, epsilon=math.inf)
