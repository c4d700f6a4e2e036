"""Figures: pure functions from a result of `dpviz.accounting` to a plotly figure.

Each is a `FigureFunction`: ``history_figure(curves)`` gives a plotly ``Figure`` to use in any notebook.
"""

from dpviz.figures._cards import figure_cards
from dpviz.figures._style import DARK, GUESS, PINNED, REALLY, FigureFunction
from dpviz.figures.averaging import identity_figure, means_figure, price_figure, spread_figure
from dpviz.figures.composition import history_figure, ladder_figure, order_figure
from dpviz.figures.laplace import density_figure, odds_figure, ratio_figure
from dpviz.figures.profile import beside_figure, counted_figure, excess_figure, profile_figure
from dpviz.figures.tradeoff import bells_figure, curve_figure, people_figure, rates_figure

__all__ = [
    "DARK",
    "GUESS",
    "PINNED",
    "REALLY",
    "FigureFunction",
    "bells_figure",
    "beside_figure",
    "counted_figure",
    "curve_figure",
    "density_figure",
    "excess_figure",
    "figure_cards",
    "history_figure",
    "identity_figure",
    "ladder_figure",
    "means_figure",
    "odds_figure",
    "order_figure",
    "people_figure",
    "price_figure",
    "profile_figure",
    "rates_figure",
    "ratio_figure",
    "spread_figure",
]
