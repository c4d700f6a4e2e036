import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import log_ndtr

from dpviz.accounting._contour import evaluate, solve, trace
from dpviz.accounting._numeric import FIT
from dpviz.accounting._saddle import Product
from dpviz.accounting.gaussian import gaussian_epsilon, gaussian_log_delta
from dpviz.accounting.gaussian_law import GaussianLaw
from dpviz.accounting.laplace_composition import laplace_composed_delta
from dpviz.accounting.laplace_law import LaplaceLaw
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled_law import SubsampledGaussianLaw

FEW = settings(deadline=None, max_examples=40)
FEWER = settings(deadline=None, max_examples=12)


@dataclass(frozen=True)
class Points:
    """A toy law of point masses only."""

    losses: tuple[float, ...]
    weights: tuple[float, ...]
    infinite_mass: float = 0.0

    @property
    def support(self):
        return min(self.losses), max(self.losses)

    @property
    def atoms(self):
        return tuple(zip(self.losses, np.log(self.weights).tolist(), strict=True))

    def log_moment(self, order):
        top = max(self.losses)
        z = np.asarray(order)[..., None]
        return (
            np.log(np.sum(np.array(self.weights) * np.exp(z * (np.array(self.losses) - top)), axis=-1))
            + z[..., 0] * top
        )


def response(s):
    truth = 1 / (1 + math.exp(-s))
    return Points((s, -s), (truth, 1 - truth))


def delta_of(product, epsilon):
    seen = evaluate(product, np.array([epsilon]))
    return float(np.exp(seen.log_delta[0])), float(seen.error[0])


def mp_gaussian_delta(epsilon, mu):
    """Of any real epsilon, from the definition."""
    u = epsilon / mu - mu / 2
    return (mpmath.erfc(u / mpmath.sqrt(2)) - mpmath.exp(epsilon) * mpmath.erfc((u + mu) / mpmath.sqrt(2))) / 2


@FEW
@given(st.floats(-5, 2.5), st.floats(-6, 36))
def test_a_gaussian_is_itself(log_mu, standard):
    mu = 10**log_mu
    epsilon = max(mu * mu / 2 + standard * mu, 0.0)
    seen = evaluate(Product(((GaussianLaw(mu), 1),)), np.array([epsilon]))
    truth = gaussian_log_delta(epsilon, mu=mu)
    assert seen.log_delta[0] == pytest.approx(truth, rel=1e-13, abs=2 * seen.error[0] + 1e-15)
    assert seen.error[0] < 1e-14 * (3 + epsilon + abs(truth) + mu * mu)


@FEW
@given(st.floats(-3, 1.5), st.floats(-8, 8))
def test_its_tails_and_its_rest(log_mu, standard):
    mu = 10**log_mu
    epsilon = max(mu * mu / 2 + standard * mu, 0.0)
    seen = evaluate(Product(((GaussianLaw(mu), 1),)), np.array([epsilon]))
    u = epsilon / mu - mu / 2
    near = {"rel": 1e-11, "abs": 1e-11}
    assert seen.log_tail_p[0] == pytest.approx(log_ndtr(-u), **near)
    assert seen.log_tail_q[0] == pytest.approx(log_ndtr(-u - mu), **near)
    assert seen.log_head_p[0] == pytest.approx(log_ndtr(u), **near)
    assert np.exp(seen.log_delta[0]) + np.exp(seen.log_rest[0]) == pytest.approx(1, rel=1e-15)


