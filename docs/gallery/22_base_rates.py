"""
Shares of classes without labels
================================

A model is calibrated on rows in which four classes are equally frequent. Which shares do the classes have among new
rows without labels?
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant.calibrators import PriorShift
from calibrant.decisions import estimate_base_rate, estimate_base_rates

rng = np.random.default_rng(0)
classes = ["cat", "dog", "eel", "fox"]
means = 1.8 * np.eye(4)


def draw(shares, n):
    """Return probabilities that are right if all classes are equally frequent, and labels."""
    labels = rng.choice(4, n, p=shares)
    heights = np.exp((rng.standard_normal((n, 4)) + means[labels]) @ means.T)
    return heights / heights.sum(axis=1, keepdims=True), labels


true = np.array([0.55, 0.3, 0.1, 0.05])
probs, labels = draw(true, 1500)

# %%
# By maximum likelihood
# ---------------------
# Counting the predicted classes, or averaging the probabilities, stays near the old shares. The likelihood does not.

found = estimate_base_rates(probs, [0.25] * 4, classes=classes)
counted = np.bincount(probs.argmax(axis=1), minlength=4) / len(probs)
averaged = probs.mean(axis=0)
for name, value, low, high in zip(classes, found.value, found.low, found.high, strict=True):
    print(f"{name}: {value:.3f} ({low:.3f} to {high:.3f})")

fig, ax = plt.subplots(figsize=(6.5, 3.2))
rows = np.arange(4)
ax.hlines(rows, found.low, found.high, color="C0", linewidth=3)
ax.plot(found.value, rows, "o", color="C0", label="estimate, 95 % limits")
ax.plot(true, rows, "|", color="black", markersize=16, label="true share")
ax.plot(averaged, rows, "x", color="C1", label="mean of the probabilities")
ax.plot(counted, rows, "+", color="C3", label="predicted classes, counted")
ax.set(yticks=rows, yticklabels=classes, xlabel="Share of the rows", xlim=(0, 0.65))
ax.invert_yaxis()
ax.legend(loc="lower right")
fig.tight_layout()

# %%
# Probabilities for the new shares
# --------------------------------
# The log loss of the new rows, computed with their hidden labels, falls. The correction is right only if each class
# still looks the same.

moved = PriorShift(found.value, trained_rate=[0.25] * 4).between(classes).predict_proba(probs)
for name, each in (("as they are", probs), ("moved", moved)):
    print(f"{name}: log loss {-np.log(each[np.arange(1500), labels]).mean():.3f}")

# %%
# One event
# ---------
# For two classes one share is enough. If it is known, it need not be estimated: a probability of one half, which is
# right if half of the animals are foxes, becomes 5 % if one animal in twenty is a fox.

fox = probs[:, 3] / (probs[:, 3] + probs[:, 0])  # Cats and foxes alone.
some = np.isin(labels, [0, 3])
one = estimate_base_rate(fox[some], 0.5)
print(f"foxes: {one.value:.3f} ({one.low:.3f} to {one.high:.3f}), in truth {np.mean(labels[some] == 3):.3f}")
known = PriorShift(0.05, trained_rate=0.5).between(["cat", "fox"]).predict_proba([[0.5, 0.5]])
print(f"one half becomes {known[0, 1]:.3f}")
