import math

import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters
from hypothesis import given, strategies as st

from dpviz import DomainError, Gaussian, Mechanism
from dpviz.accounting.approximate import ApproximateDP, PureDP
from dpviz.accounting.randomized_response import RandomizedResponse
from dpviz.accounting.randomized_response_law import RandomizedResponseLaw
from dpviz.accounting.relation import Direction

CLAIMS = st.builds(
    lambda epsilon, delta: ApproximateDP(epsilon=epsilon, delta=delta), st.floats(0, 30), st.floats(0, 1)
)


@given(CLAIMS, st.floats(0, 40))
def test_delta_is_that_of_the_worst_mechanism(claim, epsilon):
    """The divergence of the law that numeric composition is told: what names its input counts whole."""
    law = claim.loss_law(Direction.REMOVE)
    rest = sum(math.exp(log_mass) * max(0.0, -math.expm1(epsilon - loss)) for loss, log_mass in law.atoms)
    assert claim.delta(epsilon) == pytest.approx(law.infinite_mass + (1 - law.infinite_mass) * rest, rel=1e-13)


@given(CLAIMS, st.floats(0, 1))
def test_the_claim_itself_comes_back(claim, share):
    assert claim.delta(claim.claimed_epsilon) == claim.claimed_delta
    delta = claim.claimed_delta + share * (claim.delta(0.0) - claim.claimed_delta)
    epsilon = claim.epsilon(delta)
    assert 0 <= epsilon <= claim.claimed_epsilon
    assert claim.delta(epsilon) == pytest.approx(delta, rel=1e-12, abs=1e-14)


@given(CLAIMS, st.floats(0, 1))
def test_beta_is_the_envelope_of_the_profile(claim, alpha):
    losses = np.array([0.0, claim.claimed_epsilon])
    delta = claim.delta(losses)
    steep, flat = 1 - delta - np.exp(losses) * alpha, np.exp(-losses) * (1 - delta - alpha)
    assert claim.beta(alpha) == pytest.approx(max(steep.max(), flat.max(), 0.0), rel=1e-9, abs=1e-14)


def test_nothing_with_the_guarantee_is_worse():
    gaussian = Gaussian(sigma=3.0)
    claim = ApproximateDP(epsilon=gaussian.epsilon(1e-5), delta=1e-5)
    epsilon, alpha = np.linspace(0, 3, 61), np.linspace(0, 1, 101)
    assert (gaussian.delta(epsilon) <= claim.delta(epsilon) * (1 + 1e-12)).all()
    assert (gaussian.beta(alpha) >= claim.beta(alpha) - 1e-15).all()


def test_delta_against_a_stranger():
    stranger = from_privacy_parameters(DifferentialPrivacyParameters(1.0, 1e-3), value_discretization_interval=0.1)
    claim = ApproximateDP(epsilon=1.0, delta=1e-3)
    for epsilon in (0.0, 0.5, 0.9, 1.0, 2.0):
        assert claim.delta(epsilon) == pytest.approx(stranger.get_delta_for_epsilon(epsilon), rel=1e-9)


def test_pure_is_approximate_with_no_slack():
    pure = PureDP(2.0)
    assert isinstance(pure, ApproximateDP)
    assert isinstance(pure, Mechanism)
    assert (pure.claimed_epsilon, pure.claimed_delta) == (2.0, 0.0)
    asked, at = RandomizedResponse(2.0), np.linspace(0, 1, 11)
    assert pure.delta(3 * at) == pytest.approx(asked.delta(3 * at), rel=1e-15)
    assert pure.epsilon(at) == pytest.approx(asked.epsilon(at), rel=1e-15)
    assert pure.beta(at) == pytest.approx(asked.beta(at), rel=1e-12, abs=1e-15)
    assert pure.rdp([1.0, 2.0, 50.0]).tolist() == asked.rdp([1.0, 2.0, 50.0]).tolist()
    assert pure.loss_law(Direction.ADD) == asked.loss_law(Direction.ADD)


def test_ends_and_refusals():
    claim = ApproximateDP(epsilon=1.0, delta=0.25)
    assert claim.loss_law(Direction.ADD) == RandomizedResponseLaw(1.0, infinite_mass=0.25)
    assert claim.epsilon([0.0, 0.25, 1.0]).tolist() == [math.inf, 1.0, 0.0]
    assert claim.delta(math.inf) == 0.25
    assert claim.rdp([1.0, 2.0]).tolist() == [math.inf, math.inf]
    assert claim == ApproximateDP(epsilon=1.0, delta=0.25) != ApproximateDP(epsilon=1.0, delta=0.0)
    assert hash(claim) == hash(ApproximateDP(epsilon=1.0, delta=0.25))
    lost = ApproximateDP(epsilon=0.0, delta=1.0)
    assert (lost.delta(5.0), lost.epsilon(0.9), lost.epsilon(1.0), lost.beta(0.0)) == (1.0, math.inf, 0.0, 0.0)
    free = ApproximateDP(epsilon=0.0, delta=0.0)
    assert (free.delta(0.0), free.epsilon(0.0), free.beta(0.25), free.rdp(2.0)) == (0.0, 0.0, 0.75, 0.0)
    for wrong in ({"epsilon": -1.0, "delta": 0.0}, {"epsilon": 1.0, "delta": 1.1}, {"epsilon": math.inf, "delta": 0.0}):
        with pytest.raises(DomainError):
            ApproximateDP(**wrong)
    with pytest.raises(TypeError):
        ApproximateDP(1.0, 0.1)
    with pytest.raises(TypeError):
        ApproximateDP(epsilon=[1.0, 2.0], delta=0.1)
