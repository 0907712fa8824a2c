"""Class predictions read from files, with labels or without."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import as_log_probabilities, as_probabilities
from calibrant._border.suspicions import suspicions
from calibrant._border.text import listing, printable
from calibrant._border.types import FloatArray
from calibrant._core.progress import portions, tell
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.columns import Columns
from calibrant.io.missing import LeftOut, read_complete
from calibrant.io.opening import Paths, as_paths, open_source, other_columns, stacked
from calibrant.io.request import ReadOptions, Request
from calibrant.io.sources import Content, Source, located
from calibrant.io.values import as_labels
from calibrant.predictions import Predictions


class Part(NamedTuple):
    """Predictions, the numbers that they were made from, and other columns of the same rows."""

    predictions: Predictions
    scores: FloatArray
    others: dict[str, NDArray[np.generic]]


STEPS = 3
"""Steps of reading a file that are reported as progress: columns chosen, numbers read, numbers checked."""


def read_predictions(  # noqa: PLR0913 (each is one decision of the user)
    path: Paths,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    weight: str | None = None,
    logits: bool = False,
    classes: Sequence[Hashable] | None = None,
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
        class 1, else the columns named after the classes or the labels, one for each. Beside a column correct,
        confidence is that of an answer being right. One column of lists or of fixed-size arrays also gives a whole row
        of probabilities in each cell. In an NPZ file one array, by default probs, predictions, probabilities or y_prob,
        else proba, prob, probability, p or score.
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
    request = Request(label, probs, weight, logits, classes, positive, percent, renormalise, drop_missing)
    return read_rows(path, request).predictions


def read_rows(path: Paths, request: Request, others: Sequence[str] = ()) -> Part:
    """Read predictions, and other columns of the same rows, from one file or several."""
    paths, left_out = as_paths(path), LeftOut(request.drop_missing)
    if len(paths) == 1:
        part = _read_file(paths[0], request, others, left_out)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # Suspicious data is judged once, on all rows together.
            parts = [_read_file(each, request, others, left_out) for each in portions(paths)]
        part = Part(
            join_predictions({each: one.predictions for each, one in zip(paths, parts, strict=True)}, request),
            np.concatenate([one.scores for one in parts]),
            {name: stacked([one.others[name] for one in parts]) for name in others},
        )
    left_out.warn("these rows are left out")
    return part


def read_raw_logits(path: Paths, **options: Unpack[ReadOptions]) -> tuple[Predictions, FloatArray]:
    """Read logits and labels from a file, and return the unchanged logits beside the predictions.

    Parameters
    ----------
    path : str, path, or sequence of them
    **options
        As for `read_predictions`; ``logits=True`` is implied.

    Returns
    -------
    Predictions
        Of the softmax.
    ndarray of shape (n, K)
        Finite logits, for calibrators with ``scores="raw-logits"``.
    """
    options["logits"] = True
    part = read_rows(path, Request(raw_logits=True, **options))
    return part.predictions, part.scores


class Unlabelled(NamedTuple):
    """Probabilities, (n, K), and weights of their rows, None if they are equal."""

    probs: FloatArray
    weights: NDArray[np.generic] | None


def read_unlabelled(path: Paths, names: Sequence[Hashable], **options: Unpack[ReadOptions]) -> Unlabelled:
    """Read probabilities of these classes from a file, or from several whose rows follow one another.

    Parameters
    ----------
    path : str, path, or sequence of them
    names : sequence of length K
        The classes, in place of those in `options`.
    **options
        As for `read_predictions`. Labels are ignored, and may be missing.
    """
    options["classes"] = None if options.get("positive") is not None else list(names)
    request = Request(needs_label=False, **options)
    left_out = LeftOut(request.drop_missing)
    parts = [_read_unlabelled(each, request, len(names), left_out) for each in as_paths(path)]
    left_out.warn("these rows are left out")
    weights = [part.weights for part in parts if part.weights is not None]
    return Unlabelled(np.concatenate([part.probs for part in parts]), np.concatenate(weights) if weights else None)


def _read_file(path: str, request: Request, others: Sequence[str], left_out: LeftOut) -> Part:
    with open_source(path) as source:
        columns = source.choose(request)
        tell(1, STEPS)
        content = _read(source, request, columns, left_out)
        tell(2, STEPS)
        scores = content.numbers["probs"]
        assert content.label is not None  # noqa: S101 (`columns.label` was read)
        data = (as_labels(source.file.name, content.label, columns), content.numbers.get("weights"), columns.classes)
        with located(source, {"probs": columns.probs}):
            if request.raw_logits:
                from calibrant.calibrators.raw_logits import as_raw_logits

                scores = as_raw_logits(scores)
            if request.logits:
                found = Predictions.from_logits(scores, *data, positive=request.positive)
            else:
                found = Predictions(scores, *data, positive=request.positive, renormalise=request.renormalise)
        more = other_columns(source, others, content.rows)
        tell(STEPS, STEPS)
        return Part(found, scores, more)


def _read_unlabelled(path: str, request: Request, n_classes: int, left_out: LeftOut) -> Unlabelled:
    with open_source(path) as source:
        if request.label is not None and request.label not in source.names:
            request = replace(request, label=None)
        columns = replace(source.choose(request), label="")
        numbers = _read(source, request, columns, left_out).numbers
        with located(source, {"probs": columns.probs}):
            if request.logits:
                probs = as_log_probabilities(numbers["probs"])[0]
            else:
                probs = as_probabilities(numbers["probs"], renormalise=request.renormalise)[0]
    if probs.shape[1] != n_classes:
        raise InputError(
            f"{printable(path)}: {n_classes} classes are needed, as in the rows with labels, but there are "
            f"{probs.shape[1]}. Name the columns with --probs."
        )
    return Unlabelled(probs, numbers.get("weights"))


def _read(source: Source, request: Request, columns: Columns, left_out: LeftOut) -> Content:
    """Read the chosen columns, with percentages turned into probabilities."""
    source.percent = request.percent
    content = read_complete(source, columns, left_out, (*(columns.classes or ()), request.positive))
    if request.percent:
        content.numbers["probs"] = content.numbers["probs"] / 100
    return content


def join_predictions(parts: Mapping[str, Predictions], request: Request) -> Predictions:
    """Return the rows of all files one after another; their classes must be the same. Keys name the files."""
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
    """Return the classes that all files share; a file with the positive class only does not name the other one."""
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
