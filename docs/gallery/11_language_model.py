"""
Confidences of a language model
===============================

A language model gives answers and says how sure it is, in percent. The confidences are round numbers, most of them
high, and the probabilities of other answers are unknown. The data are a confidence and whether the answer is right.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions, assess, recommend, reliability_curve
from calibrant.binning import EqualWidth
from calibrant.calibrators import IsotonicCalibration, calibrate
from calibrant.curves import cumulative_curve
from calibrant.hypotest import SpiegelhalterTest
from calibrant.metrics import ECE, NLL
from calibrant.plots import plot_cumulative, plot_reliability

# %%
# The data
# --------
# The confidences and outcomes are simulated. To read a file of such answers, use
# ``calibrant evaluate answers.csv --probs confidence --label correct``.

rng = np.random.default_rng(0)
says = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0], 1200, p=[0.02, 0.03, 0.05, 0.1, 0.3, 0.3, 0.1, 0.1])
right = rng.random(1200) < 0.25 + 0.55 * says
p = Predictions(says, right)

# %%
# The verdict
# -----------
print(assess(p, sections=(), rng=0).verdict.headline)
print(f"p-value by Spiegelhalter's test {SpiegelhalterTest()(p).pvalue:.2g}, ECE {ECE()(p):.3f}")

# %%
# Equal confidences stay together. 0.9 and 0.95 differ, but wide bins of equal width put both into one bin; twenty bins
# keep them apart.

fig, axes = plt.subplots(1, 2, figsize=(9, 4))
plot_reliability(reliability_curve(p, EqualWidth(20)), ax=axes[0])
plot_cumulative(cumulative_curve(p), ax=axes[1])
fig.tight_layout()

# %%
# A wrong answer with a confidence of 100 % has an infinite log loss. No temperature repairs it, because 1 stays 1.

print("log loss:", NLL()(p), " answers of 100 % that were wrong:", int((says[~right] == 1).sum()))

# %%
# The fix
# -------
# ``recommend`` puts a guard first, which removes certainty. An isotonic map with one value per confidence is a lookup
# table.

known, new = p[:800], p[800:]
advice = recommend(known, rng=0)
print(advice.headline)
table = IsotonicCalibration().fit(known.probs, known.labels)
for confidence in np.unique(says):
    print(f"{confidence:.0%} means {table.predict_proba([confidence])[0, 1]:.0%}", end="; ")
print()
for name, q in {"as they are": new, "advised": calibrate(advice.calibrator, new)}.items():
    print(f"{name:>12}: log loss {NLL()(q):.3f}, ECE {ECE()(q):.3f}")
