"""Experiments: networks, calibrators and metrics in one table, by a runner that continues where it was stopped."""

from calibrant.experiment.config import Config
from calibrant.experiment.output import export_logits, load_result
from calibrant.experiment.read import read_config, shipped_configs
from calibrant.experiment.runner import run, status

__all__ = ["Config", "export_logits", "load_result", "read_config", "run", "shipped_configs", "status"]
