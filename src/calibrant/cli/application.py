"""The subcommands of `calibrant`, in the order of `--help`."""

from importlib import import_module
from types import FunctionType

from cyclopts import App, Parameter

from calibrant import __version__
from calibrant.cli.printing.show import console

COMMANDS = (
    "evaluate",
    "test",
    "groups",
    "compare",
    "recommend",
    "fit",
    "apply",
    "report",
    "sketch",
    "watch",
    "experiment",
    "demo",
    "selfcheck",
    "completion",
)
"""The commands: each is `command` in the module of its name in `commands`. Only those that are needed are imported."""

USAGE = {
    **{
        name: f"Usage: calibrant {name} [OPTIONS] FILES..."
        for name in ("evaluate", "test", "groups", "compare", "recommend", "fit", "report", "sketch")
    },
    "watch": "Usage: calibrant watch [OPTIONS] DAYS...",
}
"""First lines of help where that of cyclopts would say ARGS."""

EPILOGUE = (
    "Exit codes: 0 success, 1 a gate failed or steps are missing, 2 bad input, 3 a file cannot be used, "
    "130 interrupted, 143 terminated. Results go to standard output, progress and errors to standard error."
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
    """Join the lines of a command's docstring, so that `--help` wraps them to the width of the terminal."""
    if command not in COMMANDS:
        return
    found = import_module(f"calibrant.cli.commands.{command}").command
    if isinstance(found, FunctionType):
        found.__doc__ = reflowed(found.__doc__ or "")


def reflowed(text: str) -> str:
    r"""Join the lines of each paragraph; examples and names of parameters keep their lines.

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
    """Return the default that help shows; None for options that are off, so that nothing is shown."""
    return None if value is False or value == () else value


PARAMETER = Parameter(negative="", show_default=_shown_default)


def application(wanted: str = "") -> App:
    """Return the command with its subcommands; if one of them is wanted, the others are not imported."""
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
    for name in COMMANDS:
        usage = {"usage": USAGE[name]} if name in USAGE else {}
        app.command(f"calibrant.cli.commands.{name}:command", name=name, **usage)
    if wanted not in COMMANDS:  # Sorting imports all commands, which only lists of commands need.
        for position, name in enumerate(COMMANDS):
            app[name].sort_key = position
    return app
