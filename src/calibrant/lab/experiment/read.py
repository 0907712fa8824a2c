"""Read the config of an experiment from TOML, or from the folder of a run."""

import json
import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from calibrant.assessment.comparison import BANDWIDTHS, RULES
from calibrant.calibrators import calibrator_name
from calibrant.exceptions import InputError
from calibrant.io import printable
from calibrant.lab.datasets import DATASETS
from calibrant.lab.experiment.config import (
    ARCHIVES,
    CHOICES,
    LOSSES,
    MODELS,
    PENALTIES,
    Config,
    Data,
    Evaluation,
    Learning,
    Network,
)
from calibrant.lab.experiment.toml_table import Table
from calibrant.lab.loss_names import split_loss
from calibrant.lab.schedule import Schedule
from calibrant.metrics.names import metric_name
from calibrant.results import Pipeline

CONFIG = "experiment.json"
"""The file with the config in the folder of an experiment."""

QUICK_METRICS = tuple(name for name in CHOICES if not name.startswith(("kde-ece", "dirichlet")))
"""Metrics without a bandwidth, which would have to be chosen for each point of a learning curve."""


def shipped_configs() -> tuple[str, ...]:
    """Return the names of the configs that are part of the package."""
    folder = files("calibrant.lab.experiment") / "configs"
    return tuple(sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".toml")))


def read_config(config: str | os.PathLike[str]) -> Config:
    """Return the experiment that a TOML file describes.

    Parameters
    ----------
    config : str or path
        A file, or the name of a shipped config such as "digits".

    Raises
    ------
    InputError
        If a key is missing or unknown, or has a value that is not allowed; the message names it.
    OSError
        If the file cannot be read.
    """
    if str(config) in shipped_configs() and not Path(config).is_file():
        with as_file(files("calibrant.lab.experiment") / "configs" / f"{config}.toml") as path:
            return _read(path)
    path = Path(config)
    if not path.exists():
        shipped = ", ".join(shipped_configs())
        raise FileNotFoundError(
            f"{printable(config)} is neither a file nor a shipped config. The shipped configs are {shipped}."
        )
    return _read(path)


def _read(path: Path) -> Config:
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{printable(path.name)} is not a TOML file: {error}.") from error
    return as_config(content, printable(path.name), path.parent)


def read_stored(folder: Path) -> Config:
    """Return the experiment that was last run in a folder."""
    path = folder / CONFIG
    if not path.is_file():
        raise FileNotFoundError(f"{printable(folder)} holds no experiment. Name the folder given to --out.")
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{printable(path)} is damaged. Run the experiment again to repair it.") from error
    return as_config(content, CONFIG, folder)


def as_config(content: Mapping[str, object], where: str, folder: Path) -> Config:
    """Return the experiment that a mapping describes; its paths are relative to the folder."""
    table = Table(content, where)
    data = _data(table.table("data"), folder)
    networks = _networks(table, data)
    known = None if data.has_logits else tuple(network.name for network in networks)
    pipelines = _pipelines(table, known)
    config = Config(
        title=table.text("title"),
        seeds=table.wholes("seeds", [0]),
        data=data,
        networks=networks,
        pipelines=pipelines,
        evaluation=_evaluation(table.table("evaluation", {}), [pipeline.name for pipeline in pipelines]),
        learning=_learning(table.table("learning"), known) if table.has("learning") else None,
    )
    table.finish()
    return config


def as_content(config: Config) -> dict[str, object]:
    """Return the mapping from which `as_config` builds this config."""
    evaluation, learning = config.evaluation, config.learning
    data = {"source": config.data.source, "seed": config.data.seed}
    if config.data.folder is not None and config.data.source != "bundled":
        data["folder"] = str(config.data.folder)
    content: dict[str, object] = {"title": config.title, "seeds": list(config.seeds), "data": data}
    if config.networks:
        content["networks"] = {network.name: _network_content(network) for network in config.networks}
    content["pipelines"] = [vars(pipeline) for pipeline in config.pipelines]
    content["evaluation"] = vars(evaluation) | {"metrics": list(evaluation.metrics)}
    if learning is not None:
        lists = {key: list(getattr(learning, key)) for key in ("calibrators", "sizes", "metrics")}
        content["learning"] = vars(learning) | lists
    return content


