"""Laplace: why noise of scale Δ/ε works, and how it fails when Δ is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dpviz.accounting import laplace_density
from dpviz.accounting.curves.laplace import LaplaceClaim, LaplaceCurves, laplace_curves
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, linear_slider, log_slider
from dpviz.explainers._lesson import Breach, Prediction
from dpviz.figures import FigureFunction, density_figure, odds_figure, ratio_figure
from dpviz.locale.numbers import exponential, given, percent, rounded


def _really(times: float) -> Breach:
    """Return the negative control in which one person moves the answer by `times` what is claimed, or shown."""
    return Breach("sensitivity", lambda claimed: {"change": times * max(claimed["change"], claimed["sensitivity"])})


class Laplace(Explainer[LaplaceClaim, LaplaceCurves]):
    """Drag the output and the true change, and see where the promised ratio holds."""

    name = "laplace"
    params = LaplaceClaim
    compute = staticmethod(laplace_curves)
    figures: ClassVar[Mapping[str, FigureFunction]] = {
        "density": density_figure,
        "ratio": ratio_figure,
        "odds": odds_figure,
    }
    prediction: ClassVar[Prediction] = Prediction(
        control=log_slider("factor", value=1.0, low=1.0, high=20.0),
        settings={"change": 2.0, "output": 4.0},
        answer=lambda curves: math.exp(curves.real_epsilon),
        figure="ratio",
        place=lambda curves, factor: (curves.claim.change, math.log(factor)),
        is_on_axis=False,
    )
    scenarios: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "count": {"epsilon": 1.0, "sensitivity": 1.0, "change": 1.0, "output": 2.0},
        "double": {"epsilon": 1.0, "sensitivity": 1.0, "change": 2.0, "output": 4.0},
        "fivefold": {"epsilon": 1.0, "sensitivity": 1.0, "change": 5.0, "output": 8.0},
        "clipped": {"epsilon": 0.5, "sensitivity": 10.0, "change": 10.0, "output": 15.0},
    }
    breaches: ClassVar[Mapping[str, Breach]] = {"double": _really(2.0), "fivefold": _really(5.0)}

    def controls(self) -> Controls:
        """Return ε, the claimed Δ, the true change and the output looked at."""
        return {
            "epsilon": log_slider("epsilon", value=1.0, low=0.01, high=10.0),
            "sensitivity": log_slider("claimed", value=1.0, low=0.1, high=10.0),
            "change": log_slider("change", value=1.0, low=0.1, high=100.0),
            "output": linear_slider("x", value=2.0, low=-20.0, high=20.0, step=0.1),
        }

    def words(self, params: LaplaceClaim, result: LaplaceCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences, and the half that depends on whether the claim holds."""
        claimed = {
            "epsilon": given(params.epsilon),
            "most": exponential(params.epsilon, 4),
            "sensitivity": given(params.sensitivity),
            "change": given(params.change),
        }
        worst = {
            "worst": given(float(f"{result.real_epsilon:.6g}")),
            "worst_factor": exponential(result.real_epsilon, 4),
        }
        key = "kept" if params.is_kept else "broken"
        return {
            **claimed,
            **worst,
            "odds": percent(float(result.posterior[len(result.priors) // 2]), 4),
            "sight": self._sight(result.log_ratio_here),
            "ratio": exponential(abs(result.log_ratio_here), 4),
            "log_ratio": rounded(result.log_ratio_here, 4),
            "output": given(params.output),
            "scale": rounded(result.scale, 4),
            "variance": rounded(2 * result.scale**2, 4),
            "verdict": self.text(f"laplace.verdict_{key}", **claimed, **worst),
            "premise": self.text(f"laplace.premise_{key}", **claimed),
        }

    def contract(self, params: LaplaceClaim, _result: LaplaceCurves) -> Mapping[str, str]:
        """Return what the numbers of the page assume; the claim breaks where one person changes more than it says."""
        return {
            "unit": "record",
            "relation": "add_remove",
            "sensitivity": "claimed" if params.is_kept else "broken_claim",
            "sampling": "none",
            "noise": "once",
            "delta": "pure",
        }

    def checks(self, params: LaplaceClaim, result: LaplaceCurves) -> Iterable[Check]:
        """Yield the log ratio beside the two densities' own, and the promised limit beside the worst output."""
        without = laplace_density(params.output, location=0.0, scale=result.scale)
        with_person = laplace_density(params.output, location=params.change, scale=result.scale)
        yield Check("laplace.check.ratio", result.log_ratio_here, math.log(with_person / without))
        yield Check("laplace.check.worst", result.real_epsilon, float(abs(result.log_ratio).max()))

    def _sight(self, log_ratio: float) -> str:
        """Return the half sentence that says under which answer the output is likelier."""
        if log_ratio == 0:
            return self.text("laplace.sight_even")
        key = "with" if log_ratio > 0 else "without"
        return self.text(f"laplace.sight_{key}", ratio=exponential(abs(log_ratio), 4))
