"""
Answer or abstain
=================

A language model says how sure it is. Which confidence must its answers have, if one in ten may be wrong?
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.decisions import coverage_at_risk, risk_coverage
from calibrant.metrics import METRICS
from calibrant.plots import plot_risk_coverage

rng = np.random.default_rng(1)
said = rng.choice([1.0, 0.95, 0.9, 0.8, 0.7, 0.5], 800, p=[0.1, 0.3, 0.3, 0.15, 0.1, 0.05])
right = rng.random(800) < 0.26 + 0.72 * said
answers = Predictions(said, right.astype(int), classes=("wrong", "right"))

# %%
# Few values
# ----------
# Only six confidences occur, so the coverage moves in jumps. Ties are averaged: shuffling the file changes nothing.

curve = risk_coverage(answers)
for t, coverage, risk, n in zip(curve.thresholds, curve.coverage, curve.risk, curve.count, strict=True):
    print(f"at least {t:4.2f}: {coverage:6.1%} answered, {risk:5.1%} of {n} wrong")
for name in ("aurc", "e-aurc", "augrc"):
    print(f"{name:>7}: {METRICS[name](answers):.4f}")

# %%
# A promise
# ---------
# Coverages that are fixed beforehand are tested one after another by the exact binomial limit, until one fails. With
# 95 % confidence, the error rate of the answers to *new* questions is at most 10 %.

kept = coverage_at_risk(answers, max_risk=0.1)
for step in kept.steps:
    passed = "passed" if step.passed else "failed"
    print(f"at least {step.threshold:.2f}: {step.errors} of {step.count} wrong, upper limit {step.high:.3f}: {passed}")

fig, ax = plt.subplots(figsize=(6.5, 4.4))
plot_risk_coverage({"answers": curve}, ax=ax, guarantee=kept)

# %%
# Why not use the best observed threshold?
# ----------------------------------------
# The largest coverage whose observed error rate is below the limit breaks it on new rows in about half of all cases.

broken = {"promised": 0, "best observed": 0}
for seed in range(200):
    draw = np.random.default_rng(seed)
    c = np.sort(draw.random(1000))[::-1]
    wrong = draw.random(1000) < 0.4 * (1 - c) ** 2
    data = Predictions(c, (~wrong).astype(int), classes=("wrong", "right"))
    found = coverage_at_risk(data, max_risk=0.05).threshold
    naive = c[np.flatnonzero(np.cumsum(wrong) <= 0.05 * np.arange(1, 1001))[-1]]
    for name, threshold in (("promised", found), ("best observed", naive)):
        true = 0.0 if threshold is None else 0.4 * (1 - threshold) ** 2 / 3
        broken[name] += true > 0.05
for name, times in broken.items():
    print(f"{name:>14}: broken in {times / 200:.1%} of 200 runs")
