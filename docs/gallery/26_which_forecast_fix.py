"""
Which fix for which fault
=========================

Forecasts can be wrong in several ways, and each calibrator is made for one of them. This page shows which one fixes
what, and intervals that hold for any shape.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Forecasts, Normal, Quantiles
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS
from calibrant.metrics import CRPS

rng = np.random.default_rng(0)
n = 1400
mean, sd, z = rng.normal(0, 2, n), np.exp(0.5 * rng.normal(size=n)), rng.normal(size=n)
faults = {
    "right": mean + sd * z,
    "too narrow": mean + 1.6 * sd * z,
    "biased, by spread": mean + sd * (0.8 + z),
    "biased, by a constant": mean + 0.8 + sd * z,
    "heavy tails, bias": mean + sd * (0.5 + 1.2 * rng.standard_t(3, n)),
    "too narrow where narrow": mean + sd**0.3 * z,
    "skewed": mean + sd * (rng.gamma(1.5, size=n) - 1.5),
}
names = ["identity", "scale", "scale-crps", "offset-scale", "shift-scale", "student", "spread-by-level", "pit"]
names += ["shift-scale>pit"]

# %%
# Fitted to 600 rows, judged on 800 others
# ----------------------------------------
# The change of the CRPS in percent. If nothing is wrong, doing nothing is right. One factor cannot move a centre, and
# no single map fixes forecasts that are too narrow in one place and too wide in another.

changes = np.zeros((len(faults), len(names)))
for i, targets in enumerate(faults.values()):
    forecasts = Forecasts(Normal(mean, sd), targets)
    to_fit, to_judge = forecasts.take(slice(0, 600)), forecasts.take(slice(600, None))
    for j, name in enumerate(names):
        after = FORECAST_CALIBRATORS[name]().fit(to_fit).calibrate(to_judge)
        changes[i, j] = 100 * (CRPS()(after) / CRPS()(to_judge) - 1)

fig, ax = plt.subplots(figsize=(9.5, 4.2), layout="constrained")
ax.imshow(np.clip(changes, -8, 8), cmap="PuOr_r", vmin=-18, vmax=18, aspect="auto")
for (i, j), change in np.ndenumerate(changes):
    best = change <= changes[i].min() + 0.1
    ax.text(j, i, f"{change:+.1f}", ha="center", va="center", weight="bold" if best else "normal")
ax.set_xticks(range(len(names)), names, rotation=25, ha="right")
ax.set_yticks(range(len(faults)), list(faults))
ax.set_title("Change of the CRPS in percent; bold: within 0.1 of the best")

# %%
# Columns of quantiles
# --------------------
# Quantiles have no density, so factor and shift minimise the CRPS.

levels = [0.05, 0.25, 0.5, 0.75, 0.95]
columns = Forecasts(Quantiles(levels, Normal(mean, sd).quantile(levels)), faults["biased, by spread"])
for name in ("identity", "scale-crps", "shift-scale-crps", "quantile-shift"):
    after = FORECAST_CALIBRATORS[name]().fit(columns.take(slice(0, 600))).calibrate(columns.take(slice(600, None)))
    print(f"{name:16s} CRPS {CRPS()(after):.3f}")

# %%
# Intervals of 90 %
# -----------------
# Conformal intervals cover whatever is wrong, because they count. In units of the target, all have the same width; in
# units of the predicted spread, or by quantiles, they follow the forecasts. If new rows lie higher than those of the
# fit, they need their ratio of densities: here e^x, for rows that are drawn with that weight.

x = rng.uniform(-2, 2, n)
y = x + np.exp(0.5 * x) * (0.3 + 1.4 * rng.normal(size=n))
forecasts = Forecasts(Normal(x, 0.8 + 0.2 * x), y)
to_fit = forecasts.take(slice(0, 600))
ratio = np.exp(x)
higher = 600 + rng.choice(800, 800, p=ratio[600:] / ratio[600:].sum())
for name in ("conformal", "conformal-absolute", "cqr", "conformal-weighted"):
    weighted = name == "conformal-weighted"
    fitted = FORECAST_CALIBRATORS[name]().fit(to_fit, *([ratio[:600]] if weighted else []))
    covered = []
    for rows in (np.arange(600, n), higher):
        found = fitted.interval(forecasts.distribution.take(rows), *([ratio[rows]] if weighted else []))
        covered.append(np.mean((found.low <= y[rows]) & (y[rows] <= found.high)))
    width = np.mean(found.high - found.low)
    print(f"{name:18s} {covered[0]:.1%} of rows like those of the fit, {covered[1]:.1%} higher up, width {width:.2f}")
