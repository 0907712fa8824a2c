"""Files to `Predictions`: the public reading functions."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from calibrant._border.files import OpenFile, open_regular
from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.arrays import Archive, open_npy
from calibrant.io.columnar import Columnar
from calibrant.io.columns import Columns, as_request
from calibrant.io.delimited import Delimited
from calibrant.io.sniff import Kind, recognise
from calibrant.io.sources import Source, located
from calibrant.io.values import as_labels
from calibrant.predictions import Predictions

_SOURCES: dict[Kind, Callable[[OpenFile], Source]] = {
    Kind.CSV: lambda file: Delimited(file, gzipped=False),
    Kind.GZIP: lambda file: Delimited(file, gzipped=True),
    Kind.PARQUET: lambda file: Columnar(file, Kind.PARQUET),
    Kind.IPC_FILE: lambda file: Columnar(file, Kind.IPC_FILE),
    Kind.IPC_STREAM: lambda file: Columnar(file, Kind.IPC_STREAM),
    Kind.NPZ: Archive,
    Kind.NPY: open_npy,
}

ADVICE = {
    "Pass them to Predictions.from_logits.": "Read them with logits=True.",
    'Build the calibrator with scores="logits".': "Take them with logits=True.",
    'With scores="logits", -inf is allowed.': "With logits=True, -inf is allowed.",
}


def read_predictions(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    weight: str | None = None,
    logits: bool = False,
    classes: Sequence[Any] | None = None,
    renormalise: bool = False,
) -> Predictions:
    """Read predictions and labels from a file.

    CSV (separated by commas, semicolons, tabs or bars, perhaps compressed with gzip), Parquet, Arrow IPC, NPZ and
    NPY files are recognised by their content. Columns that are not needed are ignored.

    Parameters
    ----------
    path : str or path
    label : str, optional
        Column of the labels. By default the first found of label, labels, target, y, y_true, class and ground_truth;
        in an NPZ file of labels, label, ground_truth, y, y_true, target and targets. For an NPY file without fields:
        the path of an NPY file with the labels.
    probs : str or list of str, optional
        Columns of the probabilities, in the order of the classes: names, or patterns with ``*``, whose columns are
        sorted by name with 2 before 10. By default ``proba_*``, ``prob_*`` or ``p_*``, whichever is found first, else
        a single column proba, prob, probability, p or score, which is the probability of class 1. One column of lists
        or of fixed-size arrays also gives a whole row of probabilities in each cell. In an NPZ file one array, by
        default probs, predictions, probabilities or y_prob.
    weight : str, optional
        Column of the weights.
    logits : bool, default=False
        Whether the columns hold logits; then ``logit_*``, logit and logits are found as well, and first.
    classes : sequence, optional
        Names of the classes. By default what stands for the ``*`` in the names of the columns, or these names;
        integers if all of them look like integers. If columns have the names of the classes, each class is paired
        with its column, else classes and columns are paired in order.
    renormalise : bool, default=False
        Accept rows of probabilities with any positive sum and divide them by it.

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        If the content cannot be used; the message names the file, the line of a CSV file (the header is line 1) or
        the row of another file (from 0), the column, and a remedy.
    OSError
        If the file cannot be opened or read.
    """
    if logits and renormalise:
        raise InputError("renormalise=True is for probabilities, but logits=True means that these are logits.")
    request = as_request(label, probs, weight, logits, classes)
    with open_source(path) as source:
        columns = source.choose(request)
        scores, labels, weights = _read_arrays(source, columns)
        with located(source, {"probs": columns.probs, "logits": columns.probs}, ADVICE):
            if logits:
                return Predictions.from_logits(scores, labels, weights, columns.classes)
            return Predictions(scores, labels, weights, columns.classes, renormalise=renormalise)


def read_raw_logits(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    weight: str | None = None,
    classes: Sequence[Any] | None = None,
) -> tuple[Predictions, FloatArray]:
    """Read logits and labels from a file, and return the logits as they are beside the predictions.

    Parameters
    ----------
    path, label, probs, weight, classes
        As for `read_predictions` with ``logits=True``.

    Returns
    -------
    Predictions
        Of the softmax.
    ndarray of shape (n, K)
        Finite logits, for calibrators with ``scores="raw-logits"``.
    """
    from calibrant.calibrators.raw_logits import as_raw_logits

    request = as_request(label, probs, weight, True, classes)
    with open_source(path) as source:
        columns = source.choose(request)
        scores, labels, weights = _read_arrays(source, columns)
        with located(source, {"logits": columns.probs}, ADVICE):
            logits = as_raw_logits(scores)
            return Predictions.from_logits(logits, labels, weights, columns.classes), logits


def read_column(path: str | os.PathLike[str], name: str) -> NDArray[Any]:
    """Read one column of a file, in the order of its rows.

    Parameters
    ----------
    path : str or path
    name : str
        Column of a table, or array of an NPZ file.

    Returns
    -------
    ndarray of shape (n,)
        Integers, floats, booleans, or else objects: strings, and None where a value is missing.
    """
    with open_source(path) as source:
        return source.column(name)


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a table, or of the arrays of an NPZ file, in the order of the file."""
    with open_source(path) as source:
        return list(source.names)


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a file with the reader of its format, which is recognised by content."""
    with open_regular(path) as file:
        kind = recognise(file)
        if kind not in (Kind.NPZ, Kind.NPY):
            _need_polars()
        yield _SOURCES[kind](file)


def _need_polars() -> None:
    try:
        import polars as pl  # noqa: F401 (only whether it is there)
    except ImportError as error:
        raise ImportError(
            'Tables are read with polars, which is not installed: pip install "calibrant[cli]". '
            "NPZ and NPY files can be read without it."
        ) from error


def _read_arrays(source: Source, columns: Columns) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return probabilities, labels and weights as the file gives them."""
    numbers = {"probs": columns.probs} | ({} if columns.weight is None else {"weights": (columns.weight,)})
    arrays = source.read(numbers, columns.label)
    return arrays["probs"], as_labels(source.file.name, arrays["label"], columns), arrays.get("weights")
