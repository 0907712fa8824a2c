"""
Is model B better than model A?
===============================

This page compares two models on the same rows: paired differences with limits, and the parts of their scores.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions, compare
from calibrant.calibrators import calibrate, parse
from calibrant.metrics import decompose
from calibrant.plots import plot_comparison, plot_decomposition

rng = np.random.default_rng(2)
signal = rng.normal(size=2000)
labels = rng.random(2000) < 1 / (1 + np.exp(-1.5 * signal))
seen = signal + 0.6 * rng.normal(size=2000)
models = {
    "good, too sure": 1 / (1 + np.exp(-3.0 * signal)),
    "noisy, calibrated": 1 / (1 + np.exp(-1.0 * seen)),
}
models = {name: Predictions(probs, labels) for name, probs in models.items()}
learn, judge = slice(0, 1000), slice(1000, 2000)
fix = parse("platt").fit(models["good, too sure"][learn].probs, labels[learn])
rows = {name: p[judge] for name, p in models.items()}
rows["good, scaled"] = calibrate(fix, rows["good, too sure"])

# %%
# Differences
# -----------
# The first model is the baseline. Rows that are hard for one model are hard for the other, so a difference is known
# much more precisely than two separate values.

result = compare(rows, ["nll", "brier", "rms-debiased"], n_resamples=199, rng=0)
for name in ("noisy, calibrated", "good, scaled"):
    for metric in result.metrics:
        difference = result.entry(name, metric).difference
        print(f"{name:>18}, {metric:>12}: {difference.value:+.4f}, {difference.low:+.4f} to {difference.high:+.4f}")

fig, ax = plt.subplots(figsize=(7, 4))
plot_comparison(result, ax=ax)

# %%
# What the scores are made of
# ---------------------------
# An increasing map can remove miscalibration but cannot add discrimination. The model that is too sure has the better
# ranking, and the map makes it the better model.

fig, ax = plt.subplots(figsize=(7, 2.8))
plot_decomposition({name: decompose(p) for name, p in rows.items()}, ax=ax)
