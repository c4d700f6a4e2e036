"""What the four pages teach: their scenarios, questions and broken assumptions, against the core and independently."""

import math
import re
from itertools import pairwise
from string import Formatter

import numpy as np
import pytest
from scipy.special import ndtr

from dpviz.accounting import (
    composed_mu,
    gaussian_advantage,
    gaussian_delta,
    gaussian_epsilon,
    laplace_log_ratio,
    rdp_bound,
    simulate_answers,
)
from dpviz.accounting.curves.averaging import CORRELATED, CORRELATIONS, RepeatedAnswer, averaging_curves
from dpviz.explainers import find_explainers
from dpviz.explainers._controls import Choice
from dpviz.explainers._lesson import BROKEN, CONTRACT
from dpviz.explainers.tradeoff import PAIRS, pair_mu
from dpviz.locale import catalogue
from dpviz.locale.numbers import given, number, rounded

NAMES = ("composition", "laplace", "averaging", "tradeoff")
PAGES = {name: find_explainers()[name]() for name in NAMES}
TEXT = catalogue("en")
SCENARIOS = [(name, scenario) for name, page in PAGES.items() for scenario in page.scenarios]
BREACHES = [(name, breach) for name, page in PAGES.items() for breach in page.breaches]
BASES = {"50", "100"}  # "right 62 times in 100 (guessing: 50)"


def shown(page, scenario):
    """The picture of a scenario."""
    explainer = PAGES[page]
    return explainer.picture(explainer.setting_of(explainer.scenarios[scenario]))


def truth(page):
    """The true answer to the question of a page."""
    explainer = PAGES[page]
    return explainer.prediction.answer(explainer.question.result)


def lesson_keys(page):
    """The keys of all texts of what a page teaches."""
    explainer = PAGES[page]
    return [
        f"{page}.predict.question",
        f"{page}.predict.line",
        *(f"{page}.scenario.{name}.{part}" for name in explainer.scenarios for part in SCENARIO_PARTS),
        *(f"{page}.breach.{name}.{part}" for name in explainer.breaches for part in BREACH_PARTS),
    ]


SCENARIO_PARTS = ("title", "story", "ask", "lesson")
BREACH_PARTS = ("title", "caveat", "line")


# Golden numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "count", "sigma", "mu", "bound", "order", "improved", "exact", "over"),
    [
        ("once", 1, 4, 0.25, 1.34538, 22.03, 1.14293, 1.06070, 1.268),
        ("yearly", 10, 8, 0.3953, 2.15595, 14.30, 1.87313, 1.74296, 1.237),
        ("weekly", 100, 16, 0.6250, 3.48064, 9.41, 3.09037, 2.88343, 1.207),
        ("dashboard", 1000, 8, 3.9528, 28.59073, 2.33, 27.38412, 25.94773, 1.102),
    ],
)
def test_scenarios_of_composition(scenario, count, sigma, mu, bound, order, improved, exact, over):
    result = shown("composition", scenario).result
    assert (result.history.count, result.history.sigma) == (count, sigma)
    assert result.mu == pytest.approx(mu, abs=5e-5)
    assert result.ladder["rdp"] == pytest.approx(bound, abs=5e-6)
    assert result.best_order == pytest.approx(order, abs=5e-3)
    assert result.ladder["improved"] == pytest.approx(improved, abs=5e-6)
    assert result.ladder["exact"] == pytest.approx(exact, abs=5e-6)
    words = shown("composition", scenario).words
    assert float(words["more"]) == pytest.approx(100 * (over - 1), abs=0.06)
    assert number(words["alone"]) == pytest.approx(sigma / math.sqrt(count), rel=5e-3)


@pytest.mark.parametrize(
    ("scenario", "tpr", "advantage"),
    [
        ("once", 0.082, 0.099),
        ("yearly", 0.106, 0.157),
        ("weekly", 0.154, 0.245),
        ("dashboard", 0.990, 0.952),
        ("careful", 0.154, 0.245),
    ],
)
def test_scenarios_of_tradeoff(scenario, tpr, advantage):
    result = shown("tradeoff", scenario).result
    assert result.tpr_at[0.05] == pytest.approx(tpr, abs=5e-4)
    assert result.advantage == pytest.approx(advantage, abs=6e-4)
    assert result.is_kept == (scenario != "dashboard")


