"""
What a band around a curve means
================================

Limits lie around the curve, consistency bands around the diagonal. Both can hold for one point or for the whole curve.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.binning import EqualMass
from calibrant.curves import cumulative_curve, isotonic_curve, kernel_curve, reliability_curve
from calibrant.plots import plot_cumulative, plot_reliability

rng = np.random.default_rng(3)
prediction = rng.random(800)
calibrated = Predictions(prediction, rng.random(800) < prediction)

# %%
# A calibrated model
# ------------------
# *Limits around the curve* show where the true frequency may be: check whether they contain the diagonal. *A
# consistency band around the diagonal* shows where the curve of a calibrated model would lie: check whether the curve
# leaves it. Nearly every curve leaves a pointwise band somewhere. Only a simultaneous band allows the conclusion "the
# curve leaves the band, so the model is not calibrated".

curves = {
    "bins, limits around points": reliability_curve(calibrated, EqualMass(10)),
    "isotonic, pointwise": isotonic_curve(calibrated, n_resamples=199, rng=0),
    "isotonic, simultaneous": isotonic_curve(calibrated, n_resamples=199, simultaneous=True, rng=0),
    "kernel, pointwise": kernel_curve(calibrated, bandwidth="silverman", n_resamples=199, rng=0),
}
fig, axes = plt.subplots(2, 2, figsize=(8, 8))
for ax, (name, curve) in zip(axes.flat, curves.items(), strict=True):
    plot_reliability(curve, ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# How often does a curve leave the band?
# --------------------------------------
# The number of a hundred calibrated data sets with a point outside a pointwise and outside a simultaneous 95 % band.


def leaves(p, *, simultaneous):
    curve = isotonic_curve(p, n_resamples=99, simultaneous=simultaneous, rng=0)
    return bool(((curve.observed < curve.low) | (curve.observed > curve.high)).any())


sets = [Predictions(q, rng.random(200) < q) for q in rng.random((100, 200))]
for simultaneous in (False, True):
    print(f"simultaneous {simultaneous!s:>5}: {np.mean([leaves(p, simultaneous=simultaneous) for p in sets]):.2f}")

# %%
# Without bins or smoothing
# -------------------------
# Where the running sum of outcome minus prediction falls, predictions are too high: here, between 0.5 and 0.8.

wrong = Predictions(
    prediction, rng.random(800) < np.where((prediction > 0.5) & (prediction < 0.8), prediction - 0.2, prediction)
)
path = cumulative_curve(wrong)
fig, ax = plt.subplots(figsize=(6, 3.6))
plot_cumulative(path, ax=ax)
print(path.worst)
