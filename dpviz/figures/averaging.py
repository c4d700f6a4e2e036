"""The figures of the averaging page."""

from __future__ import annotations

import numpy as np

from dpviz.accounting.curves.averaging import DOTS, AveragingCurves
from dpviz.accounting.scales import round_up
from dpviz.figures import _style as style
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
                fillcolor="rgba(0, 158, 115, 0.13)",
            ),
            style.line(np.array([0.0, 0.0]), np.array([-0.08, 1.08]), name="", color=style.INK, width=1.5),
            style.dots(
                curves.means,
                heights,
                name=text("averaging.means_name"),
                color=style.ACCURACY,
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
                hover=text.template("averaging.hover.spread"),
            ),
            style.dots([answer.repeats], [curves.spread_here], name=text("averaging.here_name"), color=style.ACCURACY),
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
    seen = exact if exact > 0 else np.nan
    top = max(1e3, float(10 ** np.ceil(np.log10(bound))))
    return {
        "data": [
            style.line(
                curves.repeats,
                style.positive(curves.exact),
                name=text("composition.exact_name"),
                color=style.EXACT,
                hover=text.template("averaging.hover.exact"),
            ),
            style.line(
                curves.repeats,
                style.positive(curves.bound),
                name=text("composition.rdp_name"),
                color=style.BOUND,
                is_bound=True,
                hover=text.template("averaging.hover.bound"),
                fill="tonexty",
                fillcolor=style.SLACK,
            ),
            style.dots(
                [answer.repeats], [bound], name=text("composition.bound_here"), color=style.BOUND, is_bound=True
            ),
            style.dots([answer.repeats], [seen], name=text("composition.exact_here"), color=style.EXACT),
            style.labels(
                [answer.repeats, answer.repeats],
                [bound, seen],
                [
                    text("composition.bound_label", epsilon=rounded_up(bound, 4)),
                    text("composition.exact_label", epsilon=rounded(exact, 4)),
                ],
                color=style.INK,
                position=["top left", "bottom right"] if answer.repeats > 30 else ["top right", "bottom right"],
                textfont={"color": [style.BOUND, style.EXACT], "size": 13},
            ),
        ],
        "layout": style.layout(
            title=text(
                f"averaging.title.price_{answer.noise if exact > 0 else 'zero'}",
                repeats=given(answer.repeats),
                delta=given(answer.delta),
                exact=rounded(exact, 4),
                bound=rounded_up(bound, 4),
            ),
            x=style.axis(text("axis.repeats"), low=1, high=_MOST_REPEATS, is_log=True),
            y=style.axis(text("axis.epsilon"), low=1e-2, high=top, is_log=True),
        ),
    }


@style.FigureFunction
def identity_figure(curves: AveragingCurves, text: Catalogue) -> style.Spec:
    """Return the curve SD = Δ/μ and the dot on it: accuracy and privacy are one number read two ways."""
    answer = curves.answer
    spread, mu = curves.spread_here, curves.mu_here
    first = answer.sensitivity / answer.sigma
    return {
        "data": [
            style.line(curves.mus, curves.identity, name=text("averaging.identity_name"), color=style.INK),
            style.dots([first], [answer.sigma], name="", color=style.INK, is_bound=True, size=9),
            style.dots([mu], [spread], name=text("averaging.here_name"), color=style.PERSON, size=13),
            style.labels(
                [mu],
                [spread],
                [text("averaging.identity_label", mu=rounded(mu), spread=rounded(spread))],
                color=style.PERSON,
                position="top right" if mu < 1 else "bottom left",
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
            x=style.axis(text("axis.mu"), low=1e-3, high=1e3, is_log=True),
            y=style.axis(
                text("axis.spread"), low=1e-3 * answer.sensitivity, high=1e3 * answer.sensitivity, is_log=True
            ),
        ),
    }