def test_the_attackers_of_tradeoff_look_at_few_false_alarms():
    """The first four point at about one in twenty wrongly, the careful one at fewer than one in a hundred."""
    for scenario in ("once", "yearly", "weekly", "dashboard"):
        assert shown("tradeoff", scenario).result.alpha_here == pytest.approx(0.05, abs=1e-3)
    assert shown("tradeoff", "careful").result.alpha_here < 0.01


def test_the_words_of_an_attacker_are_areas_under_the_bells():
    picture = shown("tradeoff", "careful")
    threshold, mu = picture.settings["threshold"], picture.result.mu
    alarms, hits = ndtr(-threshold), ndtr(mu - threshold)
    assert number(picture.words["found"].split()[0]) == pytest.approx(100 * hits, rel=5e-3)
    assert number(picture.words["precision"].split()[0]) == pytest.approx(100 * hits / (hits + alarms), rel=5e-3)
    yearly = shown("tradeoff", "yearly")
    line = yearly.settings["delta"] + math.exp(yearly.settings["epsilon"]) * yearly.result.alpha_here
    assert number(yearly.words["allowed"].split()[0]) == pytest.approx(100 * line, rel=5e-3)


@pytest.mark.parametrize(
    ("scenario", "factor", "claimed"),
    [("count", 2.72, 2.72), ("double", 7.39, 2.72), ("fivefold", 148, 2.72), ("clipped", 1.65, 1.65)],
)
def test_scenarios_of_laplace(scenario, factor, claimed):
    """The output looked at lies on the plateau, so that the live sentence says the worst factor."""
    picture = shown("laplace", scenario)
    worst = math.exp(picture.result.real_epsilon)
    assert worst == pytest.approx(factor, rel=3e-3)
    assert math.exp(picture.result.log_ratio_here) == pytest.approx(worst, rel=1e-12)
    assert math.exp(picture.settings["epsilon"]) == pytest.approx(claimed, rel=3e-3)
    assert picture.params.is_kept == (factor == claimed)
    assert picture.result.is_in_view


@pytest.mark.parametrize(
    ("scenario", "repeats", "spread", "mu"),
    [
        ("single", 1, 8, 0.125),
        ("few", 10, 2.53, 0.3953),
        ("many", 100, 0.8, 1.25),
        ("flood", 1000, 0.253, 3.9528),
        ("dashboard", 1440, 1.32, 0.7589),
        ("cached", 1440, 50, 0.02),
        ("shared", 1440, 35.37, 0.02827),
    ],
)
def test_scenarios_of_averaging(scenario, repeats, spread, mu):
    result = shown("averaging", scenario).result
    assert result.answer.repeats == repeats
    assert result.spread_here == pytest.approx(spread, rel=3e-3)
    assert result.mu_here == pytest.approx(mu, rel=2e-4)
    assert result.spread_here * result.mu_here == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("scenario", "bound", "exact"), [("dashboard", 4.28, 3.58), ("cached", 0.105, 0.071), ("flood", 28.59073, 25.94773)]
)
def test_prices_of_averaging(scenario, bound, exact):
    result = shown("averaging", scenario).result
    assert result.bound_here == pytest.approx(bound, abs=6e-3 * bound)
    assert result.exact_here == pytest.approx(exact, abs=6e-3 * exact)


# Noise that is half shared ---------------------------------------------------------------------------


def correlated(repeats, sigma=8.0):
    return averaging_curves(RepeatedAnswer(repeats, sigma, 1.0, 1e-6, CORRELATED, 1))


@pytest.mark.parametrize("repeats", [1, 2, 7, 40])
def test_half_shared_noise_is_priced_as_the_joint_release(repeats):
    """μ² is 1ᵀΣ⁻¹1 of the whole covariance, and the average is as private as all answers."""
    rho = CORRELATIONS[CORRELATED]
    covariance = 64.0 * (rho * np.ones((repeats, repeats)) + (1 - rho) * np.eye(repeats))
    curves = correlated(repeats)
    ones = np.ones(repeats)
    assert curves.mu_here == pytest.approx(math.sqrt(ones @ np.linalg.solve(covariance, ones)), rel=1e-12)
    assert curves.spread_here == pytest.approx(math.sqrt(ones @ covariance @ ones) / repeats, rel=1e-12)
    assert curves.exact_here == pytest.approx(gaussian_epsilon(1e-6, mu=curves.mu_here), rel=1e-12)
    alone = rdp_bound(count=1, sigma=curves.spread_here, delta=1e-6)
    assert curves.bound_here == pytest.approx(alone, rel=1e-12)


