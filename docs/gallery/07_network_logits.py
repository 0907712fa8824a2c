"""
Logits of a network
===================

A temperature fixes the confidence of a network and changes no predicted class.
"""

import matplotlib.pyplot as plt

from calibrant import assess
from calibrant.binning import EqualMass
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.curves import isotonic_curve, reliability_curve
from calibrant.lab.datasets import load_logits
from calibrant.metrics import ECE, NLL, Accuracy, TopLabel
from calibrant.plots import plot_bias, plot_reliability

# %%
# ``load_logits`` gives the predictions of a small network for Fashion-MNIST. For your own network use
# ``Predictions.from_logits(logits, labels)``; both can be PyTorch tensors.

learn, test = load_logits("ce")
learn, test = learn.take(slice(0, 2000)), test.take(slice(0, 3000))
print(assess(test, sections=(), rng=0).verdict.headline)

# %%
# One number
# ----------
fix = TemperatureScaling(scores="logits").fit(learn.log_probs, learn.labels)
after = calibrate(fix, test)
print(f"temperature {fix.temperature_:.3f}")
for metric in (Accuracy(), NLL(), ECE(EqualMass(15)), TopLabel(ECE())):
    print(f"{metric!r:>70}: {metric(test):.4f} before, {metric(after):.4f} after")

# %%
# The diagram
# -----------
# The confidence in the predicted class against how often it is right. The band shows where the curve of a calibrated
# model would lie.

fig, axes = plt.subplots(1, 2, figsize=(8.5, 4))
for ax, (name, p) in zip(axes, {"before": test, "after": after}.items(), strict=True):
    plot_reliability(isotonic_curve(p, n_resamples=199, simultaneous=True, rng=0), ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# The bias, prediction minus frequency, shows the remaining error on a larger scale.

fig, ax = plt.subplots(figsize=(6, 3))
plot_bias(reliability_curve(after, EqualMass(10)), ax=ax)

# %%
# A single row
# ------------
row = test.log_probs[:1]
print("confidence before", test.probs[0].max().round(3), "and after", fix.predict_proba(row).max().round(3))
