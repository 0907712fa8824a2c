"""Plots of results with matplotlib (extra [plot]), which is imported when the first is drawn."""

from calibrant.plots.classwise import plot_classwise
from calibrant.plots.comparison import plot_comparison, plot_learning_curve
from calibrant.plots.cumulative import plot_cumulative
from calibrant.plots.decisions import plot_decision_curve, plot_risk_coverage
from calibrant.plots.decomposition import plot_decomposition
from calibrant.plots.forecasts import plot_pit, plot_quantiles, plot_spread
from calibrant.plots.intervals import plot_intervals
from calibrant.plots.null import plot_null
from calibrant.plots.ranking import plot_calibration_map, plot_roc
from calibrant.plots.reliability import add_reliability, plot_bias, plot_reliability
from calibrant.plots.tree import plot_tree

__all__ = [
    "add_reliability",
    "plot_bias",
    "plot_calibration_map",
    "plot_classwise",
    "plot_comparison",
    "plot_cumulative",
    "plot_decision_curve",
    "plot_decomposition",
    "plot_intervals",
    "plot_learning_curve",
    "plot_null",
    "plot_pit",
    "plot_quantiles",
    "plot_reliability",
    "plot_risk_coverage",
    "plot_roc",
    "plot_spread",
    "plot_tree",
]
