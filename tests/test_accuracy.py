import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpviz import DomainError
from dpviz.accounting.accuracy import scale_for_accuracy, sigma_for_accuracy

LEVELS = st.one_of(
    st.floats(-300, -0.01).map(lambda power: 10.0**power), st.floats(-15, -0.01).map(lambda power: 1 - 10.0**power)
)
WIDTHS = st.floats(-6, 6).map(lambda power: 10.0**power)


@given(WIDTHS, LEVELS)
def test_sigma_against_the_normal_law(half_width, confidence):
    sigma = sigma_for_accuracy(half_width, confidence=confidence)
    with mpmath.workdps(40):
        reach = mpmath.mpf(half_width) / (mpmath.mpf(sigma) * mpmath.sqrt(2))
        outside, slope = mpmath.erfc(reach), 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(reach**2)) * reach
        if confidence < 0.5:
            slip = (mpmath.erf(reach) - mpmath.mpf(confidence)) / slope
        else:
            slip = ((1 - mpmath.mpf(confidence)) - outside) / slope
        assert abs(slip) < 1e-14


@given(WIDTHS, LEVELS)
def test_scale_against_the_exponential_law(half_width, confidence):
    scale = scale_for_accuracy(half_width, confidence=confidence)
    with mpmath.workdps(40):
        truth = -mpmath.mpf(half_width) / mpmath.log1p(-mpmath.mpf(confidence))
    assert scale == pytest.approx(float(truth), rel=1e-15)


@given(WIDTHS, st.floats(1e-6, 0.999999))
def test_the_answer_keeps_the_accuracy_and_a_little_more_noise_does_not(half_width, confidence):
    sigma = sigma_for_accuracy(half_width, confidence=confidence)
    scale = scale_for_accuracy(half_width, confidence=confidence)
    kept = lambda noise: math.erf(half_width / noise / math.sqrt(2))  # noqa: E731
    assert kept(sigma) >= confidence * (1 - 2e-16)
    assert kept(sigma * (1 + 1e-9)) < confidence
    assert -math.expm1(-half_width / scale) >= confidence * (1 - 2e-16)
    assert -math.expm1(-half_width / (scale * (1 + 1e-9))) < confidence


def test_simulated_errors_stay_inside_as_often_as_was_asked():
    rng = np.random.default_rng(7)
    confidence, size = 0.9, 200_000
    for noise in (
        rng.normal(0, sigma_for_accuracy(3.0, confidence=confidence), size),
        rng.laplace(0, scale_for_accuracy(3.0, confidence=confidence), size),
    ):
        assert np.mean(np.abs(noise) <= 3.0) == pytest.approx(confidence, abs=0.004)


def test_arrays_and_ends():
    assert sigma_for_accuracy([[1.0], [2.0]], confidence=[0.5, 0.9, 0.99]).shape == (2, 3)
    assert np.all(np.diff(scale_for_accuracy(1.0, confidence=[0.5, 0.9, 0.99])) < 0)
    assert type(sigma_for_accuracy(1, confidence=0.5)) is float
    for function in (sigma_for_accuracy, scale_for_accuracy):
        for wrong in (0.0, 1.0, -0.5, math.nan):
            with pytest.raises(DomainError, match=r"^confidence must be"):
                function(1.0, confidence=wrong)
        with pytest.raises(DomainError, match=r"^half_width must be"):
            function(0.0, confidence=0.5)
        with pytest.raises(DomainError, match="for this accuracy must be a finite float64 > 0"):
            function(1e300, confidence=1e-300)
