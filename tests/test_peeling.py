"""Peeling release by release: against its definition in mpmath, the contour, closed forms and its own laws."""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

from dpviz.accounting import _contour as contour
from dpviz.accounting._peeling import is_peelable, peeled_epsilon, peeled_log_delta
from dpviz.accounting._saddle import Product
from dpviz.accounting.gaussian import Gaussian, gaussian_delta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.laplace_composition import laplace_composed_delta
from dpviz.accounting.privacy_loss import Composition
from dpviz.accounting.randomized_response import RandomizedResponse
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled import SubsampledGaussian, subsampled_gaussian_delta

REMOVE, ADD = Direction.REMOVE, Direction.ADD


def laws_of(*releases, direction=REMOVE):
    laws = Composition(releases).loss_laws(direction)
    assert is_peelable(laws)
    return laws


def steps(q, sigma, k):
    return SubsampledGaussian(sigma, sampling_probability=q), k


def delta_of(epsilon, *releases, direction=REMOVE):
    return np.exp(peeled_log_delta(laws_of(*releases, direction=direction), np.atleast_1d(np.float64(epsilon))))


def two_steps(epsilon, q, sigma, direction):
    """Return delta of two subsampled steps by its definition, to 15 digits."""
    with mp.workdps(20):
        e, q, sigma = mp.mpf(epsilon), mp.mpf(q), mp.mpf(sigma)
        sign = 1 if direction is REMOVE else -1
        edge = sign * mp.log(1 - q)

        def loss(x):
            return sign * mp.log(1 + q * mp.expm1((2 * x - 1) / (2 * sigma**2)))

        def output(ratio):
            return sigma**2 * mp.log((ratio - 1 + q) / q) + mp.mpf(1) / 2 if ratio > 1 - q else -mp.inf

        def tail(x, mean):
            return mp.erfc((x - mean) / (sigma * mp.sqrt(2))) / 2

        def one(t):
            x = output(mp.exp(sign * t))
            if sign > 0:
                if x == -mp.inf:
                    return -mp.expm1(t)
                return (1 - q) * tail(x, 0) + q * tail(x, 1) - mp.exp(t) * tail(x, 0)
            if x == -mp.inf:
                return mp.mpf(0)
            below0, below1 = tail(-x, 0), tail(-x, -1)
            return below0 - mp.exp(t) * ((1 - q) * below0 + q * below1)

        def integrand(x):
            density = mp.exp(-((x / sigma) ** 2) / 2) / (sigma * mp.sqrt(2 * mp.pi))
            return density * (mp.exp(loss(x)) if sign > 0 else 1) * one(e - loss(x))

        turn = output(mp.exp(sign * (e - edge)))
        ends = [turn - sigma * s for s in (0, mp.mpf("0.2"), mp.mpf("0.5"), 1, 2, 4, 8, 12, 16, 20)]
        ends += [turn + sigma * s for s in (0.2, 0.5, 1, 2, 4, 8)] if sign > 0 else []
        ends = sorted({*ends, *(sigma * s for s in range(-12, 14, 3) if sign > 0 or sigma * s < turn)})
        return float(mp.quad(integrand, ends, maxdegree=5))


@pytest.mark.parametrize(
    ("epsilon", "q", "sigma", "direction"),
    [
        (0.1, 1e-4, 1.0, REMOVE),
        (0.5, 0.3, 1.0, REMOVE),
        (1e-4, 1e-4, 1.0, ADD),
        (0.3, 0.3, 2.0, ADD),
    ],
)
def test_two_steps_are_their_definition(epsilon, q, sigma, direction):
    assert delta_of(epsilon, steps(q, sigma, 2), direction=direction)[0] == pytest.approx(
        two_steps(epsilon, q, sigma, direction), rel=1e-12
    )


@pytest.mark.parametrize(
    ("epsilon", "q", "sigma", "k", "delta"),
    [
        (0.01, 1e-4, 1.0, 2, 6.892182061911883e-10),
        (0.001, 1e-4, 1.0, 2, 1.7196999329855e-6),
        (0.05, 1e-4, 0.8, 3, 3.9238041166e-10),
        (0.0004, 1e-4, 3.0, 4, 6.564098863418e-10),
        (0.02, 1e-3, 1.0, 5, 7.346154504395e-6),
    ],
)
def test_a_recursion_in_double_precision_says_the_same(epsilon, q, sigma, k, delta):
    assert delta_of(epsilon, steps(q, sigma, k))[0] == pytest.approx(delta, rel=2e-11)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    ("releases", "epsilon"),
    [
        ([steps(0.05, 1.0, 2)], [0.05, 0.09]),
        ([steps(0.05, 1.0, 5)], [0.01, 0.2]),
        ([steps(0.2, 2.0, 4)], [0.1, 0.5, 1.0]),
        ([steps(0.9, 1.0, 3)], [0.1, 2.0, 6.0]),
        ([steps(0.01, 1.0, 1), (Gaussian(0.5), 1)], [0.001, 0.1, 4.0, 10.0]),
    ],
)
def test_the_contour_says_the_same_where_it_is_fit(releases, epsilon, direction):
    laws = laws_of(*releases, direction=direction)
    there = contour.evaluate(Product(laws), np.array(epsilon))
    good = there.error < 1e-11
    assert good.any()
    np.testing.assert_allclose(peeled_log_delta(laws, np.array(epsilon))[good], there.log_delta[good], rtol=1e-12)


