"""Files to `Predictions`: the public reading functions."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.suspicions import suspicions
from calibrant._border.text import listing, printable
from calibrant._border.types import FloatArray
from calibrant._core.steps import portions, tell
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.columns import Request, as_request
from calibrant.io.opening import open_source, stacked
from calibrant.io.paths import Paths, as_paths
from calibrant.io.sources import located
from calibrant.io.tables import TextTable
from calibrant.io.values import LeftOut, as_labels, read_complete, taken, warn_of
from calibrant.predictions import Predictions


class Part(NamedTuple):
    """What one file holds: predictions, the numbers that they are made of, and other columns of the same rows."""

    predictions: Predictions
    scores: FloatArray
    others: dict[str, NDArray[np.generic]]


STEPS = 3
"""Of reading a file, as they are told: its columns are known, the numbers are read, and they are checked."""


def read_predictions(  # noqa: PLR0913 (each is one decision of the user)
    path: Paths,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    weight: str | None = None,
    logits: bool = False,
    classes: Sequence[object] | None = None,
    positive: Hashable | None = None,
    percent: bool = False,
    renormalise: bool = False,
    drop_missing: bool = False,
) -> Predictions:
    """Read predictions and labels from a file, or from several whose rows follow one another.

    CSV (separated by commas, semicolons, tabs or bars, perhaps compressed with gzip), JSON Lines, Parquet, Arrow IPC,
    NPZ and NPY files are recognised by their content. Columns that are not needed are ignored.

    Parameters
    ----------
    path : str, path, or sequence of them
        A name with ``*``, ``?`` or ``[`` that no file has stands for all files that match, sorted by name.
    label : str, optional
        Column of the labels. By default the first found of label, labels, target, y, y_true, class, ground_truth and
        correct; in an NPZ file of labels, label, ground_truth, y, y_true, target and targets. For an NPY file without
        fields: the path of an NPY file with the labels.
    probs : str or list of str, optional
        Columns of the probabilities, in the order of the classes: names, or patterns with ``*``, whose columns are
        sorted by name with 2 before 10. By default ``proba_*``, ``prob_*`` or ``p_*``, whichever is found first, else
        p0, p1, ..., else a single column proba, prob, probability, p, score or confidence, which is the probability of
        class 1. Beside a column correct, confidence is that of an answer being right. One column of lists or of
        fixed-size arrays also gives a whole row of probabilities in each cell. In an NPZ file one array, by default
        probs, predictions, probabilities or y_prob, else proba, prob, probability, p or score.
    weight : str, optional
        Column of the weights.
    logits : bool, default=False
        Whether the columns hold logits; then ``logit_*``, logit and logits are found as well, and first.
    classes : sequence, optional
        Names of the classes. By default what stands for the ``*`` in the names of the columns, or these names;
        integers if all of them look like integers. If columns have the names of the classes, each class is paired
        with its column, else classes and columns are paired in order.
    positive : optional
        For one column of probabilities: the label to which it refers.
    percent : bool, default=False
        Whether probabilities are written as percentages, from 0 to 100, with or without a percent sign.
    renormalise : bool, default=False
        Accept rows of probabilities with any positive sum and divide them by it.
    drop_missing : bool, default=False
        Leave out rows in which a value is missing, with a warning that counts them.

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        If the content cannot be used; the message names the file, the line of a text file (the first is line 1) or the
        row of another file (from 0), the column, and a remedy.
    OSError
        If a file cannot be opened or read.
    """
    request = as_request(
        label=label,
        probs=probs,
        weight=weight,
        logits=logits,
        classes=classes,
        positive=positive,
        percent=percent,
        renormalise=renormalise,
        drop_missing=drop_missing,
    )
    return read_rows(path, request).predictions


def read_rows(path: Paths, request: Request, others: Sequence[str] = ()) -> Part:
    """Read predictions, and other columns of the same rows, from one file or several."""
    paths = as_paths(path)
    left_out = LeftOut() if request.drop_missing else None
    if len(paths) == 1:
        part = _read_file(paths[0], request, others, left_out)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # What is suspicious, all rows together show.
            parts = [_read_file(each, request, others, left_out) for each in portions(paths)]
        part = Part(
            join_predictions({str(each): one.predictions for each, one in zip(paths, parts, strict=True)}, request),
            np.concatenate([one.scores for one in parts]),
            {name: stacked([one.others[name] for one in parts]) for name in others},
        )
    if left_out is not None:
        warn_of(left_out)
    return part


def read_raw_logits(path: Paths, **options: object) -> tuple[Predictions, FloatArray]:
    """Read logits and labels from a file, and return the logits as they are beside the predictions.

    Parameters
    ----------
    path : str, path, or sequence of them
    **options
        As for `read_predictions`, of which ``logits=True`` is understood.

    Returns
    -------
    Predictions
        Of the softmax.
    ndarray of shape (n, K)
        Finite logits, for calibrators with ``scores="raw-logits"``.
    """
    part = read_rows(path, as_request(logits=True, raw_logits=True, **options))
    return part.predictions, part.scores


def _read_file(path: str, request: Request, others: Sequence[str], left_out: LeftOut | None) -> Part:
    with open_source(path) as source:
        columns = source.choose(request)
        tell(1, STEPS)
        if request.percent and isinstance(source, TextTable):
            source.percent = True
        numbers = {"probs": columns.probs} | ({} if columns.weight is None else {"weights": (columns.weight,)})
        known = (*(columns.classes or ()), *(() if request.positive is None else (request.positive,)))
        arrays, rows = read_complete(source, numbers, columns.label, known, left_out)
        tell(2, STEPS)
        scores = arrays["probs"] / 100 if request.percent else arrays["probs"]
        data = (as_labels(source.file.name, arrays["label"], columns), arrays.get("weights"), columns.classes)
        with located(source, {"probs": columns.probs, "logits": columns.probs}):
            if request.raw_logits:
                scores = _as_raw_logits(scores)
            if request.logits:
                found = Predictions.from_logits(scores, *data, positive=request.positive)
            else:
                found = Predictions(scores, *data, positive=request.positive, renormalise=request.renormalise)
        more = {name: taken(source.column(name), rows) for name in others}
        tell(STEPS, STEPS)
        return Part(found, scores, more)


def _as_raw_logits(scores: NDArray[np.generic]) -> FloatArray:
    from calibrant.calibrators.raw_logits import as_raw_logits

    return as_raw_logits(scores)


def join_predictions(parts: Mapping[str, Predictions], request: Request) -> Predictions:
    """Return the rows of all files, by the name of each, one after another; their classes must be the same."""
    classes = _shared_classes(parts, request)
    every = list(parts.values())
    log_probs = np.concatenate([p.log_probs for p in every]) if request.logits else None
    joined = Predictions._trusted(  # noqa: SLF001 (of predictions that have been checked)
        np.concatenate([p.probs for p in every]),
        np.concatenate([p.labels for p in every]),
        np.concatenate([p.weights for p in every]),
        classes,
        log_probs,
    )
    for message in suspicions(joined.probs, joined.predicted, joined.labels, joined.weights, classes):
        warnings.warn(message, DataWarning, stacklevel=4)
    return joined


def _shared_classes(parts: Mapping[str, Predictions], request: Request) -> tuple[Hashable, ...]:
    """Return the classes of all files; one in which only the positive class occurs does not name the other."""
    unnamed = f"not {request.positive}"
    named = {name: p.classes for name, p in parts.items() if request.positive is None or p.classes[0] != unnamed}
    first, classes = next(iter(named.items()), next((name, p.classes) for name, p in parts.items()))
    for name, others in named.items():
        if others != classes:
            raise InputError(
                f"{printable(first)} and {printable(name)} must have the same classes to be read as one, but have "
                f"{listing([*map(str, classes)])} and {listing([*map(str, others)])}. Read them one by one."
            )
    return classes
