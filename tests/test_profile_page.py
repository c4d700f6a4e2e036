"""The numbers of the profile page: by definition, by their laws, by strangers, and as its prose says them."""

import math
import re
from pathlib import Path

import mpmath
import nbformat
import numpy as np
import pytest

from dpviz.accounting import ApproximateDP, gaussian_delta, gaussian_tradeoff, hockey_stick_divergence
from dpviz.accounting.curves.profile import Reading, profile_curves
from dpviz.explainers.profile import Profile
from dpviz.locale.numbers import rounded, rounded_up
from tests.normal_oracle import cdf

WITNESS = Reading(mu=0.25, epsilon=1.061, delta=1e-6)
READINGS = [
    Reading(1.0, 1.6, 0.05),
    WITNESS,
    Reading(0.25, 0.01, 0.1),
    Reading(3.0, 20.0, 1e-12),
    Reading(0.05, 0.5, 1e-9),
    Reading(1.0, 1.6, 0.05, leak=1e-3),
]
PROSE = Path(__file__).parent.parent / "notebooks" / "profile.ipynb"


def densities(reading, points=400_001):
    """Masses of both laws over fine cells of the evidence, with a last output that only the leak gives."""
    edges = np.linspace(-12.0, 16.0, points)
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    bells = [np.exp(-np.square(middles - center) / 2) for center in (reading.mu, 0.0)]
    p, q = ((1 - reading.leak) * bell * width / math.sqrt(2 * math.pi) for bell in bells)
    return np.append(p, [reading.leak, 0.0]), np.append(q, [0.0, reading.leak])


# By definition ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", [one for one in READINGS if one.epsilon < 3])
def test_both_numbers_are_sums_over_the_outputs(reading):
    curves = profile_curves(reading)
    p, q = densities(reading)
    excess = hockey_stick_divergence(p / p.sum(), q=q / q.sum(), epsilon=reading.epsilon)
    assert math.exp(curves.log_delta_here) == pytest.approx(excess, rel=1e-4)
    is_beyond = p > math.exp(reading.epsilon) * q
    assert math.exp(curves.log_tail_here) == pytest.approx(p[is_beyond].sum(), rel=1e-3)
    assert math.exp(curves.log_fpr_here) == pytest.approx(q[is_beyond].sum(), rel=1e-3)


@pytest.mark.parametrize("reading", READINGS)
def test_what_the_outputs_count_makes_up_delta(reading):
    curves = profile_curves(reading)
    drawn = np.trapezoid(curves.counted, curves.shares)
    assert drawn == pytest.approx(curves.counted_here, rel=5e-3)
    assert np.all(np.diff(curves.counted) >= 0)
    assert curves.counted[-1] == 1


# By their laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
def test_a_loss_beyond_epsilon_is_likelier_than_delta_says(reading):
    curves = profile_curves(reading)
    is_drawn = curves.profile > 1e-300
    assert np.all(curves.tail[is_drawn] > curves.profile[is_drawn])
    assert np.all(np.diff(curves.profile) <= 0)
    assert curves.log_tail_here > curves.log_delta_here


@pytest.mark.parametrize("reading", READINGS)
def test_the_contract_is_met_just_where_the_curve_meets_it(reading):
    curves = profile_curves(reading)
    at_least = profile_curves(Reading(reading.mu, curves.least_epsilon, reading.delta, reading.leak))
    if curves.least_epsilon > 0:
        assert math.exp(at_least.log_delta_here) == pytest.approx(reading.delta, rel=1e-9)
    assert curves.is_kept == (curves.least_epsilon <= reading.epsilon)


def test_the_release_of_everything_keeps_its_delta_at_every_epsilon():
    everything = ApproximateDP(epsilon=0.0, delta=1e-6)
    assert np.all(everything.delta(np.array([0.0, 1.0, 100.0, np.inf])) == 1e-6)
    curves = profile_curves(WITNESS)
    assert curves.catastrophic == pytest.approx(1 - everything.beta(curves.fprs), rel=1e-9)
    assert curves.profile[-1] < 1e-13


@pytest.mark.parametrize("reading", READINGS)
def test_no_attacker_beats_what_a_kept_pair_allows(reading):
    curves = profile_curves(reading)
    assert bool(np.all(curves.tprs <= curves.allowed * (1 + 1e-12))) or not curves.is_kept
    assert np.all(curves.catastrophic <= curves.allowed * (1 + 1e-12))
    if reading.leak == 0:
        assert curves.tprs == pytest.approx(1 - gaussian_tradeoff(curves.fprs, mu=reading.mu), rel=1e-2, abs=1e-15)


