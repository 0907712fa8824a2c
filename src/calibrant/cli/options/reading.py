"""Options of the commands that read predictions from files and write results."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from calibrant.cli.printing import show
from calibrant.exceptions import InputError
from calibrant.io import check_writable, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray

    from calibrant.forecasts import Forecasts
    from calibrant.io.request import ForecastRequest, ReadOptions, Request
    from calibrant.predictions import Predictions

    Columns = dict[str, NDArray[np.generic]]

INPUT = Group("Input", sort_key=1)
FIXING = Group("Calibration", sort_key=2)
JUDGING = Group("Judging", sort_key=3)
OUTPUT = Group("Output", sort_key=4)

Quiet = Annotated[bool, Parameter(group=OUTPUT, help="Do not show progress.")]
Json = Annotated[bool, Parameter(group=OUTPUT, help="Print JSON instead of text.")]
Seed = Annotated[int, Parameter(group=JUDGING, validator=Number(gte=0))]
File = Annotated[Path, Parameter(group=INPUT, json_list=False)]
Out = Annotated[Path, Parameter(group=OUTPUT)]
Cluster = Annotated[
    str | None,
    Parameter(group=INPUT, help="Column of clusters, such as patients, whose rows are not independent."),
]

ALL = "all"
"""Stands for every metric, or every test that can be applied."""

FEWEST_FOLDS = 2
"""Fewest folds of a cross-fit: each fold is calibrated by a fit to the others."""

_READING = (
    "label",
    "probs",
    "classes",
    "positive",
    "weight",
    "logits",
    "percent",
    "renormalise",
    "drop_missing",
)
"""The options of `Source` that say how to read a file."""

_FORECASTS = ("mean", "sd", "draws", "quantiles")
"""The further options of `EitherSource`."""

_OF_CLASSES = ("probs", "classes", "positive", "logits", "percent", "renormalise")
"""The options of `Source` that are meaningless for forecasts."""

FOLDS = 5
"""Default number of folds."""


def check_folds(folds: int) -> None:
    """Refuse too few folds, before anything is read."""
    if folds < FEWEST_FOLDS:
        raise InputError(f"--folds must be at least {FEWEST_FOLDS}, but is {folds}.")


def expanded(files: "Sequence[Path]") -> list[Path]:
    """Return the named files; a quoted pattern, which the shell has not expanded, is expanded here."""
    from calibrant.io.opening import as_paths

    if not files:
        raise InputError("at least one FILE is required. Name one, several, or a pattern such as 'part-*.csv'.")
    return [Path(path) for path in as_paths(files)]


def refuse_columns(files: "Sequence[Path]", *options: str | None) -> None:
    """Refuse names of columns separated by spaces, which would be taken for files."""
    given = next((option for option in options if option is not None), None)
    missing = [str(file) for file in files if not file.suffix and not file.exists()]
    if given is not None and missing and len(files) > len(missing):
        raise InputError(
            f"{missing[0]} is not a file. Separate the names of columns by commas, without spaces: "
            f"{','.join([given, *missing])}."
        )


def first_given(options: "DataclassInstance", names: "Iterable[str] | None" = None) -> str:
    """Return the first option that differs from its default, such as --label; empty if none does.

    Parameters
    ----------
    options : dataclass
        Its fields have defaults.
    names : iterable of str, optional
        The fields to look at; by default all.
    """
    wanted = None if names is None else {*names}
    for field in fields(options):
        if (wanted is None or field.name in wanted) and getattr(options, field.name) != field.default:
            return f"--{field.name.replace('_', '-')}"
    return ""


def first_of(given: "Mapping[str, object]") -> str:
    """Return the first of these options that has a value; empty if none does."""
    return next((option for option, value in given.items() if value), "")


def names_in(text: str | None) -> list[str] | None:
    """Return comma-separated names; None if there are none."""
    return text.split(",") if text else None


def are_numbers(text: str) -> bool:
    """Whether a text is a number, or several, comma-separated."""
    try:
        return bool([float(part) for part in text.split(",")])
    except ValueError:
        return False


def as_numbers(text: str, option: str) -> float | list[float]:
    """Return one number, or a list of comma-separated ones."""
    if not are_numbers(text):
        raise InputError(
            f"{option} must be a share such as 0.02, or one share per class such as 0.5,0.3,0.2, but is {text!r}."
        )
    numbers = [float(part) for part in text.split(",")]
    if not all(0 < number < 1 for number in numbers):
        raise InputError(f"{option} must be above 0 and below 1, but is {text}.")
    return numbers[0] if len(numbers) == 1 else numbers


def title(files: "Sequence[Path]") -> str:
    """Return a name for the rows of these files."""
    return files[0].name if len(files) == 1 else f"{len(files)} files"


def distinct(files: "Sequence[Path]", names: "Sequence[str]") -> list[str]:
    """Return the names of files, or their paths if names repeat."""
    return [*names] if len({*names}) == len(names) else [*map(str, files)]


PAGE = (".html", ".htm")
CALIBRATOR = (".json",)


def check_out(out: Path, inputs: "Sequence[Path]", endings: "Sequence[str]") -> None:
    """Refuse an output path that must not be written to, or has another ending, before anything is read or computed."""
    for file in inputs:
        refuse_same(file, out)
    check_writable(out)
    if out.suffix.lower() not in endings:
        raise InputError(
            f"--out must end in {' or '.join(endings)}, but is {printable(out)}. Name it "
            f"{printable(out.with_suffix(endings[0]))}, for example."
        )


def refuse_same(file: Path, out: Path, advice: str = "Name another file.") -> None:
    """Refuse to write to the file that is read, by whatever path."""
    if out.exists() and file.exists() and out.samefile(file):
        raise InputError(f"--out is {printable(file)} itself. {advice}")


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True, kw_only=True)
class Source:
    """Which columns of a file hold class predictions, and how to print the results."""

    label: Annotated[
        str | None, Parameter(help="Column (or key) of the labels or, for forecasts, of the observed values.")
    ] = None
    probs: Annotated[
        str | None,
        Parameter(
            help="Columns of the probabilities: a pattern such as 'proba_*', or a comma-separated list. By default "
            "columns with usual names, or else named after the labels."
        ),
    ] = None
    classes: Annotated[str | None, Parameter(help="Class names in the order of the columns, comma-separated.")] = None
    positive: Annotated[
        str | None, Parameter(help="For a single column of probabilities: the label to which it refers.")
    ] = None
    weight: Annotated[str | None, Parameter(help="Column of the row weights.")] = None
    logits: Annotated[bool, Parameter(help="The columns hold logits, not probabilities.")] = False
    percent: Annotated[bool, Parameter(help="The columns hold percentages, from 0 to 100.")] = False
    renormalise: Annotated[bool, Parameter(help="Accept rows that do not sum to 1.")] = False
    drop_missing: Annotated[bool, Parameter(help="Leave out rows with missing values, and report how many.")] = False
    json: Json = False
    quiet: Quiet = False

    @property
    def silent(self) -> bool:
        """Whether to show no progress, which a program that reads JSON does not need."""
        return self.quiet or self.json

    @property
    def first_of_rows(self) -> str:
        """The first given option about reading or grouping rows; empty if there is none."""
        return first_given(self, {*_READING, *_FORECASTS, "by"})

    def as_arguments(self) -> list[str]:
        """Return the command line options that read the same columns of a file."""
        words = []
        for name in (*_READING, *_FORECASTS):
            value = getattr(self, name, None)
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, str):  # A value with a leading dash would look like an option.
                words += [f"{option}={value}"] if value.startswith("-") else [option, value]
            elif value:
                words.append(option)
        return words

    def as_options(self) -> "ReadOptions":
        """Return the arguments of `read_predictions`."""
        plain = {name: getattr(self, name) for name in _READING}
        return cast("ReadOptions", plain | {name: names_in(plain[name]) for name in ("probs", "classes")})

    def request(self) -> "Request":
        """Return how to read class predictions."""
        from calibrant.io.request import Request

        return Request(**self.as_options())

    def rows(self, files: "Sequence[Path]", *others: str | None) -> "tuple[Predictions, Columns]":
        """Read class predictions from all files, and other columns of the same rows; None among these is skipped."""
        from calibrant.io.read import read_labelled

        refuse_columns(files, self.probs, self.classes)
        with show.listening_bar("reading", quiet=self.silent):
            return read_labelled(files, self.request(), [name for name in others if name is not None])


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True, kw_only=True)
class EitherSource(Source):
    """Which columns of a file hold class predictions, or predictive distributions."""

    mean: Annotated[str | None, Parameter(help="Forecasts: column of the predicted means.")] = None
    sd: Annotated[str | None, Parameter(help="Forecasts: column of the predicted standard deviations.")] = None
    draws: Annotated[
        str | None, Parameter(help="Forecasts: columns of the members of an ensemble, such as 'draw_*'.")
    ] = None
    quantiles: Annotated[
        str | None, Parameter(help="Forecasts: columns of quantiles, with levels in their names, such as 'q*'.")
    ] = None

    @property
    def are_forecasts(self) -> bool:
        """Whether the options describe predictive distributions, not classes."""
        return any(option is not None for option in (self.mean, self.sd, self.draws, self.quantiles))

    def check(self) -> None:
        """Refuse options that do not belong together, before anything is read."""
        self.refuse_for_forecasts({option: True} if (option := first_given(self, _OF_CLASSES)) else {})

    def refuse_for_forecasts(self, given: "Mapping[str, object]") -> None:
        """Refuse the first of these options of classes that has a value, if the others describe forecasts."""
        if self.are_forecasts and (option := first_of(given)):
            raise InputError(f"{option} is for classes, but the options describe forecasts. Remove it.")

    def either(self, files: "Sequence[Path]", *others: str | None) -> "tuple[Predictions | Forecasts, Columns]":
        """Read class predictions or forecasts, and other columns of the same rows."""
        return self.forecasts(files, *others) if self.are_forecasts else self.rows(files, *others)

    def forecasts(self, files: "Sequence[Path]", *others: str | None) -> "tuple[Forecasts, Columns]":
        """Read forecasts, and other columns of the same rows; None among their names is skipped."""
        from calibrant.io.forecasts import read_forecast_rows

        refuse_columns(files, self.draws, self.quantiles)
        with show.listening_bar("reading", quiet=self.silent):
            return read_forecast_rows(files, self.forecast_request(), [name for name in others if name is not None])

    def forecast_request(self, *, needs_target: bool = True) -> "ForecastRequest":
        """Return how to read forecasts."""
        from calibrant.io.request import ForecastRequest

        return ForecastRequest(
            target=self.label,
            mean=self.mean,
            sd=self.sd,
            draws=names_in(self.draws),
            quantiles=names_in(self.quantiles),
            weight=self.weight,
            drop_missing=self.drop_missing,
            needs_target=needs_target,
        )
