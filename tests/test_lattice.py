"""The certified lattice: its brackets against exact enumeration, closed forms and other people's digits."""

import itertools
import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpviz.accounting import gaussian_delta, gaussian_epsilon
from dpviz.accounting._checks import DomainError
from dpviz.accounting._lattice import lattice_delta, lattice_epsilon
from dpviz.accounting._lattice_power import composed, transform_length
from dpviz.accounting._lattice_weights import Lattice, Parcels, Weights, above, below, block_parcels
from dpviz.accounting._law import Cells
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.laplace_law import LaplaceLaw
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled_law import SubsampledGaussianLaw


@dataclass(frozen=True)
class Finite:
    """The law of a pair on finitely many outputs, of P masses and Q masses."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    @property
    def _points(self):
        return [(math.log(p / q), p) for p, q in zip(self.p, self.q, strict=True) if p > 0 and q > 0]

    @property
    def infinite_mass(self):
        return math.fsum(p for p, q in zip(self.p, self.q, strict=True) if q == 0)

    @property
    def support(self):
        losses = [loss for loss, _ in self._points]
        return min(losses), max(losses)

    @property
    def atoms(self):
        finite = math.fsum(p for _, p in self._points)
        return tuple((loss, math.log(p / finite)) for loss, p in self._points)

    def log_moment(self, order):
        losses, logs = np.array(self.atoms).T
        exponent = np.asarray(order)[..., None] * losses + logs
        peak = exponent.real.max(axis=-1, keepdims=True)
        return np.log(np.exp(exponent - peak).sum(axis=-1)) + peak[..., 0]

    def cells(self, edges):
        nothing = np.zeros(len(edges) - 1)
        return Cells(nothing - np.inf, nothing, 0.0, nothing)

    def log_tail(self, loss):
        return np.full(np.shape(loss), -np.inf)

    log_head = log_tail


def randomized_response(pure_epsilon):
    lie = 1 / (1 + math.exp(pure_epsilon))
    return Finite((1 - lie, lie), (lie, 1 - lie))


def enumerated(laws, epsilon):
    """Delta by its definition, over all outputs of all releases; the masses are taken as they are, to 40 digits."""
    with mp.workdps(40):
        pairs = [(mp.mpf(1), mp.mpf(1))]
        for law, count in laws:
            for _ in range(count):
                pairs = [(a * mp.mpf(p), b * mp.mpf(q)) for a, b in pairs for p, q in zip(law.p, law.q, strict=True)]
        return mp.fsum(max(p - mp.exp(epsilon) * q, 0) for p, q in pairs)


@st.composite
def finite_laws(draw):
    """Masses k/64 are exact, so that they add up to 1 without rounding."""
    size = draw(st.integers(2, 4))
    cuts = st.lists(st.integers(0, 64), min_size=size - 1, max_size=size - 1)
    p, q = (np.diff([0, *sorted(draw(cuts)), 64]) / 64 for _ in range(2))
    if not np.any(p * q):
        p = q
    return Finite(tuple(p.tolist()), tuple(q.tolist()))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(finite_laws(), st.integers(0, 3)), max_size=2), st.floats(-3, 5))
def test_a_bracket_holds_what_enumeration_gives(laws, epsilon):
    exact = enumerated(laws, epsilon)
    bracket = lattice_delta(laws, epsilon, tolerance=1e-2)
    assert bracket.lower <= exact * (1 + mp.mpf(10) ** -14)
    assert exact <= bracket.upper * (1 + mp.mpf(10) ** -14)
    assert bracket.upper - bracket.lower <= 1e-2 * bracket.upper


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(finite_laws(), st.integers(1, 3)), min_size=1, max_size=2), st.floats(1e-3, 1))
def test_epsilon_is_where_enumerated_delta_crosses(laws, delta):
    bracket = lattice_epsilon(laws, delta, tolerance=1e-2)
    assert bracket.lower <= bracket.upper
    if math.isfinite(bracket.upper):
        assert enumerated(laws, bracket.upper + 1e-12) <= delta * (1 + 1e-12)
    if bracket.lower > 0:
        assert enumerated(laws, min(bracket.lower, 500) - 1e-12) >= delta * (1 - 1e-12)


def hockey_stick(nodes, weights, lattice, tilt, threshold):
    """E (1 − threshold · exp(−loss))₊, to 40 digits."""
    with mp.workdps(40):
        losses = [mp.mpf(int(index)) * mp.mpf(lattice.step) for index in nodes]
        terms = [
            mp.mpf(weight) * mp.exp(-tilt * loss) * max(1 - threshold * mp.exp(-loss), 0)
            for loss, weight in zip(losses, weights, strict=True)
        ]
        return mp.fsum(terms)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.just(0.0) | st.floats(1e-9, 1), st.floats(0, 1)), min_size=1, max_size=5),
    st.floats(0.01, 1),
    st.floats(0, 4),
)
def test_weights_below_and_above_are_ordered_at_every_threshold(cells, step, tilt):
    """A parcel at its mean; the weights' delta on either side of its own, whatever the epsilon."""
    gaps, mass, place = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    nodes = np.concatenate([[0], np.cumsum(gaps)]).astype(np.int64) - 2
    offset = place * gaps * step
    parcels = Parcels(nodes, mass, -np.expm1(-offset) * mass, np.zeros(nodes.size))
    lattice = Lattice(step, 0.0)
    low, high = below(parcels, lattice=lattice, tilt=tilt), above(parcels, lattice=lattice, tilt=tilt)
    with mp.workdps(40):
        losses = [mp.mpf(int(i)) * mp.mpf(step) + mp.mpf(u) for i, u in zip(nodes, offset, strict=False)]
        starts = [mp.mpf(int(i)) * mp.mpf(step) for i in nodes]
        masses_ = [mp.mpf(m) * mp.exp(-tilt * s) for m, s in zip(mass, starts, strict=False)]
        for threshold in [mp.exp(loss) for loss in (*losses, *starts, mp.mpf(-20))]:
            exact = mp.fsum(m * max(1 - threshold * mp.exp(-loss), 0) for m, loss in zip(masses_, losses, strict=True))
            slack = 1e-14 * mp.fsum(masses_) * (1 + threshold / mp.exp(losses[0])) + mp.mpf(10) ** -290
            assert hockey_stick(low.index, low.weight, lattice, tilt, threshold) <= exact + slack
            assert hockey_stick(high.index, high.weight, lattice, tilt, threshold) >= exact - slack