def test_half_shared_noise_levels_off():
    curves = correlated(1000)
    assert all(after < before for before, after in pairwise(curves.spread))
    assert curves.spread[-1] == pytest.approx(8 * math.sqrt(0.5), rel=1e-5)
    assert curves.spread[-1] > 8 * math.sqrt(0.5)
    assert number(PAGES["averaging"].current.words["floor"]) == pytest.approx(8 * math.sqrt(0.5), rel=1e-3)


def test_half_shared_noise_spreads_as_simulated_answers_do():
    rng = np.random.default_rng(5)
    noise = simulate_answers(rng, sigma=8.0, repeats=6, correlation=CORRELATIONS[CORRELATED], size=40_000)
    assert correlated(6).spread_here == pytest.approx(noise.mean(axis=1).std(), rel=2e-2)


@pytest.mark.parametrize("noise", CORRELATIONS)
def test_the_averaging_page_agrees_with_its_check_for_every_noise(noise):
    page = PAGES["averaging"]
    picture = page.picture(page.setting_of({"noise": noise, "repeats": 30}))
    assert [check.key for check in page.checks(picture.params, picture.result) if not check.holds] == []


@pytest.mark.parametrize(("repeats", "sigma", "delta"), [(1, 0.1, 1e-12), (1_000_000, 1000.0, 0.1), (2, 1000.0, 0.1)])
def test_half_shared_noise_at_the_ends(repeats, sigma, delta):
    page = PAGES["averaging"]
    settings = {"noise": CORRELATED, "repeats": repeats, "sigma": sigma, "delta": delta}
    picture = page.picture(page.setting_of(settings))
    for key in ("plain", "technical", "assumes"):
        assert "nan" not in page.text(f"averaging.{key}", **picture.words)


# Questions -------------------------------------------------------------------------------------------


def test_the_question_of_composition():
    one, hundred = (gaussian_epsilon(1e-6, mu=math.sqrt(count) / 16) for count in (1, 100))
    assert 10 < truth("composition") < 100
    assert truth("composition") == pytest.approx(hundred / one, rel=1e-9)
    words = PAGES["composition"].question.words
    fainter = [gaussian_epsilon(1e-6, mu=math.sqrt(count) / 0.16) for count in (1, 100)]
    assert number(words["less_growth"]) == pytest.approx(fainter[1] / fainter[0], rel=2e-3)
    bounds = [rdp_bound(count=count, sigma=16.0, delta=1e-6) for count in (1, 100)]
    assert 10 < bounds[1] / bounds[0] < 100


def test_the_question_of_laplace():
    assert truth("laplace") == pytest.approx(math.e**2, rel=1e-12)
    assert truth("laplace") == pytest.approx(math.exp(laplace_log_ratio(9.0, location=2.0, other=0.0, scale=1.0)))


def test_the_question_of_averaging():
    assert truth("averaging") == 4
    words = PAGES["averaging"].question.words
    assert number(words["fourfold_spread"]) == number(words["spread"]) / 2
    assert number(words["fourfold_mu"]) == 2 * number(words["mu"])


def test_the_question_of_tradeoff():
    """The larger ε is the more private: its μ is the smaller, and its noise keeps the other contract too."""
    for pair, mu in (("first", 1.310), ("second", 1.262)):
        epsilon, delta = PAIRS[pair]
        assert pair_mu(pair) == pytest.approx(mu, abs=5e-4)
        assert gaussian_delta(epsilon, mu=pair_mu(pair)) == pytest.approx(delta, rel=1e-9)
    assert truth("tradeoff") == "second"
    result = PAGES["tradeoff"].question.result
    assert result.mu < pair_mu("second") < 1.002 * result.mu
    assert result.is_kept
    assert (result.attack.epsilon, result.attack.delta) == PAIRS["first"]


@pytest.mark.parametrize("page", PAGES)
def test_answers_and_their_limits_stand_on_the_axes(page):
    explainer = PAGES[page]
    prediction, question = explainer.prediction, explainer.question
    control = prediction.control
    ends = control.options if isinstance(control, Choice) else (control.low, control.high)
    layout = explainer.figures[prediction.figure].spec(question.result, TEXT)["layout"]
    for answer in (truth(page), *ends):
        for axis, value in zip(("xaxis", "yaxis"), prediction.place(question.result, answer), strict=True):
            seen = math.log10(value) if layout[axis]["type"] == "log" else value
            low, high = sorted(layout[axis]["range"])
            assert low - 1e-9 <= seen <= high + 1e-9, (answer, axis)


