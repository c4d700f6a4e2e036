"""Trade-off: privacy as the two error rates of the best attacker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from dpviz.accounting import calibrate_gaussian, gaussian_advantage
from dpviz.accounting.attack import positive_predictive_value
from dpviz.accounting.curves.composition import MOST_RELEASES
from dpviz.accounting.curves.tradeoff import EVIDENCE, Attack, TradeoffCurves, tradeoff_curves
from dpviz.accounting.tradeoff import approximate_dp_tradeoff
from dpviz.explainers._areas import FAR, area, excess_area
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Choice, Controls, linear_slider, log_integer_slider, log_slider
from dpviz.explainers._lesson import Breach, Prediction
from dpviz.explainers._sentences import releases, right_guesses
from dpviz.figures import FigureFunction, bells_figure, curve_figure, people_figure, rates_figure
from dpviz.figures.tradeoff import PEOPLE_EACH
from dpviz.locale.numbers import given, inside, percent, rounded

PAIRS = {"first": (6.0, 1e-5), "second": (8.0, 1e-9)}
"""The two (ε, δ) of the page's question, each met by the least Gaussian noise that does."""
_BESIDE_ADVANTAGE = {"first": 1.66, "second": 2.34}
"""Where an answer stands in the row of the advantage: one above its bar, one below, for they lie close together."""


_SHOWN = 0.1
"""The least number of people that is said in digits."""


@lru_cache
def pair_mu(pair: str) -> float:
    """Return μ of the Gaussian release that just meets one of the `PAIRS`."""
    epsilon, delta = PAIRS[pair]
    return 1 / float(calibrate_gaussian(epsilon, delta=delta))


def _pair_words(_params: Attack, _result: TradeoffCurves) -> Mapping[str, str]:
    """Return the numbers of the two contracts that the question compares."""
    return {
        f"{pair}_{word}": text
        for pair, (epsilon, delta) in PAIRS.items()
        for word, text in (
            ("epsilon", given(epsilon)),
            ("delta", given(delta)),
            ("mu", rounded(pair_mu(pair), 4)),
            ("advantage", rounded(float(gaussian_advantage(pair_mu(pair))))),
        )
    }


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
    prediction: ClassVar[Prediction] = Prediction(
        control=Choice("pair", "", tuple(PAIRS)),
        settings={"count": 1, "sigma": 0.79224, "epsilon": PAIRS["first"][0], "delta": PAIRS["first"][1]},
        answer=lambda _curves: min(PAIRS, key=pair_mu),
        figure="rates",
        place=lambda _curves, pair: (float(gaussian_advantage(pair_mu(pair))), _BESIDE_ADVANTAGE[pair]),
        words=_pair_words,
    )
    scenarios: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "once": {"count": 1, "sigma": 4.0, "threshold": 1.65, "epsilon": 1.07},
        "yearly": {"count": 10, "sigma": 8.0, "threshold": 1.65, "epsilon": 1.75},
        "weekly": {"count": 100, "sigma": 16.0, "threshold": 1.65, "epsilon": 2.9},
        "dashboard": {"count": 1000, "sigma": 8.0, "threshold": 1.65, "epsilon": 10.0},
        "careful": {"count": 100, "sigma": 16.0, "threshold": 2.35, "epsilon": 2.9},
    }
    breaches: ClassVar[Mapping[str, Breach]] = {
        "omitted": Breach("noise", lambda claimed: {"count": claimed["count"] + 1}),
        "fivefold": Breach("sensitivity", lambda claimed: {"sensitivity": 5 * claimed["sensitivity"]}),
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
        found = 1 - result.beta_here
        allowed = 1 - float(approximate_dp_tradeoff(result.alpha_here, epsilon=params.epsilon, delta=params.delta))
        precision = positive_predictive_value(tpr=found, fpr=result.alpha_here, prior=0.5)
        return {
            "count": given(params.count),
            "sigma": given(params.sigma),
            "sensitivity": given(params.sensitivity),
            "accused": self._people(result.alpha_here),
            "missed": self._people(result.beta_here),
            "each": str(PEOPLE_EACH),
            "fpr": percent(result.alpha_here),
            "fnr": percent(result.beta_here),
            "found": percent(found),
            "allowed": percent(allowed),
            "precision": percent(float(precision)),
            "right": right_guesses(result.mu),
            "alone": rounded(params.sensitivity / result.mu),
            "releases": releases(params.count, self.text),
            "mu": rounded(result.mu, 4),
            "advantage": inside(result.advantage),
            "tpr_low": percent(result.tpr_at[0.01]),
            "tpr": percent(result.tpr_at[0.05]),
            **compared,
            "threshold": given(params.threshold),
            "verdict": self.text(f"tradeoff.verdict_{'kept' if result.is_kept else 'broken'}", **compared),
        }

    def _people(self, share: float) -> str:
        """Return how many of the people on one side that share is; next to none and next to all in words."""
        if share < _SHOWN / PEOPLE_EACH:
            return self.text("tradeoff.few")
        if share > 1 - _SHOWN / PEOPLE_EACH:
            return self.text("tradeoff.nearly_all", count=given(PEOPLE_EACH - _SHOWN))
        return rounded(PEOPLE_EACH * share)

    def contract(self, params: Attack, _result: TradeoffCurves) -> Mapping[str, str]:
        """Return what the numbers of the page assume."""
        return {
            "unit": "record",
            "relation": "add_remove",
            "sensitivity": "l2",
            "sampling": "none",
            "noise": "once" if params.count == 1 else "fresh",
            "delta": "compared",
        }

    def checks(self, params: Attack, result: TradeoffCurves) -> Iterable[Check]:
        """Yield the misses, the advantage and δ(ε) beside areas under the two bells."""
        missed = area(result.mu, -FAR, params.threshold)
        yield Check("tradeoff.check.point", result.beta_here, missed, tolerance=1e-6)
        yield Check("tradeoff.check.advantage", result.advantage, excess_area(result.mu, 0.0), tolerance=1e-6)
        excess = excess_area(result.mu, params.epsilon)
        yield Check("tradeoff.check.duality", result.delta_here, excess, tolerance=1e-6)
