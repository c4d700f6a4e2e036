"""The figures of the trade-off page."""

from __future__ import annotations

import numpy as np

from dpviz.accounting.curves.tradeoff import EVIDENCE, TradeoffCurves
from dpviz.figures import _style as style
from dpviz.locale import Catalogue
from dpviz.locale.numbers import given, percent, rounded

PEOPLE_EACH = 500
_BELL_TOP = 0.5
_PEAK = 1 / np.sqrt(2 * np.pi)
_LOW = 0.15  # a line lower than this has no room for its label below it


@style.FigureFunction
def bells_figure(curves: TradeoffCurves, text: Catalogue) -> style.Spec:
    """Return the law of the evidence without and with the person, cut by the threshold; it can be dragged."""
    threshold = curves.attack.threshold
    is_wrong_in = curves.evidence >= threshold
    accused = np.where(is_wrong_in, curves.bell_without, 0.0)
    missed = np.where(is_wrong_in, 0.0, curves.bell_with)
    in_view = min(curves.mu, EVIDENCE[1])
    return {
        "data": [
            _area(curves.evidence, accused, style.ACCUSED),
            _area(curves.evidence, missed, style.MISSED),
            style.line(
                curves.evidence,
                curves.bell_without,
                name=text("tradeoff.without_name"),
                color=style.NOBODY,
                card="evidence_without",
            ),
            style.line(
                curves.evidence,
                curves.bell_with,
                name=text("tradeoff.with_name"),
                color=style.PERSON,
                card="evidence_with",
            ),
            style.line(
                np.array([threshold, threshold]),
                np.array([0.0, _PEAK]),
                name="",
                color=style.EXACT,
                width=3,
            ),
            style.labels(
                [0.0, in_view],
                [_PEAK, _PEAK if curves.mu < EVIDENCE[1] else 0.1],
                [
                    text("tradeoff.without_label"),
                    text("tradeoff.with_label" if curves.mu < EVIDENCE[1] else "tradeoff.with_far_label"),
                ],
                color=[style.NOBODY, style.PERSON],
                position=["top left", "top right" if curves.mu < 5 else "top left"],
            ),
        ],
        "layout": style.layout(
            title=text(
                "tradeoff.title.bells",
                fpr=percent(curves.alpha_here),
                fnr=percent(curves.beta_here),
            ),
            x=style.axis(text("axis.evidence"), low=EVIDENCE[0], high=EVIDENCE[1]),
            y=style.axis(text("axis.density"), low=0, high=_BELL_TOP),
            dragmode=False,
            hovermode=False,
            meta={"drag": {"control": "threshold", "low": EVIDENCE[0], "high": EVIDENCE[1], "step": 0.05}},
        ),
    }


@style.FigureFunction
def curve_figure(curves: TradeoffCurves, text: Catalogue) -> style.Spec:
    """Return the attacker's least miss rate for each false alarm rate, with blind guessing and one (ε, δ) line."""
    attack = curves.attack
    ends = np.array([0.0, 1.0])
    above, below = np.interp([0.45, 0.6], curves.alpha, curves.beta)
    kink = _even(curves.compared_alpha, curves.compared_beta)
    compared = float(np.interp(0.75, curves.compared_alpha, curves.compared_beta))
    has_room, is_low = below > _LOW, kink < _LOW
    hover = text.template("tradeoff.hover.curve")
    return {
        "data": [
            style.line(
                ends,
                1 - ends,
                name=text("tradeoff.guessing_name"),
                color=style.CONTEXT,
                card="blind_guessing",
                width=1.5,
            ),
            style.line(
                curves.compared_alpha,
                curves.compared_beta,
                name=text("tradeoff.compared_name"),
                color=style.BOUND,
                card="epsilon_delta_curve",
                is_bound=True,
                bound="lower",
            ),
            style.line(
                curves.tangent_alpha,
                curves.tangent_beta,
                name=text("tradeoff.tangent_name"),
                color=style.EXACT,
                card="supporting_line",
                width=1.25,
            ),
            style.line(
                curves.alpha,
                curves.beta,
                name=text("tradeoff.curve_name"),
                color=style.EXACT,
                card="gaussian_tradeoff",
                hover=hover,
            ),
            style.dots(
                [curves.alpha_here],
                [curves.beta_here],
                name=text("tradeoff.here_name"),
                color=style.EXACT,
                card="gaussian_tradeoff",
                size=12,
            ),
            style.labels(
                [0.35, 0.6 if has_room else 0.45, kink if is_low else 0.75],
                [0.65, below if has_room else max(above, 0.1), kink + 0.02 if is_low else compared],
                [
                    text("tradeoff.guessing_label"),
                    text("tradeoff.curve_label"),
                    text(
                        f"tradeoff.compared_{'kept' if curves.is_kept else 'broken'}_label",
                        epsilon=given(attack.epsilon),
                        delta=given(attack.delta),
                    ),
                ],
                color=[style.CONTEXT, style.EXACT, style.BOUND],
                position=[
                    "top right",
                    "bottom left" if has_room else "top right",
                    "middle right" if is_low else "bottom left",
                ],
            ),
            style.labels(
                0.7 * curves.tangent_alpha[1:],
                0.3 * curves.tangent_beta[:1],
                [text("tradeoff.tangent_label")],
                color=style.EXACT,
                position="middle left" if curves.tangent_alpha[1] > 0.5 else "middle right",
                size=12,
            ),
        ],
        "layout": style.layout(
            title=text("tradeoff.title.curve", mu=rounded(curves.mu)),
            x=style.share_axis(text("axis.fpr")),
            y=style.share_axis(text("axis.fnr")),
        ),
    }


