"""
Confidences of a language model
===============================

A language model was asked for its answers and how sure it is, in percent. The confidences are round numbers, most of
them high, and nobody knows the probabilities of other answers: confidence and correct or not is all there is.
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
# Simulated here: what models say, and how often such answers were right. A file of such answers is read by
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
# Equal confidences stay together: 0.9 and 0.95 are different answers, and bins of equal width put both into one.
# Twenty bins keep them apart.

fig, axes = plt.subplots(1, 2, figsize=(9, 4))
plot_reliability(reliability_curve(p, EqualWidth(20)), ax=axes[0])
plot_cumulative(cumulative_curve(p), ax=axes[1])
fig.tight_layout()

# %%
# An answer of 100 % that was wrong has an infinite log loss: no temperature repairs it, since 1 stays 1.

print("log loss:", NLL()(p), " answers of 100 % that were wrong:", int((says[~right] == 1).sum()))

# %%
# The fix
# -------
# ``recommend`` knows: it puts a guard first, which takes certainty away. An isotonic map with one value per
# confidence is a table to look up.

known, new = p[:800], p[800:]
advice = recommend(known, rng=0)
print(advice.headline)
table = IsotonicCalibration().fit(known.probs, known.labels)
for confidence in np.unique(says):
    print(f"{confidence:.0%} means {table.predict_proba([confidence])[0, 1]:.0%}", end="; ")
print()
for name, q in {"as they are": new, "advised": calibrate(advice.calibrator, new)}.items():
    print(f"{name:>12}: log loss {NLL()(q):.3f}, ECE {ECE()(q):.3f}")
