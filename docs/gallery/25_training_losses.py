"""
Losses for training
===================

Differentiable calibration errors can be added to the cross entropy. This page shows their values on a batch and their
effect on a small network.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from calibrant import Predictions
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.lab.training import PENALTIES, parse_loss
from calibrant.metrics import ECE, NLL

torch.manual_seed(0)
torch.set_num_threads(1)

# %%
# On a batch
# ----------
# Every penalty has a value, and a gradient that sums to 0 over the classes of a row, because adding a constant to all
# logits changes no probability.

logits = torch.randn(64, 5, dtype=torch.float64, requires_grad=True)
labels = torch.randint(0, 5, (64,))
for name, penalty in PENALTIES.items():
    value = penalty(logits, labels)
    (gradient,) = torch.autograd.grad(value, logits)
    rows = gradient.sum(dim=1).abs().max()
    print(f"{name:17s} {value.item():+.4f}, gradient of length {gradient.norm():.4f}, largest sum of a row {rows:.0e}")

# %%
# In training
# -----------
# Five classes in ten dimensions, few rows, and a network that memorises them. For comparison, cross entropy is also
# stopped early.

rng = np.random.default_rng(0)
centres = 0.75 * rng.normal(size=(5, 10))
y = rng.integers(0, 5, 4400)
x = centres[y] + rng.normal(size=(4400, 10))
inputs, targets = torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def trained(name, n_steps):
    """Return the logits of all rows by a network that was trained on the first 400."""
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 5))
    loss, steps = parse_loss(name), torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(n_steps):
        steps.zero_grad()
        loss(network(inputs[:400]), targets[:400]).backward()
        steps.step()
    with torch.no_grad():
        return network(inputs).double().numpy()


found = {}
for name, n_steps in (("ce", 150), ("ce, stopped", 40), ("ce+8*mmce", 150), ("ce+10*skce", 150)):
    z = trained(name.partition(",")[0], n_steps)
    raw = Predictions.from_logits(z[2400:], y[2400:])
    temperature = TemperatureScaling(scores="logits").fit(z[400:2400], y[400:2400])
    found[name] = [(ECE()(p), NLL()(p)) for p in (raw, calibrate(temperature, raw))]
    (ece, nll), (ece_after, nll_after) = found[name]
    print(f"{name:11s} ECE {ece:.3f}, after a temperature {ece_after:.3f}; log loss {nll:.3f}, after {nll_after:.3f}")

# %%
# After temperature scaling, nothing remains of the gain in calibration. A penalty lowers the log loss, because the
# network does not memorise its rows; stopping cross entropy early does the same. One network proves little. The page
# about training has a comparison in which every loss was tuned alike. Train with cross entropy, then calibrate.

fig, ax = plt.subplots(figsize=(6, 3))
places = np.arange(len(found))
for shift, (when, color) in enumerate((("as trained", "0.6"), ("after a temperature", "C0"))):
    errors = [pair[shift][0] for pair in found.values()]
    ax.bar(places + 0.4 * shift, errors, 0.4, color=color, label=when)
ax.set_xticks(places + 0.2, list(found))
ax.set_ylabel("ECE of 2000 other rows")
ax.legend()
fig.tight_layout()
