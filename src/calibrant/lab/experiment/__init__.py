"""Experiments: networks, calibrators and metrics in one table, by a runner that continues where it was stopped."""

from calibrant.lab.experiment.config import Config
from calibrant.lab.experiment.output import export_logits, load_result
from calibrant.lab.experiment.read import read_config, shipped_configs
from calibrant.lab.experiment.runner import run, status

__all__ = ["Config", "export_logits", "load_result", "read_config", "run", "shipped_configs", "status"]
