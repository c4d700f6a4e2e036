"""Round numbers at the ends of axes."""

import math

import pytest
from hypothesis import given, strategies as st

from dpviz.accounting.scales import round_down, round_up

POSITIVE = st.floats(1e-300, 1e300)


@given(POSITIVE)
def test_round_numbers_enclose_closely(value):
    assert value / 2 < round_down(value) <= value <= round_up(value) < 2 * value
    assert value / 2.6 < round_down(value, coarse=True) <= value <= round_up(value, coarse=True) < 2.6 * value


@given(POSITIVE)
def test_a_round_number_stays(value):
    assert round_up(round_up(value)) == round_up(value)
    assert round_down(round_up(value)) == round_up(value)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("rounding", [round_up, round_down])
def test_no_round_number_without_a_positive_value(rounding, value):
    with pytest.raises(ValueError, match="value must be a finite number > 0"):
        rounding(value)
