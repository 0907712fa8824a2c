"""The command `calibrant`; each subcommand is a module, and heavy libraries are imported when it runs."""

import atexit
import difflib
import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NoReturn

from calibrant.cli import streams
from calibrant.exceptions import DataWarning, FileError, InputError

BAD_INPUT, BAD_FILE, INTERRUPTED, TERMINATED = 2, 3, 130, 143

OBJECTS_BEFORE_COLLECTION = 100_000
"""Imports create many objects and no garbage; searching for garbage took a fifteenth of the time of `evaluate`."""


OF_SEVERAL = ("--candidates", "--fail-if", "--metrics", "--reference", "--test")
"""Options that take several values, where none would be read as if the option were not there."""

_STOPPED: list[int] = []
"""Exit codes of the signals that were received."""

EXTRAS = {
    "cyclopts": "cli",
    "distributed": "dask",
    "jinja2": "cli",
    "matplotlib": "plot",
    "onnx": "onnx",
    "pandas": "spark",
    "polars": "cli",
    "pyarrow": "spark",
    "pyspark": "spark",
    "rich": "cli",
    "torch": "torch",
}
"""The extra that installs each optional package."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 fine, 1 a gate failed, 2 bad input, 3 a file cannot be used."""
    _prepare_signals()
    streams.prepare()
    _save_time()
    try:
        return _run_with_notes(argv)
    except BrokenPipeError:
        streams.discard(sys.stdout)  # The reader has closed the pipe, so nobody would see a message.
        return 0
    except KeyboardInterrupt:
        return _complain("interrupted.", INTERRUPTED)
    except MemoryError:
        return _complain("there is not enough memory for this file. Use fewer rows or another machine.", BAD_INPUT)
    except InputError as error:
        return _complain(with_options(str(error)), BAD_FILE if isinstance(error, FileError) else BAD_INPUT)
    except OSError as error:
        streams.discard(sys.stdout)
        return _complain(_about_file(error), BAD_FILE)
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return _complain(_missing(error) or _defect(error), BAD_INPUT)


def _save_time() -> None:
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    atexit.register(gc.freeze)  # Otherwise the interpreter collects garbage once more at exit.
    if "numpy" not in sys.modules:
        # Read when NumPy is loaded. Threads of BLAS wait for the next product in a busy loop, on the processors of our
        # own threads: that took a fifth of the processor time of `evaluate`.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _run_with_notes(argv: Sequence[str] | None) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = _notes()
        code = _run(argv)
        streams.write(sys.stdout, "")  # Here a full disk can still be reported.
        return code


def _arguments(argv: Sequence[str] | None) -> list[str]:
    """Return the arguments, with - replaced by the file of standard input."""
    return ["/dev/stdin" if word == "-" else word for word in (sys.argv[1:] if argv is None else argv)]


def _run(argv: Sequence[str] | None) -> int:
    try:
        from cyclopts import CycloptsError

        from calibrant.cli.application import application, reflow_help
    except ImportError as error:
        raise InputError(f'the command line needs {error.name}: pip install "calibrant[cli]".') from error
    words = _arguments(argv)
    if words and not {"--help", "-h"}.isdisjoint(words):
        reflow_help(words[0])
    if option := _without_value(words):
        raise InputError(f"{option} is given without a value. Add one, or leave {option} out.")
    try:
        result = application(words[0] if words else "")(
            words, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        where = " ".join(("calibrant", *(error.command_chain or ())))
        return _complain(f"{_about_arguments(error, words)} See {where} --help.", BAD_INPUT)
    return result if isinstance(result, int) else 0


def _without_value(words: Sequence[str]) -> str:
    """Return the first option whose value is empty, as an unset variable of the shell makes it; empty if none is."""
    for word, following in pairwise([*words, "--"]):
        option, sign, value = word.partition("=")
        ends = not following or (option in OF_SEVERAL and following.startswith("--"))
        if option.startswith("--") and ((sign and not value) or (not sign and ends)):
            return option
    return ""


def _about_arguments(error: Exception, words: Sequence[str]) -> str:
    """Describe what is wrong with the arguments; cyclopts reports a missing option as one without a value."""
    text = _near(_one_line(error))
    lacking = re.search(r"parameter (--[\w-]+) requires an argument", text)
    if lacking is None or any(word.partition("=")[0] == lacking[1] for word in words):
        return text
    return f"{lacking[1]} is required."


def _near(text: str) -> str:
    """Leave out a suggested option that resembles the given one in its dashes only."""
    found = re.search(r"--([\w-]+)\. (Did you mean --([\w-]+)\?)", text)
    if found is None or difflib.get_close_matches(found[1], [found[3]]):
        return text
    return text.replace(f" {found[2]}", "")


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()).replace("Unused Tokens:", "Too many arguments:")
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _about_file(error: OSError) -> str:
    """Describe what is wrong with a file, unless the error already does."""
    if error.strerror is None:
        return str(error)
    where = f"{error.filename} cannot be used" if error.filename else "the output cannot be written"
    return f"{where}: {error.strerror}. Check the path, its permissions and the free disk space."


