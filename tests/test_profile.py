import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import Gaussian, gaussian_beta, gaussian_delta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.piecewise_tradeoff import discrete_tradeoff
from dpviz.accounting.profile import (
    hockey_stick_divergence,
    profile_from_tradeoff,
    tradeoff_from_guarantees,
    tradeoff_from_profile,
)
from dpviz.accounting.tradeoff import approximate_dp_tradeoff
from tests.reference import distance, entries

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-12, 0.1, 40), np.linspace(0.1, 1, 60)])
EPSILONS = np.linspace(-6, 6, 61)
PAIRS = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 30), min_size=n, max_size=n).filter(any) for _ in range(2)])
)
FINE = settings(deadline=None, max_examples=40)


def laws(pair):
    return tuple(np.array(row) / sum(row) for row in pair)


@entries("laplace_kfold_tradeoff")
def test_reference_by_duality(inputs, value):
    from dpviz.accounting.laplace_composition import laplace_composed_delta

    def delta(epsilon):
        return laplace_composed_delta(epsilon, pure_epsilon=inputs["eps0"], count=inputs["k"])

    assert distance(tradeoff_from_profile(inputs["alpha"], delta=delta), value) <= 1e-12


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.5, 1.0, 4.0])
def test_gaussian_curve_by_duality(mu):
    level = np.append(ALPHAS, 1 - np.geomspace(1e-15, 0.1, 20))
    found, truth = tradeoff_from_profile(level, delta=Gaussian(sigma=1 / mu).delta), gaussian_beta(level, mu=mu)
    assert found == pytest.approx(truth, rel=0, abs=2e-15)
    assert np.all(np.abs(found - truth)[level > 0.5] <= 1e-12 * truth[level > 0.5])


@pytest.mark.parametrize("pure_epsilon", [1e-8, 0.01, 1.0, 20.0])
def test_laplace_curve_by_duality_whose_dual_has_kinks(pure_epsilon):
    mechanism = Laplace(scale=1 / pure_epsilon)
    assert tradeoff_from_profile(ALPHAS, delta=mechanism.delta) == pytest.approx(mechanism.beta(ALPHAS), abs=5e-15)


@given(st.floats(0, 12), st.floats(0, 1))
@FINE
def test_the_curve_of_one_guarantee_comes_from_its_profile(epsilon, delta):
    def best(e):  # the largest profile that (epsilon, delta) allows, below epsilon as well
        steep = delta + (1 - delta) * (math.exp(epsilon) - np.exp(np.minimum(e, epsilon))) / (1 + math.exp(epsilon))
        return np.where(e >= epsilon, delta, steep)

    found = tradeoff_from_profile(ALPHAS, delta=best)
    assert found == pytest.approx(approximate_dp_tradeoff(ALPHAS, epsilon=epsilon, delta=delta), abs=1e-14)


@given(PAIRS)
@FINE
def test_a_pair_that_is_not_symmetric_needs_both_profiles(pair):
    p, q = laws(pair)
    curve = discrete_tradeoff(p, q=q)
    found = tradeoff_from_profile(
        ALPHAS,
        delta=lambda e: hockey_stick_divergence(p, q=q, epsilon=e),
        reversed_delta=lambda e: hockey_stick_divergence(q, q=p, epsilon=e),
    )
    assert found == pytest.approx(curve.beta(ALPHAS), abs=2e-14)
    assert profile_from_tradeoff(EPSILONS, tradeoff=curve.beta) == pytest.approx(curve.delta(EPSILONS), abs=2e-14)


@pytest.mark.parametrize("mu", [1e-6, 0.3, 2.0, 8.0])
def test_gaussian_profile_by_duality(mu):
    size = np.abs(EPSILONS)
    upper = gaussian_delta(size, mu=mu)
    signed = np.where(EPSILONS >= 0, upper, -np.expm1(-size) + np.exp(-size) * upper)
    found = profile_from_tradeoff(EPSILONS, tradeoff=lambda a: gaussian_beta(a, mu=mu))
    assert found == pytest.approx(signed, rel=0, abs=2e-15)


@given(st.floats(0.05, 4))
@settings(deadline=None, max_examples=5)
def test_there_and_back(mu):
    def profile(epsilon):
        return profile_from_tradeoff(epsilon, tradeoff=lambda a: gaussian_beta(a, mu=mu))

    level = np.array([0.01, 0.2, 0.7])
    assert tradeoff_from_profile(level, delta=profile) == pytest.approx(gaussian_beta(level, mu=mu), abs=1e-14)


