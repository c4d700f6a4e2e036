import math
import time

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings, strategies as st
from scipy.special import erf

from dpviz.accounting._checks import DomainError
from dpviz.accounting.approximate import ApproximateDP
from dpviz.accounting.gaussian import Gaussian, gaussian_delta
from dpviz.accounting.laplace import Laplace
from dpviz.accounting.mechanism import Mechanism
from dpviz.accounting.privacy_loss import Composition, Engine
from dpviz.accounting.profile import tradeoff_from_profile
from dpviz.accounting.randomized_response import RandomizedResponse
from dpviz.accounting.relation import Direction
from dpviz.accounting.subsampled import SubsampledGaussian
from tests.reference import distance, entries

FEW = settings(deadline=None, max_examples=25)
MECHANISMS = {
    "gaussian": lambda entry: Gaussian(sigma=1.0, sensitivity=entry["mu"]),
    "laplace": lambda entry: Laplace(scale=1.0, sensitivity=entry["eps0"]),
    "randomized_response": lambda entry: RandomizedResponse(entry["eps0"]),
}
DP_SGD = Composition(((SubsampledGaussian(1.0, sampling_probability=0.01), 1000),))
MIXED = Composition(
    (
        (Gaussian(2.0), 1),
        (Laplace(4.0), 2),
        (SubsampledGaussian(1.0, sampling_probability=0.01), 300),
        (ApproximateDP(epsilon=0.1, delta=1e-7), 2),
    )
)


@entries("ledger_delta")
def test_ledger_reference(inputs, value):
    ledger = Composition(tuple((MECHANISMS[entry["mech"]](entry), entry["count"]) for entry in inputs["ledger"]))
    assert distance(ledger.delta(inputs["eps"]), value) <= 1e-13


@entries("psg_kfold_delta")
def test_subsampled_gaussian_reference(inputs, value):
    """The greater of two directions; of an entry for ADD alone it is an upper bound."""
    delta = Composition(((SubsampledGaussian(inputs["sigma"], sampling_probability=inputs["q"]), inputs["k"]),)).delta(
        inputs["eps"]
    )
    if inputs["direction"] == "remove":
        assert distance(delta, value) <= 1e-13
    else:
        assert delta >= float(value) * (1 - 1e-13)


@entries("psg_kfold_eps")
def test_subsampled_gaussian_epsilon_reference(inputs, value):
    ledger = Composition(((SubsampledGaussian(inputs["sigma"], sampling_probability=inputs["q"]), inputs["k"]),))
    assert distance(ledger.epsilon(inputs["delta"]), value) <= 1e-13


@entries("laplace_kfold_delta")
def test_laplace_reference(inputs, value):
    ledger = Composition(((Laplace(scale=1.0, sensitivity=inputs["eps0"]), inputs["k"]),))
    assert distance(ledger.delta(inputs["eps"]), value) <= 1e-12


@entries("laplace_kfold_eps")
def test_laplace_epsilon_reference(inputs, value):
    ledger = Composition(((Laplace(scale=1.0, sensitivity=inputs["eps0"]), inputs["k"]),))
    assert distance(ledger.epsilon(inputs["delta"]), value) <= 1e-12


@entries("laplace_kfold_tradeoff")
def test_laplace_tradeoff_reference(inputs, value):
    ledger = Composition(((Laplace(scale=1.0, sensitivity=inputs["eps0"]), inputs["k"]),))
    assert distance(ledger.beta(inputs["alpha"]), value) <= 1e-12


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta", "epsilon"),
    [
        (0.8, 0.125, 1000, 1e-6, 56.726),
        (1.0, 0.2, 10, 1e-5, 4.984),
        (4.0, 0.01, 10_000, 1e-5, 0.947),
        (4.0, 0.01, 40_000, 1e-5, 2.033),
    ],
)
def test_published_runs(noise, rate, count, delta, epsilon):
    """Runs over which public accountants have disagreed, to the digits that are known of them."""
    assert Composition(((SubsampledGaussian(noise, sampling_probability=rate), count),)).epsilon(
        delta
    ) == pytest.approx(epsilon, abs=6e-4)