def _missing(error: Exception) -> str:
    """Say which extra installs a missing package; empty for any other error."""
    if not isinstance(error, ImportError):
        return ""
    if "pip install" in str(error):
        return str(error)
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package)
    return "" if extra is None else f'this needs {package}, which is not installed: pip install "calibrant[{extra}]".'


def _defect(error: Exception) -> str:
    return (
        f"this is a bug in calibrant: {type(error).__name__}: {_one_line(error)} Please report it, with the "
        "output of the same command run as python -X dev -m calibrant."
    )


def _complain(message: object, code: int) -> int:
    from calibrant.io import printable

    if _STOPPED and code not in _STOPPED:  # A library turned the exception that stops the work into an error.
        return _STOPPED[0]
    streams.write(sys.stderr, f"calibrant: {printable(str(message))}\n")
    return code


def with_options(message: str) -> str:
    """Replace arguments in a message of the library by options of the command line."""
    message = re.sub(r"\b(renormalise|logits|percent|replace)=True", r"--\1", message)
    message = message.replace("drop_missing=True", "--drop-missing").replace("least_rows", "--least-rows")
    message = message.replace("n_resamples must", "--resamples must")
    message = re.sub(r"^(alpha|baseline|depth|level|tolerance) must", r"--\1 must", message)  # Not a setting in a file.
    message = re.sub(r"^features must be a whole", "--waves must be a whole", message)
    message = message.replace("features are for more than two classes", "--waves is for more than two classes")
    message = re.sub(r"^base_rate must", "--base-rate must", message)
    message = message.replace("or use risk_coverage, which gives no guarantee", "or --max-risk")
    message = message.replace("With keep_argmax none", "With --keep-argmax none")
    message = message.replace("n_folds", "--folds").replace("with keep_argmax=False", "by leaving out --keep-argmax")
    message = re.sub(r"\b(probs|classes|mean|sd|draws|quantiles)=(?=[\w'])", r"--\1 ", message)
    message = re.sub(r"\bclasses=(?=-)", "--classes=", message)  # A leading dash would look like another option.
    options = r"(?<!--)\b(label|probs|weight|classes|positive|mean|sd|draws|quantiles)=(?!=)"
    return re.sub(options, r"--\1", message.replace("target=", "label="))


def _notes() -> Callable[..., None]:
    """Return a function that prints each distinct warning once, as one line without its place in the code."""
    said = set()

    def note(message: Warning | str, *_: object, **__: object) -> None:
        from calibrant.io import printable

        text = with_options(str(message)).replace("pass them to Predictions itself", "leave out --logits")
        if text not in said:  # Folds and candidates may each give the same warning.
            said.add(text)
            streams.write(sys.stderr, f"calibrant: note: {printable(text)}\n")

    return note


def _prepare_signals() -> None:
    _STOPPED.clear()
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # It may be ignored in a background job.
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, _frame: object) -> NoReturn:
    if number == signal.SIGINT:
        _STOPPED.append(INTERRUPTED)
        raise KeyboardInterrupt
    _STOPPED.append(TERMINATED)
    raise SystemExit(TERMINATED)
