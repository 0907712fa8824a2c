"""
Find unknown groups with wrong predictions
==========================================

All rows together look calibrated, and nobody knows which groups are wrong. ``GroupSearch`` looks at every intersection
of up to three columns and at the leaves of a small tree, and adjusts for their number.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Forecasts, Normal, Predictions, assess
from calibrant.groups import GroupBoosting, GroupSearch
from calibrant.metrics import NLL

rng = np.random.default_rng(0)
n = 6000
features = {
    "region": rng.choice(["north", "south", "west"], n),
    "device": rng.choice(["phone", "desktop"], n),
    "age": rng.normal(45, 15, n).round(),
}
log_odds = rng.normal(-0.5, 1, n)
north, phone = features["region"] == "north", features["device"] == "phone"
truth = log_odds + np.where(north & phone, 0.6, 0.0) - np.where(north & ~phone, 0.6, 0.0)
p = Predictions(1 / (1 + np.exp(-log_odds)), rng.random(n) < 1 / (1 + np.exp(-truth)))

# %%
# All rows
# --------
print(assess(p, sections=(), rng=0).verdict.headline)

# %%
# Groups
# ------
# If no prediction is wrong, the search finds anything with a probability of at most 5 %.

found = GroupSearch()(p, features=features, rng=0)
print(found.headline)
print(found.explanation)

shown = found.found[:8][::-1]
fig, ax = plt.subplots(figsize=(7.5, 3.6))
for place, group in enumerate(shown):
    color = "tab:red" if group.stands_alone else "tab:grey"
    ax.plot([group.low, group.high], [place, place], color=color)
    ax.plot(group.size, place, "o", color=color)
ax.axvline(0, color="black", linewidth=0.8, linestyle=":")
ax.set_yticks(range(len(shown)), [group.label for group in shown], fontsize=8)
ax.set_xlabel("observed minus predicted, with limits; red: stands alone")
fig.tight_layout()

# %%
# A fix
# -----
# The fix is a few steps on the log-odds of groups, learnt from one half of the rows and judged on the other.

half = np.arange(n) < n // 2
fixed = GroupBoosting().fit(p.take(half), features={name: values[half] for name, values in features.items()})
print(fixed.report_)
rest = p.take(~half)
after = Predictions(
    fixed.predict_proba(rest, features={name: values[~half] for name, values in features.items()}), rest.labels
)
print(f"log loss {NLL()(rest):.4f} before, {NLL()(after):.4f} after")

# %%
# Groups of forecasts
# -------------------
# Predictive distributions are searched by the place of the targets in them.

station, lead = rng.choice(["Bern", "Lima", "Oslo"], 3000), rng.integers(1, 6, 3000)
mean, sd = rng.normal(10, 5, 3000), rng.uniform(1, 3, 3000)
observed = mean + sd * (rng.standard_normal(3000) + 0.6 * ((station == "Oslo") & (lead == 5)))
days = {"station": station, "lead": lead}
print(GroupSearch()(Forecasts(Normal(mean, sd), observed), features=days, rng=0).headline)
