"""Which calibrators a stack mixes by default, and in how many folds."""

TWO_CLASSES = ("ts>guard", "svs", "spline>guard")
MANY_CLASSES = ("ts", "svs", "sms", "iop-deep")
LIGHT, JOINT = "sms-light", "iop-diag>joint"
MOST_CLASSES = ("ts", "svs", "iop-diag")
KEPT_CLASSES = ("ts", "iop-deep")
"""Default members by name: for two classes, for more, two further ones with more rows, for too many classes to fit a
matrix, and if the predicted class has to stay. Chosen by benchmarks/calibrators_stack.py."""

LARGEST_MATRIX = 200
"""Classes up to which a matrix is fitted."""

ROWS_OF_LIGHT, ROWS_PER_CLASS_OF_LIGHT = 200, 10
"""From this many rows, and rows per class, on, a matrix with a tenth of the penalties pays off: where classes are
confused in a way that can be corrected it gains much, and elsewhere the folds find that it overfits."""

ROWS_OF_JOINT = 2000
"""From this many rows on, a map and a matrix fitted together pay off; with fewer rows they overfit."""

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
    """
    if keep_argmax:
        return tuple(f"{name}>guard" for name in KEPT_CLASSES) if n_classes == 2 else KEPT_CLASSES
    if n_classes == 2:
        return TWO_CLASSES
    if n_classes > LARGEST_MATRIX:
        return MOST_CLASSES
    light = n_rows >= max(ROWS_OF_LIGHT, ROWS_PER_CLASS_OF_LIGHT * n_classes)
    return (*MANY_CLASSES, *[LIGHT] * light, *[JOINT] * (n_rows >= ROWS_OF_JOINT))


def folds_for(n_rows: float) -> int:
    """Return the number of folds by default."""
    return 10 if n_rows < FEW_ROWS else 5
