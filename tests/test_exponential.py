import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.exponential import (
    exponential_bad_mass,
    exponential_shortfall_bound,
    exponential_utility_bound,
)
from dpviz.accounting.exponential_mechanism import ExponentialMechanism
from tests.reference import distance, entries


@entries("expmech_bad_mass")
def test_bad_mass_reference(inputs, value):
    found = exponential_bad_mass(
        epsilon=inputs["eps"], bad_count=inputs["n_bad"], gap=inputs["gap"], sensitivity=inputs["du"]
    )
    assert distance(found, value) <= 1e-12


@given(st.floats(1e-9, 1e4), st.integers(1, 10**9), st.floats(1e-6, 1e3), st.floats(1e-3, 1e3))
def test_bad_mass_in_many_digits(epsilon, bad, gap, sensitivity):
    with mpmath.workdps(40):
        weight = bad * mpmath.exp(-mpmath.mpf(epsilon) * mpmath.mpf(gap) / (2 * mpmath.mpf(sensitivity)))
        truth = weight / (1 + weight)
        found = exponential_bad_mass(epsilon=epsilon, bad_count=bad, gap=gap, sensitivity=sensitivity)
        assert abs(found - truth) <= 5e-13 * truth + mpmath.mpf(10) ** -307


def test_bad_mass_ends():
    assert exponential_bad_mass(epsilon=0.0, bad_count=3, gap=1.0) == 0.75
    assert exponential_bad_mass(epsilon=1.0, bad_count=0, gap=1.0) == 0
    assert exponential_bad_mass(epsilon=1e300, bad_count=3, gap=1e300, sensitivity=5e-324) == 0
    assert exponential_bad_mass(epsilon=1e-200, bad_count=1, gap=1e-200, sensitivity=1e-300) == 0.5
    assert exponential_bad_mass(epsilon=1e300, bad_count=1, gap=1e-200, sensitivity=1e100) == pytest.approx(
        1 / (1 + math.exp(0.5)), rel=1e-15
    )


@given(
    st.lists(st.floats(-20, 0), min_size=1, max_size=12),
    st.floats(0, 30),
    st.floats(0, 10),
    st.floats(0.1, 10),
)
def test_the_utility_bound_is_never_below_the_probability(utility, shortfall, epsilon, sensitivity):
    mechanism = ExponentialMechanism(pure_epsilon=epsilon, sensitivity=sensitivity)
    best = utility.count(max(utility))
    bound = exponential_utility_bound(
        shortfall, epsilon=epsilon, output_count=len(utility), optimum_count=best, sensitivity=sensitivity
    )
    assert mechanism.miss_probability(shortfall, utility=utility) <= bound * (1 + 1e-12)


@given(st.floats(1e-300, 1), st.floats(1e-3, 1e3), st.integers(1, 10**9), st.floats(1e-3, 1e3))
def test_the_shortfall_is_the_inverse_of_the_bound(chance, epsilon, outputs, sensitivity):
    given_ = {"epsilon": epsilon, "output_count": outputs, "sensitivity": sensitivity}
    shortfall = exponential_shortfall_bound(chance, **given_)
    back = exponential_utility_bound(shortfall, **given_)
    assert math.log(back) == pytest.approx(math.log(chance) if chance < 1 else 0.0, rel=1e-12, abs=1e-12)


def test_the_bound_without_the_number_of_outputs_is_false():
    """Negative control: e^{−εt/2Δ} alone is below the exact probability as soon as enough outputs are bad."""
    utility, shortfall = [0.0, -2.0, -2.0], 1.9
    exact = ExponentialMechanism(pure_epsilon=2.0).miss_probability(shortfall, utility=utility)
    assert exact == pytest.approx(0.213013957838401501, rel=1e-14)
    claimed = math.exp(-2.0 * shortfall / 2)
    assert claimed == pytest.approx(0.14957, abs=1e-5)
    assert exact > claimed
    assert exact <= exponential_utility_bound(shortfall, epsilon=2.0, output_count=3)
    assert exponential_bad_mass(epsilon=2.0, bad_count=10**6, gap=2.0) > 0.99999
    for epsilon in (0.1, 1.0, 5.0):  # with two outputs it happens to hold
        assert exponential_bad_mass(epsilon=epsilon, bad_count=1, gap=2.0) <= math.exp(-epsilon)


def test_bound_ends():
    assert exponential_shortfall_bound(0.0, epsilon=1.0, output_count=2) == math.inf
    assert exponential_shortfall_bound(0.5, epsilon=0.0, output_count=2) == math.inf
    assert exponential_shortfall_bound(1.0, epsilon=0.0, output_count=2) == 0
    assert exponential_shortfall_bound(0.3, epsilon=[1.0, 2.0], output_count=1).shape == (2,)
    assert exponential_utility_bound(0.0, epsilon=1.0, output_count=5) == 1
    with pytest.raises(DomainError, match="optimum_count must be a whole number from 1 to output_count"):
        exponential_utility_bound(1.0, epsilon=1.0, output_count=2, optimum_count=3)


def test_bound_is_kept_with_monotone_arrays():
    bound = exponential_utility_bound(np.linspace(0, 20, 50), epsilon=1.0, output_count=10)
    assert np.all(np.diff(bound) <= 0)
