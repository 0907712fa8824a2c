"""
What a band around a curve means
================================

Limits around the curve, or a band around the diagonal; for one point, or for the whole curve.
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
# *Limits around the curve* say where the true frequency may be: look whether they hold the diagonal. *A consistency
# band around the diagonal* says where the curve of a calibrated model would be: look whether the curve leaves it. A
# pointwise band is left somewhere by nearly every curve; only a simultaneous one allows "the curve leaves the band,
# so the model is not calibrated".

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
# How often is it left?
# ---------------------
# Of a hundred calibrated data sets: some point outside a pointwise 95 % band, and outside a simultaneous one.


def leaves(p, *, simultaneous):
    curve = isotonic_curve(p, n_resamples=99, simultaneous=simultaneous, rng=0)
    return bool(((curve.observed < curve.low) | (curve.observed > curve.high)).any())


sets = [Predictions(q, rng.random(200) < q) for q in rng.random((100, 200))]
for simultaneous in (False, True):
    print(f"simultaneous {simultaneous!s:>5}: {np.mean([leaves(p, simultaneous=simultaneous) for p in sets]):.2f}")

# %%
# Without bins or smoothing
# -------------------------
# The running sum of outcome minus prediction: where it falls, predictions are too high. Here those between 0.5 and
# 0.8 are.

wrong = Predictions(
    prediction, rng.random(800) < np.where((prediction > 0.5) & (prediction < 0.8), prediction - 0.2, prediction)
)
path = cumulative_curve(wrong)
fig, ax = plt.subplots(figsize=(6, 3.6))
plot_cumulative(path, ax=ax)
print(path.worst)
