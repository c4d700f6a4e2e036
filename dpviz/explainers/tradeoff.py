"""Trade-off: privacy as the two error rates of the best attacker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from dpviz.accounting.curves.composition import MOST_RELEASES
from dpviz.accounting.curves.tradeoff import EVIDENCE, Attack, TradeoffCurves, tradeoff_curves
from dpviz.explainers._areas import FAR, area, excess_area
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, linear_slider, log_integer_slider, log_slider
from dpviz.figures import FigureFunction, bells_figure, curve_figure, people_figure, rates_figure
from dpviz.figures.tradeoff import PEOPLE_EACH
from dpviz.locale.numbers import given, inside, percent, rounded


class Tradeoff(Explainer[Attack, TradeoffCurves]):
    """Drag the attacker's threshold along the best curve there is, and see what noise does to it."""

    name = "tradeoff"
    params = Attack
    compute = staticmethod(tradeoff_curves)
    figures: ClassVar[Mapping[str, FigureFunction]] = {
        "bells": bells_figure,
        "curve": curve_figure,
        "people": people_figure,
        "rates": rates_figure,
    }

    def controls(self) -> Controls:
        """Return k, σ, Δ, the threshold, and the (ε, δ) to compare with."""
        return {
            "count": log_integer_slider("k", value=100, low=1, high=MOST_RELEASES),
            "sigma": log_slider("sigma", value=16.0, low=0.1, high=1000.0),
            "sensitivity": log_slider("sensitivity", value=1.0, low=0.01, high=100.0),
            "threshold": linear_slider("threshold", value=1.0, low=EVIDENCE[0], high=EVIDENCE[1], step=0.05),
            "epsilon": log_slider("epsilon", value=2.9, low=0.01, high=10.0),
            "delta": log_slider("delta", value=1e-6, low=1e-12, high=0.1, coarse=True),
        }

    def words(self, params: Attack, result: TradeoffCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences, and whether the releases keep the compared guarantee."""
        compared = {
            "epsilon": given(params.epsilon),
            "delta": given(params.delta),
            "delta_here": inside(result.delta_here, 4),
        }
        return {
            "count": given(params.count),
            "sigma": given(params.sigma),
            "sensitivity": given(params.sensitivity),
            "accused": rounded(PEOPLE_EACH * result.alpha_here),
            "missed": rounded(PEOPLE_EACH * result.beta_here),
            "each": str(PEOPLE_EACH),
            "fpr": percent(result.alpha_here),
            "fnr": percent(result.beta_here),
            "mu": rounded(result.mu, 4),
            "advantage": inside(result.advantage),
            "tpr_low": percent(result.tpr_at[0.01]),
            "tpr": percent(result.tpr_at[0.05]),
            **compared,
            "threshold": given(params.threshold),
            "verdict": self.text(f"tradeoff.verdict_{'kept' if result.is_kept else 'broken'}", **compared),
        }

    def checks(self, params: Attack, result: TradeoffCurves) -> Iterable[Check]:
        """Yield the misses, the advantage and δ(ε) beside areas under the two bells."""
        missed = area(result.mu, -FAR, params.threshold)
        yield Check("tradeoff.check.point", result.beta_here, missed, tolerance=1e-6)
        yield Check("tradeoff.check.advantage", result.advantage, excess_area(result.mu, 0.0), tolerance=1e-6)
        excess = excess_area(result.mu, params.epsilon)
        yield Check("tradeoff.check.duality", result.delta_here, excess, tolerance=1e-6)
