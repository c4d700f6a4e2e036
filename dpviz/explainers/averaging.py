"""Averaging: accuracy is bought with budget, and the mean shows both on one curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from dpviz.accounting import composed_mu, mean_sigma
from dpviz.accounting.curves.averaging import (
    CACHED,
    CORRELATED,
    CORRELATIONS,
    FRESH,
    AveragingCurves,
    RepeatedAnswer,
    averaging_curves,
)
from dpviz.accounting.curves.composition import MOST_RELEASES
from dpviz.explainers._areas import excess_area
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Choice, Controls, Seed, log_integer_slider, log_slider
from dpviz.explainers._lesson import Breach, Prediction
from dpviz.explainers._sentences import right_guesses
from dpviz.figures import FigureFunction, identity_figure, means_figure, price_figure, spread_figure
from dpviz.locale.numbers import given, rounded, rounded_up

_MANY = 100_000
_HALVING = 4
_DAY = {"repeats": 1440, "sigma": 50.0}


def _answers_that_halve(curves: AveragingCurves) -> int:
    """Return the least number of answers whose average has half the spread of the one shown, by trying."""
    wanted = curves.spread_here / 2
    return next(
        repeats
        for repeats in range(1, MOST_RELEASES)
        if mean_sigma(sigma=curves.answer.sigma, repeats=repeats, noise=curves.answer.noise) <= wanted
    )


def _unlike(claimed: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return noise that is drawn otherwise than claimed; an only answer is drawn a second time."""
    if claimed["repeats"] == 1:
        return {"repeats": 2, "noise": FRESH}
    return {"noise": CACHED if claimed["noise"] == FRESH else FRESH}


def _fourfold_words(params: RepeatedAnswer, _result: AveragingCurves) -> Mapping[str, str]:
    """Return what becomes of error and price with so many answers that the error is halved."""
    fourfold = averaging_curves(replace(params, repeats=_HALVING * params.repeats))
    return {
        "fourfold_spread": rounded(fourfold.spread_here, 4),
        "fourfold_mu": rounded(fourfold.mu_here, 4),
        "fourfold_exact": rounded(fourfold.exact_here, 4),
    }


class Averaging(Explainer[RepeatedAnswer, AveragingCurves]):
    """Average more answers, and see the error fall and the price rise along one curve."""

    name = "averaging"
    params = RepeatedAnswer
    compute = staticmethod(averaging_curves)
    figures: ClassVar[Mapping[str, FigureFunction]] = {
        "identity": identity_figure,
        "means": means_figure,
        "spread": spread_figure,
        "price": price_figure,
    }
    prediction: ClassVar[Prediction] = Prediction(
        control=log_integer_slider("enough", value=1, low=1, high=MOST_RELEASES),
        settings={"repeats": 1},
        answer=_answers_that_halve,
        figure="spread",
        place=lambda curves, repeats: (float(repeats), curves.spread_here / 2),
        is_on_axis=False,
        words=_fourfold_words,
    )
    scenarios: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "single": {"repeats": 1, "sigma": 8.0},
        "few": {"repeats": 10, "sigma": 8.0},
        "many": {"repeats": 100, "sigma": 8.0},
        "flood": {"repeats": 1000, "sigma": 8.0},
        "dashboard": {**_DAY, "noise": FRESH},
        "cached": {**_DAY, "noise": CACHED},
        "shared": {**_DAY, "noise": CORRELATED},
    }
    breaches: ClassVar[Mapping[str, Breach]] = {
        "noise": Breach("noise", _unlike),
        "fivefold": Breach("sensitivity", lambda claimed: {"sensitivity": 5 * claimed["sensitivity"]}),
    }

    def controls(self) -> Controls:
        """Return r, σ, Δ, δ, where the answers come from, and the seed of the simulated ones."""
        return {
            "repeats": log_integer_slider("r", value=10, low=1, high=MOST_RELEASES),
            "sigma": log_slider("sigma", value=8.0, low=0.1, high=1000.0),
            "sensitivity": log_slider("sensitivity", value=1.0, low=0.01, high=100.0),
            "delta": log_slider("delta", value=1e-6, low=1e-12, high=0.1, coarse=True),
            "noise": Choice("noise", FRESH, (FRESH, CACHED, CORRELATED)),
            "seed": Seed(),
        }

    def words(self, params: RepeatedAnswer, result: AveragingCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences, and the half that depends on where the answers come from."""
        numbers = {
            "repeats": given(params.repeats),
            "sigma": given(params.sigma),
            "spread": rounded(result.spread_here, 4),
            "correlation": given(params.correlation),
        }
        drawn = params.noise if params.repeats > 1 else "one"
        return {
            **numbers,
            "right": right_guesses(result.mu_here),
            "mu": rounded(result.mu_here, 4),
            "exact": rounded(result.exact_here, 7),
            "bound": rounded_up(result.bound_here, 7),
            "exact_brief": rounded(result.exact_here, 4),
            "bound_brief": rounded_up(result.bound_here, 4),
            "inside": str(int(np.sum(np.abs(result.means) <= result.spread_here))),
            "delta": given(params.delta),
            "sensitivity": given(params.sensitivity),
            "seed": str(params.seed),
            "drawn": self.text(f"averaging.drawn_{drawn}", **numbers),
            "floor": rounded(params.sigma * CORRELATIONS[CORRELATED] ** 0.5, 4),
            "deal": self.text(f"averaging.deal_{drawn}", **numbers),
            "premise": self.text(f"averaging.premise_{drawn}", **numbers),
        }

    def contract(self, params: RepeatedAnswer, _result: AveragingCurves) -> Mapping[str, str]:
        """Return what the numbers of the page assume."""
        return {
            "unit": "record",
            "relation": "add_remove",
            "sensitivity": "l2",
            "sampling": "none",
            "noise": {FRESH: "answers", CACHED: "cached", CORRELATED: "correlated"}[params.noise]
            if params.repeats > 1
            else "once",
            "delta": "read",
        }

    def checks(self, params: RepeatedAnswer, result: AveragingCurves) -> Iterable[Check]:
        """Yield the SD beside that of simulated means, μ beside composition, and δ beside an area under two bells."""
        rng = np.random.default_rng(params.seed)
        own, shared = 1 - params.correlation, params.correlation  # parts of the variance of each noise
        means = params.sigma * (
            np.sqrt(own / params.repeats) * rng.standard_normal(_MANY) + np.sqrt(shared) * rng.standard_normal(_MANY)
        )
        yield Check("averaging.check.spread", result.spread_here, float(means.std()), tolerance=1e-2)
        fresh = composed_mu(sigma=params.sigma, sensitivity=params.sensitivity, count=params.repeats)
        composed = float(fresh / np.sqrt(own + shared * params.repeats))
        yield Check("averaging.check.identity", params.sensitivity / result.spread_here, composed)
        excess = excess_area(result.mu_here, result.exact_here)
        yield Check("averaging.check.price", params.delta, excess, tolerance=1e-6)
