import math

import pytest
from hypothesis import given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.calibration import calibrate_gaussian
from dpviz.accounting.privacy_loss import Composition
from dpviz.accounting.subsampled import SubsampledGaussian, subsampled_gaussian_delta
from dpviz.accounting.subsampled_calibration import calibrate_subsampled_gaussian


def delta_at(noise, *, epsilon, rate, count):
    return Composition(((SubsampledGaussian(noise, sampling_probability=rate), count),)).delta(epsilon)


@settings(deadline=None, max_examples=12)
@given(st.floats(0.2, 12), st.floats(-12, -3), st.floats(-2, -0.3), st.integers(200, 20_000))
def test_it_accounts_for_itself_and_no_less_noise_would_do(epsilon, log_delta, log_rate, count):
    delta, rate = 10**log_delta, 10**log_rate
    noise = calibrate_subsampled_gaussian(epsilon, delta=delta, sampling_probability=rate, count=count)
    assert delta_at(noise, epsilon=epsilon, rate=rate, count=count) <= delta
    assert delta_at(noise * (1 - 1e-12), epsilon=epsilon, rate=rate, count=count) > delta


def test_a_hard_public_question():
    """Epsilon 20 at a rate of 0.1 over 500 steps, where an accountant was reported to find no noise."""
    noise = calibrate_subsampled_gaussian(20.0, delta=1e-5, sampling_probability=0.1, count=500)
    assert noise == pytest.approx(0.9071775, abs=1e-7)


def test_one_release_by_its_closed_form():
    noise = calibrate_subsampled_gaussian(1.0, delta=1e-5, sampling_probability=0.1, count=1)
    found = subsampled_gaussian_delta(1.0, sampling_probability=0.1, noise_multiplier=noise)
    assert found == pytest.approx(1e-5, rel=1e-12)
    assert found <= 1e-5


def test_ends():
    ask = calibrate_subsampled_gaussian
    assert ask(1.0, delta=1e-5, sampling_probability=0.0, count=100) == 0
    assert ask(1.0, delta=1e-5, sampling_probability=0.1, count=0) == 0
    assert ask(1.0, delta=1.0, sampling_probability=0.1, count=5) == 0
    assert ask(1.0, delta=0.19, sampling_probability=0.1, count=2) == 0  # it is sampled no oftener than that
    assert ask(1.0, delta=1e-5, sampling_probability=1.0, count=9) == calibrate_gaussian(1.0, delta=1e-5, count=9)
    total_variation = ask(0.0, delta=0.01, sampling_probability=0.05, count=100)
    assert delta_at(total_variation, epsilon=0.0, rate=0.05, count=100) == pytest.approx(0.01, rel=1e-12)


def test_more_sampling_takes_more_noise_and_less_than_all():
    noises = [
        calibrate_subsampled_gaussian(1.0, delta=1e-6, sampling_probability=q, count=500) for q in (0.01, 0.1, 1.0)
    ]
    assert noises == sorted(noises)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"delta": 0.0},
        {"delta": 1.5},
        {"sampling_probability": -0.1},
        {"sampling_probability": 1.1},
        {"count": -1},
        {"count": 1.5},
    ],
)
def test_out_of_range(wrong):
    asked = {"epsilon": 1.0, "delta": 1e-5, "sampling_probability": 0.1, "count": 10} | wrong
    with pytest.raises(DomainError, match=next(iter(wrong))):
        calibrate_subsampled_gaussian(**asked)


def test_one_number_at_a_time():
    with pytest.raises(TypeError, match="epsilon must be one number"):
        calibrate_subsampled_gaussian([1.0, 2.0], delta=1e-5, sampling_probability=0.1, count=10)
