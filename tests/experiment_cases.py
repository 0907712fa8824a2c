"""Small experiments: logits of made-up networks, and a config that uses them."""

from pathlib import Path

import numpy as np

SPLITS = {"calibration": 240, "test": 200}
CLASSES = 3


def write_logits(folder: Path, names=("ce", "focal"), *, seed=0, test_shift=0.0) -> Path:
    """Write one archive a network: over-confident logits of labels drawn from the softmax of a third of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        arrays = {"classes": np.array(["a", "b", "c"])}
        for split, rows in SPLITS.items():
            rng = np.random.default_rng([seed, split == "test"])
            logits = rng.normal(size=(rows, CLASSES))
            probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            labels = (probs.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
            shift = test_shift if split == "test" else 0.0
            arrays |= {f"{split}_logits": (3.0 - number) * logits + shift * rng.normal(size=logits.shape)}
            arrays |= {f"{split}_labels": np.minimum(labels, CLASSES - 1)}
        np.savez(folder / f"{name}.npz", **arrays)
    return folder


CONFIG = """
title = "Two networks"
seeds = {seeds}

[data]
source = "logits"
folder = "{folder}"

[[pipelines]]
name = "raw"
network = "ce"
calibrator = "identity"

[[pipelines]]
name = "B0 CE>TS"
network = "ce"
calibrator = "ts"

[[pipelines]]
name = "focal > ts > irova"
network = "focal"
calibrator = "ts>irova"

[evaluation]
baseline = "B0 CE>TS"
metrics = ["kde-ece", "ece-20", "nll", "brier", "accuracy"]
resamples = 60

[learning]
network = "ce"
calibrators = ["ts", "irova"]
sizes = [40, 240]
repeats = 2
"""

SHORT = CONFIG.split("[learning]", maxsplit=1)[0].replace('"kde-ece", "ece-20", ', "")
"""The same without curves of learning and without bandwidths in the comparison."""


def write_config(folder: Path, text: str = CONFIG, *, seeds=(0,), **settings) -> Path:
    """Write a config, with logits beside it if it needs them."""
    path = folder / "config.toml"
    path.write_text(text.format(seeds=list(seeds), folder=settings.pop("folder", "logits"), **settings))
    return path


TRAINED = """
title = "Digits in a second"
seeds = [0]

[data]
source = "digits"

[networks.ce]
model = "mlp"
loss = "ce"
epochs = 3

[networks.focal-3]
model = "mlp"
loss = "focal-3"
start = "ce"
epochs = 2

[[pipelines]]
name = "B0"
network = "ce"
calibrator = "ts"

[[pipelines]]
name = "B1"
network = "focal-3"
calibrator = "ts"

[evaluation]
metrics = ["nll", "ece"]
resamples = 60
"""

OUTPUTS = ("results.json", "table.csv", "table.md", "curves.csv", "index.html")
"""What the same experiment always writes in the same bytes."""


def outputs(folder: Path) -> dict[str, bytes]:
    """Return the content of the files that must not depend on how often a run was stopped."""
    return {name: (folder / name).read_bytes() for name in OUTPUTS}
