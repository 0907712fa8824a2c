"""
Fixing forecasts
================

The forecasts are too narrow, biased and light-tailed. This page shows which fix to use, what it gains, and intervals
with a guarantee.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Forecasts, Normal, recommend
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, ConformalIntervals, coverage_test, judge_intervals
from calibrant.curves import pit_histogram
from calibrant.metrics import CRPS, IntervalCoverage, LogScore
from calibrant.plots import plot_intervals, plot_pit

rng = np.random.default_rng(3)
x = rng.uniform(-2, 2, 600)
spread, mean = 0.5 + 0.5 * np.abs(x), np.sin(2 * x)
targets = mean + 0.3 + spread * rng.standard_t(5, 600)
forecasts = Forecasts(Normal(mean, 0.7 * spread), targets)
to_fit, to_judge = forecasts.take(slice(0, 200)), forecasts.take(slice(200, None))

# %%
# Which fix
# ---------
# Every candidate is fitted to four fifths of the rows and judged on the rest, in turn.

advice = recommend(to_fit, score="log", rng=0)
print(advice.headline)
for candidate in advice.candidates:
    print(f"    {candidate.name:18s} log score {candidate.loss:.3f}, 90 % intervals hold {candidate.coverage:.1%}")

# %%
# What it gains on other rows
# ---------------------------
after = {name: FORECAST_CALIBRATORS[name]().fit(to_fit).calibrate(to_judge) for name in ("scale", "student", "pit-all")}
for name, f in {"as they are": to_judge, **after}.items():
    scores = f"CRPS {CRPS()(f):.3f}, log score {LogScore()(f):.3f}"
    print(f"{name:12s} {scores}, 90 % intervals hold {IntervalCoverage(0.9)(f):.1%}")

# %%
# The map through all points has a good CRPS, but its log score is 0.42 worse than it could be: its density is as
# rough as the gaps between the rows that it was fitted to.

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3))
for ax, (name, f) in zip(axes, {"as they are": to_judge, **after}.items(), strict=False):
    plot_pit(pit_histogram(f), ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# Intervals with a guarantee
# --------------------------
# Conformal intervals cover new targets with the wanted probability, however bad the forecasts are. Given the rows of
# the fit, the coverage still varies. Its distribution is known, and the test uses it.

fitted = ConformalIntervals(level=0.9).fit(to_fit)
found = fitted.interval(to_judge.distribution)
result = coverage_test(found, to_judge.targets)
print(f"covered: {result.estimate:.1%}; p-value of too little coverage {result.pvalue:.2f}")

# %%
# `judge_intervals` puts both into words, and its result can be drawn; `check_intervals` holds out one half by itself.
# Grey: the intervals of the forecasts; blue: conformal intervals.

check = judge_intervals(fitted, to_judge)
print(check.headline)
_, ax = plt.subplots(figsize=(8.0, 3.6), layout="constrained")
plot_intervals(check, ax=ax)
