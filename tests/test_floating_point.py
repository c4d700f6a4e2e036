import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.floating_point import (
    attainable_fraction,
    float16_laplace_distinguishing_mass,
    is_attainable,
    naive_laplace,
)
from tests.reference import distance, entries


def nearest_half(value):
    """Return the float16 nearest to an exact rational or a many-digit number, ties to even, by hand."""
    if value == 0:
        return 0.0
    size = (
        abs(Fraction(int(mpmath.nint(value * mpmath.mpf(2) ** 300)), 2**300))
        if isinstance(value, mpmath.mpf)
        else abs(value)
    )
    exponent = max(math.floor(math.log2(size)) if size > Fraction(1, 2**1000) else -1000, -14)
    step = Fraction(2) ** (exponent - 10)
    count, rest = divmod(size, step)
    count += (rest > step / 2) or (rest == step / 2 and count % 2 == 1)
    result = float(count * step)
    return math.copysign(math.inf if result > 65504 else result, value)


def mass_by_hand(location, other, scale, bits):
    with mpmath.workdps(60):
        noise = [nearest_half(mpmath.mpf(scale) * mpmath.log(mpmath.mpf(i) / 2**bits)) for i in range(1, 2**bits + 1)]
    noise += [-x for x in noise]

    def outputs(centre):
        return [x if math.isinf(x) else nearest_half(Fraction(centre) + Fraction(x)) for x in noise]

    possible = set(outputs(other))
    return sum(x not in possible for x in outputs(location)) / len(noise)


@entries("float16_laplace_distinguishing_mass")
def test_mass_reference(inputs, value):
    found = float16_laplace_distinguishing_mass(
        location=inputs["f0"], other_location=inputs["f1"], scale=inputs["b"], uniform_bits=inputs["uniform_bits"]
    )
    assert distance(found, value) == 0


@settings(max_examples=25)
@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(0.01, 100), st.integers(1, 7))
def test_mass_is_counted_exactly(location, other, scale, bits):
    found = float16_laplace_distinguishing_mass(location=location, other_location=other, scale=scale, uniform_bits=bits)
    assert found == mass_by_hand(location, other, scale, bits)


@pytest.mark.parametrize(
    ("location", "other", "scale", "bits"),
    [
        (0, 1, 6000.0, 6),
        (0, 1, 1e300, 6),
        (1e300, 0, 1.0, 4),
        (0.1, 0.2, 1e-300, 5),
        (0, 2**-24, 1e-7, 7),
        (1000, 1001, 3.0, 8),
    ],
)
def test_mass_at_extremes(location, other, scale, bits):
    found = float16_laplace_distinguishing_mass(location=location, other_location=other, scale=scale, uniform_bits=bits)
    assert found == mass_by_hand(location, other, scale, bits)


def test_a_double_that_looks_like_a_tie_is_decided_by_more_digits():
    """Scales chosen so that fl(b ln ½) is the middle of two float16, on either side of the true product."""
    middle = 1 + 2.0**-11
    tried = set()
    for scale in middle / math.log(2) + np.arange(-3, 4) * 2.0**-52:
        found = float16_laplace_distinguishing_mass(location=0.0, other_location=1.0, scale=scale, uniform_bits=1)
        assert found == mass_by_hand(0.0, 1.0, scale, 1)
        with mpmath.workdps(40):
            tried.add(mpmath.mpf(scale) * mpmath.log(2) > middle)
    assert tried == {True, False}


def test_a_sum_that_a_double_would_round_to_a_tie_is_rounded_once():
    """1 + 2^−11 + 2^−60 is above the middle of two float16, but as a float64 it is the middle itself."""
    location = 2.0**-11 + 2.0**-60
    given_ = {"location": location, "other_location": 0.0, "scale": 1 / math.log(2), "uniform_bits": 1}
    assert float16_laplace_distinguishing_mass(**given_) == mass_by_hand(location, 0.0, 1 / math.log(2), 1) == 1.0


def test_the_same_answer_cannot_be_told():
    assert float16_laplace_distinguishing_mass(location=0.3, other_location=0.3, scale=1.0, uniform_bits=8) == 0
    assert float16_laplace_distinguishing_mass(location=0.0, other_location=1.0, scale=1.0, uniform_bits=18) < 0.6


def test_attainable_by_trying_every_uniform(monkeypatch):
    """With uniforms of 12 bits every output can be listed; bisection must agree on all float64 around them."""
    from dpviz.accounting import floating_point

    monkeypatch.setattr(floating_point, "_UNIFORM_BITS", 12)
    for location, scale in ((0.0, 1.0), (1.0, 0.37), (-3.3, 12.5)):
        noise = scale * np.log(np.arange(1, 2**12 + 1) * 2.0**-12)
        listed = np.unique(np.concatenate([location + noise, location - noise]))
        near = np.concatenate([listed, np.nextafter(listed, 99), np.nextafter(listed, -99), [location + 1e9]])
        found = is_attainable(near, location=location, scale=scale)
        assert found.tolist() == np.isin(near, listed).tolist()


@pytest.mark.parametrize(
    ("scale", "forward", "backward"),
    [(0.5, 0.776, 0.656), (1.0, 0.672, 0.605), (4.0, 0.637, 0.628), (10.0, 0.626, 0.633)],
)
def test_one_release_rules_out_the_other_answer_two_times_in_three(scale, forward, backward):
    size = 20_000
    for location, told in ((0.0, forward), (1.0, backward)):
        rng = np.random.default_rng(17)
        part = attainable_fraction(rng, location=location, other_location=1 - location, scale=scale, size=size)
        assert abs(1 - part - told) < 4 * math.sqrt(2 * told * (1 - told) / size)


def test_every_release_is_attainable_where_it_came_from():
    for location, scale in ((0.0, 1.0), (1e6, 0.3), (-0.1, 1e-5)):
        seen = naive_laplace(np.random.default_rng(3), location=location, scale=scale, size=(50, 20))
        assert seen.shape == (50, 20)
        assert is_attainable(seen, location=location, scale=scale).all()


def test_naive_releases_have_the_laplace_law():
    seen = naive_laplace(np.random.default_rng(3), location=2.0, scale=3.0, size=40_000)
    noise = np.sort(seen - 2)
    law = np.where(noise < 0, np.exp(-np.abs(noise) / 3) / 2, 1 - np.exp(-np.abs(noise) / 3) / 2)
    assert np.abs(law - (np.arange(40_000) + 0.5) / 40_000).max() < 1.63 / 200


def test_what_is_wrong_is_refused():
    with pytest.raises(TypeError, match="rng must be"):
        naive_laplace(1, location=0.0, scale=1.0, size=1)
    with pytest.raises(DomainError, match="scale"):
        is_attainable(0.0, location=0.0, scale=0.0)
    with pytest.raises(DomainError, match="output"):
        is_attainable(math.inf, location=0.0, scale=1.0)
    with pytest.raises(DomainError, match="uniform_bits must be a whole number from 1 to 22"):
        float16_laplace_distinguishing_mass(location=0, other_location=1, scale=1, uniform_bits=23)
    with pytest.raises(TypeError, match="location must be one number"):
        float16_laplace_distinguishing_mass(location=[0.0, 1.0], other_location=1, scale=1)
