"""Averaging: accuracy is bought with budget, and the mean shows both on one curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from dpviz.accounting import composed_mu, simulate_means
from dpviz.accounting.curves.averaging import (
    CACHED,
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
from dpviz.explainers._sentences import right_guesses
from dpviz.figures import FigureFunction, identity_figure, means_figure, price_figure, spread_figure
from dpviz.locale.numbers import given, rounded, rounded_up

_MANY = 100_000


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

    def controls(self) -> Controls:
        """Return r, σ, Δ, δ, where the answers come from, and the seed of the simulated ones."""
        return {
            "repeats": log_integer_slider("r", value=10, low=1, high=MOST_RELEASES),
            "sigma": log_slider("sigma", value=8.0, low=0.1, high=1000.0),
            "sensitivity": log_slider("sensitivity", value=1.0, low=0.01, high=100.0),
            "delta": log_slider("delta", value=1e-6, low=1e-12, high=0.1, coarse=True),
            "noise": Choice("noise", FRESH, (FRESH, CACHED)),
            "seed": Seed(),
        }

    def words(self, params: RepeatedAnswer, result: AveragingCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences, and the half that depends on where the answers come from."""
        numbers = {
            "repeats": given(params.repeats),
            "sigma": given(params.sigma),
            "spread": rounded(result.spread_here, 4),
        }
        return {
            **numbers,
            "right": right_guesses(result.mu_here),
            "mu": rounded(result.mu_here, 4),
            "exact": rounded(result.exact_here, 7),
            "bound": rounded_up(result.bound_here, 7),
            "inside": str(int(np.sum(np.abs(result.means) <= result.spread_here))),
            "delta": given(params.delta),
            "sensitivity": given(params.sensitivity),
            "seed": str(params.seed),
            "deal": self.text(f"averaging.deal_{params.noise if params.repeats > 1 else 'one'}", **numbers),
            "premise": self.text(f"averaging.premise_{params.noise}", **numbers),
        }

    def checks(self, params: RepeatedAnswer, result: AveragingCurves) -> Iterable[Check]:
        """Yield the SD beside that of simulated means, μ beside composition, and δ beside an area under two bells."""
        means = simulate_means(
            np.random.default_rng(params.seed),
            sigma=params.sigma,
            repeats=params.repeats,
            noise=params.noise,
            size=_MANY,
        )
        yield Check("averaging.check.spread", result.spread_here, float(means.std()), tolerance=1e-2)
        composed = composed_mu(sigma=params.sigma, sensitivity=params.sensitivity, count=params.accesses)
        yield Check("averaging.check.identity", params.sensitivity / result.spread_here, float(composed))
        excess = excess_area(result.mu_here, result.exact_here)
        yield Check("averaging.check.price", params.delta, excess, tolerance=1e-6)
