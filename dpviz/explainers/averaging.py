"""Averaging: accuracy is bought with budget, and the mean shows both on one curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from dpviz.accounting import exact_epsilon, gaussian_epsilon
from dpviz.accounting.curves.averaging import (
    CACHED,
    FRESH,
    AveragingCurves,
    RepeatedAnswer,
    averaging_curves,
)
from dpviz.accounting.curves.composition import MOST_RELEASES
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Choice, Controls, Seed, log_integer_slider, log_slider
from dpviz.explainers._sentences import right_guesses
from dpviz.figures import FigureFunction, identity_figure, means_figure, price_figure, spread_figure
from dpviz.locale.numbers import rounded


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
            "repeats": rounded(params.repeats, 7),
            "sigma": rounded(params.sigma, 6),
            "spread": rounded(result.spread_here, 4),
        }
        return {
            **numbers,
            "right": right_guesses(result.mu_here),
            "mu": rounded(result.mu_here, 4),
            "exact": rounded(result.exact_here, 6),
            "bound": rounded(result.bound_here, 6),
            "delta": rounded(params.delta),
            "sensitivity": rounded(params.sensitivity, 6),
            "seed": str(params.seed),
            "deal": self.text(f"averaging.deal_{params.noise}", **numbers),
            "premise": self.text(f"averaging.premise_{params.noise}", **numbers),
        }

    def checks(self, params: RepeatedAnswer, result: AveragingCurves) -> Iterable[Check]:
        """Yield the identity SD = Δ/μ, and the price read as composition and as one release of the mean."""
        yield Check("averaging.check.identity", result.spread_here, params.sensitivity / result.mu_here)
        as_one = gaussian_epsilon(params.delta, mu=params.sensitivity / result.spread_here)
        yield Check("averaging.check.price", result.exact_here, as_one)
        cached = exact_epsilon(count=1, sigma=params.sigma, sensitivity=params.sensitivity, delta=params.delta)
        alone = gaussian_epsilon(params.delta, mu=params.sensitivity / params.sigma)
        yield Check("averaging.check.cached", cached, alone)
