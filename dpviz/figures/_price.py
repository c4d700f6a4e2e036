"""The price of Gaussian releases against their number: bound dashed, exact solid, slack shaded, the setting marked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.figures import _style as style
from dpviz.locale import Catalogue
from dpviz.locale.numbers import rounded, rounded_up

_FLOOR, _TOP = 1e-2, 1e3
_FEW, _MANY = 30, 30_000  # so near an end of the axis that a label has no room beyond its dot
_LINE_OF_TEXT = 0.08  # how far apart two labels must stand, as a share of the axis


def price_axis(bound: float, text: Catalogue) -> style.Spec:
    """Return the still axis of epsilon; only a large bound makes it longer, with room for its label."""
    top = max(_TOP, float(10 ** np.ceil(0.5 + 1.1 * np.log10(bound))))
    return style.axis(text("axis.epsilon"), low=_FLOOR, high=top, is_log=True)


def price_traces(
    *,
    counts: npt.NDArray[np.float64],
    exact: npt.NDArray[np.float64],
    bound: npt.NDArray[np.float64],
    count: int,
    exact_here: float,
    bound_here: float,
    axis: style.Spec,
    hover: tuple[str, str],
    text: Catalogue,
) -> list[style.Spec]:
    """Return exact epsilon and its bound over `counts` and at `count`; `hover` is for the exact line and the bound."""
    return [
        style.line(
            counts,
            style.positive(exact),
            name=text("composition.exact_name"),
            color=style.EXACT,
            card="gaussian_exact",
            hover=hover[0],
        ),
        style.line(
            counts,
            style.positive(bound),
            name=text("composition.rdp_name"),
            color=style.BOUND,
            card="rdp_bound",
            is_bound=True,
            hover=hover[1],
            fill="tonexty",
            fillcolor=style.SLACK,
        ),
        style.dots(
            [count],
            [style.shown(bound_here)],
            name=text("composition.bound_here"),
            color=style.BOUND,
            card="rdp_bound",
            is_bound=True,
        ),
        style.dots(
            [count],
            [style.shown(exact_here)],
            name=text("composition.exact_here"),
            color=style.EXACT,
            card="gaussian_exact",
        ),
        _here_labels(count, exact_here, bound_here, axis, text),
    ]


def _here_labels(count: int, exact: float, bound: float, axis: style.Spec, text: Catalogue) -> style.Spec:
    """Return the two values in words by their dots, clear of the lines; one below the axis stands at its end."""
    (exact_at, bound_at), (exact_arrow, bound_arrow) = style.on_axis([exact, bound], axis)
    low, high = axis["range"]
    line_of_text = 10 ** (_LINE_OF_TEXT * (high - low))
    bound_side, exact_side = "top left", "bottom right"
    if count <= _FEW:
        bound_at, bound_side = line_of_text**2 * bound_at, "middle right"
    if exact_arrow:
        exact_side = "top right"
        bound_at = max(bound_at, line_of_text * exact_at)
    elif count > _MANY:
        exact_side = "top left"
        bound_at = line_of_text * bound_at
    return style.labels(
        [1 if count <= _FEW else count, count],
        [bound_at, exact_at],
        [
            text("composition.bound_label", epsilon=rounded_up(bound, 4)) + bound_arrow,
            text("composition.exact_label", epsilon=rounded(exact, 4)) + exact_arrow,
        ],
        color=[style.BOUND, style.EXACT],
        position=[bound_side, exact_side],
    )
