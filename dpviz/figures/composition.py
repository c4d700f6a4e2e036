"""The figures of the composition page."""

from __future__ import annotations

import numpy as np

from dpviz.accounting.curves.composition import CompositionCurves
from dpviz.accounting.scales import round_down, round_up
from dpviz.figures import _style as style
from dpviz.figures._price import price_axis, price_traces
from dpviz.locale import Catalogue
from dpviz.locale.numbers import above_one, given, rounded, rounded_up

_MOST_ORDER = 512


@style.FigureFunction
def history_figure(curves: CompositionCurves, text: Catalogue) -> style.Spec:
    """Return epsilon against the number of releases: bound dashed, exact solid, slack shaded between."""
    here, ladder = curves.history, curves.ladder
    exact, bound = ladder["exact"], ladder["rdp"]
    y = price_axis(bound, text)
    family_ends = _below(curves, 0.5 * 10 ** y["range"][1])
    names = [text("composition.family", sigma=given(sigma)) for sigma in curves.family]
    family = [
        style.line(
            curves.counts,
            style.positive(values),
            name=name,
            color=style.CONTEXT,
            card="gaussian_family",
            width=1.5,
        )
        for name, values in zip(names, curves.family.values(), strict=True)
    ]
    return {
        "data": [
            *family,
            *price_traces(
                counts=curves.counts,
                exact=curves.exact,
                bound=curves.bound,
                count=here.count,
                exact_here=exact,
                bound_here=bound,
                axis=y,
                hover=(text.template("composition.hover.exact"), text.template("composition.hover.bound")),
                text=text,
            ),
            style.labels(
                *family_ends,
                [names[0], *(given(sigma) for sigma in list(curves.family)[1:])],  # “σ = 4   8   16”: narrow pages too
                color=style.CONTEXT,
                position=["top left" if count > 1 else "top right" for count in family_ends[0]],
                size=11,
            ),
        ],
        "layout": style.layout(
            title=_history_title(curves, text),
            x=style.axis(text("axis.count"), low=1, high=float(curves.counts[-1]), is_log=True),
            y=y,
            meta={"wide": True},
        ),
    }


@style.FigureFunction
def ladder_figure(curves: CompositionCurves, text: Catalogue) -> style.Spec:
    """Return epsilon of this history by accountant, loosest above, with the slack to the exact value."""
    values = np.array(list(curves.ladder.values()))
    bounds, exact = values[:-1], float(values[-1])
    floor = exact if exact > 0 else float(values[values > 0].min())
    useful = np.minimum(values, 3 * max(curves.ladder["basic"], curves.ladder["rdp"]))
    low, high = round_down(0.9 * floor, coarse=True), round_up(1.2 * float(useful.max()), coarse=True)
    rows = np.arange(float(len(values)))
    start = exact if exact > 0 else low
    gap = np.nan
    labelled = zip(values, [True] * len(bounds) + [False], strict=True)
    shown = np.clip(values, low, high)  # where the label stands; it says the value itself, 0 and ∞ too
    is_left = shown < 1.5 * np.sqrt(low * high)
    return {
        "data": [
            style.line(
                np.array([end for bound in shown[:-1] for end in (start, bound, gap)]),
                np.array([end for row in rows[:-1] for end in (row, row, gap)]),
                name="",
                color=style.SLACK_BAR,
                width=10,
            ),
            style.dots(
                style.positive(bounds),
                rows[:-1],
                name=text("composition.bounds_name"),
                color=style.BOUND,
                card=("basic_bound", "advanced_bound", "rdp_bound", "improved_bound"),
                is_bound=True,
                size=11,
            ),
            style.dots(
                [style.shown(exact)],
                rows[-1:],
                name=text("composition.exact_name"),
                color=style.EXACT,
                card="gaussian_exact",
                size=12,
            ),
            style.labels(
                shown,
                rows,
                [_ladder_label(float(value), float(value) > high, is_bound) for value, is_bound in labelled],
                color=style.INK,
                position=["middle right" if left else "middle left" for left in is_left],
            ),
            style.labels(
                [np.sqrt(start * shown[0])],
                [0.34],
                [text("composition.slack_label") if shown[0] > 2 * start else ""],
                color=style.BOUND,
                position="middle center",
                size=12,
            ),
        ],
        "layout": style.layout(
            title=text("composition.title.ladder", exact=rounded(exact, 4), delta=given(curves.history.delta)),
            x=style.axis(text("axis.epsilon"), low=low, high=high, is_log=True),
            y=style.row_axis([text(f"composition.accountant.{name}") for name in curves.ladder]),
            hovermode=False,
        ),
    }


