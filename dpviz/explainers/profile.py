"""Profile: δ is one height of a whole curve, and not the probability that privacy fails."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from dpviz.accounting.curves.profile import ProfileCurves, Reading, profile_curves
from dpviz.explainers._areas import FAR, area, excess_area
from dpviz.explainers._base import Explainer
from dpviz.explainers._check import Check
from dpviz.explainers._controls import Controls, log_slider
from dpviz.explainers._lesson import Breach, Prediction
from dpviz.figures import FigureFunction, beside_figure, counted_figure, excess_figure, profile_figure
from dpviz.locale.numbers import exponential, given, inside, percent, rounded, rounded_up

_LEAK = 1e-3
"""How often the export of the negative control hands out the table itself."""

_WITNESS: Mapping[str, Any] = {"mu": 0.25, "epsilon": 1.061, "delta": 1e-6}
"""A Gaussian release at σ = 4Δ, read where its δ is just below one in a million."""


def _apart(log_value: float, other: str) -> str:
    """Return exp(log_value) with digits enough to tell it from another number, where 7 do."""
    texts = [exponential(log_value, digits) for digits in (3, 5, 7)]
    return next((text for text in texts if text != other), texts[-1])


class Profile(Explainer[Reading, ProfileCurves]):
    """Read a release at one ε, and see what its δ says, what it leaves out, and what else has the same δ."""

    name = "profile"
    params = Reading
    compute = staticmethod(profile_curves)
    figures: ClassVar[Mapping[str, FigureFunction]] = {
        "profile": profile_figure,
        "excess": excess_figure,
        "counted": counted_figure,
        "beside": beside_figure,
    }
    prediction: ClassVar[Prediction] = Prediction(
        control=log_slider("chance", value=0.01, low=1e-9, high=1.0, coarse=True),
        settings=_WITNESS,
        answer=lambda curves: math.exp(curves.log_tail_here),
        figure="profile",
        place=lambda curves, chance: (curves.reading.epsilon, chance),
    )
    scenarios: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sheets": {"mu": 1.0, "epsilon": 1.0, "delta": 1e-5},
        "twins": _WITNESS,
        "rows": {"mu": 1.0, "epsilon": 3.2, "delta": 1e-3},
        "advantage": {"mu": 0.25, "epsilon": 0.01, "delta": 0.1},
    }
    breaches: ClassVar[Mapping[str, Breach]] = {
        "twofold": Breach("sensitivity", lambda claimed: {"mu": 2 * claimed["mu"]}),
        "leak": Breach("delta", lambda _claimed: {"leak": _LEAK}),
    }

    def controls(self) -> Controls:
        """Return μ of the release, the ε at which it is read, and the δ of the contract."""
        return {
            "mu": log_slider("mu", value=1.0, low=0.01, high=3.0),
            "epsilon": log_slider("epsilon", value=1.6, low=0.01, high=20.0, words="reading"),
            "delta": log_slider("delta", value=0.05, low=1e-12, high=0.1, coarse=True),
        }

    def words(self, params: Reading, result: ProfileCurves) -> Mapping[str, str]:
        """Return the numbers of the page's sentences, and whether the Gaussian release keeps the contract."""
        key = "kept" if result.is_kept else "broken"
        pair = {
            "epsilon": given(params.epsilon),
            "delta": given(params.delta),
            "delta_here": _apart(result.log_delta_here, given(params.delta)),
            "least_epsilon": rounded_up(result.least_epsilon, 5),
            "once": rounded(1 / params.delta),
        }
        return {
            **pair,
            "mu": given(params.mu),
            "tail": exponential(result.log_tail_here),
            "times": exponential(result.log_tail_here - result.log_delta_here),
            "counted": percent(result.counted_here),
            "fpr": exponential(result.log_fpr_here),
            "advantage": inside(result.advantage),
            "loss": rounded(result.loss_at_delta),
            "quoted_epsilon": rounded_up(result.least_epsilon, 4),
            "quoted_delta": rounded_up(math.exp(result.log_delta_here)),
            "twice_epsilon": given(2 * params.epsilon),
            "twice_delta": exponential(result.log_delta_at_twice),
            "leak": given(params.leak),
            "pair": self.text(f"profile.pair_{key}", **pair),
            "verdict": self.text(f"profile.verdict_{key}", **pair),
        }

    def contract(self, _params: Reading, result: ProfileCurves) -> Mapping[str, str]:
        """Return what the numbers of the page assume, and whether the release keeps the contract."""
        return {
            "unit": "record",
            "relation": "add_remove",
            "sensitivity": "standard",
            "sampling": "none",
            "noise": "once",
            "delta": "contract" if result.is_kept else "broken_contract",
        }

    def checks(self, params: Reading, result: ProfileCurves) -> Iterable[Check]:
        """Yield δ(ε), P(loss > ε) and the least ε beside areas of bells, and δ(ε) beside what the outputs count."""
        delta_here, tail_here = math.exp(result.log_delta_here), math.exp(result.log_tail_here)
        yield Check("profile.check.excess", delta_here, excess_area(params.mu, params.epsilon), tolerance=1e-6)
        tail = area(params.mu, result.crossing, params.mu + FAR)
        yield Check("profile.check.tail", tail_here, tail, tolerance=1e-6)
        counted = tail_here * float(np.trapezoid(result.counted, result.shares))
        yield Check("profile.check.counted", delta_here, counted, tolerance=1e-3)
        excess = excess_area(params.mu, result.least_epsilon)
        yield Check("profile.check.pair", params.delta, excess, tolerance=1e-6)
