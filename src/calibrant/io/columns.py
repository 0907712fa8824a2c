"""Which columns of a file hold the labels, the probabilities and the weights."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from calibrant._border.text import listing, quoted, suggestion
from calibrant._border.warn import warn
from calibrant.exceptions import InputError
from calibrant.io.forecast_columns import WHOLE_DRAWS, forecasts_hint
from calibrant.io.header import Columns, Header, Pairs, first_matches, first_usual, matches
from calibrant.io.request import Request, as_class_names, by_value, weights_of

CORRECT, CONFIDENCE = "correct", "confidence"
"""Usual names in evaluations of language models: whether the answer was right, and the model's confidence in it."""

LABELS = ("label", "labels", "target", "y", "y_true", "class", "ground_truth", CORRECT)
PATTERNS = ("proba_*", "prob_*", "p_*")
SINGLES = ("proba", "prob", "probability", "p", "score", CONFIDENCE)
NUMBERED = ("proba", "prob", "p")
"""Names before the number of a class: p0, p1, ..."""

LOGITS = ("logit", "logits")
"""Names of a single column of logits; also prefixes of the number or the name of a class: logit0, logit_cat."""

CALIBRATED = "calibrated_"
"""Prefix of the columns that `apply` adds."""

ARRAY_LABELS = ("labels", "label", "ground_truth", "y", "y_true", "target", "targets")
ARRAY_PROBS = ("probs", "predictions", "probabilities", "y_prob")


def choose_columns(header: Header, request: Request, distinct: Callable[[str], Sequence[str]]) -> Columns:
    """Choose the columns of a table.

    If no column has a usual name, those named after the classes, or else after the labels, are taken: `distinct`
    returns the values of a column.
    """
    label, weights = _label_and_weights(header, request, LABELS)
    free = header.without((label, *weights))
    if request.probs:
        found = header.expand(request.probs, (label, *weights))
        pairs, is_sorted = [pair for part in found for pair in part], any(len(part) > 1 for part in found)
    else:
        pairs, is_sorted = _unnamed(free, request, lambda: distinct(label) if label else ()), True
    probs, parts = tuple(name for name, _ in pairs), [part for _, part in pairs]
    if not request.probs:
        _point_to_calibrated(free, probs)
    header.check_roles({"probs": probs})
    columns = Columns({"probs": probs, **weights_of(request)}, label if request.needs_label else "", request.classes)
    if len(probs) == 1:
        return _one_column(header, request, columns, parts[0])
    if request.positive is not None:
        raise InputError(
            f"{header.file}: positive= is for one probability column, but there are {len(probs)}: {listing(probs)}. "
            "Name one with probs=, or the classes with classes=."
        )
    in_file_order = not is_sorted or probs == tuple(name for name in free.names if name in set(probs))
    columns = replace(columns, classes=as_class_names(parts), positional=in_file_order)
    return columns if request.classes is None else _with_classes(header.file, columns, request.classes)


def _one_column(header: Header, request: Request, columns: Columns, part: str) -> Columns:
    """Return one column of probabilities; a confidence is paired with whether the answer was correct."""
    (column,) = columns.probs
    if part == "0" and column not in header.nested:
        raise InputError(
            f"{header.file}: {quoted(column)} is the only probability column. One column must hold the probability of "
            "class 1; add the columns of the other classes, or name another column with probs=."
        )
    if column == CONFIDENCE and request.label in (None, CORRECT) and CORRECT in header.names:
        answers = ("wrong", "right") if request.positive is None else None
        return replace(columns, label=CORRECT if request.needs_label else "", classes=request.classes or answers)
    return columns


def choose_arrays(header: Header, request: Request) -> Columns:
    """Choose the arrays of an archive."""
    if request.probs is not None and len(request.probs) > 1:
        raise InputError(f"{header.file}: probs must name one array, but names {len(request.probs)}.")
    label, _ = _label_and_weights(header, request, ARRAY_LABELS)
    usual = (*(["logits"] * request.logits), *ARRAY_PROBS, *(name for name in SINGLES if name != CONFIDENCE))
    advice = _logits_hint(header, request) or forecasts_hint(header._replace(nested=WHOLE_DRAWS))
    probs = header.choose("probs", request.probs[0] if request.probs else None, usual, advice=advice)
    return Columns({"probs": (probs,), **weights_of(request)}, label if request.needs_label else "", request.classes)


