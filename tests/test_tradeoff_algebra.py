import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpviz.accounting._checks import DomainError
from dpviz.accounting.gaussian import gaussian_beta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.piecewise_tradeoff import discrete_tradeoff
from dpviz.accounting.tradeoff import approximate_dp_tradeoff
from dpviz.accounting.tradeoff_algebra import LARGEST_GROUP, compose_gaussian_tradeoffs, group_tradeoff

ALPHAS = np.linspace(0, 1, 301)


@given(st.lists(st.floats(0, 3), min_size=1, max_size=6))
@settings(deadline=None, max_examples=50)
def test_composing_adds_the_squares(mus):
    composed = compose_gaussian_tradeoffs(ALPHAS, mus=mus)
    assert composed == pytest.approx(gaussian_beta(ALPHAS, mu=float(np.linalg.norm(mus))), rel=1e-11, abs=1e-300)
    assert np.all(composed <= gaussian_beta(ALPHAS, mu=max(mus)) + 1e-15)


def test_composing_is_the_curve_of_two_gaussians_seen_at_once():
    """By definition: the test between product laws, here on a fine grid of both outputs."""
    x = np.linspace(-8, 9, 681)
    density = np.exp(-(x**2) / 2)
    blind, first, second = (np.exp(-((x - shift) ** 2) / 2) / density.sum() for shift in (0.0, 0.6, 0.8))
    curve = discrete_tradeoff(
        np.outer(first / first.sum(), second / second.sum()).ravel(), q=np.outer(blind, blind).ravel()
    )
    assert curve.beta(ALPHAS) == pytest.approx(compose_gaussian_tradeoffs(ALPHAS, mus=[0.6, 0.8]), abs=2e-4)


def test_composing_broadcasts_and_takes_no_axis_for_another():
    assert compose_gaussian_tradeoffs(ALPHAS[:, np.newaxis], mus=np.ones((4, 2))).shape == (301, 4)
    assert isinstance(compose_gaussian_tradeoffs(0.1, mus=[1.0, 1.0]), float)


@given(st.floats(0.01, 1.5), st.integers(1, 8))
@settings(deadline=None, max_examples=50)
def test_a_group_of_gaussian_and_of_laplace_has_as_many_times_the_parameter(mu, size):
    gaussian = group_tradeoff(ALPHAS, tradeoff=lambda a: gaussian_beta(a, mu=mu), group_size=size)
    assert gaussian == pytest.approx(gaussian_beta(ALPHAS, mu=size * mu), abs=1e-11)
    laplace = group_tradeoff(ALPHAS, tradeoff=Laplace(scale=1 / mu).beta, group_size=size)
    assert laplace == pytest.approx(Laplace(scale=1 / mu, sensitivity=size).beta(ALPHAS), abs=1e-11)


@given(st.floats(0, 2), st.floats(0, 0.2), st.integers(2, 5))
@settings(deadline=None, max_examples=50)
def test_a_group_under_one_guarantee_keeps_the_known_group_guarantee(epsilon, delta, size):
    """The walk along the curve is never weaker than (kε, δ (e^{kε} − 1)/(e^ε − 1))."""
    walked = group_tradeoff(
        ALPHAS, tradeoff=lambda a: approximate_dp_tradeoff(a, epsilon=epsilon, delta=delta), group_size=size
    )
    slack = min(1.0, delta * sum(np.exp(epsilon * np.arange(size))))
    assert np.all(walked >= approximate_dp_tradeoff(ALPHAS, epsilon=size * epsilon, delta=slack) - 1e-12)


def test_groups_grow_worse_and_who_is_blind_stays_blind():
    sizes = [group_tradeoff(ALPHAS, tradeoff=lambda a: gaussian_beta(a, mu=0.2), group_size=k) for k in (1, 2, 3)]
    assert np.all(np.diff(sizes, axis=0) <= 1e-15)
    assert group_tradeoff(0.3, tradeoff=lambda a: 1 - a, group_size=LARGEST_GROUP) == 0.7
    assert group_tradeoff(0.3, tradeoff=np.zeros_like, group_size=2) == 0.0


@pytest.mark.parametrize("size", [0, -1, 1.5, LARGEST_GROUP + 1])
def test_no_group_of_another_size(size):
    with pytest.raises(DomainError, match="group_size"):
        group_tradeoff(0.1, tradeoff=Laplace(1.0).beta, group_size=size)


def test_what_is_no_error_rate_is_refused():
    with pytest.raises(DomainError, match=r"tradeoff\(alpha\)"):
        group_tradeoff(0.1, tradeoff=lambda a: a + 1, group_size=2)
    with pytest.raises(TypeError):
        group_tradeoff(0.1, tradeoff=Laplace(1.0).beta, group_size=[1, 2])
