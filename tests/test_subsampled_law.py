import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled import subsampled_gaussian_log_delta, subsampled_gaussian_rdp
from dpviz.accounting.subsampled_law import SubsampledGaussianLaw

RATES = st.floats(-9, -0.01).map(lambda power: 10.0**power)
NOISES = st.floats(-1.3, 1.3).map(lambda power: 10.0**power)
DIRECTIONS = st.sampled_from(Direction)
SETTINGS = [(0.01, 1.0), (0.001, 0.6), (0.2, 4.0), (1e-8, 0.8), (0.5, 0.5), (0.999, 1.0)]


def mp_moment(law, order):
    """E_P e^{zL} − 1 by the trapezoid rule on its definition."""
    is_remove = law.direction is Direction.REMOVE
    noise = law.noise_multiplier
    step = 1 / (max(6 / noise, 11 / (math.pi * noise**2)) + abs(order.imag) / (math.pi * noise**2))
    high = 12 * noise + max(2, 1 + order.real)
    with mpmath.workdps(40):
        q, s, z, step = (mpmath.mpmathify(item) for item in (law.sampling_probability, noise, order, step))
        total = mpmath.mpf(0)
        for n in range(int(-12 * noise / step) - 1, int(high / step) + 2):
            x = n * step
            ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))
            loss, weight = mpmath.log(ratio), mpmath.exp(-x * x / (2 * s * s))
            total += weight * (ratio * mpmath.expm1(z * loss) if is_remove else mpmath.expm1(-z * loss))
        return total * step / (s * mpmath.sqrt(2 * mpmath.pi))


def mp_cell(law, low, high):
    """log P mass, and log(P mass/Q mass) − low, of the losses between low and high; None where there is nothing."""
    with mpmath.workdps(60):
        q, s = mpmath.mpf(law.sampling_probability), mpmath.mpf(law.noise_multiplier)
        sign = 1 if law.direction is Direction.REMOVE else -1

        def place(loss):
            rest = mpmath.exp(sign * mpmath.mpf(loss)) - 1 + q
            return s * s * mpmath.log(rest / q) + mpmath.mpf(0.5) if rest > 0 else -mpmath.inf

        first, last = sorted((place(low), place(high)))
        tail = lambda x: mpmath.erfc(x / s / mpmath.sqrt(2)) / 2  # noqa: E731
        none, one = (
            tail(-(last - m)) - tail(-(first - m)) if last < m else tail(first - m) - tail(last - m) for m in (0, 1)
        )
        mixture = (1 - q) * none + q * one
        p, other = (mixture, none) if sign > 0 else (none, mixture)
        return (mpmath.log(p), mpmath.log(p / other) - low) if p > 0 else None


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("rate", "noise"), SETTINGS)
def test_moments_of_complex_order(rate, noise, direction):
    """Relative to itself where it is small; beside the moment of its real part where that dwarfs it."""
    law = SubsampledGaussianLaw(noise, rate, direction)
    for tilt, i in ((-0.3, 1), (-0.3, 63), (3.0, 30), (15.0, 1)):
        steps = np.arange(64) * 1.9
        found = law.log_moment(tilt + 1j * steps)
        top = mp_moment(law, complex(tilt)).real
        moment = mp_moment(law, complex(tilt, steps[i]))
        gap = mpmath.expm1(mpmath.mpmathify(complex(found[i]))) - moment
        assert abs(gap) <= 4e-14 * (1 + top) * min(1, abs(moment)) + 4e-15 * abs(moment)


@given(RATES, NOISES, DIRECTIONS, st.floats(-5, 3).map(lambda power: 10.0**power))
def test_real_orders_are_the_renyi_divergence(rate, noise, direction, order):
    law = SubsampledGaussianLaw(noise, rate, direction)
    divergence = subsampled_gaussian_rdp(
        1 + order, sampling_probability=rate, noise_multiplier=noise, direction=direction
    )
    found = law.log_moment(np.array([order + 0j]))
    assert found.imag[0] == 0
    assert found.real[0] == pytest.approx((1 + order - 1) * divergence, rel=1e-9)  # 1 + order has lost some of order


