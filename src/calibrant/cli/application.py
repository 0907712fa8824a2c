"""The sub-commands of the command `calibrant`, in the order in which `--help` lists them."""

import sys
from importlib import import_module
from types import FunctionType
from typing import Annotated, Literal

from cyclopts import App, Parameter

from calibrant import __version__
from calibrant.cli.options import INPUT
from calibrant.cli.outputs import console


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


COMMANDS = {
    "evaluate": "evaluate:evaluate",
    "test": "testing:run_tests",
    "groups": "groups:groups",
    "compare": "compare:compare_files",
    "recommend": "recommend:recommend_for",
    "fit": "fit:fit",
    "apply": "apply:apply",
    "report": "report:report",
    "sketch": "sketching:sketch",
    "watch": "watch:watch",
    "experiment": "experiment:experiment",
    "demo": "demo:demo",
    "selfcheck": "selfcheck:run_selfcheck",
    "completion": "application:completion",
}
"""The module and the function behind each name: only what is asked for is imported."""


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


def reflow_help(command: str) -> None:
    """Let `--help` of a command break its lines where the terminal ends, not where the source does."""
    if command not in COMMANDS:
        return
    module, _, name = COMMANDS[command].partition(":")
    found = getattr(import_module(f"calibrant.cli.{module}"), name)
    if isinstance(found, FunctionType):
        found.__doc__ = reflowed(found.__doc__ or "")


def reflowed(text: str) -> str:
    r"""Join the lines of a sentence; those of examples stay, and the names of parameters.

    Examples
    --------
    >>> reflowed("One sentence\ngoes on.\nFor example:\n  calibrant demo\n  calibrant selfcheck").splitlines()
    ['One sentence goes on.', 'For example:', '  calibrant demo', '  calibrant selfcheck']
    """
    lines = [""]
    for line in text.splitlines():
        words, before = line.strip(), lines[-1].strip()
        goes_on = words and before and before[-1] not in ".:-" and not words.startswith(("calibrant ", "---"))
        if goes_on and _indentation(line) == _indentation(lines[-1]):
            lines[-1] += f" {words}"
        else:
            lines.append(line)
    return "\n".join(lines[1:])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _shown_default(value: object) -> object:
    """Return what help says of a default, None for nothing: options that are off need no word."""
    return None if value is False or value == () else value


PARAMETER = Parameter(negative="", show_default=_shown_default)


def application(wanted: str = "") -> App:
    """Return the command with its sub-commands; where one of them is wanted, the others are not imported."""
    app = App(
        name="calibrant",
        help=HELP,
        help_epilogue=EPILOGUE,
        version=_version,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
        default_parameter=PARAMETER,
        console=console(),
    )
    for name, command in COMMANDS.items():
        app.command(f"calibrant.cli.{command}", name=name)
    if wanted not in COMMANDS:  # All are imported: lists of commands are made without looking for what each is about.
        for position, name in enumerate(COMMANDS):
            app[name].sort_key = position
    return app
