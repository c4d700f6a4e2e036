import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_randomized_response
from hypothesis import assume, given, strategies as st

from dpviz import DomainError, Mechanism
from dpviz.accounting.randomized_response import (
    RandomizedResponse,
    randomized_response_count,
    randomized_response_delta,
    randomized_response_epsilon,
    randomized_response_rdp,
    randomized_response_tradeoff,
    randomized_response_variance,
)
from dpviz.accounting.randomized_response_law import RandomizedResponseLaw
from dpviz.accounting.relation import Direction
from tests.reference import distance, entries

PURE = st.floats(-12, 3).map(lambda power: 10.0**power)
CATEGORIES = st.integers(2, 50)


def mp_pair(pure, categories):
    """The two laws of the answer: given the first true answer, and given the second."""
    s = mpmath.mpf(pure)
    lie = 1 / (mpmath.exp(s) + categories - 1)
    p = [lie * mpmath.exp(s), lie] + [lie] * (categories - 2)
    return p, [p[1], p[0], *p[2:]]


@entries("rr_rdp")
def test_rdp_reference(inputs, value):
    assert distance(randomized_response_rdp(inputs["alpha"], pure_epsilon=inputs["eps0"]), value) <= 1e-15


@given(PURE, CATEGORIES, st.floats(-1.5, 1.5))
def test_delta_is_the_divergence_of_the_two_laws(pure, categories, fraction):
    epsilon = fraction * pure
    with mpmath.workdps(40 + int(0.9 * pure)):
        pairs = zip(*mp_pair(pure, categories), strict=True)
        truth = float(sum(max(p - mpmath.exp(mpmath.mpf(epsilon)) * q, 0) for p, q in pairs))
    delta = randomized_response_delta(epsilon, pure_epsilon=pure, categories=categories)
    assert delta == pytest.approx(truth, rel=1e-14)


@given(PURE, CATEGORIES, st.one_of(st.just(0.0), st.floats(-9, 8).map(lambda power: 10.0**power)))
def test_rdp_is_the_divergence_of_the_two_laws(pure, categories, excess):
    order = 1 + excess
    with mpmath.workdps(80):
        pairs = list(zip(*mp_pair(pure, categories), strict=True))
        a = mpmath.mpf(order)
        if order == 1:
            truth = sum(p * mpmath.log(p / q) for p, q in pairs)
        else:
            truth = mpmath.log(sum(p**a * q ** (1 - a) for p, q in pairs)) / (a - 1)
    rdp = randomized_response_rdp(order, pure_epsilon=pure, categories=categories)
    assert rdp == pytest.approx(float(truth), rel=3e-15)


@given(st.floats(1e-3, 30), CATEGORIES, st.floats(0, 1))
def test_tradeoff_is_the_best_line_of_the_profile(pure, categories, alpha):
    """The envelope of lines 1 − delta(ε) − e^ε alpha over the three slopes that the curve has."""
    losses = np.array([-pure, 0.0, pure])
    lines = 1 - randomized_response_delta(losses, pure_epsilon=pure, categories=categories) - np.exp(losses) * alpha
    beta = randomized_response_tradeoff(alpha, pure_epsilon=pure, categories=categories)
    assert beta == pytest.approx(max(lines.max(), 0.0), rel=1e-9, abs=1e-14)
    back = randomized_response_tradeoff(beta, pure_epsilon=pure, categories=categories)
    assert back == pytest.approx(alpha, rel=1e-9, abs=1e-14 * math.exp(pure))


@given(PURE, CATEGORIES, st.floats(0, 1))
def test_epsilon_takes_delta_back(pure, categories, fraction):
    asked = RandomizedResponse(pure, categories=categories)
    delta = fraction * asked.delta(0.0)
    epsilon = asked.epsilon(delta)
    assert 0 <= epsilon <= pure
    room = 4e-16 * (1 + pure) + (1e-12 if fraction > 0.999 else 0)
    assert asked.delta(epsilon) == pytest.approx(delta, rel=1e-12, abs=room)


def test_delta_against_a_stranger():
    for pure, categories in ((0.5, 2), (1.0, 3), (2.0, 10)):
        asked = RandomizedResponse(pure, categories=categories)
        noise = categories * (1 - asked.truth_probability) / (categories - 1)
        stranger = from_randomized_response(noise, categories, value_discretization_interval=1e-4)
        for epsilon in (0.0, 0.3, pure / 2, pure * 1.1):
            above = stranger.get_delta_for_epsilon(epsilon)
            assert asked.delta(epsilon) - 1e-15 <= above <= asked.delta(epsilon) + 1e-4


