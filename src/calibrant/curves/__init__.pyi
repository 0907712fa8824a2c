from calibrant.curves.binned import reliability_curve as reliability_curve
from calibrant.curves.classwise import classwise_curves as classwise_curves
from calibrant.curves.cumulative import cumulative_curve as cumulative_curve
from calibrant.curves.display import ReliabilityDisplay as ReliabilityDisplay
from calibrant.curves.forecasts import (
    pit_histogram as pit_histogram,
    quantile_curve as quantile_curve,
    spread_curve as spread_curve,
)
from calibrant.curves.isotonic import isotonic_curve as isotonic_curve
from calibrant.curves.kernel import kernel_curve as kernel_curve
