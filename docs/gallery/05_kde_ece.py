"""
Bandwidths and boundaries of KDE-ECE
====================================

KDE-ECE has a bandwidth instead of bins. This page shows what the bandwidth rules do, why the ends of the unit interval
matter, and what chance adds.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.curves import kernel_curve
from calibrant.hypotest import ConsistencyTest
from calibrant.metrics import ECE, KdeECE
from calibrant.plots import plot_null

rng = np.random.default_rng(0)
truth = rng.beta(0.5, 0.5, 1500)
odds = (truth / (1 - truth)) ** 1.3
p = Predictions(odds / (1 + odds), rng.random(1500) < truth)

# %%
# Bandwidth rules
# ---------------
# "cv" predicts the outcomes of one fold from the other four; "loo" leaves out one row at a time. Silverman's rules use
# the predictions only, so a test may use them.

for rule in ("cv", "loo", "silverman", "silverman-robust", "mix-n-match", 0.02, 0.2):
    estimate = KdeECE(bandwidth=rule).estimate(p)
    print(f"{rule!s:>16}: bandwidth {estimate.details['bandwidth']:.4f}, KDE-ECE {estimate.value:.4f}")

# %%
# The ends of the interval
# ------------------------
# Near 0 and 1, a kernel has neighbours on one side only, which pulls the curve towards the middle. Mirror images at
# both ends (the default) or the Beta kernel correct this.

settings = {
    "mirrored": {"boundary": "reflect"},
    "nothing": {"boundary": "none"},
    "Beta kernel": {"kernel": "beta", "bandwidth": 0.02},
}
fig, ax = plt.subplots(figsize=(5, 4.2))
ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
for name, how in settings.items():
    curve = kernel_curve(p, **({"bandwidth": 0.1} | how))
    ax.plot(curve.predicted, curve.observed, label=f"{name}: KDE-ECE {KdeECE(**({'bandwidth': 0.1} | how))(p):.4f}")
ax.set(xlabel="Predicted", ylabel="Observed", xlim=(0, 1), ylim=(0, 1))
ax.legend()

# %%
# Chance
# ------
# Like ECE, KDE-ECE is positive for calibrated models. Redrawing labels from the predictions shows by how much. A value
# inside the grey part is no evidence against the model.

fig, axes = plt.subplots(1, 2, figsize=(9, 3))
for ax, metric in zip(axes, [KdeECE(bandwidth="silverman"), ECE()], strict=True):
    plot_null(ConsistencyTest(metric, n_resamples=199)(p, rng=0), ax=ax)
    ax.set_title(type(metric).__name__)
fig.tight_layout()
