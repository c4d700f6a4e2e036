import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz import DomainError
from dpviz.accounting.calibration import calibrate_gaussian
from dpviz.accounting.classical_gaussian import (
    classical_gaussian_delta,
    classical_gaussian_limit,
    classical_gaussian_sigma,
)
from tests.reference import distance, entries
from tests.test_gaussian import mp_log_delta

SLACKS = st.floats(-300, -0.01).map(lambda power: 10.0**power)


@entries("gaussian_sigma_classic")
def test_sigma_reference(inputs, value):
    sigma = classical_gaussian_sigma(inputs["eps"], delta=inputs["delta"], sensitivity=inputs["Delta"])
    assert distance(sigma, value) <= 4e-16


@entries("classic_gaussian_critical_eps")
def test_limit_reference(inputs, value):
    assert distance(classical_gaussian_limit(inputs["delta"]), value) <= 4e-15


@given(st.floats(-60, -0.01).map(lambda power: 10.0**power), st.floats(-1, 3).map(lambda power: 10.0**power))
def test_the_true_delta_against_its_definition(delta, epsilon):
    with mpmath.workdps(60):
        mu = epsilon / mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta)))
        truth = mpmath.exp(mp_log_delta(epsilon, mu))
    assert classical_gaussian_delta(epsilon, delta=delta) == pytest.approx(float(truth), rel=1e-12, abs=1e-300)


@given(st.one_of(SLACKS, st.floats(-9, -0.3).map(lambda power: 1 - 10.0**power)))
def test_the_limit_is_the_last_epsilon_that_keeps_delta(delta):
    limit = classical_gaussian_limit(delta)
    assert classical_gaussian_delta(limit, delta=delta) <= delta
    with mpmath.workdps(60):
        factor = mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta)))
        for epsilon, is_kept in ((limit * (1 - 1e-12), True), (limit * (1 + 1e-12), False)):
            assert (mp_log_delta(epsilon, epsilon / factor) <= mpmath.log(mpmath.mpf(delta))) is is_kept


def test_it_holds_below_one_where_it_is_proved_and_takes_more_noise_than_is_needed():
    delta = np.geomspace(1e-300, 0.5, 40)[:, np.newaxis]
    epsilon = np.geomspace(1e-6, 1.0, 20)
    assert np.all(classical_gaussian_delta(epsilon, delta=delta) < delta)
    assert np.all(classical_gaussian_sigma(epsilon, delta=delta) > calibrate_gaussian(epsilon, delta=delta))
    assert np.all(classical_gaussian_limit(delta) > 1)


def test_beyond_the_limit_it_is_too_little_noise():
    for delta in (1e-3, 1e-6, 1e-100):
        limit = classical_gaussian_limit(delta)
        wanted = calibrate_gaussian([0.99 * limit, 1.01 * limit], delta=delta)
        given_ = classical_gaussian_sigma([0.99 * limit, 1.01 * limit], delta=delta)
        assert given_[0] > wanted[0]
        assert given_[1] < wanted[1]


def test_ends():
    assert classical_gaussian_limit(1.0) == math.inf
    assert classical_gaussian_limit([0.5, 1.0, 1e-320]).shape == (3,)
    assert classical_gaussian_sigma(1.0, delta=1e-6, sensitivity=0.0) == 0.0
    assert classical_gaussian_sigma(1.0, delta=1e-320) == pytest.approx(
        math.sqrt(2 * (math.log(1.25) + 736.8272)), 1e-6
    )
    assert classical_gaussian_delta(1e300, delta=1e-6) == 1.0
    assert 0 < classical_gaussian_delta(1e-300, delta=1e-6) < 1e-300
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(DomainError, match=r"^epsilon must be"):
            classical_gaussian_sigma(wrong, delta=1e-6)
    with pytest.raises(DomainError, match=r"^delta must be"):
        classical_gaussian_limit(0.0)
    with pytest.raises(DomainError, match="sigma to be a float64"):
        classical_gaussian_sigma(1e-320, delta=1e-6)
