from calibrant.plots.classwise import plot_classwise as plot_classwise
from calibrant.plots.comparison import plot_comparison as plot_comparison, plot_learning_curve as plot_learning_curve
from calibrant.plots.cumulative import plot_cumulative as plot_cumulative
from calibrant.plots.decisions import (
    plot_decision_curve as plot_decision_curve,
    plot_risk_coverage as plot_risk_coverage,
)
from calibrant.plots.decomposition import plot_decomposition as plot_decomposition
from calibrant.plots.forecasts import plot_pit as plot_pit, plot_quantiles as plot_quantiles, plot_spread as plot_spread
from calibrant.plots.forecasts import plot_intervals as plot_intervals
from calibrant.plots.null import plot_null as plot_null
from calibrant.plots.ranking import plot_calibration_map as plot_calibration_map, plot_roc as plot_roc
from calibrant.plots.reliability import (
    add_reliability as add_reliability,
    plot_bias as plot_bias,
    plot_reliability as plot_reliability,
)
from calibrant.plots.tree import plot_tree as plot_tree
