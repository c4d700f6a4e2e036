import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting._outcomes import nodes
from dpviz.accounting.gaussian import gaussian_delta, gaussian_epsilon
from dpviz.accounting.guarantees import composed_delta, kairouz_composition
from dpviz.accounting.optimal import optimal_composition_delta, optimal_composition_epsilon
from tests.reference import distance, entries

EPSILONS = st.floats(-6, 1).map(lambda power: 10.0**power)
COUNTS = st.floats(0, 3).map(lambda power: round(10**power))
SLACKS = st.floats(-20, -1).map(lambda power: 10.0**power)


def definition(composed_epsilon, epsilon, delta, count):
    """Sum the theorem as it is written, over every outcome or until nothing is added, in 60 digits."""
    with mpmath.workdps(60):
        wanted, each, total = mpmath.mpf(composed_epsilon), mpmath.mpf(epsilon), mpmath.mpf(0)
        last = int(mpmath.ceil((count - wanted / each) / 2)) - 1
        start = min(last, int(count / (1 + mpmath.exp(each))))
        if start >= 0:
            log_first = mpmath.loggamma(count + 1) - mpmath.loggamma(start + 1) - mpmath.loggamma(count - start + 1)
            first = mpmath.exp(log_first + (count - start) * each - count * mpmath.log1p(mpmath.exp(each)))
            drop = mpmath.exp(wanted - (count - 2 * start) * each)
            twice, ratio = mpmath.exp(2 * each), mpmath.exp(each)
            weight, fall, lies = first, drop, start
            while lies >= 0 and weight > total * mpmath.mpf("1e-40"):
                total += weight * (1 - fall)
                weight, fall, lies = weight * lies / (count - lies + 1) * ratio, fall / twice, lies - 1
            weight, fall, lies = first, drop, start
            while lies < last and weight > total * mpmath.mpf("1e-40"):
                weight, fall, lies = weight * (count - lies) / (lies + 1) / ratio, fall * twice, lies + 1
                total += weight * (1 - fall)
        return -mpmath.expm1(count * mpmath.log1p(-mpmath.mpf(delta)) + mpmath.log1p(-total))


def relative(computed, truth):
    return float(abs(computed - truth) / truth)


@entries("optimal_composition_delta")
def test_delta_reference(inputs, value):
    given = {"epsilon": inputs["eps"], "delta": inputs["delta"], "count": inputs["k"]}
    assert distance(optimal_composition_delta(inputs["eps_g"], **given), value) <= 2e-14


@entries("optimal_composition_eps")
def test_epsilon_reference(inputs, value):
    given = {"epsilon": inputs["eps"], "delta": inputs["delta"], "count": inputs["k"]}
    assert distance(optimal_composition_epsilon(inputs["delta_g"], **given), value) <= 1e-15


def test_every_outcome_of_randomised_responses_one_by_one():
    for epsilon, delta, count, composed in itertools.product(
        (0.05, 1.0, 4.0), (0.0, 1e-3), (1, 2, 7), (0.0, 0.04, 2.5)
    ):
        truth = mpmath.mpf(0)
        with mpmath.workdps(40):
            likely = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
            for answers in itertools.product((0, 1), repeat=count):
                lies = sum(answers)
                p = likely ** (count - lies) * (1 - likely) ** lies
                q = (1 - likely) ** (count - lies) * likely**lies
                truth += max(p - mpmath.exp(composed) * q, 0)
            truth = 1 - (1 - mpmath.mpf(delta)) ** count * (1 - truth)
        computed = optimal_composition_delta(composed, epsilon=epsilon, delta=delta, count=count)
        assert abs(computed - truth) <= 1e-14 * truth