@pytest.mark.parametrize("page", PAGES)
def test_a_question_names_only_its_own_settings(page):
    """Its numbers are declared ones: nothing computed is given away, and nothing is out of date."""
    explainer = PAGES[page]
    settings = {given(value) for value in explainer.question.settings.values() if not isinstance(value, str)}
    pairs = {given(value) for pair in PAIRS.values() for value in pair} if page == "tradeoff" else set()
    asked = TEXT.template(f"{page}.predict.question")
    known = settings | pairs
    for said in re.findall(r"10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\d+(?:\.\d+)?", asked):
        assert said in known, said


def test_the_options_are_the_pairs_that_are_compared():
    for pair, (epsilon, delta) in PAIRS.items():
        assert TEXT(f"control.pair.{pair}") == f"({given(epsilon)}, {given(delta)})"
        assert f"({given(epsilon)}, {given(delta)})" in TEXT("tradeoff.predict.question")


def test_the_averaging_page_does_not_give_its_answer_away():
    titles = [spec["layout"]["title"]["text"] for spec in PAGES["averaging"].current.specs.values()]
    assert not any(word in title for title in titles for word in ("four", "halve", "double"))


# Broken assumptions ----------------------------------------------------------------------------------


def real(page, breach, **settings):
    """The pictures of what is claimed and of what really holds."""
    explainer = PAGES[page]
    picture = explainer.picture(explainer.setting_of(settings), breach=breach)
    return picture, picture.real.result


def test_one_release_more_than_counted():
    claimed, really = real("composition", "omitted", count=9, sigma=8.0)
    assert claimed.result.ladder["exact"] == pytest.approx(1.64575, abs=5e-6)
    assert claimed.result.ladder["rdp"] == pytest.approx(2.04151, abs=5e-6)
    assert really.ladder["exact"] == pytest.approx(1.74296, abs=5e-6)
    assert really.ladder["rdp"] == pytest.approx(2.15595, abs=5e-6)
    _, attack = real("tradeoff", "omitted", count=9, sigma=8.0)
    assert attack.mu == pytest.approx(math.sqrt(10) / 8, rel=1e-12)


def test_five_rows_from_one_person():
    """As costly as twenty-five times the releases."""
    _, really = real("composition", "fivefold", count=4, sigma=16.0)
    assert really.ladder["exact"] == pytest.approx(2.88343, abs=5e-6)
    assert really.ladder["rdp"] == pytest.approx(3.48064, abs=5e-6)
    _, means = real("averaging", "fivefold", repeats=1, sigma=8.0)
    assert means.mu_here == pytest.approx(0.625, rel=1e-12)
    assert means.spread_here == 8
    assert means.exact_here == pytest.approx(2.88343, abs=5e-6)
    _, attack = real("tradeoff", "fivefold", count=1, sigma=8.0)
    assert attack.advantage == pytest.approx(gaussian_advantage(0.625), rel=1e-12)


@pytest.mark.parametrize(("breach", "times"), [("double", 2), ("fivefold", 5)])
@pytest.mark.parametrize(("sensitivity", "change"), [(1.0, 1.0), (1.0, 0.1), (2.0, 3.0)])
def test_a_person_who_changes_more_than_claimed(breach, times, sensitivity, change):
    """The claim fails whatever is set, and by no less than the title says."""
    claimed, really = real("laplace", breach, sensitivity=sensitivity, change=change, epsilon=0.5)
    assert really.real_epsilon == pytest.approx(times * 0.5 * max(change / sensitivity, 1), rel=1e-12)
    assert not claimed.real.params.is_kept
    far = laplace_log_ratio(1e3, location=claimed.real.params.change, other=0.0, scale=sensitivity / 0.5)
    assert really.real_epsilon == pytest.approx(far, rel=1e-12)


