import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mpmath import mpf

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import gaussian_beta, gaussian_delta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.piecewise_tradeoff import PiecewiseTradeoff
from dpviz.accounting.profile import tradeoff_from_profile
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled_tradeoff import (
    subsampled_approximate_dp_tradeoff,
    subsampled_gaussian_tradeoff,
    subsampled_piecewise_tradeoff,
    subsampled_tradeoff,
)
from dpviz.accounting.tradeoff import approximate_dp_tradeoff
from tests.normal_oracle import cdf, quantile, relative
from tests.reference import distance, entries

ALPHAS = np.linspace(0, 1, 401)
RATES, MUS = st.floats(0, 1), st.floats(0, 8)
FINE = settings(deadline=None, max_examples=50)


@entries("subsampled_gdp_tradeoff")
def test_reference(inputs, value):
    beta = subsampled_gaussian_tradeoff(inputs["alpha"], sampling_probability=inputs["p"], mu=inputs["mu"])
    assert distance(beta, value) <= 1e-14


def mixed(alpha, rate, mu):
    """f_p of the Gaussian curve, from the definition."""
    return rate * cdf(-quantile(alpha) - mu) + (1 - rate) * (1 - alpha)


def is_near(found, alpha, rate, mu, direction):
    """Whether `found` is C_p(G_mu), f_p or its inverse at alpha to 12 digits; the inverse is tried, not solved."""
    level, p, m, beta = mpf(alpha), mpf(rate), mpf(mu), mpf(found)
    corner = cdf(-m / 2)
    top = p * corner + (1 - p) * (1 - corner)
    if direction is Direction.REMOVE or (direction is None and level <= corner):
        return relative(found, mixed(level, p, m)) <= 1e-12
    if direction is None and level <= top:
        return relative(found, corner + top - level) <= 1e-12
    if beta < 1e-307:
        return mixed(mpf(1e-307), p, m) <= level
    slack = mpf(1e-12)
    above = beta * (1 + slack)
    return mixed(beta * (1 - slack), p, m) >= level and (above >= 1 or level >= mixed(above, p, m))


def draw(rng):
    alpha = rng.choice([10 ** rng.uniform(-300, -1), rng.uniform(0.001, 0.999), 1 - 10 ** rng.uniform(-15.9, -0.1)])
    rate = rng.choice([10 ** rng.uniform(-12, 0), rng.uniform(), 1 - 10 ** rng.uniform(-15, -1), 1.0])
    if rng.uniform() < 0.2 and rate < 1:  # where the mixture's distribution function is flat
        alpha = min((1 - rate) * (1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-15, -1)), 1 - 1e-16)
    return float(alpha), float(rate), float(10 ** rng.uniform(-8, 1.6))


def test_twelve_digits_everywhere():
    rng = np.random.default_rng(3)
    with mpmath.workdps(60):
        for _ in range(100):
            alpha, rate, mu = draw(rng)
            for direction in (None, Direction.REMOVE, Direction.ADD):
                found = subsampled_gaussian_tradeoff(alpha, sampling_probability=rate, mu=mu, direction=direction)
                assert is_near(found, alpha, rate, mu, direction), (alpha, rate, mu, direction, found)


def one_step_delta(rate, mu, direction):
    """The profile of one step in one direction: Zhu, Dong and Wang (2022), from that of the Gaussian."""

    def delta(epsilon):
        if direction is Direction.REMOVE:
            return rate * gaussian_delta(epsilon + np.log(np.exp(-epsilon) - np.expm1(-epsilon) / rate), mu=mu)
        left = -np.expm1(epsilon + math.log1p(-rate))
        inner = epsilon + math.log(rate) - np.log(np.where(left > 0, left, 1.0))
        return np.where(left > 0, left * gaussian_delta(np.maximum(inner, 0), mu=mu), 0.0)

    return delta


@pytest.mark.parametrize(("rate", "mu"), [(0.01, 1.0), (0.3, 2.0), (0.9, 0.5)])
def test_each_direction_is_the_dual_of_its_profile(rate, mu):
    remove, add = one_step_delta(rate, mu, Direction.REMOVE), one_step_delta(rate, mu, Direction.ADD)
    for direction, first, second in ((Direction.REMOVE, remove, add), (Direction.ADD, add, remove)):
        found = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=rate, mu=mu, direction=direction)
        dual = tradeoff_from_profile(ALPHAS, delta=first, reversed_delta=second)
        assert found == pytest.approx(dual, rel=0, abs=3e-15)
    both = tradeoff_from_profile(ALPHAS, delta=lambda e: np.maximum(remove(e), add(e)))
    found = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=rate, mu=mu)
    assert found == pytest.approx(both, rel=0, abs=3e-15)


