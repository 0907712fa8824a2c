"""The default members and the default number of folds of a stack, by the numbers of rows and classes."""

TWO_CLASSES = ("guard-light", "ts>guard-light", "svs")
SPLINE = "spline>guard"
FEW_ROWS_OF_MANY = ("ts", "svs", "sms", "iop-deep")
LIGHT = "sms-light"
MANY_ROWS_OF_MANY = ("ts", "svs", LIGHT, "iop-diag>joint")
MOST_CLASSES = ("ts", "svs")
KEPT_CLASSES = ("ts", "iop-deep")
KEPT_OF_TWO = ("guard-light", "ts>guard-light", "iop-deep>guard-light")
"""Names of the default members: for two classes, with SPLINE added if there are enough rows; for more classes with few
rows, with LIGHT added if there are enough, and with many rows; for too many classes to fit a matrix; and for an
unchanged predicted class, with more and with two classes. With two classes one is often rare, so that a few hundred
rows contain few errors; therefore the predictions themselves, with a lower bound, are a member too. Chosen by
benchmarks/calibrators_stack.py."""

LARGEST_MATRIX = 200
"""Largest number of classes for which a matrix is fitted."""

ROWS_OF_LIGHT, ROWS_PER_CLASS_OF_LIGHT = 200, 10
"""Least number of rows, and of rows per class, for a matrix with a tenth of the penalties. It gains much if classes are
confused in a way that can be corrected; otherwise the folds show that it overfits."""

ROWS_OF_JOINT = 2000
"""Least number of rows for a map and a matrix that are fitted together, which then replace those fitted separately;
with fewer rows they overfit."""

ROWS_OF_SPLINE = 200
"""Least number of rows for a spline."""

FEW_ROWS = 1000
"""Below this number of rows there are ten folds instead of five, to leave more rows for fitting."""


def default_members(n_classes: int, n_rows: float, keep_argmax: bool = False) -> tuple[str, ...]:
    """Return the names of the default members.

    Examples
    --------
    >>> default_members(10, 100)
    ('ts', 'svs', 'sms', 'iop-deep')
    >>> default_members(10, 500)
    ('ts', 'svs', 'sms', 'iop-deep', 'sms-light')
    >>> default_members(10, 5000)
    ('ts', 'svs', 'sms-light', 'iop-diag>joint')
    """
    if keep_argmax:
        return KEPT_CLASSES if n_classes > 2 else KEPT_OF_TWO
    if n_classes == 2:
        return (*TWO_CLASSES, *[SPLINE] * (n_rows >= ROWS_OF_SPLINE))
    if n_classes > LARGEST_MATRIX:
        return MOST_CLASSES
    if n_rows >= ROWS_OF_JOINT:
        return MANY_ROWS_OF_MANY
    light = n_rows >= max(ROWS_OF_LIGHT, ROWS_PER_CLASS_OF_LIGHT * n_classes)
    return (*FEW_ROWS_OF_MANY, *[LIGHT] * light)


def folds_for(n_rows: float) -> int:
    """Return the default number of folds."""
    return 10 if n_rows < FEW_ROWS else 5
