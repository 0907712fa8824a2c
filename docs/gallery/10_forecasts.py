"""
Forecasts of numbers
====================

Predictive distributions are calibrated if targets look like draws from them. Transforms, quantiles and the spread show
whether they do.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Forecasts, Normal, assess_forecasts
from calibrant.curves import pit_histogram, quantile_curve, spread_curve
from calibrant.metrics import CRPS, IntervalCoverage, Sharpness
from calibrant.plots import plot_pit, plot_quantiles, plot_spread

rng = np.random.default_rng(0)
mean = rng.normal(size=1000)
spread = rng.uniform(0.5, 2.0, size=1000)
targets = mean + spread * rng.normal(size=1000)

forecasts = {
    "right": Forecasts(Normal(mean, spread), targets),
    "too narrow": Forecasts(Normal(mean, 0.6 * spread), targets),
    "one spread for all": Forecasts(Normal(mean, np.full(1000, spread.mean())), targets),
    "spreads too different": Forecasts(Normal(mean, 0.9 * spread**1.5), targets),
}

# %%
# In words and numbers
# --------------------
# The verdict names what revealed an error. Spreads that differ too much are nearly right on average: the mean gap of
# quantiles hardly shows the error, but the trend over the forecasts does.

for name, f in forecasts.items():
    verdict = assess_forecasts(f, rng=0).verdict
    print(f"{name}: {verdict.headline}")
    revealed = verdict.gave_away or "nothing"
    print(f"    revealed by {revealed}; MACE {verdict.error:.3f}, by chance up to {verdict.detectable:.3f}")
    print(
        f"    CRPS {CRPS()(f):.3f}, 90 % intervals hold {IntervalCoverage(0.9)(f):.1%}, sharpness {Sharpness()(f):.2f}"
    )

# %%
# Transforms
# ----------
# The transform F(y) is uniform if the forecasts are right. A U means too narrow, a hump too wide, a slope shifted.

fig, axes = plt.subplots(1, 4, figsize=(12, 3))
for ax, (name, f) in zip(axes, forecasts.items(), strict=True):
    plot_pit(pit_histogram(f), ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# Quantiles and spread
# --------------------
# The share of targets below each quantile, and the errors of rows against the predicted standard deviation. One
# spread for all rows has nearly the right quantiles on average, but its forecasts do not differ.

fig, axes = plt.subplots(1, 2, figsize=(8.5, 4))
plot_quantiles(quantile_curve(forecasts["too narrow"]), ax=axes[0])
axes[0].set_title("too narrow")
plot_spread(spread_curve(forecasts["spreads too different"]), ax=axes[1])
axes[1].set_title("spreads too different")
fig.tight_layout()