@given(RATES, MUS)
@FINE
def test_it_is_a_symmetric_tradeoff_function_between_the_release_and_blindness(rate, mu):
    beta = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=rate, mu=mu)
    assert np.all(np.diff(beta) <= 1e-15)
    assert np.all(np.diff(beta, 2) >= -1e-14)
    assert np.all((beta >= gaussian_beta(ALPHAS, mu=mu) - 1e-15) & (beta <= 1 - ALPHAS))
    inner = (beta > 1e-3) & (ALPHAS > 1e-3)
    back = subsampled_gaussian_tradeoff(beta[inner], sampling_probability=rate, mu=mu)
    assert back == pytest.approx(ALPHAS[inner], abs=1e-10)


@given(RATES, MUS)
@FINE
def test_it_is_below_both_directions_and_touches_them(rate, mu):
    both, remove, add = (
        subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=rate, mu=mu, direction=direction)
        for direction in (None, *Direction)
    )
    assert np.all(both <= np.minimum(remove, add) + 1e-15)
    corner = float(gaussian_beta(0.5, mu=mu / 2))
    before = np.less(ALPHAS, corner)
    assert both[before].tolist() == remove[before].tolist()
    beyond = np.greater(ALPHAS, rate * corner + (1 - rate) * (1 - corner) + 1e-12)
    assert both[beyond] == pytest.approx(add[beyond], rel=1e-13)
    inner = (remove > 1e-6) & (remove < 1)
    back = subsampled_gaussian_tradeoff(remove[inner], sampling_probability=rate, mu=mu, direction=Direction.ADD)
    assert back == pytest.approx(ALPHAS[inner], abs=1e-9)


@given(st.floats(0, 1), st.floats(0, 1), MUS)
@FINE
def test_drawing_less_often_hides_more(one, two, mu):
    less, more = sorted((one, two))
    often = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=more, mu=mu)
    assert np.all(subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=less, mu=mu) >= often - 1e-14)


def vertices(epsilon, delta):
    """f_{epsilon, delta}, exactly, as a curve of straight pieces."""
    corner = (1 - delta) / (1 + math.exp(epsilon))
    points = [(0.0, 1 - delta), (corner, corner), (1 - delta, 0.0), (1.0, 0.0)]
    alphas, betas = zip(*[p for i, p in enumerate(points) if i == 0 or p[0] > points[i - 1][0]], strict=True)
    return PiecewiseTradeoff(alphas, betas=betas)


@given(RATES, st.floats(0, 30), st.floats(0, 0.999))
@FINE
def test_one_guarantee_against_the_exact_hull(rate, epsilon, delta):
    found = subsampled_approximate_dp_tradeoff(ALPHAS, sampling_probability=rate, epsilon=epsilon, delta=delta)
    curve = subsampled_piecewise_tradeoff(vertices(epsilon, delta), sampling_probability=rate)
    assert found == pytest.approx(curve.beta(ALPHAS), rel=0, abs=3e-14)
    assert np.all(found >= approximate_dp_tradeoff(ALPHAS, epsilon=epsilon, delta=delta) - 1e-15)
    amplified = approximate_dp_tradeoff(ALPHAS, epsilon=math.log1p(rate * math.expm1(epsilon)), delta=rate * delta)
    assert np.all(found >= amplified - 1e-14), "it is never weaker than the well-known (ε′, pδ)"


@pytest.mark.parametrize("rate", [1e-12, 0.01, 0.5, 0.999, 1.0])
def test_one_guarantee_against_its_formula_at_high_precision(rate):
    alphas = np.concatenate([np.geomspace(1e-300, 0.1, 40), np.linspace(0.1, 0.999, 40)])
    with mpmath.workdps(400):
        for epsilon, delta in ((1e-9, 0.0), (1.0, 1e-6), (20.0, 0.2), (600.0, 1e-300)):
            found = subsampled_approximate_dp_tradeoff(alphas, sampling_probability=rate, epsilon=epsilon, delta=delta)
            p, d, e = mpf(rate), mpf(delta), mpmath.exp(mpf(epsilon))
            corner = (1 - d) / (1 + e)
            up = 1 + p * (e - 1)
            for alpha, beta in zip(alphas, found, strict=True):
                a = mpf(alpha)
                steep, far = 1 - p * d - up * a, (1 - p * d - a) / up
                truth = max(steep, 1 - a - p * (1 - 2 * corner), far, 0)
                assert abs(beta - truth) <= 4e-16
                if truth == far > 1e-300:
                    assert relative(beta, truth) <= 1e-14 / float(1 - p * d - a)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.7, 1.0])
def test_any_curve_agrees_with_the_closed_form(rate):
    for mu in (0.3, 2.0):
        found = subsampled_tradeoff(
            ALPHAS, sampling_probability=rate, tradeoff=lambda a, mu=mu: gaussian_beta(a, mu=mu)
        )
        truth = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=rate, mu=mu)
        assert found == pytest.approx(truth, rel=0, abs=1e-14)


