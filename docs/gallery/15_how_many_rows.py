"""
How many rows does a calibrator need?
=====================================

The same calibrators with 50 to 2000 rows: few rows are enough for one number, but not for a map per class.
"""

import matplotlib.pyplot as plt

from calibrant import learning_curve, recommend
from calibrant.lab.datasets import load_logits
from calibrant.plots import plot_learning_curve

known, _ = load_logits("ce")
known = known.take(slice(0, 4000))

# %%
# The calibrators are fitted to nested random subsets and judged on the remaining rows.

curve = learning_curve(["ts", "vs", "irova"], known, [50, 200, 800, 2000], n_repeats=3, rng=0)
fig, ax = plt.subplots(figsize=(6.5, 4))
plot_learning_curve(curve, ax=ax, metric="nll")

# %%
# ``recommend`` takes this into account: it tries candidates that suit the number of rows, by cross-fitting, and
# recommends none if none is shown to help. For 300 rows:

advice = recommend(known.take(slice(0, 300)), candidates=["ts", "svs"], rng=0)
print(advice.headline)
