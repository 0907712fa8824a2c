"""The work of each kind of step: every function returns the content of the step's file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.types import Progress
from calibrant.advice.cross_fit import cross_fit, draw_folds, fitted
from calibrant.calibrators import calibrate, load, parse, save
from calibrant.exceptions import InputError
from calibrant.lab.experiment.archives import Logits, archive_path, read_logits
from calibrant.lab.experiment.config import CHOICES, Config
from calibrant.lab.experiment.steps import Step
from calibrant.lab.store import Store, pack, pack_json, unpack
from calibrant.metrics import KdeECE
from calibrant.predictions import Predictions
from calibrant.results import as_record

if TYPE_CHECKING:
    from torch import nn

    from calibrant.lab.datasets import Dataset, Split

GRID = 51
"""Number of points of a reliability curve."""

THREADS = 1
"""Number of PyTorch's threads unless the config sets it: with the machine's number, last digits would depend on it."""


@dataclass(eq=False)
class Bench:
    """The resources of steps: the config, the results of other steps, and the data set."""

    config: Config
    store: Store
    predictions_read: dict[str, Predictions] = field(default_factory=dict)

    @cached_property
    def data(self) -> "Dataset":
        """The data set, which is loaded on first use."""
        from calibrant.lab import datasets

        data = self.config.data
        return datasets.load_dataset(data.source, folder=data.folder, seed=data.seed)

    def split(self, step: Step) -> "Split":
        """Return the split of a step, the only one that it can have."""
        return getattr(self.data, step.split)

    def predictions(self, step: Step) -> Predictions:
        """Return the predictions of a step that stores logits or probabilities; cached, as many steps need them."""
        if step.digest not in self.predictions_read:
            arrays = unpack(self.store.read(step))
            build = Predictions.from_logits if "logits" in arrays else Predictions
            scores = arrays["logits" if "logits" in arrays else "probs"].astype(float)
            classes = [str(name) for name in arrays["classes"]]
            self.predictions_read[step.digest] = build(scores, arrays["labels"], classes=classes)
        return self.predictions_read[step.digest]


def train_network(step: Step, bench: Bench, progress: Progress) -> bytes:
    """Train a network, or continue from its checkpoint."""
    from calibrant.lab import training
    from calibrant.lab.training.checkpoint import as_bytes

    split = bench.split(step)
    model = _network(step.settings["model"], split.inputs.shape[1:], bench, step.settings["seed"])
    if "start" in step.needs:
        _load(model, step.needs["start"], bench)
    loss = training.parse_loss(step.settings["loss"])
    schedule = training.Schedule(**{"threads": THREADS} | step.settings["schedule"])
    checkpoint = bench.store.checkpoint(step)
    training.train(model, split, loss, schedule, checkpoint=checkpoint, progress=progress, rng=step.settings["seed"])
    return as_bytes(model.state_dict())


def _network(model: str, shape: tuple[int, ...], bench: Bench, seed: int) -> "nn.Module":
    from calibrant.lab import training

    return training.MODELS[model](shape, len(bench.data.classes), rng=seed)


def _load(model: "nn.Module", step: Step, bench: Bench) -> None:
    from calibrant.lab.training.checkpoint import from_bytes

    model.load_state_dict(from_bytes(bench.store.read(step)))


def logits_of_split(step: Step, bench: Bench, _: Progress) -> bytes:
    """Return the logits of the calibration split, or of the test split."""
    if bench.config.data.has_logits:
        path = archive_path(bench.config, step.settings["network"], step.settings["seed"])
        found = read_logits(path, step.split)
    else:
        from calibrant.lab.training import predict_logits
        from calibrant.lab.training.models import threaded

        rows = bench.split(step)
        model = _network(step.settings["model"], rows.inputs.shape[1:], bench, 0)
        _load(model, step.needs["weights"], bench)
        with threaded(THREADS):
            logits = predict_logits(model, rows.inputs)
        found = Logits(logits, rows.labels, np.array(bench.data.classes))
    return pack(found._asdict())


def fit_calibrator(step: Step, bench: Bench, _: Progress) -> bytes:
    """Fit a calibrator to the calibration split."""
    calibrator = fitted(parse(step.settings["calibrator"]), bench.predictions(step.needs["logits"]))
    path = bench.store.checkpoint(step)
    save(calibrator, path)
    content = path.read_bytes()
    path.unlink()
    return content


def tune(step: Step, bench: Bench, _: Progress) -> bytes:
    """Calibrate each fold with a fit to the others, and choose bandwidths on these predictions."""
    p = bench.predictions(step.needs["logits"])
    folds = draw_folds(p, step.settings["folds"], np.random.default_rng(step.settings["seed"]))
    out = cross_fit(parse(step.settings["calibrator"]), p, folds, lambda: None).predictions
    rule = KdeECE()
    widths = [rule.fit_bandwidth(out.one_vs_rest(c)).bandwidth for c in range(out.n_classes)]
    return pack(
        {
            "probs": out.probs.astype(np.float32),
            "labels": out.labels,
            "classes": np.array(list(map(str, out.classes))),
            "confidence_bandwidth": np.array(rule.fit_bandwidth(out).bandwidth, dtype=float),
            "class_bandwidths": np.array(widths, dtype=float),
        }
    )


def evaluate(step: Step, bench: Bench, progress: Progress) -> bytes:
    """Compare a group of pipelines with the baseline on the test split."""
    from calibrant.assessment.comparison import compare

    names = step.settings["pipelines"]
    models = {name: _calibrated(step, name, bench) for name in names}
    comparison = compare(
        models,
        {name: CHOICES[name] for name, _ in step.settings["metrics"]},
        baseline=names[0],
        n_resamples=step.settings["resamples"],
        level=step.settings["level"],
        tuning={name: bench.predictions(step.needs[f"tune {name}"]) for name in names},
        differences=step.settings["differences"],
        bandwidth=step.settings["bandwidth"],
        ranges=False,  # No table shows them.
        progress=progress,
        rng=step.settings["seed"],
    )
    curves = {name: _curves(step.needs[f"tune {name}"], p, bench) for name, p in models.items()}
    return pack_json({"comparison": as_record(comparison), "curves": curves})


def _calibrated(step: Step, name: str, bench: Bench) -> Predictions:
    fit = step.needs[f"fit {name}"]
    bench.store.read(fit)  # Verifies the file.
    return calibrate(load(bench.store.path(fit)), bench.predictions(step.needs[f"test {name}"]))


def _curves(tuning: Step, p: Predictions, bench: Bench) -> dict[str, object]:
    from calibrant.curves import classwise_curves, kernel_curve

    arrays = unpack(bench.store.read(tuning))
    widths = iter(arrays["class_bandwidths"].tolist())
    by_class = classwise_curves(p, lambda view: kernel_curve(view, GRID, bandwidth=next(widths)), grid=GRID)
    whole = kernel_curve(p, GRID, bandwidth=float(arrays["confidence_bandwidth"]))
    return {
        "confidence": _line(whole),
        "average": _line(by_class.average),
        "classes": {name: _line(curve) for name, curve in zip(by_class.names, by_class.curves, strict=True)},
    }


def _line(curve: object) -> dict[str, list[float]]:
    return {key: getattr(curve, key).tolist() for key in ("predicted", "observed", "count")}


def learn(step: Step, bench: Bench, progress: Progress) -> bytes:
    """Fit a calibrator to parts of the calibration split, and evaluate it on the test split."""
    settings = step.settings
    p, test = bench.predictions(step.needs["calibration"]), bench.predictions(step.needs["test"])
    size = settings["size"]
    if size > p.n_samples:
        raise InputError(f"sizes must be at most {p.n_samples}, the rows of the calibration split, but one is {size}.")
    metrics = {name: CHOICES[name] for name, _ in settings["metrics"]}
    values: dict[str, list[float]] = {name: [] for name in metrics}
    repeats = 1 if size == p.n_samples else settings["repeats"]
    for repeat in range(repeats):
        order = np.random.default_rng([settings["seed"], repeat]).permutation(p.n_samples)
        calibrated = calibrate(fitted(parse(settings["calibrator"]), p.take(order[:size])), test)
        for name, metric in metrics.items():
            values[name].append(metric(calibrated))
        progress(repeat + 1, repeats)
    before = {name: metric(test) for name, metric in metrics.items()}
    return pack_json({"values": values, "before": before, "rows": test.n_samples})


WORK: Mapping[str, Callable[[Step, Bench, Progress], bytes]] = {
    "train": train_network,
    "logits-calibration": logits_of_split,
    "logits-test": logits_of_split,
    "fit": fit_calibrator,
    "tune": tune,
    "evaluate": evaluate,
    "learn": learn,
}
"""The function for each kind of step."""