@FEW
@given(
    st.lists(st.tuples(st.floats(0.05, 2), st.integers(0, 4)), min_size=1, max_size=3),
    st.floats(0.05, 1.2),
    st.integers(1, 8),
    st.floats(0, 4),
)
def test_against_a_binomial_mixture(normals, s, count, epsilon):
    """The definition: randomised answers are enumerated, and the Gaussians are one."""
    ledger = Composition(
        (*((Gaussian(1.0, sensitivity=mu), times) for mu, times in normals), (RandomizedResponse(s), count))
    )
    with mpmath.workdps(40):
        mu = mpmath.sqrt(mpmath.fsum(times * mpmath.mpf(each) ** 2 for each, times in normals))
        true = 1 / (1 + mpmath.exp(-mpmath.mpf(s)))

        def once(bound):
            if mu == 0:
                return max(1 - mpmath.exp(bound), 0)
            u = bound / mu - mu / 2
            return mpmath.ncdf(-u) - mpmath.exp(bound) * mpmath.ncdf(-u - mu)

        truth = mpmath.fsum(
            mpmath.binomial(count, lies)
            * true ** (count - lies)
            * (1 - true) ** lies
            * once(mpmath.mpf(epsilon) - (count - 2 * lies) * mpmath.mpf(s))
            for lies in range(count + 1)
        )
    assert ledger.delta(epsilon) == pytest.approx(float(truth), rel=1e-10, abs=1e-300)


def test_it_is_a_mechanism_and_a_value():
    assert isinstance(MIXED, Mechanism)
    assert hash(DP_SGD) == hash(Composition([[SubsampledGaussian(1.0, sampling_probability=0.01), 1000.0]]))
    assert Composition(((DP_SGD, 2), (Gaussian(1.0), 3))).releases == (
        (SubsampledGaussian(1.0, sampling_probability=0.01), 2000),
        (Gaussian(1.0), 3),
    )


def test_order_grouping_and_zero_counts_do_not_matter():
    parts = (Gaussian(2.0), 3), (Laplace(4.0), 2), (Gaussian(5.0), 0)
    whole = Composition(parts).delta(1.0)
    assert Composition(parts[::-1]).delta(1.0) == pytest.approx(whole, rel=1e-14)
    split = (Gaussian(2.0), 1), (Laplace(4.0), 1), (Gaussian(2.0), 2), (Laplace(4.0), 1)
    assert Composition(split).delta(1.0) == pytest.approx(whole, rel=1e-14)
    assert Composition(((Composition(parts), 1),)).delta(1.0) == whole


@pytest.mark.parametrize("ledger", [DP_SGD, MIXED], ids=["dp-sgd", "mixed"])
def test_laws_of_a_profile(ledger):
    epsilon = np.linspace(0, 6, 61).reshape(1, 61)
    delta = ledger.delta(epsilon)
    assert delta.shape == (1, 61)
    curve = delta[0]
    assert (np.diff(curve) < 0).all()
    assert (np.diff(np.diff(curve) / np.diff(np.exp(epsilon[0]))) > -1e-13).all()  # convex in e^epsilon
    assert np.log(curve) == pytest.approx(ledger.log_delta(epsilon[0]), rel=1e-14)
    assert ledger.delta(1.5) == pytest.approx(np.interp(1.5, epsilon[0], curve), rel=1e-12)
    back = ledger.epsilon(curve[curve > 1e-6])
    assert back == pytest.approx(epsilon[0][curve > 1e-6], rel=1e-10, abs=1e-12)


@FEW
@given(st.floats(0.6, 3), st.floats(0.005, 0.3), st.integers(200, 20_000), st.floats(-12, -1))
def test_epsilon_and_delta_are_inverse(noise, rate, count, log_delta):
    ledger = Composition(((SubsampledGaussian(noise, sampling_probability=rate), count),))
    delta = 10**log_delta
    found = ledger.epsilon(delta)
    if found > 0:
        assert ledger.log_delta(found) == pytest.approx(math.log(delta), abs=1e-11)
    else:
        assert ledger.delta(0.0) <= delta


def test_more_releases_cost_more_and_a_mixture_more_than_its_parts():
    one = Composition(((SubsampledGaussian(1.0, sampling_probability=0.01), 500),))
    two = Composition(((SubsampledGaussian(1.0, sampling_probability=0.01), 500), (Laplace(20.0), 1)))
    epsilon = np.linspace(0, 3, 13)
    assert (one.delta(epsilon) < DP_SGD.delta(epsilon)).all()
    assert (one.delta(epsilon) < two.delta(epsilon)).all()
    assert (one.beta([0.1, 0.5]) > two.beta([0.1, 0.5])).all()


