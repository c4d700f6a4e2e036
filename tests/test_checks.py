import copy
import decimal
import fractions
import pickle

import numpy as np
import pytest

from dpviz import DomainError
from dpviz.accounting import _checks as check


def test_the_error_says_name_requirement_and_value():
    with pytest.raises(DomainError) as caught:
        check.positive("sigma", -1.0)
    error = caught.value
    assert (error.name, error.requirement, error.value) == ("sigma", "a finite number > 0", -1.0)
    assert str(error) == "sigma must be a finite number > 0, but got -1.0"
    assert isinstance(error, ValueError)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(twin), twin.name, twin.value) == (str(error), "sigma", -1.0)


def test_the_first_bad_element_of_an_array_is_named():
    with pytest.raises(DomainError, match=r"delta must be a number in \(0, 1\], but got 1\.5"):
        check.probability("delta", [0.1, 1.5, 2.5], open_low=True)
    with pytest.raises(DomainError, match=r"got nan"):
        check.at_least("epsilon", np.array([1.0, np.nan]), 0)
    with pytest.raises(DomainError, match=r"got -2$"):
        check.at_least("epsilon", np.int64(-2), 0)


ACCEPTED = [2, 2.0, np.float32(2), np.float64(2), np.int8(2), np.uint64(2), np.array(2.0), np.longdouble(2)]


@pytest.mark.parametrize("value", ACCEPTED, ids=repr)
def test_real_numbers_of_every_kind_are_taken_as_float64(value):
    for array in (check.positive("x", value), check.whole("x", value, 1), check.finite("x", value)):
        assert array.shape == ()
        assert array.dtype == np.float64
        assert array == 2.0
        assert type(check.plain(array)) is float


NOT_NUMBERS = [
    True, np.True_, "1", b"1", None, 1j, decimal.Decimal(1), fractions.Fraction(1), object(), {}, {1.0}, [True, 0.5],
    [[1.0, True]], ["1"], [None, 1.0], [1.0, [2.0]], np.array([True]), np.array(["1"]), np.array(1, dtype=object),
    np.array("2020-01-01", dtype="datetime64[D]"), np.ma.masked_array([1.0, 2.0], mask=[True, False]),
]  # fmt: skip


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_not_a_real_number_is_a_type_error(value):
    for test in (check.positive, check.finite, check.probability):
        with pytest.raises((TypeError, ValueError)) as caught:
            test("x", value)
        assert not isinstance(caught.value, DomainError)
        assert isinstance(caught.value, TypeError)


def test_ranges_and_their_ends():
    for bad in (0, -0.0, -1, np.inf, np.nan):
        with pytest.raises(DomainError):
            check.positive("x", bad)
    for bad in (-0.5, np.inf, -np.inf, np.nan):
        with pytest.raises(DomainError):
            check.at_least("x", bad, 0)
    assert check.at_least("x", -0.0, 0) == 0
    assert check.at_least("x", np.inf, 0, infinite=True) == np.inf
    for bad in (1, 0.5, np.inf, np.nan):
        with pytest.raises(DomainError):
            check.above("x", bad, 1)
    for bad in (-1e-9, 1 + 1e-15, np.nan, np.inf):
        with pytest.raises(DomainError):
            check.probability("x", bad)
    assert check.probability("x", [0, 1]).tolist() == [0.0, 1.0]
    for bad, ends in ((0, {"open_low": True}), (1, {"open_high": True})):
        with pytest.raises(DomainError):
            check.probability("x", bad, **ends)
    for bad in (1.5, -1, 11, np.nan, np.inf):
        with pytest.raises(DomainError, match="x must be a whole number from 0 to 10"):
            check.whole("x", bad, 0, 10)
    with pytest.raises(DomainError):
        check.whole("x", np.int64(2**62), 0)
    with pytest.raises(DomainError, match="a whole number of 3322 bits"):
        check.positive("x", 10**1000)
    with pytest.raises(DomainError):
        check.finite("x", np.longdouble("1e4000"))


def test_checks_change_nothing_they_were_given():
    given = np.array([1.0, 2.0])
    check.positive("x", given)[0] = 5.0
    assert given.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="must be one number"):
        check.scalar("x", given)
