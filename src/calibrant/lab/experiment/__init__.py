"""Experiments: compare networks and calibrators by several metrics; an interrupted run can be continued."""

from calibrant.lab.experiment.config import Config
from calibrant.lab.experiment.output import export_logits, load_result
from calibrant.lab.experiment.read import read_config, shipped_configs
from calibrant.lab.experiment.running import run, status

__all__ = ["Config", "export_logits", "load_result", "read_config", "run", "shipped_configs", "status"]
