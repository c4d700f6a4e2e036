"""Composition: every fresh release spends, and the bill depends on who does the sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from dpviz.accounting import gaussian_delta, rdp_bound_search
from dpviz.accounting.curves.composition import (
    MOST_RELEASES,
    CompositionCurves,
    ReleaseHistory,
    composition_curves,
)
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, log_integer_slider, log_slider
from dpviz.explainers._sentences import right_guesses
from dpviz.figures import FigureFunction, history_figure, ladder_figure, order_figure
from dpviz.locale.numbers import given, rounded, rounded_up


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
        return {
            "count": given(params.count),
            "right": right_guesses(result.mu),
            "mu": rounded(result.mu, 4),
            "exact": rounded(result.ladder["exact"], 7),
            "bound": rounded_up(result.ladder["rdp"], 7),
            "improved": rounded_up(result.ladder["improved"], 7),
            "basic": rounded_up(result.ladder["basic"]),
            "advanced": rounded_up(result.ladder["advanced"]),
            "releases": self.text("composition.one_release")
            if params.count == 1
            else self.text("composition.releases", count=given(params.count)),
            "order": rounded(result.best_order, 4),
            "delta": given(params.delta),
            "sigma": given(params.sigma),
            "sensitivity": given(params.sensitivity),
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
