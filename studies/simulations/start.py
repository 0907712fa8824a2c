"""How a study starts. A worker imports this module before its number of threads is set, so NumPy must not be loaded."""

import signal
import sys
from importlib import import_module
from typing import Any


def start(name: str) -> int:
    """Run the command line of the study in `studies.NAME.command`; return the exit code."""
    # Leave through the usual exits, which end the workers too.
    signal.signal(signal.SIGTERM, _stop)
    return int(import_module(f"studies.{name}.command").main(sys.argv[1:]))


def _stop(_signal: int, _frame: Any) -> None:
    sys.exit(143)