def test_a_sampled_curve_lies_above_the_bent_one_and_near():
    knots = np.linspace(0, 1, 2001)
    released = Laplace(scale=1.0)
    curve = PiecewiseTradeoff(knots, betas=released.beta(knots))
    exact = subsampled_tradeoff(ALPHAS, sampling_probability=0.2, tradeoff=released.beta)
    assert subsampled_piecewise_tradeoff(curve.symmetrized(), sampling_probability=0.2).beta(ALPHAS) == pytest.approx(
        exact, abs=1e-5
    )
    one_sided = PiecewiseTradeoff([0.0, 0.5, 1.0], betas=[0.75, 0.125, 0.0])
    with pytest.raises(DomainError, match="its own inverse"):
        subsampled_piecewise_tradeoff(one_sided, sampling_probability=0.2)
    remove = subsampled_piecewise_tradeoff(one_sided, sampling_probability=0.2, direction=Direction.REMOVE)
    add = subsampled_piecewise_tradeoff(one_sided, sampling_probability=0.2, direction=Direction.ADD)
    assert remove.beta(0.5) == pytest.approx(0.2 * 0.125 + 0.8 * 0.5)
    assert add.beta(ALPHAS) == pytest.approx(remove.inverse().beta(ALPHAS))


def test_ends():
    for direction in (None, *Direction):
        blind = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=0.0, mu=3.0, direction=direction)
        assert blind.tolist() == (1 - ALPHAS).tolist()
        blind = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=0.4, mu=0.0, direction=direction)
        assert blind.tolist() == (1 - ALPHAS).tolist()
        whole = subsampled_gaussian_tradeoff(ALPHAS, sampling_probability=1.0, mu=1.0, direction=direction)
        assert whole == pytest.approx(gaussian_beta(ALPHAS, mu=1.0), rel=1e-13, abs=1e-15)
        ends = subsampled_gaussian_tradeoff([0.0, 1.0], sampling_probability=0.3, mu=1.0, direction=direction)
        assert ends.tolist() == [1.0, 0.0]
    seen = subsampled_gaussian_tradeoff([1e-9, 0.5, 0.75, 0.9], sampling_probability=0.25, mu=math.inf)
    assert seen == pytest.approx([0.75, 0.25, 0.0, 0.0], abs=1e-8)
    add = subsampled_gaussian_tradeoff([0.3, 0.8], sampling_probability=0.25, mu=math.inf, direction=Direction.ADD)
    assert add.tolist() == [pytest.approx(0.6), 0.0]
    assert subsampled_gaussian_tradeoff(0.5, sampling_probability=1e-300, mu=1e300) == 0.5
    assert isinstance(subsampled_gaussian_tradeoff(0.9, sampling_probability=0.5, mu=1.0), float)
    shape = subsampled_gaussian_tradeoff(ALPHAS[:, None], sampling_probability=[0.1, 0.9], mu=1.0).shape
    assert shape == (401, 2)
    assert subsampled_approximate_dp_tradeoff([0.0, 0.5, 1.0], sampling_probability=0.5, epsilon=800.0, delta=1.0).tolist() == [0.5, 0.0, 0.0]  # fmt: skip
    tiny = subsampled_approximate_dp_tradeoff(0.999999, sampling_probability=1e-6, epsilon=720.0, delta=0.0)
    assert tiny == pytest.approx(math.exp(-720 + math.log(1e6) + math.log(1e-6)), rel=1e-5)


def test_no_extreme_input_hangs_warns_or_leaves_the_range():
    levels = [0.0, 5e-324, 1e-300, 1e-16, 0.25, 0.5, 1 - 2**-53, 1.0]
    sizes = [0.0, 5e-324, 1e-160, 1e-8, 1.0, 37.0, 40.0, 709.0, 1500.0, 1e300, 1.7e308]
    alphas, rates, mus = np.meshgrid(levels, levels, [*sizes, math.inf], indexing="ij")
    for direction in (None, *Direction):
        beta = subsampled_gaussian_tradeoff(alphas, sampling_probability=rates, mu=mus, direction=direction)
        assert np.all((beta >= 0) & (beta <= 1 - alphas))
    alphas, rates, epsilons, deltas = np.meshgrid(levels, levels, sizes, levels, indexing="ij")
    beta = subsampled_approximate_dp_tradeoff(alphas, sampling_probability=rates, epsilon=epsilons, delta=deltas)
    assert np.all((beta >= 0) & (beta <= 1 - alphas + 1e-16))


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": -0.1}, {"alpha": math.nan}, {"sampling_probability": 1.1}, {"mu": -1.0}, {"direction": "sideways"}],
)
def test_what_is_out_of_range_is_refused(wrong):
    good = {"alpha": 0.1, "sampling_probability": 0.5, "mu": 1.0}
    with pytest.raises(ValueError, match=next(iter(wrong)) if "direction" not in wrong else "sideways"):
        subsampled_gaussian_tradeoff(**{**good, **wrong})
    with pytest.raises(DomainError):
        subsampled_tradeoff(0.1, sampling_probability=0.5, tradeoff=lambda a: a + 1)
    with pytest.raises(TypeError):
        subsampled_piecewise_tradeoff(PiecewiseTradeoff([0, 1], betas=[1, 0]), sampling_probability=[0.1, 0.2])