def test_a_wide_sweep_against_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(60):
        count, epsilon = round(10 ** rng.uniform(0, 4.5)), 10 ** rng.uniform(-7, 1.5)
        delta = 0.0 if rng.random() < 0.5 else 10 ** rng.uniform(-25, -2)
        mean, spread = count * epsilon * math.tanh(epsilon / 2), math.sqrt(count) * epsilon / math.cosh(epsilon / 2)
        composed = min(max(mean + spread * rng.uniform(-3, 25), 0.0), count * epsilon)
        if rng.random() < 0.2:
            composed = (count - 2 * int(rng.integers(0, count // 2 + 1))) * epsilon
        truth = definition(composed, epsilon, delta, count)
        if truth > 1e-300:
            given = {"epsilon": epsilon, "delta": delta, "count": count}
            assert relative(optimal_composition_delta(composed, **given), truth) <= 5e-13


@pytest.mark.parametrize(
    ("count", "mu", "deviations"),
    [(10**6, 1e-3, 3), (10**6, 1, 33), (3 * 10**6, 300, 12), (10**7, 2, 25), (5 * 10**6, 0.01, 1e-3), (10**6, 1000, 5)],
)
def test_many_releases_summed_in_blocks(count, mu, deviations):
    epsilon = mu / math.sqrt(count)
    composed = count * epsilon * math.tanh(epsilon / 2) + deviations * mu / math.cosh(epsilon / 2)
    truth = definition(composed, epsilon, 0, count)
    assert relative(optimal_composition_delta(composed, epsilon=epsilon, count=count), truth) <= 5e-13


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 30, 1000, 10**6, 10**12])
def test_the_block_rule_is_exact_for_polynomials(size):
    points, weights = nodes(np.array([float(size)]))
    assert np.all(weights >= 0)
    for degree in range(10):
        truth = mpmath_sum(size, degree)
        assert abs(np.sum(weights * points**degree) - truth) <= 1e-14 * truth


def mpmath_sum(size, degree):
    """Return Σ_{j < size} j^degree (Faulhaber)."""
    with mpmath.workdps(120):
        whole = (mpmath.bernpoly(degree + 1, size) - mpmath.bernpoly(degree + 1, 0)) / (degree + 1)
        return mpmath.nint(whole)


def test_beyond_every_sum_the_limit_is_gaussian():
    """At a count of 1e15 the binomial is a normal to 1e-8: no hang, no loss of digits in the differences."""
    count, mu = 10**15, 1.5
    for composed in (0.0, 1.0, 6.0):
        computed = optimal_composition_delta(composed, epsilon=mu / math.sqrt(count), count=count)
        assert computed == pytest.approx(gaussian_delta(composed, mu=mu), rel=1e-6)
    most = optimal_composition_epsilon(1e-6, epsilon=1e-8, count=2**53)
    assert most == pytest.approx(gaussian_epsilon(1e-6, mu=1e-8 * math.sqrt(2**53)), rel=1e-6)


@given(EPSILONS, COUNTS, SLACKS, st.floats(0.001, 1))
def test_round_trip(epsilon, count, delta, share):
    given = {"epsilon": epsilon, "delta": delta, "count": count}
    composed = share * count * epsilon
    spent = optimal_composition_delta(composed, **given)
    back = optimal_composition_epsilon(spent, **given)
    again = optimal_composition_delta(back, **given)
    assert again == pytest.approx(spent, rel=1e-13, abs=1e-300)
    if composed_delta(delta, count=count) < 0.9 * spent < 0.8:
        assert back <= composed * (1 + 1e-9) + 1e-12 * epsilon


@given(EPSILONS, COUNTS, SLACKS)
def test_inverse_against_the_definition(epsilon, count, target):
    back = optimal_composition_epsilon(target, epsilon=epsilon, count=count)
    if back == 0:
        assert definition(0, epsilon, 0, count) <= target * (1 + 1e-12)
    else:
        with mpmath.workdps(60):
            wide = mpmath.mpf(back) * mpmath.mpf("1e-12") + mpmath.mpf("1e-16") * min(epsilon, 1)
            assert (
                definition(back + wide, epsilon, 0, count)
                <= target
                <= definition(max(back - wide, 0), epsilon, 0, count)
            )


@given(EPSILONS, COUNTS, SLACKS)
def test_delta_falls_and_is_convex_in_exp_epsilon(epsilon, count, delta):
    composed = np.linspace(0, count * epsilon * 1.01, 300)
    spent = optimal_composition_delta(composed, epsilon=epsilon, delta=delta, count=count)
    assert np.all(np.diff(spent) <= 1e-13 * spent[:-1])
    odds = np.expm1(composed) if count * epsilon < 500 else None
    if odds is not None:
        chord = spent[:-2] + (spent[2:] - spent[:-2]) * np.diff(odds)[:-1] / (odds[2:] - odds[:-2])
        assert np.all(spent[1:-1] <= chord * (1 + 1e-11) + 1e-15 * spent[0])
    assert spent[-1] == pytest.approx(composed_delta(delta, count=count), rel=1e-14)


@given(EPSILONS, SLACKS, SLACKS)
def test_cost_rises_with_count_and_is_below_every_other_bound(epsilon, delta, slack):
    count = np.unique(np.round(np.geomspace(1, 1e5, 40)))
    bound, total = kairouz_composition(epsilon, delta=delta / count, count=count, slack=slack)
    least = optimal_composition_epsilon(total, epsilon=epsilon, delta=delta / count, count=count)
    assert np.all(least <= bound * (1 + 1e-12))
    pure = optimal_composition_epsilon(slack, epsilon=epsilon, count=count)
    assert np.all(np.diff(pure) >= -1e-12 * pure[1:])


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 400), EPSILONS, SLACKS)
def test_arrays_are_what_scalars_are(size, top, epsilon, target):
    rng = np.random.default_rng(size)
    epsilons, counts = epsilon * rng.uniform(0.5, 2, (3, size)), np.ceil(top * 10 ** rng.uniform(0, 4, size))
    found = optimal_composition_epsilon(target, epsilon=epsilons, count=counts)
    spent = optimal_composition_delta(found, epsilon=epsilons, count=counts)
    assert found.shape == (3, size)
    for place in np.ndindex(3, size):
        alone = {"epsilon": epsilons[place], "count": counts[place[1]]}
        assert found[place] == pytest.approx(optimal_composition_epsilon(target, **alone), rel=1e-13)
        assert spent[place] == pytest.approx(optimal_composition_delta(found[place], **alone), rel=1e-12)