def test_estimate_is_unbiased_with_its_variance():
    """Enumerate all the coins of six people who choose among three answers."""
    people, true, pure, categories = 6, 2, 0.8, 3
    asked = RandomizedResponse(pure, categories=categories)
    truth, lie = asked.truth_probability, (1 - asked.truth_probability) / (categories - 1)
    chances = np.array([1.0])
    for chance in [truth] * true + [lie] * (people - true):
        chances = np.convolve(chances, [1 - chance, chance])
    shown = np.arange(people + 1)
    estimate = randomized_response_count(shown, respondents=people, pure_epsilon=pure, categories=categories)
    mean = (chances * estimate).sum()
    assert mean == pytest.approx(true, rel=1e-13)
    spread = randomized_response_variance(true, respondents=people, pure_epsilon=pure, categories=categories)
    assert spread == pytest.approx((chances * (estimate - mean) ** 2).sum(), rel=1e-13)
    for pure in (1e-9, 1e-3, 5.0):
        variance = randomized_response_variance([0, 3, 10], respondents=10, pure_epsilon=pure)
        assert variance == pytest.approx(np.full(3, 10 / (4 * math.sinh(pure / 2) ** 2)), rel=1e-13)


@given(PURE, st.integers(2, 5), st.floats(-0.99, 40), st.one_of(st.just(0.0), st.floats(-300, 300)))
def test_log_moment_keeps_its_digits(pure, categories, real, imaginary):
    order = complex(real, imaginary)
    assume(order == 0 or abs(order) > 1e-30)
    found = complex(RandomizedResponseLaw(pure, categories).log_moment(np.array([order]))[0])
    with mpmath.workdps(120):
        z = mpmath.mpc(order)
        total = sum(p * mpmath.exp(z * mpmath.log(p / q)) for p, q in zip(*mp_pair(pure, categories), strict=True))
        truth = mpmath.log(total) if order != 0 else mpmath.mpf(0)
        gap = abs(mpmath.expm1(mpmath.mpc(found) - truth))
        part = abs(mpmath.exp(z.real * mpmath.mpf(pure)) / total)  # how much of the terms cancelled
        room = abs(truth) + abs(order) * pure * max(1, part) * (abs(order) * pure > 0.5)
    assert gap <= 8e-15 * room


def test_law_has_the_atoms_and_no_density():
    for categories in (2, 5):
        law = RandomizedResponse(1.5, categories=categories).loss_law(Direction.ADD)
        assert law == RandomizedResponse(1.5, categories=categories).loss_law(Direction.REMOVE)
        mass = np.exp([log_mass for _, log_mass in law.atoms])
        loss = np.array([at for at, _ in law.atoms])
        assert mass.sum() == pytest.approx(1, rel=1e-15)
        assert (mass * np.exp(-loss)).sum() == pytest.approx(1, rel=1e-15)
        edges = np.linspace(-2, 2, 5)
        assert np.isneginf(law.cells(edges).log_mass).all()
        assert np.isneginf(law.log_tail(edges)).all()
        assert np.isneginf(law.log_head(edges)).all()
        assert law.support == (-1.5, 1.5)


def test_ends_and_refusals():
    asked = RandomizedResponse(1.0)
    assert isinstance(asked, Mechanism)
    assert asked.delta([1.0, 2.0, math.inf]).tolist() == [0.0, 0.0, 0.0]
    assert asked.epsilon([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert asked.beta([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert asked.rdp(1.0) == pytest.approx(math.tanh(0.5), rel=1e-15)
    blind = RandomizedResponse(0.0, categories=4)
    assert (blind.delta(0.0), blind.epsilon(0.0), blind.rdp(2.0), blind.beta(0.25)) == (0.0, 0.0, 0.0, 0.75)
    assert randomized_response_delta(3.0, pure_epsilon=math.inf) == 1.0
    assert randomized_response_epsilon([0.5, 1.0], pure_epsilon=math.inf).tolist() == [math.inf, 0.0]
    assert randomized_response_tradeoff([0.0, 0.5], pure_epsilon=math.inf).tolist() == [0.0, 0.0]
    assert randomized_response_rdp(2.0, pure_epsilon=math.inf) == math.inf
    assert randomized_response_rdp(1e8, pure_epsilon=1000.0) == pytest.approx(1000.0, rel=1e-15)
    for wrong in ({"pure_epsilon": -1.0}, {"pure_epsilon": 1.0, "categories": 1}, {"pure_epsilon": math.inf}):
        with pytest.raises(DomainError):
            RandomizedResponse(**wrong)
    with pytest.raises(DomainError, match="observed must be no more than respondents"):
        randomized_response_count(11, respondents=10, pure_epsilon=1.0)
    with pytest.raises(ValueError, match="sideways"):
        asked.loss_law("sideways")
