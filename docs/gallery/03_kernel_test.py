r"""
A hypothesis test with the kernel error
=======================================

``AsymptoticSKCETest`` (二乗カーネルキャリブレーション誤差に基づく仮説検定):
is the unbiased SKCE larger than it would be for calibrated predictions?
A bootstrap approximates its distribution under the null hypothesis. This page computes the bootstrap statistic from its
definition, compares the two, and then runs the exact alternative.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.hypotest import TESTS, AsymptoticSKCETest, BlockSKCETest, ConsistencyTest, DistributionFreeSKCETest
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import SKCE
from calibrant.plots import plot_null

rng = np.random.default_rng(0)
truth = rng.dirichlet(np.ones(3), 400)
labels = (rng.random((400, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
good = Predictions(truth, labels)
sure = Predictions.from_logits(1.5 * np.log(truth), labels)
kernel = ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel()

# %%
# The bootstrap statistic
# -----------------------
# .. math::
#
#    T' = \frac{2}{n (n - 1)} \sum_{i < j} h(D^*_i, D^*_j) - \frac{2}{n^2} \sum_{i, r} h(D^*_i, D_r)
#
# for a bootstrap sample :math:`D^*` of the rows. With the matrix :math:`H` of all :math:`h(D_i, D_j)` and the number
# of times that every row was drawn, it is a quadratic form; the package never stores :math:`H`, but sums it tile by
# tile.


def matrix(p):
    distance = 0.5 * np.abs(p.probs[:, None] - p.probs[None]).sum(axis=2)
    return np.exp(-distance / 0.5) * (p.residuals @ p.residuals.T)


def bootstrap(H, rounds):
    n = len(H)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=rounds).T.astype(float)
    pairs = np.einsum("ib,ij,jb->b", counts, H, counts, optimize=True) - np.diag(H) @ counts
    return pairs / (n * (n - 1)) - 2 / n**2 * (counts.T @ H.sum(axis=1))


H = matrix(sure)
n = len(H)
by_hand = (H.sum() - np.trace(H)) / (n * (n - 1))
observed = n * by_hand / (n - 1) - H.mean()
draws = bootstrap(H, 999)
result = AsymptoticSKCETest(kernel)(sure, rng=0)
print("SKCE:", by_hand, result.estimate)
print("p-value, by hand:", (1 + (draws >= observed).sum()) / 1000, " by the package:", result.pvalue)

# %%
# The sum over pairs runs over distinct places of the bootstrap sample. A row that was drawn twice is paired with
# itself, so only one diagonal term per draw is subtracted.
#
# The figure
# ----------
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2))
for ax, (name, p) in zip(axes, {"calibrated": good, "log-probabilities times 1.5": sure}.items(), strict=True):
    test = AsymptoticSKCETest(kernel)(p, rng=0)
    plot_null(test, ax=ax)
    ax.set_title(f"{name}: p = {test.pvalue:.3f}")
fig.tight_layout()

# %%
# Exact, or cheaper
# -----------------
# The bootstrap is right for many rows. Redrawing labels from the predictions gives the exact distribution of the same
# statistic for any number of rows. Blocks cost less and find less. The distribution-free bound holds for every
# distribution, but needs far more rows to find anything.

alternatives = (
    ConsistencyTest(SKCE(kernel), n_resamples=199),
    BlockSKCETest(kernel),
    DistributionFreeSKCETest(SKCE(kernel)),
)
for test in alternatives:
    calibrated, confident = test(good, rng=0).pvalue, test(sure, rng=0).pvalue
    print(f"{type(test).__name__:>26}: calibrated {calibrated:.3f}, over-confident {confident:.3f}")

# %%
# :doc:`/validity` simulates how often each test errs and what it finds. All tests:

print(", ".join(TESTS))
