"""Composition: every fresh release spends, and the bill depends on who does the sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dpviz.accounting import gaussian_delta, rdp_bound_search
from dpviz.accounting.composition import exact_epsilon
from dpviz.accounting.curves.composition import (
    MOST_RELEASES,
    CompositionCurves,
    ReleaseHistory,
    composition_curves,
)
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, log_integer_slider, log_slider
from dpviz.explainers._lesson import Breach, Prediction
from dpviz.explainers._sentences import releases, right_guesses
from dpviz.figures import FigureFunction, history_figure, ladder_figure, order_figure
from dpviz.locale.numbers import above_one, given, rounded, rounded_up

_LESS_NOISE = 100
"""By how much the noise is divided to show what a release costs where it shows nearly everything."""


def _growth_words(params: ReleaseHistory, result: CompositionCurves) -> Mapping[str, str]:
    """Return what explains by how much ε grows: here, and with less noise."""
    less = params.sigma / _LESS_NOISE
    ends = exact_epsilon(count=[1, params.count], sigma=less, sensitivity=params.sensitivity, delta=params.delta)
    return {
        "one": rounded(float(result.exact[0]), 4),
        "root": rounded(math.sqrt(params.count)),
        "less_sigma": given(less),
        "less_growth": rounded(float(ends[1] / ends[0])),
    }


class Composition(Explainer[ReleaseHistory, CompositionCurves]):
    """Account for a whole history of releases, and see how much of the bill is the accountant's."""

    name = "composition"
    params = ReleaseHistory
    compute = staticmethod(composition_curves)
    figures: ClassVar[Mapping[str, FigureFunction]] = {
        "history": history_figure,
        "ladder": ladder_figure,
        "orders": order_figure,
    }
    prediction: ClassVar[Prediction] = Prediction(
        control=log_slider("growth", value=1.0, low=1.0, high=1000.0),
        settings={},
        answer=lambda curves: curves.ladder["exact"] / float(curves.exact[0]),
        figure="history",
        place=lambda curves, growth: (float(curves.history.count), growth * float(curves.exact[0])),
        words=_growth_words,
    )
    scenarios: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "once": {"count": 1, "sigma": 4.0},
        "yearly": {"count": 10, "sigma": 8.0},
        "weekly": {"count": 100, "sigma": 16.0},
        "dashboard": {"count": 1000, "sigma": 8.0},
    }
    breaches: ClassVar[Mapping[str, Breach]] = {
        "omitted": Breach("noise", lambda claimed: {"count": claimed["count"] + 1}),
        "fivefold": Breach("sensitivity", lambda claimed: {"sensitivity": 5 * claimed["sensitivity"]}),
    }

    def controls(self) -> Controls:
        """Return k, σ, Δ and δ."""
        return {
            "count": log_integer_slider("k", value=100, low=1, high=MOST_RELEASES),
            "sigma": log_slider("sigma", value=16.0, low=0.1, high=1000.0),
            "sensitivity": log_slider("sensitivity", value=1.0, low=0.01, high=100.0),
            "delta": log_slider("delta", value=1e-6, low=1e-12, high=0.1, coarse=True),
        }

    def words(self, params: ReleaseHistory, result: CompositionCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences."""
        exact, bound = result.ladder["exact"], result.ladder["rdp"]
        return {
            "count": given(params.count),
            "right": right_guesses(result.mu),
            "mu": rounded(result.mu, 4),
            "exact": rounded(exact, 7),
            "bound": rounded_up(bound, 7),
            "exact_brief": rounded(exact, 4),
            "bound_brief": rounded_up(bound, 4),
            "more": rounded(100 * (bound / exact - 1)) if exact > 0 else "∞",
            "alone": rounded(params.sensitivity / result.mu),
            "improved": rounded_up(result.ladder["improved"], 7),
            "basic": rounded_up(result.ladder["basic"], 4),
            "advanced": rounded_up(result.ladder["advanced"], 4),
            "releases": releases(params.count, self.text),
            "order": above_one(result.best_order, 4),
            "delta": given(params.delta),
            "sigma": given(params.sigma),
            "sensitivity": given(params.sensitivity),
        }

    def contract(self, params: ReleaseHistory, _result: CompositionCurves) -> Mapping[str, str]:
        """Return what the numbers of the page assume."""
        return {
            "unit": "record",
            "relation": "add_remove",
            "sensitivity": "l2",
            "sampling": "none",
            "noise": "once" if params.count == 1 else "fresh",
            "delta": "read",
        }

    def checks(self, params: ReleaseHistory, result: CompositionCurves) -> Iterable[Check]:
        """Yield the bound beside a search over orders, and the exact ε read back through the privacy profile."""
        searched, order = rdp_bound_search(
            count=params.count, sigma=params.sigma, sensitivity=params.sensitivity, delta=params.delta
        )
        yield Check("composition.check.bound", result.ladder["rdp"], searched, tolerance=1e-7)
        yield Check("composition.check.order", result.best_order, order, tolerance=1e-3)
        read_back = gaussian_delta(result.ladder["exact"], mu=result.mu)
        yield Check("composition.check.exact", params.delta, read_back)
