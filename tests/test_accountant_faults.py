"""More kinds of fault that accountants were reported for: composition, conversion, calibration; one test each."""

import math
import tracemalloc

import numpy as np
import pytest

from dpviz import (
    ApproximateDP,
    Composition,
    Conversion,
    Direction,
    Gaussian,
    Laplace,
    RandomizedResponse,
    SubsampledGaussian,
    advanced_bound,
    basic_bound,
    calibrate_gaussian,
    calibrate_gaussian_with,
    calibrate_laplace,
    calibrate_laplace_composed,
    calibrate_subsampled_gaussian,
    classical_gaussian_delta,
    classical_gaussian_limit,
    classical_gaussian_sigma,
    exact_epsilon,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_tradeoff,
    improved_bound,
    integer_order_bound,
    kairouz_composition,
    laplace_composed_delta,
    laplace_composed_epsilon,
    laplace_half_width,
    laplace_rdp,
    largest_count,
    optimal_composition_epsilon,
    optimal_heterogeneous_epsilon,
    poisson_limit_mu,
    randomized_response_rdp,
    rdp_bound,
    rdp_optimal_epsilon,
    rdp_to_epsilon_improved,
    scale_for_accuracy,
    sigma_for_accuracy,
    subsampled_gaussian_delta,
    subsampled_gaussian_epsilon,
    subsampled_gaussian_rdp,
    zcdp_to_epsilon,
)
from dpviz.accounting.subsampled_law import SubsampledGaussianLaw

BOUNDS = (exact_epsilon, rdp_bound, improved_bound, basic_bound, advanced_bound)


def steps(sigma, rate, count):
    return Composition(((SubsampledGaussian(sigma, sampling_probability=rate), count),))


# ------------------------------------------------------------------------------- calibration misses its target


def test_noise_handed_back_never_costs_more_than_the_target():
    rng = np.random.default_rng(7)
    for _ in range(6):
        epsilon, delta = float(10 ** rng.uniform(-0.5, 1)), float(10 ** rng.uniform(-9, -4))
        rate, count = float(10 ** rng.uniform(-2.5, -0.5)), int(10 ** rng.uniform(2, 3.5))
        sigma = calibrate_subsampled_gaussian(epsilon, delta=delta, sampling_probability=rate, count=count)
        back = steps(sigma, rate, count).epsilon(delta)
        assert epsilon * 0.999 <= back <= epsilon
    epsilons, deltas = 10 ** rng.uniform(-2, 2, 200), 10 ** rng.uniform(-12, -2, 200)
    counts = np.floor(10 ** rng.uniform(0, 6, 200))
    sigmas = calibrate_gaussian(epsilons, delta=deltas, count=counts)
    costs = gaussian_delta(epsilons, mu=np.sqrt(counts) / sigmas)
    assert np.all(costs <= deltas * (1 + 1e-12))
    assert np.all(exact_epsilon(count=counts, sigma=sigmas, delta=deltas) >= 0.999 * epsilons)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
def test_search_and_report_share_one_accountant(bound):
    sigma = calibrate_gaussian_with(bound, epsilon=8.0, delta=1e-5, count=300)
    assert 8.0 * (1 - 1e-9) <= bound(count=300, sigma=sigma, delta=1e-5) <= 8.0


def test_noise_is_no_more_than_needed():
    assert calibrate_gaussian(0.1, delta=1e-5, count=60) == pytest.approx(238.185, rel=1e-5)
    full = calibrate_subsampled_gaussian(0.1, delta=1e-5, sampling_probability=1.0, count=60)
    assert full == pytest.approx(238.185, rel=1e-5)


def test_both_branches_of_the_analytic_calibration_agree_at_the_switch():
    switch = 0.5 - math.e * 0.07864960352514251  # Φ(−√2)
    at = calibrate_gaussian(1.0, delta=switch)
    assert at == pytest.approx(math.sqrt(0.5), rel=1e-12)
    for delta in (switch * (1 - 1e-9), switch * (1 + 1e-9)):
        sigma = calibrate_gaussian(1.0, delta=delta)
        assert sigma == pytest.approx(at, rel=1e-8)
        assert gaussian_delta(1.0, mu=1 / sigma) == pytest.approx(delta, rel=1e-13)


