import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpviz import DomainError, gaussian_delta, gaussian_rdp
from dpviz.accounting.gaussian_law import GaussianLaw

MUS = st.floats(-6, 3).map(lambda power: 10.0**power)
POINTS = st.floats(-45, 45)  # (loss − mu²/2)/mu
WIDTHS = st.floats(-8, 1.5).map(lambda power: 10.0**power)  # of a cell, in standard deviations


def mp_between(low, high):
    """Φ(high) − Φ(low), from the side where both are small."""
    if low > 0:
        low, high = -high, -low
    return (mpmath.erfc(-high / mpmath.sqrt(2)) - mpmath.erfc(-low / mpmath.sqrt(2))) / 2


def mp_cell(mu, low, high):
    """Log P mass and log(P mass/Q mass) − low of a cell, from the two normal laws."""
    with mpmath.workdps(100):
        mu, low, high = mpmath.mpf(mu), mpmath.mpf(low), mpmath.mpf(high)
        mass = mp_between(low / mu - mu / 2, high / mu - mu / 2)
        other = mp_between(low / mu + mu / 2, high / mu + mu / 2)
        return mpmath.log(mass), mpmath.log(mass / other) - low


@settings(max_examples=150)
@given(MUS, POINTS, WIDTHS)
def test_cells_against_the_two_normal_laws_within_their_bounds(mu, point, width):
    low = mu * (mu / 2 + point)
    edges = np.array([low, low + width * mu])
    if edges[0] == edges[1]:
        return
    cells = GaussianLaw(mu).cells(edges)
    log_mass, offset = mp_cell(mu, *edges)
    assert abs(mpmath.mpf(float(cells.log_mass[0])) - log_mass) <= cells.log_mass_error
    assert abs(mpmath.mpf(float(cells.offset[0])) - offset) <= cells.offset_error[0]
    assert cells.log_mass_error <= 2e-14 * (1 + abs(float(log_mass)))
    assert cells.offset_error[0] <= 2e-14 * (1 + abs(float(log_mass)) + abs(low) + mu * mu)
    assert 0 <= cells.offset[0] <= edges[1] - edges[0]


@given(MUS, st.integers(2, 100), st.floats(-3, 0.5).map(lambda power: 10.0**power))
def test_masses_add_up_to_one_under_both_laws(mu, count, width):
    law = GaussianLaw(mu)
    edges = mu * mu / 2 + mu * width * (np.arange(count + 1) - count / 2)
    if not np.all(np.diff(edges) > 0):
        return
    cells = law.cells(edges)
    ends = np.exp(law.log_head(edges[:1])) + np.exp(law.log_tail(edges[-1:]))
    assert float(np.exp(cells.log_mass).sum() + ends[0]) == pytest.approx(1, abs=1e-12)
    mirrored = GaussianLaw(mu).cells(-edges[::-1])  # under Q the loss is minus one under P
    other = cells.log_mass - cells.offset - edges[:-1]
    assert np.all(np.abs(other - mirrored.log_mass[::-1]) <= 1e-12 * (1 + np.abs(other) + np.abs(edges[:-1]) + mu * mu))


def test_the_sum_over_cells_is_the_privacy_profile():
    """delta(epsilon) = Σ (P − e^epsilon Q) over the losses above epsilon."""
    for mu, epsilon in ((0.3, 0.5), (2.0, 3.0), (0.01, 0.02)):
        edges = np.linspace(epsilon, mu * mu / 2 + 12 * mu, 4001)
        cells = GaussianLaw(mu).cells(edges)
        excess = np.exp(cells.log_mass) * -np.expm1(epsilon - edges[:-1] - cells.offset)
        assert float(excess.sum()) == pytest.approx(gaussian_delta(epsilon, mu=mu), rel=1e-12)


@pytest.mark.parametrize("order", [0.5, -0.25, 3.0, 1e6])
def test_the_moment_is_that_of_the_divergence(order):
    law = GaussianLaw(0.7)
    moment = law.log_moment(np.array([order, order + 2j]))
    if order > 0:
        assert float(moment[0].real) == pytest.approx(order * gaussian_rdp(order + 1, mu=0.7), rel=1e-15)
    assert moment[0].imag == 0
    z = order + 2j
    assert moment[1] == pytest.approx(0.49 * z * (z + 1) / 2, rel=1e-14)


def test_the_moment_is_the_integral_it_stands_for():
    law, z = GaussianLaw(0.8), mpmath.mpc(0.7, 1.3)
    with mpmath.workdps(25):
        mu = mpmath.mpf(0.8)
        density = lambda loss: mpmath.npdf(loss, mu**2 / 2, mu)  # noqa: E731
        truth = mpmath.quad(lambda loss: density(loss) * mpmath.exp(z * loss), [-12, -4, 0, 4, 14])
    assert np.exp(law.log_moment(np.array([complex(z)])))[0] == pytest.approx(complex(truth), rel=1e-13)


@given(MUS, st.floats(-300, 300))
def test_tails_are_upper_bounds_and_hardly_more(mu, point):
    law, loss = GaussianLaw(mu), mu * (mu / 2 + point)
    with mpmath.workdps(60):
        u = mpmath.mpf(loss) / mpmath.mpf(mu) - mpmath.mpf(mu) / 2
        for computed, side in ((law.log_tail(np.array([loss])), u), (law.log_head(np.array([loss])), -u)):
            if side > 0:
                truth = mpmath.log(mpmath.erfc(side / mpmath.sqrt(2)) / 2)
            else:
                truth = mpmath.log1p(-mpmath.erfc(-side / mpmath.sqrt(2)) / 2)
            assert truth <= float(computed[0]) <= truth * (1 - mpmath.mpf("1e-12")) + 1e-300


def test_a_mechanism_that_tells_nothing_is_an_atom_at_zero():
    law = GaussianLaw(0.0)
    assert law.atoms == ((0.0, 0.0),)
    assert law.support == (0.0, 0.0)
    assert law.cells(np.array([-1.0, 0.0, 1.0])).log_mass.tolist() == [-math.inf, -math.inf]
    assert law.log_tail(np.array([-1.0])).tolist() == law.log_head(np.array([1.0])).tolist() == [-math.inf]
    assert law.log_moment(np.array([2.0 + 1j])).tolist() == [0]


def test_the_rest_of_the_contract():
    law = GaussianLaw(0.25)
    assert (law.support, law.atoms, law.infinite_mass) == ((-math.inf, math.inf), (), 0.0)
    assert law == GaussianLaw(0.25)
    assert hash(law) == hash(GaussianLaw(0.25))
    assert law.cells(np.array([1.0])).log_mass.shape == (0,)
    far = law.cells(np.array([1e200, 2e200]))
    assert far.log_mass.tolist() == [-math.inf]
    assert np.isfinite(far.offset).all()
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(DomainError, match=r"^mu must be"):
            GaussianLaw(wrong)
    for edges in ([1.0, 1.0], [2.0, 1.0], [0.0, math.inf]):
        with pytest.raises(DomainError, match=r"^edges must be"):
            law.cells(np.array(edges))