def test_one_less_delta_keeps_its_digits():
    mu, epsilon = 40.0, 100.0
    with mpmath.workdps(120):
        rest = 1 - mp_gaussian_delta(mpmath.mpf(epsilon), mpmath.mpf(mu))
        seen = evaluate(Product(((GaussianLaw(mu), 1),)), np.array([epsilon]))
        assert float(seen.log_rest[0] / mpmath.log(rest) - 1) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("scale", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("mu", [0.1, 0.7, 3.0])
def test_gaussian_and_laplace_by_quadrature(mu, scale):
    """The definition: the Gaussian's profile, averaged over the law of the Laplace loss."""
    epsilon = 0.3 + mu
    with mpmath.workdps(30):
        s, m, e = mpmath.mpf(scale), mpmath.mpf(mu), mpmath.mpf(epsilon)
        inner = mpmath.quad(
            lambda loss: mp_gaussian_delta(e - loss, m) * mpmath.exp((loss - s) / 2) / 4, mpmath.linspace(-s, s, 9)
        )
        truth = mp_gaussian_delta(e - s, m) / 2 + mpmath.exp(-s) * mp_gaussian_delta(e + s, m) / 2 + inner
    found, error = delta_of(Product(((GaussianLaw(mu), 1), (LaplaceLaw(scale), 1))), epsilon)
    assert found == pytest.approx(float(truth), rel=1e-13)
    assert error < 1e-12


@FEW
@given(st.floats(0.02, 2), st.floats(0.05, 1.5), st.integers(1, 12), st.floats(0, 3))
def test_gaussian_and_randomised_responses_by_enumeration(mu, s, count, part):
    epsilon = part * (mu + s * math.sqrt(count))
    with mpmath.workdps(30):
        truth_probability = 1 / (1 + mpmath.exp(-mpmath.mpf(s)))
        truth = mpmath.fsum(
            mpmath.binomial(count, lies)
            * truth_probability ** (count - lies)
            * (1 - truth_probability) ** lies
            * mp_gaussian_delta(mpmath.mpf(epsilon) - (count - 2 * lies) * mpmath.mpf(s), mpmath.mpf(mu))
            for lies in range(count + 1)
        )
    found, error = delta_of(Product(((GaussianLaw(mu), 1), (response(s), count))), epsilon)
    assert error < 1e-9
    assert found == pytest.approx(float(truth), rel=4 * error + 1e-13)


@pytest.mark.parametrize(("noise", "rate", "epsilon"), [(1.0, 0.05, 1.0), (0.7, 0.2, 2.0), (2.0, 0.3, 0.1)])
@pytest.mark.parametrize("sign", [1, -1])
def test_two_subsampled_releases_by_quadrature(noise, rate, epsilon, sign):
    """The definition again; such a loss nearly sits on points, and its moments fade slowly."""
    with mpmath.workdps(20):
        sigma, q, e = mpmath.mpf(noise), mpmath.mpf(rate), mpmath.mpf(epsilon)

        def loss(x):
            return sign * mpmath.log(1 - q + q * mpmath.exp((x - mpmath.mpf(1) / 2) / sigma**2))

        def density(x):
            base = mpmath.npdf(x, 0, sigma)
            return (1 - q) * base + q * mpmath.npdf(x, 1, sigma) if sign > 0 else base

        def once(bound):
            """Delta of one release at any real epsilon."""
            ratio = mpmath.exp(sign * bound)
            if ratio <= 1 - q:
                return 1 - mpmath.exp(bound) if sign > 0 else mpmath.mpf(0)
            edge = sigma**2 * mpmath.log((ratio - 1 + q) / q) + mpmath.mpf(1) / 2
            none, all_ = (mpmath.ncdf(sign * (centre - edge) / sigma) for centre in (0, 1))
            mixed = (1 - q) * none + q * all_
            return mixed - mpmath.exp(bound) * none if sign > 0 else none - mpmath.exp(bound) * mixed

        cuts = {sigma * step for step in range(-10, 11)} | {1 + 12 * sigma}
        corner = mpmath.exp(sign * e) / (1 - q)  # the ratio beyond which one release is enough, or never is
        if corner > 1 - q:
            cuts.add(sigma**2 * mpmath.log((corner - 1 + q) / q) + mpmath.mpf(1) / 2)
        truth = mpmath.quad(lambda x: density(x) * once(e - loss(x)), sorted(cuts), maxdegree=5)
    law = SubsampledGaussianLaw(noise, rate, Direction.REMOVE if sign > 0 else Direction.ADD)
    if float(truth) > 0:
        found, error = delta_of(Product(((law, 2),)), epsilon)
        if error <= FIT:
            assert found == pytest.approx(float(truth), rel=10 * error + 1e-12)
        else:
            assert sign < 0  # near its greatest loss the other direction is left to the lattice


@FEWER
@given(
    st.sampled_from([(0.5, 0.0, -0.5), (1.0, 0.25, -1.0), (0.3, -0.2), (0.5, 0.1, -0.1, -0.5)]),
    st.integers(1, 40),
    st.floats(0, 1),
)
def test_point_masses_are_never_passed_over(losses, count, share):
    """The moments of point masses fade and come back: the answer must be right, or said to be unfit."""
    weights = np.exp(np.array(losses) / 2)
    law = Points(losses, tuple(weights / weights.sum()))
    epsilon = share * count * losses[0] * 0.9
    values, masses = np.array([0.0]), np.array([1.0])
    for _ in range(count):
        values, index = np.unique(np.round(np.add.outer(values, losses), 9), return_inverse=True)
        masses = np.bincount(index.ravel(), np.multiply.outer(masses, law.weights).ravel())
    truth = float(np.sum(masses * np.maximum(-np.expm1(epsilon - values), 0)))
    found, error = delta_of(Product(((law, count),)), epsilon)
    if error <= FIT:
        assert found == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize(("count", "epsilon"), [(30, 0.0), (30, 1.0), (200, 2.6), (1000, 5.0)])
def test_three_point_answers_whose_moments_fade_before_they_come_back(count, epsilon):
    """Ternary randomised responses: on a line that stops where they first fade, a smooth curve is found instead."""
    s = 0.5
    weights = np.array([math.exp(s), 1.0, 1.0])
    weights /= weights.sum()
    masses, steps = np.array([1.0]), np.array([weights[0], weights[1], weights[2]])
    for _ in range(count):
        masses = np.convolve(masses, steps)
    values = s * (count - np.arange(2 * count + 1))
    truth = float(np.sum(masses * np.maximum(-np.expm1(epsilon - values), 0)))
    law = Points((s, 0.0, -s), (weights[0], weights[1], weights[2]))
    found, error = delta_of(Product(((law, count),)), epsilon)
    assert error > FIT or found == pytest.approx(truth, rel=1e-6)


def test_on_a_kink_it_is_unfit_and_between_kinks_it_is_right():
    ten = Product(((LaplaceLaw(0.1), 10),))
    for epsilon in (0.0, 0.2, 0.4):
        found, error = delta_of(ten, epsilon)
        truth = laplace_composed_delta(epsilon, pure_epsilon=0.1, count=10)
        assert error > FIT
        assert abs(found / truth - 1) <= error  # which it owns up to
    found, error = delta_of(ten, 0.25)
    assert error <= 1e-12
    assert found == pytest.approx(0.042251131731029665, rel=1e-12)


@FEWER
@given(st.floats(0.5, 3), st.floats(0.002, 0.3), st.integers(100, 20_000), st.floats(0.0, 5.0), st.floats(-1, 0.5))
def test_another_line_says_the_same(noise, rate, count, share, detour):
    law = SubsampledGaussianLaw(noise, rate, Direction.REMOVE)
    spread = rate * math.sqrt(count * math.expm1(1 / noise**2))
    epsilon = np.array([share * spread])
    first = evaluate(Product(((law, count),)), epsilon)
    second = evaluate(Product(((law, count),)), epsilon, detour=detour)
    if first.error[0] <= FIT and second.error[0] <= FIT:
        apart = abs(math.expm1(first.log_delta[0] - second.log_delta[0]))
        assert apart <= 10 * (first.error[0] + second.error[0]) + 1e-13


def test_most_dp_sgd_runs_are_fit():
    for noise, rate, count in [
        (1.0, 0.01, 1000),
        (0.7, 0.01, 1000),
        (4.0, 0.01, 40_000),
        (1.0, 0.2, 10),
        (1.5, 1e-3, 10**6),
    ]:
        law = SubsampledGaussianLaw(noise, rate, Direction.REMOVE)
        epsilon, error = solve(Product(((law, count),)), np.log([1e-3, 1e-5, 1e-9]), np.log1p([-1e-3, -1e-5, -1e-9]))
        assert (error <= 1e-13 * (1 + epsilon)).all()


@FEW
@given(st.floats(-4, 3), st.one_of(st.floats(-300, -0.01).map(lambda power: 10.0**power), st.floats(0.1, 1 - 1e-9)))
def test_epsilon_is_the_inverse(log_mu, delta):
    mu = 10**log_mu
    found, error = solve(Product(((GaussianLaw(mu), 1),)), np.log([delta]), np.log1p([-delta]))
    truth = gaussian_epsilon(delta, mu=mu)
    assert found[0] == pytest.approx(truth, rel=1e-12, abs=max(5 * error[0], 1e-14 * mu))


def test_a_curve_takes_a_few_lines():
    product = Product(((SubsampledGaussianLaw(1.0, 0.01, Direction.REMOVE), 1000),))
    grid = np.linspace(0, 3, 1000)
    lines = trace(product, grid)
    assert len(lines.lines) <= 12
    seen = lines.at(grid)
    assert seen.error.max() < 1e-12
    assert (np.diff(seen.log_delta) < 0).all()
    alone = [evaluate(product, grid[[index]]).log_delta[0] for index in (0, 123, 999)]
    assert seen.log_delta[[0, 123, 999]] == pytest.approx(alone, rel=1e-13)


def test_curves_of_epsilon_agree_with_single_ones():
    product = Product(((GaussianLaw(0.8), 1), (LaplaceLaw(0.3), 3)))
    deltas = np.geomspace(1e-200, 0.9, 200)
    many, _ = solve(product, np.log(deltas), np.log1p(-deltas))
    assert (np.diff(many) <= 0).all()
    for index in (0, 77, 150, 199):
        one, _ = solve(product, np.log(deltas[[index]]), np.log1p(-deltas[[index]]))
        assert many[index] == pytest.approx(one[0], rel=1e-13, abs=1e-14)
