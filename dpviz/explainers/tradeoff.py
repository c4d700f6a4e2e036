"""Trade-off: privacy as the two error rates of the best attacker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from dpviz.accounting import gaussian_delta
from dpviz.accounting.curves.composition import MOST_RELEASES
from dpviz.accounting.curves.tradeoff import EVIDENCE, Attack, TradeoffCurves, tradeoff_curves
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, linear_slider, log_integer_slider, log_slider
from dpviz.figures import FigureFunction, bells_figure, curve_figure, people_figure, rates_figure
from dpviz.figures.tradeoff import PEOPLE_EACH
from dpviz.locale.numbers import percent, rounded


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
            "epsilon": log_slider("epsilon", value=1.0, low=0.01, high=10.0),
            "delta": log_slider("delta", value=1e-6, low=1e-12, high=0.1, coarse=True),
        }

    def words(self, params: Attack, result: TradeoffCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences."""
        return {
            "count": rounded(params.count, 7),
            "sigma": rounded(params.sigma, 6),
            "sensitivity": rounded(params.sensitivity, 6),
            "accused": rounded(PEOPLE_EACH * result.alpha_here),
            "missed": rounded(PEOPLE_EACH * result.beta_here),
            "each": str(PEOPLE_EACH),
            "fpr": percent(result.alpha_here),
            "fnr": percent(result.beta_here),
            "mu": rounded(result.mu, 4),
            "advantage": rounded(result.advantage),
            "tpr": percent(result.tpr_at[0.05]),
            "epsilon": rounded(params.epsilon),
            "delta": rounded(params.delta),
            "delta_here": rounded(result.delta_here, 4),
            "threshold": rounded(params.threshold),
        }

    def checks(self, params: Attack, result: TradeoffCurves) -> Iterable[Check]:
        """Yield the threshold's point beside the curve, the advantage beside the curve's, and δ beside the duality."""
        on_curve = float(np.interp(result.alpha_here, result.alpha, result.beta))
        yield Check("tradeoff.check.point", result.beta_here, on_curve, tolerance=1e-3)
        yield Check("tradeoff.check.advantage", result.advantage, gaussian_delta(0.0, mu=result.mu))
        slope = np.exp(params.epsilon)
        dual = 1 - float((result.beta + slope * result.alpha).min())
        yield Check("tradeoff.check.duality", result.delta_here, dual, tolerance=1e-2)
