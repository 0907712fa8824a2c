r"""
The squared kernel calibration error
====================================

The definition of SKCE (カーネルキャリブレーション誤差の二乗推定量),
from the double sum to the fast call: unbiased and biased,
over all pairs and in blocks.

For predictions :math:`P_{X_i}`, targets :math:`Y_i` and a kernel :math:`k` on pairs of both,

.. math::

   h_k((\mu, y), (\mu', y')) ={}& k((\mu, y), (\mu', y')) - \mathbb{E}_{Z \sim \mu} k((\mu, Z), (\mu', y')) \\
       &- \mathbb{E}_{Z' \sim \mu'} k((\mu, y), (\mu', Z'))
       + \mathbb{E}_{Z \sim \mu, Z' \sim \mu'} k((\mu, Z), (\mu', Z')).
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import KCE, SKCE


def simulated(n, sharper, seed):
    """Three classes; labels follow p, and the model says p ** sharper, normalised."""
    source = np.random.default_rng(seed)
    truth = source.dirichlet(np.ones(3), n)
    labels = (source.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Predictions.from_logits(sharper * np.log(truth), labels)


# %%
# From the definition
# -------------------
# With the kernel :math:`k((\mu, y), (\mu', y')) = \exp(-\mathrm{TV}(\mu, \mu')) \, 1[y = y']` the four terms can be
# computed directly.

p = simulated(120, 2.0, seed=1)


def k(mu, y, nu, z):
    return np.exp(-0.5 * np.abs(mu - nu).sum()) * (y == z)


def h(mu, y, nu, z):
    classes = range(3)
    return (
        k(mu, y, nu, z)
        - sum(mu[a] * k(mu, a, nu, z) for a in classes)
        - sum(nu[b] * k(mu, y, nu, b) for b in classes)
        + sum(mu[a] * nu[b] * k(mu, a, nu, b) for a in classes for b in classes)
    )


H = np.array([[h(p.probs[i], p.labels[i], p.probs[j], p.labels[j]) for j in range(120)] for i in range(120)])
kernel = ExponentialKernel(TotalVariation(), 1.0) @ WhiteKernel()
print("unbiased:", H[np.triu_indices(120, 1)].mean(), SKCE(kernel)(p))
print("biased:  ", H.mean(), SKCE(kernel, unbiased=False)(p))

# %%
# The unbiased form can be negative, and is 0 on average if the model is calibrated. The biased form is never
# negative.
#
# Blocks
# ------
# ``blocksize`` takes the mean over blocks of consecutive rows: a number, or a function of n. An incomplete last block
# is left out. The cost falls from :math:`O(n^2)` to :math:`O(mn)`.

blocks = [H[a : a + 25, a : a + 25][np.triu_indices(25, 1)].mean() for a in range(0, 100, 25)]
print("blocks of 25:", np.mean(blocks), SKCE(kernel, blocksize=25)(p))
print("a quarter each:", SKCE(kernel, blocksize=lambda n: n // 4)(p))

# %%
# Which estimate to use
# ---------------------
# Fifty data sets of a calibrated and of an over-confident model. The U-statistic over all pairs varies least. Small
# blocks cost less and vary more. The biased form is positive even for a calibrated model.

kinds = {
    "unbiased": SKCE(kernel),
    "biased": SKCE(kernel, unbiased=False),
    "blocks of 20": SKCE(kernel, blocksize=20),
    "blocks of 2": SKCE(kernel, blocksize=2),
}
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
for ax, (title, sharper) in zip(axes, {"calibrated": 1.0, "over-confident": 1.6}.items(), strict=True):
    sets = [simulated(200, sharper, seed) for seed in range(50)]
    ax.boxplot([[measure(q) for q in sets] for measure in kinds.values()], orientation="horizontal", whis=(0, 100))
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set(title=title, yticks=range(1, 5), yticklabels=list(kinds), xlabel="SKCE of 200 rows")
fig.tight_layout()

# %%
# The default
# -----------
# ``SKCE()`` has the exponential kernel of the total variation whose lengthscale is the median distance between
# predictions, which uses no labels. :class:`~calibrant.metrics.KCE` is its root with the sign kept, on the scale
# of probabilities.

for name, sharper in {"calibrated": 1.0, "over-confident": 2.0}.items():
    q = simulated(2000, sharper, seed=3)
    print(f"{name:>15}: SKCE {SKCE()(q):+.5f}, KCE {KCE()(q):+.4f}")
