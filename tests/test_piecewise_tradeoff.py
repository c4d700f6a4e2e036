from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import gaussian_beta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.piecewise_tradeoff import PiecewiseTradeoff, convex_minorant, discrete_tradeoff, symmetrized
from dpviz.accounting.profile import hockey_stick_divergence

ALPHAS = np.linspace(0, 1, 201)
EPSILONS = np.linspace(-4, 4, 81)
WEIGHTS = st.lists(st.integers(0, 30), min_size=3, max_size=7).filter(lambda row: sum(row) > 0)
PAIRS = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 30), min_size=n, max_size=n).filter(any) for _ in range(2)])
)
FINE = settings(deadline=None, max_examples=60)


def laws(pair):
    return tuple(np.array(row) / sum(row) for row in pair)


@given(PAIRS)
@FINE
def test_no_set_of_outputs_beats_the_neyman_pearson_curve_and_its_vertices_are_reached(pair):
    """By definition: every event is tried."""
    p, q = laws(pair)
    curve = discrete_tradeoff(p, q=q)
    events = [list(event) for size in range(len(p) + 1) for event in combinations(range(len(p)), size)]
    alarms = np.clip([q[event].sum() for event in events], 0, 1)
    misses = np.clip([1 - p[event].sum() for event in events], 0, 1)
    assert np.all(misses >= curve.beta(alarms) - 1e-14)
    for alpha, beta in zip(curve.alphas, curve.betas, strict=True):
        assert min(np.abs(alarms - alpha) + np.abs(misses - beta)) <= 1e-14


@given(PAIRS)
@FINE
def test_profile_of_a_discrete_pair_is_its_hockey_stick_divergence(pair):
    p, q = laws(pair)
    curve = discrete_tradeoff(p, q=q)
    assert curve.delta(EPSILONS) == pytest.approx(hockey_stick_divergence(p, q=q, epsilon=EPSILONS), abs=1e-13)
    assert curve.inverse().delta(EPSILONS) == pytest.approx(
        hockey_stick_divergence(q, q=p, epsilon=EPSILONS), abs=1e-13
    )
    assert curve.delta(np.inf) == pytest.approx(p[q == 0].sum(), abs=1e-15)


@given(PAIRS)
@FINE
def test_inverse_and_symmetric_curve(pair):
    p, q = laws(pair)
    curve, other = discrete_tradeoff(p, q=q), discrete_tradeoff(q, q=p)
    assert curve.inverse().beta(ALPHAS) == pytest.approx(other.beta(ALPHAS), abs=1e-12)
    assert curve.inverse().inverse().beta(ALPHAS) == pytest.approx(curve.beta(ALPHAS), abs=1e-12)
    both = curve.symmetrized()
    assert both.is_symmetric
    lesser = np.minimum(curve.beta(ALPHAS), other.beta(ALPHAS))
    assert np.all(both.beta(ALPHAS) <= lesser + 1e-14)
    greater = np.maximum(curve.delta(EPSILONS), curve.inverse().delta(EPSILONS))
    assert both.delta(EPSILONS) == pytest.approx(greater, abs=1e-13), "the profile of min{f, f⁻¹}** is the larger one"


@given(PAIRS, PAIRS)
@FINE
def test_the_greater_of_two_curves_is_a_curve_and_of_the_lesser_the_hull(one, two):
    first, second = (discrete_tradeoff(p, q=q) for p, q in map(laws, (one, two)))
    knots = np.union1d(first.alphas, second.alphas)
    gap = first.beta(knots) - second.beta(knots)
    turn = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    crossing = knots[turn] + (knots[turn + 1] - knots[turn]) * gap[turn] / (gap[turn] - gap[turn + 1])
    knots = np.union1d(knots, crossing)
    knots = knots[np.append(True, np.diff(knots) > 1e-12)]
    knots[-1] = 1.0
    PiecewiseTradeoff(knots, betas=np.maximum(first.beta(knots), second.beta(knots)))
    hull = convex_minorant(np.append(first.alphas, second.alphas), beta=np.append(first.betas, second.betas))
    assert np.all(hull.beta(ALPHAS) <= np.minimum(first.beta(ALPHAS), second.beta(ALPHAS)) + 1e-14)
    assert hull.delta(EPSILONS) == pytest.approx(np.maximum(first.delta(EPSILONS), second.delta(EPSILONS)), abs=1e-13)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=14))
@FINE
def test_the_hull_is_the_least_mixture_of_two_tests(points):
    """By definition, in fractions: at each alpha the best mixture of any two tests, trivial ones included."""
    tests = [(Fraction(a, 40), Fraction(b, 40)) for a, b in points] + [
        (Fraction(0), Fraction(1)),
        (Fraction(1), Fraction(0)),
    ]
    hull = convex_minorant([float(a) for a, _ in tests], beta=[float(b) for _, b in tests])
    for level in (Fraction(i, 23) for i in range(24)):
        best = min([b for a, b in tests if a == level] + [
            b + (d - b) * (level - a) / (c - a) for a, b in tests for c, d in tests if a < level < c
        ])  # fmt: skip
        assert hull.beta(float(level)) == pytest.approx(float(best), abs=1e-14)