# ------------------------------------------------------------------------------------------------- root finders


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 50.0, 500.0])
def test_every_calibration_brackets_its_root(epsilon):
    assert 0 < calibrate_gaussian(epsilon, delta=1e-5) < math.inf
    assert calibrate_laplace(epsilon) == pytest.approx(1 / epsilon)
    scale = calibrate_laplace_composed(epsilon, delta=1e-5, count=20)
    assert 0.99 * epsilon <= laplace_composed_epsilon(1e-5, pure_epsilon=1 / scale, count=20) <= epsilon
    for bound in BOUNDS:
        sigma = calibrate_gaussian_with(bound, epsilon=epsilon, delta=1e-5, count=10)
        assert bound(count=10, sigma=sigma, delta=1e-5) <= epsilon
    sigma = calibrate_subsampled_gaussian(epsilon, delta=1e-5, sampling_probability=0.1, count=100)
    assert 0.99 * epsilon <= steps(sigma, 0.1, 100).epsilon(1e-5) <= epsilon


def test_answers_far_from_one_are_found():
    assert calibrate_laplace(1.01) == pytest.approx(0.990099, rel=1e-6)
    assert calibrate_laplace(1e12) <= 1e-12 * (1 + 1e-15)
    assert calibrate_laplace(1e-17) == pytest.approx(1e17)
    assert gaussian_delta(1e-17, mu=1 / calibrate_gaussian(1e-17, delta=1e-18)) == pytest.approx(1e-18, rel=1e-13)


@pytest.mark.parametrize("delta", [1e-200, 1e-320])
def test_signs_are_compared_and_never_multiplied(delta):
    sigma = calibrate_gaussian(1.0, delta=delta)
    assert gaussian_log_delta(1.0, mu=1 / sigma) == pytest.approx(math.log(delta), rel=1e-12)


# ------------------------------------------------------------------------------------------------ discretisation


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta", "epsilon", "within"),
    [
        (0.8, 0.125, 1000, 1e-6, 56.726, 1e-4),
        (1.0, 0.2, 10, 1e-5, 4.98421, 1e-4),
        (4.0, 0.01, 10_000, 1e-5, 0.94687, 1e-4),
        (4.0, 0.01, 40_000, 1e-5, 2.033, 1e-3),
        (3.0, 0.2, 50, 1 / 48_000, 1.9608, 1e-4),
    ],
)
def test_ordinary_settings_are_not_refused_and_match_the_peers(sigma, rate, count, delta, epsilon, within):
    assert steps(sigma, rate, count).epsilon(delta) == pytest.approx(epsilon, rel=within)


def test_no_grid_of_an_earlier_count_is_left_over():
    first = steps(1.0, 0.2, 10).epsilon(1e-5)
    steps(1.0, 0.2, 500).epsilon(1e-5)
    assert steps(1.0, 0.2, 10).epsilon(1e-5) == first


def test_targets_beyond_ten_are_reached():
    sigma = calibrate_subsampled_gaussian(20.0, delta=1e-5, sampling_probability=0.1, count=500)
    assert 19.99 <= steps(sigma, 0.1, 500).epsilon(1e-5) <= 20.0


def test_losses_outside_the_support_have_no_mass():
    rate = 0.1
    for direction, beyond in (
        (Direction.REMOVE, [math.log1p(-rate) - 1e-9, math.log1p(-rate) - 5e-10]),
        (Direction.ADD, [-math.log1p(-rate) + 1e-9, 800.0]),
    ):
        cells = SubsampledGaussianLaw(1.0, rate, direction).cells(np.array(beyond))
        assert np.all(np.exp(cells.log_mass) == 0)
    assert subsampled_gaussian_delta(800.0, sampling_probability=rate, noise_multiplier=1.0) < 1e-300


def test_the_ends_of_a_bounded_loss_are_respected():
    assert laplace_composed_epsilon(1e-300, pure_epsilon=0.1, count=10) <= 1.0
    assert laplace_composed_epsilon(0.0, pure_epsilon=0.1, count=10) == pytest.approx(1.0, rel=1e-15)
    assert laplace_composed_delta(1.0 + 1e-12, pure_epsilon=0.1, count=10) == 0.0


def test_memory_stays_bounded_in_every_corner():
    tracemalloc.start()
    for sigma in (0.5, 100.0):
        for rate in (1e-4, 0.5):
            for count in (1, 100_000):
                assert steps(sigma, rate, count).epsilon(1e-6) >= 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500e6


