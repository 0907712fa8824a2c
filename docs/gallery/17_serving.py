"""
Serving a calibrator
====================

Save a fitted calibrator as a file, an ONNX model or a PyTorch module. It gives the same probabilities everywhere.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import torch

from calibrant.calibrators import load, parse, save
from calibrant.export import to_onnx, to_torch
from calibrant.lab.datasets import load_logits

learn, test = load_logits("ce")
learn, test = learn.take(slice(0, 2000)), test.take(slice(0, 1000))
fix = parse("ts>irm", scores="logits").fit(learn.log_probs, learn.labels)
expected = fix.predict_proba(test.log_probs)

# %%
# A file
# ------
# The file is JSON that describes itself and can be compared and reviewed. Loading runs no code.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "calibrator.json"
    save(fix, path)
    again = load(path)
    print(f"{path.stat().st_size} bytes, equal: {np.array_equal(again.predict_proba(test.log_probs), expected)}")

# %%
# ONNX
# ----
# The input is ``scores`` and the output ``probabilities``, both in double precision.

model = to_onnx(fix)
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
served = session.run(["probabilities"], {"scores": test.log_probs})[0]
print(f"{len(model)} bytes, largest difference {np.abs(served - expected).max():.1e}")

# %%
# PyTorch
# -------
module = to_torch(fix)
with torch.no_grad():
    tensor = module(torch.from_numpy(np.array(test.log_probs)))
print(f"largest difference {np.abs(tensor.numpy() - expected).max():.1e}")

# %%
# What it does
# ------------
fig, ax = plt.subplots(figsize=(4.8, 4.2))
ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
ax.scatter(test.probs.max(axis=1), expected.max(axis=1), s=6)
ax.set(xlabel="Confidence before", ylabel="Confidence after", xlim=(0.2, 1), ylim=(0.2, 1))
