"""The sub-commands of the command `calibrant`, in the order in which `--help` lists them."""

import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from calibrant import __version__
from calibrant.cli.apply import apply
from calibrant.cli.compare import compare_files
from calibrant.cli.demo import demo
from calibrant.cli.evaluate import evaluate
from calibrant.cli.experiment import experiment
from calibrant.cli.fit import fit
from calibrant.cli.groups import groups
from calibrant.cli.options import INPUT
from calibrant.cli.outputs import console
from calibrant.cli.recommend import recommend_for
from calibrant.cli.report import report
from calibrant.cli.selfcheck import run_selfcheck
from calibrant.cli.sketching import sketch
from calibrant.cli.testing import run_tests
from calibrant.cli.watch import watch


def completion(shell: Annotated[Literal["bash", "zsh", "fish", "powershell"], Parameter(group=INPUT)], /) -> None:
    """Print a script that lets SHELL complete the commands and options of calibrant.

    For example:
      calibrant completion bash > ~/.local/share/bash-completion/completions/calibrant
      calibrant completion fish > ~/.config/fish/completions/calibrant.fish

    Parameters
    ----------
    shell
        bash, zsh (a file _calibrant in a folder of $fpath), fish (~/.config/fish/completions/calibrant.fish) or
        powershell (appended to $PROFILE).
    """
    sys.stdout.write(application().generate_completion(shell=shell))


COMMANDS: dict[str, Callable[..., Any] | App] = {
    "evaluate": evaluate,
    "test": run_tests,
    "groups": groups,
    "compare": compare_files,
    "recommend": recommend_for,
    "fit": fit,
    "apply": apply,
    "report": report,
    "sketch": sketch,
    "watch": watch,
    "experiment": experiment,
    "demo": demo,
    "selfcheck": run_selfcheck,
    "completion": completion,
}


EPILOGUE = (
    "Exit codes: 0 fine, 1 a gate failed or steps are missing, 2 bad input, 3 a file cannot be used, 130 interrupted, "
    "143 terminated. Results go to standard output, progress and errors to standard error."
)
HELP = """Measure, test, fix and show the calibration of predicted probabilities.

For example:
  calibrant demo
  calibrant evaluate predictions.csv --label y --probs 'proba_*'
  calibrant report predictions.csv --calibrate auto
"""


def _version() -> str:
    from calibrant._core import description

    return f"{__version__}, core: {description()}"


def application() -> App:
    """Return the command with all its sub-commands."""
    app = App(
        name="calibrant",
        help=HELP,
        help_epilogue=EPILOGUE,
        version=_version,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(
            negative="", show_default=lambda value: None if value is False or value == () else value
        ),
        console=console(),
    )
    for position, (name, command) in enumerate(COMMANDS.items()):
        app.command(command, name=name)
        app[name].sort_key = position
    return app