@given(st.lists(st.floats(1e-3, 1), min_size=2, max_size=30), st.floats(0, 1))
@FINE
def test_any_convex_falling_row_is_taken(steps, start):
    slopes = np.sort(steps)[::-1]
    widths = np.array(steps) / sum(steps)
    betas = np.append(np.cumsum((slopes * widths)[::-1])[::-1], 0.0)
    betas = betas / betas[0] * start
    alphas = np.append(0.0, np.cumsum(widths))
    alphas[-1] = 1.0
    curve = PiecewiseTradeoff(alphas, betas=betas)
    assert curve.beta(alphas) == pytest.approx(betas, abs=1e-15)
    assert np.all(np.diff(curve.beta(ALPHAS), 2) >= -1e-14)


@pytest.mark.parametrize(
    ("alphas", "betas", "words", "point"),
    [
        ([0.0, 0.5, 1.0], [1.0, 0.6, 0.0], "at most 1 − alpha", (0.5, 0.6)),
        ([0.0, 0.3, 0.6, 1.0], [1.0, 0.2, 0.15, 0.0], "convex", (0.6, 0.15)),
        ([0.0, 0.3, 0.6, 1.0], [0.5, 0.2, 0.25, 0.0], "falling", (0.6, 0.25)),
        ([0.0, 0.6, 0.3, 1.0], [0.5, 0.2, 0.1, 0.0], "strictly rising", (0.3, 0.1)),
        ([0.1, 0.6, 1.0], [0.5, 0.2, 0.0], "rising from 0", (0.1, 0.5)),
        ([0.0, 0.6], [0.5, 0.0], "to 1", (0.6, 0.0)),
        ([0.0, 1.0], [0.5, 0.1], "0 at alpha = 1", (1.0, 0.1)),
    ],
)
def test_what_is_no_tradeoff_function_is_refused_at_the_point_that_spoils_it(alphas, betas, words, point):
    with pytest.raises(DomainError, match=words) as caught:
        PiecewiseTradeoff(alphas, betas=betas)
    assert caught.value.value == point


def test_other_shapes_are_refused():
    for alphas, betas in (([0.0], [0.0]), ([0.0, 1.0], [1.0]), ([[0.0, 1.0]], [[1.0, 0.0]])):
        with pytest.raises(DomainError):
            PiecewiseTradeoff(alphas, betas=betas)
    for p in ([0.5, 0.4], [], [[1.0]], [1.5, -0.5]):
        with pytest.raises(DomainError):
            discrete_tradeoff(p, q=p)
    with pytest.raises(DomainError, match="as long as p"):
        discrete_tradeoff([1.0], q=[0.5, 0.5])


@pytest.mark.parametrize("mu", [1e-6, 0.01, 1.0, 6.0, 40.0])
@pytest.mark.parametrize("size", [11, 1001, 100_001])
def test_rounding_does_not_spoil_a_sampled_curve(mu, size):
    for alphas in (np.linspace(0, 1, size), np.append(0.0, np.geomspace(1e-300, 1, size))):
        curve = PiecewiseTradeoff(alphas, betas=gaussian_beta(alphas, mu=mu))
        assert curve.symmetrized().is_symmetric
        middle = (alphas[1:] + alphas[:-1]) / 2
        assert np.all(curve.beta(middle) >= gaussian_beta(middle, mu=mu) * (1 - 1e-12) - 1e-300)


def test_small_values_keep_their_digits():
    curve = PiecewiseTradeoff([0.0, 1e-200, 0.5, 1.0], betas=[1.0, 1e-100, 1e-150, 0.0])
    assert curve.beta(0.75) == pytest.approx(5e-151, rel=1e-15)
    assert curve.beta(1 - 2**-53) == pytest.approx(2e-150 * 2**-53, rel=1e-15)
    assert curve.inverse().beta(0.0) == 1.0
    assert curve.inverse().beta(1e-100) == pytest.approx(1e-200, rel=1e-15)
    assert curve.delta([-np.inf, 0.0, 1e4, np.inf]).tolist() == [1.0, 1.0, 0.0, 0.0]


def test_ends_and_kinds():
    blind = PiecewiseTradeoff([0.0, 1.0], betas=[1.0, 0.0])
    assert blind.is_symmetric
    assert blind.delta([-1.0, 0.0, 1.0]).tolist() == [pytest.approx(1 - np.exp(-1.0)), 0.0, 0.0]
    seen = PiecewiseTradeoff([0.0, 1.0], betas=[0.0, 0.0])
    assert seen.is_symmetric
    assert seen.delta([0.0, 5.0]).tolist() == [1.0, 1.0]
    assert isinstance(blind.beta(0.5), float)
    assert blind([[0.5]]).shape == (1, 1)
    assert not PiecewiseTradeoff([0.0, 1.0], betas=[0.5, 0.0]).is_symmetric
    with pytest.raises(ValueError, match="read-only"):
        blind.alphas[0] = 0.5
    both = symmetrized([0.0, 1.0], beta=[0.5, 0.0])
    assert (both.alphas.tolist(), both.betas.tolist()) == ([0.0, 0.5, 1.0], [0.5, 0.0, 0.0])


def test_laplace_has_three_pieces_of_which_two_are_straight():
    released = Laplace(scale=1.0)
    outer = np.array([0.0, np.exp(-1) / 2, 0.5, 1.0])
    curve = PiecewiseTradeoff(outer, betas=released.beta(outer))
    ends = np.concatenate([np.linspace(0, outer[1], 9), np.linspace(0.5, 1, 9)])
    assert curve.beta(ends) == pytest.approx(released.beta(ends), abs=1e-15)
    assert np.all(curve.beta(ALPHAS) >= released.beta(ALPHAS) - 1e-15)