@given(PAIRS)
@FINE
def test_divergence_is_the_best_event_and_falls_with_epsilon(pair):
    """By definition: the sum over the event where p exceeds e^ε q, and no event does better."""
    p, q = laws(pair)
    found = hockey_stick_divergence(p, q=q, epsilon=EPSILONS)
    assert np.all(np.diff(found) <= 1e-15)
    for epsilon, value in zip(EPSILONS[::10], found[::10], strict=True):
        events = (np.arange(2 ** len(p))[:, None] >> np.arange(len(p))) & 1
        assert value == pytest.approx(max(events @ p - math.exp(epsilon) * (events @ q)), abs=1e-13)


def test_divergence_keeps_its_digits_and_its_ends():
    p, q = np.array([1e-300, 1.0]), np.array([0.0, 1.0])
    assert hockey_stick_divergence(p, q=q, epsilon=[0.0, 5.0, 1e4, np.inf]).tolist() == [1e-300] * 4
    assert hockey_stick_divergence([1.0], q=[1.0], epsilon=-np.inf) == 1.0
    narrow = hockey_stick_divergence([1e-10, 1 - 1e-10], q=[1e-320, 1.0], epsilon=[700.0, 710.0, 720.0])
    with mpmath.workdps(30):
        truth = [mpmath.mpf(1e-10) - mpmath.exp(e) * mpmath.mpf(1e-320) for e in (700, 710)]
    assert narrow.tolist() == pytest.approx([float(x) for x in truth] + [0.0], rel=1e-12)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), min_size=1, max_size=5))
@FINE
def test_a_list_of_guarantees_promises_the_best_of_each(guarantees):
    epsilons, deltas = zip(*guarantees, strict=True)
    found = tradeoff_from_guarantees(ALPHAS, epsilons=epsilons, deltas=deltas)
    each = [approximate_dp_tradeoff(ALPHAS, epsilon=e, delta=d) for e, d in guarantees]
    assert found.tolist() == np.max(each, axis=0).tolist()


@given(st.floats(0.1, 3), st.lists(st.floats(0, 6), min_size=1, max_size=6))
@FINE
def test_guarantees_of_a_mechanism_stay_below_its_curve(mu, epsilons):
    found = tradeoff_from_guarantees(ALPHAS, epsilons=epsilons, deltas=gaussian_delta(epsilons, mu=mu))
    assert np.all(found <= gaussian_beta(ALPHAS, mu=mu) + 1e-15)


def test_ends_and_shapes():
    released = Laplace(scale=1.0)
    assert tradeoff_from_profile([0.0, 1.0], delta=released.delta).tolist() == [1.0, 0.0]
    assert isinstance(tradeoff_from_profile(0.5, delta=released.delta), float)
    assert tradeoff_from_profile(np.empty((0, 2)), delta=released.delta).shape == (0, 2)
    assert tradeoff_from_profile(np.full((3, 2), 0.1), delta=released.delta).shape == (3, 2)
    assert tradeoff_from_profile(np.full(5000, 0.5), delta=released.delta)[-1] == pytest.approx(np.exp(-1) / 2)
    assert tradeoff_from_profile([0.0, 0.3], delta=np.ones_like).tolist() == [0.0, 0.0]
    assert tradeoff_from_profile([0.0, 0.3], delta=np.zeros_like).tolist() == [1.0, 0.7]
    blind = profile_from_tradeoff([-3000.0, 0.0, 3000.0], tradeoff=lambda a: 1 - a)
    assert blind == pytest.approx([1.0, 0.0, 0.0], rel=0, abs=1e-15)
    assert profile_from_tradeoff([-3.0, 0.0, 3.0], tradeoff=np.zeros_like) == pytest.approx([1.0, 1.0, 1.0], abs=1e-15)
    assert isinstance(hockey_stick_divergence([1.0], q=[1.0], epsilon=0.0), float)


def test_what_is_out_of_range_is_refused():
    with pytest.raises(DomainError, match=r"delta\(epsilon\)"):
        tradeoff_from_profile(0.1, delta=lambda e: e)
    with pytest.raises(DomainError, match=r"tradeoff\(alpha\)"):
        profile_from_tradeoff(0.1, tradeoff=lambda a: a - 1)
    with pytest.raises(DomainError, match="alpha"):
        tradeoff_from_profile(1.5, delta=Laplace(1.0).delta)
    with pytest.raises(DomainError, match="epsilon"):
        profile_from_tradeoff(math.inf, tradeoff=Laplace(1.0).beta)
    with pytest.raises(DomainError, match="deltas"):
        tradeoff_from_guarantees(0.1, epsilons=[1.0, 2.0], deltas=[0.1])
    with pytest.raises(DomainError, match="epsilon"):
        hockey_stick_divergence([1.0], q=[1.0], epsilon=math.nan)