def test_the_pair_that_is_read_touches_the_attackers_curve_where_the_loss_is_epsilon():
    curves = profile_curves(Reading(1.0, 1.6, 0.05))
    touching = math.exp(curves.log_delta_here) + math.exp(1.6 + curves.log_fpr_here)
    assert touching == pytest.approx(math.exp(curves.log_tail_here), rel=1e-12)


def test_a_leak_is_a_floor_that_no_epsilon_gets_below():
    leaking = profile_curves(Reading(1.0, 1.6, 1e-5, leak=1e-3))
    assert np.all(leaking.profile >= 1e-3)
    assert leaking.profile[-1] == pytest.approx(1e-3, rel=1e-6)
    assert math.isinf(leaking.least_epsilon)
    assert math.isinf(leaking.loss_at_delta)
    assert leaking.counted[-2] == 1.0 or leaking.counted_here < 1


# By strangers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", [one for one in READINGS if one.leak == 0])
def test_the_numbers_are_those_of_mpmath(reading):
    curves = profile_curves(reading)
    with mpmath.workdps(40):
        mu, epsilon = mpmath.mpf(reading.mu), mpmath.mpf(reading.epsilon)
        tail = cdf(mu / 2 - epsilon / mu)
        fpr = cdf(-mu / 2 - epsilon / mu)
        assert math.exp(curves.log_tail_here) == pytest.approx(float(tail), rel=1e-12)
        assert math.exp(curves.log_fpr_here) == pytest.approx(float(fpr), rel=1e-12)
        assert math.exp(curves.log_delta_here) == pytest.approx(float(tail - mpmath.exp(epsilon) * fpr), rel=1e-11)
        passed = cdf(mu / 2 - mpmath.mpf(curves.loss_at_delta) / mu)
        assert float(passed) == pytest.approx(reading.delta, rel=1e-9)


def test_the_profile_is_that_of_another_library():
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    noise = library.GaussianPrivacyLoss(standard_deviation=4.0)
    curves = profile_curves(WITNESS)
    seen = curves.profile > 1e-12
    theirs = [noise.get_delta_for_epsilon(float(loss)) for loss in curves.losses[seen]]
    assert curves.profile[seen] == pytest.approx(theirs, rel=1e-6)


# As the page says them -------------------------------------------------------------------------------


def prose():
    notebook = nbformat.read(PROSE, as_version=4)
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_prose_of_the_profile_page():
    text = prose()
    one = profile_curves(Reading(1.0, 1.0, 1e-5))
    delta = rounded_up(math.exp(one.log_delta_here))
    assert f"both $(1, {delta})$ and $({rounded_up(one.least_epsilon, 4)}, 10^{{-5}})$ are kept" in text
    assert not one.is_kept
    witness = profile_curves(WITNESS)
    first, second = math.exp(witness.log_delta_here), math.exp(witness.log_tail_here)
    assert f"the first is {rounded(first)}, the second {second / 1e-5:.2f} × 10⁻⁵, {second / first:.1f} times" in text


def test_the_question_is_about_the_settings_it_names():
    page = Profile()
    question = page.text("profile.predict.question")
    settings = page.question.settings
    assert f"μ = {settings['mu']}" in question
    assert question.count(f"ε = {settings['epsilon']}") == 2
    delta = gaussian_delta(settings["epsilon"], mu=settings["mu"])
    assert "just below 10⁻⁶" in question
    assert 0.99e-6 < delta < settings["delta"] == 1e-6
    assert page.prediction.answer(page.question.result) == pytest.approx(1.9026e-5, rel=1e-4)


def test_the_stories_hold_what_they_say():
    page = Profile()
    curves = {name: page.picture(page.setting_of(declared)).result for name, declared in page.scenarios.items()}
    assert not curves["sheets"].is_kept
    assert all(curves[name].is_kept for name in ("twins", "rows", "advantage"))
    assert "σ = 4;" in page.text("profile.scenario.twins.story", **page.question.words)
    assert page.scenarios["twins"]["mu"] == 1 / 4
    people = int(re.search(r"1,000", page._speech.story("rows", page.current.words)["story"])[0].replace(",", ""))
    delta = page.scenarios["rows"]["delta"]
    assert people * delta == 1
    assert (
        f"about {100 * (1 - (1 - delta) ** people):.0f} of 100 runs"
        in page._speech.story("rows", page.current.words)["lesson"]
    )
    assert curves["advantage"].advantage == pytest.approx(page.scenarios["advantage"]["delta"], rel=0.01)
