"""
Errors that confidence hides
============================

The predicted class has the right probability, and the rest is spread over the wrong classes. Errors of the confidence
see nothing; errors of whole vectors do.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.curves import classwise_curves, kernel_curve
from calibrant.hypotest import OmnibusTest
from calibrant.metrics import ECE, KCE, Classwise, DirichletECE, KdeECE, SimplexECE
from calibrant.plots import plot_classwise

rng = np.random.default_rng(0)
truth = np.sort(rng.dirichlet([4.0, 1.5, 0.5], 1500), axis=1)[:, ::-1]
labels = (rng.random((1500, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
right = Predictions(truth, labels)
wrong = Predictions(np.column_stack([truth[:, 0], (1 - truth[:, 0]) / 2, (1 - truth[:, 0]) / 2]), labels)
print(
    "classes 1 and 2 get equal shares, though class 1 is",
    round((labels == 1).sum() / (labels == 2).sum(), 1),
    "times as frequent",
)

# %%
# Measures
# --------
# ``DirichletECE`` is the KDE-ECE of whole vectors, with Dirichlet kernels on the simplex; the gaps of all classes are
# added. With more than a few classes nearly all of it is chance; use a kernel error and its test instead.

measures = {
    "ECE of the top label": ECE(),
    "KDE-ECE of the top label": KdeECE(),
    "ECE, each class against the rest": Classwise(ECE()),
    "Dirichlet ECE": DirichletECE(),
    "ECE in cells of the simplex": SimplexECE(),
    "kernel calibration error": KCE(),
}
print(f"{'':>34}   right   wrong")
for name, measure in measures.items():
    print(f"{name:>34}  {measure(right):6.4f}  {measure(wrong):6.4f}")

# %%
# The test names what it found
# ----------------------------
for name, p in {"right": right, "wrong": wrong}.items():
    result = OmnibusTest()(p, rng=0)
    print(f"{name}: p = {result.pvalue:.3f}, revealed by: {result.details['revealed_by'] or 'nothing'}")

fig, ax = plt.subplots(figsize=(5, 4.2))
plot_classwise(classwise_curves(wrong, lambda p: kernel_curve(p, bandwidth="silverman")), ax=ax)