def test_the_worse_direction_counts():
    removed, added = (DP_SGD.loss_laws(direction) for direction in Direction)
    assert removed != added
    found = DP_SGD.account(epsilon=2.0)
    assert found.direction is Direction.REMOVE
    assert Composition(((Gaussian(1.0), 1), (Laplace(1.0), 1))).account(epsilon=1.0).direction is None


def test_renyi_divergences_add_up_and_bound_the_profile():
    orders = np.array([1.0, 1.5, 2.0, 16.0])
    parts = Gaussian(2.0).rdp(orders) + 2 * Laplace(4.0).rdp(orders)
    ledger = Composition(((Gaussian(2.0), 1), (Laplace(4.0), 2), (ApproximateDP(epsilon=1.0, delta=0.5), 0)))
    assert ledger.rdp(orders) == pytest.approx(parts, rel=1e-15)
    order = 16.0
    bound = ledger.rdp(order) + math.log(1e5) / (order - 1)
    assert ledger.epsilon(1e-5) < bound


def test_stranger():
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    step = dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(1.1))
    accountant.compose(dp_event.SelfComposedDpEvent(step, 400)).compose(dp_event.LaplaceDpEvent(5.0))
    ledger = Composition(((SubsampledGaussian(1.1, sampling_probability=0.02), 400), (Laplace(5.0), 1)))
    theirs = accountant.get_epsilon(1e-5)
    assert ledger.epsilon(1e-5) == pytest.approx(theirs, rel=1e-4)
    assert ledger.epsilon(1e-5) < theirs  # which is pessimistic


class TestEngines:
    def test_closed_forms_are_taken(self):
        for ledger in (
            Composition(((Gaussian(3.0), 5), (Gaussian(2.0), 1))),
            Composition(((Laplace(3.0), 50),)),
            Composition(((RandomizedResponse(0.3), 50),)),
            Composition(((RandomizedResponse(0.3), 5), (ApproximateDP(epsilon=0.2, delta=1e-6), 4))),
            Composition(((SubsampledGaussian(1.0, sampling_probability=0.1), 1),)),
            Composition(()),
        ):
            assert ledger.account(epsilon=0.5).engine is Engine.EXACT
            assert ledger.account(delta=1e-3, engine=Engine.EXACT).value == ledger.epsilon(1e-3)

    def test_the_gaussian_closed_form(self):
        assert Composition(((Gaussian(4.0), 16),)).delta(1.0) == gaussian_delta(1.0, mu=1.0)

    @pytest.mark.parametrize("count", [3000, 20_000])
    def test_contour_and_closed_form_agree_for_laplace(self, count):
        """Two roads that share nothing: piecewise polynomials, and an integral in the complex plane."""
        ledger = Composition(((Laplace(20.0), count),))
        for delta in (0.1, 1e-5, 1e-100):
            exact = ledger.account(delta=delta, engine=Engine.EXACT)
            contour = ledger.account(delta=delta, engine=Engine.CONTOUR)
            assert contour.value == pytest.approx(exact.value, rel=1e-12)
            assert exact.is_certified
            assert not contour.is_certified

    @pytest.mark.parametrize("ledger", [DP_SGD, MIXED], ids=["dp-sgd", "mixed"])
    @pytest.mark.parametrize("asked", [{"epsilon": 1.0}, {"delta": 1e-4}])
    def test_contour_lies_in_the_certified_bracket(self, ledger, asked):
        contour = ledger.account(**asked)
        lattice = ledger.account(**asked, tolerance=1e-3)
        assert (contour.engine, lattice.engine) == (Engine.CONTOUR, Engine.LATTICE)
        assert lattice.is_certified
        assert lattice.lower <= contour.value <= lattice.upper == lattice.value
        assert contour.lower <= contour.value <= contour.upper
        assert contour.error <= 1e-12 * contour.value
        assert lattice.error <= 1.1e-3 * max(lattice.upper, 0.5)

    def test_point_masses_are_handed_over(self):
        few = Composition(((Laplace(1.0), 3), (RandomizedResponse(0.5), 4)))
        assert few.account(epsilon=1.0).engine is Engine.QUADRATURE
        ledger = Composition(((Laplace(1.0), 3), (Laplace(1.5), 2), (RandomizedResponse(0.5), 4)))
        found = ledger.account(epsilon=1.0)
        assert found.engine is Engine.LATTICE
        assert "points" in found.note
        assert found.lower <= ledger.delta(1.0) <= found.upper * (1 + 1e-6)
        with pytest.raises(DomainError, match="points"):
            ledger.account(epsilon=1.0, engine=Engine.CONTOUR)

    def test_refusals(self):
        with pytest.raises(DomainError, match="no closed form"):
            MIXED.account(epsilon=1.0, engine=Engine.EXACT)
        with pytest.raises(DomainError, match="certifies nothing"):
            MIXED.account(epsilon=1.0, engine=Engine.CONTOUR, tolerance=0.1)
        with pytest.raises(DomainError, match="one of best"):
            MIXED.account(epsilon=1.0, engine="magic")
        with pytest.raises(DomainError, match="tolerance"):
            Composition(((Gaussian(1.0), 1), (Laplace(1.0), 1))).account(epsilon=1.0, tolerance=1e-15)
        for tolerance in (0.0, 1.0, -1.0, math.nan):
            with pytest.raises(DomainError, match="tolerance"):
                DP_SGD.account(epsilon=1.0, tolerance=tolerance)


