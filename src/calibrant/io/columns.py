"""Which columns of a file hold the labels, the probabilities and the weights."""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace

from calibrant._border.text import listing, quoted, repeated, suggestion
from calibrant.exceptions import InputError
from calibrant.io.forecast_columns import WHOLE_DRAWS, forecasts_hint
from calibrant.io.matching import choose_one, expand, find_column, hint, in_any_case, matches
from calibrant.io.request import Request, as_class_names, by_value

CORRECT, CONFIDENCE = "correct", "confidence"
"""Whether an answer was right, and the confidence in it, as language models are evaluated."""

LABELS = ("label", "labels", "target", "y", "y_true", "class", "ground_truth", CORRECT)
PATTERNS = ("proba_*", "prob_*", "p_*")
LOGIT_PATTERNS = ("logit_*", "logits_*")
SINGLES = ("proba", "prob", "probability", "p", "score", CONFIDENCE)
NUMBERED = ("proba", "prob", "p")
"""Names before the number of a class: p0, p1, ..."""

LOGITS = ("logit", "logits")
"""Names of one column of logits, or before the number of a class."""

ARRAY_LABELS = ("labels", "label", "ground_truth", "y", "y_true", "target", "targets")
ARRAY_PROBS = ("probs", "predictions", "probabilities", "y_prob")


@dataclass(frozen=True)
class Columns:
    """The columns to read.

    Attributes
    ----------
    label : str
        Empty if there is none and none is needed.
    probs : tuple of str
        In the order of the classes.
    weight : str or None
    classes : tuple or None
        Names of the classes; None if the file does not name them.
    positional : bool
        Whether labels 0, 1, ... can only mean the classes in this order.
    """

    label: str
    probs: tuple[str, ...]
    weight: str | None = None
    classes: tuple[Hashable, ...] | None = None
    positional: bool = True

    @property
    def numbers(self) -> dict[str, tuple[str, ...]]:
        """The columns of numbers, by argument of `Predictions`."""
        return {"probs": self.probs} | ({} if self.weight is None else {"weights": (self.weight,)})


def choose_columns(
    file: str,
    names: Sequence[str],
    nested: Collection[str],
    request: Request,
    distinct: Callable[[str], Sequence[str]],
) -> Columns:
    """Choose the columns of a table, of which those in `nested` hold a whole row of probabilities in each cell.

    Where no name is a usual one, those of the classes, or else of the labels, are taken: `distinct` returns the values
    of a column.
    """
    label = _choose_label(file, names, request, LABELS)
    if request.weight is not None:
        find_column(file, names, request.weight)
    _check_roles(file, label, request)
    taken = (label, request.weight)
    free = [name for name in names if name not in taken]
    pairs, is_sorted = _requested(file, free, request.probs) if request.probs else (_usual(free, nested, request), True)
    if not pairs:
        labels = [*map(str, request.classes)] if request.classes else distinct(label) if label else ()
        pairs = _named_after_labels(file, free, nested, request, labels)
    probs, parts = [name for name, _ in pairs], [part for _, part in pairs]
    twice = repeated(probs)
    if twice is not None:
        raise InputError(f"{file}: the probability column {quoted(twice)} is named twice. Name it once.")
    if len(probs) == 1:
        _check_positive(file, probs[0], parts[0], nested)
        return _one_column(Columns(label, tuple(probs), request.weight, request.classes), names, request)
    if request.positive is not None:
        raise InputError(
            f"{file}: positive= is for one probability column, but there are {len(probs)}: {listing(probs)}. Name one "
            "with probs=, or the classes with classes=."
        )
    chosen = set(probs)
    in_file_order = not is_sorted or probs == [name for name in free if name in chosen]
    columns = Columns(label, tuple(probs), request.weight, as_class_names(parts), in_file_order)
    return columns if request.classes is None else _with_classes(file, columns, request.classes)


def _one_column(columns: Columns, names: Sequence[str], request: Request) -> Columns:
    """Pair a confidence with whether the answer was right, which some other label beside them is not."""
    if columns.probs != (CONFIDENCE,) or request.label not in (None, CORRECT) or CORRECT not in names:
        return columns
    classes = request.classes or (None if request.positive is not None else ("wrong", "right"))
    return replace(columns, label=CORRECT if columns.label else "", classes=classes)


def choose_keys(file: str, names: Sequence[str], request: Request) -> Columns:
    """Choose the arrays of an archive, or the fields of a structured array."""
    label = _choose_label(file, names, request, ARRAY_LABELS)
    if request.weight is not None:
        find_column(file, names, request.weight)
    usual = (*ARRAY_PROBS, *(name for name in SINGLES if name != CONFIDENCE))
    defaults = ("logits", *usual) if request.logits else usual
    if request.probs is not None and len(request.probs) > 1:
        raise InputError(f"{file}: probs must name one array, but names {len(request.probs)}.")
    _check_roles(file, label, request)
    wanted = request.probs[0] if request.probs else None
    advice = _logits_hint(names, request) or forecasts_hint(names, WHOLE_DRAWS)
    probs = choose_one(file, names, "probs", wanted, defaults, advice)
    return Columns(label, (probs,), request.weight, request.classes)


