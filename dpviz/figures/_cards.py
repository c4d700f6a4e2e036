"""Cards: what each line of a figure is, by which theorem, under which assumptions, and where it fails.

A trace names its card in its ``meta``; the words stand in the catalogue as ``card.<name>.title``, ``.theorem``,
``.assumes``, ``.fails`` and ``.source``. A line that means the same on two pages has one card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpviz.figures._style import PAPER
from dpviz.locale import Catalogue

EXACT, UPPER, SIMULATED, DEFINITION = "exact", "upper", "simulated", "definition"

STATUS = {
    "advanced_bound": UPPER,
    "basic_bound": UPPER,
    "best_rates": EXACT,
    "blind_guessing": DEFINITION,
    "catastrophe": EXACT,
    "claimed_belief": DEFINITION,
    "claimed_ratio": DEFINITION,
    "counted_loss": EXACT,
    "density_with": DEFINITION,
    "density_without": DEFINITION,
    "epsilon_delta_curve": DEFINITION,
    "evidence_with": EXACT,
    "evidence_without": EXACT,
    "excess_area": EXACT,
    "expected_people": EXACT,
    "gaussian_exact": EXACT,
    "gaussian_family": EXACT,
    "gaussian_profile": EXACT,
    "gaussian_tradeoff": EXACT,
    "improved_bound": UPPER,
    "improved_by_order": UPPER,
    "laplace_belief": EXACT,
    "laplace_ratio": EXACT,
    "loss_tail": EXACT,
    "mean_identity": EXACT,
    "mean_spread": EXACT,
    "rdp_bound": UPPER,
    "rdp_by_order": UPPER,
    "rdp_grid": UPPER,
    "simulated_means": SIMULATED,
    "supporting_line": EXACT,
}
"""What is known of each card's line; in words ``card.status.<status>``."""


def figure_cards(spec: Mapping[str, Any], text: Catalogue) -> list[dict[str, Any]]:
    """Return the cards of a figure's traces in drawing order, each once.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``status``, ``parts`` as pairs of label and text, and how the line is drawn: ``color``,
        ``dash`` and ``mark``, one of "line", "dot", "open", "tick" and "bar". Made for JSON.
    """
    found: dict[str, dict[str, Any]] = {}
    for trace in spec["data"]:
        for name, drawn in _named(trace):
            if name not in found:
                found[name] = {**_said(name, text), **drawn}
    return list(found.values())


def _named(trace: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the cards of a trace with the look of what they are about."""
    if trace.get("visible") is False:
        return
    card = trace.get("meta", {}).get("card", ())
    names = [card] if isinstance(card, str) else list(card)
    for at, name in enumerate(names):
        yield name, _look(trace, at)


def _look(trace: Mapping[str, Any], at: int) -> dict[str, str]:
    if trace["type"] == "bar":
        color = trace["marker"]["color"]
        return {"color": color if isinstance(color, str) else color[at], "dash": "solid", "mark": "bar"}
    if "lines" in trace["mode"]:
        return {"color": trace["line"]["color"], "dash": trace["line"]["dash"], "mark": "line"}
    marker = trace["marker"]
    is_open = marker["color"] == PAPER or marker["symbol"].endswith("-open")
    color = marker["line"]["color"] if is_open else marker["color"]
    return {
        "color": color if isinstance(color, str) else color[at],
        "dash": "solid",
        "mark": "open" if is_open else "tick" if marker["symbol"].startswith("line") else "dot",
    }


def _said(name: str, text: Catalogue) -> dict[str, Any]:
    status = text(f"card.status.{STATUS[name]}")
    parts = {part: text(f"card.{name}.{part}") for part in ("theorem", "assumes", "fails", "source")}
    said = {"theorem": parts.pop("theorem"), "status": status, **parts}
    return {
        "name": name,
        "title": text(f"card.{name}.title"),
        "status": status,
        "parts": [[text(f"card.part.{part}"), words] for part, words in said.items()],
    }