def test_weights_above_keep_both_masses():
    parcels = Parcels(np.arange(4), np.array([0.2, 0.5, 0.3]), np.array([0.01, 0.02, 0.005]), np.zeros(4))
    made = above(parcels, lattice=Lattice(0.1, 0.0), tilt=0.0)
    assert made.weight.sum() == pytest.approx(1, abs=1e-14)
    taken = np.exp(-0.1 * np.arange(3)) @ (parcels.mass - parcels.deficit)
    assert made.weight @ np.exp(-0.1 * made.index) == pytest.approx(taken, abs=1e-14)


def test_a_lattice_taken_coarser_keeps_mass_and_place():
    weight = np.array([0.1, 0.0, 0.4, 0.3, 0.2])
    parcels = block_parcels(-3, weight, lattice=Lattice(0.5, 0.0), tilt=0.0, coarsening=2, sign=1)
    np.testing.assert_array_equal(parcels.nodes, [-2, -1, 0, 1])
    np.testing.assert_allclose(parcels.mass, [0.1, 0.4, 0.2], rtol=1e-14)
    np.testing.assert_allclose(parcels.on_node, [0, 0, 0.3, 0], atol=1e-14)
    np.testing.assert_allclose(parcels.deficit, -np.expm1(-0.5) * parcels.mass, rtol=1e-14)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_the_transform_errs_by_less_than_it_says(weights, count, seed):
    """Against the same weights multiplied out as a polynomial in integers."""
    total = sum(weights) + 1
    fixed = [round(weight / total * 2**40) for weight in [1.0, *weights]]
    exact = [1]
    for _ in range(count):
        exact = [
            sum(exact[i - j] * fixed[j] for j in range(len(fixed)) if 0 <= i - j < len(exact))
            for i in range(len(exact) + len(fixed) - 1)
        ]
        if len(exact) > 400:
            return
    part = Weights(np.arange(len(fixed)) - 3, np.array(fixed) / 2.0**40)
    size = transform_length(len(exact))
    power = composed([(part, count)], first=-3 * count, size=size)
    true = np.array([float(mp.mpf(value) / mp.mpf(2) ** (40 * count)) for value in exact] + [0.0] * (size - len(exact)))
    gap = np.abs(power.weight - true)
    assert np.all(gap <= power.error * (1 + 1e-9) + 1e-30)
    assert np.sqrt(np.sum(gap**2)) <= power.norm_error
    assert power.error < 1e-13 * (count + 1)


