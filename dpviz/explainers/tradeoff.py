"""Trade-off: privacy as the two error rates of the best attacker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from dpviz.accounting.curves.composition import MOST_RELEASES
from dpviz.accounting.curves.tradeoff import EVIDENCE, Attack, TradeoffCurves, tradeoff_curves
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, linear_slider, log_integer_slider, log_slider
from dpviz.figures import FigureFunction, bells_figure, curve_figure, people_figure, rates_figure
from dpviz.figures.tradeoff import PEOPLE_EACH
from dpviz.locale.numbers import percent, rounded

_FAR = 14.0


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
        """Yield the misses, the advantage and δ(ε) beside areas under the two bells, by the trapezoid rule."""
        crossing = params.epsilon / result.mu + result.mu / 2  # where one bell is e^ε times the other
        missed = _area(result.mu, -_FAR, params.threshold)
        yield Check("tradeoff.check.point", result.beta_here, missed, tolerance=1e-6)
        middle = result.mu / 2
        between = _area(result.mu, middle, _FAR) - _area(0.0, middle, _FAR)
        yield Check("tradeoff.check.advantage", result.advantage, between, tolerance=1e-6)
        excess = _area(result.mu, crossing, _FAR) - math.exp(params.epsilon) * _area(0.0, crossing, _FAR)
        yield Check("tradeoff.check.duality", result.delta_here, excess, tolerance=1e-6)


def _area(center: float, low: float, high: float) -> float:
    """Return the area under the normal bell around `center` from `low` to `high`."""
    at = np.linspace(low, high, 100_001)
    return float(np.trapezoid(np.exp(-np.square(at - center) / 2), at) / math.sqrt(2 * math.pi))
