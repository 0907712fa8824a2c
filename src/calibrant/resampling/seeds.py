"""Seeds of random numbers, and what results say about them."""

import numpy as np

from calibrant import __version__
from calibrant._border.types import Rng


def as_seed(rng: Rng) -> int:
    """Return a seed for several generators: an int as it is, so that calls with the same int agree, or else a new one.

    Examples
    --------
    >>> as_seed(3), as_seed(None) == as_seed(None)
    (3, False)
    """
    return rng if isinstance(rng, int) else int(np.random.default_rng(rng).integers(2**63))


def version_and_seed(rng: Rng) -> dict[str, object]:
    """Return what is needed to repeat a result: the version of the package, and the seed if it was an int.

    Examples
    --------
    >>> version_and_seed(3)["seed"], version_and_seed(None)["seed"]
    (3, None)
    """
    return {"version": __version__, "seed": rng if isinstance(rng, int) else None}
