"""How a study starts. A worker imports this module before its number of threads is set, so NumPy must not be loaded."""

import signal
import sys
from importlib import import_module
from typing import Any


def start(name: str) -> None:
    """Run the study in `studies.NAME.command` with the arguments of the command line, and exit."""
    # Leave through the usual exits, which end the workers too.
    signal.signal(signal.SIGTERM, _stop)
    study = import_module(f"studies.{name}.command").STUDY
    sys.exit(import_module("studies.simulations.command").run(study, sys.argv[1:]))


def _stop(_signal: int, _frame: Any) -> None:
    sys.exit(143)