def _network_content(network: Network) -> dict[str, object]:
    start = {} if network.start is None else {"start": network.start}
    return {"model": network.model, "loss": network.loss, **start, **network.schedule}


def _data(table: Table, folder: Path) -> Data:
    source = table.text("source", (*DATASETS, *ARCHIVES))
    given = table.optional_text("folder") if source != "bundled" else None
    if source == "logits" and given is None:
        table.get("folder")
    data = Data(
        source=source,
        folder=None if given is None else (folder / Path(given).expanduser()).absolute(),
        seed=table.whole("seed", 0),
    )
    table.finish()
    return data


def _networks(table: Table, data: Data) -> tuple[Network, ...]:
    if data.has_logits:
        if table.has("networks"):
            raise InputError(f"{table.where}: no networks are trained if the source is {data.source}. Remove networks.")
        return ()
    group = table.table("networks")
    networks = {name: _network(group.table(name), name) for name in group.content}
    ordered: dict[str, Network] = {}
    for name in networks:
        _add(name, networks, ordered, group)
    return tuple(ordered.values())


def _add(name: str, networks: Mapping[str, Network], ordered: dict[str, Network], group: Table) -> None:
    """Add a network after the one that it starts from."""
    path: list[str] = []
    following: str | None = name
    while following is not None and following not in ordered:
        if following in path:
            group.refuse(f"{name}.start", "a network that does not start from this one in turn", networks[name].start)
        if following not in networks:
            group.refuse(f"{path[-1]}.start", f"one of {', '.join(networks)}", following)
        path.append(following)
        following = networks[following].start
    ordered.update({key: networks[key] for key in reversed(path)})


def _network(table: Table, name: str) -> Network:
    given: dict[str, Any] = {one.name: table.get(one.name) for one in fields(Schedule) if table.has(one.name)}
    model, loss, start = table.text("model", MODELS), table.text("loss"), table.optional_text("start")
    table.finish()
    with table.located():
        split_loss(loss, LOSSES, PENALTIES)
        Schedule(**given)
    # A rate of 1 is one of 1.0: both have the same steps.
    amounts = {key: float(value) for key, value in given.items() if isinstance(getattr(Schedule, key), float)}
    return Network(name=name, model=model, loss=loss, start=start, schedule=given | amounts)


def _pipelines(table: Table, networks: tuple[str, ...] | None) -> tuple[Pipeline, ...]:
    pipelines: dict[str, Pipeline] = {}
    for entry in table.tables("pipelines"):
        name = entry.text("name")
        if name in pipelines:
            entry.refuse("name", "different from the names before", name)
        network, given = entry.text("network", networks), entry.text("calibrator")
        with entry.located("calibrator: "):
            pipelines[name] = Pipeline(name=name, network=network, calibrator=calibrator_name(given))
        entry.finish()
    return tuple(pipelines.values())


def _metrics(table: Table, choices: Collection[str], default: tuple[str, ...]) -> tuple[str, ...]:
    given = table.texts("metrics", None, default)
    with table.located("metrics: "):
        names = [metric_name(name, choices) for name in given]
    return Table({"metrics": names}, table.where).texts("metrics", choices)


def _evaluation(table: Table, pipelines: list[str]) -> Evaluation:
    evaluation = Evaluation(
        baseline=table.text("baseline", pipelines, default=pipelines[0]),
        metrics=_metrics(table, CHOICES, Evaluation.metrics),
        resamples=table.whole("resamples", Evaluation.resamples, least=50),
        level=table.share("level", Evaluation.level),
        folds=table.whole("folds", Evaluation.folds, least=2),
        differences=table.text("differences", RULES, Evaluation.differences),
        bandwidth=table.text("bandwidth", BANDWIDTHS, Evaluation.bandwidth),
    )
    table.finish()
    return evaluation


def _learning(table: Table, networks: tuple[str, ...] | None) -> Learning:
    given = table.texts("calibrators", None)
    with table.located("calibrators: "):
        names = tuple(map(calibrator_name, given))
    learning = Learning(
        network=table.text("network", networks),
        calibrators=names,
        sizes=tuple(sorted(table.wholes("sizes", least=1))),
        metrics=_metrics(table, QUICK_METRICS, Learning.metrics),
        repeats=table.whole("repeats", Learning.repeats, least=1),
    )
    table.finish()
    return learning
