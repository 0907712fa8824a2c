"""Whether losses with penalties help after temperature scaling, on Fashion-MNIST with every arm tuned alike.

`python benchmarks/losses.py [FOLDER]` trains every arm in four settings for each seed, chooses the setting by the
held-out log loss after temperature scaling, and prints what the chosen ones do on the test images, with differences
to cross entropy. Every training leaves a file in FOLDER, build/losses if none is given, so that a run that was stopped
goes on; seeds that are not complete do not count. It takes seven minutes on one core.
"""

import os

# Training takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import sys
from itertools import product
from pathlib import Path

import numpy as np

from calibrant import Predictions
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.lab.datasets import Split, load_dataset
from calibrant.lab.training import MODELS, Schedule, parse_loss, predict_logits, train
from calibrant.metrics import ECE, NLL, Accuracy

SEEDS = range(5)
TRAINED, HELD_OUT, CALIBRATED = 5000, 2000, 5000
"""Images to train on, to tune and stop by, and to fit the temperature to; all 10 000 test images are judged."""
EPOCHS = 15
RATES = (0.03, 0.06)


def weighted(loss, weights):
    """Return four settings: two learning rates, with two weights each."""
    return [{"loss": f"{loss}{weight}", "learning_rate": rate} for rate, weight in product(RATES, weights)]


PLAIN = [{"loss": "ce", "learning_rate": rate} for rate in (0.02, 0.03, 0.06, 0.1)]
ARMS = {
    "CE": PLAIN,
    "CE, stopped": [{**one, "patience": EPOCHS} for one in PLAIN],
    "CE, decay": [
        {"loss": "ce", "learning_rate": rate, "weight_decay": decay} for rate, decay in product(RATES, (1e-3, 4e-3))
    ],
    "focal": weighted("focal-", (1, 2)),
    "CE + MMCE": weighted("ce+", ("1*mmce", "2*mmce")),
    "CE + SKCE": weighted("ce+", ("3*skce", "10*skce")),
    "CE + KDE-ECE": weighted("ce+", ("0.3*kde-ece", "1*kde-ece")),
    "CE + SB-ECE": weighted("ce+", ("0.3*sb-ece", "1*sb-ece")),
}
"""Settings of every arm. The stopped one keeps the epoch of the least held-out log loss after temperature scaling."""


def trained(setting, seed, data, path):
    """Train a network, and keep its logits with the held-out log loss after temperature scaling."""
    keys = {"weight_decay": 0.0, **setting}
    loss = parse_loss(keys.pop("loss"))
    rows = slice(TRAINED + HELD_OUT)
    share = HELD_OUT / (TRAINED + HELD_OUT)
    schedule = Schedule(epochs=EPOCHS, held_out=share, watch="calibrated-nll", threads=1, **keys)
    model = MODELS["mlp"](data.train.inputs.shape[1:], 10, rng=seed)
    history = train(model, Split(data.train.inputs[rows], data.train.labels[rows]), loss, schedule, rng=seed)
    part = path.with_suffix(".part.npz")
    np.savez(
        part,
        tuned=history.epochs[history.kept - 1].held_out_calibrated_nll,
        kept=history.kept,
        calibration=predict_logits(model, data.calibration.inputs[:CALIBRATED]),
        calibration_labels=data.calibration.labels[:CALIBRATED],
        test=predict_logits(model, data.test.inputs),
        test_labels=data.test.labels,
    )
    part.replace(path)


def complete(folder):
    """Train what is missing, seed by seed."""
    for seed in SEEDS:
        data = None
        for name, settings in ARMS.items():
            for number, setting in enumerate(settings):
                path = folder / f"{seed}-{name.replace(' ', '')}-{number}.npz"
                if not path.exists():
                    data = load_dataset("fashion-mnist", seed=seed) if data is None else data
                    trained(setting, seed, data, path)
                    print(f"seed {seed}: {name} {setting}", file=sys.stderr, flush=True)


def chosen(folder, seed, name):
    """Return number and file of the setting with the least held-out log loss after temperature scaling."""
    paths = [folder / f"{seed}-{name.replace(' ', '')}-{number}.npz" for number in range(len(ARMS[name]))]
    best = int(np.argmin([np.load(path)["tuned"] for path in paths]))
    return best, np.load(paths[best])


def judged(found):
    """Return what the table shows of a network, and the log loss of every test image after temperature scaling."""
    raw = Predictions.from_logits(found["test"], found["test_labels"])
    map_ = TemperatureScaling().fit(Predictions.from_logits(found["calibration"], found["calibration_labels"]))
    after = calibrate(map_, raw)
    values = [Accuracy()(raw), NLL()(raw), ECE()(raw), map_.temperature_, NLL()(after), ECE()(after)]
    return np.array(values), NLL().per_row(after)


def spread(values):
    """Return mean and standard error over seeds."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def table(folder):
    """Print values, and differences to cross entropy alone, stopped, and with weight decay."""
    seeds = [seed for seed in SEEDS if len(list(folder.glob(f"{seed}-*[0-9].npz"))) == sum(map(len, ARMS.values()))]
    picks = {name: [chosen(folder, seed, name) for seed in seeds] for name in ARMS}
    results = {name: [judged(found) for _, found in pairs] for name, pairs in picks.items()}
    values = {name: np.array([one for one, _ in pairs]) for name, pairs in results.items()}
    rows = {name: np.array([each for _, each in pairs]) for name, pairs in results.items()}
    print(f"{len(seeds)} seeds, {TRAINED} images to train on, {HELD_OUT} to tune by, {CALIBRATED} for the temperature")
    print("\nmeans over seeds       accuracy  log loss     ECE       T   after T: log loss     ECE   settings chosen")
    for name, found in values.items():
        accuracy, loss, ece, temperature, loss_after, ece_after = found.mean(axis=0)
        numbers = " ".join(str(number) for number, _ in picks[name])
        print(
            f"{name:20}     {accuracy:.4f}    {loss:.4f}  {ece:.4f}    {temperature:.2f}"
            f"              {loss_after:.4f}  {ece_after:.4f}   {numbers}"
        )
    for base in ("CE", "CE, stopped", "CE, decay"):
        print(f"\nminus {base}, times 1000, +- standard error over seeds; in brackets, that over test images")
        for name in ARMS:
            if name != base:
                print(line(name, values[name] - values[base], rows[name] - rows[base]))


def line(name, values, rows):
    """Return the differences of an arm as text."""
    mean, error = spread(1000 * values)
    over_images = 1000 * rows.mean(axis=0).std(ddof=1) / np.sqrt(rows.shape[1])
    parts = [
        f"{label} {mean[i]:+6.1f} +- {error[i]:4.1f}"
        for i, label in enumerate(("accuracy", "log loss", "ECE", "", "after T: log loss", "ECE"))
        if label
    ]
    parts[3] += f" ({over_images:.1f})"
    return f"{name:14}" + "  ".join(parts)


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "build/losses")
    where.mkdir(parents=True, exist_ok=True)
    complete(where)
    table(where)