class TestEnds:
    def test_nothing_costs_nothing(self):
        for nothing in (
            Composition(()),
            Composition(((Gaussian(1.0), 0), (Laplace(1.0), 0))),
            Composition(((SubsampledGaussian(1.0, sampling_probability=0.0), 5),)),
            Composition(((Gaussian(1.0, sensitivity=0.0), 5), (RandomizedResponse(0.0), 3))),
        ):
            assert nothing.delta([0.0, 1.0, math.inf]).tolist() == [0.0, 0.0, 0.0]
            assert nothing.epsilon([0.0, 1e-5, 1.0]).tolist() == [0.0, 0.0, 0.0]
            assert nothing.beta(0.25) == 0.75
            assert nothing.rdp(2.0) == 0
            assert nothing.account(epsilon=1.0).value == 0

    def test_every_record_sampled_is_no_sampling(self):
        assert Composition(((SubsampledGaussian(2.0, sampling_probability=1.0), 4),)).delta(1.0) == gaussian_delta(
            1.0, mu=1.0
        )

    def test_extreme_questions(self):
        assert DP_SGD.delta(math.inf) == 0
        assert DP_SGD.log_delta(math.inf) == -math.inf
        assert DP_SGD.delta(1e4) == 0
        assert DP_SGD.log_delta(200.0) < -1000
        assert DP_SGD.epsilon(0.0) == math.inf
        assert DP_SGD.epsilon(1.0) == 0
        assert DP_SGD.epsilon(0.9) == 0
        assert DP_SGD.epsilon(DP_SGD.delta(0.0) * (1 + 1e-9)) == 0

    def test_a_bounded_loss_has_an_end(self):
        ledger = Composition(((Laplace(2.0), 3), (Laplace(4.0), 1)))
        assert ledger.epsilon(0.0) == 1.75
        assert ledger.delta([1.75, 2.0, 1e4]).tolist() == [0, 0, 0]
        assert ledger.beta([0.0, 1.0]).tolist() == pytest.approx([1.0, 0.0], abs=1e-12)

    def test_mass_at_infinity(self):
        kept = (1 - 1e-7) ** 2
        assert MIXED.delta(math.inf) == pytest.approx(1 - kept, rel=1e-8)
        assert MIXED.epsilon(1e-7) == math.inf
        assert MIXED.epsilon(1e-300) == math.inf
        assert MIXED.epsilon(3e-7) > MIXED.epsilon(1e-6)
        assert MIXED.beta(0.0) == pytest.approx(kept, rel=1e-14)
        everything = Composition(((ApproximateDP(epsilon=1.0, delta=1.0), 1), (Gaussian(1.0), 1)))
        assert everything.delta([0.0, 1.0]).tolist() == [1.0, 1.0]
        assert everything.beta(0.5) == 0

    @pytest.mark.parametrize(
        "asked", [{"epsilon": 0.0}, {"epsilon": 1.0}, {"epsilon": 1e4}, {"delta": 1e-5}, {"delta": 0.5}]
    )
    def test_huge_counts_do_not_hang(self, asked):
        start = time.perf_counter()
        for part in (
            SubsampledGaussian(100.0, sampling_probability=0.5),
            SubsampledGaussian(2.0, sampling_probability=1e-5),
            Laplace(1e4),
        ):
            found = Composition(((part, 10**9), (Gaussian(10.0), 1))).account(**asked)
            assert 0 <= found.value < math.inf
        assert time.perf_counter() - start < 30

    def test_total_variation_at_zero(self):
        ledger = Composition(((Gaussian(10.0), 1), (SubsampledGaussian(20.0, sampling_probability=0.5), 4)))
        assert ledger.delta(0.0) < erf(math.hypot(0.1, 0.1) / math.sqrt(8))
        assert ledger.delta(0.0) > erf(0.1 / math.sqrt(8))


