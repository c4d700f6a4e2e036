"""The figures of the profile page."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz.accounting.curves.profile import EVIDENCE, ProfileCurves
from dpviz.figures import _style as style
from dpviz.locale import Catalogue
from dpviz.locale.numbers import exponential, given, percent

_BELL_TOP = 0.5
_BEYOND = 1e3  # how many axes long a level line is, so that it does not end on the wider axis of another setting
_LABEL_HEIGHT = 0.46
_FAR_BELL = 1.5
_LOW = 0.75  # a level line this far down a log axis leaves no room for words below it
_LAST_LABEL = 3.0  # how far right a label may start and still have room
_RING = {"color": style.INK, "width": 2}
_ROOT = math.sqrt(2 * math.pi)


@style.FigureFunction
def profile_figure(curves: ProfileCurves, text: Catalogue) -> style.Spec:
    """Return delta(epsilon) on a log axis, the one point that is read, the tail above it, the catastrophe's level."""
    reading = curves.reading
    epsilon = given(reading.epsilon)
    values = np.exp([curves.log_delta_here, curves.log_tail_here])
    axis = style.axis(text("axis.delta"), low=curves.floor, high=1, is_log=True)
    _, (here_arrow, tail_arrow) = style.on_axis(values, axis)
    seen = np.where(values < curves.floor, np.nan, values)
    level = math.log(reading.delta) / math.log(curves.floor)  # from 0 at the top of the axis to 1 at its foot
    foot = level - 0.13 if level > _LOW else 0.94
    is_steep = curves.losses[-2] < 0.5 * curves.reach  # then the corner below the lines is on the right
    is_low = reading.delta < curves.floor**0.7
    is_level_left = is_steep if is_low else reading.epsilon > 0.6 * curves.reach
    return {
        "data": [
            style.line(
                np.array([0.0, curves.reach, _BEYOND * curves.reach]),
                np.full(3, reading.delta),
                name=text("profile.catastrophe_name"),
                color=style.INK,
                card="catastrophe",
            ),
            style.line(
                curves.losses,
                style.positive(curves.tail),
                name=text("profile.tail_name"),
                color=style.CONTEXT,
                card="loss_tail",
                width=1.75,
                hover=text.template("profile.hover.tail"),
            ),
            style.line(
                curves.losses,
                style.positive(curves.profile),
                name=text("profile.curve_name"),
                color=style.EXACT,
                card="gaussian_profile",
                hover=text.template("profile.hover.curve"),
            ),
            style.dots(
                [reading.epsilon],
                [reading.delta],
                name=text("profile.contract_name"),
                color=style.INK,
                card="catastrophe",
                marker={"symbol": "circle-open", "color": style.INK, "size": 17, "line": _RING},
            ),
            style.dots(
                [reading.epsilon],
                seen[1:],
                name=text("profile.tail_here_name"),
                color=style.CONTEXT,
                card="loss_tail",
            ),
            style.dots(
                [reading.epsilon],
                seen[:1],
                name=text("profile.here_name"),
                color=style.EXACT,
                card="gaussian_profile",
            ),
            style.labels(
                [*[curves.reach if is_steep else 0.0] * 2, 0.0 if is_level_left else curves.reach],
                [curves.floor ** (foot - 0.09), curves.floor**foot, reading.delta],
                [
                    text("profile.tail_label", epsilon=epsilon, tail=exponential(curves.log_tail_here)) + tail_arrow,
                    text("profile.here_label", epsilon=epsilon, delta=exponential(curves.log_delta_here)) + here_arrow,
                    text("profile.catastrophe_label"),
                ],
                color=[style.CONTEXT, style.EXACT, style.INK],
                position=[
                    *["middle left" if is_steep else "middle right"] * 2,
                    "top right" if is_level_left else "top left",
                ],
            ),
        ],
        "layout": style.layout(
            title=text(
                "profile.title.profile",
                epsilon=epsilon,
                delta=exponential(curves.log_delta_here),
                twice_epsilon=given(2 * reading.epsilon),
                twice_delta=exponential(curves.log_delta_at_twice),
            ),
            x=style.axis(text("axis.reading"), low=0, high=curves.reach),
            y=axis,
            meta={"wide": True},
        ),
    }