def test_a_small_target_takes_no_more_memory_or_steps_than_a_large_one():
    assert calibrate_gaussian(0.01, delta=1e-5) == pytest.approx(243.7854377, rel=1e-9)
    tracemalloc.start()
    sigma = calibrate_subsampled_gaussian(0.01, delta=1e-5, sampling_probability=0.01, count=100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.0099 <= steps(sigma, 0.01, 100).epsilon(1e-5) <= 0.01
    assert peak < 500e6


# ---------------------------------------------------------------------------------------- conversions, boundaries


def test_conversions_never_go_below_zero_and_end_at_delta_zero():
    deltas = np.linspace(0.3, 1.0, 50)
    for epsilon in (zcdp_to_epsilon(0.5, delta=deltas), rdp_to_epsilon_improved(0.5, order=2.0, delta=deltas)):
        assert np.all(epsilon >= 0)
        assert np.all(np.diff(epsilon) <= 0)
    assert zcdp_to_epsilon(0.5, delta=0.0) == math.inf
    assert Composition(((Gaussian(1.0), 3),)).epsilon(0.0) == math.inf
    assert steps(1.0, 0.1, 10).epsilon(0.0) == math.inf


def test_order_one_is_the_divergence_of_kullback_and_leibler():
    assert laplace_rdp(1.0, pure_epsilon=1.0) == pytest.approx(math.exp(-1))
    assert randomized_response_rdp(1.0, pure_epsilon=1.0) == pytest.approx(math.tanh(0.5))
    near = subsampled_gaussian_rdp(1 + 1e-8, sampling_probability=105 / 100_000, noise_multiplier=1.0)
    assert near == pytest.approx(9.44548e-7, rel=1e-6)
    at = subsampled_gaussian_rdp(1.0, sampling_probability=105 / 100_000, noise_multiplier=1.0)
    assert at == pytest.approx(near, rel=1e-7)


def test_zero_at_large_delta_is_right_for_a_subsampled_step():
    given = {"sampling_probability": 105 / 100_000, "noise_multiplier": 1.0}
    variation = subsampled_gaussian_delta(0.0, **given)
    assert variation == pytest.approx(4.0207e-4, rel=1e-4)
    assert subsampled_gaussian_epsilon(1e-3, **given) == 0
    assert subsampled_gaussian_epsilon(variation * 0.999, **given) > 0


def test_less_delta_than_the_mass_at_infinity_costs_infinitely_much():
    claims = Composition(((ApproximateDP(epsilon=0.1, delta=1e-6), 10),))
    assert claims.epsilon(1e-7) == math.inf
    assert 0 < claims.epsilon(1e-4) < 1
    assert optimal_composition_epsilon(1e-7, epsilon=0.1, delta=1e-6, count=10) == math.inf
    assert optimal_heterogeneous_epsilon(1e-7, epsilons=[0.1, 0.2], deltas=[1e-6, 1e-6]) == math.inf


def test_the_rungs_agree_with_published_goldens():
    for count, classic, improved in ((10_000, 1.259, 1.036), (40_000, 2.574, 2.210)):
        rdp = steps(4.0, 0.01, count).rdp
        plain = rdp_optimal_epsilon(rdp, delta=1e-5, conversion=Conversion.CLASSIC)
        better = rdp_optimal_epsilon(rdp, delta=1e-5, conversion=Conversion.IMPROVED)
        assert plain.epsilon == pytest.approx(classic, rel=2e-3)
        assert better.epsilon == pytest.approx(improved, rel=2e-3)
        assert not plain.is_edge
        assert not better.is_edge
        assert steps(4.0, 0.01, count).epsilon(1e-5) < better.epsilon < plain.epsilon
    witness = integer_order_bound(count=1000, sigma=8.0, delta=1e-6)
    assert witness.epsilon == pytest.approx(29.4405, rel=1e-5)
    at_a_grid_point = rdp_to_epsilon_improved(steps(0.8, 0.125, 1000).rdp(1.7), order=1.7, delta=1e-6)
    assert 56.726 < at_a_grid_point <= 65.1534  # a peer's 65.1534 adds alternating terms without their signs


def test_the_limit_is_no_guarantee_and_says_so():
    mu = poisson_limit_mu(sampling_probability=0.2, noise_multiplier=3.0, count=50)
    limit = gaussian_epsilon(1 / 48_000, mu=mu)
    truth = steps(3.0, 0.2, 50).epsilon(1 / 48_000)
    bound = rdp_optimal_epsilon(steps(3.0, 0.2, 50).rdp, delta=1 / 48_000).epsilon
    assert limit == pytest.approx(1.8385, rel=1e-3)
    assert limit < truth < bound
    assert "not a guarantee" in poisson_limit_mu.__doc__


def test_the_sampling_rate_is_one_number_and_matters():
    assert steps(1.0, 0.01, 100).epsilon(1e-5) == pytest.approx(0.71804, rel=1e-3)
    assert steps(1.0, 0.08, 100).epsilon(1e-5) == pytest.approx(5.61342, rel=1e-3)


def test_the_classical_formula_says_where_it_fails():
    limit = classical_gaussian_limit(1e-6)
    assert limit == pytest.approx(8.78209, rel=1e-5)
    assert (
        classical_gaussian_delta(limit * 0.999, delta=1e-6) < 1e-6 < classical_gaussian_delta(limit * 1.001, delta=1e-6)
    )
    assert calibrate_gaussian(10.0, delta=1e-6) == pytest.approx(0.541087, rel=1e-5)
    assert classical_gaussian_sigma(10.0, delta=1e-6) == pytest.approx(0.529880, rel=1e-5)
    assert classical_gaussian_delta(10.0, delta=1e-6) == pytest.approx(1.902e-6, rel=1e-3)
    assert "< 1" in classical_gaussian_sigma.__doc__


def test_composition_bounds_agree_with_an_independent_formula():
    for epsilon in np.geomspace(0.01, 1, 5):
        for count in (1, 10, 100, 1000, 10_000):
            for slack in np.geomspace(1e-9, 1e-2, 5):
                drift = count * epsilon * (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
                spread = epsilon * math.sqrt(2 * count)
                wanted = min(
                    count * epsilon,
                    drift + spread * math.sqrt(math.log(math.e + math.sqrt(count * epsilon**2) / slack)),
                    drift + spread * math.sqrt(math.log(1 / slack)),
                )
                found, _ = kairouz_composition(float(epsilon), count=count, slack=float(slack))
                assert found == pytest.approx(wanted, rel=1e-12)
                assert optimal_composition_epsilon(float(slack), epsilon=float(epsilon), count=count) <= found * (
                    1 + 1e-12
                )


def test_replacing_a_record_doubles_the_move_in_every_accountant():
    twice = Gaussian(sigma=1.0, sensitivity=2.0)
    assert twice.rdp(2.0) == 4.0
    assert twice.delta(1.0) == Gaussian(sigma=0.5).delta(1.0)
    ledger = Composition(((twice, 3), (Laplace(scale=1.0, sensitivity=0.2), 2)))
    halved = Composition(((Gaussian(sigma=0.5), 3), (Laplace(scale=0.5, sensitivity=0.1), 2)))
    assert ledger.epsilon(1e-6) == pytest.approx(halved.epsilon(1e-6), rel=1e-12)


def test_accuracy_and_noise_round_trip_also_on_whole_numbers():
    for width in (1.0, 2.0, 3.0, 10.0):
        for confidence in (0.5, 0.9, 0.95):
            assert laplace_half_width(
                confidence, scale=scale_for_accuracy(width, confidence=confidence)
            ) == pytest.approx(width, rel=1e-12)
            sigma = sigma_for_accuracy(width, confidence=confidence)
            assert math.erf(width / sigma / math.sqrt(2)) == pytest.approx(confidence, rel=1e-12)


def test_zero_and_huge_arguments_give_a_number_or_a_sentence():
    assert exact_epsilon(count=10, sigma=1.0, sensitivity=1e308, delta=1e-6) == math.inf
    assert exact_epsilon(count=np.int64(2**52), sigma=1.0, sensitivity=0.0, delta=1e-6) == 0
    for refused in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="noise_multiplier"):
            SubsampledGaussian(refused, sampling_probability=0.1)
    for refused in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="sampling_probability"):
            SubsampledGaussian(1.0, sampling_probability=refused)
    for epsilon, delta in ((-1.0, 0.1), (0.1, -1e-9), (0.1, 1.5)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            calibrate_gaussian(epsilon, delta=delta)
    assert gaussian_epsilon(1.0, mu=1.0) == 0
    assert Composition(()).epsilon(1e-6) == 0
    assert Composition(((Laplace(1.0), 0),)).delta(0.0) == 0
    assert largest_count(sigma=1.0, epsilon=0.0, delta=1e-9) == 0


def test_reading_twice_gives_the_same_and_changes_nothing():
    ledger = Composition(((Gaussian(4.0), 10), (RandomizedResponse(0.5), 3), (Laplace(2.0), 2)))
    before = repr(ledger)
    assert ledger.epsilon(1e-6) == ledger.epsilon(1e-6)
    assert ledger.account(delta=1e-6) == ledger.account(delta=1e-6)
    assert repr(ledger) == before
    assert hash(ledger) == hash(Composition(ledger.releases))


def test_extreme_trade_offs_stay_finite():
    assert gaussian_tradeoff(1e-320, mu=1.0) == 1.0
    assert steps(1.0, 0.01, 100).beta(1e-12) <= 1.0