@settings(max_examples=20)
@given(RATES, NOISES, DIRECTIONS, st.floats(-0.99, 8), st.floats(0, 40))
@example(0.01, 0.02, Direction.REMOVE, -0.4, 5.0)
@example(0.3, 0.025, Direction.ADD, 2.0, 30.0)
@example(0.01, 1.0, Direction.REMOVE, -0.5, 0.0)
def test_every_way_of_asking_gives_the_same(rate, noise, direction, tilt, phase):
    """A line of equal steps, single orders, real orders, and the mirrored law at −1 − z."""
    law = SubsampledGaussianLaw(noise, rate, direction)
    other = SubsampledGaussianLaw(noise, rate, Direction.ADD if direction is Direction.REMOVE else Direction.REMOVE)
    line = tilt + 1j * np.linspace(0, phase, 33)
    found = law.log_moment(line)
    top = found.real[0]
    size = np.abs(np.expm1(found - np.maximum(top, 0)))
    for again in (
        np.concatenate([law.log_moment(line[i : i + 1]) for i in range(33)]),
        other.log_moment(-1 - line),
        law.log_moment(line.reshape(3, 11)).ravel(),
        np.conj(law.log_moment(np.conj(line))),
    ):
        slip = (1e-13 + 1e-15 * abs(top)) * np.minimum(1, np.abs(found) + size)
        assert np.all(np.abs(np.exp(again - top) - np.exp(found - top)) <= slip)
    # the line and the order alone are two different sums
    assert law.log_moment(line[:1].real + 0j)[0].real == pytest.approx(top, rel=1e-12, abs=1e-300)


def test_moments_keep_their_digits_where_they_are_tiny():
    """A count of 1e6 multiplies them: to second order in q they are q² z(z + 1)(e^{1/σ²} − 1)/2."""
    law = SubsampledGaussianLaw(1.0, 1e-9, Direction.REMOVE)
    order = 3.0 + 1j * np.linspace(0, 20, 101)
    leading = 1e-18 * order * (order + 1) / 2 * math.expm1(1.0)
    assert np.all(np.abs(law.log_moment(order) - leading) <= 1e-6 * np.abs(leading))
    small = SubsampledGaussianLaw(1.0, 1e-4, Direction.REMOVE)
    truth = mp_moment(small, complex(3.0, 7.0))
    found = complex(small.log_moment(np.array([3.0 + 7.0j]))[0])
    assert abs(mpmath.mpmathify(found) - mpmath.log1p(truth)) <= 5e-15 * abs(truth)


def test_known_moments():
    law = SubsampledGaussianLaw(1.0, 0.01, Direction.REMOVE)
    expected = [0, math.log1p(1e-4 * math.expm1(1)), 0]
    np.testing.assert_allclose(law.log_moment(np.array([0, 1, -0.999999999])).real, expected, rtol=1e-6, atol=1e-9)
    assert law.log_moment(np.array([0j])).tolist() == [0]
    assert law.log_moment(np.array([], dtype=complex)).shape == (0,)
    assert law.log_moment(np.array([1e8 + 0j]))[0].real == pytest.approx(0.5e16, rel=1e-6)


def check_cells(law, edges):
    found = law.cells(edges)
    assert found.log_mass.shape == found.offset.shape == (edges.size - 1,)
    assert found.log_mass_error >= 0
    for i in range(edges.size - 1):
        truth = mp_cell(law, edges[i], edges[i + 1])
        if truth is None or truth[0] < -700:
            assert found.log_mass[i] < -690
            continue
        assert abs(mpmath.mpf(found.log_mass[i]) - truth[0]) <= found.log_mass_error
        assert abs(mpmath.mpf(found.offset[i]) - truth[1]) <= found.offset_error[i] + 1e-300
        assert 0 <= found.offset[i] <= edges[i + 1] - edges[i]
    return found


@given(RATES, NOISES, DIRECTIONS, st.lists(st.integers(-999, 999), min_size=3, max_size=6, unique=True), st.booleans())
def test_cells_are_the_masses_they_stand_for_within_their_errors(rate, noise, direction, places, is_wide):
    law = SubsampledGaussianLaw(noise, rate, direction)
    scale = 4e-3 if is_wide else 1e-3 * rate * min(1.0, 1 / noise)
    check_cells(law, np.sort(np.array(places) * scale))


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("rate", "noise"), [*SETTINGS, (1.0, 1.0), (0.3, 0.05), (0.01, 100.0)])
def test_errors_of_cells_are_small_where_it_matters(rate, noise, direction):
    law = SubsampledGaussianLaw(noise, rate, direction)
    middle = 0.0 if rate == 1 else rate / noise * 0.1
    edges = middle + np.arange(20) * 1e-3 * min(rate, rate / noise)
    found = check_cells(law, edges)
    assert found.log_mass_error < 1e-12
    assert np.all(found.offset_error <= 2e-14 * np.diff(edges))


