"""
How many bins, and how much is chance
=====================================

The same predictions have a different ECE for every choice of bins. Which part is the error of the model, and which is
chance?
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.binning import EqualMass, EqualWidth
from calibrant.metrics import ECE, METRICS, ChanceECE, DebiasedECE

rng = np.random.default_rng(1)


def model(n, error):
    """Predictions whose log-odds are off by a constant."""
    p = rng.beta(2, 2, n)
    shifted = 1 / (1 + (1 - p) / p * np.exp(-error))
    return Predictions(shifted, rng.random(n) < p)


# %%
# More bins, more error
# ---------------------
# For a calibrated model with 1000 rows, all of the ECE is chance, and it grows with the number of bins.

bins = [2, 5, 10, 15, 30, 60, 120]
fig, ax = plt.subplots(figsize=(6, 3.6))
for name, error, colour in (("calibrated", 0.0, "tab:blue"), ("off by 0.4 in log-odds", 0.4, "tab:red")):
    p = model(1000, error)
    ax.plot(bins, [ECE(EqualMass(b))(p) for b in bins], "o-", color=colour, label=f"{name}: ECE")
    ax.plot(bins, [ChanceECE(EqualMass(b))(p) for b in bins], ":", color=colour, label=f"{name}: by chance alone")
    ax.plot(
        bins, [DebiasedECE(EqualMass(b))(p) for b in bins], "--", color=colour, alpha=0.5, label=f"{name}: debiased"
    )
ax.set(xlabel="Number of bins", ylabel="Error", xscale="log", ylim=(0, None))
ax.legend(fontsize=8)

# %%
# Equal width or equal mass
# -------------------------
# With equal width, most bins of a confident model are nearly empty; with equal mass, they are not.

p = Predictions(rng.beta(8, 0.5, 1000), rng.random(1000) < 0.9)
for binning in (EqualWidth(15), EqualMass(15), EqualWidth(15, convention="torchmetrics")):
    print(f"{binning!r:>58}: {ECE(binning)(p):.4f}")

# %%
# Without bins
# ------------
right, wrong = model(4000, 0.0), model(4000, 0.4)
for name in ("ece", "ece-sweep", "smooth-ece", "kde-ece", "ici", "rms-debiased"):
    print(f"{name:>14}: calibrated {METRICS[name](right):.4f}, off by 0.4 {METRICS[name](wrong):.4f}")

# %%
# Compare an error with what chance alone would give, or use an error that chance does not raise: ``rms-debiased``, the
# error of the verdict.
