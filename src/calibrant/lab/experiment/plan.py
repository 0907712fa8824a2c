"""The steps of an experiment, from its config."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from calibrant.lab.experiment.archives import archive_path, fingerprint
from calibrant.lab.experiment.config import CHOICES, Config, Network
from calibrant.lab.experiment.steps import KINDS, Step
from calibrant.results import Pipeline

GROUP = 5
"""Number of pipelines that one step compares with the baseline, which is resampled once for all of them."""


@dataclass(frozen=True, eq=False)
class SeedPlan:
    """The steps of one seed."""

    seed: int
    calibration: Mapping[str, Step]  # The logits of each network.
    test: Mapping[str, Step]
    evaluations: tuple[Step, ...]
    learning: tuple[Step, ...]  # Ordered by calibrator, then by size.

    @property
    def steps(self) -> list[Step]:
        """All steps, each once, in an order in which no step needs a later one."""
        last = (*self.calibration.values(), *self.test.values(), *self.evaluations, *self.learning)
        order = list(KINDS)
        found = {step.digest: step for end in last for step in end.with_needs()}
        return sorted(found.values(), key=lambda step: order.index(step.kind))


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps of an experiment."""

    config: Config
    seeds: tuple[SeedPlan, ...]

    @property
    def steps(self) -> list[Step]:
        """All steps, each once, seed by seed."""
        return list({step.digest: step for part in self.seeds for step in part.steps}.values())


def make_plan(config: Config) -> Plan:
    """Return the steps of an experiment; of the data, only checksums in archives of logits are read."""
    return Plan(config, tuple(_of_seed(config, seed) for seed in config.seeds))


def _of_seed(config: Config, seed: int) -> SeedPlan:
    logits = _archived if config.data.has_logits else _predicted
    calibration = logits(config, seed, "calibration")
    test = logits(config, seed, "test")
    return SeedPlan(
        seed=seed,
        calibration=calibration,
        test=test,
        evaluations=tuple(_evaluations(config, seed, calibration, test)),
        learning=tuple(_learning(config, seed, calibration, test)),
    )


def _archived(config: Config, seed: int, split: str) -> dict[str, Step]:
    found = {name: fingerprint(archive_path(config, name, seed), split) for name in config.network_names}
    return {
        name: Step(
            f"logits-{split}",
            f"seed {seed} {split} logits {name}",
            {"network": name, "seed": seed, "arrays": arrays},
            words=f"reading the {split} logits of {name}{_of(config, seed)}",
        )
        for name, arrays in found.items()
    }


def _predicted(config: Config, seed: int, split: str) -> dict[str, Step]:
    weights: dict[str, Step] = {}
    for network in config.networks:
        weights[network.name] = _training(config, seed, network, weights)
    models = {network.name: network.model for network in config.networks}
    data = {"source": config.data.source, "split_seed": config.data.seed}
    return {
        name: Step(
            f"logits-{split}",
            f"seed {seed} {split} logits {name}",
            data | {"model": models[name]},
            {"weights": weights[name]},
            f"predicting the {split} rows by {name}{_of(config, seed)}",
        )
        for name in config.network_names
    }


def _training(config: Config, seed: int, network: Network, weights: Mapping[str, Step]) -> Step:
    settings = {
        "source": config.data.source,
        "split_seed": config.data.seed,
        "seed": seed,
        "model": network.model,
        "loss": network.loss,
        "schedule": dict(network.schedule),
    }
    verb = "train" if network.start is None else "fine-tune"
    needs = {} if network.start is None else {"start": weights[network.start]}
    doing = f"{'training' if network.start is None else 'fine-tuning'} {network.name}{_of(config, seed)}"
    return Step("train", f"seed {seed} {verb} {network.name}", settings, needs, doing)


def _evaluations(
    config: Config, seed: int, calibration: Mapping[str, Step], test: Mapping[str, Step]
) -> Iterator[Step]:
    evaluation = config.evaluation
    baseline = next(p for p in config.pipelines if p.name == evaluation.baseline)
    others = [p for p in config.pipelines if p is not baseline]
    for start in range(0, max(len(others), 1), GROUP):
        group = [baseline, *others[start : start + GROUP]]
        needs: dict[str, Step] = {}
        for pipeline in group:
            logits = calibration[pipeline.network]
            needs[f"fit {pipeline.name}"] = _fit(config, pipeline, seed, logits)
            needs[f"tune {pipeline.name}"] = _tuning(config, pipeline, seed, logits)
            needs[f"test {pipeline.name}"] = test[pipeline.network]
        settings: dict[str, object] = {
            "pipelines": [pipeline.name for pipeline in group],
            "metrics": [[name, repr(CHOICES[name])] for name in evaluation.metrics],
            "resamples": evaluation.resamples,
            "level": evaluation.level,
            "differences": evaluation.differences,
            "bandwidth": evaluation.bandwidth,
            "seed": seed,
        }
        others_of_group = ", ".join(pipeline.name for pipeline in group[1:])
        words = f"comparing {baseline.name} with {others_of_group}" if group[1:] else f"judging {baseline.name}"
        name = f"seed {seed} evaluate {start // GROUP + 1}"
        yield Step("evaluate", name, settings, needs, f"{words}{_of(config, seed)}")


def _fit(config: Config, pipeline: Pipeline, seed: int, logits: Step) -> Step:
    name = f"seed {seed} fit {pipeline.network} {pipeline.calibrator}"
    words = f"calibrating {pipeline.network} with {pipeline.calibrator}{_of(config, seed)}"
    return Step("fit", name, {"calibrator": pipeline.calibrator}, {"logits": logits}, words)


def _tuning(config: Config, pipeline: Pipeline, seed: int, logits: Step) -> Step:
    name = f"seed {seed} tune {pipeline.network} {pipeline.calibrator}"
    settings = {"calibrator": pipeline.calibrator, "folds": config.evaluation.folds, "seed": seed}
    words = f"choosing bandwidths for {pipeline.network} with {pipeline.calibrator}{_of(config, seed)}"
    return Step("tune", name, settings, {"logits": logits}, words)


def _of(config: Config, seed: int) -> str:
    """Return the words for the seed, or "" if there is only one."""
    return f", seed {seed}" if len(config.seeds) > 1 else ""


def _learning(config: Config, seed: int, calibration: Mapping[str, Step], test: Mapping[str, Step]) -> Iterator[Step]:
    learning = config.learning
    if learning is None:
        return
    needs = {"calibration": calibration[learning.network], "test": test[learning.network]}
    shared = {
        "metrics": [[name, repr(CHOICES[name])] for name in learning.metrics],
        "repeats": learning.repeats,
        "seed": seed,
    }
    for calibrator in learning.calibrators:
        for size in learning.sizes:
            settings = shared | {"calibrator": calibrator, "size": size}
            name = f"seed {seed} learn {learning.network} {calibrator} {size}"
            words = f"calibrating {learning.network} with {calibrator} on {size} rows{_of(config, seed)}"
            yield Step("learn", name, settings, needs, words)
