"""Plots of results with matplotlib (extra [plot]), which is imported when the first is drawn."""

from calibrant.plots.classwise import plot_classwise
from calibrant.plots.learning import plot_learning_curve
from calibrant.plots.ranking import plot_calibration_map, plot_roc
from calibrant.plots.reliability import plot_reliability
from calibrant.plots.tree import plot_tree

__all__ = ["plot_calibration_map", "plot_classwise", "plot_learning_curve", "plot_reliability", "plot_roc", "plot_tree"]
