"""
Decision curves and costs
=========================

What does an over-confident model cost a decision, and what does calibration save?
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.advice import calibrate_held_out
from calibrant.decisions import (
    Costs,
    best_threshold,
    cost_difference,
    decision_curve,
    decision_difference,
    expected_cost,
)
from calibrant.plots import plot_decision_curve

rng = np.random.default_rng(0)
z = rng.normal(-2, 1.5, 3000)
y = rng.random(3000) < 1 / (1 + np.exp(-z))
p = Predictions.from_logits(1.8 * z, y)
after, how = calibrate_held_out(p, "platt", rng=0)  # Every row by a fit to other rows.
print(f"{y.mean():.1%} events")

# %%
# Costs
# -----
# A false alarm costs 1 and a missed event 20. If probabilities are right, acting is cheaper from 1 / 21 on.

costs = Costs(false_positive=1, false_negative=20)
for name, predictions in (("as it is", p), ("after Platt scaling", after)):
    found = expected_cost(predictions, costs=costs)
    print(f"{name:>20}: {found.cost.value:.3f} per row ({found.cost.low:.3f} to {found.cost.high:.3f})")
print(f"{'on all':>20}: {found.treat_all:.3f}")
print(f"{'on none':>20}: {found.treat_none:.3f}")
saved = cost_difference(p, after, costs)
print(f"change, paired on the rows: {saved.value:.3f} ({saved.low:.3f} to {saved.high:.3f})")

# %%
# If the predictions must stay unchanged, act where the recalibrated probability reaches 1 / 21. The threshold that was
# cheapest on these rows is no substitute, because it fits their noise.

best = best_threshold(p, threshold=costs.threshold)
print(f"act from {best.value:.4f} on ({best.low:.4f} to {best.high:.4f})")

# %%
# All thresholds
# --------------
# The bands hold at all thresholds together. They overlap, but both curves come from the same rows, so the paired
# difference is known far more precisely.

t = np.linspace(0.003, 0.3, 100)
curves = {
    "as it is": decision_curve(p, thresholds=t, rng=0),
    "after Platt scaling": decision_curve(after, thresholds=t, rng=0),
}
change = decision_difference(p, after, thresholds=t, rng=0).net_benefit

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plot_decision_curve(curves, ax=left)
right.fill_between(t, change.joint_low, change.joint_high, alpha=0.2)
right.plot(t, change.value)
right.axhline(0, color="0.5", linewidth=1)
right.set(xlabel="Threshold", ylabel="Net benefit after minus before")

# %%
# The area under the loss
# -----------------------
# Net benefits of different thresholds cannot be compared. The loss L(t) can, and its integral is the squared error.

ends = np.unique(np.concatenate([[0.0], p.positive, [1.0]]))
loss = decision_curve(p, thresholds=(ends[1:] + ends[:-1]) / 2, n_resamples=1, rng=0).loss
print(f"integral {loss @ np.diff(ends):.12f}, squared error {np.mean((p.positive - y) ** 2):.12f}")