def test_ledgers_of_laplace_releases():
    delta = delta_of(6.0, (RandomizedResponse(0.3), 20), (Laplace(scale=2.0), 20))[0]
    assert delta == pytest.approx(0.06018514341271668, rel=1e-12)
    delta = delta_of(1.0005, (Laplace(scale=1.0), 1), steps(0.001, 1.0, 1))[0]
    assert delta == pytest.approx(1.3200257125289e-4, rel=1e-12)


@pytest.mark.parametrize("direction", Direction)
def test_a_step_is_peeled_from_laplace_releases_by_quadrature(direction):
    sign = 1 if direction is REMOVE else -1
    q, sigma, epsilon = 0.2, 0.8, 0.7

    def integrand(x):
        ratio = 1 + q * np.expm1((2 * x - 1) / (2 * sigma**2))
        density = np.exp(-((x / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi)) * (ratio if sign > 0 else 1)
        return density * laplace_composed_delta(epsilon - sign * np.log(ratio), pure_epsilon=0.4, count=3)

    ratios = np.exp(sign * (epsilon - 0.4 * np.arange(-3, 4, 2)))
    cuts = sigma**2 * np.log((ratios[ratios > 1 - q] - 1 + q) / q) + 0.5
    ends = np.unique(np.concatenate([cuts, [-10.0, -1.0, 0.0, 1.0, 3.0, 12.0]]))
    truth = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pairwise(ends))
    found = delta_of(epsilon, (Laplace(scale=2.5), 3), steps(q, sigma, 1), direction=direction)[0]
    assert found == pytest.approx(truth, rel=1e-10)


def test_closed_forms():
    epsilon = np.array([0.0, 0.01, 1.0, 5.0])
    one = subsampled_gaussian_delta(epsilon, sampling_probability=0.1, noise_multiplier=0.7)
    np.testing.assert_allclose(delta_of(epsilon, steps(0.1, 0.7, 1)), one, rtol=1e-13)
    nearly_all = delta_of(epsilon, steps(1 - 1e-12, 1.0, 2))
    np.testing.assert_allclose(nearly_all, gaussian_delta(epsilon, mu=np.sqrt(2)), rtol=1e-9)


def test_answers_alone_are_counted_out():
    from dpviz.accounting.optimal import optimal_composition_delta

    epsilon = np.array([0.0, 1.0, 5.5, 6.0])
    truth = optimal_composition_delta(epsilon, epsilon=0.3, delta=0.0, count=20)
    np.testing.assert_allclose(delta_of(epsilon, (RandomizedResponse(0.3), 20)), truth, rtol=1e-12, atol=1e-300)


def test_three_answers_with_steps_are_a_sum():
    answer = RandomizedResponse(0.5, categories=3)
    losses, logs = zip(*answer.loss_law(REMOVE).atoms, strict=True)
    total = 0.0
    for a, p in zip(losses, np.exp(logs), strict=True):
        for b, r in zip(losses, np.exp(logs), strict=True):
            shifted = 0.8 - a - b
            if shifted >= 0:
                total += p * r * delta_of(shifted, steps(0.1, 1.0, 2))[0]
            else:  # the mirror image: 1 − e^ε + e^ε times the other direction's delta at −ε
                other = delta_of(-shifted, steps(0.1, 1.0, 2), direction=ADD)[0]
                total += p * r * (-np.expm1(shifted) + np.exp(shifted) * other)
    assert delta_of(0.8, (answer, 2), steps(0.1, 1.0, 2))[0] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    "releases", [[steps(1e-4, 1.0, 3)], [steps(0.02, 0.5, 2)], [steps(0.01, 1.0, 1), (Laplace(scale=2.0), 4)]]
)
def test_delta_falls_and_epsilon_undoes_it(releases, direction):
    laws = laws_of(*releases, direction=direction)
    epsilon = np.concatenate([[0.0], np.geomspace(1e-6, 3.0, 40)])
    log_delta = peeled_log_delta(laws, epsilon)
    there = log_delta > -600
    assert np.all(np.diff(log_delta[there]) <= 1e-12)
    slack = np.exp(log_delta[there])[::4]
    back = peeled_epsilon(laws, slack)
    np.testing.assert_allclose(peeled_log_delta(laws, back), np.log(slack), atol=1e-11)


def test_a_table_of_the_last_profile_says_what_quadrature_does():
    laws = laws_of(steps(1e-3, 0.7, 2))
    epsilon = np.geomspace(1e-6, 2.0, 1500)
    np.testing.assert_allclose(peeled_log_delta(laws, epsilon)[::50], peeled_log_delta(laws, epsilon[::50]), atol=1e-11)


def test_the_ends():
    laws = laws_of(steps(1e-3, 1.0, 2))
    assert peeled_log_delta(laws, np.array([np.inf]))[0] == -np.inf
    assert peeled_epsilon(laws, np.array([0.0, 0.5, 1.0])).tolist() == [np.inf, 0.0, 0.0]
    added = laws_of(steps(1e-3, 1.0, 2), direction=ADD)
    assert peeled_epsilon(added, np.array([0.0]))[0] == pytest.approx(-2 * np.log1p(-1e-3))
    assert peeled_log_delta(added, np.array([0.0021]))[0] == -np.inf


def test_what_is_not_peelable():
    no = [
        [steps(0.1, 1.0, 17)],
        [steps(0.1, 0.05, 2)],
        [(Gaussian(1.0), 1), (Laplace(scale=1.0), 1)],
        [(RandomizedResponse(0.1), 10_000), steps(0.1, 1.0, 1)],
        [(Laplace(scale=1.0), 1), steps(0.1, 1.0, 2)],
    ]
    assert not any(is_peelable(Composition(tuple(ledger)).loss_laws(REMOVE)) for ledger in no)