def test_against_the_distributions_of_dp_accounting():
    claim = common.DifferentialPrivacyParameters(0.3, 1e-6)
    once = privacy_loss_distribution.from_privacy_parameters(claim, value_discretization_interval=1e-4)
    many = once.self_compose(30)
    for composed in (0.0, 1.0, 3.0, 6.0):
        theirs, ours = (
            many.get_delta_for_epsilon(composed),
            optimal_composition_delta(composed, epsilon=0.3, delta=1e-6, count=30),
        )
        assert ours <= theirs <= 1.005 * ours


@given(EPSILONS, COUNTS, st.floats(-12, -1).map(lambda power: 10.0**power))
def test_epsilon_is_rounded_up(epsilon, count, target):
    """Near the sum of the epsilons a single rounding of epsilon moves delta: never above what was asked for."""
    back = optimal_composition_epsilon(target, epsilon=epsilon, count=count)
    assert optimal_composition_delta(back, epsilon=epsilon, count=count) <= target * (1 + 1e-13)


def test_room_that_is_left_beside_the_deltas_of_the_releases():
    count, delta = 1000, 1e-8
    total = composed_delta(delta, count=count)
    for extra in (1e-9, 1e-11, 1e-13):
        target = total + extra
        with mpmath.workdps(50):
            room = 1 - (1 - mpmath.mpf(target)) / (1 - mpmath.mpf(delta)) ** count
        epsilon = optimal_composition_epsilon(target, epsilon=0.01, delta=delta, count=count)
        assert epsilon == pytest.approx(optimal_composition_epsilon(float(room), epsilon=0.01, count=count), rel=1e-13)
    assert (
        optimal_composition_epsilon(np.nextafter(total, 0) * (1 - 1e-12), epsilon=0.01, delta=delta, count=count)
        == math.inf
    )
    assert optimal_composition_epsilon([delta, 0.3], epsilon=0.25, delta=[delta, 0.3], count=1).tolist() == [0.25, 0.25]


def test_ends():
    assert optimal_composition_delta(1.0, epsilon=0.0, delta=0.5, count=2) == 0.75
    assert optimal_composition_delta([1.0, 0.0], epsilon=0.5, delta=0.5, count=0).tolist() == [0.0, 0.0]
    assert optimal_composition_delta(math.inf, epsilon=1.0, delta=0.25, count=1) == pytest.approx(0.25, rel=1e-15)
    assert optimal_composition_delta(3.0, epsilon=1.0, count=3) == 0.0
    assert optimal_composition_delta(2.0, epsilon=1.0, delta=1.0, count=3) == 1.0
    assert optimal_composition_delta(0.0, epsilon=1e4, count=100) == 1.0
    assert optimal_composition_delta(1e6 - 1.0, epsilon=1e4, count=100) == pytest.approx(-math.expm1(-1.0), rel=1e-12)
    assert optimal_composition_delta(0.0, epsilon=1e300, count=100) == 1.0
    assert optimal_composition_epsilon(0.0, epsilon=0.5, count=4) == 2.0
    assert optimal_composition_epsilon(1.0, epsilon=0.5, delta=1.0, count=4) == 0.0
    assert optimal_composition_epsilon([0.0, 0.5], epsilon=0.5, count=0).tolist() == [0.0, 0.0]
    assert optimal_composition_epsilon(0.5, epsilon=0.0, delta=0.1, count=3) == 0.0
    assert optimal_composition_epsilon(0.1, epsilon=0.5, delta=0.2, count=1) == math.inf
    assert optimal_composition_epsilon(0.5, epsilon=1e4, count=7) == pytest.approx(7e4 - math.log(2), rel=1e-12)
    assert optimal_composition_epsilon(1e-300, epsilon=0.01, count=10**5) < 10**3
    assert optimal_composition_delta([], epsilon=0.5, count=4).shape == (0,)
    with pytest.raises(DomainError, match="count must be small enough that"):
        optimal_composition_delta(1e15, epsilon=1.0, count=2**52)
    with pytest.raises(DomainError, match="count must be a whole number"):
        optimal_composition_delta(1.0, epsilon=1.0, count=1.5)
    with pytest.raises(DomainError, match="composed_epsilon must be a number >= 0"):
        optimal_composition_delta(-1.0, epsilon=1.0, count=1)