def test_transform_lengths():
    for least in range(1, 3000):
        length = transform_length(least)
        assert length % 2 == 0
        assert least <= length <= max(4 * least / 3 + 1, 10)


@pytest.mark.parametrize(
    ("mu", "count", "epsilon", "tolerance"),
    [
        (1.0, 1, 1.0, 1e-6),
        (1.0, 1, 1.0, 1e-9),
        (0.1, 100, 3.0, 1e-6),
        (0.1, 100, -1.0, 1e-6),
        (0.1, 1000, 8.0, 1e-5),
        (1.0, 1, 36.0, 1e-5),  # delta = 2e-277
        (0.01, 1_000_000, 119.588, 1e-4),
        (1e-6, 1, 3.6e-5, 1e-4),  # 36 standard deviations out
        (30.0, 1, 400.0, 1e-4),
        (1e-3, 10**9, 700.0, 1e-2),
    ],
)
def test_gaussian_brackets_hold_the_closed_form(mu, count, epsilon, tolerance):
    bracket = lattice_delta([(GaussianLaw(mu), count)], epsilon, tolerance=tolerance)
    exact = gaussian_delta(abs(epsilon), mu=mu * math.sqrt(count))
    if epsilon < 0:
        exact = -math.expm1(epsilon) + math.exp(epsilon) * exact
    assert bracket.lower <= exact <= bracket.upper
    assert bracket.upper - bracket.lower <= tolerance * bracket.upper


def test_a_million_gaussians_where_an_untilted_transform_reports_too_little():
    bracket = lattice_epsilon([(GaussianLaw(0.01), 10**6)], 1e-12, tolerance=1e-4)
    assert 119.58 < bracket.lower <= gaussian_epsilon(1e-12, mu=10.0) <= bracket.upper < 119.60


@settings(max_examples=40, deadline=None)
@given(st.floats(-2, 0.5), st.integers(1, 300), st.floats(-2, 8))
def test_gaussian_brackets_over_a_wide_range(log_mu, count, deviations):
    mu = 10**log_mu / math.sqrt(count)
    whole = mu * math.sqrt(count)
    epsilon = whole * whole / 2 + deviations * whole
    bracket = lattice_delta([(GaussianLaw(mu), count)], epsilon, tolerance=1e-3)
    exact = gaussian_delta(abs(epsilon), mu=whole)
    if epsilon < 0:
        exact = -math.expm1(epsilon) + math.exp(epsilon) * exact
    assert bracket.lower <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= bracket.upper
    assert bracket.upper - bracket.lower <= 1e-3 * bracket.upper


def response_delta(pure_epsilon, count, epsilon):
    with mp.workdps(60):
        s = mp.mpf(pure_epsilon)
        truth = 1 / (1 + mp.exp(-s))
        losses = [(count - 2 * lies) * s for lies in range(count + 1)]
        terms = (
            mp.binomial(count, lies) * truth ** (count - lies) * (1 - truth) ** lies * -mp.expm1(epsilon - loss)
            for lies, loss in enumerate(losses)
            if loss > epsilon
        )
        return mp.fsum(terms)