def _label_and_weights(header: Header, request: Request, usual: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the column of the labels, empty if there is none and none is needed, and that of the weights, if any."""
    label, wanted = "", request.label if request.needs_label or request.label in header.names else None
    if wanted is not None or request.needs_label or set(usual).intersection(map(str.lower, header.names)):
        label = header.choose("label", wanted, usual)
    weights = [] if request.weight is None else [header.find(request.weight)]
    header.check_roles({"labels": [label] * bool(label), "weights": weights, "probs": request.probs or ()})
    return label, weights


def _logits_hint(header: Header, request: Request) -> str:
    if request.logits or not any(name.startswith("logit") for name in header.names):
        return ""
    return " If the logits are meant, say so with logits=True."


def _unnamed(free: Header, request: Request, labels: Callable[[], Sequence[str]]) -> Pairs:
    """Return the columns with usual names, or else those named after the labels, if every label has one.

    They are sorted, each with the part of its name that names the class. A file that has neither is refused.
    """
    logits = LOGITS if request.logits else ()
    patterns, singles = [*(f"{name}_*" for name in logits), *PATTERNS], [*logits, *SINGLES]
    numbered = [f"{name}*" for name in (*logits, *NUMBERED)]
    if several := first_matches(free.names, patterns) or first_matches(free.names, numbered, str.isdecimal):
        return several
    single = first_usual(free.names, (*singles, *(name for name in ARRAY_PROBS if name in free.nested)))
    if single is not None:
        return [(single, single)]
    wanted = [*map(str, request.classes)] if request.classes else labels()
    known = set(wanted).intersection(free.names)
    others = [label for label in wanted if label not in known]
    if len(known) > 1 and not others:
        return [pair for pair in matches(free.names, "*") if pair[0] in known]
    without = ""
    if known:
        missing = f"{quoted(others[0])} has no column" if others else "no other label occurs"
        without = f" {listing(sorted(known))} {'is' if len(known) == 1 else 'are'} named after labels, but {missing}."
    advice = _logits_hint(free, request) or forecasts_hint(free) or free.hint()
    raise InputError(
        f"{free.file} has no probability columns: neither {', '.join(patterns)}, nor p0, p1, ..., nor one of "
        f"{', '.join(singles)}, nor one per label with its name.{without} Columns found: {listing(free.names)}. Name "
        f"them with probs=.{advice}"
    )


def _point_to_calibrated(header: Header, chosen: Sequence[str]) -> None:
    """Warn if calibrated probabilities stand beside the chosen columns."""
    calibrated = [f"{CALIBRATED}{name}" for name in chosen]
    if chosen and set(calibrated) <= set(header.names):
        are, them = ("is", "it") if len(chosen) == 1 else ("are", "them")
        warn(
            f"{header.file}: {listing(chosen)} {are} read, not the calibrated probabilities beside {them}. To read "
            f"those, use probs={pattern_of(calibrated)}"
        )


def pattern_of(names: Sequence[str]) -> str:
    """Return what names these columns: a pattern if they differ only after their last underscore, else their names.

    Examples
    --------
    >>> pattern_of(["calibrated_p_cat", "calibrated_p_cow"]), pattern_of(["calibrated_score"])
    ("'calibrated_p_*'", 'calibrated_score')
    """
    stems = {name.rpartition("_")[0] for name in names}
    return f"'{stems.pop()}_*'" if len(names) > 1 and len(stems) == 1 else " ".join(names)


def _with_classes(file: str, columns: Columns, classes: Sequence[Hashable]) -> Columns:
    """Pair columns with the caller's classes: by name if the columns are named after them, else in order."""
    if len(classes) != len(columns.probs):
        raise InputError(
            f"{file}: there must be one probability column per class, but there are {len(classes)} classes "
            f"({listing([*map(str, classes)])}) and {len(columns.probs)} columns: {listing(columns.probs)}."
        )
    by_name = {str(name): column for name, column in zip(columns.classes or (), columns.probs, strict=True)}
    known = [name for name in classes if str(name) in by_name]
    if len(known) == len(classes):
        probs = tuple(by_name[str(name)] for name in classes)
        return replace(columns, numbers={**columns.numbers, "probs": probs}, classes=classes, positional=True)
    if known:
        unknown = next(str(name) for name in classes if str(name) not in by_name)
        raise InputError(f"{file} has no probability column for class {quoted(unknown)}.{suggestion(unknown, by_name)}")
    check_positional(file, columns)
    return replace(columns, classes=classes, positional=True)


def check_positional(file: str, columns: Columns) -> None:
    """Refuse to match classes by position if the columns, sorted by name, are in another order than in the file."""
    if not columns.positional and not by_value(columns.classes or ()):
        raise InputError(
            f"{file}: it is not clear which column belongs to which class, because classes are matched by position, "
            f"but {listing(columns.probs)} are in another order in the file. List the columns in the order of the "
            "classes with probs=."
        )