@style.FigureFunction
def order_figure(curves: CompositionCurves, text: Catalogue) -> style.Spec:
    """Return the bound as the Rényi order runs, its continuous optimum, and an accountant's whole-number grid."""
    best, best_order = curves.ladder["rdp"], curves.best_order
    improved, improved_order = curves.ladder["improved"], curves.improved_order
    grid_at = int(np.argmin(curves.by_integer_order))
    grid_order, grid_best = curves.integer_orders[grid_at], curves.by_integer_order[grid_at]
    low = round_down(0.55 * max(improved, best / 8), coarse=True)
    x = style.axis(text("axis.order"), low=1, high=_MOST_ORDER, is_log=True)
    orders, beyond = style.on_axis([best_order, improved_order], x, arrows=(" ←", " →"))
    hover = text.template("composition.hover.order")
    return {
        "data": [
            style.line(
                curves.orders,
                style.positive(curves.by_order_improved),
                name=text("composition.improved_order_name"),
                color=style.BOUND,
                card="improved_by_order",
                bound="upper",
                dash="dot",
                width=2,
                hover=hover,
            ),
            style.line(
                curves.orders,
                style.positive(curves.by_order),
                name=text("composition.rdp_order_name"),
                color=style.BOUND,
                card="rdp_by_order",
                is_bound=True,
                hover=hover,
            ),
            style.dots(
                curves.integer_orders,
                style.positive(curves.by_integer_order),
                name=text("composition.grid_name"),
                color=style.BOUND,
                card="rdp_grid",
                bound="upper",
                symbol="line-ns",
                size=7,
                hover=hover,
            ),
            style.dots(
                [best_order],
                [best],
                name=text("composition.best_here"),
                color=style.BOUND,
                card="rdp_bound",
                is_bound=True,
                size=12,
            ),
            style.labels(
                orders,
                [2.3 * best, 0.82 * improved if improved > 0 else np.nan],
                [
                    text("composition.best_order_label", order=above_one(best_order)) + beyond[0],
                    text("composition.improved_order_label") + beyond[1],
                ],
                color=style.BOUND,
                position=[_side(order) for order in orders],
            ),
        ],
        "layout": style.layout(
            title=text(
                "composition.title.orders",
                order=above_one(best_order),
                bound=rounded_up(best, 4),
                grid_order=rounded(grid_order),
                grid=rounded_up(grid_best, 4),
            ),
            x=x,
            y=style.axis(text("axis.epsilon"), low=low, high=30 * low, is_log=True),
        ),
    }


def _history_title(curves: CompositionCurves, text: Catalogue) -> str:
    """Return the takeaway: both prices at this delta, with digits enough to tell them apart."""
    exact, bound = curves.ladder["exact"], curves.ladder["rdp"]
    said = {"count": given(curves.history.count), "delta": given(curves.history.delta)}
    number = "one" if curves.history.count == 1 else "many"
    if exact == 0:
        return text("composition.title.history_zero", bound=rounded_up(bound, 4), **said)
    more = 100 * (bound / exact - 1)
    digits = 4 if more > 1 else 7
    return text(
        f"composition.title.history_{number}",
        exact=rounded(exact, digits),
        bound=rounded_up(bound, digits),
        more=rounded(more),
        **said,
    )


def _ladder_label(value: float, is_beyond: bool, is_bound: bool) -> str:
    label = rounded_up(value, 4) if is_bound else rounded(value, 4)
    return f"{label} →" if is_beyond else label


def _side(order: float) -> str:
    """Return where a label stands at an order: away from the nearer end of the axis."""
    if order < _MOST_ORDER**0.25:
        return "middle right"
    return "middle left" if order > _MOST_ORDER**0.75 else "middle center"


def _below(curves: CompositionCurves, top: float) -> tuple[list[float], list[float]]:
    """Return the last point of each curve of the family that lies below `top`."""
    last = [max(int(np.searchsorted(values, top)) - 1, 0) for values in curves.family.values()]
    heights = [style.shown(float(values[at])) for values, at in zip(curves.family.values(), last, strict=True)]
    return [float(curves.counts[at]) for at in last], heights