@pytest.mark.parametrize("rate", [0.01, 1e-9, 0.999])
@pytest.mark.parametrize("noise", [0.3, 1.0, 5.0])
def test_cells_at_the_end_of_the_support(rate, noise):
    ratios = 1 - np.array([1e-1, 1e-3, 1e-7, 1e-12])
    remove = SubsampledGaussianLaw(noise, rate, Direction.REMOVE)
    low = remove.support[0]
    check_cells(remove, np.concatenate([[2 * low, 1.5 * low], low * ratios[::-1]]))
    add = SubsampledGaussianLaw(noise, rate, Direction.ADD)
    high = add.support[1]
    check_cells(add, np.concatenate([high * ratios, [1.5 * high, 2 * high]]))


@pytest.mark.parametrize("direction", Direction)
def test_cells_hold_all_of_the_mass_and_give_delta(direction):
    law = SubsampledGaussianLaw(0.8, 0.05, direction)
    edges = np.linspace(-12, 14, 60_001)
    found = law.cells(edges)
    mass = np.exp(found.log_mass)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    other = mass * np.exp(-(edges[:-1] + found.offset))
    if direction is Direction.REMOVE:
        assert other.sum() == pytest.approx(1, abs=1e-12)
    start = np.searchsorted(edges, 0.02)
    delta = np.sum(mass[start:] - math.exp(edges[start]) * other[start:])
    log_delta = subsampled_gaussian_log_delta(
        edges[start], sampling_probability=0.05, noise_multiplier=0.8, direction=direction
    )
    assert math.log(delta) == pytest.approx(log_delta, rel=1e-10)


@given(RATES, NOISES, DIRECTIONS, st.floats(-3, 3))
def test_tails_are_close_upper_bounds(rate, noise, direction, loss):
    law = SubsampledGaussianLaw(noise, rate, direction)
    for found, truth in (
        (law.log_tail(np.array([loss]))[0], mp_cell(law, loss, 1e9)),
        (law.log_head(np.array([loss]))[0], mp_cell(law, -1e9, loss)),
    ):
        if truth is None:
            assert found <= 1e-14
        else:
            assert truth[0] - 1e-80 <= found <= truth[0] * (1 - 1e-11) + 1e-14


def test_sampling_everything_is_the_gaussian():
    law, gaussian = SubsampledGaussianLaw(2.0, 1.0, Direction.ADD), GaussianLaw(0.5)
    order = np.array([0.5, 3 + 7j, -0.8 + 1j])
    np.testing.assert_allclose(law.log_moment(order), gaussian.log_moment(order), rtol=1e-14)
    edges = np.linspace(-3, 3, 41)
    np.testing.assert_allclose(law.cells(edges).log_mass, gaussian.cells(edges).log_mass, atol=1e-13)
    np.testing.assert_allclose(law.cells(edges).offset, gaussian.cells(edges).offset, atol=1e-14)
    assert law.support == (-math.inf, math.inf)


def test_sampling_nothing_is_an_atom():
    law = SubsampledGaussianLaw(2.0, 0.0, Direction.REMOVE)
    assert law.support == (0, 0)
    assert law.atoms == ((0.0, 0.0),)
    assert law.log_moment(np.array([1 + 5j])).tolist() == [0]
    assert law.cells(np.array([-1.0, 0.0, 1.0])).log_mass.tolist() == [-math.inf, -math.inf]
    assert law.log_tail(np.array([-1.0])).tolist() == [-math.inf]


def test_what_the_law_says_of_itself():
    law = SubsampledGaussianLaw(2.0, 0.25, "remove")
    assert law.direction is Direction.REMOVE
    assert law == SubsampledGaussianLaw(2, 0.25, Direction.REMOVE)
    assert hash(law) == hash(SubsampledGaussianLaw(2.0, 0.25, Direction.REMOVE))
    assert law.support == (pytest.approx(math.log(0.75)), math.inf)
    assert law.infinite_mass == 0
    assert law.atoms == ()


def test_bad_input_is_refused():
    with pytest.raises(DomainError, match="noise_multiplier"):
        SubsampledGaussianLaw(0.0, 0.1, Direction.ADD)
    with pytest.raises(DomainError, match="sampling_probability"):
        SubsampledGaussianLaw(1.0, 1.1, Direction.ADD)
    law = SubsampledGaussianLaw(1.0, 0.1, Direction.ADD)
    for edges in ([0.0, 0.0], [1.0, 0.0], [0.0, math.inf]):
        with pytest.raises(DomainError, match="edges"):
            law.cells(np.array(edges))