class TestTradeoff:
    ALPHA = np.concatenate([[0, 1e-12, 1e-4], np.linspace(0.02, 0.98, 25), [1 - 1e-9, 1]])

    @pytest.mark.parametrize("ledger", [DP_SGD, MIXED], ids=["dp-sgd", "mixed"])
    def test_it_is_a_symmetric_tradeoff_function(self, ledger):
        beta = ledger.beta(self.ALPHA)
        assert (beta <= 1 - self.ALPHA).all()
        assert (np.diff(beta) <= 0).all()
        assert (np.diff(np.diff(beta) / np.diff(self.ALPHA)) > -1e-9).all()
        inner = self.ALPHA[3:-2]
        assert ledger.beta(ledger.beta(inner)) == pytest.approx(inner, rel=1e-11)

    @pytest.mark.parametrize("ledger", [DP_SGD, MIXED], ids=["dp-sgd", "mixed"])
    def test_it_is_dual_to_the_profile(self, ledger):
        alpha = np.array([0.003, 0.1, 0.4, 0.7])
        epsilon = np.linspace(0, 8, 200)
        lines = 1 - ledger.delta(epsilon)[:, None] - np.multiply.outer(np.exp(epsilon), alpha)
        mirrored = np.exp(-epsilon)[:, None] * (1 - ledger.delta(epsilon)[:, None] - alpha)
        supported = np.maximum(lines.max(axis=0), mirrored.max(axis=0))
        beta = ledger.beta(alpha)
        assert (supported <= beta + 1e-14).all()
        assert supported == pytest.approx(beta, abs=2e-4)

    def test_against_the_search_over_the_profile(self):
        ledger = Composition(((Gaussian(2.0), 1), (Laplace(3.0), 2)))
        alpha = np.array([0.05, 0.4])
        assert ledger.beta(alpha) == pytest.approx(tradeoff_from_profile(alpha, delta=ledger.delta), rel=1e-12)

    def test_a_part_alone_gives_no_less(self):
        alpha = np.linspace(0.01, 0.99, 9)
        assert (MIXED.beta(alpha) < Gaussian(2.0).beta(alpha)).all()


@pytest.mark.parametrize(
    "releases", [5, ((Gaussian(1.0),),), ((Gaussian(1.0), 1, 2),), (("gaussian", 1),), ((Gaussian(1.0), True),), "ab"]
)
def test_what_is_no_ledger_is_refused(releases):
    with pytest.raises(TypeError):
        Composition(releases)


@pytest.mark.parametrize("count", [-1, 0.5, math.nan, 2**60])
def test_a_count_out_of_range(count):
    with pytest.raises(DomainError, match="count must be a whole number"):
        Composition(((Gaussian(1.0), count),))


def test_questions_out_of_range():
    for ask in (DP_SGD.delta, DP_SGD.log_delta):
        with pytest.raises(DomainError, match="epsilon"):
            ask(-1.0)
    for ask in (DP_SGD.epsilon, DP_SGD.beta):
        with pytest.raises(DomainError):
            ask(1.5)
    with pytest.raises(DomainError, match="order"):
        DP_SGD.rdp(0.5)
    for wrong in ({}, {"epsilon": 1.0, "delta": 0.1}):
        with pytest.raises(TypeError, match="exactly one"):
            DP_SGD.account(**wrong)
    with pytest.raises(TypeError):
        DP_SGD.account(epsilon=[1.0, 2.0])


def test_empty_arrays_stay_empty():
    assert DP_SGD.delta([]).shape == (0,)
    assert DP_SGD.epsilon(np.empty((2, 0))).shape == (2, 0)