@pytest.mark.parametrize(
    ("noise", "repeats", "count"), [("fresh", 10, 1), ("cached", 10, 10), ("correlated", 10, 10), ("fresh", 1, 2)]
)
def test_noise_that_is_not_drawn_as_claimed(noise, repeats, count):
    claimed, really = real("averaging", "noise", noise=noise, repeats=repeats, sigma=8.0)
    assert really.mu_here == pytest.approx(composed_mu(sigma=8.0, count=count), rel=1e-12)
    assert really.spread_here == pytest.approx(8 / math.sqrt(count), rel=1e-12)
    assert claimed.words["drawn"] != claimed.words["real_drawn"]
    assert really.mu_here != pytest.approx(claimed.result.mu_here, rel=1e-3)


@pytest.mark.parametrize(("page", "breach"), BREACHES)
@pytest.mark.parametrize("scenario", [None, 0, -1])
def test_a_broken_assumption_changes_what_is_said(page, breach, scenario):
    explainer = PAGES[page]
    declared = {} if scenario is None else list(explainer.scenarios.values())[scenario]
    picture = explainer.picture(explainer.setting_of(declared), breach=breach)
    assert picture.real.settings != picture.settings
    line = TEXT(f"{page}.breach.{breach}.line", **picture.words)
    assert len(set(re.findall(r"\d[\d.,]*", line))) >= 2


# Texts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_text_of_a_lesson_is_there_and_fills(page):
    explainer = PAGES[page]
    allowed = {"answer"}
    real_words = {f"real_{word}" for word in explainer.current.words}
    for key in lesson_keys(page):
        names = {name for _, name, _, _ in Formatter().parse(TEXT.template(key)) if name}
        may = set(explainer.current.words)
        may |= real_words if ".breach." in key else set()
        may |= set(explainer.question.words) if ".predict." in key else set()
        may |= allowed if key.endswith("predict.line") else set()
        assert names <= may, key
        if key.endswith((".title", ".question")):
            assert not names, key


@pytest.mark.parametrize("page", PAGES)
def test_no_number_of_a_lesson_is_typed_in(page):
    for key in lesson_keys(page):
        if not key.endswith(".question"):
            typed = re.sub(r"\{\w+\}", "", TEXT.template(key))
            assert set(re.findall(r"\d+", typed)) <= BASES, key


@pytest.mark.parametrize("page", PAGES)
def test_no_lesson_passes_a_verdict(page):
    keys = [*lesson_keys(page), *(f"assume.{item}.label" for item in CONTRACT)]
    for key in keys:
        assert not re.search(
            r"\b(strong|weak|good|bad|safe|unsafe|secure|dangerous|failure|leak\w*)\b", TEXT.template(key), re.I
        ), key


@pytest.mark.parametrize(("page", "scenario"), SCENARIOS)
def test_a_story_names_its_unit_and_says_that_its_data_are_synthetic(page, scenario):
    story = TEXT(f"{page}.scenario.{scenario}.story", **shown(page, scenario).words)
    assert "Synthetic data." in story
    assert "Unit: " in story or story.startswith("The same count")


@pytest.mark.parametrize(("page", "scenario"), SCENARIOS)
def test_a_scenario_can_be_set_by_hand(page, scenario):
    """Every declared value is one that its control reads back, and two scenarios never look the same."""
    explainer = PAGES[page]
    settings = shown(page, scenario).settings
    for name, control in explainer.controls().items():
        assert control.read(control.write(settings[name])) == settings[name]
    others = [shown(page, other).settings for other in explainer.scenarios if other != scenario]
    assert settings not in others


@pytest.mark.parametrize("page", PAGES)
def test_the_strip_says_what_the_page_assumes(page):
    """Every item has words, short ones, and only the claim that Laplace breaks is a caveat."""
    explainer = PAGES[page]
    for scenario in explainer.scenarios:
        picture = shown(page, scenario)
        variants = explainer.contract(picture.params, picture.result)
        assert tuple(variants) == CONTRACT
        for item, variant in variants.items():
            assert TEXT(f"assume.{item}.label")
            assert 0 < len(TEXT(f"assume.{item}.{variant}", **picture.words)) <= 40
        broken = [item for item, variant in variants.items() if variant.startswith(BROKEN)]
        assert broken == (["sensitivity"] if scenario in ("double", "fivefold") else [])


def test_the_line_of_the_tradeoff_question_says_both_contracts():
    words = PAGES["tradeoff"].question.words
    line = TEXT("tradeoff.predict.line", answer=TEXT("control.pair.second"), **words)
    assert f"μ = {rounded(pair_mu('first'), 4)}" in line
    assert f"μ = {rounded(pair_mu('second'), 4)}" in line