@pytest.mark.parametrize(
    ("pure_epsilon", "count", "epsilon"),
    [(0.5, 10, 1.5), (0.1, 1000, 18.0), (0.1, 1000, -3.0), (1.0, 5, 4.999), (0.01, 300, 2.9), (2.0, 60, 119.0)],
)
def test_atoms_on_the_lattice_cost_nothing(pure_epsilon, count, epsilon):
    bracket = lattice_delta([(randomized_response(pure_epsilon), count)], epsilon, tolerance=1e-9)
    exact = response_delta(pure_epsilon, count, epsilon)
    assert bracket.lower <= exact * (1 + 1e-11)
    assert exact * (1 - 1e-11) <= bracket.upper
    assert bracket.upper - bracket.lower <= 1e-9 * bracket.upper


def laplace_delta(pure_epsilon, count, epsilon):
    """k-fold Laplace: under the geometric mean of P and Q, atoms at the ends and a flat density between."""
    with mp.workdps(60 + count):
        s, eps, total = mp.mpf(pure_epsilon), mp.mpf(epsilon), mp.mpf(0)
        for j in range(count + 1):
            a = (count - 2 * j) * s
            if a <= eps:
                break
            h, up, down = a - eps, mp.exp(a / 2), mp.exp(eps - a / 2)
            before, now = mp.mpf(0), mp.mpf(1)
            inner = up - down
            minus = plus = None
            for m in range(1, count + 1):
                before, now = now, ((count - 2 * j) * now - (count - m + 2) * before) / m
                step = h ** (m - 1) / mp.factorial(m - 1)
                minus = 2 * (1 - mp.exp(-h / 2)) if m == 1 else 2 * (minus - step * mp.exp(-h / 2))
                plus = 2 * (mp.exp(h / 2) - 1) if m == 1 else 2 * (step * mp.exp(h / 2) - plus)
                inner += now / mp.mpf(2) ** m * (up * minus - down * plus)
            total += mp.binomial(count, j) * inner
        return total * mp.exp(-count * s / 2) / mp.mpf(2) ** count


def test_the_laplace_oracle_knows_two_releases():
    assert laplace_delta(1.0, 2, 1.0) == pytest.approx(0.24183667535920822049, rel=1e-15)


@pytest.mark.parametrize(
    ("pure_epsilon", "count", "epsilon", "tolerance"),
    [(1.0, 2, 1.0, 1e-8), (1.0, 2, 1.999, 1e-6), (0.1, 10, 0.0, 1e-6), (0.1, 100, 3.0, 1e-6), (0.7, 7, 4.0, 1e-6)],
)
def test_laplace_brackets_hold_the_closed_form(pure_epsilon, count, epsilon, tolerance):
    bracket = lattice_delta([(LaplaceLaw(pure_epsilon), count)], epsilon, tolerance=tolerance)
    assert bracket.lower <= laplace_delta(pure_epsilon, count, epsilon) <= bracket.upper
    assert bracket.upper - bracket.lower <= tolerance * bracket.upper


@pytest.mark.parametrize(
    ("noise", "rate", "count", "direction", "epsilon", "exact"),
    [  # contour integrals to 30 digits, and for one release the closed form
        (1.0, 0.01, 1000, "remove", 2.0, 2.66557192476179117640e-6),
        (1.0, 0.01, 1000, "add", 1.8, 3.83950405424267208657e-8),
        (2.0, 0.2, 10, "remove", 1.0, 8.72713337732890326134e-4),
    ],
)
def test_subsampled_brackets_hold_the_contour_integral(noise, rate, count, direction, epsilon, exact):
    law = SubsampledGaussianLaw(noise, rate, Direction(direction))
    bracket = lattice_delta([(law, count)], epsilon, tolerance=1e-4)
    assert bracket.lower <= exact <= bracket.upper
    assert bracket.upper - bracket.lower <= 1e-4 * bracket.upper


def test_a_mixed_ledger():
    """Gaussian, Laplace and coins together; by quadrature to 20 digits."""
    bracket = lattice_delta([(GaussianLaw(0.5), 1), (LaplaceLaw(0.3), 1)], 0.5, tolerance=1e-7)
    assert bracket.lower <= 0.07696268168343955636 <= bracket.upper
    bracket = lattice_delta([(GaussianLaw(0.1), 9), (randomized_response(0.5), 10)], 1.5, tolerance=1e-7)
    assert bracket.lower <= 0.26432932796125814325 <= bracket.upper


