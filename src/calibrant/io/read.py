"""Class predictions read from files, with labels or without."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import as_log_probabilities, as_probabilities
from calibrant._border.suspicions import suspicions
from calibrant._border.text import listing, printable
from calibrant._border.types import FloatArray
from calibrant._border.warn import warn
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.opening import Paths, as_paths
from calibrant.io.request import ReadOptions, Request
from calibrant.io.rows import Others, Part, read_parts, together
from calibrant.io.values import as_labels
from calibrant.predictions import Predictions


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
    return read_labelled(path, request)[0]


def read_labelled(path: Paths, request: Request, others: Sequence[str] = ()) -> tuple[Predictions, Others]:
    """Read predictions, and other columns of the same rows, from one file or several."""
    paths = as_paths(path)
    found, further = [], []
    for part in read_parts(paths, request, others):
        found.append(_predictions(part, request, several=len(paths) > 1))
        further.append(part.others)
    return _joined(paths, found, request), together(further)


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
    from calibrant.calibrators.inputs import as_raw_logits

    options["logits"] = True
    request, paths = Request(**options), as_paths(path)
    raw, found = [], []
    for part in read_parts(paths, request):
        with part.located():
            raw.append(as_raw_logits(part.numbers["probs"]))
        found.append(_predictions(part, request, several=len(paths) > 1))
    return _joined(paths, found, request), raw[0] if len(raw) == 1 else np.concatenate(raw)


class Unlabelled(NamedTuple):
    """Probabilities, (n, K), and weights of their rows, None if they are equal."""

    probs: FloatArray
    weights: NDArray[np.generic] | None


def read_unlabelled(path: Paths, names: Sequence[Hashable], **options: Unpack[ReadOptions]) -> Unlabelled:
    """Read probabilities of these classes from files without labels; options are those of `read_predictions`."""
    options["classes"] = None if options.get("positive") is not None else list(names)
    request = Request(needs_label=False, **options)
    found: list[FloatArray] = []
    weights = []
    for part in read_parts(path, request):
        with part.located():
            if request.logits:
                probs = as_log_probabilities(part.numbers["probs"])[0]
            else:
                probs = as_probabilities(part.numbers["probs"], renormalise=request.renormalise)[0]
            if probs.shape[1] != len(names):
                raise InputError(
                    f"{len(names)} classes are needed, as in the rows with labels, but there are {probs.shape[1]}. "
                    "Name the columns with --probs."
                )
        found.append(probs)
        weights += [part.numbers["weights"]] if "weights" in part.numbers else []
    return Unlabelled(np.concatenate(found), np.concatenate(weights) if weights else None)


def _predictions(part: Part, request: Request, *, several: bool) -> Predictions:
    """Return the predictions in one file, perhaps of several."""
    assert part.label is not None  # noqa: S101 (`columns.label` was read)
    probs, weights, classes = part.numbers["probs"], part.numbers.get("weights"), part.columns.classes
    with part.located(), warnings.catch_warnings():
        if several:  # Suspicious data is judged once, on all rows together.
            warnings.simplefilter("ignore", DataWarning)
        labels = as_labels(part.source.file.name, part.label, part.columns)
        if request.logits:
            return Predictions.from_logits(probs, labels, weights, classes, positive=request.positive)
        return Predictions(probs, labels, weights, classes, positive=request.positive, renormalise=request.renormalise)


def _joined(paths: Sequence[str], every: Sequence[Predictions], request: Request) -> Predictions:
    """Return the rows of all files one after another; their classes must be the same."""
    if len(every) == 1:
        return every[0]
    classes = _shared_classes(dict(zip(paths, every, strict=True)), request)
    log_probs = np.concatenate([p.log_probs for p in every]) if request.logits else None
    joined = Predictions._trusted(  # noqa: SLF001 (of predictions that have been checked)
        np.concatenate([p.probs for p in every]),
        np.concatenate([p.labels for p in every]),
        np.concatenate([p.weights for p in every]),
        classes,
        log_probs,
    )
    for message in suspicions(joined.probs, joined.predicted, joined.labels, joined.weights, classes):
        warn(message)
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
