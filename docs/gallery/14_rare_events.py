"""
Rare events and weights
=======================

Two percent of the rows are events. Large-sample distributions are wrong here although there are thousands of rows;
exact tests are right.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions, assess
from calibrant.curves import cumulative_curve
from calibrant.hypotest import ConsistencyTest, CoxTest, HosmerLemeshowTest, OmnibusTest, SpiegelhalterTest
from calibrant.metrics import METRICS
from calibrant.plots import plot_cumulative

rng = np.random.default_rng(0)
risk = rng.beta(0.5, 24, 3000)
happened = rng.random(3000) < np.clip(1.6 * risk, 0, 1)
p = Predictions(risk, happened)
print(f"{happened.sum()} events among {len(p)} rows; {risk.sum():.0f} were expected")
print(assess(p, sections=(), rng=0).verdict.headline)

# %%
# Tests
# -----
# If too few events are expected for its large-sample distribution, a test redraws the labels. Its details say so.

for test in (OmnibusTest(), ConsistencyTest(), SpiegelhalterTest(), HosmerLemeshowTest(), CoxTest()):
    print(f"{type(test).__name__:>18}: p = {test(p, rng=0).pvalue:.4f}")

# %%
# Measures for rare events
# ------------------------
# ECE is small because all probabilities are small. Ratios say more.

for name in ("ece", "rms-debiased", "oe-ratio", "in-the-large", "cox-slope"):
    print(f"{name:>14}: {METRICS[name](p):.3f}")

fig, ax = plt.subplots(figsize=(6.5, 3.6))
plot_cumulative(cumulative_curve(p), ax=ax)

# %%
# Weights
# -------
# If all events but only a tenth of the other rows were kept, weights of 10 undo it. A constant factor changes nothing.

kept = happened | (rng.random(3000) < 0.1)
weights = np.where(happened, 1.0, 10.0)[kept]
sample = Predictions(risk[kept], happened[kept], weights)
for name in ("oe-ratio", "in-the-large", "nll"):
    measure = METRICS[name]
    unweighted = measure(Predictions(risk[kept], happened[kept]))
    print(f"{name:>14}: all rows {measure(p):.3f}, weighted sample {measure(sample):.3f}, unweighted {unweighted:.3f}")