@style.FigureFunction
def excess_figure(curves: ProfileCurves, text: Catalogue) -> style.Spec:
    """Return both densities, one raised by e^epsilon, with the tail beyond their crossing and the excess in it."""
    reading = curves.reading
    return {
        "data": [
            style.line(
                curves.tail_evidence,
                curves.tail_with,
                name="",
                color=style.CLEAR,
                width=0,
                fill="tozeroy",
                fillcolor=style.ACCUSED,
            ),
            style.line(curves.tail_evidence, curves.tail_without, name="", color=style.CLEAR, width=0),
            style.line(
                curves.tail_evidence,
                curves.tail_with,
                name="",
                color=style.CLEAR,
                width=0,
                fill="tonexty",
                fillcolor=style.MISSED,
            ),
            style.line(
                curves.evidence,
                curves.bell_without,
                name=text("profile.without_name"),
                color=style.NOBODY,
                card="excess_area",
            ),
            style.line(
                curves.evidence,
                curves.bell_with,
                name=text("profile.with_name"),
                color=style.PERSON,
                card="excess_area",
            ),
            _excess_labels(curves, text),
        ],
        "layout": style.layout(
            title=text(
                "profile.title.excess",
                epsilon=given(reading.epsilon),
                delta=exponential(curves.log_delta_here),
            ),
            x=style.axis(text("axis.evidence"), low=EVIDENCE[0], high=EVIDENCE[1]),
            y=style.axis(text("axis.density"), low=0, high=_BELL_TOP),
            hovermode=False,
        ),
    }


@style.FigureFunction
def counted_figure(curves: ProfileCurves, text: Catalogue) -> style.Spec:
    """Return how much each output beyond epsilon counts in delta: fully where everything leaves, else in part."""
    ends = np.array([0.0, 1.0])
    counted = percent(curves.counted_here)
    return {
        "data": [
            style.line(ends, np.ones(2), name="", color=style.CLEAR, width=0, fill="tozeroy", fillcolor=style.ALLOWED),
            style.line(
                ends,
                np.ones(2),
                name=text("profile.all_counted_name"),
                color=style.INK,
                card="catastrophe",
                cliponaxis=False,
            ),
            style.line(
                curves.shares,
                curves.counted,
                name=text("profile.counted_name"),
                color=style.PERSON,
                card="counted_loss",
                fill="tozeroy",
                fillcolor=style.MISSED,
                hover=text.template("profile.hover.counted"),
            ),
            style.labels(
                [0.0, 1.0],
                [0.95, 0.05],
                [text("profile.all_counted_label"), text("profile.counted_label", counted=counted)],
                color=[style.INK, style.PERSON],
                position=["middle right", "middle left"],
            ),
        ],
        "layout": style.layout(
            title=text("profile.title.counted", epsilon=given(curves.reading.epsilon), counted=counted),
            x=style.share_axis(text("axis.beyond")),
            y=style.share_axis(text("axis.counts")),
        ),
    }


