"""The figures of the averaging page."""

from __future__ import annotations

import numpy as np

from dpviz.accounting.curves.averaging import DOTS, AveragingCurves
from dpviz.accounting.scales import round_up
from dpviz.figures import _style as style
from dpviz.figures._price import price_axis, price_traces
from dpviz.locale import Catalogue
from dpviz.locale.numbers import given, rounded, rounded_up

_GOLDEN = (5**0.5 - 1) / 2
_SPREAD_DECADES = 3
_MOST_REPEATS = 1_000_000


@style.FigureFunction
def means_figure(curves: AveragingCurves, text: Catalogue) -> style.Spec:
    """Return fifty simulated averages as dots around the truth, with the band that holds about two thirds."""
    answer, spread = curves.answer, curves.spread_here
    reach = round_up(3.2 * answer.sigma)
    heights = (np.arange(1, DOTS + 1) * _GOLDEN) % 1
    band = np.array([-spread, spread])
    return {
        "data": [
            style.line(band, np.array([1.04, 1.04]), name="", color=style.ACCURACY, width=0),
            style.line(
                band,
                np.array([-0.04, -0.04]),
                name="",
                color=style.ACCURACY,
                width=0,
                fill="tonexty",
                fillcolor=style.SPREAD,
            ),
            style.line(np.array([0.0, 0.0]), np.array([-0.08, 1.08]), name="", color=style.INK, width=1.5),
            style.dots(
                curves.means,
                heights,
                name=text("averaging.means_name"),
                color=style.ACCURACY,
                card="simulated_means",
                size=8,
                hover=text.template("averaging.hover.mean"),
                cliponaxis=True,
            ),
            style.labels([0.0], [1.08], [text("averaging.truth_label")], color=style.INK, position="top center"),
        ],
        "layout": style.layout(
            title=text(
                f"averaging.title.means_{answer.noise}",
                repeats=given(answer.repeats),
                inside=str(int(np.sum(np.abs(curves.means) <= spread))),
                spread=rounded(spread),
            ),
            x=style.axis(text("axis.error"), low=-reach, high=reach),
            y={**style.axis("", low=-0.1, high=1.25), "visible": False, "fixedrange": True},
            margin={"l": 20, "r": 20, "t": 10, "b": 46},
        ),
    }


@style.FigureFunction
def spread_figure(curves: AveragingCurves, text: Catalogue) -> style.Spec:
    """Return the standard deviation of the average against the number of answers."""
    answer = curves.answer
    top = round_up(1.5 * answer.sigma)
    return {
        "data": [
            style.line(
                curves.repeats,
                curves.spread,
                name=text("averaging.spread_name"),
                color=style.ACCURACY,
                card="mean_spread",
                hover=text.template("averaging.hover.spread"),
            ),
            style.dots(
                [answer.repeats],
                [curves.spread_here],
                name=text("averaging.here_name"),
                color=style.ACCURACY,
                card="mean_spread",
            ),
            style.labels(
                [answer.repeats],
                [curves.spread_here],
                [text("averaging.spread_label", spread=rounded(curves.spread_here))],
                color=style.ACCURACY,
                position="top right" if answer.repeats < _MOST_REPEATS**0.5 else "top left",
            ),
        ],
        "layout": style.layout(
            title=text(f"averaging.title.spread_{answer.noise}", sigma=given(answer.sigma)),
            x=style.axis(text("axis.repeats"), low=1, high=_MOST_REPEATS, is_log=True),
            y=style.axis(text("axis.spread"), low=top / 10 ** (_SPREAD_DECADES + 0.7), high=top, is_log=True),
        ),
    }


@style.FigureFunction
def price_figure(curves: AveragingCurves, text: Catalogue) -> style.Spec:
    """Return epsilon against the number of answers: bound dashed, exact solid."""
    answer = curves.answer
    exact, bound = curves.exact_here, curves.bound_here
    y = price_axis(bound, text)
    return {
        "data": price_traces(
            counts=curves.repeats,
            exact=curves.exact,
            bound=curves.bound,
            count=answer.repeats,
            exact_here=exact,
            bound_here=bound,
            axis=y,
            hover=(text.template("averaging.hover.exact"), text.template("averaging.hover.bound")),
            text=text,
        ),
        "layout": style.layout(
            title=text(
                f"averaging.title.price_{answer.noise if exact > 0 else 'zero'}",
                repeats=given(answer.repeats),
                delta=given(answer.delta),
                exact=rounded(exact, 4),
                bound=rounded_up(bound, 4),
            ),
            x=style.axis(text("axis.repeats"), low=1, high=_MOST_REPEATS, is_log=True),
            y=y,
        ),
    }


@style.FigureFunction
def identity_figure(curves: AveragingCurves, text: Catalogue) -> style.Spec:
    """Return the curve SD = Δ/μ and the dot on it: accuracy and privacy are one number read two ways."""
    answer = curves.answer
    spread, mu = curves.spread_here, curves.mu_here
    first = answer.sensitivity / answer.sigma
    decade = 10.0 ** np.floor(np.log10(answer.sensitivity))
    x = style.axis(text("axis.mu"), low=1e-3, high=1e3, is_log=True)
    y = style.axis(text("axis.spread"), low=1e-3 * decade, high=1e4 * decade, is_log=True)
    mu_at, _ = style.on_axis([mu], x)
    spread_at, [arrow] = style.on_axis([spread], y)
    return {
        "data": [
            style.line(
                curves.mus,
                curves.identity,
                name=text("averaging.identity_name"),
                color=style.INK,
                card="mean_identity",
            ),
            style.dots([first], [answer.sigma], name="", color=style.INK, is_bound=True, size=9),
            style.dots(
                [mu],
                [spread],
                name=text("averaging.here_name"),
                color=style.PERSON,
                card="mean_identity",
                size=13,
            ),
            style.labels(
                mu_at,
                spread_at,
                [text("averaging.identity_label", mu=rounded(mu), spread=rounded(spread)) + arrow],
                color=style.PERSON,
                position=_identity_side(mu, is_outside=bool(arrow)),
            ),
            style.labels(
                [first],
                [answer.sigma],
                [text("averaging.one_answer_label")],
                color=style.QUIET,
                position="bottom left",
            ),
        ],
        "layout": style.layout(
            title=text("averaging.title.identity", mu=rounded(mu, 4), spread=rounded(spread, 4)),
            x=x,
            y=y,
        ),
    }


def _identity_side(mu: float, *, is_outside: bool) -> str:
    """Return where the label of the dot stands; at an end of the curve it stays inside the axes."""
    if is_outside:
        return "bottom right" if mu < 1 else "top left"
    return "top right" if mu < 1 else "bottom left"
