"""Every calibrator of the table, for tests of what all of them promise."""

from functools import partial

from calibrant.calibrators import CALIBRATORS

EVERY_CALIBRATOR = {
    name: partial(build, n_folds=2) if "n_folds" in build().get_params() else build
    for name, build in CALIBRATORS.items()
}
"""What builds each, by name. Stacks have two folds instead of ten, which do all that ten do in a fifth of the time."""
