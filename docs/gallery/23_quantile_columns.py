"""
Columns of quantiles
====================

Many forecasts are columns of quantiles. Are 5 % of the values below the column q0.05? This page shows how to check and
fix this, and intervals that keep their promise in every group.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Forecasts, Normal, Quantiles, recommend
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, ConformalIntervals, check_intervals
from calibrant.curves import quantile_curve
from calibrant.plots import plot_quantiles

rng = np.random.default_rng(4)
n = 2000
shop = rng.choice(["north", "south"], n)
usual, spread = rng.uniform(50, 150, n), rng.uniform(5, 15, n)
noise = np.where(shop == "north", 1.0, 2.0)  # Sales of the south vary twice as much, which the model does not know.
sales = usual + 4 + spread * noise * rng.standard_t(6, n)
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
forecasts = Forecasts(Quantiles(levels, Normal(usual, spread).quantile(levels)), sales)
to_fit, to_judge = forecasts.take(slice(0, 1000)), forecasts.take(slice(1000, None))

# %%
# Which fix
# ---------
advice = recommend(to_fit, rng=0)
print(advice.headline)

# %%
# Before and after
# ----------------
# `quantile-shift` moves each column by one number. Every point is a column; diamonds are outside the range by chance.

shifted = FORECAST_CALIBRATORS["quantile-shift"]().fit(to_fit)
print("shifts:", shifted.shifts_.round(1))
fig, axes = plt.subplots(1, 2, figsize=(8.4, 4.4), layout="constrained")
shown = {"as they are": to_judge, "after quantile-shift": shifted.calibrate(to_judge)}
for ax, (name, f) in zip(axes, shown.items(), strict=True):
    plot_quantiles(quantile_curve(f, levels), ax=ax)
    ax.set_title(name)

# %%
# One promise per group
# ---------------------
# Shifts that are right on average are wrong in both shops. Conformal intervals can keep their promise in each shop.

for what, groups in (("all rows together", None), ("each shop", shop)):
    check = check_intervals(ConformalIntervals(score="quantiles"), forecasts, groups, rng=0)
    print(f"{what}: {check.headline}")
    for part in check.parts:
        print(f"    {part.name}: {part.before:.1%} before, {part.covered:.1%} now, width {part.width:.0f}")