def test_width_shrinks_with_the_tolerance():
    widths = []
    for tolerance in (1e-3, 1e-5, 1e-7):
        bracket = lattice_delta([(GaussianLaw(0.3), 20)], 2.0, tolerance=tolerance)
        widths.append((bracket.upper - bracket.lower) / bracket.upper / tolerance)
    assert max(widths) <= 1
    assert min(widths) > 0.01  # no more work than was asked for


@settings(max_examples=25, deadline=None)
@given(st.floats(-12, -0.01), st.floats(-1, 0.5), st.integers(1, 50))
def test_epsilon_brackets_hold_the_gaussian(log_delta, log_mu, count):
    delta, mu = 10**log_delta, 10**log_mu / math.sqrt(count)
    bracket = lattice_epsilon([(GaussianLaw(mu), count)], delta, tolerance=1e-3)
    exact = gaussian_epsilon(delta, mu=mu * math.sqrt(count))
    assert bracket.lower <= exact * (1 + 1e-10) + 1e-13
    assert exact <= bracket.upper * (1 + 1e-10) + 1e-13
    assert bracket.upper - bracket.lower <= 1e-3 * max(bracket.upper, 2 * mu * math.sqrt(count))


def test_arrays_are_brackets_point_by_point():
    epsilon = np.linspace(-1, 12, 200).reshape(20, 10)
    bracket = lattice_delta([(GaussianLaw(0.5), 4)], epsilon, tolerance=1e-4)
    exact = np.where(
        epsilon < 0,
        -np.expm1(epsilon) + np.exp(epsilon) * gaussian_delta(np.abs(epsilon), mu=1.0),
        gaussian_delta(np.abs(epsilon), mu=1.0),
    )
    assert bracket.lower.shape == epsilon.shape
    assert np.all((bracket.lower <= exact) & (exact <= bracket.upper))
    assert np.all(bracket.upper - bracket.lower <= 1e-4 * bracket.upper)
    delta = np.geomspace(1e-12, 0.9, 50)
    bracket = lattice_epsilon([(GaussianLaw(0.5), 4)], delta, tolerance=1e-4)
    exact = gaussian_epsilon(delta, mu=1.0)
    assert np.all((bracket.lower <= exact) & (exact <= bracket.upper))


def test_nothing_released():
    for laws in ([], [(GaussianLaw(1.0), 0)]):
        np.testing.assert_array_equal(lattice_delta(laws, [-np.inf, 0.0, 1.0, np.inf]).upper, [1, 0, 0, 0])
        assert lattice_delta(laws, -1.0).lower == -math.expm1(-1.0)
        assert lattice_epsilon(laws, 0.0).upper == 0


def test_mass_at_infinity_is_there_at_every_epsilon():
    law = Finite((0.1, 0.6, 0.3), (0.0, 0.3, 0.7))
    bracket = lattice_delta([(law, 2)], [5.0, np.inf], tolerance=1e-6)
    np.testing.assert_allclose(bracket.upper, 0.19, rtol=1e-14)
    assert np.all(bracket.lower <= 0.19 * (1 + 1e-15))
    found = lattice_epsilon([(law, 2)], [0.1, 0.189, 0.2, 1.0], tolerance=1e-4)
    np.testing.assert_array_equal(found.lower[:2], np.inf)
    assert 0 < found.lower[2] < found.upper[2] <= 2 * math.log(2)
    assert found.upper[3] == 0


def test_the_ends_of_delta():
    assert lattice_epsilon([(GaussianLaw(1.0), 3)], 0.0).lower == math.inf
    assert lattice_epsilon([(GaussianLaw(1.0), 3)], 1.0).upper == 0
    assert lattice_epsilon([(LaplaceLaw(0.5), 3)], 0.0).upper == 1.5
    assert lattice_delta([(LaplaceLaw(0.5), 3)], 1.5).upper == 0


