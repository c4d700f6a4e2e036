"""The figures of the Laplace page."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz.accounting.curves.laplace import LaplaceCurves
from dpviz.accounting.scales import round_up
from dpviz.figures import _style as style
from dpviz.locale import Catalogue
from dpviz.locale.numbers import exponential, given, percent, rounded

_ONWARD = np.append(np.linspace(0.25, 10.0, 16), 1e4)  # how far beyond the axis lines go on, in scales of the noise
_EQUAL, _NEARLY = 1e-9, 1e-3  # log ratios of two densities


@style.FigureFunction
def density_figure(curves: LaplaceCurves, text: Catalogue) -> style.Spec:
    """Return the density of the output without and with the person, and where the output looked at falls."""
    claim = curves.claim
    peak = 1 / (2 * curves.scale)
    top = round_up(1.05 * peak)
    without, with_person = curves.densities_here
    hover = text.template("laplace.hover.density")
    return {
        "data": [
            style.line(
                _beyond(curves),
                _onward(curves.density_without, np.exp(-_ONWARD)),
                name=text("laplace.without_name"),
                color=style.NOBODY,
                card="density_without",
                hover=hover,
            ),
            style.line(
                _beyond(curves),
                _onward(curves.density_with, np.exp(-_ONWARD)),
                name=text("laplace.with_name"),
                color=style.PERSON,
                card="density_with",
                hover=hover,
            ),
            style.line(
                np.array([claim.output, claim.output]),
                np.array([0.0, _ONWARD[-1] * top]),
                name="",
                color=style.QUIET,
                width=1,
            ),
            style.dots(
                [claim.output, claim.output],
                [without, with_person],
                name=text("laplace.densities_here"),
                color=[style.NOBODY, style.PERSON],
                card=("density_without", "density_with"),
            ),
            style.labels(
                [0.0, claim.change],
                [peak, peak],
                [text("laplace.without_label"), text("laplace.with_label")],
                color=[style.NOBODY, style.PERSON],
                position=["top left", "top right"],
            ),
            style.labels(
                [math.copysign(curves.reach, claim.output)],
                [0.5 * top],
                ["" if curves.is_in_view else text("laplace.beyond_label", output=given(claim.output))],
                color=style.QUIET,
                position="middle left" if claim.output > 0 else "middle right",
            ),
        ],
        "layout": style.layout(
            title=_density_title(curves, text),
            x=style.axis(text("axis.output"), low=-curves.reach, high=curves.reach),
            y=style.axis(text("axis.density"), low=0, high=top),
            meta={"wide": True},
        ),
    }


@style.FigureFunction
def ratio_figure(curves: LaplaceCurves, text: Catalogue) -> style.Spec:
    """Return the log ratio of the two densities over all outputs, between the guides that the claim sets."""
    claim = curves.claim
    top = round_up(1.15 * max(claim.epsilon, curves.real_epsilon))
    ends = _beyond(curves)[[0, len(_ONWARD), -len(_ONWARD) - 1, -1]]
    guides = np.full(4, claim.epsilon)
    key = "kept" if claim.is_kept else "broken"
    return {
        "data": [
            style.line(
                ends,
                -guides,
                name=text("laplace.guide_low_name"),
                color=style.BOUND,
                card="claimed_ratio",
                is_bound=True,
                bound="lower",
                width=2,
            ),
            style.line(
                ends,
                guides,
                name=text("laplace.guide_high_name"),
                color=style.BOUND,
                card="claimed_ratio",
                is_bound=True,
                width=2,
                fill="tonexty",
                fillcolor=style.ALLOWED,
            ),
            style.line(
                _beyond(curves),
                _onward(curves.log_ratio, np.ones(len(_ONWARD))),
                name=text("laplace.ratio_name"),
                color=style.EXACT,
                card="laplace_ratio",
                hover=text.template("laplace.hover.ratio"),
            ),
            style.dots(
                [claim.output],
                [curves.log_ratio_here],
                name=text("laplace.ratio_here"),
                color=style.EXACT,
                card="laplace_ratio",
            ),
            style.labels(
                [-curves.reach, curves.reach],
                [claim.epsilon + 0.03 * top, -claim.epsilon - 0.03 * top],
                [
                    text("laplace.guide_label", epsilon=f"+{given(claim.epsilon)}"),
                    text("laplace.guide_label", epsilon=f"−{given(claim.epsilon)}"),
                ],
                color=style.BOUND,
                position=["top right", "bottom left"],
            ),
        ],
        "layout": style.layout(
            title=text(
                f"laplace.title.ratio_{key}",
                epsilon=given(claim.epsilon),
                real=given(float(f"{curves.real_epsilon:.6g}")),
            ),
            x=style.axis(text("axis.output"), low=-curves.reach, high=curves.reach),
            y=style.axis(text("axis.log_ratio"), low=-top, high=top),
        ),
    }


@style.FigureFunction
def odds_figure(curves: LaplaceCurves, text: Catalogue) -> style.Spec:
    """Return what this output makes of each prior belief, inside the limits that the claim sets."""
    half = len(curves.priors) // 2
    hover = text.template("laplace.hover.posterior")
    return {
        "data": [
            style.line(
                curves.priors,
                curves.posterior_low,
                name=text("laplace.posterior_low_name"),
                color=style.BOUND,
                card="claimed_belief",
                is_bound=True,
                bound="lower",
                width=2,
            ),
            style.line(
                curves.priors,
                curves.posterior_high,
                name=text("laplace.posterior_high_name"),
                color=style.BOUND,
                card="claimed_belief",
                is_bound=True,
                width=2,
                fill="tonexty",
                fillcolor=style.ALLOWED,
            ),
            style.line(curves.priors, curves.priors, name="", color=style.CONTEXT, width=1.5),
            style.line(
                curves.priors,
                curves.posterior,
                name=text("laplace.posterior_name"),
                color=style.EXACT,
                card="laplace_belief",
                hover=hover,
            ),
            style.dots(
                [0.5],
                [float(curves.posterior[half])],
                name=text("laplace.posterior_here"),
                color=style.EXACT,
                card="laplace_belief",
            ),
            style.labels(
                [0.62],
                [float(np.interp(0.62, curves.priors, curves.posterior_low))],
                [text("laplace.limits_label")],
                color=style.BOUND,
                position="bottom right",
            ),
        ],
        "layout": style.layout(
            title=text(
                f"laplace.title.odds_{'kept' if curves.claim.is_kept else 'broken'}",
                posterior=percent(float(curves.posterior[half]), 4),
                least=percent(float(curves.posterior_low[half]), 4),
                most=percent(float(curves.posterior_high[half]), 4),
            ),
            x=style.share_axis(text("axis.prior")),
            y=style.share_axis(text("axis.posterior")),
        ),
    }


def _density_title(curves: LaplaceCurves, text: Catalogue) -> str:
    """Return the takeaway: how far the densities differ, with digits enough to see that they do."""
    size, scale = abs(curves.log_ratio_here), rounded(curves.scale)
    if size < _EQUAL:
        return text("laplace.title.density_equal", scale=scale)
    return text("laplace.title.density", ratio=exponential(size, 4 if size > _NEARLY else 9), scale=scale)


def _beyond(curves: LaplaceCurves) -> npt.NDArray[np.float64]:
    """Return the outputs and some beyond them, so that a line does not end on the wider axis of another setting."""
    onward = curves.scale * _ONWARD
    return np.concatenate([curves.outputs[0] - onward[::-1], curves.outputs, curves.outputs[-1] + onward])


def _onward(values: npt.NDArray[np.float64], factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values over `_beyond`: outside both peaks a density falls by `factors`, and a ratio stays."""
    return np.concatenate([values[0] * factors[::-1], values, values[-1] * factors])
