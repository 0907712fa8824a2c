r"""
Mix-n-Match with KDE-ECE
========================

The note on multi-class calibration (多分类校准), step by step on a real network: parametric methods, ensembles,
compositions, and an error that needs no bins. The network is a small convolutional network for Fashion-MNIST, whose
logits come with the package.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant.calibrators import calibrate, parse
from calibrant.curves import kernel_curve
from calibrant.lab.datasets import load_logits
from calibrant.metrics import NLL, Accuracy, Brier, Classwise, KdeECE, PerPredictedClass
from calibrant.plots import plot_reliability

learn, test = load_logits("ce")
learn, test = learn.take(slice(0, 5000)), test.take(slice(0, 3000))
print(f"{len(learn)} rows to learn from, {len(test)} to judge by, classes {', '.join(test.classes[:3])}, ...")

# %%
# Methods with few parameters
# ---------------------------
# *Temperature scaling* divides all logits by one number, *vector scaling* has a factor and a shift per class, *matrix
# scaling* a whole matrix:
#
# .. math::
#
#    \sigma(z / T), \qquad \sigma(a \circ z + b), \qquad \sigma(W z + b).

ts = parse("ts", scores="logits").fit(learn.log_probs, learn.labels)
print(f"temperature {ts.temperature_:.2f}: above 1, so the network was too sure")

# %%
# Ensembles
# ---------
# *ETS* mixes the scaled probabilities, the given ones and the uniform ones. *IRM* learns one increasing function from
# the pairs of all classes, and *IROvA* one per class. A map that applies one increasing function to all classes keeps
# the most probable class:

names = ["identity", "ts", "vs", "ets", "irm", "irova", "ts>irova", "iop-diag", "ts>iop-diag"]
fitted = {name: parse(name, scores="logits").fit(learn.log_probs, learn.labels) for name in names}
after = {name: calibrate(map_, test) for name, map_ in fitted.items()}
for name, q in after.items():
    changed = (q.predicted != test.predicted).mean()
    print(f"{name:>12}: keeps the class by construction: {fitted[name].preserves_argmax!s:>5}, changed {changed:.2%}")

# %%
# A composition is written in order of application: ``ts>irova`` applies the temperature first. The note's "IROvA-TS"
# does not say which comes first.
#
# KDE-ECE
# -------
# KDE-ECE uses a kernel regression of correctness on confidence instead of bins, and leaves every row out of its own
# estimate:
#
# .. math::
#
#    \frac1n \sum_i |\hat\pi^{\setminus i}(c_i) - c_i|, \qquad
#    \hat\pi(c) = \frac{\sum_i K((c - c_i) / h) \, a_i}{\sum_i K((c - c_i) / h)}.
#
# By the pseudo-code of the note, and by the package:

c, a = test.top_label().positive[:500], test.top_label().labels[:500]
weights = np.exp(-0.5 * ((c[:, None] - c[None]) / 0.05) ** 2)
np.fill_diagonal(weights, 0)
by_hand = np.abs(weights @ a / weights.sum(axis=1) - c).mean()
print(by_hand, KdeECE(bandwidth=0.05, boundary="none")(test.take(slice(0, 500))))

# %%
# The three forms, and the scores
# -------------------------------
# All share one bandwidth, chosen on the rows that the calibrators learn from, so that differences come from the
# predictions. *Class-wise* looks at the rows predicted as each class, *multi-class* at every class against the rest.

overall = KdeECE().fit_bandwidth(calibrate(ts, learn))
narrow = KdeECE(bandwidth="silverman")
forms = {"KDE-ECE": overall, "class-wise": PerPredictedClass(narrow), "multi-class": Classwise(narrow)}
forms |= {"NLL": NLL(), "Brier": Brier(), "accuracy": Accuracy()}
print(f"{'':>12}" + "".join(f"{name:>12}" for name in forms))
for name, q in after.items():
    print(f"{name:>12}" + "".join(f"{measure(q):12.4f}" for measure in forms.values()))

# %%
# By KDE-ECE alone nearly all of them look alike; the log loss distinguishes them. Calibration errors cannot rank fixes:
# predicting the base rate for every row gives an error of 0.
#
# Reliability curves
# ------------------
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.6))
for ax, name in zip(axes, ["identity", "ts", "ts>irova"], strict=True):
    plot_reliability(kernel_curve(after[name], bandwidth=overall.bandwidth), ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# :doc:`/experiment` runs the whole design of the note, with focal loss, several seeds and paired significance.
# :doc:`/calibrators` says where its advice and the evidence differ.
