"""Which calibrators a stack mixes by default, by the numbers of rows and classes, and how many folds judge them."""

TWO_CLASSES = ("guard-light", "ts>guard-light", "svs")
SPLINE = "spline>guard"
FEW_ROWS_OF_MANY = ("ts", "svs", "sms", "iop-deep")
LIGHT = "sms-light"
MANY_ROWS_OF_MANY = ("ts", "svs", LIGHT, "iop-diag>joint")
MOST_CLASSES = ("ts", "svs")
KEPT_CLASSES = ("ts", "iop-deep")
KEPT_OF_TWO = ("guard-light", "ts>guard-light", "iop-deep>guard-light")
"""Default members by name: for two classes, with a further one from some rows on; for more classes, with few rows, and
a further one from some rows on, and with many; for too many classes to fit a matrix; and if the predicted class has to
stay, with more and with two classes. Two classes are often rare and common, so that a few hundred rows hold few errors:
there what was predicted, with a bound, is a member too. Chosen by benchmarks/calibrators_stack.py."""

LARGEST_MATRIX = 200
"""Classes up to which a matrix is fitted."""

ROWS_OF_LIGHT, ROWS_PER_CLASS_OF_LIGHT = 200, 10
"""From this many rows, and rows per class, on, a matrix with a tenth of the penalties pays off: where classes are
confused in a way that can be corrected it gains much, and elsewhere the folds find that it overfits."""

ROWS_OF_JOINT = 2000
"""From this many rows on, a map and a matrix fitted together pay off, and take the place of maps and matrices fitted
apart; with fewer rows they overfit."""

ROWS_OF_SPLINE = 200
"""From this many rows on, a spline pays off."""

FEW_ROWS = 1000
"""Below this many rows there are ten folds instead of five, because every row is then needed for fitting."""


def default_members(n_classes: int, n_rows: float, keep_argmax: bool = False) -> tuple[str, ...]:
    """Return the names of the members by default.

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
    """Return the number of folds by default."""
    return 10 if n_rows < FEW_ROWS else 5
