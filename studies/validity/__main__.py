"""Run the simulations that are not done yet, and write the tables: `python -m studies.validity`."""

import signal
import sys
from typing import Any

# A worker imports this module again before its number of threads is set, so NumPy must not be imported at the top.


def main() -> int:
    """Run the command line."""
    from studies.validity.command import main as run

    # Leave through the usual exits, which end the workers too.
    signal.signal(signal.SIGTERM, _stop)
    return run(sys.argv[1:])


def _stop(_signal: int, _frame: Any) -> None:
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