@style.FigureFunction
def beside_figure(curves: ProfileCurves, text: Catalogue) -> style.Spec:
    """Return what the best attacker finds at each false alarm rate on log axes: Gaussian, catastrophe, one pair."""
    reading = curves.reading
    fpr_here, tail_here = math.exp(curves.log_fpr_here), math.exp(curves.log_tail_here)
    pair = {"epsilon": given(reading.epsilon), "delta": given(reading.delta)}
    hover = text.template("profile.hover.found")
    tprs = style.positive(curves.tprs)
    found_at = _clear_of(tprs, curves)
    level = math.log(reading.delta) / math.log(curves.floor)
    is_low = level > _LOW
    guessing_at = curves.floor ** (0.36 if is_low else 0.75)
    allowed_at = max(curves.allowed[0], curves.floor ** (level - 0.09)) if is_low else curves.allowed[0]
    return {
        "data": [
            style.line(
                curves.fprs,
                curves.fprs,
                name=text("profile.guessing_name"),
                color=style.CONTEXT,
                card="blind_guessing",
                width=1.5,
            ),
            style.line(
                curves.fprs,
                curves.catastrophic,
                name=text("profile.catastrophe_found_name"),
                color=style.INK,
                card="catastrophe",
                hover=hover,
            ),
            style.line(
                curves.fprs,
                curves.allowed,
                name=text("profile.allowed_name"),
                color=style.BOUND,
                card="epsilon_delta_curve",
                is_bound=True,
                hover=hover,
            ),
            style.line(
                curves.fprs,
                tprs,
                name=text("profile.found_name"),
                color=style.EXACT,
                card="gaussian_tradeoff",
                hover=hover,
            ),
            style.dots(
                [fpr_here if fpr_here >= curves.floor else math.nan],
                [tail_here if fpr_here >= curves.floor else math.nan],
                name=text("profile.found_here_name"),
                color=style.EXACT,
                card="gaussian_tradeoff",
            ),
            style.labels(
                [curves.fprs[found_at], curves.floor, curves.floor, guessing_at],
                [tprs[found_at], reading.delta, allowed_at, guessing_at],
                [
                    text("profile.found_label"),
                    text("profile.catastrophe_found_label", delta=pair["delta"]),
                    text(f"profile.allowed_{'kept' if curves.is_kept else 'broken'}_label", **pair),
                    text("profile.guessing_label"),
                ],
                color=[style.EXACT, style.INK, style.BOUND, style.CONTEXT],
                position=["bottom right", "top right" if is_low else "bottom right", "top right", "bottom right"],
            ),
        ],
        "layout": style.layout(
            title=text("profile.title.beside", delta=pair["delta"]),
            x=style.axis(text("axis.fpr"), low=curves.floor, high=1, is_log=True),
            y=style.axis(text("axis.tpr"), low=curves.floor, high=1, is_log=True),
            meta={"wide": True},
        ),
    }


def _clear_of(tprs: npt.NDArray[np.float64], curves: ProfileCurves) -> int:
    """Return where on the Gaussian line of `beside_figure` a label is farthest from the lines beside it."""
    first, end = len(tprs) // 3, 2 * len(tprs) // 3
    middle = slice(first, end)
    with np.errstate(divide="ignore"):
        line, *others = (np.log(values[middle]) for values in (tprs, curves.catastrophic, curves.allowed))
    gaps = np.min([np.abs(line - other) for other in others], axis=0)
    gaps[~(line >= np.log(curves.floor))] = -1.0  # below the axis
    return first + int(np.argmax(gaps))


def _excess_labels(curves: ProfileCurves, text: Catalogue) -> style.Spec:
    """Return the names of both densities and the two areas in words, beside the lines and not on them."""
    reading = curves.reading
    share = 1 - reading.leak
    raised = math.exp(reading.epsilon) * share / _ROOT
    is_high = raised > _LABEL_HEIGHT
    falls_at = math.sqrt(2 * math.log(raised / _LABEL_HEIGHT)) if is_high else EVIDENCE[0]
    anchor = max(curves.crossing, reading.mu + 1)
    is_early = anchor < _LAST_LABEL
    beside = math.exp(-((anchor - reading.mu) ** 2) / 2) * share / _ROOT if is_early else 0.14
    height = beside if is_early or reading.mu < _FAR_BELL else 0.36
    place = "area" if curves.crossing < EVIDENCE[1] - 1 else "far"
    return style.labels(
        [falls_at, reading.mu, *[anchor if is_early else EVIDENCE[1]] * 2],
        [_LABEL_HEIGHT if is_high else 0.48, 0.1, height + 0.055, height + 0.02],
        [
            text("profile.without_label"),
            text("profile.with_label"),
            text(f"profile.excess_{place}_label", delta=exponential(curves.log_delta_here)),
            text(f"profile.tail_{place}_label", tail=exponential(curves.log_tail_here)),
        ],
        color=[style.NOBODY, style.PERSON, style.PERSON, style.QUIET],
        position=[
            "middle right" if falls_at < _LAST_LABEL else "middle left",
            "middle center",
            *["middle right" if is_early else "middle left"] * 2,
        ],
    )