def _check_roles(file: str, label: str, request: Request) -> None:
    """Refuse a column that is named for two purposes, or is the usual one of the labels and named for another."""
    probs = [("probabilities", name) for name in request.probs or ()]
    found: dict[str, str] = {}
    for purpose, name in [("labels", label), ("weights", request.weight), *probs]:
        if name and found.setdefault(name, purpose) != purpose:
            raise InputError(
                f"{file}: a column has one purpose, but {quoted(name)} is read as {found[name]} and as {purpose}. "
                "Name another one with label=, probs= or weight=."
            )


def _choose_label(file: str, names: Sequence[str], request: Request, usual: Sequence[str]) -> str:
    if request.label is None and not request.needs_label and not set(usual).intersection(map(str.lower, names)):
        return ""
    return choose_one(file, names, "label", request.label, usual)


def _hint(names: Sequence[str], nested: Collection[str], request: Request) -> str:
    """Say what was probably meant by columns among which there are no probabilities."""
    return _logits_hint(names, request) or forecasts_hint(names, nested) or hint(names)


def _logits_hint(names: Sequence[str], request: Request) -> str:
    if request.logits or not any(name.startswith("logit") for name in names):
        return ""
    return " If the logits are meant, say so with logits=True."


def _requested(file: str, names: Sequence[str], patterns: Sequence[str]) -> tuple[list[tuple[str, str]], bool]:
    """Return the columns that the caller names, with what that says of the classes, and whether any were sorted."""
    found = [expand(file, names, pattern) for pattern in patterns]
    return [pair for pairs in found for pair in pairs], any(len(pairs) > 1 for pairs in found)


def _usual_names(request: Request) -> tuple[Sequence[str], Sequence[str]]:
    """Return the usual patterns of several columns, and the usual names of a single one."""
    return ((*LOGIT_PATTERNS, *PATTERNS), (*LOGITS, *SINGLES)) if request.logits else (PATTERNS, SINGLES)


def _usual(names: Sequence[str], nested: Collection[str], request: Request) -> list[tuple[str, str]]:
    """Return the columns with usual names, sorted, and what these say of the classes."""
    patterns, singles = _usual_names(request)
    stems = (*LOGITS, *NUMBERED) if request.logits else NUMBERED
    numbered = ([pair for pair in matches(names, f"{stem}*") if pair[1].isdecimal()] for stem in stems)
    several = next((pairs for pairs in (*(matches(names, p) for p in patterns), *numbered) if pairs), None)
    if several is not None:
        return several
    usual = (*singles, *(n for n in ARRAY_PROBS if n in nested))
    single = next((name for name in usual if name in names), None) or in_any_case(names, singles)
    return [] if single is None else [(single, single)]


def _named_after_labels(
    file: str, names: Sequence[str], nested: Collection[str], request: Request, labels: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the columns whose names are the labels, of which each must have one; else say that none are found."""
    known = set(labels).intersection(names)
    if known == set(labels) and len(known) > 1:
        return [pair for pair in matches(names, "*") if pair[0] in known]
    without = (
        ""
        if not known
        else (
            f" {listing(sorted(known))} {'is' if len(known) == 1 else 'are'} named after labels, but "
            + (
                f"{quoted(next(each for each in labels if each not in known))} has no column."
                if set(labels) != known
                else "no other label occurs."
            )
        )
    )
    patterns, singles = _usual_names(request)
    raise InputError(
        f"{file} has no probability columns: neither {', '.join(patterns)}, nor p0, p1, ..., nor one of "
        f"{', '.join(singles)}, nor one per label with its name.{without} Columns found: {listing(names)}. Name them "
        f"with probs=.{_hint(names, nested, request)}"
    )


def _check_positive(file: str, column: str, part: str, nested: Collection[str]) -> None:
    if part == "0" and column not in nested:
        raise InputError(
            f"{file}: {quoted(column)} is the only probability column. One column must hold the probability of "
            "class 1; add the columns of the other classes, or name another column with probs=."
        )


def _with_classes(file: str, columns: Columns, classes: tuple[Hashable, ...]) -> Columns:
    """Put the columns in the order of the caller's classes where names determine it, else take that order as given."""
    if len(classes) != len(columns.probs):
        raise InputError(
            f"{file}: classes must name one class per probability column, but there are {len(classes)} classes and "
            f"{len(columns.probs)} columns: {listing(columns.probs)}."
        )
    by_name = {str(name): column for name, column in zip(columns.classes or (), columns.probs, strict=True)}
    known = [name for name in classes if str(name) in by_name]
    if len(known) == len(classes):
        probs = tuple(by_name[str(name)] for name in classes)
        return Columns(columns.label, probs, columns.weight, classes)
    if known:
        unknown = next(str(name) for name in classes if str(name) not in by_name)
        raise InputError(f"{file} has no probability column for class {quoted(unknown)}.{suggestion(unknown, by_name)}")
    check_positional(file, columns)
    return Columns(columns.label, columns.probs, columns.weight, classes)


def check_positional(file: str, columns: Columns) -> None:
    """Refuse to number classes whose columns were sorted by name into another order than the file's."""
    if not columns.positional and not by_value(columns.classes or ()):
        raise InputError(
            f"{file}: it is not clear which column belongs to which class, because classes are matched by position, "
            f"and {listing(columns.probs)} stand in another order in the file. List the columns in the order of the "
            "classes with probs=."
        )