def test_a_tolerance_out_of_reach_says_what_is_within():
    with pytest.raises(DomainError, match=r"tolerance must be at least 0\.\d+ for this composition, but got 0\.01"):
        lattice_delta([(GaussianLaw(1e-6), 10**12)], 1.0, tolerance=1e-2)
    with pytest.raises(DomainError, match="tolerance must be more than"):
        lattice_delta([(randomized_response(1.0), 1)], 1.0 - 1e-15, tolerance=1e-6)


def test_more_releases_than_rounding_allows_are_refused_and_not_guessed():
    with pytest.raises(DomainError, match="tolerance"):
        lattice_delta([(GaussianLaw(1e-8), 2**53)], 1.0, tolerance=0.1)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1.0, math.nan])
def test_wrong_tolerances(tolerance):
    with pytest.raises(DomainError, match="tolerance"):
        lattice_delta([(GaussianLaw(1.0), 1)], 1.0, tolerance=tolerance)
    with pytest.raises(DomainError, match="tolerance"):
        lattice_epsilon([(GaussianLaw(1.0), 1)], 0.1, tolerance=tolerance)


def test_wrong_arguments():
    with pytest.raises(DomainError, match="epsilon"):
        lattice_delta([(GaussianLaw(1.0), 1)], math.nan)
    with pytest.raises(DomainError, match="delta"):
        lattice_epsilon([(GaussianLaw(1.0), 1)], 1.5)
    with pytest.raises(TypeError):
        lattice_delta([(GaussianLaw(1.0), 1)], "1")


def test_epsilon_next_to_the_greatest_loss():
    """Where delta falls a millionfold within the tolerance; one Laplace release has delta = −expm1((epsilon − s)/2)."""
    for delta in (1e-8, 1e-300):
        bracket = lattice_epsilon([(LaplaceLaw(0.25), 1)], delta, tolerance=1e-3)
        assert bracket.lower <= 0.25 + 2 * math.log1p(-delta) <= bracket.upper <= 0.25


def test_scales_without_a_common_lattice():
    """Two laws of atoms, each on its own lattice and then together; by the binomials of both."""
    first, second = 0.1, 0.0731
    with mp.workdps(30):
        exact = mp.mpf(0)
        for lies in range(21):
            truth = 1 / (1 + mp.exp(-mp.mpf(first)))
            mass = mp.binomial(20, lies) * truth ** (20 - lies) * (1 - truth) ** lies
            exact += mass * signed_response_delta(second, 30, 1.0 - (20 - 2 * lies) * first)
    bracket = lattice_delta([(randomized_response(first), 20), (randomized_response(second), 30)], 1.0, tolerance=1e-3)
    assert bracket.lower <= exact <= bracket.upper


def signed_response_delta(pure_epsilon, count, epsilon):
    if epsilon <= -count * pure_epsilon:
        return -mp.expm1(epsilon)
    return response_delta(pure_epsilon, count, epsilon)


def test_a_curve_far_into_the_tail_ends_below_what_a_double_can_hold():
    bracket = lattice_delta([(GaussianLaw(0.01), 1)], [0.3, 1.0, 1e4], tolerance=1e-3)
    np.testing.assert_array_equal(bracket.lower[1:], 0)
    assert np.all((bracket.upper[1:] > 0) & (bracket.upper[1:] < 1e-300))
    assert bracket.lower[0] <= gaussian_delta(0.3, mu=0.01) <= bracket.upper[0]


def test_equal_laws_are_one_entry():
    together = lattice_delta([(GaussianLaw(0.2), 7)], 1.0, tolerance=1e-4)
    apart = lattice_delta([(GaussianLaw(0.2), 3), (GaussianLaw(0.2), 4)], 1.0, tolerance=1e-4)
    assert together == apart


def test_every_pair_of_coins_is_told_exactly():
    """Small cases one and all: two coins of different bias, off each other's lattice."""
    for first, second, epsilon in itertools.product((0.2, 0.45), (0.3, 0.77), (0.0, 0.1, 0.5)):
        laws = [(randomized_response(first), 2), (randomized_response(second), 1)]
        bracket = lattice_delta(laws, epsilon, tolerance=1e-3)
        exact = enumerated(laws, epsilon)
        assert bracket.lower <= exact * (1 + 1e-13)
        assert exact * (1 - 1e-13) <= bracket.upper
