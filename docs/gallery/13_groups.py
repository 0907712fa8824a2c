"""
Calibrated on the whole, wrong in groups
========================================

A model can be calibrated over all rows and wrong for every group, if errors cancel. Look at the groups one by one,
and adjust for their number.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions, reliability_curve
from calibrant.binning import EqualMass
from calibrant.hypotest import OmnibusTest, holm
from calibrant.metrics import METRICS
from calibrant.plots import plot_reliability

rng = np.random.default_rng(5)
n = 2400
group = rng.choice(["north", "south", "west"], n)
risk = rng.beta(2, 3, n)
shift = np.select([group == "north", group == "south"], [0.6, -0.6], 0.0)
happens = 1 / (1 + (1 - risk) / risk * np.exp(-shift))
p = Predictions(risk, rng.random(n) < happens)

# %%
# All rows
# --------
print(f"all rows: p = {OmnibusTest(n_resamples=999)(p, rng=0).pvalue:.3f}, error {METRICS['rms-debiased'](p):.3f}")

# %%
# Each group
# ----------
# Three tests give three chances of a false alarm; ``holm`` adjusts the p-values. On the command line, use
# ``calibrant evaluate file.csv --by region``.

parts = {name: p.take(group == name) for name in np.unique(group)}
found = {name: OmnibusTest()(q, rng=0).pvalue for name, q in parts.items()}
adjusted = holm(found)
for name, q in parts.items():
    print(f"{name:>6}: p = {adjusted[name]:.3f} adjusted, O/E {METRICS['oe-ratio'](q):.2f}, "
          f"error {METRICS['rms-debiased'](q):.3f}")  # fmt: skip

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.8))
for ax, (name, q) in zip(axes, parts.items(), strict=True):
    plot_reliability(reliability_curve(q, EqualMass(8)), ax=ax)
    ax.set_title(name)
fig.tight_layout()
