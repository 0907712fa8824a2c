"""Run the units of a study that are missing, and write its tables: `python -m studies NAME`."""

import signal
import sys
from importlib import import_module
from pkgutil import iter_modules

import studies

NAMES = sorted(found.name for found in iter_modules(studies.__path__) if found.name not in ("__main__", "simulations"))


def main() -> int:
    """Run the study that the command line names, and return the exit code."""
    name, *options = sys.argv[1:] or [""]
    if name not in NAMES:
        sys.stderr.write(f"usage: python -m studies NAME [options], where NAME is one of {', '.join(NAMES)}.\n")
        return 2
    # Leave through the usual exits, which end the workers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    study = import_module(f"studies.{name}").STUDY
    return import_module("studies.simulations.command_line").run(study, options)


if __name__ == "__main__":
    sys.exit(main())