@style.FigureFunction
def people_figure(curves: TradeoffCurves, text: Catalogue) -> style.Spec:
    """Return what the threshold makes of 1,000 people, half of them in the data: right and wrong, expected.

    Misses and false alarms have the colours of their areas under the bells.
    """
    wrong = np.array([curves.beta_here, curves.alpha_here]) * PEOPLE_EACH
    right = np.array([1 - curves.beta_here, 1 - curves.alpha_here]) * PEOPLE_EACH
    missed, accused = (rounded(float(count)) for count in wrong)
    found, cleared = (rounded(float(count)) for count in right)
    colors = [style.PERSON, style.QUIET]
    rows = np.array([0.0, 1.0])
    return {
        "data": [
            style.bars(wrong, rows, name=text("tradeoff.wrong_name"), color=colors, card="expected_people"),
            style.bars(right, rows, name=text("tradeoff.right_name"), color=style.REST, card="expected_people"),
            style.labels(
                [0.0, 0.0],
                rows - 0.34,
                [text("tradeoff.missed_label", count=missed), text("tradeoff.accused_label", count=accused)],
                color=colors,
                position="middle right",
            ),
            style.labels(
                [PEOPLE_EACH, PEOPLE_EACH],
                rows + 0.34,
                [text("tradeoff.found_label", count=found), text("tradeoff.cleared_label", count=cleared)],
                color=style.INK,
                position="middle left",
            ),
        ],
        "layout": style.layout(
            title=text("tradeoff.title.people", right=rounded(float(right.sum()))),
            x=style.axis(text("axis.people"), low=0, high=PEOPLE_EACH, dtick=100),
            y=style.row_axis([text("tradeoff.row_in"), text("tradeoff.row_out")]),
            barmode="stack",
            hovermode=False,
        ),
    }


@style.FigureFunction
def rates_figure(curves: TradeoffCurves, text: Catalogue) -> style.Spec:
    """Return how many the best attacker finds at two low false alarm rates, and the largest gap between the rates."""
    low, high = curves.tpr_at
    names = [
        text("tradeoff.tpr_row", fpr=percent(low)),
        text("tradeoff.tpr_row", fpr=percent(high)),
        text("tradeoff.advantage_row"),
    ]
    values = np.array([curves.tpr_at[low], curves.tpr_at[high], curves.advantage])
    rows = np.arange(3.0)
    is_long = values > 0.75  # then the label stands above the bar's end
    return {
        "data": [
            style.bars(values, rows, name=text("tradeoff.rates_name"), color=style.EXACT, card="best_rates"),
            style.dots(
                [low, high, 0.0],
                rows,
                name=text("tradeoff.guess_name"),
                color=style.INK,
                card="blind_guessing",
                symbol="line-ns",
                size=22,
            ),
            style.labels(
                values,
                rows - 0.34 * is_long,
                [percent(float(value)) for value in values],
                color=style.INK,
                position=["middle left" if long else "middle right" for long in is_long],
            ),
        ],
        "layout": style.layout(
            title=text("tradeoff.title.rates", tpr=percent(float(values[1])), fpr=percent(high)),
            x={**style.share_axis(text("axis.share")), "dtick": 0.5},
            y=style.row_axis(names),
            hovermode=False,
        ),
    }


def _even(alpha: np.ndarray, beta: np.ndarray) -> float:
    """Return where a trade-off curve has as many misses as false alarms."""
    return float(np.interp(0.0, alpha - beta, alpha))


def _area(x: np.ndarray, y: np.ndarray, color: str) -> style.Spec:
    return style.line(x, y, name="", color=style.CLEAR, width=0, fill="tozeroy", fillcolor=color)
